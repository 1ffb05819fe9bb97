//! What opens the door of a gateway that asks for tokens.
//!
//! A ticket is spent as soon as a gateway has looked at it, even if its answer gets lost with the line. So there is one to
//! spare: gateways give two at first, and then one from time to time.

use std::collections::VecDeque;

/// Tickets that are kept, the newest.
const UNSPENT_MAX: usize = 2;

/// The tickets of a client.
#[derive(Clone, Debug, Default)]
pub struct Tickets {
    /// The oldest first.
    unspent: VecDeque<String>,
    /// The one that was taken last, and whether it was unspent then. Probably spent, but only where it was shown: another
    /// gateway may take it, so it is better than none.
    taken: Option<(String, bool)>,
}

impl Tickets {
    /// A gateway gave us this one.
    pub(crate) fn add(&mut self, ticket: String) {
        self.unspent.push_back(ticket);
        if self.unspent.len() > UNSPENT_MAX {
            self.unspent.pop_front();
        }
    }

    /// The one to show to a gateway; from then on it counts as spent. The oldest first, so that what is left lasts longest.
    /// Once all are spent, the last one again. None if there was never any.
    pub fn take(&mut self) -> Option<String> {
        let (ticket, is_unspent) = match (self.unspent.pop_front(), self.taken.take()) {
            (Some(ticket), _) => (ticket, true),
            (None, Some((ticket, _))) => (ticket, false),
            (None, None) => return None,
        };
        self.taken = Some((ticket.clone(), is_unspent));
        Some(ticket)
    }

    /// The ticket that was taken last was not looked at.
    pub fn give_back(&mut self) {
        if let Some((ticket, _)) = self.taken.take_if(|(_, was_unspent)| *was_unspent) {
            self.unspent.push_front(ticket);
        }
    }

    /// How many nobody has looked at.
    pub fn unspent(&self) -> usize {
        self.unspent.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tickets(added: &[&str]) -> Tickets {
        let mut tickets = Tickets::default();
        added.iter().for_each(|ticket| tickets.add((*ticket).to_owned()));
        tickets
    }

    #[test]
    fn the_newest_two_are_kept_and_each_is_taken_once() {
        let mut tickets = tickets(&["a", "b", "c"]);
        assert_eq!(tickets.unspent(), 2);
        assert_eq!((tickets.take().as_deref(), tickets.take().as_deref()), (Some("b"), Some("c")));
        assert_eq!((tickets.unspent(), tickets.take().as_deref()), (0, Some("c")), "better than none");
        tickets.add("d".to_owned());
        assert_eq!((tickets.take().as_deref(), Tickets::default().take()), (Some("d"), None));
    }

    #[test]
    fn a_ticket_that_nobody_looked_at_is_not_spent() {
        let mut tickets = tickets(&["a", "b"]);
        for _ in 0..5 {
            assert_eq!(tickets.take().as_deref(), Some("a"));
            tickets.give_back();
        }
        assert_eq!(tickets.unspent(), 2);
        while tickets.unspent() > 0 {
            tickets.take();
        }
        tickets.take();
        tickets.give_back();
        assert_eq!(tickets.unspent(), 0, "it was shown before");
    }
}

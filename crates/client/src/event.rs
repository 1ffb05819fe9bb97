//! What happened, in order, for whoever wants to hear it.

use nimbus_model::{ClientId, Nid, RegionId};
use nimbus_wire::client::{BreachNews, ClientRole, TouchNews};
use std::collections::VecDeque;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A gateway let us in. What was known of bodies is void; they are born again.
    Connected {
        /// The gateway's number for us.
        client: ClientId,
        /// What we may do there.
        role: ClientRole,
    },
    /// The connection was lost. Bodies are kept as they were seen last.
    Lost {
        /// Why, for a person.
        reason: String,
    },
    /// The connection is over, and no other will be tried. Nothing follows.
    Closed {
        /// Why, for a person.
        reason: String,
    },
    /// A world was loaded; every body known before is void, without having died.
    Loaded {
        /// How often a world was loaded.
        era: u16,
        /// Its name.
        name: String,
    },
    /// A body appeared.
    Born {
        /// Which.
        nid: Nid,
    },
    /// A body vanished.
    Died {
        /// Which.
        nid: Nid,
    },
    /// A body went where this client does not look. It lives on, and may be born again here.
    OutOfSight {
        /// Which.
        nid: Nid,
    },
    /// Another server owns a body from now on.
    HandedOver {
        /// Which.
        nid: Nid,
        /// Who had it.
        from: RegionId,
        /// Who has it.
        to: RegionId,
    },
    /// A promise is void. Only with [`Overlay::Breaches`](nimbus_wire::client::Overlay::Breaches).
    Breach(BreachNews),
    /// Two bodies began or ceased to touch. Only for those that were asked for with
    /// [`FromClient::Touches`](nimbus_wire::client::FromClient::Touches).
    Touched(TouchNews),
    /// So many touches happened about now that nobody tells of, because there were too many.
    TouchesLeftOut(u64),
    /// The timeline stopped, went on or changed its speed.
    Clock {
        /// It stands still.
        paused: bool,
        /// The speed that was asked for; 1 is real time.
        speed: f32,
        /// The share of that speed at which time passes: less than 1 while the world slows down (time dilation).
        dilation: f32,
    },
    /// So many events were dropped before the next, because nobody took them.
    Missed(u64),
}

/// Events that nobody has taken yet. The oldest are dropped when there are too many.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    queue: VecDeque<Event>,
    limit: usize,
    missed: u64,
}

impl Events {
    pub(crate) fn new(limit: usize) -> Events {
        Events { queue: VecDeque::new(), limit: limit.max(1), missed: 0 }
    }

    pub(crate) fn push(&mut self, event: Event) {
        if self.queue.len() >= self.limit {
            self.queue.pop_front();
            self.missed += 1;
        }
        self.queue.push_back(event);
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        match std::mem::take(&mut self.missed) {
            0 => self.queue.pop_front(),
            missed => Some(Event::Missed(missed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_the_oldest_and_says_so() {
        let mut events = Events::new(3);
        for nid in 1..=5 {
            events.push(Event::Born { nid: Nid(nid) });
        }
        let told: Vec<Event> = std::iter::from_fn(|| events.pop()).collect();
        let born = |nid| Event::Born { nid: Nid(nid) };
        assert_eq!(told, [Event::Missed(2), born(3), born(4), born(5)]);
    }
}

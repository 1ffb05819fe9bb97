//! Something that a client wishes of every gateway that it comes to: what it said last, and what was granted last.

use std::collections::BTreeMap;

/// Wishes whose answers are awaited; the oldest are forgotten.
const ASKED_MAX: usize = 64;

/// What is wished for, if anything.
#[derive(Clone, Debug)]
pub(crate) struct Wish<T> {
    said: Option<T>,
    granted: Option<T>,
    /// What the present gateway was asked for and has not answered, by number.
    asked: BTreeMap<u64, Option<T>>,
}

impl<T: Clone + PartialEq> Wish<T> {
    pub(crate) fn new() -> Wish<T> {
        Wish { said: None, granted: None, asked: BTreeMap::new() }
    }

    /// From now on this, or nothing.
    pub(crate) fn say(&mut self, wish: Option<T>) {
        self.said = wish;
    }

    /// The present gateway is asked under this number for what was said last.
    pub(crate) fn ask(&mut self, seq: u64) {
        self.asked.insert(seq, self.said.clone());
        if self.asked.len() > ASKED_MAX {
            self.asked.pop_first();
        }
    }

    /// The gateway has answered what it was asked for under a number; false when that was something else. After a refusal
    /// everything is as it was before the wish.
    pub(crate) fn answered(&mut self, seq: u64, is_granted: bool) -> bool {
        let Some(wish) = self.asked.remove(&seq) else { return false };
        if is_granted {
            self.granted = wish;
        } else if self.asked.is_empty() && self.said == wish {
            self.said = self.granted.clone();
        }
        true
    }

    /// Another gateway let us in. It knows of no wishes, and answers none that others were asked for.
    pub(crate) fn moved(&mut self) {
        self.asked.clear();
    }

    /// What some gateway has granted.
    pub(crate) fn granted(&self) -> Option<&T> {
        self.granted.as_ref()
    }

    /// What to ask another gateway for, in this order: should it refuse what was said last, there is what was granted.
    pub(crate) fn wanted(&self) -> Vec<T> {
        let Some(said) = &self.said else { return Vec::new() };
        self.granted.iter().filter(|granted| *granted != said).chain([said]).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wish that was granted.
    fn granted(wish: u8) -> Wish<u8> {
        let mut wishes = Wish::new();
        wishes.say(Some(wish));
        wishes.ask(1);
        assert!(wishes.answered(1, true));
        wishes
    }

    #[test]
    fn a_refusal_leaves_what_was_before() {
        let mut wish = granted(4);
        wish.say(Some(5));
        wish.ask(2);
        wish.say(Some(6));
        wish.ask(3);
        assert!(wish.answered(2, false) && !wish.answered(9, false));
        assert_eq!(wish.wanted(), [4, 6], "the newest is not refused yet");
        assert!(wish.answered(3, false) && !wish.answered(3, true));
        assert_eq!(wish.wanted(), [4]);
        let mut first = Wish::new();
        first.say(Some(5));
        first.ask(1);
        assert!(first.answered(1, false) && first.wanted().is_empty());
    }

    #[test]
    fn what_is_said_to_nobody_is_asked_of_the_next_gateway() {
        let mut wish = granted(4);
        wish.say(Some(5));
        wish.moved();
        assert_eq!(wish.wanted(), [4, 5]);
        for (seq, wanted) in (10..).zip(wish.wanted()) {
            wish.say(Some(wanted));
            wish.ask(seq);
        }
        assert!(wish.answered(10, true) && wish.answered(11, false));
        assert_eq!((wish.wanted(), wish.granted()), (vec![4], Some(&4)));
        wish.say(None);
        assert!(wish.wanted().is_empty(), "nothing is what a gateway gives who does not ask");
    }

    #[test]
    fn a_gateway_that_never_answers_costs_no_memory() {
        let mut wish = granted(4);
        for seq in 2..200 {
            wish.ask(seq);
        }
        assert_eq!(wish.asked.len(), ASKED_MAX);
    }
}

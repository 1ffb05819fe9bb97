//! What happens next: a queue ordered by virtual time, and by order of scheduling where times are equal.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::network::Nanos;

struct Scheduled<T> {
    at: Nanos,
    order: u64,
    what: T,
}

impl<T> PartialEq for Scheduled<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Scheduled<T> {}

impl<T> PartialOrd for Scheduled<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Scheduled<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Things to come, earliest first.
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Reverse<Scheduled<T>>>,
    count: u64,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Queue<T> {
        Queue { heap: BinaryHeap::new(), count: 0 }
    }

    pub(crate) fn push(&mut self, at: Nanos, what: T) {
        self.count += 1;
        self.heap.push(Reverse(Scheduled { at, order: self.count, what }));
    }

    pub(crate) fn pop(&mut self) -> Option<(Nanos, T)> {
        self.heap.pop().map(|Reverse(scheduled)| (scheduled.at, scheduled.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order() {
        let mut queue = Queue::new();
        for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b')] {
            queue.push(at, what);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, what)| what).collect();
        assert_eq!(order, "abcd");
    }
}

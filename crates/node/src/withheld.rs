//! What a server has to tell its shell, held back until it is certain.
//!
//! With a backup, nothing is told before the backup has the tick at which the server learned of it. A process that takes
//! over has lived through the same ticks and holds the same back; a shell that says how far it had heard its predecessor
//! hears of each exactly once.

use nimbus_model::Tick;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What was learned of at one tick, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Batch<T> {
    pub(crate) tick: Tick,
    pub(crate) entries: Vec<T>,
    /// How many more there were.
    pub(crate) left_out: u64,
}

/// How much there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Entries of one tick.
    pub(crate) per_tick: usize,
    /// Entries held back.
    pub(crate) held: usize,
    /// Entries that wait for a shell that does not ask; beyond that the oldest are dropped.
    pub(crate) ready: usize,
}

/// Entries on their way to the shell. What is held back is part of a snapshot, since a successor must hold it, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Withheld<T> {
    /// By tick; what is not certain yet.
    held: VecDeque<Batch<T>>,
    held_count: usize,
    #[serde(skip, default = "VecDeque::new")]
    ready: VecDeque<Batch<T>>,
    #[serde(skip)]
    ready_count: usize,
    /// Up to this tick the shell has heard everything.
    #[serde(skip)]
    heard: Tick,
}

impl<T> Default for Withheld<T> {
    fn default() -> Self {
        let (held, ready) = (VecDeque::new(), VecDeque::new());
        Withheld { held, held_count: 0, ready, ready_count: 0, heard: Tick(0) }
    }
}

impl<T> Withheld<T> {
    /// Notes an entry. False when there is no room.
    pub(crate) fn note(&mut self, now: Tick, entry: T, limits: Limits) -> bool {
        let full = self.held_count >= limits.held;
        if !full && self.held.back().is_none_or(|last| last.tick != now) {
            self.held.push_back(Batch { tick: now, entries: Vec::new(), left_out: 0 });
        }
        let Some(last) = self.held.back_mut() else { return false };
        if full || last.entries.len() >= limits.per_tick {
            last.left_out += 1;
            return false;
        }
        last.entries.push(entry);
        self.held_count += 1;
        true
    }

    /// Makes ready what is certain.
    pub(crate) fn release(&mut self, certain: Tick, limits: Limits) {
        while let Some(told) = self.held.pop_front_if(|told| told.tick <= certain) {
            self.held_count -= told.entries.len();
            self.ready_count += told.entries.len();
            self.ready.push_back(told);
        }
        while self.ready_count > limits.ready
            && let Some(dropped) = self.ready.pop_front()
        {
            self.ready_count -= dropped.entries.len();
            if let Some(next) = self.ready.front_mut() {
                next.left_out += dropped.left_out + dropped.entries.len() as u64;
            }
        }
    }

    /// What is ready and was not heard.
    pub(crate) fn take(&mut self) -> Vec<Batch<T>> {
        self.ready_count = 0;
        let heard = self.heard;
        let ready: Vec<Batch<T>> = self.ready.drain(..).filter(|told| told.tick > heard).collect();
        self.heard = ready.last().map_or(heard, |told| told.tick);
        ready
    }

    /// The shell has heard everything up to a tick, from whomever.
    pub(crate) fn hear(&mut self, upto: Tick) {
        self.heard = self.heard.max(upto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { per_tick: 1_000, held: 1 << 14, ready: 1 << 14 };

    #[test]
    fn what_is_held_is_released_by_tick() {
        let mut log = Withheld::default();
        for tick in [3, 3, 4, 7] {
            assert!(log.note(Tick(tick), tick, LIMITS));
        }
        log.release(Tick(2), LIMITS);
        assert!(log.take().is_empty());
        log.release(Tick(5), LIMITS);
        let told = |log: &mut Withheld<u64>| -> Vec<(u64, usize)> {
            log.take().iter().map(|told| (told.tick.0, told.entries.len())).collect()
        };
        assert_eq!(told(&mut log), [(3, 2), (4, 1)]);
        log.release(Tick(9), LIMITS);
        log.hear(Tick(7));
        assert_eq!(told(&mut log), [], "a predecessor has told it");
    }

    #[test]
    fn a_tick_tells_of_so_many_and_counts_the_rest() {
        let mut log = Withheld::default();
        let noted = (0..LIMITS.per_tick + 5).filter(|_| log.note(Tick(1), (), LIMITS)).count();
        assert_eq!((noted, log.held[0].left_out), (LIMITS.per_tick, 5));
        assert!(log.note(Tick(2), (), LIMITS), "the next tick has room again");
    }

    #[test]
    fn neither_a_silent_backup_nor_a_shell_that_never_asks_fills_the_memory() {
        let mut log = Withheld::default();
        let per_tick = 100;
        let ticks = 2 * (LIMITS.held.max(LIMITS.ready) / per_tick) as u64;
        for tick in 1..=ticks {
            (0..per_tick).for_each(|_| _ = log.note(Tick(tick), (), LIMITS));
        }
        assert_eq!(log.held_count, LIMITS.held);
        let left_out = |log: &VecDeque<Batch<()>>| log.iter().map(|told| told.left_out).sum::<u64>();
        assert_eq!(left_out(&log.held) + LIMITS.held as u64, ticks * per_tick as u64);

        let mut log = Withheld::default();
        for tick in 1..=ticks {
            (0..per_tick).for_each(|_| assert!(log.note(Tick(tick), (), LIMITS)));
            log.release(Tick(tick), LIMITS);
        }
        assert!(log.held.is_empty() && log.ready_count <= LIMITS.ready);
        assert_eq!(left_out(&log.ready) + log.ready_count as u64, ticks * per_tick as u64, "what was dropped is said");
    }
}

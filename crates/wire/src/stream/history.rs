//! The snapshots that one end of a stream remembers.

use super::model::Model;
use super::prediction::Sample;

/// How many snapshots either end remembers, so half a second at 60 a second. An acknowledgement that takes longer is of no
/// use any more, and the stream sends everything in full.
pub const SNAPSHOTS_KEPT: u32 = 32;

/// Everything both ends know once a snapshot has arrived.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) sequence: u32,
    /// In order of slot.
    pub(super) samples: Vec<Sample>,
    pub(super) model: Model,
}

impl Snapshot {
    pub(super) fn empty() -> Snapshot {
        Snapshot { sequence: 0, samples: Vec::new(), model: Model::FRESH }
    }
}

/// A ring of snapshots, by sequence number.
#[derive(Clone, Debug)]
pub(super) struct History {
    ring: Vec<Option<Box<Snapshot>>>,
}

impl History {
    pub(super) fn new() -> History {
        History::of(SNAPSHOTS_KEPT)
    }

    /// A ring of this many.
    pub(super) fn of(kept: u32) -> History {
        History { ring: (0..kept).map(|_| None).collect() }
    }

    /// How many it remembers.
    pub(super) fn kept(&self) -> u32 {
        self.ring.len() as u32
    }

    pub(super) fn get(&self, sequence: u32) -> Option<&Snapshot> {
        self.ring.get(self.place(sequence))?.as_deref().filter(|snapshot| snapshot.sequence == sequence)
    }

    /// Whether a snapshot of this number would drive out one that is not older.
    pub(super) fn is_late(&self, sequence: u32) -> bool {
        let there = self.ring.get(self.place(sequence)).and_then(Option::as_deref);
        there.is_some_and(|there| there.sequence >= sequence)
    }

    /// Remembers a snapshot, and gives back the one whose place it takes, to be used again.
    pub(super) fn keep(&mut self, snapshot: Box<Snapshot>) -> Option<Box<Snapshot>> {
        let place = self.place(snapshot.sequence);
        self.ring.get_mut(place)?.replace(snapshot)
    }

    fn place(&self, sequence: u32) -> usize {
        (sequence % self.kept()) as usize
    }
}

//! Who had a body before: the latest changes of owner of each body, for whoever asks.

use nimbus_model::{Nid, Tick};
use nimbus_wire::client::HandOver;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Changes remembered of one body.
const CHANGES_MAX: usize = 16;
/// Bodies whose changes are remembered; beyond that those that changed hands longest ago are forgotten.
const BODIES_MAX: usize = 65_536;

#[derive(Clone, Debug, Default)]
struct History {
    changes: VecDeque<HandOver>,
    count: u64,
}

impl History {
    fn latest(&self) -> Tick {
        self.changes.back().map_or(Tick(0), |change| change.tick)
    }
}

/// The histories of bodies that changed hands. Bodies that never did cost nothing.
#[derive(Debug, Default)]
pub(crate) struct HandOvers {
    by_body: BTreeMap<Nid, History>,
    /// Bodies by their latest change.
    by_age: BTreeSet<(Tick, Nid)>,
}

impl HandOvers {
    /// Remembers a change of owner.
    pub(crate) fn note(&mut self, nid: Nid, change: HandOver) {
        if !self.by_body.contains_key(&nid)
            && self.by_body.len() >= BODIES_MAX
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_body.remove(&oldest);
        }
        let history = self.by_body.entry(nid).or_default();
        self.by_age.remove(&(history.latest(), nid));
        if history.changes.len() == CHANGES_MAX {
            history.changes.pop_front();
        }
        history.changes.push_back(change);
        history.count += 1;
        self.by_age.insert((change.tick, nid));
    }

    /// The body is no more.
    pub(crate) fn forget(&mut self, nid: Nid) {
        if let Some(history) = self.by_body.remove(&nid) {
            self.by_age.remove(&(history.latest(), nid));
        }
    }

    /// How often a body changed hands, and the latest changes, oldest first.
    pub(crate) fn of(&self, nid: Nid) -> (u64, Vec<HandOver>) {
        self.by_body
            .get(&nid)
            .map_or((0, Vec::new()), |history| (history.count, history.changes.iter().copied().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::RegionId;

    fn change(tick: u64) -> HandOver {
        HandOver { tick: Tick(tick), from: RegionId(0), to: RegionId(1), epoch: tick as u32 }
    }

    #[test]
    fn only_the_latest_changes_of_a_body_are_kept() {
        let mut hand_overs = HandOvers::default();
        (1..=40).for_each(|tick| hand_overs.note(Nid(7), change(tick)));
        let (count, kept) = hand_overs.of(Nid(7));
        assert_eq!((count, kept.len()), (40, CHANGES_MAX));
        assert_eq!((kept[0].tick, kept[CHANGES_MAX - 1].tick), (Tick(25), Tick(40)));
        hand_overs.forget(Nid(7));
        assert_eq!(hand_overs.of(Nid(7)), (0, Vec::new()));
        assert!(hand_overs.by_age.is_empty());
    }

    #[test]
    fn bodies_that_changed_hands_long_ago_make_room() {
        let mut hand_overs = HandOvers::default();
        (0..BODIES_MAX as u64).for_each(|nid| hand_overs.note(Nid(nid), change(100 + nid)));
        hand_overs.note(Nid(0), change(1_000_000));
        hand_overs.note(Nid(u64::MAX), change(1_000_001));
        assert_eq!(hand_overs.by_body.len(), BODIES_MAX);
        assert_eq!(hand_overs.by_age.len(), BODIES_MAX);
        assert_eq!(hand_overs.of(Nid(0)).0, 2);
        assert_eq!(hand_overs.of(Nid(1)).0, 0, "it was the oldest");
    }
}

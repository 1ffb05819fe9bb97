//! Nobody is tossed about: a body that changes owner stays there for a while, whatever two servers think of each other.
//! When the ranks of servers are changed by order, who draws bodies from whom is turned round, and with it what has just
//! been drawn: counting begins anew at that tick.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{Change, Event, EventKind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Broken;

const RULE: &str = "thrashing";
/// A body that changes owner more often than this within [`WINDOW_TICKS`] is tossed about. At a corner a body may be
/// drawn from one server to the next a few times before it may go home.
const CHANGES_MAX: usize = 6;
const WINDOW_TICKS: u64 = 60;
/// Whoever comes back goes home only after so many ticks, so two servers that exchange a body faster pull at each other.
const STAY_TICKS: u64 = 20;
/// Changes of owner that make `A -> B -> A -> B -> A`.
const TO_AND_FRO: usize = 4;

#[derive(Default)]
pub(super) struct Thrashing {
    changes: BTreeMap<Nid, VecDeque<(Tick, RegionId)>>,
    /// Bodies on their way back from a server that would not have them.
    refused: BTreeSet<Nid>,
    /// The newest order of ranks, and the ticks from which another one held, ascending.
    order: Vec<RegionId>,
    reversals: Vec<Tick>,
}

impl Thrashing {
    /// A change of the whole world is announced.
    pub(super) fn expect(&mut self, change: &Change) {
        let (at, map) = match change {
            Change::Map(map) => (map.effective(), map),
            Change::Load { at, map, .. } => (*at, map),
            Change::Statics { .. } => return,
        };
        let former = std::mem::replace(&mut self.order, map.order());
        // Before the first change ranks follow the ids.
        if former != self.order && !(former.is_empty() && self.order.is_sorted()) {
            self.reversals.push(at);
            self.reversals.sort_unstable();
        }
    }

    /// Another world begins.
    pub(super) fn begin_anew(&mut self) {
        self.changes.clear();
        self.refused.clear();
    }

    pub(super) fn observe(&mut self, event: &Event, broken: &mut Vec<Broken>) {
        match event.kind {
            EventKind::Adopted(from) => self.change(event, from, broken),
            EventKind::Refused(..) => {
                self.refused.insert(event.nid);
            }
            EventKind::Died(_) => {
                self.changes.remove(&event.nid);
                self.refused.remove(&event.nid);
            }
            EventKind::Born | EventKind::Granted(_) | EventKind::NotBorn => {}
        }
    }

    fn change(&mut self, event: &Event, from: RegionId, broken: &mut Vec<Broken>) {
        let Event { nid, tick, region, .. } = *event;
        // It never left, as far as the policy knows, and will be tried again.
        if self.refused.remove(&nid) {
            self.changes.remove(&nid);
            return;
        }
        let changes = self.changes.entry(nid).or_default();
        changes.push_back((tick, region));
        let began = self.reversals.iter().rfind(|reversal| **reversal <= tick).copied().unwrap_or_default();
        while changes.front().is_some_and(|(first, _)| tick.since(*first) > WINDOW_TICKS || *first < began) {
            changes.pop_front();
        }
        let often = changes.len() > CHANGES_MAX;
        if often || is_to_and_fro(changes) {
            let route: Vec<String> = changes.iter().map(|(tick, region)| format!("{region} at tick {tick}")).collect();
            let what = format!("{nid} came from {from} to {region} after this: {}", route.join(", "));
            broken.push(Broken(RULE, what));
            changes.clear();
        }
    }
}

/// True when the last changes are between two servers, each soon after the one before.
fn is_to_and_fro(changes: &VecDeque<(Tick, RegionId)>) -> bool {
    let last: Vec<(Tick, RegionId)> = changes.iter().rev().take(TO_AND_FRO).copied().collect();
    last.len() == TO_AND_FRO
        && last.windows(2).all(|pair| pair[0].0.since(pair[1].0) < STAY_TICKS)
        && last[0].1 == last[2].1
        && last[1].1 == last[3].1
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Layout;
    use nimbus_space::PartitionMap;
    use nimbus_wire::Refusal;

    fn event(tick: u64, region: u16, kind: EventKind) -> Event {
        Event { era: 1, tick: Tick(tick), region: RegionId(region), nid: Nid(7), body_epoch: 1, kind }
    }

    /// How many violations there are when a body changes owner at these ticks, to these regions.
    fn found(changes: &[(u64, u16)]) -> usize {
        let (mut checker, mut broken) = (Thrashing::default(), Vec::new());
        for (tick, region) in changes {
            checker.observe(&event(*tick, *region, EventKind::Adopted(RegionId(9))), &mut broken);
        }
        broken.len()
    }

    #[test]
    fn two_servers_that_pull_at_a_body_are_noticed() {
        assert_eq!(found(&[(1, 1), (3, 0), (5, 1), (7, 0)]), 1);
    }

    #[test]
    fn counting_begins_anew_when_ranks_are_turned_round_and_only_then() {
        let map = PartitionMap::from_layout(&Layout::columns(2, 50.0)).unwrap();
        let turned = map.with_ranks(&[RegionId(1), RegionId(0)], Tick(6)).unwrap();
        let moved = turned.succeed(Tick(26));
        let (mut checker, mut broken) = (Thrashing::default(), Vec::new());
        checker.expect(&Change::Map(turned));
        checker.expect(&Change::Map(moved));
        for (tick, region) in [(1, 1), (3, 0), (5, 1), (7, 0), (9, 1), (11, 0)] {
            checker.observe(&event(tick, region, EventKind::Adopted(RegionId(9))), &mut broken);
        }
        assert!(broken.is_empty(), "three changes before it and three after");
        checker.observe(&event(25, 1, EventKind::Adopted(RegionId(9))), &mut broken);
        assert_eq!(broken.len(), 1);
        for (tick, region) in [(26, 0), (27, 1), (28, 0), (29, 1)] {
            checker.observe(&event(tick, region, EventKind::Adopted(RegionId(9))), &mut broken);
        }
        assert_eq!(broken.len(), 2, "a partition with the same ranks excuses nothing");
    }

    #[test]
    fn going_home_after_a_stay_is_fine() {
        assert_eq!(found(&[(1, 1), (21, 0), (23, 1), (43, 0), (45, 1), (65, 0)]), 0);
    }

    #[test]
    fn a_body_that_goes_round_in_circles_is_noticed() {
        assert_eq!(found(&[(1, 1), (5, 2), (9, 3), (13, 1), (17, 2), (21, 3), (25, 1)]), 1);
    }

    #[test]
    fn what_is_refused_and_comes_back_has_not_moved() {
        let (mut checker, mut broken) = (Thrashing::default(), Vec::new());
        for k in 0..20 {
            checker.observe(&event(4 * k, 1, EventKind::Refused(RegionId(0), Refusal::Full)), &mut broken);
            checker.observe(&event(4 * k + 2, 0, EventKind::Adopted(RegionId(1))), &mut broken);
        }
        assert!(broken.is_empty());
    }
}

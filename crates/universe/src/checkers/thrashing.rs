//! Nobody is tossed about: a body that changes owner stays there for a while, whatever two servers think of each other.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{Event, EventKind};
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
}

impl Thrashing {
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
            EventKind::Born | EventKind::Granted(_) => {}
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
        while changes.front().is_some_and(|(first, _)| tick.since(*first) > WINDOW_TICKS) {
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

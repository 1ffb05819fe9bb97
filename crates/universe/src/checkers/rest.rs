//! What lies at rest stays where it is: after something drew it to another server it may go home, once. It never changes
//! owner again unless it or something near it has moved since. Two servers that toss a heap at rest to and fro keep it awake for ever, however slowly they do it.

use nimbus_model::{Nid, Pose, Shape, Tick, Vec3};
use nimbus_node::{Change, Event, EventKind, Node};
use std::collections::BTreeMap;

use super::{Broken, Scene};

const RULE: &str = "rest";
/// What is slower than this is at rest, m/s.
const REST_M_S: f32 = 0.01;
/// How far from its centre a body has something near it, metres: further than auras of the stock worlds reach.
const NEAR_M: f32 = 10.0;
/// It may be drawn to another server, and go home.
const CHANGES_MAX: u64 = 2;
/// A body must have been seen lying at so many ticks: one under way is not seen.
const LOOKS_MIN: u64 = 3;
/// Another partition may move what lies at rest, for so long after its tick.
const SETTLING_TICKS: u64 = 600;

/// A body that lies at rest since it changed owner.
#[derive(Clone, Copy)]
struct Lying {
    since: Tick,
    /// How often it has changed owner, the first time included.
    changes: u64,
    /// At how many ticks it was seen.
    looks: u64,
}

#[derive(Default)]
pub(super) struct Rest {
    /// Bodies that changed owner and have been at rest since, with everything near them.
    resting: BTreeMap<Nid, Lying>,
    /// The last tick that was looked at.
    seen: Tick,
    /// Changes of owner may have another reason until then.
    excused_until: Tick,
}

impl Rest {
    /// A change of the whole world is announced.
    pub(super) fn expect(&mut self, change: &Change) {
        self.excused_until = self.excused_until.max(change.at() + SETTLING_TICKS);
        self.resting.clear();
    }

    pub(super) fn observe(&mut self, event: &Event, broken: &mut Vec<Broken>) {
        match event.kind {
            EventKind::Adopted(from) => {
                let fresh = Lying { since: event.tick, changes: 0, looks: 0 };
                let lying = self.resting.entry(event.nid).or_insert(fresh);
                lying.changes += 1;
                // Ticks that were not looked at are ticks at which promises were void.
                let watched = event.tick.since(self.seen) <= 2 && event.tick > self.excused_until;
                if watched && lying.changes > CHANGES_MAX && lying.looks >= LOOKS_MIN {
                    let (Event { nid, tick, region, .. }, Lying { since, changes, .. }) = (*event, *lying);
                    let what = format!("{nid} came from {from} to {region} at tick {tick}, the {changes}th owner");
                    broken.push(Broken(RULE, format!("{what} since tick {since}, and lies at rest")));
                    self.resting.remove(&nid);
                }
            }
            EventKind::Refused(..) | EventKind::Died(_) => _ = self.resting.remove(&event.nid),
            EventKind::Born | EventKind::Granted(_) | EventKind::NotBorn => {}
        }
    }

    /// A look at every tick, for as long as no promise was void.
    pub(super) fn inspect(&mut self, scene: &Scene<'_>) {
        if scene.tick.since(self.seen) > 2 {
            self.resting.clear();
        }
        self.seen = scene.tick;
        self.resting.retain(|nid, lying| {
            let place = scene.nodes.iter().find_map(|node| node.motion(*nid)).map(|motion| motion.pose.position);
            // One that is under way is looked at when it has arrived.
            let Some(place) = place else { return true };
            lying.looks += 1;
            !scene.nodes.iter().any(|node| stirs_near(node, place))
        });
    }
}

/// True when a server has something near a place that moves.
fn stirs_near(node: &Node, place: Vec3) -> bool {
    let near = node.physics().overlap(&Shape::ball(NEAR_M), Pose::at(place), Default::default());
    let moves = |nid: Nid| {
        node.motion(nid).is_some_and(|motion| {
            let velocity = motion.velocity;
            velocity.linear.length().max(velocity.angular.length()) > REST_M_S
        })
    };
    near.into_iter().any(moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::RegionId;

    fn adopted(tick: u64, region: u16) -> Event {
        let kind = EventKind::Adopted(RegionId(9));
        Event { era: 1, tick: Tick(tick), region: RegionId(region), nid: Nid(7), body_epoch: 1, kind }
    }

    #[test]
    fn going_home_once_is_fine_and_coming_again_is_not() {
        let (mut rest, mut broken) = (Rest::default(), Vec::new());
        for (tick, region, found) in [(1, 0, 0), (31, 1, 0), (61, 0, 1)] {
            rest.seen = Tick(tick - 1);
            rest.observe(&adopted(tick, region), &mut broken);
            assert_eq!(broken.len(), found, "tick {tick}");
            rest.resting.values_mut().for_each(|lying| lying.looks += 30);
        }
    }

    #[test]
    fn what_was_not_watched_is_excused() {
        let (mut rest, mut broken) = (Rest::default(), Vec::new());
        for tick in [1, 31, 61, 91] {
            rest.observe(&adopted(tick, 0), &mut broken);
            rest.resting.values_mut().for_each(|lying| lying.looks += 30);
        }
        assert!(broken.is_empty());
    }
}

//! Every body has exactly one owner per epoch: authority is born once, moves only by being given and taken, dies once.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{Event, EventKind};
use std::collections::BTreeMap;

use super::{Broken, Scene};

const RULE: &str = "one owner";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Authority {
    Owned(RegionId),
    Flying(RegionId),
    Dead,
}

#[derive(Default)]
pub(super) struct OneOwner {
    bodies: BTreeMap<Nid, (Authority, u32)>,
    last_change: BTreeMap<Nid, Tick>,
}

impl OneOwner {
    pub(super) fn observe(&mut self, event: &Event, broken: &mut Vec<Broken>) {
        let Event { region, nid, body_epoch, kind, .. } = *event;
        let before = self.bodies.get(&nid).copied();
        let owned_here = before.is_some_and(|(authority, _)| authority == Authority::Owned(region));
        let (allowed, after) = match kind {
            EventKind::Born => (before.is_none(), Some(Authority::Owned(region))),
            EventKind::Died(_) => (owned_here, Some(Authority::Dead)),
            EventKind::Granted(to) => (owned_here, Some(Authority::Flying(to))),
            EventKind::Adopted(_) => {
                (before == Some((Authority::Flying(region), body_epoch)), Some(Authority::Owned(region)))
            }
            // It must not be, and its id is not used again.
            EventKind::NotBorn => (before.is_none(), Some(Authority::Dead)),
            EventKind::Refused(from, _) => {
                (before == Some((Authority::Flying(region), body_epoch)), Some(Authority::Flying(from)))
            }
        };
        if !allowed {
            broken.push(Broken(
                RULE,
                format!("{region} says {kind:?} of {nid} epoch {body_epoch}, which was {before:?}"),
            ));
        }
        self.last_change.insert(nid, event.tick);
        if let Some(after) = after {
            let returns = u32::from(matches!(kind, EventKind::Refused(..)));
            self.bodies.insert(nid, (after, body_epoch + returns));
        }
    }

    /// When something last happened to a body.
    pub(super) fn last_change(&self, nid: Nid) -> Tick {
        self.last_change.get(&nid).copied().unwrap_or_default()
    }

    /// What servers host must be what events said.
    pub(super) fn inspect(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        let mut hosts: BTreeMap<Nid, RegionId> = BTreeMap::new();
        for node in &scene.nodes {
            for (nid, _) in node.hosted() {
                if let Some(other) = hosts.insert(nid, node.region()) {
                    broken.push(Broken(RULE, format!("{nid} is hosted by {other} and {}", node.region())));
                }
                let known = self.bodies.get(&nid).map(|(authority, _)| *authority);
                if known != Some(Authority::Owned(node.region())) && !scene.unsettled.contains(&nid) {
                    broken.push(Broken(RULE, format!("{} hosts {nid}, which is {known:?}", node.region())));
                }
            }
        }
    }
}

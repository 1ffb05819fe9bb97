//! No id is lost: whatever was born and did not die is hosted somewhere or on its way.

use nimbus_model::{Nid, Tick};
use nimbus_node::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};

use super::{Broken, Scene};

const RULE: &str = "conservation";
/// A body nobody answers for may still be in a frame on the wire for this long.
const ON_THE_WIRE_TICKS: u64 = 120;

#[derive(Default)]
pub(super) struct Conservation {
    alive: BTreeSet<Nid>,
    missing_since: BTreeMap<Nid, Tick>,
}

impl Conservation {
    pub(super) fn observe(&mut self, event: &Event) {
        match event.kind {
            EventKind::Born => {
                self.alive.insert(event.nid);
            }
            EventKind::Died(_) => {
                self.alive.remove(&event.nid);
            }
            EventKind::Granted(_) | EventKind::Adopted(_) | EventKind::Refused(..) => {}
        }
    }

    pub(super) fn inspect(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        let present = present(scene);
        let missing: Vec<Nid> = self.alive.difference(&present).copied().collect();
        self.missing_since.retain(|nid, _| missing.binary_search(nid).is_ok());
        for nid in missing {
            let since = *self.missing_since.entry(nid).or_insert(scene.tick);
            if scene.tick.since(since) > ON_THE_WIRE_TICKS {
                broken.push(Broken(RULE, format!("{nid} is nowhere since tick {since}")));
                self.alive.remove(&nid);
            }
        }
    }

    pub(super) fn conclude(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        let present = present(scene);
        let lost = self.alive.difference(&present).count();
        let unborn = present.difference(&self.alive).count();
        if lost + unborn > 0 {
            let first = self.alive.symmetric_difference(&present).next();
            let what =
                format!("in the end {lost} bodies are lost and {unborn} were never born; the first is {first:?}");
            broken.push(Broken(RULE, what));
        }
    }
}

fn present(scene: &Scene<'_>) -> BTreeSet<Nid> {
    let hosted = scene.nodes.iter().flat_map(|node| node.hosted());
    let flying = scene.nodes.iter().flat_map(|node| node.in_flight());
    hosted.chain(flying).map(|(nid, _)| nid).collect()
}

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
            EventKind::Granted(_) | EventKind::Adopted(_) | EventKind::Refused(..) | EventKind::NotBorn => {}
        }
    }

    pub(super) fn inspect(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        if scene.unknowable {
            self.missing_since.clear();
            return;
        }
        let missing = self.missing(scene);
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
        let lost = self.missing(scene);
        // A body may have died at its new owner while the former one does not know yet that it arrived, so only what
        // somebody simulates must be alive.
        let stranger = |nid: &Nid| !self.alive.contains(nid) && !scene.unsettled.contains(nid);
        let unborn: Vec<Nid> = hosted(scene).filter(stranger).collect();
        if let Some(first) = lost.iter().chain(&unborn).next() {
            let (lost, unborn) = (lost.len(), unborn.len());
            let what = format!("in the end {lost} bodies are lost and {unborn} were never born; the first is {first}");
            broken.push(Broken(RULE, what));
        }
    }

    /// Bodies that are alive and neither simulated nor on their way.
    fn missing(&self, scene: &Scene<'_>) -> Vec<Nid> {
        let flying = scene.nodes.iter().flat_map(|node| node.in_flight()).map(|(nid, _)| nid);
        let present: BTreeSet<Nid> = hosted(scene).chain(flying).collect();
        self.alive.difference(&present).filter(|nid| !scene.unsettled.contains(nid)).copied().collect()
    }
}

fn hosted<'a>(scene: &'a Scene<'_>) -> impl Iterator<Item = Nid> + 'a {
    scene.nodes.iter().flat_map(|node| node.hosted()).map(|(nid, _)| nid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkers::Checkers;
    use crate::recovery::Recovery;
    use nimbus_model::{Layout, RegionId, World};
    use nimbus_node::{Node, NodeConfig, Policy};
    use nimbus_space::PartitionMap;
    use std::sync::Arc;

    /// How often a body of era 1 that a server of this era does not have is called lost.
    fn found(era_of_server: u16) -> usize {
        let mut world = World::new("nothing");
        world.layout = Layout::columns(1, 100.0);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let nodes = [Node::new(NodeConfig::new(RegionId(0)), Arc::new(world), era_of_server, map, Tick(0))];
        let recovery = Recovery::new(false, None, None, 1);
        let mut checkers = Checkers::new(Policy::Aura);
        let born = EventKind::Born;
        let (nid, region) = (Nid::of_world(1, 7), RegionId(0));
        checkers.observe(&Event { era: 1, tick: Tick(0), region, nid, body_epoch: 1, kind: born });
        let mut broken = Vec::new();
        for tick in [20, 40, 20 + ON_THE_WIRE_TICKS, 40 + ON_THE_WIRE_TICKS] {
            let scene = checkers.scene(Tick(tick), &nodes, &[], &[], &recovery);
            checkers.conservation.inspect(&scene, &mut broken);
        }
        broken.len()
    }

    #[test]
    fn what_nobody_has_is_lost_unless_its_world_has_ended() {
        assert_eq!(found(1), 1);
        assert_eq!(found(2), 0, "nobody knows yet that the next world has begun, only the server does");
    }
}

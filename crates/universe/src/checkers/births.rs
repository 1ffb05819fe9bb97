//! Every body that the world brings is born, once: those it starts with and those its injections add.

use nimbus_model::{Nid, Tick, World};
use nimbus_node::{Event, EventKind};
use std::collections::BTreeSet;

use super::{Broken, Scene};

const RULE: &str = "births";

#[derive(Default)]
pub(super) struct Births {
    born: BTreeSet<Nid>,
}

impl Births {
    pub(super) fn observe(&mut self, event: &Event, broken: &mut Vec<Broken>) {
        if event.kind == EventKind::Born && !self.born.insert(event.nid) {
            broken.push(Broken(RULE, format!("{} is born a second time, on {}", event.nid, event.region)));
        }
    }

    /// Everything that was due by the time of the slowest server has been born.
    pub(super) fn conclude(&self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        let Some(slowest) = scene.nodes.iter().min_by_key(|node| node.now()) else { return };
        let (world, era) = (slowest.world(), slowest.era());
        let started = world.owned_bodies().map(|(index, _)| World::nid(era, index));
        let ages = (1..=slowest.now().since(slowest.loaded_at())).map(Tick);
        let injected = ages.flat_map(|age| {
            world.injections.iter().enumerate().flat_map(move |(i, injection)| {
                injection.due(age, world.tick_hz).map(move |ordinal| world.injected_nid(era, i, ordinal))
            })
        });
        let unborn: Vec<Nid> =
            started.chain(injected).filter(|nid| !self.born.contains(nid) && !scene.unsettled.contains(nid)).collect();
        if let Some(first) = unborn.first() {
            broken.push(Broken(RULE, format!("{} bodies were never born; the first is {first}", unborn.len())));
        }
    }
}

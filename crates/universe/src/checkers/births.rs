//! Every body that the world brings is born, once: those it starts with and those its injections add. A server whose budget is
//! used up says by name what it does not make.

use nimbus_model::{Nid, Tick, World};
use nimbus_node::{Event, EventKind};
use std::collections::BTreeSet;

use super::{Broken, Scene};

const RULE: &str = "births";

#[derive(Default)]
pub(super) struct Births {
    born: BTreeSet<Nid>,
    refused: BTreeSet<Nid>,
}

impl Births {
    pub(super) fn observe(&mut self, event: &Event, broken: &mut Vec<Broken>) {
        let Event { nid, region, .. } = event;
        match event.kind {
            EventKind::Born if self.refused.contains(nid) => {
                broken.push(Broken(RULE, format!("{nid} is born on {region} after its birth was refused")));
            }
            EventKind::Born if !self.born.insert(*nid) => {
                broken.push(Broken(RULE, format!("{nid} is born a second time, on {region}")));
            }
            EventKind::NotBorn if self.born.contains(nid) || !self.refused.insert(*nid) => {
                broken.push(Broken(
                    RULE,
                    format!("{region} refuses the birth of {nid}, which was born or refused before"),
                ));
            }
            _ => {}
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
        let awaited: BTreeSet<Nid> = scene.nodes.iter().flat_map(|node| node.unborn()).collect();
        let told = |nid: &Nid| self.born.contains(nid) || self.refused.contains(nid);
        let excused = |nid: &Nid| told(nid) || scene.unsettled.contains(nid) || awaited.contains(nid);
        let unborn: Vec<Nid> = started.chain(injected).filter(|nid| !excused(nid)).collect();
        if let Some(first) = unborn.first() {
            broken.push(Broken(RULE, format!("{} bodies were never born; the first is {first}", unborn.len())));
        }
    }
}

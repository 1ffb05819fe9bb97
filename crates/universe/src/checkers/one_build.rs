//! Statics that are put into the world are there from their tick on, everywhere: no two servers at one tick have different
//! ones, unless one could not hear of them in time. In the end gateways and clients know the same.

use nimbus_model::{Nid, Tick};
use nimbus_node::{Change, Node};
use std::collections::VecDeque;

use super::{Broken, Scene};

const RULE: &str = "one build";
/// Changes further back than this many are in force everywhere.
const KEPT: usize = 64;

/// Statics that were announced: when, for which era, and which revision.
#[derive(Default)]
pub(super) struct OneBuild {
    announced: VecDeque<(Tick, u16, u32)>,
}

impl OneBuild {
    /// A change of the whole world is announced.
    pub(super) fn observe(&mut self, change: &Change) {
        let announced = match change {
            Change::Map(_) => return,
            Change::Load { at, .. } => {
                self.announced.retain(|(earlier, ..)| earlier < at);
                return;
            }
            Change::Statics { at, era, placed } => (*at, *era, placed.revision),
        };
        self.announced.push_back(announced);
        if self.announced.len() > KEPT {
            self.announced.pop_front();
        }
    }

    pub(super) fn inspect(&self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        let heard = |node: &&&Node| !scene.recovery.regions[usize::from(node.region().0)].behind;
        for node in scene.nodes.iter().filter(heard) {
            let (revision, now) = (node.world().placed.revision, node.now());
            if let Some(expected) = self.in_force(now, node.era()).filter(|expected| *expected != revision) {
                let what = format!("{} has statics {revision} at tick {now}, not {expected}", node.region());
                broken.push(Broken(RULE, what));
            }
            let missing = node.world().placed.statics.iter().map(|placed| placed.nid(node.era()));
            if let Some(nid) = missing.into_iter().find(|nid| node.physics().view(*nid).is_none()) {
                broken.push(Broken(RULE, format!("{} does not have static {nid} in its engine", node.region())));
            }
        }
    }

    /// Gateways and clients know what servers have.
    pub(super) fn conclude(scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        let Some(node) = scene.nodes.first() else { return };
        let placed = &node.world().placed;
        for gateway in scene.gateways.iter().filter(|gateway| gateway.world().placed != *placed) {
            let (has, should) = (gateway.world().placed.revision, placed.revision);
            broken.push(Broken(RULE, format!("a gateway has statics {has}, not {should}")));
        }
        let mut truth: Vec<Nid> = node.world().statics().map(|(index, _)| Nid::of_world(node.era(), index)).collect();
        truth.sort_unstable();
        for (index, client) in scene.clients.iter().enumerate() {
            let mut seen: Vec<Nid> = client.statics().iter().map(|known| known.nid).collect();
            seen.sort_unstable();
            if seen != truth {
                let (seen, truth) = (seen.len(), truth.len());
                broken.push(Broken(RULE, format!("client {index} shows {seen} statics, there are {truth}")));
            }
        }
    }

    fn in_force(&self, now: Tick, era: u16) -> Option<u32> {
        self.announced.iter().filter(|(at, its, _)| *at <= now && *its == era).map(|(.., revision)| *revision).max()
    }
}

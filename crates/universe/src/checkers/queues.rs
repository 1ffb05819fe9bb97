//! Nothing grows without limit, and nothing waits for ever.

use nimbus_node::{GATEWAY_LANE_MAX, REGION_LANE_MAX};
use nimbus_wire::{Address, lane::WINDOW};

use super::{Broken, Scene};

const RULE: &str = "bounded queues";
/// Gifts that come back, and commands passed on, may exceed the limit on grants by a little.
const SLACK: usize = 64;
/// On a healthy network everything is acknowledged within this many ticks.
const WAIT_TICKS_MAX: u64 = 60;

pub(super) fn inspect(scene: &Scene<'_>, broken: &mut Vec<Broken>) {
    for node in &scene.nodes {
        for (to, length, _) in node.queues() {
            let limit = match to {
                Address::Region(_) => REGION_LANE_MAX + SLACK,
                Address::Gateway(_) => GATEWAY_LANE_MAX + SLACK,
                Address::Backup(_) => 0,
            };
            if length > limit {
                broken.push(Broken(RULE, format!("{} has {length} items waiting for {to}", node.region())));
            }
        }
        let limit = WINDOW as usize * (scene.nodes.len() + scene.gateways.len());
        if node.held() > limit {
            broken.push(Broken(RULE, format!("{} holds {} items that arrived", node.region(), node.held())));
        }
    }
}

/// Once the network is well, nothing waits for long.
pub(super) fn conclude(scene: &Scene<'_>, broken: &mut Vec<Broken>) {
    for node in &scene.nodes {
        for (to, length, oldest) in node.queues() {
            if let Some(said) = oldest.filter(|said| scene.tick.since(*said) > WAIT_TICKS_MAX) {
                let what = format!("{} has {length} items for {to}, the oldest since tick {said}", node.region());
                broken.push(Broken(RULE, what));
            }
        }
    }
}

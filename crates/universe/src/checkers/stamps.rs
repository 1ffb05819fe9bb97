//! Stamps only rise: every change of owner raises a body's epoch, and no observer goes back to an older reign.

use nimbus_model::Nid;
use nimbus_node::{Event, EventKind};
use std::collections::BTreeMap;

use super::{Broken, Scene};

const RULE: &str = "monotone stamps";

#[derive(Default)]
pub(super) struct MonotoneStamps {
    owners: BTreeMap<Nid, u32>,
    observers: BTreeMap<(usize, Nid), u32>,
}

impl MonotoneStamps {
    pub(super) fn observe(&mut self, event: &Event, broken: &mut Vec<Broken>) {
        let Event { nid, body_epoch, kind, region, .. } = *event;
        let known = self.owners.get(&nid).copied().unwrap_or(0);
        let rises = matches!(kind, EventKind::Born | EventKind::Granted(_) | EventKind::Died(_));
        if body_epoch < known || (rises && body_epoch == known) {
            broken.push(Broken(RULE, format!("{region} says {kind:?} of {nid} at epoch {body_epoch} after {known}")));
        }
        // What is refused goes back under the next epoch, and may be seen there before that is certain.
        let next = body_epoch + u32::from(matches!(kind, EventKind::Refused(..)));
        self.owners.insert(nid, known.max(next));
    }

    /// No gateway goes back to an older reign, or knows one that never was.
    pub(super) fn inspect(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        for (index, gateway) in scene.gateways.iter().enumerate() {
            for replica in gateway.replicas() {
                let epoch = replica.stamp.body_epoch;
                let before = self.observers.insert((index, replica.nid), epoch).unwrap_or(0);
                let highest = self.owners.get(&replica.nid).copied().unwrap_or(0);
                if epoch < before || epoch > highest {
                    let what = format!("gateway {index} holds {} at {epoch}, was {before}, is {highest}", replica.nid);
                    broken.push(Broken(RULE, what));
                }
            }
        }
    }
}

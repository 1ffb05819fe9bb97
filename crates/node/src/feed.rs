//! What gateways hear: births and arrivals, deaths and rests for certain; motion as it comes.

use nimbus_model::{Nid, RegionId};
use nimbus_wire::{Address, Content, Frame, Item, STATES_PER_FRAME, StateUpdate};

use crate::config::Planted;
use crate::node::Node;
use crate::outbox::GATEWAY_LANE_MAX;

impl Node {
    /// Tells every gateway, for certain.
    pub(crate) fn tell(&mut self, item: &Item) {
        for &gateway in &self.config.gateways {
            let to = Address::Gateway(gateway);
            if self.outbox.waiting(to) >= GATEWAY_LANE_MAX {
                self.counters.feed_dropped += 1;
            } else {
                self.outbox.push(to, self.now, item.clone());
            }
        }
    }

    /// Tells gateways that a body is here, by birth or arrival.
    pub(crate) fn tell_hosted(&mut self, nid: Nid, body_epoch: u32, arrived_from: Option<RegionId>) {
        let born_later = arrived_from.is_none() && self.now > self.loaded_at;
        let silent = born_later && self.config.planted == Some(Planted::SilentBirth);
        if self.config.gateways.is_empty() || silent {
            return;
        }
        let Some(view) = self.physics.view(nid) else { return };
        let desc = view.desc.clone();
        let Some(motion) = self.physics.motion(nid) else { return };
        self.tell(&Item::Hosted { nid, body_epoch, desc, motion });
    }

    /// Tells gateways where the bodies came to rest that fell asleep in the last step.
    pub(crate) fn tell_rested(&mut self, asleep: &[Nid]) {
        if self.config.gateways.is_empty() {
            return;
        }
        for &nid in asleep {
            if let (Some(&body_epoch), Some(motion)) = (self.hosted.get(&nid), self.physics.motion(nid)) {
                self.tell(&Item::Rested { nid, body_epoch, motion });
            }
        }
    }

    /// Where everything awake is now, for every gateway.
    pub(crate) fn emit_states(&self, out: &mut Vec<Frame>) {
        if self.config.gateways.is_empty() {
            return;
        }
        let mut updates = Vec::with_capacity(self.physics.len());
        let mut hosted = self.hosted.iter();
        self.physics.for_each_awake(|body| {
            let epoch = hosted.find(|(nid, _)| **nid >= body.nid).filter(|(nid, _)| **nid == body.nid);
            if let Some((_, &body_epoch)) = epoch {
                updates.push(StateUpdate { nid: body.nid, body_epoch, pose: body.pose, velocity: body.velocity });
            }
        });
        for &gateway in &self.config.gateways {
            for chunk in updates.chunks(STATES_PER_FRAME) {
                out.push(self.frame(Address::Gateway(gateway), Content::States(chunk.to_vec())));
            }
        }
    }
}

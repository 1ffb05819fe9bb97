//! What gateways hear: births and arrivals, deaths and rests for certain; motion as it comes.

use nimbus_model::{Nid, RegionId};
use nimbus_wire::{Address, Content, Frame, Item, Places, STATES_PER_FRAME, StateUpdate};

use crate::config::Planted;
use crate::node::Node;
use crate::outbox::GATEWAY_LANE_MAX;

/// Births wait their turn when this many items are on their way to a gateway.
pub(crate) const BIRTHS_UNDER_WAY_MAX: usize = 8_192;

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
    pub(crate) fn tell_hosted(&mut self, nid: Nid, arrived_from: Option<RegionId>) {
        let born_later = arrived_from.is_none() && self.now > self.loaded_at;
        let silent = born_later && self.config.planted == Some(Planted::SilentBirth);
        if self.config.gateways.is_empty() || silent {
            return;
        }
        let Some(item) = self.hosted_item(nid) else { return };
        for &gateway in &self.config.gateways {
            let to = Address::Gateway(gateway);
            if self.outbox.waiting(to) >= BIRTHS_UNDER_WAY_MAX {
                self.untold.insert((gateway, nid));
            } else {
                self.outbox.push(to, self.now, item.clone());
            }
        }
    }

    /// Tells gateways where the bodies came to rest that fell asleep in the last step.
    pub(crate) fn tell_rested(&mut self, asleep: &[Nid]) {
        if self.config.gateways.is_empty() {
            return;
        }
        for &nid in asleep {
            if let (Some(body_epoch), Some(motion)) = (self.hosted.get(nid), self.physics.motion(nid)) {
                self.tell(&Item::Rested { nid, body_epoch, motion });
            }
        }
    }

    /// Tells gateways of bodies that had to wait because too much was under way already.
    pub(crate) fn tell_untold(&mut self) {
        let mut untold = std::mem::take(&mut self.untold);
        untold.retain(|&(gateway, nid)| {
            let to = Address::Gateway(gateway);
            if self.outbox.waiting(to) >= BIRTHS_UNDER_WAY_MAX {
                return true;
            }
            if let Some(item) = self.hosted_item(nid) {
                self.outbox.push(to, self.now, item);
            }
            false
        });
        self.untold = untold;
    }

    fn hosted_item(&self, nid: Nid) -> Option<Item> {
        let body_epoch = self.hosted.get(nid)?;
        let desc = self.physics.view(nid)?.desc.clone();
        Some(Item::Hosted { nid, body_epoch, desc, motion: self.physics.motion(nid)? })
    }

    /// Where everything awake is now, for every gateway as far as it wants to know.
    pub(crate) fn emit_states(&mut self, out: &mut Vec<Frame>) {
        let moved = std::mem::take(&mut self.moved);
        let told = std::mem::replace(&mut self.states_told, self.now);
        let mut states = 0;
        for &gateway in &self.config.gateways {
            let places = self.places_for(gateway);
            let some: Vec<StateUpdate>;
            let wanted = match places {
                Places::Everywhere => &moved,
                Places::Within(_) => {
                    let wants =
                        |state: &&StateUpdate| places.hold(state.pose.position) || self.is_turn_of(state.nid, told);
                    some = moved.iter().filter(wants).copied().collect();
                    &some
                }
            };
            states += wanted.len() as u64;
            for chunk in wanted.chunks(STATES_PER_FRAME) {
                out.push(self.frame(Address::Gateway(gateway), Content::States(chunk.to_vec())));
            }
        }
        self.counters.states_told += states;
    }
}

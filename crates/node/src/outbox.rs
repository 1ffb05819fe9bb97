//! What has to be said and is not yet known to have arrived.

use nimbus_model::{RegionId, Tick};
use nimbus_wire::lane::Outgoing;
use nimbus_wire::{Address, Item, LaneFrame};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most unacknowledged items on the lane to a region; at the limit, bodies stay where they are. With backups an answer
/// takes three ticks, so this many leave room for 10,000 bodies a second that travel one by one. A frame takes as many.
pub const REGION_LANE_MAX: usize = 2_048;
/// Most unacknowledged items on the lane to a gateway; beyond it news is dropped and counted.
pub const GATEWAY_LANE_MAX: usize = 65_536;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outbox {
    lanes: BTreeMap<Address, Outgoing>,
}

impl Outbox {
    pub(crate) fn push(&mut self, to: Address, tick: Tick, item: Item) {
        self.lanes.entry(to).or_default().push(tick, item);
    }

    pub(crate) fn acknowledge(&mut self, from: Address, upto: u64) {
        if let Some(lane) = self.lanes.get_mut(&from) {
            lane.acknowledge(upto);
        }
    }

    /// Forgets a peer that is gone for good, and what was to be said to it.
    pub(crate) fn close(&mut self, peer: Address) {
        self.lanes.remove(&peer);
    }

    /// Continues lanes that a former life of the server may have sent from.
    pub(crate) fn resume(&mut self) {
        self.lanes.values_mut().for_each(Outgoing::resume);
    }

    /// True when everything up to here was sent to a peer: anything else it claims to have is a lie.
    pub(crate) fn was_sent(&self, to: Address, upto: u64) -> bool {
        upto == 0 || self.lanes.get(&to).is_some_and(|lane| lane.was_sent(upto))
    }

    pub(crate) fn waiting(&self, to: Address) -> usize {
        self.lanes.get(&to).map_or(0, |lane| lane.waiting().len())
    }

    /// True when a neighbour takes bodies: it answers, and the lane has room.
    pub(crate) fn is_open(&self, to: RegionId, now: Tick, silence_ticks: u64, forgets: bool) -> bool {
        if forgets {
            return true;
        }
        let Some(lane) = self.lanes.get(&Address::Region(to)) else { return true };
        let mut waiting = lane.waiting();
        waiting.len() < REGION_LANE_MAX && waiting.next().is_none_or(|(said, _)| now.since(*said) <= silence_ticks)
    }

    /// What to send to a peer now.
    pub(crate) fn poll(&mut self, to: Address, now: Tick, ack: u64, patience: u64, forgets: bool) -> Option<LaneFrame> {
        let lane = self.lanes.get_mut(&to)?;
        let frame = lane.poll(now, ack, patience)?;
        if forgets && matches!(to, Address::Region(_)) {
            lane.forget_sent();
        }
        Some(frame)
    }

    pub(crate) fn peers(&self) -> impl Iterator<Item = Address> {
        self.lanes.keys().copied()
    }

    /// Per peer: how many items are not yet acknowledged, and when the oldest of them was said.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = (Address, usize, Option<Tick>)> {
        self.lanes.iter().map(|(to, lane)| {
            let mut waiting = lane.waiting();
            (*to, waiting.len(), waiting.next().map(|(said, _)| *said))
        })
    }

    /// How far each peer has acknowledged what it was sent.
    pub(crate) fn acknowledged(&self) -> impl Iterator<Item = (Address, u64)> {
        self.lanes.iter().map(|(to, lane)| (*to, lane.acknowledged()))
    }

    /// Items not yet acknowledged, with the peer each is for and its number on the lane.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (Address, u64, &Item)> {
        self.lanes.iter().flat_map(|(to, lane)| {
            (lane.acknowledged() + 1..).zip(lane.waiting()).map(|(number, (_, item))| (*to, number, item))
        })
    }

    /// Items not yet acknowledged, with the peer each is for.
    pub(crate) fn unacknowledged(&self) -> impl Iterator<Item = (Address, &Item)> {
        self.lanes.iter().flat_map(|(to, lane)| lane.waiting().map(|(_, item)| (*to, item)))
    }
}

//! The ordered lanes between the gateway and every region.

use nimbus_model::{RegionId, Tick};
use nimbus_wire::lane::{Incoming, Outgoing, RESEND_TICKS};
use nimbus_wire::{Address, Content, Frame, Item, LaneFrame, Order};
use std::collections::BTreeMap;

use crate::replicas::Voice;

/// Unacknowledged orders to one region; with more it is taken for gone.
const WAITING_MAX: usize = 4096;

/// Both directions to one region. Sequence numbers outlive a restart of the region; its epoch tells its lives apart.
#[derive(Debug, Default)]
struct Lane {
    incoming: Incoming,
    outgoing: Outgoing,
    epoch: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    by_region: BTreeMap<RegionId, Lane>,
}

/// What every frame of this gateway says about its sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub(crate) from: Address,
    pub(crate) era: u16,
    pub(crate) epoch: u32,
    pub(crate) tick: Tick,
}

impl Lanes {
    /// False when the frame is of a former life of the region.
    pub(crate) fn admit(&mut self, region: RegionId, epoch: u32) -> bool {
        let lane = self.by_region.entry(region).or_default();
        lane.epoch = lane.epoch.max(epoch);
        epoch >= lane.epoch
    }

    pub(crate) fn receive(&mut self, region: RegionId, frame: LaneFrame) {
        let lane = self.by_region.entry(region).or_default();
        lane.outgoing.acknowledge(frame.ack);
        lane.incoming.receive(frame.first, frame.items);
    }

    /// Applies every item that is next in sequence, lowest region first. A gateway only watches, so none is too early.
    pub(crate) fn apply(&mut self, mut apply: impl FnMut(Voice, Item)) {
        for (region, lane) in &mut self.by_region {
            while let Some((_, tick, item)) = lane.incoming.next_due(Tick(u64::MAX)) {
                apply(Voice { region: *region, epoch: lane.epoch, tick }, item);
            }
        }
    }

    /// Puts an order on the lane to a region. Ask [`Lanes::has_room`] first.
    pub(crate) fn push(&mut self, region: RegionId, now: Tick, order: Order) {
        self.by_region.entry(region).or_default().outgoing.push(now, Item::Order(order));
    }

    /// True when the region listens well enough to be given another order.
    pub(crate) fn has_room(&self, region: RegionId) -> bool {
        self.by_region.get(&region).is_none_or(|lane| lane.outgoing.waiting().len() < WAITING_MAX)
    }

    /// Frames to send now: orders, and acknowledgements that are owed.
    pub(crate) fn emit(&mut self, sender: Sender, out: &mut Vec<Frame>) {
        for (region, lane) in &mut self.by_region {
            let ack = lane.incoming.mark();
            let owed = lane.incoming.take_owed_ack();
            let frame = lane.outgoing.poll(sender.tick, ack, RESEND_TICKS);
            let Some(frame) = frame.or_else(|| owed.then(|| LaneFrame { ack, ..LaneFrame::default() })) else {
                continue;
            };
            let Sender { from, era, epoch, tick } = sender;
            out.push(Frame { from, to: Address::Region(*region), era, epoch, tick, content: Content::Lane(frame) });
        }
    }

    pub(crate) fn clear(&mut self) {
        self.by_region.clear();
    }
}

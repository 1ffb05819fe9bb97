//! The ordered lanes between the gateway and every region.

use nimbus_model::{RegionId, Tick};
use nimbus_wire::lane::{Incoming, Outgoing, RESEND_TICKS};
use nimbus_wire::{Address, Commit, Commits, Content, Frame, Item, LaneFrame, Order};
use std::collections::BTreeMap;

use crate::replicas::Voice;

/// Unacknowledged orders to one region; with more it is taken for gone. They stay until it is back, also when whoever gave
/// them has been told that nobody answers.
const WAITING_MAX: usize = 1_024;

/// Both directions to one region. Sequence numbers outlive a restart of the region; its epoch tells its lives apart.
#[derive(Debug, Default)]
struct Lane {
    incoming: Incoming,
    outgoing: Outgoing,
}

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    by_region: BTreeMap<RegionId, Lane>,
    /// The latest life heard of each region. Outlives a load of the world, as regions do.
    epochs: BTreeMap<RegionId, u32>,
    /// Whether items wait until they are certain to stand, and what is certain.
    durable: bool,
    commits: Commits,
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
    pub(crate) fn new(durable: bool) -> Lanes {
        Lanes { durable, ..Lanes::default() }
    }

    /// A backup says how far its region's word is certain.
    pub(crate) fn note_commit(&mut self, commit: Commit) {
        self.commits.note(commit);
    }

    /// False when the frame is of a former life of the region.
    pub(crate) fn admit(&mut self, region: RegionId, epoch: u32) -> bool {
        let latest = self.epochs.entry(region).or_default();
        *latest = epoch.max(*latest);
        epoch >= *latest
    }

    pub(crate) fn receive(&mut self, region: RegionId, epoch: u32, frame: LaneFrame) {
        let lane = self.by_region.entry(region).or_default();
        lane.outgoing.acknowledge(frame.ack);
        lane.incoming.receive(epoch, frame.first, frame.items);
    }

    /// Applies every item that is next in sequence, lowest region first. A gateway only watches, so none is too early.
    pub(crate) fn apply(&mut self, mut apply: impl FnMut(Voice, Item)) {
        let Lanes { by_region, epochs, durable, commits } = self;
        for (&region, lane) in by_region {
            let epoch = epochs.get(&region).copied().unwrap_or_default();
            let certain = |epoch, said| !*durable || commits.covers(region, epoch, said);
            while let Some((_, tick, item)) = lane.incoming.next_due(Tick(u64::MAX), certain) {
                apply(Voice { region, epoch, tick }, item);
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

//! What has arrived and waits for its tick.
//!
//! Frames come in any order and at any time. What they say takes effect at a tick, in an order that does not depend on
//! when they came: by the tick at which it was said, then by sender, then by sequence.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_wire::lane::Incoming;
use nimbus_wire::{Address, AuraFrame, Commit, Commits, GatewayId, Item, LaneFrame, WantedTouches};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::breach::Factor;
use crate::config::{Planted, Policy};
use crate::leg_times::LegTimes;
use crate::node::Change;

/// Something from outside that takes effect at a tick. The log is made of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Input {
    /// The next item of a lane.
    Item {
        /// Who sent it.
        from: Address,
        /// Its number on the lane.
        sequence: u64,
        /// The tick at which it was said.
        said: Tick,
        /// What it says.
        item: Item,
    },
    /// A peer has everything up to here.
    Ack {
        /// The peer.
        from: Address,
        /// Up to which number.
        upto: u64,
    },
    /// A neighbour's auras.
    Auras {
        /// Who sent them.
        from: RegionId,
        /// The tick they speak of.
        tick: Tick,
        /// The auras.
        frame: AuraFrame,
    },
    /// The shell measured something beyond its limit.
    Measured {
        /// What.
        factor: Factor,
        /// The worst value since the last tick.
        value: f32,
    },
    /// The shell measured times that a leg is made of, and these count from now on.
    Times(LegTimes),
    /// A change of the whole world whose named tick has come.
    Change(Change),
    /// The backup has everything up to a tick.
    Kept {
        /// Up to which tick.
        upto: Tick,
    },
    /// Bodies are to go to another region, whatever the policy says.
    Force {
        /// The bodies.
        nids: Vec<Nid>,
        /// Where to.
        to: RegionId,
    },
    /// These gateways watch, and no others.
    Gateways(Vec<GatewayId>),
    /// A change of the whole world is to come. What is to come counts before it comes, so the log has it.
    Announced(Change),
    /// These gateways hear of touches, and no others, each of these.
    Listeners(Vec<(GatewayId, WantedTouches)>),
}

/// What must be known about an item from a region before it may take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Nothing.
    Open,
    /// That the region's backup has the tick at which it was said, in the life in which it was said.
    Committed,
    /// The same in any life: a mistake.
    CommittedInAnyLife,
}

/// Most frames of auras of one neighbour that wait for their tick.
const AURA_FRAMES_MAX: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inbox {
    lanes: BTreeMap<Address, Incoming>,
    acks: BTreeMap<Address, u64>,
    /// The latest auras of each neighbour, and what takes effect only later.
    auras: BTreeMap<RegionId, BTreeMap<Tick, AuraFrame>>,
    /// The worst of what the shell measured since the last tick.
    measured: BTreeMap<Factor, f32>,
    /// Bodies to be given away by order, and to whom.
    #[serde(skip)]
    pub(crate) forced: Vec<(Vec<Nid>, RegionId)>,
    commits: Commits,
    /// Items taken again by the planted bug that does not tell old from new.
    doubled: Vec<(Address, u64, Tick, Item)>,
}

impl Inbox {
    pub(crate) fn receive(&mut self, from: Address, epoch: u32, frame: LaneFrame, planted: Option<Planted>) {
        if frame.ack > 0 {
            let ack = self.acks.entry(from).or_default();
            *ack = (*ack).max(frame.ack);
        }
        let lane = self.lanes.entry(from).or_default();
        if planted == Some(Planted::NoDedup) {
            let old = frame.items.iter().zip(frame.first..).filter(|(_, sequence)| *sequence <= lane.mark());
            self.doubled.extend(old.map(|((said, item), sequence)| (from, sequence, *said, item.clone())));
        }
        lane.receive(epoch, frame.first, frame.items);
    }

    /// Takes a neighbour's auras. They take effect after the tick they speak of; few wait at a time.
    pub(crate) fn receive_auras(&mut self, from: Address, tick: Tick, frame: AuraFrame) {
        if let Address::Region(region) = from {
            let waiting = self.auras.entry(region).or_default();
            waiting.insert(tick, frame);
            if waiting.len() > AURA_FRAMES_MAX {
                waiting.pop_first();
            }
        }
    }

    /// Notes a measurement beyond its limit.
    pub(crate) fn measure(&mut self, factor: Factor, value: f32) {
        let worst = self.measured.entry(factor).or_insert(value);
        *worst = worst.max(value);
    }

    /// Everything that takes effect at `tick`, in its one order.
    pub(crate) fn due(&mut self, tick: Tick, policy: Policy, gate: Gate, inputs: &mut Vec<Input>) {
        let acks = std::mem::take(&mut self.acks);
        inputs.extend(acks.into_iter().map(|(from, upto)| Input::Ack { from, upto }));
        let measured = std::mem::take(&mut self.measured);
        inputs.extend(measured.into_iter().map(|(factor, value)| Input::Measured { factor, value }));
        inputs.extend(self.forced.drain(..).map(|(nids, to)| Input::Force { nids, to }));
        for (&from, waiting) in &mut self.auras {
            let later = waiting.split_off(&tick);
            if let Some((tick, frame)) = std::mem::replace(waiting, later).pop_last() {
                inputs.push(Input::Auras { from, tick, frame });
            }
        }
        let mut items = Vec::new();
        let commits = &self.commits;
        for (&from, lane) in &mut self.lanes {
            if policy == Policy::Forgetful && matches!(from, Address::Region(_)) {
                lane.skip_gap();
            }
            while let Some((sequence, said, item)) = lane.next_due(tick, gate.of(commits, from)) {
                items.push((said, from, sequence, item));
            }
        }
        items.extend(self.doubled.drain(..).map(|(from, sequence, said, item)| (said, from, sequence, item)));
        items.sort_by_key(|(said, from, sequence, _)| (*said, *from, *sequence));
        inputs.extend(items.into_iter().map(|(said, from, sequence, item)| Input::Item { from, sequence, said, item }));
    }

    pub(crate) fn replayed(&mut self, from: Address, sequence: u64) {
        self.lanes.entry(from).or_default().replayed(sequence);
    }

    /// How far the lane from a peer has taken effect, and whether the peer should be told.
    pub(crate) fn owed_ack(&mut self, peer: Address) -> (u64, bool) {
        self.lanes.get_mut(&peer).map_or((0, false), |lane| (lane.mark(), lane.take_owed_ack()))
    }

    /// A backup says how far its region's word is certain.
    pub(crate) fn note_commit(&mut self, commit: Commit) {
        self.commits.note(commit);
    }

    /// Items that wait only because it is not certain that they will stand.
    pub(crate) fn uncertain(&self, gate: Gate) -> usize {
        self.lanes.iter().map(|(from, lane)| lane.uncertain(gate.of(&self.commits, *from))).sum()
    }

    /// Forgets a peer that is gone for good.
    pub(crate) fn close(&mut self, peer: Address) {
        self.lanes.remove(&peer);
        self.acks.remove(&peer);
    }

    /// Forgets everything but how far the word of others is certain, as a new world demands.
    pub(crate) fn clear(&mut self) {
        *self = Inbox { commits: std::mem::take(&mut self.commits), ..Inbox::default() };
    }

    /// How far each lane has taken effect.
    pub(crate) fn marks(&self) -> impl Iterator<Item = (Address, u64)> {
        self.lanes.iter().map(|(from, lane)| (*from, lane.mark()))
    }

    /// Peers that have sent anything, in order.
    pub(crate) fn peers(&self) -> impl Iterator<Item = Address> {
        self.lanes.keys().copied()
    }

    /// Items that arrived and wait for their turn.
    pub(crate) fn held(&self) -> usize {
        self.lanes.values().map(Incoming::held).sum()
    }
}

impl Gate {
    /// The question whether an item from a peer, by the peer's life and the tick at which it was said, is certain.
    fn of(self, commits: &Commits, from: Address) -> impl Fn(u32, Tick) -> bool {
        move |epoch, said| match (self, from) {
            (Gate::Committed, Address::Region(region)) => commits.covers(region, epoch, said),
            (Gate::CommittedInAnyLife, Address::Region(region)) => commits.covers_any_life(region, said),
            _ => true,
        }
    }
}

//! What has arrived and waits for its tick.
//!
//! Frames come in any order and at any time. What they say takes effect at a tick, in an order that does not depend on
//! when they came: by the tick at which it was said, then by sender, then by sequence.

use nimbus_model::Tick;
use nimbus_wire::lane::Incoming;
use nimbus_wire::{Address, Commit, Commits, Item, LaneFrame};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::config::{Planted, Policy};
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
    /// A change of the whole world whose named tick has come.
    Change(Change),
    /// The backup has everything up to a tick.
    Kept {
        /// Up to which tick.
        upto: Tick,
    },
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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inbox {
    lanes: BTreeMap<Address, Incoming>,
    acks: BTreeMap<Address, u64>,
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

    /// Everything that takes effect at `tick`, in its one order.
    pub(crate) fn due(&mut self, tick: Tick, policy: Policy, gate: Gate, inputs: &mut Vec<Input>) {
        let acks = std::mem::take(&mut self.acks);
        inputs.extend(acks.into_iter().map(|(from, upto)| Input::Ack { from, upto }));
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

//! What must always hold. One rule, one file; every run of a universe is watched by all of them.
//!
//! Checkers are told every [`Event`] as it happens and look at the whole cluster from time to time. They see what no
//! server can see, and they have no other source of truth than that.

mod apart;
mod births;
mod boundaries;
mod conservation;
mod contact_turns;
mod durable;
mod heard_touches;
mod kept_changes;
mod mirror;
mod missed_ticks;
mod never_lost;
mod one_build;
mod one_load;
mod one_owner;
mod one_partition;
mod one_server;
mod queues;
mod replay;
mod rest;
mod sound_state;
mod stamps;
mod stored_first;
mod thrashing;

use nimbus_client::{Client, TouchNews};
use nimbus_control::{Incarnation, PlannerConfig, Roster, Told};
use nimbus_gateway::Gateway;
use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{Change, ContactTick, Event, Node, Policy};
use nimbus_space::PartitionMap;
use nimbus_wire::{Frame, GatewayId};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

pub(crate) use replay::ReplayProof;

use crate::recovery::Recovery;

/// A rule was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: &'static str,
    /// When it was noticed.
    pub tick: Tick,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tick {}: {}: {}", self.tick, self.rule, self.what)
    }
}

/// The whole cluster at one moment.
pub(crate) struct Scene<'a> {
    tick: Tick,
    nodes: Vec<&'a Node>,
    gateways: Vec<&'a Gateway>,
    clients: &'a [Client],
    /// How many servers and gateways live in another era.
    others: usize,
    /// Bodies of which something happened that is not certain yet.
    unsettled: BTreeSet<Nid>,
    /// Nobody can say what some region has in this era: it has no server at the moment, and its bodies are with its
    /// backup, or its server has begun the next world.
    unknowable: bool,
    recovery: &'a Recovery,
}

/// All checkers, and what they found.
#[derive(Default)]
pub(crate) struct Checkers {
    policy: Policy,
    /// The newest era any server has begun; what happens in older ones no longer matters.
    era: u16,
    births: births::Births,
    one_owner: one_owner::OneOwner,
    conservation: conservation::Conservation,
    stamps: stamps::MonotoneStamps,
    apart: apart::Apart,
    missed_ticks: missed_ticks::MissedTicks,
    thrashing: thrashing::Thrashing,
    rest: rest::Rest,
    contact_turns: contact_turns::ContactTurns,
    heard_touches: heard_touches::HeardTouches,
    one_partition: one_partition::OnePartition,
    one_build: one_build::OneBuild,
    one_load: one_load::OneLoad,
    one_server: one_server::OneServer,
    boundaries: boundaries::Boundaries,
    found: Vec<Violation>,
}

/// More than this many violations say nothing new.
const VIOLATIONS_MAX: usize = 20;

impl Checkers {
    /// The checkers of a cluster that runs under a policy; some rules are promises of one policy only.
    pub(crate) fn new(policy: Policy) -> Checkers {
        Checkers { policy, ..Checkers::default() }
    }

    /// Something happened.
    pub(crate) fn observe(&mut self, event: &Event) {
        if event.era > self.era {
            self.era = event.era;
            self.births = births::Births::default();
            self.one_owner = one_owner::OneOwner::default();
            self.conservation = conservation::Conservation::default();
            self.stamps = stamps::MonotoneStamps::default();
            self.thrashing.begin_anew();
            self.rest = rest::Rest::default();
            self.heard_touches.begin_anew(event.tick);
        }
        if event.era < self.era {
            return;
        }
        let (tick, mut broken) = (event.tick, Vec::new());
        self.births.observe(event, &mut broken);
        self.one_owner.observe(event, &mut broken);
        self.conservation.observe(event);
        self.stamps.observe(event, &mut broken);
        if self.policy == Policy::Aura {
            self.thrashing.observe(event, &mut broken);
            self.rest.observe(event, &mut broken);
            self.apart.observe(event);
        }
        self.note(tick, broken);
    }

    /// A server told of touches.
    pub(crate) fn observe_contacts(&mut self, region: RegionId, told: &ContactTick) {
        self.contact_turns.observe(region, told);
        self.heard_touches.observe(region, told);
    }

    /// A server tells a gateway of touches, or does not.
    pub(crate) fn tells_touches(&mut self, region: RegionId, node: &Node, gateway: GatewayId) {
        self.heard_touches.look(region, node.tells_touches_to(gateway), node.now(), node.certain());
    }

    /// A client heard of touches.
    pub(crate) fn hear_touches(&mut self, heard: Vec<TouchNews>, left_out: u64) {
        self.heard_touches.hear(heard, left_out);
    }

    /// A change of the whole world is announced.
    pub(crate) fn observe_change(&mut self, change: &Change) {
        self.one_partition.observe(change);
        self.one_build.observe(change);
        self.thrashing.expect(change);
        self.rest.expect(change);
    }

    /// A planner made a partition.
    pub(crate) fn observe_plan(
        &mut self,
        tick: Tick,
        before: &PartitionMap,
        after: &PartitionMap,
        config: &PlannerConfig,
    ) {
        let mut broken = Vec::new();
        self.boundaries.observe(tick, before, after, config, &mut broken);
        self.note(tick, broken);
    }

    /// A roster got into the store.
    pub(crate) fn observe_stored(&mut self, tick: Tick, roster: &Roster) {
        let mut broken = Vec::new();
        self.one_server.stored(roster, &mut broken);
        never_lost::stored(roster, &mut broken);
        self.note(tick, broken);
    }

    /// A process acts on a roster; `stored` is what the store has had under its revision.
    pub(crate) fn observe_acted_on(&mut self, tick: Tick, roster: &Roster, stored: Option<&Arc<Roster>>) {
        let mut broken = Vec::new();
        stored_first::acts_on(roster, stored, &mut broken);
        self.note(tick, broken);
    }

    /// A process ends because it was told that it is no member.
    pub(crate) fn observe_fenced(&mut self, tick: Tick, own: Incarnation, revision: u64, stored: Option<&Arc<Roster>>) {
        let mut broken = Vec::new();
        stored_first::fenced(own, revision, stored, &mut broken);
        self.note(tick, broken);
    }

    /// A process begins to serve a region.
    pub(crate) fn observe_service(&mut self, tick: Tick, region: RegionId, epoch: u32, process: u32) {
        let mut broken = Vec::new();
        self.one_server.begins(region, epoch, process, &mut broken);
        self.note(tick, broken);
    }

    /// A backup becomes the server of a region: what it has made of the changes of the whole world, and what is in force as
    /// the roster says by which it does.
    pub(crate) fn observe_succession(&mut self, tick: Tick, region: RegionId, made: Told, in_force: Told) {
        let mut broken = Vec::new();
        kept_changes::succeeds(region, made, in_force, &mut broken);
        self.note(tick, broken);
    }

    /// The control plane asked for what cannot be done.
    pub(crate) fn blame_control(&mut self, tick: Tick, what: String) {
        self.note(tick, vec![Broken("sound control", what)]);
    }

    /// Everything that lives in the newest era.
    pub(crate) fn scene<'a>(
        &self,
        tick: Tick,
        nodes: &'a [Node],
        gateways: &'a [Gateway],
        clients: &'a [Client],
        recovery: &'a Recovery,
    ) -> Scene<'a> {
        let total = nodes.len() + gateways.len();
        let down = recovery.regions.iter().any(|region| region.down);
        let unknowable = down || nodes.iter().any(|node| node.era() > self.era);
        let up = nodes.iter().zip(&recovery.regions).filter(|(_, region)| !region.down).map(|(node, _)| node);
        let nodes: Vec<&Node> = up.filter(|node| node.era() == self.era).collect();
        let gateways: Vec<&Gateway> = gateways.iter().filter(|gateway| gateway.era() == self.era).collect();
        let others = total - nodes.len() - gateways.len();
        let unsettled = recovery.unsettled();
        Scene { tick, nodes, gateways, clients, others, unsettled, unknowable, recovery }
    }

    /// A look at everything, while the cluster runs.
    pub(crate) fn inspect(&mut self, scene: &Scene<'_>) {
        let mut broken = Vec::new();
        self.one_owner.inspect(scene, &mut broken);
        self.conservation.inspect(scene, &mut broken);
        self.stamps.inspect(scene, &mut broken);
        sound_state::inspect(scene, &mut broken);
        queues::inspect(scene, &mut broken);
        self.one_partition.inspect(scene, &mut broken);
        self.one_build.inspect(scene, &mut broken);
        self.one_load.inspect(scene, &mut broken);
        if self.policy == Policy::Aura {
            self.missed_ticks.inspect(scene, &mut broken);
        }
        self.note(scene.tick, broken);
    }

    /// A server gives bodies away in these frames.
    pub(crate) fn depart(&mut self, node: &Node, frames: &[Frame]) {
        if self.policy == Policy::Aura {
            self.apart.depart(node, frames);
        }
    }

    /// A look at every tick, for as long as no promise was void.
    pub(crate) fn inspect_seams(&mut self, scene: &Scene<'_>) {
        let mut broken = Vec::new();
        if self.policy == Policy::Aura {
            self.apart.inspect(scene, &mut broken);
            self.rest.inspect(scene);
        }
        self.note(scene.tick, broken);
    }

    /// A last look, after every fault has ended and everything had time to settle.
    pub(crate) fn conclude(&mut self, scene: &Scene<'_>) {
        self.inspect(scene);
        let mut broken = Vec::new();
        if scene.others > 0 {
            broken.push(Broken("one era", format!("{} servers or gateways missed the last load", scene.others)));
        }
        self.births.conclude(scene, &mut broken);
        self.conservation.conclude(scene, &mut broken);
        queues::conclude(scene, &mut broken);
        mirror::conclude(scene, &self.one_owner, &mut broken);
        durable::conclude(scene, &mut broken);
        one_partition::conclude(scene, &mut broken);
        one_build::OneBuild::conclude(scene, &mut broken);
        self.contact_turns.conclude(scene, &mut broken);
        self.heard_touches.conclude(scene, &mut broken);
        self.note(scene.tick, broken);
    }

    /// The outcome of running a server again from its snapshot and log.
    pub(crate) fn prove(&mut self, tick: Tick, proof: &ReplayProof, node: &Node) {
        let mut broken = Vec::new();
        proof.check(node, &mut broken);
        self.note(tick, broken);
    }

    pub(crate) fn found(&self) -> &[Violation] {
        &self.found
    }

    fn note(&mut self, tick: Tick, broken: Vec<Broken>) {
        let room = VIOLATIONS_MAX.saturating_sub(self.found.len());
        self.found.extend(broken.into_iter().take(room).map(|Broken(rule, what)| Violation { rule, tick, what }));
    }
}

/// A broken rule and what was seen.
pub(crate) struct Broken(pub(crate) &'static str, pub(crate) String);

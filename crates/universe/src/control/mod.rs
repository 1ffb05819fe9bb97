//! The coordinator's core, its store and the members of the cluster, in virtual time.
//!
//! Everything that a shell around [`nimbus_control::Coordinator`] does is done here and in `universe/`, over the same
//! faulty network as everything else: processes join, beat, and do what the newest roster says that they have heard of.

mod desk;
mod member;
mod store;

use nimbus_control::{Input, Order, Output, Planted};
use nimbus_model::{Rng, World};
use nimbus_space::PartitionMap;
use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) use desk::Desk;
pub(crate) use desk::SUSPECT_MS;
pub(crate) use member::{Member, Served, Word, in_full, known_by};
pub(crate) use store::Store;

use crate::actor::Actor;
use crate::faults::{Fault, Faults};
use crate::network::{MS, Nanos};
use crate::plan::{Blow, Plan};

/// A process says that it is there so often. More often than in a real cluster, where nothing that is said gets lost
/// unless the connection does.
pub(crate) const BEAT_NS: Nanos = 50 * MS;
/// The coordinator looks at the time so often.
pub(crate) const LOOK_NS: Nanos = 20 * MS;
/// What the store is asked, and what it answers, takes up to this long.
const STORE_NS_MAX: Nanos = 12 * MS;
/// And now and then up to this long, where processes stall.
const STORE_STALL_NS_MAX: Nanos = 400 * MS;
/// How often that is.
const STORE_STALLS: f32 = 0.04;
/// The world by which the roster knows what is simulated.
pub(crate) const WORLD: &str = "world";

/// How a coordinator decides about the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlConfig {
    /// A mistake of the coordinator on purpose.
    pub planted: Option<Planted>,
}

/// What a coordinator and its cluster went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCounts {
    /// Rosters that got into the store.
    pub revisions: u64,
    /// How often the coordinator was stopped and started again from the store.
    pub stops: u64,
    /// Processes that were told that they are members no more, and ended.
    pub fenced: u64,
    /// Regions that changed their server as planned.
    pub moves: u64,
    /// Frames that came from a process that does not house their sender any more.
    pub misplaced: u64,
    /// Changes of the whole world that a server heard of after their tick.
    pub late_changes: u64,
}

/// Something that happens to a member of the cluster, to the coordinator or to its store.
#[derive(Debug)]
pub(crate) enum ControlEvent {
    /// It starts, or starts again.
    Start,
    /// It is time for its start of this number to look after itself.
    Beat(u32),
    /// The start of a process of this number says something to the coordinator.
    Said(u32, Arc<[u8]>),
    /// The coordinator says something to the start of a process of this number.
    Told(u32, Arc<[u8]>),
    /// A frame from somebody who lives there.
    Frame(Actor, Arc<[u8]>),
    /// The start of the coordinator of this number asks something of the store.
    Asked(u32, Output),
    /// The store answers it.
    Answered(u32, Input),
}

/// See the description of this file.
pub(crate) struct Control {
    pub(crate) desk: Desk,
    pub(crate) store: Store,
    /// Processes by place, then gateways.
    pub(crate) members: Vec<Member>,
    /// Blows that wait until nothing is lost by them.
    pub(crate) waiting: Vec<(Fault, Blow)>,
    /// When the coordinator stops, and for how long.
    pub(crate) stops: Vec<Blow>,
    /// What the coordinator is to be ordered.
    pub(crate) orders: VecDeque<Order>,
    /// Since which tick everything is served and protected.
    pub(crate) whole_since: Option<u64>,
    pub(crate) counts: ControlCounts,
    rng: Rng,
    /// The store is slow at times.
    store_stalls: bool,
}

impl Control {
    /// A cluster of so many processes and gateways, none of which has started.
    pub(crate) fn new(
        config: &ControlConfig,
        world: &World,
        map: &PartitionMap,
        (processes, gateways): (usize, usize),
        (seed, faults): (u64, &Faults),
        ticks: u64,
    ) -> Control {
        let processes = (0..processes as u16).map(|place| Member::new(Actor::Process(place)));
        let gateways = (0..gateways as u16).map(|gateway| Member::new(Actor::Gateway(gateway)));
        Control {
            desk: Desk::new(config, world, map, processes.len()),
            store: Store::default(),
            members: processes.chain(gateways).collect(),
            waiting: Vec::new(),
            stops: Plan::coordinator_stops(faults, seed, ticks),
            orders: VecDeque::new(),
            whole_since: None,
            counts: ControlCounts::default(),
            rng: Rng::stream(seed, 7),
            store_stalls: faults.has(Fault::Stall),
        }
    }

    /// How long the store takes this time, one way.
    pub(crate) fn store_delay(&mut self) -> Nanos {
        let stalls = self.store_stalls && self.rng.chance(STORE_STALLS);
        MS / 5 + self.rng.below(if stalls { STORE_STALL_NS_MAX } else { STORE_NS_MAX })
    }

    /// How long a member waits before it does something for the first time.
    pub(crate) fn phase(&mut self) -> Nanos {
        self.rng.below(BEAT_NS)
    }

    /// No more blows.
    pub(crate) fn rest(&mut self) {
        self.waiting.clear();
        self.stops.clear();
    }

    /// The member that is this actor.
    pub(crate) fn index_of(&self, actor: Actor) -> Option<usize> {
        self.members.iter().position(|member| member.actor == actor)
    }

    /// The living member whose start has this number.
    pub(crate) fn index_of_process(&self, process: u32) -> Option<usize> {
        self.members.iter().position(|member| member.alive && member.process == process)
    }

    /// Who has this name.
    pub(crate) fn actor_named(&self, name: &str) -> Option<Actor> {
        self.members.iter().find(|member| member.name == name).map(|member| member.actor)
    }
}

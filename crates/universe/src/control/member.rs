//! A process as a member: what it has heard from the coordinator, and what it does accordingly.

use nimbus_control::{Change as Announced, FromCoordinator, Incarnation, Join, Role, Roster, ToCoordinator, Told};
use nimbus_model::{RegionId, Tick, World};
use nimbus_node::{Change, Node};
use nimbus_wire::Address;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::actor::Actor;
use crate::network::{MS, Nanos};

/// How long a slow process makes a world.
const SLOW_NS: Nanos = 1_500 * MS;

/// What a word of the coordinator's amounts to.
#[derive(Debug)]
pub(crate) enum Word {
    /// There is a newer roster.
    Roster(Arc<Roster>),
    /// It is a member no more, as this revision says.
    Fenced(u64),
    /// Nothing to do.
    Nothing,
}

/// A region that a process serves.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) epoch: u32,
    /// It stops after this tick.
    pub(crate) stop_after: Option<Tick>,
    /// The changes of the whole world that it was told.
    pub(crate) told: Told,
    /// A change that it heard of too late is made by then.
    pub(crate) late_until: Tick,
}

/// See the description of this file.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) actor: Actor,
    pub(crate) name: String,
    /// Which start of the process it is.
    pub(crate) process: u32,
    pub(crate) alive: bool,
    pub(crate) asleep_until: Nanos,
    /// Until when it is cut off, silent or asleep.
    pub(crate) disturbed_until: Nanos,
    pub(crate) incarnation: Option<Incarnation>,
    pub(crate) roster: Option<Arc<Roster>>,
    /// The newest roster of which everything was passed on to its servers, as its heartbeats say.
    pub(crate) heeded: u64,
    /// When it has made the world of an era: the newest that it was told of.
    pub(crate) made: (u16, Nanos),
    pub(crate) served: BTreeMap<RegionId, Served>,
    /// Regions whose server could not come into being, and the epoch of it.
    pub(crate) failed: BTreeMap<RegionId, u32>,
    /// The changes of the whole world that a gateway was told.
    pub(crate) shown: Told,
}

impl Member {
    /// A member that has not started.
    pub(crate) fn new(actor: Actor) -> Member {
        let name = match actor {
            Actor::Gateway(gateway) => format!("gateway-{gateway}"),
            Actor::Process(place) => format!("node-{place}"),
            _ => "nobody".to_owned(),
        };
        Member {
            actor,
            name,
            process: 0,
            alive: false,
            asleep_until: 0,
            disturbed_until: 0,
            incarnation: None,
            roster: None,
            heeded: 0,
            made: (0, 0),
            served: BTreeMap::new(),
            failed: BTreeMap::new(),
            shown: Told { era: 1, epoch: 1, revision: 0 },
        }
    }

    /// The process starts under a number that no start had before. It knows nothing.
    pub(crate) fn start(&mut self, process: u32) {
        let shown = self.shown;
        *self = Member { process, alive: true, shown, ..Member::new(self.actor) };
    }

    /// The process ends.
    pub(crate) fn end(&mut self) {
        self.alive = false;
        self.served.clear();
    }

    /// The revision of the newest roster it has; zero before the first.
    pub(crate) fn revision(&self) -> u64 {
        self.roster.as_ref().map_or(0, |roster| roster.revision)
    }

    /// True while it makes the world of an era. Some processes take longer than a change is announced ahead.
    pub(crate) fn makes(&mut self, era: u16, now: Nanos) -> bool {
        if self.made.0 < era {
            self.made = (era, now + if self.process.is_multiple_of(3) { SLOW_NS } else { 0 });
        }
        now < self.made.1
    }

    /// Its wish to be a member.
    pub(crate) fn wish(&self) -> ToCoordinator {
        let role = if matches!(self.actor, Actor::Gateway(_)) { Role::Gateway } else { Role::Node };
        let address = format!("{}:7000", self.name);
        ToCoordinator::Join(Join { name: self.name.clone(), role, address, token: u64::from(self.process) })
    }

    /// Takes what the coordinator says. Only a newer roster than the one it has counts, and only once it is a member.
    pub(crate) fn obey(&mut self, message: FromCoordinator) -> Word {
        match message {
            FromCoordinator::Welcome { token, process, roster } if token == u64::from(self.process) => {
                self.incarnation = Some(process);
                self.learn(roster)
            }
            FromCoordinator::Roster(roster) => self.learn(roster),
            FromCoordinator::Fenced { process, revision, .. }
                if self.incarnation == Some(process) && self.revision() <= revision =>
            {
                Word::Fenced(revision)
            }
            // A name is taken until its former bearer is given up; asking again will help.
            _ => Word::Nothing,
        }
    }

    fn learn(&mut self, roster: Arc<Roster>) -> Word {
        if self.incarnation.is_none() || self.revision() >= roster.revision {
            return Word::Nothing;
        }
        self.roster = Some(roster.clone());
        Word::Roster(roster)
    }

    /// The name of the process in which somebody lives, as the newest roster it knows has it.
    pub(crate) fn house_of(&self, address: Address) -> Option<&str> {
        let roster = self.roster.as_ref()?;
        let name = |process| Some(roster.member(process)?.name.as_str());
        match address {
            Address::Region(id) => name(roster.regions.get(&id).filter(|region| region.lost.is_none())?.server),
            Address::Backup(id) => name(roster.regions.get(&id)?.backup?.process),
            Address::Gateway(_) => None,
        }
    }
}

/// What a server goes by.
pub(crate) fn known_by(node: &Node) -> Told {
    Told { era: node.era(), epoch: node.map().epoch(), revision: node.world().placed.revision }
}

/// A change as servers make it. There is only one world.
pub(crate) fn in_full(change: &Announced, world: &Arc<World>) -> Change {
    match change {
        Announced::Map(map) => Change::Map((**map).clone()),
        Announced::Statics { at, era, placed } => Change::Statics { at: *at, era: *era, placed: placed.clone() },
        Announced::Load { at, era, map, .. } => {
            Change::Load { at: *at, era: *era, world: world.clone(), map: (**map).clone() }
        }
    }
}

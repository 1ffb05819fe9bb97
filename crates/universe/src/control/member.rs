//! A process as a member: what it has heard from the coordinator, and what it does accordingly.

use nimbus_control::{Change as Announced, FromCoordinator, Incarnation, Join, Role, Roster, ToCoordinator};
use nimbus_model::{RegionId, Tick, World};
use nimbus_node::Change;
use nimbus_wire::Address;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::WORLD;
use crate::actor::Actor;
use crate::network::Nanos;

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
    /// Changes of the whole world that it was told.
    pub(crate) told: Vec<Announced>,
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
    pub(crate) served: BTreeMap<RegionId, Served>,
    /// Regions whose server could not come into being, and the epoch of it.
    pub(crate) failed: BTreeMap<RegionId, u32>,
    /// The era, the partition and the statics that a gateway was last told.
    pub(crate) shown: (u16, u32, u32),
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
            served: BTreeMap::new(),
            failed: BTreeMap::new(),
            shown: (1, 1, 0),
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

/// What somebody has yet to be told who has loaded `era` worlds and is at a tick. A world that it should have loaded by
/// now, and whose tick nobody remembers, comes next.
pub(crate) fn yet_to_hear(roster: &Roster, era: u16, now: Tick) -> Vec<Announced> {
    let made = |change: &Announced| matches!(change, Announced::Load { era: its, .. } if *its <= era);
    let past = roster.changes.iter().rposition(made).map_or(0, |last| last + 1);
    let (world, map) = (WORLD.to_owned(), roster.map.clone());
    let missed = (era < roster.era).then(|| Announced::Load { at: now.next(), era: roster.era, world, map });
    let built = Announced::Statics { at: now.next(), era: roster.era, placed: roster.placed.clone() };
    let built = (missed.is_some() && roster.placed.revision > 0).then_some(built);
    missed.into_iter().chain(built).chain(roster.changes[past..].iter().cloned()).collect()
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

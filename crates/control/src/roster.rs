//! Everything that the control plane decides and keeps, as one value with one revision.
//!
//! One value and not many keys: whoever has read it has a consistent picture, and one compare-and-swap decides who may
//! change it.

use nimbus_model::{Origin, Placed, RegionId, Tick, coding};
use nimbus_space::PartitionMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::change::Change;
use crate::timeline::Timeline;
use crate::validity::Invalid;

/// Version of the stored form; a coordinator does not touch a roster of another version.
pub const ROSTER_VERSION: u8 = 5;
/// Bytes of a roster at the most; longer ones are refused unread. All limits together stay below this. A usual roster
/// has a few kilobytes.
pub const ROSTER_BYTES_MAX: usize = 8 << 20;

/// One start of one process. Issued by control and never again, so it names the process for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u16);

impl Incarnation {
    /// The origin of bodies that the process itself makes. Servers of regions have origins of their own out of the same
    /// numbers, because two regions of one process count their serials apart.
    pub const fn origin(self) -> Origin {
        Origin(self.0)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// Serves regions and keeps backups.
    Node,
    /// Serves clients.
    Gateway,
}

/// How a process ceased to be a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Departure {
    /// It drained and left.
    Left,
    /// It fell silent and was given up.
    GivenUp,
}

/// Whether a process is a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// A member.
    Up,
    /// A member that wants to leave and gets nothing new to do.
    Draining,
    /// A member no more, for good. It may start again as another incarnation.
    Gone(Departure),
}

/// One process, as the roster has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The name people gave it; several incarnations may have had it, one at a time.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Where others reach it, `host:port`.
    pub address: String,
    /// What it drew when it started; tells a repeated wish to join from that of a restarted process.
    pub token: u64,
    /// Whether it is a member.
    pub standing: Standing,
}

impl Process {
    /// True for a member, also one that drains.
    pub fn is_member(&self) -> bool {
        !matches!(self.standing, Standing::Gone(_))
    }
}

/// Who keeps what a region writes down, and which life of the backup that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The process.
    pub process: Incarnation,
    /// Higher than that of any backup of this region before.
    pub life: u32,
}

/// How the server of a region's present epoch comes by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Birth {
    /// The first server: from the world.
    World,
    /// The backup of this life became the server.
    Promoted {
        /// Which one.
        life: u32,
    },
    /// The region was lost and begins without bodies after this tick.
    Empty {
        /// The tick.
        after: Tick,
    },
}

/// A planned change of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Who is to serve next. It keeps the backup first.
    pub to: Incarnation,
    /// The present server stops after this tick, so that nothing has to be undone. Named once the backup is seeded.
    pub stop_after: Option<Tick>,
}

/// Who had a region that is lost, by name: the processes may be long forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The last server.
    pub server: String,
    /// Whoever was to keep it.
    pub backup: Option<String>,
}

/// One region, as the roster has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Who serves it in this epoch; who served it last, when it is lost.
    pub server: Incarnation,
    /// Raised with every server. This, and nothing else, fences former ones.
    pub epoch: u32,
    /// Names what this epoch's server makes.
    pub origin: Origin,
    /// Where its content comes from.
    pub birth: Birth,
    /// Who keeps it.
    pub backup: Option<Seat>,
    /// The highest life that any backup of the region has had.
    pub lives: u32,
    /// The backup has been given everything, as the server said; only then may it be promoted.
    pub protected: bool,
    /// A planned change of server.
    pub moving: Option<Move>,
    /// Nobody has it any more.
    pub lost: Option<Loss>,
}

/// See the description of this file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roster {
    /// The cluster's name, so that two clusters cannot be mixed up in one store.
    pub cluster: String,
    /// Raised by one with every change.
    pub revision: u64,
    /// Raised by every coordinator that takes the lead.
    pub term: u64,
    /// The coordinator of this term.
    pub leader: String,
    /// What that coordinator drew when it started; tells it from a former start of the same name.
    pub leader_token: u64,
    /// The highest number that was issued to a process or as an origin.
    pub issued: u16,
    /// Members, and some that were.
    pub processes: BTreeMap<Incarnation, Process>,
    /// Who serves what; empty until enough nodes have joined.
    pub regions: BTreeMap<RegionId, Region>,
    /// The world in force, by name.
    pub world: String,
    /// How often a world has been loaded.
    pub era: u16,
    /// The tick at which the world in force was loaded. Births and scripted pushes count from it, so it must be the same
    /// on every server, also on one that loads the world late.
    pub loaded_at: Tick,
    /// The partition in force.
    pub map: Arc<PartitionMap>,
    /// Changes announced, by tick. One stays until every server and every backup that may be promoted has made it, so some
    /// may be in force already.
    pub changes: Vec<Change>,
    /// When ticks are due; set when regions are placed.
    pub timeline: Option<Timeline>,
    /// Statics that were put into the world in force.
    pub placed: Arc<Placed>,
}

/// Why bytes are not a roster.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RosterError {
    /// More bytes than any roster has.
    #[error("the roster is {0} bytes long; {ROSTER_BYTES_MAX} is the most")]
    TooLong(usize),
    /// It was written by another release.
    #[error("the roster has format {0}, this is format {ROSTER_VERSION}; run the same release everywhere")]
    Version(u8),
    /// The bytes do not parse.
    #[error("the roster is damaged")]
    Malformed,
    /// It contradicts itself.
    #[error("the roster is not valid: {0}")]
    Invalid(#[from] Invalid),
}

impl Roster {
    /// The roster as it is stored.
    pub fn encode(&self) -> Vec<u8> {
        coding::write_to(self, vec![ROSTER_VERSION])
    }

    /// A roster that was stored, or what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Roster, RosterError> {
        if bytes.len() > ROSTER_BYTES_MAX {
            return Err(RosterError::TooLong(bytes.len()));
        }
        let (version, body) = bytes.split_first().ok_or(RosterError::Malformed)?;
        if *version != ROSTER_VERSION {
            return Err(RosterError::Version(*version));
        }
        let roster: Roster = coding::read(body).map_err(|_| RosterError::Malformed)?;
        roster.validate()?;
        Ok(roster)
    }

    /// A process that is a member.
    pub fn member(&self, process: Incarnation) -> Option<&Process> {
        self.processes.get(&process).filter(|process| process.is_member())
    }

    /// All members, in the order in which they joined.
    pub fn members(&self) -> impl Iterator<Item = (Incarnation, &Process)> {
        self.processes.iter().filter(|(_, process)| process.is_member()).map(|(id, process)| (*id, process))
    }

    /// The member of this name.
    pub fn member_named(&self, name: &str) -> Option<(Incarnation, &Process)> {
        self.members().find(|(_, process)| process.name == name)
    }

    /// Regions that somebody has.
    pub fn held(&self) -> impl Iterator<Item = (RegionId, &Region)> {
        self.regions.iter().filter(|(_, region)| region.lost.is_none()).map(|(id, region)| (*id, region))
    }

    /// The newest partition, in force or announced.
    pub fn newest_map(&self) -> &Arc<PartitionMap> {
        self.changes.iter().rev().find_map(Change::map).unwrap_or(&self.map)
    }

    /// How often a world has been loaded once everything announced has taken effect, and what was put into that one.
    pub fn newest_placed(&self) -> (u16, Arc<Placed>) {
        let newest = self.changes.iter().rev().find_map(|change| match change {
            Change::Load { era, .. } => Some((*era, Arc::default())),
            Change::Statics { era, placed, .. } => Some((*era, placed.clone())),
            Change::Map(_) => None,
        });
        newest.unwrap_or_else(|| (self.era, self.placed.clone()))
    }

    /// How many regions a process serves, and how many it keeps.
    pub fn load(&self, process: Incarnation) -> (usize, usize) {
        let serves = self.held().filter(|(_, region)| region.server == process).count();
        let keeps = self.held().filter(|(_, region)| region.backup.is_some_and(|seat| seat.process == process)).count();
        (serves, keeps)
    }

    pub(crate) fn name_of(&self, process: Incarnation) -> String {
        self.processes.get(&process).map_or_else(|| process.to_string(), |process| process.name.clone())
    }
}

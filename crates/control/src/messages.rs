//! What processes and the coordinator say to each other.
//!
//! Everything may be lost, repeated or late. Processes repeat what matters until the roster shows it; the coordinator
//! repeats the roster until a heartbeat shows it.

use nimbus_model::{RegionId, Tick, coding};
use nimbus_space::REGIONS_MAX;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::roster::{Incarnation, ROSTER_BYTES_MAX, Role, Roster};
use crate::told::Told;
use crate::validity::{Invalid, check_address, check_name};

/// Version of these messages; a process and a coordinator of different versions do not talk.
pub const MESSAGES_VERSION: u8 = 4;
/// Bytes of a message to the coordinator; longer ones are refused unread.
pub const REPORT_BYTES_MAX: usize = 256 << 10;
/// Bytes of a message from it: a roster and a little more.
pub const TOLD_BYTES_MAX: usize = ROSTER_BYTES_MAX + 1024;

/// A process wants to be a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// The name people gave it.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Where others reach it, `host:port`.
    pub address: String,
    /// Drawn once when the process starts, so that a repeated wish is known for one.
    pub token: u64,
}

/// How a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    /// It runs.
    Running,
    /// It has run the tick after which it was told to stop, and its backup has that tick.
    Stopped,
    /// It has heard of a higher epoch of its region, and does no more.
    Fenced,
    /// It could not come into being: what was to be its content is missing or damaged.
    Failed,
}

/// What a process says about a region that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionReport {
    /// The region.
    pub region: RegionId,
    /// Under this epoch. What is said of another one is void.
    pub epoch: u32,
    /// How it stands.
    pub service: Service,
    /// Bodies it owns.
    pub bodies: u32,
    /// Time that a tick takes, microseconds, over the latest ones.
    pub tick_us: u32,
    /// Ticks that are due and not done.
    pub behind: u32,
    /// The life of the backup it writes to; 0 for none.
    pub life: u32,
    /// The last tick that this backup has. None until it has been given everything: this is what `protected` means.
    pub kept: Option<Tick>,
    /// The newest world, partition and statics that the server has made.
    pub applied: Told,
    /// The tick at which it made the last of these changes: later than the change's own tick when it heard of it late. The
    /// backup has them once `kept` is not before this.
    pub applied_at: Tick,
}

/// A process is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Who.
    pub process: Incarnation,
    /// The newest roster of which everything has been passed on to whom it concerns in the process. It may know a newer
    /// one: a change whose world is still being made is not passed on yet, and must not be forgotten.
    pub revision: u64,
    /// The last tick that all its regions have completed.
    pub tick: Tick,
    /// Regions that it serves, each once.
    pub regions: Vec<RegionReport>,
}

/// From a process to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToCoordinator {
    /// Let me be a member. Repeated until there is an answer.
    Join(Join),
    /// I am here.
    Heartbeat(Heartbeat),
    /// I want to leave. Repeated until the roster says that I drain.
    Drain(Incarnation),
}

/// Why a process cannot join.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// A member of that name is alive. If it died a moment ago, asking again will help.
    #[error(
        "a process called `{0}` is a member and was heard a moment ago; use another name, or wait until it is given up"
    )]
    NameTaken(String),
    /// No more members fit.
    #[error("the cluster has as many processes as it can")]
    Full,
    /// All numbers are used up.
    #[error("the cluster has no numbers left for new processes; start a new cluster")]
    Exhausted,
}

/// Why a process is not a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Fence {
    /// It was silent for too long.
    #[error("it was silent for too long and was given up; it must stop and may join anew")]
    GivenUp,
    /// It drained.
    #[error("it has left, as it wanted")]
    Left,
    /// The roster does not know it, or no more.
    #[error("the roster does not know it; it must stop and may join anew")]
    Unknown,
}

/// From the coordinator to a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromCoordinator {
    /// You are a member.
    Welcome {
        /// Whose wish this answers.
        token: u64,
        /// Under this number.
        process: Incarnation,
        /// The roster that has it.
        roster: Arc<Roster>,
    },
    /// You are no member, and why.
    Refused {
        /// Whose wish this answers.
        token: u64,
        /// Why.
        reason: Refusal,
    },
    /// The newest roster. A process takes it only if its revision is higher than that of the one it has.
    Roster(Arc<Roster>),
    /// You were a member, and are no more. Whatever you serve is served by another epoch, or lost. Void for a process
    /// that knows a newer roster: then it comes from a coordinator that is out of date.
    Fenced {
        /// Who.
        process: Incarnation,
        /// The roster that says so.
        revision: u64,
        /// Why.
        why: Fence,
    },
    /// Ask another coordinator.
    NotLeading {
        /// Whom, if known.
        leader: Option<String>,
    },
}

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MessageError {
    /// More bytes than any such message has.
    #[error("message of {0} bytes; {1} is the most")]
    TooLong(usize, usize),
    /// The sender speaks another version.
    #[error("peer speaks control version {0}, this is version {MESSAGES_VERSION}; run the same release everywhere")]
    Version(u8),
    /// The bytes do not parse.
    #[error("malformed message")]
    Malformed,
    /// It parses and makes no sense.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// A region is reported twice, or more regions than there can be.
    #[error("a heartbeat must name every region once, and at most {REGIONS_MAX}")]
    Regions,
}

impl ToCoordinator {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// The message in some bytes, or what is wrong with them.
    pub fn decode(bytes: &[u8]) -> Result<ToCoordinator, MessageError> {
        let message: ToCoordinator = decode(bytes, REPORT_BYTES_MAX)?;
        message.validate()?;
        Ok(message)
    }

    /// Refuses what makes no sense. A coordinator asks this itself, for shells that pass messages and not bytes.
    pub fn validate(&self) -> Result<(), MessageError> {
        match self {
            ToCoordinator::Join(join) => {
                check_name(&join.name)?;
                check_address(&join.address)?;
            }
            ToCoordinator::Heartbeat(beat) => {
                let distinct: BTreeSet<RegionId> = beat.regions.iter().map(|report| report.region).collect();
                if beat.regions.len() > REGIONS_MAX || distinct.len() < beat.regions.len() {
                    return Err(MessageError::Regions);
                }
            }
            ToCoordinator::Drain(_) => {}
        }
        Ok(())
    }
}

impl FromCoordinator {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// The message in some bytes, or what is wrong with them.
    pub fn decode(bytes: &[u8]) -> Result<FromCoordinator, MessageError> {
        let message: FromCoordinator = decode(bytes, TOLD_BYTES_MAX)?;
        if let FromCoordinator::Welcome { roster, .. } | FromCoordinator::Roster(roster) = &message {
            roster.validate()?;
        }
        Ok(message)
    }
}

fn encode(message: &impl Serialize) -> Vec<u8> {
    coding::write_to(message, vec![MESSAGES_VERSION])
}

fn decode<M: DeserializeOwned>(bytes: &[u8], most: usize) -> Result<M, MessageError> {
    if bytes.len() > most {
        return Err(MessageError::TooLong(bytes.len(), most));
    }
    let (version, body) = bytes.split_first().ok_or(MessageError::Malformed)?;
    if *version != MESSAGES_VERSION {
        return Err(MessageError::Version(*version));
    }
    coding::read(body).map_err(|_| MessageError::Malformed)
}

//! Recordings: a whole run in one file that gives the same bits again.
//!
//! The container is MCAP, which other tools open. `/start` says what the servers were started with; per server
//! `/node/<region>/log` holds what took effect at each tick, `/node/<region>/hash` its state as a number now and then,
//! `/node/<region>/event` what happened to bodies. Logs are in the project's own coding, the rest is JSON.

mod reader;
mod writer;

pub use reader::Recording;
pub use writer::{Note, Recorder, RecorderHandle, Written};

use nimbus_model::{RegionId, Tick, World};
use nimbus_node::{Event, NodeConfig, TickLog};
use nimbus_space::PartitionMap;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Version of what is inside the container; other versions are refused.
pub const FORMAT: u32 = 5;

/// Name of the profile in the header of the container, and of the metadata record.
const PROFILE: &str = "nimbus";

/// States are recorded as numbers at every multiple of this many ticks, at the start and at the end.
pub const HASH_TICKS: u64 = 60;

/// What the servers of a run were started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// One configuration per server.
    pub nodes: Vec<NodeConfig>,
    /// The world.
    pub world: Arc<World>,
    /// How often a world had been loaded, this time included.
    pub era: u16,
    /// Its partition.
    pub map: PartitionMap,
    /// The tick before the first.
    pub at: Tick,
}

/// The state of a server as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateMark {
    /// After which tick.
    pub tick: Tick,
    /// The number.
    pub hash: u64,
}

/// One thing that a recording holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// What took effect at a tick of a server.
    Log(RegionId, TickLog),
    /// The state of a server after a tick.
    Mark(RegionId, StateMark),
    /// What happened to a body.
    Event(Event),
}

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be opened, read or written.
    #[error("cannot {act} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{} is not a recording of Nimbus; make one with `nimbus record`", .0.display())]
    Foreign(PathBuf),
    /// Another release wrote it.
    #[error("{} is a recording of format {found}, this release reads format {FORMAT}; use the release that made it", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: String,
    },
    /// The end is missing.
    #[error("{} ends in the middle: the run did not end cleanly or the copy is incomplete; record or copy it again", .0.display())]
    Cut(PathBuf),
    /// The content contradicts itself.
    #[error("{} is damaged: {what}; record or copy it again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

impl RecordingError {
    fn io(act: &'static str, path: &Path, source: std::io::Error) -> RecordingError {
        RecordingError::Io { act, path: path.to_owned(), source }
    }

    fn damaged(path: &Path, what: impl Into<String>) -> RecordingError {
        RecordingError::Damaged { path: path.to_owned(), what: what.into() }
    }
}

/// The channels of a container, as topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Start,
    Log(RegionId),
    Mark(RegionId),
    Event(RegionId),
}

impl Topic {
    fn name(self) -> String {
        match self {
            Topic::Start => "/start".to_owned(),
            Topic::Log(region) => format!("/node/{}/log", region.0),
            Topic::Mark(region) => format!("/node/{}/hash", region.0),
            Topic::Event(region) => format!("/node/{}/event", region.0),
        }
    }

    fn encoding(self) -> &'static str {
        match self {
            Topic::Start | Topic::Log(_) => "postcard",
            Topic::Mark(_) | Topic::Event(_) => "json",
        }
    }

    fn parse(name: &str) -> Option<Topic> {
        if name == "/start" {
            return Some(Topic::Start);
        }
        let (region, what) = name.strip_prefix("/node/")?.split_once('/')?;
        let region = RegionId(region.parse().ok()?);
        match what {
            "log" => Some(Topic::Log(region)),
            "hash" => Some(Topic::Mark(region)),
            "event" => Some(Topic::Event(region)),
            _ => None,
        }
    }
}

/// A state mark as JSON; the hash as hexadecimal text, because many readers lose bits of large numbers.
#[derive(Serialize, Deserialize)]
struct WrittenMark {
    tick: Tick,
    hash: String,
}

//! What goes into a coordinator and what comes out of it.

use nimbus_model::{Placed, RegionBox, RegionId, Tick};
use nimbus_space::PartitionMap;
use std::sync::Arc;

use crate::messages::{FromCoordinator, ToCoordinator};
use crate::roster::{Incarnation, RosterError};
use crate::validity::Invalid;

/// A connection of the shell's. The coordinator answers on the one that it was last spoken to on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link(pub u64);

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Time passes. To be given several times within `suspect_ms`.
    Time,
    /// The election says that this coordinator leads. To be said again while it does and [`Coordinator::leads`] is false:
    /// one that lost a swap steps back and does not come forward by itself.
    ///
    /// [`Coordinator::leads`]: crate::Coordinator::leads
    Lead,
    /// The election says that another one does.
    Follow {
        /// Which, if known.
        leader: Option<String>,
    },
    /// A process said something.
    Message {
        /// On which connection.
        link: Link,
        /// What.
        message: ToCoordinator,
    },
    /// An answer to [`Output::Read`]: what is in the store, if anything.
    Contents {
        /// Which question it answers.
        request: u64,
        /// What is there.
        bytes: Option<Vec<u8>>,
    },
    /// An answer to [`Output::Store`]: it is in the store now.
    Stored {
        /// Which question it answers.
        request: u64,
    },
    /// An answer to [`Output::Store`]: the revision in the store is another one, and nothing was written.
    Conflict {
        /// Which question it answers.
        request: u64,
        /// What is there.
        bytes: Option<Vec<u8>>,
    },
    /// Somebody orders something.
    Order {
        /// Names the order in the answer; chosen by the shell.
        id: u64,
        /// What.
        order: Order,
    },
}

/// What people and policies may order.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// A region that is lost begins anew, without bodies and under the next epoch.
    Restart(RegionId),
    /// A process is to give everything away and leave.
    Drain(String),
    /// A process that drains is to stay after all.
    Stay(String),
    /// A region is to be served by another process.
    Move {
        /// The region.
        region: RegionId,
        /// The name of the process.
        to: String,
    },
    /// A cut of the newest partition moves; see [`PartitionMap::move_cut`].
    MoveCut {
        /// Which.
        index: usize,
        /// Where to, metres.
        at: f32,
        /// How wide leaves must stay, metres.
        width_min: f32,
    },
    /// Another partition with the same regions, made from the newest one and announced early enough.
    Map {
        /// The world that it was made for, by how often one has been loaded: every world counts its partitions anew.
        era: u16,
        /// The partition.
        map: Arc<PartitionMap>,
    },
    /// The regions' ranks change, the lowest first.
    Rank(Vec<RegionId>),
    /// Another world, or the same anew. Its partition must have the same regions.
    Load {
        /// Its name.
        world: String,
        /// Its first partition.
        map: Arc<PartitionMap>,
    },
    /// The whole world runs slower or faster, thousandths of real time; while it stands still, from when it goes on.
    Pace(u32),
    /// The whole world stands still from a tick on that everybody hears of in time.
    Pause,
    /// It goes on.
    Resume,
    /// It runs this many ticks more while it stands still.
    Step(u32),
    /// The newest partition is drawn anew; see [`PartitionMap::redraw`].
    Regions {
        /// The first that holds a place wins.
        boxes: Vec<RegionBox>,
        /// Who has what no box holds.
        rest: RegionId,
    },
    /// Other statics beside those of the world's description, made from the newest ones.
    Statics(Arc<Placed>),
}

/// Why an order was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// This coordinator does not lead.
    #[error("this coordinator does not lead; ask the one that does")]
    NotLeading,
    /// It led, and lost the lead while the order was under way.
    #[error("the lead was lost meanwhile; look at the roster whether it was done")]
    LeadLost,
    /// Too many orders wait.
    #[error("too many orders are waiting; order again later")]
    TooMany,
    /// No regions are placed yet.
    #[error("the cluster has not started yet")]
    NotStarted,
    /// There is no such region.
    #[error("there is no region {0}")]
    NoRegion(RegionId),
    /// There is no such member.
    #[error("no member is called `{0}`")]
    NoProcess(String),
    /// The region has a server.
    #[error("{0} is not lost")]
    NotLost(RegionId),
    /// The region is lost.
    #[error("{0} is lost; restart it first")]
    Lost(RegionId),
    /// It moved a moment ago, or moves already.
    #[error("{0} moves, or moved a moment ago; order again later")]
    Settling(RegionId),
    /// Nobody can take it.
    #[error("no other node can take {0} now")]
    Nobody(RegionId),
    /// The partition cannot be changed so.
    #[error("{0}")]
    Map(String),
    /// The partition has regions that nobody serves.
    #[error(
        "the partition has regions that are not placed; a cluster has as many as it began with, spare ones included"
    )]
    OtherRegions,
    /// Changes that were announced before must take effect first.
    #[error("too many changes are announced; order again later")]
    TooManyChanges,
    /// Single steps are for a world that stands still.
    #[error("time is running; pause it before you step")]
    Running,
    /// A name that is none, or a pace out of range.
    #[error("{0}")]
    Invalid(String),
    /// All numbers are used up.
    #[error("the cluster has no numbers left; start a new cluster")]
    Exhausted,
}

/// What the shell has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Read the store and answer with [`Input::Contents`]: what was written last, not a copy that may be behind.
    Read {
        /// Names the question in the answer.
        request: u64,
    },
    /// Write to the store if its revision is still the one expected (0: it is empty), as one step, and answer with
    /// [`Input::Stored`] or [`Input::Conflict`]. A shell that does not know how it went does not answer.
    Store {
        /// Names the question in the answer.
        request: u64,
        /// The revision that must be there.
        expect_revision: u64,
        /// The roster to write; its revision is the next one.
        bytes: Vec<u8>,
    },
    /// Tell a process something; may get lost.
    Tell {
        /// On which connection.
        link: Link,
        /// What.
        message: FromCoordinator,
    },
    /// An order was carried out, or not. Carried out means that the roster in the store has it.
    Answer {
        /// Which.
        id: u64,
        /// How it went.
        result: Result<(), OrderError>,
    },
    /// Something that people should know.
    Note(Note),
}

/// What people should know, for the log and for metrics. Only what is in the store is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// This coordinator leads.
    Leads {
        /// In which term.
        term: u64,
    },
    /// This coordinator leads no more.
    SteppedBack {
        /// Who leads instead, if known.
        leader: Option<String>,
    },
    /// The store holds something that this coordinator cannot go on from. It does not lead until told so again.
    StoreUnusable(StoreProblem),
    /// Regions are placed, and tick 0 is due at this unix microsecond.
    Placed {
        /// When.
        start_us: u64,
    },
    /// A process is a member.
    Joined {
        /// Who.
        process: Incarnation,
        /// Its name.
        name: String,
    },
    /// A process was given up.
    GivenUp {
        /// Who.
        process: Incarnation,
        /// Its name.
        name: String,
    },
    /// A process left.
    Left {
        /// Who.
        process: Incarnation,
        /// Its name.
        name: String,
    },
    /// A region has another server.
    Served {
        /// The region.
        region: RegionId,
        /// Since which epoch.
        epoch: u32,
        /// Who.
        server: Incarnation,
    },
    /// A region is lost.
    Lost {
        /// The region.
        region: RegionId,
        /// Who had it last.
        server: String,
    },
    /// A change of the whole world, or of its pace, is announced.
    Announced {
        /// When it takes effect.
        at: Tick,
    },
    /// The world begins to slow down because a region cannot keep up, or is as fast as ordered again.
    Dilated {
        /// When.
        at: Tick,
        /// True when it begins to.
        slows: bool,
    },
    /// A plan made no sense and was not written. A mistake in the coordinator.
    Inconsistent(Invalid),
    /// All numbers are used up: nobody can join or take over any more.
    Exhausted,
}

/// Why a coordinator cannot go on from what is in the store.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StoreProblem {
    /// It is no roster.
    #[error("{0}")]
    Unreadable(#[from] RosterError),
    /// It is that of another cluster.
    #[error("the store holds the roster of cluster `{0}`")]
    OtherCluster(String),
    /// It is older than what was there before, or gone: numbers would be issued twice.
    #[error("the store went back from revision {known} to {found}; restore a newer copy, or start a new cluster")]
    WentBack {
        /// What was there.
        known: u64,
        /// What is there now.
        found: u64,
    },
}

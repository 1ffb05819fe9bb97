//! What a coordinator is told once, at its start.

use nimbus_model::{Placed, RegionId, Tick};
use nimbus_space::PartitionMap;
use std::sync::Arc;

use crate::validity::{Invalid, check_name};

/// What the first coordinator of a cluster writes into an empty store. Later ones find the roster there.
#[derive(Clone, Debug, PartialEq)]
pub struct Genesis {
    /// The cluster's name.
    pub cluster: String,
    /// The world's name.
    pub world: String,
    /// Its first partition.
    pub map: Arc<PartitionMap>,
    /// Regions without a place in it. They are served like others, and idle until a partition gives them one.
    pub spare: Vec<RegionId>,
    /// Ticks a second.
    pub tick_hz: u32,
    /// Where the world stands when it begins.
    pub standing: Beginning,
    /// Statics that were put into it by then.
    pub placed: Arc<Placed>,
}

/// Where a world stands when a cluster begins with it: at its start, or where another cluster left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The tick that is done.
    pub tick: Tick,
    /// How often a world has been loaded, this one included.
    pub era: u16,
    /// The tick at which this one was.
    pub loaded_at: Tick,
    /// The highest number that was issued. Bodies have them in their names, so no number is issued again.
    pub issued: u16,
}

impl Beginning {
    /// The start of a world.
    pub const NEW: Beginning = Beginning { tick: Tick(0), era: 1, loaded_at: Tick(0), issued: 0 };
}

/// See the description of this file.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The coordinator's own name; no two coordinators may share one.
    pub name: String,
    /// Drawn once when the coordinator starts, so that it is not taken for its own former start.
    pub token: u64,
    /// What to begin with when there is nothing.
    pub genesis: Genesis,
    /// The unix microsecond at which `now_ms` was 0, so that `now_ms` can be a clock that never jumps.
    pub unix_us_at_zero: u64,
    /// Regions are placed when this many nodes have joined.
    pub nodes_wanted: usize,
    /// Or when this much time has passed since the first has.
    pub grace_ms: u64,
    /// Tick 0 is due this long after regions are placed, so that everybody has heard of it.
    pub start_lead_ms: u64,
    /// A process that was not heard for this long loses what others can take over.
    pub suspect_ms: u64,
    /// A process that was not heard for this long loses also what nobody can take over. Until then the only copy of a
    /// region is not thrown away for a pause.
    pub abandon_ms: u64,
    /// No region is moved twice within this time, unless somebody died.
    pub settle_ms: u64,
    /// A move is called off when the server does not say that it has stopped this long after it should have.
    pub handover_ms: u64,
    /// A server is told to stop this many ticks ahead.
    pub handover_ticks: u64,
    /// Changes of the whole world are announced this many ticks ahead.
    pub announce_ticks: u64,
    /// A pause, a step or another pace takes effect this much later. People wait for it, so it is short: somebody who
    /// hears of it too late is a few ticks ahead of the others while time stands still.
    pub pace_ms: u64,
    /// Least share of the ordered pace to which the world slows down when a region cannot keep up, thousandths; 1000 forbids
    /// time dilation.
    pub slowest_permille: u32,
    /// A roster that a process does not seem to know is sent again after this time.
    pub retell_ms: u64,
    /// The store is asked again when it has not answered for this long.
    pub store_ms: u64,
    /// A mistake on purpose.
    pub planted: Option<Planted>,
}

impl Config {
    /// The defaults for a coordinator of this name.
    pub fn new(name: &str, token: u64, genesis: Genesis) -> Config {
        Config {
            name: name.to_owned(),
            token,
            genesis,
            unix_us_at_zero: 0,
            nodes_wanted: 1,
            grace_ms: 5_000,
            start_lead_ms: 1_000,
            suspect_ms: 500,
            abandon_ms: 10_000,
            settle_ms: 10_000,
            handover_ms: 2_000,
            handover_ticks: 30,
            announce_ticks: 60,
            pace_ms: 200,
            slowest_permille: 50,
            retell_ms: 100,
            store_ms: 1_000,
            planted: None,
        }
    }

    /// Refuses what would only fail later: a name that is none.
    pub fn validate(&self) -> Result<(), Invalid> {
        [&self.name, &self.genesis.cluster, &self.genesis.world].into_iter().try_for_each(|name| check_name(name))
    }
}

/// Mistakes that can be made on purpose. A check that does not notice them proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Planted {
    /// A roster is told before the store has it.
    TellBeforeStore,
    /// A coordinator that lost a swap goes on as if it had won.
    DeafToConflict,
    /// A backup is promoted although it was not given everything.
    PromoteUnprotected,
    /// A backup that takes over does so under the epoch of the former server, unless that was the first.
    ReuseEpoch,
    /// A new backup has the life of the former one.
    ReuseLife,
    /// A restarted process is given the number of the former one.
    ReuseIncarnation,
    /// Silence is not noticed.
    DeafToSilence,
    /// A new leader takes those whom it has not heard yet for silent.
    NoGrace,
    /// A change is dropped from the roster when servers and backups are past its tick, whether they made it or not.
    DropUnapplied,
}

impl Planted {
    /// All of them, with the name the command line knows each by.
    pub const ALL: [(&'static str, Planted); 9] = [
        ("tell-before-store", Planted::TellBeforeStore),
        ("deaf-to-conflict", Planted::DeafToConflict),
        ("promote-unprotected", Planted::PromoteUnprotected),
        ("reuse-epoch", Planted::ReuseEpoch),
        ("reuse-life", Planted::ReuseLife),
        ("reuse-incarnation", Planted::ReuseIncarnation),
        ("deaf-to-silence", Planted::DeafToSilence),
        ("no-grace", Planted::NoGrace),
        ("drop-unapplied", Planted::DropUnapplied),
    ];
}

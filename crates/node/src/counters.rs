//! What a server counts, for metrics and for people.

use serde::{Deserialize, Serialize};

/// Running totals since the server started; a new world does not reset them, except where noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Bodies that arrived since the present world was loaded.
    pub arrived: u64,
    /// Bodies that left since the present world was loaded.
    pub left: u64,
    /// Transfers refused and given back.
    pub refused: u64,
    /// Transfers that came back.
    pub returned: u64,
    /// Ticks that arrivals were not simulated on their way.
    pub ticks_in_transit: u64,
    /// Frames dropped because they were of another era, an older life, or not for this region.
    pub frames_void: u64,
    /// Orders passed on to where a body went.
    pub orders_forwarded: u64,
    /// Orders refused.
    pub orders_refused: u64,
    /// Grants put off because the neighbour was silent or the lane full.
    pub grants_deferred: u64,
    /// Tick numbers skipped because the server had fallen behind.
    pub ticks_lost: u64,
    /// Bodies removed because their state was no longer a number.
    pub quarantined: u64,
    /// Groups that the engine would not have; their bodies are reported dead.
    pub unplaceable: u64,
    /// News for a gateway dropped because it did not keep up.
    pub feed_dropped: u64,
}

//! Promises that are void for now. Inside the world's tolerances collisions across servers are exact; whoever leaves
//! them is named here, before anybody sees a collision come late.

use nimbus_model::{Nid, RegionId, Tick};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was beyond its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// A body near another server moves faster than promised, m/s.
    Speed,
    /// A frame from a neighbour took longer than promised, milliseconds.
    Latency,
    /// Two wake-ups lay further apart than promised, milliseconds.
    FrameTime,
    /// Tick numbers were skipped, ticks.
    TimeLost,
    /// A cluster that should move is too large to move, bodies.
    ClusterSize,
    /// A neighbour has not been heard of, ticks.
    Silence,
    /// The time from a wake-up until its frames were sent was longer than promised, milliseconds.
    Compute,
    /// Clocks of two servers differ by more than promised, milliseconds.
    Skew,
    /// A server's backup stored what it says later than promised, milliseconds.
    Commit,
    /// More bodies were to be hosted than the server's budget allows, bodies: births were refused, or a transfer was given
    /// back.
    Budget,
}

impl Factor {
    /// All of them, in the order of their numbers.
    pub const ALL: [Factor; 10] = [
        Factor::Speed,
        Factor::Latency,
        Factor::FrameTime,
        Factor::TimeLost,
        Factor::ClusterSize,
        Factor::Silence,
        Factor::Compute,
        Factor::Skew,
        Factor::Commit,
        Factor::Budget,
    ];

    /// The word that metrics, reports and the viewer use.
    pub fn name(self) -> &'static str {
        match self {
            Factor::Speed => "speed",
            Factor::Latency => "latency",
            Factor::FrameTime => "frame_time",
            Factor::TimeLost => "time_lost",
            Factor::ClusterSize => "cluster_size",
            Factor::Silence => "silence",
            Factor::Compute => "compute",
            Factor::Skew => "skew",
            Factor::Commit => "commit",
            Factor::Budget => "budget",
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One promise that is void: what was exceeded, by how much, and for which bodies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breach {
    /// When.
    pub tick: Tick,
    /// Which server says so.
    pub region: RegionId,
    /// What was exceeded.
    pub factor: Factor,
    /// What was measured.
    pub value: f32,
    /// What was promised.
    pub limit: f32,
    /// Bodies concerned, the first few of them; empty when it concerns the whole server.
    pub bodies: Vec<Nid>,
}

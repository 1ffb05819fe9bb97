//! The figures of a running world, as `/api/world` and the `stats` message give them.

use nimbus_model::{RegionId, Tick};
use serde::{Deserialize, Serialize};

/// The figures of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeStats {
    /// Number of the server.
    pub id: u16,
    /// The region it has; none for a server that waits for one.
    pub region: Option<RegionId>,
    /// Bodies it hosts.
    pub bodies: u64,
    /// Those of them that move.
    pub awake: u64,
    /// Half the steps took at most this long, milliseconds.
    pub step_ms_p50: f32,
    /// 99 of 100 steps took at most this long, milliseconds.
    pub step_ms_p99: f32,
    /// Bodies that arrived since the world was loaded.
    pub migrations: u64,
    /// Auras it projects.
    pub auras: u64,
    /// Copies of other servers' bodies it holds.
    pub ghosts: u64,
    /// How often a promise of the world was void.
    pub breaches: u64,
    /// Which life of the region it is.
    pub epoch: u32,
    /// The tick it completed last.
    pub tick: Tick,
    /// Ticks it completed after their time.
    pub late_ticks: u64,
    /// How far its timeline is off, milliseconds.
    pub skew_ms: f32,
    /// False when it does not answer.
    pub alive: bool,
    /// True while a client may kill it: that is allowed here, and somebody would take over.
    #[serde(default)]
    pub killable: bool,
}

/// The figures of the whole world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorldStats {
    /// The tick the gateway has reached.
    pub tick: Tick,
    /// Bodies in the world, statics aside.
    pub bodies: u64,
    /// Clients that watch.
    pub clients: u64,
    /// The scene that runs.
    pub scene: String,
    /// How often a world was loaded.
    pub era: u16,
    /// True when the timeline stands still.
    pub paused: bool,
    /// How fast the timeline was asked to run; 1 is real time.
    pub speed: f32,
    /// The share of that at which it does; less than 1 while the world slows down because a region cannot keep up.
    pub dilation: f32,
    /// The servers, by number.
    pub nodes: Vec<NodeStats>,
}

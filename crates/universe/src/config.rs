//! What a universe is made of, and what became of it.

use nimbus_model::{Nid, RegionId, Rng, World};
use nimbus_node::{AuraConfig, Breach, Contact, GameEvent, Planted, Policy, Rules};
use nimbus_scenes::SceneParams;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::balance::BalanceConfig;
use crate::checkers::Violation;
use crate::control::{ControlConfig, ControlCounts};
use crate::faults::{FaultCounts, Faults};
use crate::narrow::narrowed;
use crate::network::{LinkModel, Nanos};

/// Makes what a client tells a game about a body.
pub type GameCommands = fn(&mut Rng) -> Vec<u8>;

/// What a universe is made of. Two universes of the same configuration are the same, bit for bit.
#[derive(Clone, Debug)]
pub struct UniverseConfig {
    /// The scene, by name.
    pub scene: String,
    /// A world that is run instead of the scene.
    pub world: Option<Arc<World>>,
    /// Its size; 1 is full size.
    pub scale: f32,
    /// How many servers.
    pub servers: u16,
    /// Servers beyond those that the world begins with. They have no place until a partition gives them one.
    pub spare: u16,
    /// Decides everything that chance decides.
    pub seed: u64,
    /// How many ticks.
    pub ticks: u64,
    /// Who should own what.
    pub policy: Policy,
    /// How the aura policy judges.
    pub aura: AuraConfig,
    /// Most bodies that one server hosts; what servers are used to unless told.
    pub bodies_per_region: Option<u32>,
    /// What every link is like, exactly; drawn from the seed unless told.
    pub link: Option<LinkModel>,
    /// Every region has a backup, whatever goes wrong.
    pub durable: bool,
    /// Regions are hardly wider than the world's promises demand.
    pub narrow: bool,
    /// What goes wrong.
    pub faults: Faults,
    /// Whether, and how, boundaries follow the load.
    pub balance: Option<BalanceConfig>,
    /// Whether a coordinator decides who serves and keeps what. Without one, backups take over by decree.
    pub control: Option<ControlConfig>,
    /// A mistake on purpose.
    pub planted: Option<Planted>,
    /// Servers give bodies to their engines in another order while the world runs, drawn from this number.
    pub reorder: Option<u64>,
    /// Time between two wake-ups of a server, nanoseconds; one tick unless told. What is due is run at a wake-up.
    pub frame_ns: Option<Nanos>,
    /// Frame times are normally distributed around `frame_ns` with this standard deviation, nanoseconds, and never further
    /// from it than three of them.
    pub frame_sigma_ns: Nanos,
    /// Time from a wake-up of a server until its frames are sent, nanoseconds.
    pub compute_ns: Nanos,
    /// By how much the clocks of servers with odd numbers are ahead, nanoseconds; if negative, those of the others.
    pub skew_ns: i64,
    /// Time that a backup takes to store what it is sent, nanoseconds.
    pub store_ns: Nanos,
    /// How many clients watch.
    pub clients: u32,
    /// Whether clients also act: spawn, push and remove bodies.
    pub commands: bool,
    /// Note which bodies begin and cease to touch.
    pub contacts: bool,
    /// The game that servers play.
    pub game: Option<Rules>,
    /// Makes what clients tell the game about a body now and then, if they do.
    pub game_commands: Option<GameCommands>,
    /// Record each server's own CPU time per tick.
    pub measured: bool,
    /// Check everything, and replay the last part of the run from a snapshot.
    pub checked: bool,
}

impl UniverseConfig {
    /// A quiet universe of a scene.
    pub fn new(scene: &str, servers: u16, seed: u64, ticks: u64) -> UniverseConfig {
        UniverseConfig {
            scene: scene.to_owned(),
            world: None,
            scale: 1.0,
            servers,
            spare: 0,
            seed,
            ticks,
            policy: Policy::default(),
            aura: AuraConfig::default(),
            bodies_per_region: None,
            link: None,
            durable: false,
            narrow: false,
            faults: Faults::default(),
            balance: None,
            control: None,
            planted: None,
            reorder: None,
            frame_ns: None,
            frame_sigma_ns: 0,
            compute_ns: 0,
            skew_ns: 0,
            store_ns: 0,
            clients: 1,
            commands: false,
            contacts: false,
            game: None,
            game_commands: None,
            measured: false,
            checked: true,
        }
    }

    /// The world that is run.
    pub fn world(&self) -> Result<World, UniverseError> {
        let params = SceneParams { servers: self.servers, seed: self.seed, scale: self.scale };
        let world = match &self.world {
            Some(world) => World::clone(world),
            None => {
                nimbus_scenes::build(&self.scene, &params).map_err(|error| UniverseError::Scene(error.to_string()))?
            }
        };
        if self.narrow { narrowed(world, &self.judged_by()) } else { Ok(world) }
    }

    /// Whether regions have backups: asked for, or needed by what goes wrong.
    pub(crate) fn has_backups(&self) -> bool {
        self.durable || self.faults.need_backups() || self.control.is_some()
    }

    /// How servers judge: where there are backups, the commit leg counts.
    pub(crate) fn judged_by(&self) -> AuraConfig {
        self.aura.with_commits(self.has_backups())
    }
}

/// Why a universe cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UniverseError {
    /// There is no such scene.
    #[error("{0}")]
    Scene(String),
    /// The scene cannot be cut into that many regions.
    #[error("the scene cannot be laid out: {0}")]
    Layout(String),
    /// A number is out of range.
    #[error("{0}")]
    Usage(String),
}

/// What one server's ticks cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeCost {
    /// CPU time of each tick, nanoseconds.
    pub tick_ns: Vec<u64>,
    /// The engine's step within each tick, nanoseconds.
    pub step_ns: Vec<u64>,
    /// CPU time spent on frames and emission after each tick and before the next, nanoseconds.
    pub between_ns: Vec<u64>,
}

impl NodeCost {
    /// Takes note of a tick.
    pub(crate) fn ticked(&mut self, tick_ns: u64, step_ns: u64) {
        self.tick_ns.push(tick_ns);
        self.step_ns.push(step_ns);
        self.between_ns.push(0);
    }

    /// Takes note of work after the last tick. What comes before the first is nobody's.
    pub(crate) fn worked(&mut self, ns: u64) {
        if let Some(last) = self.between_ns.last_mut() {
            *last += ns;
        }
    }
}

/// What became of a universe.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// One number for the state of all servers when each had completed the last tick asked for.
    pub hash: u64,
    /// Rules that were broken.
    pub violations: Vec<Violation>,
    /// Most bodies alive at once.
    pub bodies_max: usize,
    /// Bodies that changed server.
    pub hand_overs: u64,
    /// Transfers that were refused and went back.
    pub refused: u64,
    /// Bodies that were not made because a server's budget was used up.
    pub births_refused: u64,
    /// How often each fault struck.
    pub faults: FaultCounts,
    /// Partitions that a planner made.
    pub plans: u64,
    /// How often a region got a place or lost it.
    pub resizes: u64,
    /// How often statics were put into the world or taken out of it.
    pub statics: u64,
    /// How often a client drew the regions anew.
    pub redraws: u64,
    /// Promises that became void, in order of time; only the first few thousand are kept.
    pub breaches: Vec<Breach>,
    /// What began and ceased to touch, and which server said so, in the order in which they said it: of one server
    /// by the tick at which it learned of it. Empty unless asked for.
    pub contacts: Vec<(RegionId, Contact)>,
    /// What the game said, and which server told, in the order in which they told it.
    pub game_events: Vec<(RegionId, GameEvent)>,
    /// What the game kept with each body at the end, also with those on their way.
    pub game_states: BTreeMap<Nid, Vec<u8>>,
    /// Commands that clients gave.
    pub commands: u64,
    /// Frames sent between servers and gateways.
    pub frames: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Tick numbers that servers skipped.
    pub ticks_lost: u64,
    /// How often a backup took over.
    pub promotions: u64,
    /// What the coordinator and its cluster went through, if there was one.
    pub control: ControlCounts,
    /// Bytes that servers sent to their backups, by the processes that lived to the end.
    pub record_bytes: u64,
    /// Mean number of ticks by which backups were behind, over all wake-ups of all servers.
    pub kept_lag_ticks_mean: f64,
    /// Mean number of ticks that a body was not simulated while changing server.
    pub transit_ticks_mean: f64,
    /// Bodies hosted by each server at the end.
    pub hosted: Vec<usize>,
    /// Bodies that lie in each server's region at the end, whoever hosts them.
    pub resident: Vec<usize>,
    /// What each server's ticks cost, when measured.
    pub costs: Vec<NodeCost>,
}

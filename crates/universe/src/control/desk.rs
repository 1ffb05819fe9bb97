//! The coordinator as a process: it stops, and starts again from what the store has.

use nimbus_control::{Beginning, Config, Coordinator, Genesis, Input, Output};
use nimbus_model::{RegionId, World};
use nimbus_space::PartitionMap;
use std::sync::Arc;

use super::{ControlConfig, WORLD};
use crate::network::{MS, Nanos};

/// A process that was silent for so long loses what others can take over.
pub(crate) const SUSPECT_MS: u64 = 500;
/// How far ahead changes are announced, ticks.
const ANNOUNCE_TICKS: u64 = 40;

/// See the description of this file.
pub(crate) struct Desk {
    config: Config,
    core: Option<Coordinator>,
    /// Which start of the coordinator it is.
    pub(crate) start: u32,
}

impl Desk {
    /// A coordinator that has not started.
    pub(crate) fn new(config: &ControlConfig, world: &World, map: &PartitionMap, processes: usize) -> Desk {
        let all = (0..processes).map(|i| RegionId(i as u16));
        let genesis = Genesis {
            cluster: "universe".to_owned(),
            world: WORLD.to_owned(),
            map: Arc::new(map.clone()),
            spare: all.filter(|region| !map.regions().contains(region)).collect(),
            tick_hz: world.tick_hz,
            standing: Beginning::NEW,
            placed: Arc::default(),
        };
        let config = Config {
            nodes_wanted: processes,
            grace_ms: 10_000,
            suspect_ms: SUSPECT_MS,
            // A run is short: regions that have settled sooner move more often.
            settle_ms: 2_000,
            handover_ms: 1_000,
            announce_ticks: ANNOUNCE_TICKS,
            store_ms: 100,
            // Servers of the simulator go by its own time.
            slowest_permille: 1000,
            planted: config.planted,
            ..Config::new("coordinator", 0, genesis)
        };
        Desk { config, core: None, start: 0 }
    }

    /// Starts the coordinator, which knows nothing but what the store will tell it.
    pub(crate) fn boot(&mut self, start: u32) {
        self.start = start;
        let config = Config { token: u64::from(start), ..self.config.clone() };
        self.core = Coordinator::new(config).ok();
    }

    /// Stops it, with everything that it has heard.
    pub(crate) fn stop(&mut self) {
        self.core = None;
    }

    /// True while it runs.
    pub(crate) fn is_up(&self) -> bool {
        self.core.is_some()
    }

    /// True when it leads, as far as it knows.
    pub(crate) fn leads(&self) -> bool {
        self.core.as_ref().is_some_and(Coordinator::leads)
    }

    /// Gives it an input. Nobody answers while it is stopped.
    pub(crate) fn handle(&mut self, input: Input, now: Nanos) -> Vec<Output> {
        let mut out = Vec::new();
        if let Some(core) = &mut self.core {
            core.handle(input, now / MS, &mut out);
        }
        out
    }
}

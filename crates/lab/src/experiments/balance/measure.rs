//! Two universes of one world side by side: with boundaries that stand still, and with boundaries that follow the load.

use nimbus_model::World;
use nimbus_node::{Node, Policy};
use nimbus_universe::{BalanceConfig, LinkModel, NodeCost, Universe, UniverseConfig};
use std::collections::BTreeMap;

use super::Setup;
use crate::experiment::LabError;

/// Links and wake-ups lie within the world's tolerances.
const LATENCY_NS: u64 = 1_000_000;
/// Ticks that one universe runs before it is the turn of the other, so that both find the machine equally busy.
const TURN_TICKS: u64 = 30;

/// What one second of a run showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Second {
    /// Mean cost of a tick of each server, milliseconds.
    pub(super) cost_ms: Vec<f64>,
    /// Bodies that each server has at its end.
    pub(super) hosted: Vec<usize>,
    /// Where the planes lie, metres, in the order of the tree, each with its axis.
    pub(super) planes: Vec<(usize, f32)>,
    /// Regions that have a place.
    pub(super) regions: usize,
    /// Bodies that changed server in it.
    pub(super) hand_overs: u64,
}

impl Second {
    /// What the dearest server costs.
    pub(super) fn slowest_ms(&self) -> f64 {
        self.cost_ms.iter().copied().fold(0.0, f64::max)
    }
}

/// What a run showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) seconds: Vec<Second>,
    /// Partitions that the planner made.
    pub(super) plans: u64,
    /// Promises that became void, by what they name.
    pub(super) breaches: BTreeMap<&'static str, usize>,
}

/// The configuration that all runs share.
pub(super) fn config(setup: &Setup, world: &World, balance: Option<BalanceConfig>) -> UniverseConfig {
    config_for(setup.seed, setup.seconds(), world, balance)
}

/// The same for any run of so many seconds.
pub(super) fn config_for(seed: u64, seconds: u64, world: &World, balance: Option<BalanceConfig>) -> UniverseConfig {
    let ticks = seconds * u64::from(world.tick_hz);
    let mut config = UniverseConfig::new(&world.name, 8, seed, ticks);
    config.policy = Policy::Aura;
    config.link = Some(LinkModel { latency_ns: LATENCY_NS, ..LinkModel::default() });
    config.clients = 0;
    config.checked = false;
    config.balance = balance;
    config
}

/// Runs the world both ways; `progress` is told the share that is done.
pub(super) fn run(setup: &Setup, world: &World, progress: &mut dyn FnMut(f32)) -> Result<[Measured; 2], LabError> {
    let balances = [None, Some(BalanceConfig { measured: true, ..BalanceConfig::default() })];
    side_by_side(balances.map(|balance| config(setup, world, balance)), world, progress)
}

/// Runs configurations of a world for as many ticks in turns, each server's CPU time measured.
pub(super) fn side_by_side<const N: usize>(
    configs: [UniverseConfig; N],
    world: &World,
    progress: &mut dyn FnMut(f32),
) -> Result<[Measured; N], LabError> {
    let ticks = configs.iter().map(|config| config.ticks).max().unwrap_or(0);
    let mut runs = Vec::new();
    for config in configs {
        runs.push(Run::new(UniverseConfig { measured: true, ..config }, world)?);
    }
    for first in (0..ticks).step_by(TURN_TICKS as usize) {
        for run in &mut runs {
            (first..ticks.min(first + TURN_TICKS)).for_each(|_| run.advance());
        }
        progress(first as f32 / ticks as f32);
    }
    let mut measured = runs.into_iter().map(Run::conclude);
    Ok(std::array::from_fn(|_| measured.next().unwrap_or_default()))
}

struct Run {
    universe: Universe,
    hz: u64,
    hand_overs: u64,
    /// Ticks of each server that belong to seconds before.
    counted: Vec<usize>,
    measured: Measured,
}

impl Run {
    fn new(config: UniverseConfig, world: &World) -> Result<Run, LabError> {
        let universe =
            Universe::of_world(config, world.clone()).map_err(|error| LabError::Failed(error.to_string()))?;
        let counted = vec![0; universe.nodes().len()];
        Ok(Run { universe, hz: u64::from(world.tick_hz), hand_overs: 0, counted, measured: Measured::default() })
    }

    fn advance(&mut self) {
        self.universe.advance();
        if !self.universe.tick().0.is_multiple_of(self.hz) {
            return;
        }
        let outcome = self.universe.outcome();
        let new = |(cost, counted): (&NodeCost, &usize)| mean_ms(cost, *counted);
        let second = Second {
            cost_ms: outcome.costs.iter().zip(&self.counted).map(new).collect(),
            hosted: self.universe.nodes().iter().map(Node::hosted_count).collect(),
            planes: self.universe.nodes()[0].map().cuts().map(|cut| (cut.axis, cut.at)).collect(),
            regions: self.universe.nodes()[0].map().regions().len(),
            hand_overs: outcome.hand_overs - self.hand_overs,
        };
        self.counted = outcome.costs.iter().map(|cost| cost.tick_ns.len()).collect();
        self.hand_overs = outcome.hand_overs;
        self.measured.seconds.push(second);
    }

    fn conclude(mut self) -> Measured {
        let outcome = self.universe.outcome();
        self.measured.plans = outcome.plans;
        for breach in &outcome.breaches {
            *self.measured.breaches.entry(breach.factor.name()).or_default() += 1;
        }
        self.measured
    }
}

/// Mean cost of the ticks from one on, with the work between them, milliseconds.
fn mean_ms(cost: &NodeCost, from: usize) -> f64 {
    let ticks = cost.tick_ns.len().saturating_sub(from).max(1);
    let sum = |times: &[u64]| times.iter().skip(from).sum::<u64>();
    (sum(&cost.tick_ns) + sum(&cost.between_ns)) as f64 / 1e6 / ticks as f64
}

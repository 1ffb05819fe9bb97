//! One run of a universe, and what its servers cost.

use nimbus_model::{Tick, World};
use nimbus_node::{Node, Policy};
use nimbus_universe::{LinkModel, NodeCost, Universe, UniverseConfig};

use super::Setup;
use crate::experiment::LabError;

/// The experiment's link and wake-up times lie exactly at its tolerances.
const LATENCY_NS: u64 = 2_000_000;
const FRAME_NS: u64 = 15_000_000;

/// What a run showed. "Late" is the window at its end in which costs are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// Mean cost of a tick of each server in the late window, milliseconds.
    pub(super) cost_ms: Vec<f64>,
    /// Cost outside the engine's step as a share of it, all servers together, in the late window.
    pub(super) overhead_share: f64,
    /// Greatest cost of one tick on any server, per stretch of time, milliseconds.
    pub(super) frame_ms_max: Vec<f64>,
    /// Owner changes up to the end of each stretch.
    pub(super) migrations: Vec<u64>,
    /// Owner changes a second in the late window.
    pub(super) owner_changes_per_s: f64,
    /// Aura updates sent by all servers, if they are counted.
    pub(super) aura_updates: Option<u64>,
    /// Bodies each server hosts at the end.
    pub(super) hosted: Vec<usize>,
    /// Bodies that lie in each server's region at the end, whoever hosts them.
    pub(super) resident: Vec<usize>,
    /// Promises that became void.
    pub(super) breaches: usize,
}

impl Measured {
    /// Mean cost of a tick on the server where it is greatest, milliseconds.
    pub(super) fn cost_max_ms(&self) -> f64 {
        self.cost_ms.iter().copied().fold(0.0, f64::max)
    }
}

/// Runs a world to the end; `progress` is told the share that is done.
pub(super) fn run(world: World, setup: &Setup, progress: &mut dyn FnMut(f32)) -> Result<Measured, LabError> {
    let hz = u64::from(world.tick_hz);
    let ticks = setup.seconds * hz;
    let late_from = ticks - setup.late_seconds * hz;
    let stretch = setup.stretch_seconds * hz;
    let mut config = UniverseConfig::new("rain", 1, setup.seed, ticks);
    config.policy = Policy::Aura;
    config.link = Some(LinkModel { latency_ns: LATENCY_NS, ..LinkModel::default() });
    config.frame_ns = Some(FRAME_NS);
    config.clients = 0;
    config.measured = true;
    config.checked = false;
    let mut universe = Universe::of_world(config, world).map_err(|error| LabError::Failed(error.to_string()))?;

    let mut measured = Measured::default();
    let mut changes_before = 0;
    while universe.tick() < Tick(ticks) {
        universe.advance();
        let tick = universe.tick().0;
        if tick == late_from {
            changes_before = universe.outcome().hand_overs;
        }
        if tick.is_multiple_of(stretch) {
            measured.migrations.push(universe.outcome().hand_overs);
        }
        progress(tick as f32 / ticks as f32);
    }
    let outcome = universe.outcome();
    let late = late_from as usize;
    measured.cost_ms = outcome.costs.iter().map(|cost| mean(whole_ms(cost).skip(late))).collect();
    let late_sum = |of: fn(&NodeCost) -> &Vec<u64>| -> f64 {
        outcome.costs.iter().flat_map(|cost| of(cost).iter().skip(late)).map(|ns| *ns as f64).sum()
    };
    let (tick, step, between) = (late_sum(|c| &c.tick_ns), late_sum(|c| &c.step_ns), late_sum(|c| &c.between_ns));
    measured.overhead_share = (tick - step + between) / step.max(1.0);
    measured.frame_ms_max = vec![0.0; ticks.div_ceil(stretch) as usize];
    for (i, ms) in outcome.costs.iter().flat_map(|cost| whole_ms(cost).enumerate()) {
        if let Some(greatest) = measured.frame_ms_max.get_mut(i / stretch as usize) {
            *greatest = greatest.max(ms);
        }
    }
    measured.owner_changes_per_s = (outcome.hand_overs - changes_before) as f64 / setup.late_seconds as f64;
    measured.breaches = outcome.breaches.len();
    measured.aura_updates = universe.nodes().iter().map(aura_updates).sum();
    measured.hosted = universe.nodes().iter().map(Node::hosted_count).collect();
    measured.resident = residents(universe.nodes());
    Ok(measured)
}

/// How often a server told others where its auras are. Servers do not count that yet: `counters().aura_updates` belongs
/// here.
fn aura_updates(_node: &Node) -> Option<u64> {
    None
}

/// What every tick cost with the work after it, milliseconds.
fn whole_ms(cost: &NodeCost) -> impl Iterator<Item = f64> {
    cost.tick_ns.iter().zip(&cost.between_ns).map(|(tick, between)| (tick + between) as f64 / 1e6)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    if count > 0.0 { sum / count } else { 0.0 }
}

fn residents(nodes: &[Node]) -> Vec<usize> {
    let mut counts = vec![0; nodes.len()];
    for node in nodes {
        for motion in node.hosted().filter_map(|(nid, _)| node.motion(nid)) {
            let region = node.map().region_at(motion.pose.position);
            if let Some(count) = counts.get_mut(usize::from(region.0)) {
                *count += 1;
            }
        }
    }
    counts
}

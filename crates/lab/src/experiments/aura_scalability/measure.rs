//! One run of a universe, and what its servers cost.

use nimbus_model::World;
use nimbus_node::{Node, Policy};
use nimbus_universe::{LinkModel, NodeCost, Universe, UniverseConfig};
use std::collections::BTreeMap;

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
    /// Cost of the engine's step and of everything outside it, all servers together, in the late window, nanoseconds.
    pub(super) step_ns: f64,
    pub(super) outside_ns: f64,
    /// Per stretch of time, the dearest tick of any server: how many bodies there were, and its cost in milliseconds.
    pub(super) frames: Vec<[f64; 2]>,
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
    /// Promises that became void, by what they name.
    pub(super) breaches: BTreeMap<&'static str, usize>,
}

impl Measured {
    /// Mean cost of a tick on the server where it is greatest, milliseconds.
    pub(super) fn cost_max_ms(&self) -> f64 {
        self.cost_ms.iter().copied().fold(0.0, f64::max)
    }

    /// Bodies on all servers at the end.
    pub(super) fn bodies(&self) -> usize {
        self.hosted.iter().sum()
    }
}

/// Cost outside the engine's step as a share of it.
pub(super) fn outside_share(run: &Measured) -> f64 {
    run.outside_ns / run.step_ns.max(1.0)
}

/// Ticks that one set of worlds runs before it is the turn of the next.
const TURN_TICKS: u64 = 30;

/// Runs sets of worlds to the end; `progress` is told the share that is done. The worlds of a set know nothing of each
/// other and take turns tick by tick, as the servers of one universe do, so that both find the processor's caches equally
/// cold. Sets take longer turns, so that all of them find the machine equally busy whatever else it does.
pub(super) fn run(
    sets: Vec<Vec<World>>,
    setup: &Setup,
    progress: &mut dyn FnMut(f32),
) -> Result<Vec<Vec<Measured>>, LabError> {
    let start = |worlds: Vec<World>| worlds.into_iter().map(|world| Run::new(world, setup)).collect();
    let mut sets = sets.into_iter().map(start).collect::<Result<Vec<Vec<Run>>, LabError>>()?;
    let ticks = sets.iter().flatten().map(|run| run.ticks).max().unwrap_or(0);
    let count = sets.len() as f32;
    for first in (0..ticks).step_by(TURN_TICKS as usize) {
        for (i, runs) in sets.iter_mut().enumerate() {
            for _ in first..ticks.min(first + TURN_TICKS) {
                runs.iter_mut().for_each(Run::advance);
            }
            progress((first as f32 + TURN_TICKS as f32 * i as f32 / count) / ticks as f32);
        }
    }
    Ok(sets.into_iter().map(|runs| runs.into_iter().map(Run::conclude).collect()).collect())
}

struct Run {
    universe: Universe,
    ticks: u64,
    late_from: u64,
    stretch: u64,
    late_seconds: f64,
    changes_before: u64,
    /// Bodies on all servers after each tick.
    bodies: Vec<usize>,
    measured: Measured,
}

impl Run {
    fn new(world: World, setup: &Setup) -> Result<Run, LabError> {
        let hz = u64::from(world.tick_hz);
        let ticks = setup.seconds * hz;
        let mut config = UniverseConfig::new("rain", 1, setup.seed, ticks);
        config.policy = Policy::Aura;
        config.link = Some(LinkModel { latency_ns: LATENCY_NS, ..LinkModel::default() });
        config.frame_ns = Some(FRAME_NS);
        config.clients = 0;
        config.measured = true;
        config.checked = false;
        Ok(Run {
            universe: Universe::of_world(config, world).map_err(|error| LabError::Failed(error.to_string()))?,
            ticks,
            late_from: ticks - setup.late_seconds * hz,
            stretch: setup.stretch_seconds * hz,
            late_seconds: setup.late_seconds as f64,
            changes_before: 0,
            bodies: Vec::new(),
            measured: Measured::default(),
        })
    }

    fn advance(&mut self) {
        self.universe.advance();
        self.bodies.push(self.universe.nodes().iter().map(Node::hosted_count).sum());
        let tick = self.universe.tick().0;
        if tick == self.late_from {
            self.changes_before = self.universe.outcome().hand_overs;
        }
        if tick.is_multiple_of(self.stretch) {
            self.measured.migrations.push(self.universe.outcome().hand_overs);
        }
    }

    fn conclude(self) -> Measured {
        let (outcome, nodes, mut measured) = (self.universe.outcome(), self.universe.nodes(), self.measured);
        let late = self.late_from as usize;
        measured.cost_ms = outcome.costs.iter().map(|cost| mean(whole_ms(cost).skip(late))).collect();
        let late_sum = |of: fn(&NodeCost) -> &Vec<u64>| -> f64 {
            outcome.costs.iter().flat_map(|cost| of(cost).iter().skip(late)).map(|ns| *ns as f64).sum()
        };
        let (tick, step, between) = (late_sum(|c| &c.tick_ns), late_sum(|c| &c.step_ns), late_sum(|c| &c.between_ns));
        (measured.step_ns, measured.outside_ns) = (step, tick - step + between);
        measured.frames = dearest(&outcome.costs, &self.bodies, self.stretch as usize);
        measured.owner_changes_per_s = (outcome.hand_overs - self.changes_before) as f64 / self.late_seconds;
        for breach in &outcome.breaches {
            *measured.breaches.entry(breach.factor.name()).or_default() += 1;
        }
        measured.aura_updates = nodes.iter().map(aura_updates).sum();
        measured.hosted = nodes.iter().map(Node::hosted_count).collect();
        measured.resident = self.universe.residents();
        measured
    }
}

/// Per stretch of ticks, the bodies and the cost in milliseconds of the dearest tick of any server.
fn dearest(costs: &[NodeCost], bodies: &[usize], stretch: usize) -> Vec<[f64; 2]> {
    let mut frames = vec![[0.0; 2]; bodies.len().div_ceil(stretch)];
    for (i, ms) in costs.iter().flat_map(|cost| whole_ms(cost).enumerate()) {
        if let (Some(frame), Some(bodies)) = (frames.get_mut(i / stretch), bodies.get(i))
            && ms > frame[1]
        {
            *frame = [*bodies as f64, ms];
        }
    }
    frames
}

/// How often a server told others where its auras are.
fn aura_updates(node: &Node) -> Option<u64> {
    Some(node.counters().aura_updates)
}

/// What every tick cost with the work after it, milliseconds.
fn whole_ms(cost: &NodeCost) -> impl Iterator<Item = f64> {
    cost.tick_ns.iter().zip(&cost.between_ns).map(|(tick, between)| (tick + between) as f64 / 1e6)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    if count > 0.0 { sum / count } else { 0.0 }
}

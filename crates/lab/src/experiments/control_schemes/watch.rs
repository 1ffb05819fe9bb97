//! One scheme on one scene: what is seen of it from outside, tick by tick.

use nimbus_model::{Nid, RegionId, Tick, Vec3, World};
use nimbus_node::{Node, Policy};
use nimbus_universe::{LinkModel, NodeCost, Universe, UniverseConfig};
use std::collections::BTreeMap;

use super::falls::Fall;
use super::overlap::deepest_overlap;
use super::stage::Stage;
use crate::experiment::LabError;

/// Decides when servers wake. With this one, at tolerance, bodies on their way miss ticks in both directions between two
/// servers, so that a scheme has to do something about it; with others no scheme can be told from the next by pendulums.
const SEED: u64 = 10;
/// A body is lost when nobody has had it for so long. Frames take less.
const MISSING_TICKS: u64 = 12;
/// Whoever was last seen so near to the end of the world, metres, may have left it.
const LEAVING_M: f32 = 4.0;
/// A domino has fallen when the vertical part of its axis is below this: about 26 degrees.
const UPRIGHT: f32 = 0.9;
/// Bodies deeper in each other than this overlap, metres: the engine lets bodies touch a little.
const OVERLAP_M: f32 = 0.05;
/// Copies of frames that carry bodies, under the aura policy and where frames are lost.
const COPIES: u8 = 3;

/// A body as it was seen last.
#[derive(Clone, Copy)]
struct Seen {
    tick: u64,
    region: RegionId,
    place: Vec3,
    /// Of motion and height, joules.
    energy: f64,
}

/// What was seen of a run.
#[derive(Default)]
pub(super) struct Record {
    pub(super) owner_changes: u64,
    pub(super) frames_per_tick: f64,
    pub(super) bytes_per_tick: f64,
    /// Mean cost of a tick on the server where it is greatest, milliseconds.
    pub(super) cost_ms: f64,
    /// Share of all bodies on the server that has most at the end.
    pub(super) hosted_max_percent: f64,
    /// Greatest depth of two bodies of different servers in each other, metres.
    pub(super) overlap_m: f32,
    /// Ticks at which any two were.
    pub(super) overlap_ticks: u64,
    pub(super) lost: u64,
    /// Bodies that two servers had at once, over all ticks.
    pub(super) duplicated: u64,
    /// When each domino fell over.
    pub(super) falls: BTreeMap<Nid, Fall>,
    /// Ticks that bodies on their way were not simulated and not caught up by.
    pub(super) missed_ticks: u64,
    /// How often free pendulums changed owner.
    pub(super) pendulum_changes: u64,
    /// Tick and place along x of every free pendulum.
    pub(super) swings: BTreeMap<Nid, Vec<(u64, f64)>>,
    /// By how much the energy of all bodies changes at each tick, joules. A body that nobody has keeps what it had.
    gains: BTreeMap<u64, f64>,
    seen: BTreeMap<Nid, Seen>,
    /// Bodies that had not arrived at the end.
    in_flight: Vec<Nid>,
    ticks: u64,
}

/// Runs a world under a scheme.
pub(super) fn watch(stage: &Stage, world: World, policy: Policy) -> Result<Record, LabError> {
    let gravity = f64::from(world.gravity.length());
    let mut universe = Universe::of_world(config(stage, policy), world).map_err(failed)?;
    let mut record = Record { ticks: stage.ticks, ..Record::default() };
    while universe.tick() < Tick(stage.ticks) {
        universe.advance_watching(&mut |node| record.look(stage, node, gravity));
        let deepest = deepest_overlap(universe.nodes());
        record.overlap_m = record.overlap_m.max(deepest);
        record.overlap_ticks += u64::from(deepest > OVERLAP_M);
    }
    let (frames, bytes) = universe.traffic();
    record.frames_per_tick = frames as f64 / stage.ticks as f64;
    record.bytes_per_tick = bytes as f64 / stage.ticks as f64;
    record.missed_ticks = universe.nodes().iter().map(|node| node.counters().ticks_in_transit).sum();
    record.owner_changes = universe.outcome().hand_overs;
    record.cost_ms = universe.outcome().costs.iter().map(mean_ms).fold(0.0, f64::max);
    let hosted = || universe.nodes().iter().map(Node::hosted_count);
    record.hosted_max_percent = 100.0 * hosted().max().unwrap_or(0) as f64 / hosted().sum::<usize>().max(1) as f64;
    record.in_flight = universe.nodes().iter().flat_map(Node::in_flight).map(|(nid, _)| nid).collect();
    Ok(record)
}

fn config(stage: &Stage, policy: Policy) -> UniverseConfig {
    let mut config = UniverseConfig::new(stage.name, stage.servers, SEED, 1 << 32);
    config.policy = policy;
    config.clients = 0;
    config.checked = false;
    config.measured = true;
    // As late and as rarely as the world's promises allow, so that bodies on their way miss ticks.
    let nanos = |ms: f32| (f64::from(ms) * 1e6).round() as u64;
    let latency_ns = nanos(stage.world.tolerances.latency_ms);
    config.frame_ns = Some(nanos(stage.world.tolerances.frame_ms));
    config.link = Some(LinkModel { latency_ns, loss: stage.loss, ..LinkModel::default() });
    if stage.loss > 0.0 && policy == Policy::Aura {
        config.aura.copies = COPIES;
    }
    config
}

fn mean_ms(cost: &NodeCost) -> f64 {
    let ns = cost.tick_ns.iter().sum::<u64>() + cost.between_ns.iter().sum::<u64>();
    ns as f64 / 1e6 / cost.tick_ns.len().max(1) as f64
}

impl Record {
    /// Looks at everything that a server has after a tick.
    fn look(&mut self, stage: &Stage, node: &Node, gravity: f64) {
        let tick = node.now().0;
        for (nid, _) in node.hosted() {
            let Some(body) = node.physics().view(nid) else { continue };
            let place = body.pose.position;
            let speed = f64::from(body.velocity.linear.length());
            let energy = f64::from(body.mass()) * (0.5 * speed * speed + gravity * f64::from(place.y));
            let before = self.seen.insert(nid, Seen { tick, region: node.region(), place, energy });
            *self.gains.entry(tick).or_default() += energy - before.map_or(0.0, |before| before.energy);
            self.duplicated += u64::from(before.is_some_and(|before| before.tick == tick));
            if stage.dominoes && (body.pose.rotation * Vec3::Y).y < UPRIGHT {
                let upright = before.map_or(tick - 1, |before| before.tick);
                self.falls.entry(nid).or_insert(Fall { upright, fallen: tick });
            }
            if stage.pendulums.contains(&nid) {
                let moved = before.is_some_and(|before| before.region != node.region());
                self.pendulum_changes += u64::from(moved);
                self.swings.entry(nid).or_default().push((tick, f64::from(place.x)));
            }
        }
    }

    fn is_missing(&self, nid: Nid) -> bool {
        let lately = self.seen.get(&nid).is_some_and(|seen| seen.tick + MISSING_TICKS >= self.ticks);
        !lately && !self.in_flight.contains(&nid)
    }

    /// Counts the bodies that are alive on one server and that nobody has here. What was about to leave the world does
    /// not count.
    pub(super) fn count_lost(&mut self, stage: &Stage, control: &Record) {
        let inside = stage.world.kill_box.grown(-LEAVING_M);
        let left = |nid: &Nid| self.seen.get(nid).is_some_and(|seen| !inside.holds(seen.place));
        let alive = control.seen.keys().filter(|nid| !control.is_missing(**nid));
        self.lost = alive.filter(|nid| self.is_missing(**nid) && !left(nid)).count() as u64;
    }

    /// How far the energy of all bodies is from that on one server, root mean square over all ticks, by how much that one
    /// changes.
    pub(super) fn energy_error_percent(&self, control: &Record) -> f64 {
        let (here, there) = (self.energy(), control.energy());
        let squares = here.iter().zip(&there).map(|(here, there)| (here - there).powi(2)).sum::<f64>();
        let most = there.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = there.iter().copied().fold(f64::INFINITY, f64::min);
        100.0 * (squares / there.len().max(1) as f64).sqrt() / (most - least).max(1e-9)
    }

    /// Energy of all bodies after each tick that every server has completed, joules.
    fn energy(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let after = |tick: u64| {
            sum += self.gains.get(&tick).copied().unwrap_or(0.0);
            sum
        };
        (1..=self.ticks.saturating_sub(MISSING_TICKS)).map(after).collect()
    }
}

fn failed(error: impl std::fmt::Display) -> LabError {
    LabError::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::stage;
    use super::super::swings::Swings;
    use super::*;

    /// If pendulums did not change owner, or nothing happened to those that do, no bar could be about them.
    #[test]
    fn pendulums_change_owner_and_a_scheme_that_loses_ticks_shows_in_their_period() {
        let stages = stage::all(true);
        let stage = stages.iter().find(|stage| !stage.pendulums.is_empty()).unwrap();
        let control = watch(stage, nimbus_scenes::on_one_server(&stage.world), Policy::Aura).unwrap();
        let run = |policy| {
            let record = watch(stage, stage.world.clone(), policy).unwrap();
            (record.pendulum_changes, record.missed_ticks, Swings::compare(&stage.pendulums, &record, &control))
        };
        let (changes, missed, swings) = run(Policy::Exclusive);
        assert!(changes > 4 && missed > 0, "{changes} changes, {missed} ticks missed");
        assert!(swings.period_percent > 0.05, "{swings:?}");
        let (changes, missed, swings) = run(Policy::Aura);
        assert!(changes > 4 && missed == 0, "{changes} changes, {missed} ticks missed");
        assert!(swings.worst_percent() < 0.05, "{swings:?}");
    }
}

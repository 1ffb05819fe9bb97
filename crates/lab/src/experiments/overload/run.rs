//! One overload: two nodes, a coordinator and a gateway, boxes that begin to fall, and floors that are taken away.

#![allow(clippy::disallowed_methods, reason = "what runs in real time is measured in it")]

use nimbus_model::Nid;
use nimbus_node::Factor;
use nimbus_wire::client::{Overlay, StaticSpawn, TouchesOf};
use std::time::{Duration, Instant};

use super::load::{BODIES_MAX, Load};
use crate::cluster_run::{ClusterRun, pause};
use crate::experiment::LabError;
use crate::experiments::seam::run::{Seen, Viewer};

/// Boxes a region with which it is found what they cost. How the cost grows is found with a second number, which by the
/// first makes this share of the load: caches matter, so it is not to be far below.
const CALIBRATION_BODIES: u32 = 2_000;
const CALIBRATION_SHARE: f64 = 0.6;
/// Ticks after the world began anew at which boxes have settled and figures, which are about the latest 300 ticks, speak of
/// them only.
const SETTLED_TICKS: f64 = 560.0;
/// More boxes than the cost of one says, so that the load is what it should be.
const MORE: f64 = 1.15;
/// How often figures are read.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Bodies are counted this many ticks ahead: ticks are far apart.
const COUNT_TICKS: u64 = 6;
/// How often a floor is tried to be laid.
const LAY_TRIES: u32 = 10;
/// How long to wait for real time at most.
const BACK_S_MAX: f64 = 30.0;
const TICK_HZ: f64 = 60.0;

/// Both sides of the boundary.
const BOTH: [f32; 2] = [-1.0, 1.0];

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Least share of real time to which the world may slow down.
    pub(super) slowest: f32,
    backups: bool,
    /// Which servers have more than they hold: those on these sides of the boundary.
    pub(super) sides: &'static [f32],
}

impl Case {
    pub(super) const ALL: [Case; 4] = [
        Case { name: "without backups", slowest: 0.05, backups: false, sides: &BOTH },
        Case { name: "with backups", slowest: 0.05, backups: true, sides: &BOTH },
        Case { name: "one server alone", slowest: 0.05, backups: false, sides: &[-1.0] },
        Case { name: "time dilation forbidden", slowest: 1.0, backups: false, sides: &BOTH },
    ];
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Time that a tick takes, by the length of a tick in real time, on the dearest server.
    pub(super) load: f64,
    /// Share of real time at which the world ran when the overload ended.
    pub(super) dilation: f64,
    /// The same over time, seconds.
    pub(super) dilations: Vec<[f64; 2]>,
    pub(super) ticks_lost: u64,
    pub(super) pairs: Seen,
    pub(super) bodies: usize,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    /// Seconds from taking the floors away until real time.
    pub(super) back_s: f64,
    /// Memory of all processes at the end, megabytes, and by how much it grew during the second half.
    pub(super) memory_mb: f64,
    pub(super) growth_mb: f64,
    pub(super) breaches: u64,
}

/// Boxes a region that make a tick take so many times its length, by the power of their number with which it grows.
pub(super) fn calibrate(load: f64) -> Result<u32, LabError> {
    let some = CALIBRATION_BODIES;
    let share_of_some = settled_share(some)?;
    let more = (CALIBRATION_SHARE * load / share_of_some * f64::from(some)) as u32;
    let more = more.clamp(2 * some, BODIES_MAX / 2);
    let shares = [share_of_some, settled_share(more)?];
    let bodies = bodies_for(MORE * load, [some, more].map(f64::from), shares);
    bodies
        .map(|bodies| bodies.min(BODIES_MAX))
        .ok_or_else(|| LabError::Failed(format!("ticks of {some} and {more} boxes take {shares:?} of their length")))
}

/// Time that a tick takes with so many boxes a region at rest, by its length.
fn settled_share(bodies: u32) -> Result<f64, LabError> {
    let load = Load::new(bodies, &BOTH, 1.0)?;
    let (cluster, mut viewer, _) = begin(&load, Case::ALL[0])?;
    let end = tick(&cluster) + SETTLED_TICKS;
    viewer.until(&cluster, "boxes to settle", |_| tick(&cluster) >= end)?;
    Ok(tick_share(&cluster))
}

/// The number at which a quantity that grows with a power of it reaches a value; none when it does not grow.
fn bodies_for(value: f64, numbers: [f64; 2], values: [f64; 2]) -> Option<u32> {
    let power = (values[1] / values[0]).ln() / (numbers[1] / numbers[0]).ln();
    let number = numbers[1] * (value / values[1]).powf(1.0 / power);
    (power > 0.1 && number.is_finite()).then_some(number.ceil() as u32)
}

/// Runs a case for so many seconds of overload.
pub(super) fn run(case: &Case, load: &Load, seconds: u64) -> Result<Outcome, LabError> {
    let (cluster, mut viewer, floors) = begin(load, *case)?;
    let began = Instant::now();
    let mut seen = Outcome::default();
    let mut half_mb = 0.0;
    let passed = |began: Instant| began.elapsed().as_secs_f64();
    // Boxes fall from the third second on.
    let end = seconds as f64 + 4.0;
    while passed(began) < end {
        viewer.listen();
        seen.dilation = dilation(&cluster);
        seen.dilations.push([passed(began), seen.dilation]);
        if half_mb == 0.0 && passed(began) > end / 2.0 {
            half_mb = memory_mb(&cluster);
        }
        pause(LOOK_EVERY);
    }
    seen.load = tick_share(&cluster);
    seen.memory_mb = memory_mb(&cluster);
    seen.growth_mb = seen.memory_mb - half_mb;
    seen.bodies = load.bodies();
    if case.slowest < 1.0 {
        let counted = || cluster.count_ahead(&cluster.roster()?, COUNT_TICKS);
        let count = cluster.until("a count of all bodies", counted)?;
        seen.lost = seen.bodies.saturating_sub(count.present.len());
        seen.doubled = count.doubled.len();
    }
    viewer.client.take_answers();
    for floor in floors {
        viewer.say(|client| client.despawn(floor))?;
    }
    let gone = Instant::now();
    loop {
        viewer.listen();
        if let Some(why) = viewer.client.take_answers().into_iter().find_map(|answer| answer.outcome.err()) {
            return Err(LabError::Failed(format!("a floor cannot be taken away: {why}")));
        }
        let now = dilation(&cluster);
        seen.dilations.push([passed(began), now]);
        seen.back_s = passed(gone);
        if (now >= 0.995 && seen.back_s > 1.0) || seen.back_s > BACK_S_MAX {
            break;
        }
        pause(LOOK_EVERY);
    }
    let all = load.pairs.last as f64;
    if let Some(start) = viewer.began_at(&load.pairs, 2, &load.expected).filter(|_| case.slowest < 1.0) {
        let last = start as f64 + all + 120.0;
        viewer.until(&cluster, "all pairs to meet", |_| tick(&cluster) >= last)?;
    }
    seen.pairs = viewer.judged(&load.pairs, 2, &load.expected).unwrap_or_default();
    seen.ticks_lost = cluster.regions().iter().map(|region| region.lost_ticks).sum();
    seen.breaches = Factor::ALL.iter().map(|factor| breaches(&cluster, factor)).sum();
    Ok(seen)
}

/// Starts a cluster, begins its world anew so that everything is still to come, and lays the floors.
fn begin(load: &Load, case: Case) -> Result<(ClusterRun, Viewer, Vec<Nid>), LabError> {
    let more = format!(
        "durable = {}\n[tolerances]\ncompute_ms = 10.0\nskew_ms = 4.0\nstore_ms = 10.0\nslowest = {:?}",
        case.backups, case.slowest
    );
    let cluster = ClusterRun::start_world(load.pairs.world.clone(), 2, &more)?;
    cluster.until_running(2)?;
    if case.backups {
        cluster.until_protected(2)?;
    }
    let mut viewer = Viewer::connect(&cluster, "bodies=watched")?;
    viewer.until(&cluster, "the world", |viewer| viewer.client.era() == Some(1))?;
    viewer.say(|client| client.overlays(&[Overlay::Breaches]))?;
    let named = load.pairs.of(2).map(|((one, _), _)| one).collect();
    viewer.say(|client| client.touches(TouchesOf::Bodies(named)))?;
    viewer.say(|client| client.reset())?;
    viewer.until(&cluster, "the world to begin anew", |viewer| viewer.client.era() == Some(2))?;
    viewer.client.take_answers();
    let mut floors = Vec::new();
    for floor in load.floors() {
        floors.extend(lay(&cluster, &mut viewer, &floor)?);
    }
    Ok((cluster, viewer, floors))
}

/// Lays a floor. While the world is still being loaded that is refused, so it is tried again.
fn lay(cluster: &ClusterRun, viewer: &mut Viewer, floor: &StaticSpawn) -> Result<Option<Nid>, LabError> {
    let mut refused = String::new();
    for _ in 0..LAY_TRIES {
        viewer.say(|client| client.place_static(floor.clone()))?;
        match answer(cluster, viewer)? {
            Ok(nid) => return Ok(nid),
            Err(why) => refused = why,
        }
        pause(LOOK_EVERY);
    }
    Err(LabError::Failed(format!("a floor cannot be laid: {refused}")))
}

fn answer(cluster: &ClusterRun, viewer: &mut Viewer) -> Result<Result<Option<Nid>, String>, LabError> {
    cluster.until("an answer", || {
        viewer.listen();
        viewer.client.take_answers().pop().map(|answer| answer.outcome)
    })
}

fn tick(cluster: &ClusterRun) -> f64 {
    cluster.metric("gateway-0", "nimbus_gateway_tick", "")
}

fn dilation(cluster: &ClusterRun) -> f64 {
    cluster.metric("gateway-0", "nimbus_time_dilation", "")
}

/// Time that a tick takes on the dearest server, by its length in real time.
fn tick_share(cluster: &ClusterRun) -> f64 {
    let of = |node: &str| cluster.metric(node, "nimbus_node_step_seconds", "quantile=\"0.5\"");
    TICK_HZ * cluster.nodes().map(of).fold(0.0, f64::max)
}

fn memory_mb(cluster: &ClusterRun) -> f64 {
    let processes = cluster.nodes().chain(["coordinator-0", "gateway-0"]);
    processes.filter_map(|name| cluster.footprint(name)).map(|has| has.resident_kb as f64 / 1024.0).sum()
}

fn breaches(cluster: &ClusterRun, factor: &Factor) -> u64 {
    cluster.metric("gateway-0", "nimbus_breaches_total", &format!("factor=\"{}\"", factor.name())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_boxes_follows_the_power_with_which_their_cost_grows() {
        assert_eq!(bodies_for(4.0, [1_000.0, 2_000.0], [0.5, 1.0]), Some(8_000));
        assert_eq!(bodies_for(4.0, [1_000.0, 2_000.0], [0.25, 1.0]), Some(4_000));
        assert_eq!(bodies_for(4.0, [1_000.0, 2_000.0], [1.0, 1.0]), None);
        assert_eq!(bodies_for(4.0, [1_000.0, 2_000.0], [0.0, 0.0]), None);
    }
}

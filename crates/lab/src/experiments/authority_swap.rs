//! Whether a stack stands while its owner changes every second.
//!
//! The stack lies across the boundary of two servers and nothing else is near, so neither of them has a reason to give
//! it away: every hand-over is one that was ordered. Between them the stack goes on as usual, with the impulses of its
//! contacts as they travelled.

use nimbus_model::{BodyDesc, Layout, Nid, Pose, Quat, RegionId, Rng, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::Node;
use nimbus_universe::{LinkModel, Universe, UniverseConfig};
use std::sync::Arc;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "authority-swap",
    about: "A stack across a boundary changes its owner every second and must go on standing.",
    run,
};

/// Farthest that a cube may be from where it had settled, metres.
const DRIFT_BAR_M: f64 = 0.1;
const SETTLE_TICKS: u64 = 600;
const SWAP_EVERY_TICKS: u64 = 60;
/// Each point of the plot is the worst of so many ticks.
const PLOT_TICKS: u64 = 30;
/// Decides when servers wake. With this one, at tolerance, a stack on its way misses ticks in both directions.
const SEED: u64 = 10;
/// How far cubes lie askew at most, metres.
const ASKEW_M: f32 = 0.005;
/// How far they are turned at most, radians.
const TURNED: f32 = 0.01;
/// Distance of the stack's axis from the boundary, metres. All centres start on one side, or two servers would each
/// begin with a part of the stack.
const BESIDE_M: f32 = 0.2;

/// A stack and what is done to it.
#[derive(Clone, Copy)]
struct Case {
    how: &'static str,
    swaps: bool,
    /// Servers wake as rarely and frames take as long as the world's promises allow, so that the stack misses ticks on
    /// its way and is caught up.
    at_tolerance: bool,
    may_sleep: bool,
}

const CASES: [Case; 4] = [
    Case { how: "no swaps", swaps: false, at_tolerance: false, may_sleep: false },
    Case { how: "swaps", swaps: true, at_tolerance: false, may_sleep: false },
    Case { how: "swaps, servers at tolerance", swaps: true, at_tolerance: true, may_sleep: false },
    Case { how: "swaps, may sleep", swaps: true, at_tolerance: false, may_sleep: true },
];
const HEIGHTS: [u32; 2] = [5, 10];

/// What became of a stack.
#[derive(Default)]
struct Stood {
    swaps: u64,
    hand_overs: u64,
    catch_up_ticks: u64,
    drift_m: f64,
    /// Greatest speed of any cube, m/s.
    speed: f64,
    order_kept: bool,
    /// Cubes that had no owner and were not on their way either, over all ticks.
    lost: u64,
    /// Cubes that had two owners, over all ticks.
    doubled: u64,
    breaches: usize,
    /// Seconds since the stack had settled, and how far its worst cube was from its place before, millimetres.
    drifts: Vec<[f64; 2]>,
}

impl Stood {
    fn fallen(&self) -> bool {
        !self.order_kept || self.drift_m > DRIFT_BAR_M
    }

    /// True when nothing went wrong and all hand-overs were those that were ordered.
    fn meets(&self, height: u32) -> bool {
        !self.fallen() && self.lost + self.doubled == 0 && self.hand_overs == self.swaps * u64::from(height)
    }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let seconds: u64 = if options.quick { 10 } else { 60 };
    let (mut rows, mut plots) = (Vec::new(), Vec::new());
    let (mut passed, mut drift_worst, mut swaps) = (true, 0.0_f64, 0);
    let all = (HEIGHTS.len() * CASES.len()) as f32;
    for height in HEIGHTS {
        let name = if height == HEIGHTS[0] { "drift-low" } else { "drift-high" };
        let title = format!("How far a stack of {height} cubes is from where it settled");
        let mut plot = Plot::lines(name, &title, "seconds", "worst cube, mm");
        for case in CASES {
            let stood = stand(height, case, seconds)?;
            passed &= stood.meets(height);
            swaps += stood.swaps;
            drift_worst = drift_worst.max(stood.drift_m);
            rows.push(row(height, case, &stood));
            plot = plot.with(Series::new(case.how, stood.drifts));
            progress(rows.len() as f32 / all);
        }
        plots.push(plot);
    }
    let verdict = if passed { "every stack stands" } else { "not every stack stands, or bodies went astray" };
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("seconds", seconds)
            .with("settle_ticks", SETTLE_TICKS)
            .with("swap_every_ticks", SWAP_EVERY_TICKS)
            .with("drift_bar_m", DRIFT_BAR_M),
        rows,
        plots,
        summary: Summary {
            passed,
            sentence: format!(
                "After {swaps} changes of owner {verdict}; no cube is further than {:.1} mm from its place (bar {:.0} mm).",
                drift_worst * 1e3,
                DRIFT_BAR_M * 1e3
            ),
        },
    })
}

fn row(height: u32, case: Case, stood: &Stood) -> Row {
    Row::new()
        .with("cubes", height)
        .with("how", case.how)
        .with("swaps", stood.swaps)
        .with("hand_overs", stood.hand_overs)
        .with("catch_up_ticks", stood.catch_up_ticks)
        .with("drift_max_mm", stood.drift_m * 1e3)
        .with("speed_max_mm_s", stood.speed * 1e3)
        .with("fallen", stood.fallen())
        .with("lost", stood.lost)
        .with("doubled", stood.doubled)
        .with("breaches", stood.breaches)
}

/// Lets a stack settle, then watches it for some seconds.
fn stand(height: u32, case: Case, seconds: u64) -> Result<Stood, LabError> {
    let world = stack(height, case.may_sleep);
    let tick_s = f64::from(world.tick_s());
    let cubes: Vec<Nid> = world.owned_bodies().map(|(i, _)| World::nid(1, i)).collect();
    let mut universe = Universe::of_world(config(&world, case), world).map_err(failed)?;
    while universe.tick() < Tick(SETTLE_TICKS) {
        universe.advance();
    }
    let place = |nid: &Nid| universe.nodes().iter().find_map(|node| Some(node.motion(*nid)?.pose.position));
    let settled: Option<Vec<Vec3>> = cubes.iter().map(place).collect();
    let settled = settled.ok_or_else(|| LabError::Failed("the stack did not settle on one server".to_owned()))?;

    let before = universe.outcome().hand_overs;
    let mut stood = Stood { order_kept: true, ..Stood::default() };
    let mut drift = 0.0_f64;
    let last = Tick(SETTLE_TICKS + seconds * 60);
    while universe.tick() < last {
        let age = universe.tick().since(Tick(SETTLE_TICKS));
        // Each swap has a whole second to come, so that the last hand-over is seen to its end.
        if case.swaps && age.is_multiple_of(SWAP_EVERY_TICKS) && universe.tick() + SWAP_EVERY_TICKS <= last {
            stood.swaps += u64::from(swap(&mut universe, &cubes));
        }
        universe.advance_watching(&mut |node| drift = drift.max(look(node, &cubes, &settled, &mut stood)));
        stood.drift_m = stood.drift_m.max(drift);
        if (age + 1).is_multiple_of(PLOT_TICKS) {
            stood.drifts.push([(age + 1) as f64 * tick_s, drift * 1e3]);
            drift = 0.0;
        }
        for nid in &cubes {
            let owners = universe.nodes().iter().filter(|node| node.motion(*nid).is_some()).count();
            let under_way = || universe.nodes().iter().any(|node| node.in_flight().any(|(other, _)| other == *nid));
            stood.lost += u64::from(owners == 0 && !under_way());
            stood.doubled += u64::from(owners > 1);
        }
    }
    stood.hand_overs = universe.outcome().hand_overs - before;
    stood.catch_up_ticks = universe.nodes().iter().map(|node| node.counters().catch_up_ticks).sum();
    stood.breaches = universe.outcome().breaches.len();
    Ok(stood)
}

/// A jittered stack across the boundary of two regions.
fn stack(height: u32, may_sleep: bool) -> World {
    let mut world = World::new("authority swap");
    world.layout = Layout::columns(2, 100.0);
    world.add_ground(100.0, 100.0);
    let desc = Arc::new(BodyDesc { can_sleep: may_sleep, ..BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5)) });
    let mut rng = Rng::new(u64::from(height));
    for i in 0..height {
        let mut askew = |most: f32| rng.between(-most, most);
        let place = Vec3::new(BESIDE_M + askew(ASKEW_M), 0.5 + i as f32, askew(ASKEW_M));
        let pose = Pose::at(place).turned(Quat::from_rotation_y(askew(TURNED)));
        world.add_shared(&desc, pose, Velocity::ZERO);
    }
    world
}

fn config(world: &World, case: Case) -> UniverseConfig {
    // The number of ticks only decides when a universe that runs by itself ends.
    let mut config = UniverseConfig::new("authority swap", 2, SEED, 1 << 32);
    config.clients = 0;
    config.checked = false;
    config.link = Some(LinkModel::default());
    if case.at_tolerance {
        let nanos = |ms: f32| (f64::from(ms) * 1e6).round() as u64;
        config.frame_ns = Some(nanos(world.tolerances.frame_ms));
        config.link = Some(LinkModel { latency_ns: nanos(world.tolerances.latency_ms), ..LinkModel::default() });
    }
    config
}

/// Orders the owner of the stack to give it to the other server. False when nobody has it.
fn swap(universe: &mut Universe, cubes: &[Nid]) -> bool {
    let owner = universe.nodes_mut().iter_mut().find(|node| cubes.iter().any(|nid| node.motion(*nid).is_some()));
    let Some(owner) = owner else { return false };
    let other = RegionId(1 - owner.region().0);
    owner.force(cubes, other);
    true
}

/// Looks at the cubes that a server owns, and returns how far the worst is from its place.
fn look(node: &Node, cubes: &[Nid], settled: &[Vec3], stood: &mut Stood) -> f64 {
    let (mut drift, mut below) = (0.0_f64, f32::NEG_INFINITY);
    for (nid, settled) in cubes.iter().zip(settled) {
        let Some(motion) = node.motion(*nid) else { continue };
        let place = motion.pose.position;
        drift = drift.max(f64::from((place - *settled).length()));
        stood.speed = stood.speed.max(f64::from(motion.velocity.linear.length()));
        stood.order_kept &= place.y > below;
        below = place.y;
    }
    drift
}

fn failed(error: impl std::fmt::Display) -> LabError {
    LabError::Failed(error.to_string())
}

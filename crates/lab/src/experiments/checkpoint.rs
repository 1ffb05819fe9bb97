//! A cluster writes down its whole world while it runs, and goes on from that on other numbers of servers.

use nimbus_model::{Aabb, BodyDesc, Pose, Shape, Tick, Vec3, Velocity, World};
use serde::Deserialize;

use crate::cluster_run::{ClusterPlan, ClusterRun, is_possible, unix_us};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "checkpoint",
    about: "A running cluster is written down at one tick and goes on from there on 2, 4 and 8 servers: cost, and ids kept.",
    run,
};

/// Most that a checkpoint may add to a tick, milliseconds.
const ADDED_MAX_MS: f64 = 2.0;
const NODES: usize = 4;
/// The most that a world file allows, metres; further than anything falls while this runs.
const ENDLESS_M: f32 = 4_000.0;
/// After so many seconds all bodies are there.
const FALL_S: u32 = 20;

/// What is said of a checkpoint.
#[derive(Clone, Debug, Deserialize)]
struct Made {
    name: String,
    tick: Tick,
    bodies: usize,
    parts: Vec<PartMade>,
}

#[derive(Clone, Debug, Deserialize)]
struct PartMade {
    bytes: usize,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    if !is_possible() {
        return Err(LabError::Failed("this experiment needs /proc to find processes".to_owned()));
    }
    let (bodies, times) = if options.quick { (1_000, 2) } else { (10_000, 5) };
    let place = std::env::temp_dir().join(format!("nimbus-checkpoints-{}-{}", std::process::id(), unix_us()));
    let more = format!("checkpoints = {:?}", place.display().to_string());
    let plan = ClusterPlan { scene: "shower", scale: 1.0, regions: NODES as u16, nodes: NODES, more };
    let outcome = measure(&plan, bodies, times, progress);
    // What is left of it is of no use.
    _ = std::fs::remove_dir_all(&place);
    outcome
}

/// The same shower, with so many bodies after a while. They are more than fit between its walls, so there is a floor around
/// it as well, and the end of the world is far away: nothing may leave it, because nobody could tell that from a loss. The crowd is so
/// dense that now and then one is shot out of it.
fn crowd(mut world: World, bodies: usize) -> World {
    world.kill_box = Aabb::around(Vec3::ZERO, Vec3::splat(ENDLESS_M));
    let floor = BodyDesc::fixed(Shape::cuboid(300.0, 0.5, 300.0));
    world.add(floor, Pose::at(Vec3::new(0.0, -2.0, 0.0)), Velocity::ZERO);
    // The first half of its injections fill it, the others go on for ever, slowly.
    let first = world.injections.len() / 2;
    for injection in &mut world.injections[..first] {
        injection.count = (bodies.div_ceil(first)) as u32;
        injection.per_second = injection.count as f32 / FALL_S as f32;
    }
    world
}

fn measure(plan: &ClusterPlan, bodies: usize, times: usize, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let world = crowd(plan.world()?, bodies);
    let cluster = ClusterRun::start_nodes(world, NODES, &plan.more)?;
    cluster.until_protected(NODES)?;
    loop {
        let count = cluster.until_counted()?;
        progress(0.4 * (count.present.len() as f32 / bodies as f32).min(1.0));
        if count.present.len() >= bodies {
            break;
        }
    }
    let (mut rows, mut added) = (Vec::new(), Vec::new());
    let mut last: Option<Made> = None;
    for i in 0..times {
        let began_us = unix_us();
        let manifest: Made = cluster.order("coordinator-0", "/api/checkpoint")?;
        let taken_s = unix_us().saturating_sub(began_us) as f64 / 1e6;
        let born = cluster.born(manifest.tick).len();
        let look_ms = cluster.regions().iter().map(|region| region.look_us).max().unwrap_or(0) as f64 / 1e3;
        added.push(look_ms);
        let wall_ms = cluster.longest_tick_above_median(manifest.tick);
        rows.push(
            Row::new()
                .with("what", format!("checkpoint {}", i + 1))
                .with("servers", NODES)
                .with("bodies", manifest.bodies)
                .with("missing", born.saturating_sub(manifest.bodies))
                .with("bytes", manifest.parts.iter().map(|part| part.bytes).sum::<usize>())
                .with("seconds", taken_s)
                .with("added_cpu_ms", look_ms)
                .with("tick_above_median_ms", wall_ms),
        );
        last = Some(manifest);
        progress(0.4 + 0.2 * (i + 1) as f32 / times as f32);
    }
    let world = cluster.world.clone();
    drop(cluster);
    let manifest = last.ok_or_else(|| LabError::Failed("no checkpoint was made".to_owned()))?;
    let mut kept = true;
    for (i, servers) in [2u16, 4, 8].into_iter().enumerate() {
        let plan = ClusterPlan { regions: servers, nodes: usize::from(servers), ..plan.clone() };
        let cluster = ClusterRun::start_restored(&plan, world.clone(), &manifest.name)?;
        let count = cluster.until_counted()?;
        // Nothing dies in this world, so everybody who was ever born must be there, and nobody else.
        let born = cluster.born(count.tick);
        let lost = born.difference(&count.present).count();
        let strange = count.present.difference(&born).count();
        kept &= lost == 0 && strange == 0 && count.doubled.is_empty() && count.tick > manifest.tick;
        rows.push(
            Row::new()
                .with("what", "restored")
                .with("servers", servers)
                .with("bodies", count.present.len())
                .with("missing", lost)
                .with("doubled", count.doubled.len())
                .with("never_born", strange),
        );
        progress(0.6 + 0.4 * (i + 1) as f32 / 3.0);
    }
    let most = added.iter().copied().fold(0.0, f64::max);
    let whole = rows.iter().all(|row| row.get("missing").and_then(serde_json::Value::as_u64) == Some(0));
    let points = added.iter().enumerate().map(|(i, ms)| [(i + 1) as f64, *ms]).collect();
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("nodes", NODES).with("bodies", bodies).with("added_max_ms", ADDED_MAX_MS),
        rows,
        plots: vec![
            Plot::lines("added", "What a checkpoint adds to the tick of the slowest server", "checkpoint", "ms")
                .with(Series::new("added", points))
                .with_level("at most", ADDED_MAX_MS),
        ],
        summary: Summary {
            passed: most <= ADDED_MAX_MS && kept && whole,
            sentence: format!(
                "{times} checkpoints of {} bodies while they moved: {most:.2} ms of a server's own time at most (bar \
                 {ADDED_MAX_MS} ms), every body in them once. On 2, 4 and 8 servers {}.",
                manifest.bodies,
                if kept { "every id was there again" } else { "IDS WERE MISSING OR DOUBLED" },
            ),
        },
    })
}

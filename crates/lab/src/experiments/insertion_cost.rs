//! What bodies that come and go add to a tick.

use cpu_time::ThreadTime;
use nimbus_model::{BodyDesc, Group, Member, Motion, Nid, Origin, Pose, Rng, Shape, Vec3, Velocity, World};
use nimbus_physics::PhysicsWorld;
use std::sync::Arc;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "insertion-cost",
    about: "CPU that 50 bodies in and 50 out add to every tick, at 4,000 bodies, against no change.",
    run,
};

/// Greatest CPU that the change may add to a tick, milliseconds.
const BAR_MS: f64 = 2.5;
const BODIES: u64 = 4_000;
const IN_AND_OUT: u64 = 50;
/// Ticks before anything is measured: bodies land and pile up.
const SETTLE_TICKS: u32 = 90;

/// How the bodies lie.
struct Setting {
    name: &'static str,
    /// Half the width of the square they fall on, metres.
    half_m: f32,
    /// Greatest height they fall from, metres.
    height_m: f32,
}

const SETTINGS: [Setting; 2] = [
    Setting { name: "spread over the ground", half_m: 40.0, height_m: 3.0 },
    Setting { name: "piled up, some falling", half_m: 12.0, height_m: 30.0 },
];

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let ticks = if options.quick { 60 } else { 400 };
    let mut rows = Vec::new();
    let mut worst = 0.0_f64;
    for (i, setting) in SETTINGS.iter().enumerate() {
        let row = measure(setting, ticks, &mut |done| progress((i as f32 + done) / SETTINGS.len() as f32))?;
        worst = worst.max(row.added_ms);
        rows.push(
            Row::new()
                .with("setting", setting.name)
                .with("bodies", BODIES)
                .with("in_and_out", IN_AND_OUT)
                .with("step_ms", row.quiet_ms)
                .with("added_ms", row.added_ms)
                .with("of_that_remove_ms", row.remove_ms)
                .with("of_that_insert_ms", row.insert_ms)
                .with("ratio", (row.quiet_ms + row.added_ms) / row.quiet_ms),
        );
    }
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("ticks", ticks).with("bar_ms", BAR_MS).not_judging("added time", options.quick),
        rows,
        plots: Vec::new(),
        summary: Summary {
            // A bar in milliseconds needs more ticks than a quick run has.
            passed: options.quick || worst <= BAR_MS,
            sentence: format!(
                "50 bodies in and 50 out add {worst:.2} ms to a tick at most (bar {BAR_MS} ms).{}",
                if options.quick { " Too short to judge." } else { "" }
            ),
        },
    })
}

struct Measured {
    quiet_ms: f64,
    added_ms: f64,
    remove_ms: f64,
    insert_ms: f64,
}

/// The same world twice, in turns: one is left alone, in the other bodies leave and return within the tick, which
/// costs the engine what a departure and an arrival do and leaves the bodies where they are.
fn measure(setting: &Setting, ticks: u64, progress: &mut Progress<'_>) -> Result<Measured, LabError> {
    let failed = |error: &dyn std::fmt::Display| LabError::Failed(error.to_string());
    let mut start = populated(setting).map_err(|error| failed(&error))?;
    for tick in 0..SETTLE_TICKS {
        start.step();
        progress(0.3 * tick as f32 / SETTLE_TICKS as f32);
    }
    let saved = start.snapshot();
    let mut quiet = PhysicsWorld::restore(&saved).map_err(|error| failed(&error))?;
    let mut busy = PhysicsWorld::restore(&saved).map_err(|error| failed(&error))?;
    let (mut alone, mut added, mut removing, mut inserting) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for tick in 0..ticks {
        let mut step_quiet = || {
            let start = ThreadTime::now();
            quiet.step();
            start.elapsed().as_secs_f64() * 1e3
        };
        let first = tick.is_multiple_of(2).then(&mut step_quiet);
        let nids: Vec<Nid> = busy.nids().collect();
        let count = nids.len() as u64;
        let leaving: Vec<Nid> =
            (0..IN_AND_OUT).map(|i| nids[((tick * IN_AND_OUT + i) * 37 % count) as usize]).collect();
        let start = ThreadTime::now();
        let group = busy.remove(&leaving);
        let removed_ms = start.elapsed().as_secs_f64() * 1e3;
        // They return as if they came from somewhere else: nothing is kept of the pairs they were in.
        let start = ThreadTime::now();
        busy.insert(group).map_err(|error| failed(&error))?;
        let inserted_ms = start.elapsed().as_secs_f64() * 1e3;
        let start = ThreadTime::now();
        busy.step();
        let stepped_ms = start.elapsed().as_secs_f64() * 1e3;
        let quiet_ms = first.unwrap_or_else(step_quiet);
        alone.push(quiet_ms);
        removing.push(removed_ms);
        inserting.push(inserted_ms);
        added.push(removed_ms + inserted_ms + stepped_ms - quiet_ms);
        progress(0.3 + 0.7 * tick as f32 / ticks as f32);
    }
    Ok(Measured {
        quiet_ms: median(alone),
        added_ms: median(added),
        remove_ms: median(removing),
        insert_ms: median(inserting),
    })
}

/// Mixed bodies that never sleep above flat ground.
fn populated(setting: &Setting) -> Result<PhysicsWorld, nimbus_physics::InsertError> {
    let mut model = World::new("insertion");
    model.add_ground(200.0, 200.0);
    let mut rng = Rng::new(1);
    let shapes = [Shape::cuboid(0.3, 0.3, 0.5), Shape::ball(0.3), Shape::Capsule { half_height: 0.4, radius: 0.3 }];
    let descs = shapes.map(|shape| Arc::new(BodyDesc { can_sleep: false, ..BodyDesc::dynamic(shape) }));
    let members = (0..BODIES).map(|serial| {
        let half = setting.half_m;
        let place = rng.point(Vec3::new(-half, 0.5, -half), Vec3::new(half, setting.height_m, half));
        let motion = Motion::new(Pose::at(place), Velocity::ZERO);
        Member { nid: Nid::new(Origin(1), serial), desc: descs[serial as usize % descs.len()].clone(), motion }
    });
    let group = Group::of(members.collect());
    let mut world = PhysicsWorld::new(&model, 0);
    world.insert(group)?;
    Ok(world)
}

/// The middle of many measurements: a thread that is interrupted now and then does not move it.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

//! What a body feels when it changes worlds.

use nimbus_model::{BodyDesc, Group, Layout, Link, Member, Motion, Nid, Pose, Quat, Rng, Shape, Vec3, Velocity, World};
use nimbus_physics::PhysicsWorld;
use nimbus_scenes::SceneParams;
use nimbus_universe::{LinkModel, Universe, UniverseConfig};
use nimbus_wire::{decode_group, encode_group};
use std::sync::Arc;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "transplant",
    about: "A stack, ragdolls and cars are moved from one world to another and must not notice.",
    run,
};

/// Greatest speed in a moved stack after its first step, m/s.
const SPEED_BAR: f64 = 0.01;
/// Greatest distance of a moved box from its unmoved twin within two seconds, metres.
const DEVIATION_BAR_M: f64 = 0.005;
/// How much worse a moved joint may hold than one that stayed.
const JOINT_BAR: f64 = 2.0;
/// Joint errors below this are taken for this, metres: a tenth of a millimetre matters to nobody.
const JOINT_FLOOR_M: f64 = 1e-4;
const WATCH_TICKS: u32 = 120;
/// How long scenes run that cross a real boundary.
const DRIVE_TICKS: u64 = 900;

/// A stack to move.
struct Stack {
    name: &'static str,
    /// How far its boxes lie askew at most, metres.
    askew_m: f32,
    /// How far they are turned at most, radians.
    turned: f32,
    /// Whether the impulses travel. The bar is for those that do.
    warm: bool,
}

/// The engine goes on with the lever arms of a touch while it moves by less than its recycling distance and takes new ones
/// when the stack arrives. Askew stacks show it: with the engine's own 50 mm they sway by a centimetre, with ours they
/// hardly do.
const STACKS: [Stack; 4] = [
    Stack { name: "slightly askew, impulses travel", askew_m: 0.005, turned: 0.01, warm: true },
    Stack { name: "slightly askew, without impulses", askew_m: 0.005, turned: 0.01, warm: false },
    Stack { name: "far askew, impulses travel", askew_m: 0.02, turned: 0.05, warm: true },
    Stack { name: "far askew, without impulses", askew_m: 0.02, turned: 0.05, warm: false },
];

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let seeds: u64 = if options.quick { 4 } else { 20 };
    let mut rows = Vec::new();
    let mut passed = true;
    let (mut speed_worst, mut deviation_worst, mut joint_worst) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (i, stack) in STACKS.iter().enumerate() {
        let (mut speed, mut deviation) = (0.0_f64, 0.0_f64);
        for seed in 0..seeds {
            let (s, d) = move_stack(seed, stack)?;
            (speed, deviation) = (speed.max(s), deviation.max(d));
        }
        if stack.warm {
            (speed_worst, deviation_worst) = (speed_worst.max(speed), deviation_worst.max(deviation));
        }
        rows.push(row("stack of 10 boxes", stack.name, seeds, Some((speed, deviation)), None));
        progress(0.5 * (i + 1) as f32 / STACKS.len() as f32);
    }
    passed &= speed_worst <= SPEED_BAR && deviation_worst <= DEVIATION_BAR_M;
    for (i, scene) in ["ragdolls", "vehicles"].into_iter().enumerate() {
        let (mut stayed, mut moved) = (JointErrors::default(), JointErrors::default());
        let runs = seeds.min(6);
        for seed in 0..runs {
            move_jointed(scene, seed + 1, &mut stayed, &mut moved)?;
            progress(0.5 + 0.1 * (i as f32 + seed as f32 / runs as f32));
        }
        let (stayed, moved) = (stayed.finish(), moved.finish());
        let ratios = [ratio(moved[0], stayed[0]), ratio(moved[1], stayed[1])];
        joint_worst = joint_worst.max(ratios[0]).max(ratios[1]);
        rows.push(row(scene, "moved while moving", runs, None, Some((stayed, moved, ratios))));
    }
    let mut across_worst = 0.0_f64;
    for (i, scene) in ["ragdolls", "vehicles"].into_iter().enumerate() {
        let runs = seeds.min(6);
        let (mut stayed, mut crossed, mut hand_overs) = (JointErrors::default(), JointErrors::default(), 0);
        for seed in 0..runs {
            drive(scene, seed + 1, 1, &mut stayed)?;
            hand_overs += drive(scene, seed + 1, 2, &mut crossed)?;
            progress(0.7 + 0.15 * (i as f32 + seed as f32 / runs as f32));
        }
        if hand_overs == 0 {
            return Err(LabError::Failed(format!("none of the {scene} crossed the boundary")));
        }
        let (stayed, crossed) = (stayed.finish(), crossed.finish());
        let ratios = [ratio(crossed[0], stayed[0]), ratio(crossed[1], stayed[1])];
        // Landing one tick later tears a joint more or less, so the worst of all is only reported.
        across_worst = across_worst.max(ratios[0]);
        rows.push(row(scene, "across a boundary of two servers", runs, None, Some((stayed, crossed, ratios))));
    }
    passed &= joint_worst <= JOINT_BAR && across_worst <= JOINT_BAR;
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("speed_bar_m_s", SPEED_BAR)
            .with("deviation_bar_m", DEVIATION_BAR_M)
            .with("joint_bar_ratio", JOINT_BAR),
        rows,
        plots: Vec::new(),
        summary: Summary {
            passed,
            sentence: format!(
                "A moved stack starts with {speed_worst:.4} m/s and stays within {:.1} mm of its twin; moved joints \
                 hold within {joint_worst:.2} times the error of those that stayed, and within {across_worst:.2} times \
                 across a real boundary.",
                deviation_worst * 1e3
            ),
        },
    })
}

fn ratio(moved: f64, stayed: f64) -> f64 {
    moved.max(JOINT_FLOOR_M) / stayed.max(JOINT_FLOOR_M)
}

fn row(
    what: &'static str,
    how: &'static str,
    runs: u64,
    stack: Option<(f64, f64)>,
    joints: Option<([f64; 2], [f64; 2], [f64; 2])>,
) -> Row {
    Row::new()
        .with("what", what)
        .with("how", how)
        .with("runs", runs)
        .with("first_step_speed_m_s", stack.map(|s| s.0))
        .with("deviation_m", stack.map(|s| s.1))
        .with("joint_error_p99_stayed_m", joints.map(|j| j.0[0]))
        .with("joint_error_p99_moved_m", joints.map(|j| j.1[0]))
        .with("ratio_p99", joints.map(|j| j.2[0]))
        .with("joint_error_max_stayed_m", joints.map(|j| j.0[1]))
        .with("joint_error_max_moved_m", joints.map(|j| j.1[1]))
        .with("ratio_max", joints.map(|j| j.2[1]))
}

fn failed(error: impl std::fmt::Display) -> LabError {
    LabError::Failed(error.to_string())
}

/// Takes everybody out of a world, sends them as bytes, and puts them into another.
fn transplant(from: &mut PhysicsWorld, to: &mut PhysicsWorld, warm: bool) -> Result<(), LabError> {
    let all: Vec<Nid> = from.nids().collect();
    let mut group = decode_group(&encode_group(&from.remove(&all))).map_err(failed)?;
    if !warm {
        group.contacts.clear();
        group.links.iter_mut().for_each(|link| link.impulses = [0.0; 6]);
    }
    to.insert(group).map_err(failed)
}

/// The greatest speed after the first step, and the greatest distance from the stack that stayed.
fn move_stack(seed: u64, stack: &Stack) -> Result<(f64, f64), LabError> {
    let mut model = World::new("stack");
    model.add_ground(50.0, 50.0);
    // Boxes that may not sleep: asleep, nothing moves anyway.
    let desc = Arc::new(BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5)) });
    let mut rng = Rng::new(seed);
    let mut group = Group::default();
    for i in 0..10_u32 {
        let mut askew = |most: f32| rng.between(-most, most);
        let place = Vec3::new(askew(stack.askew_m), 0.5 + i as f32, askew(stack.askew_m));
        let pose = Pose::at(place).turned(Quat::from_rotation_y(askew(stack.turned)));
        let motion = Motion::new(pose, Velocity::ZERO);
        group.members.push(Member { nid: Nid::of_world(0, i + 1), desc: desc.clone(), motion });
    }
    let mut stays = PhysicsWorld::new(&model, 0);
    stays.insert(group).map_err(failed)?;
    for _ in 0..600 {
        stays.step();
    }
    let mut leaves = PhysicsWorld::restore(&stays.snapshot()).map_err(failed)?;
    let mut arrives = PhysicsWorld::new(&model, 0);
    transplant(&mut leaves, &mut arrives, stack.warm)?;
    let (mut speed, mut deviation) = (0.0_f64, 0.0_f64);
    for tick in 0..WATCH_TICKS {
        stays.step();
        arrives.step();
        if tick == 0 {
            arrives.for_each(|body| speed = speed.max(f64::from(body.velocity.linear.length())));
        }
        arrives.for_each(|body| {
            let twin = stays.view(body.nid).map_or(Vec3::INFINITY, |twin| twin.pose.position);
            deviation = deviation.max(f64::from((body.pose.position - twin).length()));
        });
    }
    Ok((speed, deviation))
}

/// Joint errors of many joints at many ticks, metres.
#[derive(Default)]
struct JointErrors(Vec<f32>);

impl JointErrors {
    /// The error that one in a hundred exceeds, and the greatest: a figure that lands badly tears its joints whether
    /// it was moved or not, and would hide all others.
    fn finish(mut self) -> [f64; 2] {
        self.0.sort_unstable_by(f32::total_cmp);
        let at = |i: usize| self.0.get(i).copied().map_or(0.0, f64::from);
        [at(self.0.len() * 99 / 100), at(self.0.len().saturating_sub(1))]
    }
}

/// Adds the joint errors over two seconds of those that stayed and of those that were moved.
fn move_jointed(scene: &str, seed: u64, stayed: &mut JointErrors, moved: &mut JointErrors) -> Result<(), LabError> {
    let model = nimbus_scenes::build(scene, &SceneParams { servers: 2, seed, scale: 0.3 }).map_err(failed)?;
    let mut group = Group::default();
    group.members.extend(model.owned_bodies().map(|(i, spawn)| Member {
        nid: World::nid(0, i),
        desc: spawn.desc.clone(),
        motion: Motion::new(spawn.pose, spawn.velocity),
    }));
    group.links.extend(
        model
            .joints
            .iter()
            .map(|joint| Link::new(World::nid(0, joint.a), World::nid(0, joint.b), 0, joint.desc.clone())),
    );
    let mut stays = PhysicsWorld::new(&model, 0);
    stays.insert(group).map_err(failed)?;
    // Several moves on the way, because some happen in mid-air and some on impact.
    for _ in 0..4 {
        for _ in 0..30 {
            stays.step();
        }
        let mut leaves = PhysicsWorld::restore(&stays.snapshot()).map_err(failed)?;
        let mut arrives = PhysicsWorld::new(&model, 0);
        transplant(&mut leaves, &mut arrives, true)?;
        let mut twin = PhysicsWorld::restore(&stays.snapshot()).map_err(failed)?;
        for _ in 0..WATCH_TICKS {
            twin.step();
            arrives.step();
            add_joint_errors(&twin, stayed);
            add_joint_errors(&arrives, moved);
        }
    }
    Ok(())
}

/// Lets a scene run on some servers under the aura policy and adds the errors of all its joints at every tick. Returns how
/// many bodies changed server.
fn drive(scene: &str, seed: u64, servers: u16, errors: &mut JointErrors) -> Result<u64, LabError> {
    let mut world = nimbus_scenes::build(scene, &SceneParams { servers: 2, seed, scale: 0.3 }).map_err(failed)?;
    if servers == 1 {
        world.layout = Layout::columns(1, 1_000.0);
    }
    let mut config = UniverseConfig::new(scene, servers, seed, DRIVE_TICKS);
    config.link = Some(LinkModel { latency_ns: 2_000_000, ..LinkModel::default() });
    config.clients = 0;
    config.checked = false;
    let mut universe = Universe::of_world(config, world).map_err(failed)?;
    for _ in 0..DRIVE_TICKS {
        universe.advance();
        universe.nodes().iter().for_each(|node| add_joint_errors(node.physics(), errors));
    }
    Ok(universe.outcome().hand_overs)
}

/// Adds the distance between the two anchors of every joint.
fn add_joint_errors(world: &PhysicsWorld, errors: &mut JointErrors) {
    let links = world.link_keys().filter_map(|key| world.link(key));
    errors.0.extend(links.filter_map(|link| {
        let (a, b) = (world.view(link.a)?.pose, world.view(link.b)?.pose);
        Some((a.transform(link.desc.anchor_a.position) - b.transform(link.desc.anchor_b.position)).length())
    }));
}

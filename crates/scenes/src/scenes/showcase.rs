//! What people see first: a hill of pegs whose top is the corner where four servers meet.
//!
//! Bodies rain on every side of it, slide between the pegs and fall off the low edges into the kill box, so the world
//! keeps moving for days while its population stays bounded. Jets beside the seams throw more across them.

use std::sync::Arc;

use nimbus_model::{
    Aabb, BodyDesc, Choice, Injection, JointDesc, JointKind, Motor, Pose, Quat, Rng, Shape, Tick, Vec3, Velocity, World,
};

use crate::figure::add_figure;
use crate::jointing::join_at;
use crate::masonry::{Wall, plank_tower};
use crate::regions::Regions;
use crate::scenes::pendulums::add_beam;
use crate::{Scene, SceneParams};

/// The scene of the demonstration.
pub(crate) const SCENE: Scene = Scene {
    name: "showcase",
    about: "Mixed bodies rain on a hill of pegs, are thrown across every seam and fall off, among towers and ragdolls.",
    build,
};

/// Half the edge of the hill where few servers share it, metres.
const HILL_HALF: f32 = 30.0;
/// How thick its sides are, metres.
const THICKNESS: f32 = 2.0;
/// How much it falls for every metre along x, and along z.
const SLOPE: f32 = 0.2;

fn build(params: &SceneParams) -> World {
    let regions = Regions::corners(params.servers, if params.servers <= 4 { HILL_HALF } else { 20.0 });
    let mut world = World::new(SCENE.name);
    world.radius_max = 2.8;
    let hill = Hill { half_x: regions.half.x.max(HILL_HALF), half_z: regions.half.z.max(HILL_HALF) };
    let reach = Vec3::new(hill.half_x + 40.0, 0.0, hill.half_z + 40.0);
    let low = height(hill.half_x, hill.half_z);
    world.kill_box = Aabb::new(-reach + Vec3::Y * (low - 15.0), reach + Vec3::Y * 60.0);
    world.layout = regions.layout;

    hill.add(&mut world);
    hill.add_pegs(&mut world);
    add_sweeper(&mut world);
    add_furniture(&mut world, params);
    for (x, z) in [(0.0, 13.0), (0.0, -13.0), (13.0, 0.0), (-13.0, 0.0)] {
        add_puppet(&mut world, x, z);
    }
    add_prefill(&mut world, params);
    add_rain(&mut world, params);
    world
}

/// Height of the ground above a point of the ground plan.
fn height(x: f32, z: f32) -> f32 {
    -SLOPE * (x.abs() + z.abs())
}

fn ground(x: f32, z: f32) -> Vec3 {
    Vec3::new(x, height(x, z), z)
}

/// Four level sides that fall away from the origin, one for every quarter of the ground plan.
struct Hill {
    half_x: f32,
    half_z: f32,
}

impl Hill {
    fn add(&self, world: &mut World) {
        for (x, z) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
            let (far_x, far_z) = (x * self.half_x, z * self.half_z);
            let top = [(0.0, 0.0), (far_x, 0.0), (0.0, far_z), (far_x, far_z)].map(|(x, z)| ground(x, z));
            let tilt = Quat::from_rotation_arc(Vec3::Y, Vec3::new(x * SLOPE, 1.0, z * SLOPE).normalize());
            let points = top.iter().copied().chain(top.map(|point| point - Vec3::Y * THICKNESS));
            let points = points.map(|point| tilt.inverse() * point).collect();
            let side = BodyDesc { friction: 0.05, ..BodyDesc::fixed(Shape::ConvexHull { points }) };
            world.add(side, Pose::IDENTITY.turned(tilt), Velocity::ZERO);
        }
    }

    /// Pegs in offset rows, with room for the sweeper and for what hangs over the seams.
    fn add_pegs(&self, world: &mut World) {
        let peg = Shape::Cylinder { half_height: 1.2, radius: 0.4 };
        let peg = Arc::new(BodyDesc { friction: 0.05, restitution: 0.6, ..BodyDesc::fixed(peg) });
        let pitch = 5.0;
        let rows = (self.half_z / pitch) as i32;
        let columns = (self.half_x / pitch) as i32;
        for row in -rows + 1..rows {
            for column in -columns + 1..columns {
                let shift = if row % 2 == 0 { 0.25 } else { -0.25 };
                let (x, z) = ((column as f32 + shift) * pitch, row as f32 * pitch);
                if Vec3::new(x, 0.0, z).length() > 5.0 && x.abs().min(z.abs()) > 2.0 {
                    world.add_shared(&peg, Pose::at(ground(x, z) + Vec3::Y * 0.4), Velocity::ZERO);
                }
            }
        }
    }
}

/// A cross of two beams that turns for ever above the corner where the regions meet.
fn add_sweeper(world: &mut World) {
    let middle = Vec3::Y * 1.1;
    let post = BodyDesc::fixed(Shape::Cylinder { half_height: 1.2, radius: 0.25 });
    let post = world.add(post, Pose::at(middle), Velocity::ZERO);
    let beam = |x: f32, z: f32| (Pose::IDENTITY, Shape::cuboid(x, 0.3, z));
    let cross = Shape::Compound { parts: vec![beam(2.5, 0.15), beam(0.15, 2.5)] };
    let cross = BodyDesc { density: 400.0, friction: 0.1, can_sleep: false, ..BodyDesc::dynamic(cross) };
    let cross = world.add(cross, Pose::at(middle), Velocity::ZERO);
    let motor = Motor { speed: 1.6, factor: 1_000.0, limit: 4_000.0 };
    let kind = JointKind::Revolute { axis: Vec3::Y, limits: None, motor: Some(motor) };
    join_at(world, post, cross, middle, kind);
}

/// Towers on two corners, and walls on two edges, each across a seam.
fn add_furniture(world: &mut World, params: &SceneParams) {
    let courses = params.count(12, 4).min(12);
    for (x, z) in [(24.0, -24.0), (-24.0, 24.0)] {
        let top = add_plinth(world, x, z, Vec3::new(2.5, 4.0, 2.5));
        plank_tower(world, top, courses);
    }
    for (x, z, along_z) in [(0.0, -25.0, false), (-25.0, 0.0, true)] {
        let half = if along_z { Vec3::new(1.5, 4.0, 4.0) } else { Vec3::new(4.0, 4.0, 1.5) };
        let foot = add_plinth(world, x, z, half);
        Wall { foot, along_z, bricks: 6, courses: 6, brick: Vec3::new(1.1, 0.5, 0.6) }.build(world);
    }
}

/// A block with a level top, three metres above the ground; returns the middle of the top.
fn add_plinth(world: &mut World, x: f32, z: f32, half: Vec3) -> Vec3 {
    let top = ground(x, z) + Vec3::Y * 3.0;
    let block = BodyDesc { friction: 0.8, ..BodyDesc::fixed(Shape::cuboid(half.x, half.y, half.z)) };
    world.add(block, Pose::at(top - Vec3::Y * half.y), Velocity::ZERO);
    top
}

/// A ragdoll on a rope and, beside it, a weight on another: they hang over a seam and are knocked about by what passes.
fn add_puppet(world: &mut World, x: f32, z: f32) {
    const ROPE: f32 = 3.0;
    let beam_at = ground(x, z) + Vec3::Y * 7.0;
    let beam = add_beam(world, beam_at, 2.0);
    let head_top = beam_at + Vec3::new(-1.2, -ROPE, 0.0);
    let head = add_figure(world, head_top - Vec3::Y * 0.86, Vec3::ZERO);
    let rope = JointKind::Rope { length: ROPE };
    world.join(beam, head, JointDesc::new(rope, Vec3::X * -1.2, Vec3::Y * 0.13));

    let hook = Vec3::X * 1.2;
    let weight = BodyDesc { density: 300.0, restitution: 0.7, ..BodyDesc::dynamic(Shape::ball(0.7)) };
    let length = 5.6;
    let swung = Quat::from_rotation_x(0.8) * Vec3::NEG_Y * length;
    let weight = world.add(weight, Pose::at(beam_at + hook + swung), Velocity::ZERO);
    world.join(beam, weight, JointDesc::new(JointKind::Rope { length }, hook, Vec3::ZERO));
}

/// Bodies in the air above the hill at the start, so that there is something to see at once.
fn add_prefill(world: &mut World, params: &SceneParams) {
    let drops: Vec<Arc<BodyDesc>> = drops().into_iter().map(|choice| Arc::new(choice.body)).collect();
    let mut rng = Rng::stream(params.seed, 0x5000);
    let edge = (params.count(400, 16) as f32).sqrt().floor().min(28.0);
    let pitch = 2.0 * (HILL_HALF - 6.0) / edge;
    for row in 0..edge as u32 {
        for column in 0..edge as u32 {
            let place = |i: u32| (i as f32 + 0.5) * pitch - HILL_HALF + 6.0;
            let above = Vec3::Y * (10.0 + ((row + column) % 3) as f32 * 1.6);
            let shake = rng.point(Vec3::splat(-0.05), Vec3::splat(0.05));
            let position = ground(place(column), place(row)) + above + shake;
            let desc = &drops[rng.below(drops.len() as u64) as usize];
            world.add_shared(desc, Pose::at(position), Velocity::ZERO);
        }
    }
}

/// Rain on every side of the hill, and jets that throw across the seams, each into the next quarter.
fn add_rain(world: &mut World, params: &SceneParams) {
    let mut inject = |volume: Aabb, per_second: f32, velocity_min: Vec3, velocity_max: Vec3| {
        let per_second = per_second * params.scale.min(1.5);
        world.injections.push(Injection {
            volume,
            per_second,
            start: Tick(60),
            count: Injection::ENDLESS,
            velocity_min,
            velocity_max,
            turned: true,
            choices: drops(),
        });
    };
    for (x, z) in [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)] {
        let cloud = ground(x * 15.0, z * 15.0) + Vec3::Y * 9.0;
        let shake = Vec3::new(2.0, 1.0, 2.0);
        let inwards = Vec3::new(-x, 0.0, -z) * 2.0 - Vec3::Y * 2.0;
        inject(Aabb::around(cloud, Vec3::new(7.0, 2.0, 7.0)), 7.0, inwards - shake, inwards + shake);
        // Along z from a quarter where x and z have the same sign, along x from the others.
        let (aside, across) =
            if x * z > 0.0 { (Vec3::X * x * 6.0, Vec3::Z * z) } else { (Vec3::Z * z * 6.0, Vec3::X * x) };
        let jet = ground(aside.x + across.x * 9.0, aside.z + across.z * 9.0) + Vec3::Y * 2.5;
        let throw = -across * 7.0 + Vec3::Y * 8.0;
        let shake = Vec3::new(0.8, 0.8, 0.8);
        inject(Aabb::around(jet, Vec3::splat(0.5)), 2.0, throw - shake, throw + shake);
    }
}

fn drops() -> Vec<Choice> {
    let drop = |shape| BodyDesc {
        density: 400.0,
        friction: 0.2,
        restitution: 0.3,
        linear_damping: 0.15,
        angular_damping: 0.2,
        ..BodyDesc::dynamic(shape)
    };
    let brick = Pose::at(Vec3::new(0.0, 0.3, 0.0));
    let corner = Shape::Compound {
        parts: vec![(Pose::IDENTITY, Shape::cuboid(0.5, 0.15, 0.15)), (brick, Shape::cuboid(0.15, 0.15, 0.15))],
    };
    let gem = [Vec3::X, Vec3::NEG_X, Vec3::Z, Vec3::NEG_Z, Vec3::Y * 1.4, Vec3::NEG_Y * 1.4].map(|p| p * 0.45);
    [
        (4, Shape::ball(0.4)),
        (4, Shape::cuboid(0.35, 0.35, 0.35)),
        (2, Shape::cuboid(0.2, 0.2, 0.6)),
        (3, Shape::Capsule { half_height: 0.35, radius: 0.25 }),
        (2, Shape::Cylinder { half_height: 0.25, radius: 0.45 }),
        (1, Shape::Cone { half_height: 0.45, radius: 0.4 }),
        (2, Shape::ConvexHull { points: gem.to_vec() }),
        (1, corner),
    ]
    .map(|(weight, shape)| Choice { weight, body: drop(shape) })
    .to_vec()
}

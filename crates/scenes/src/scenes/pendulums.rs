//! Pendulo-verse: pendulums on both sides of seams that strike each other.

use nimbus_model::{Aabb, BodyDesc, JointDesc, JointKind, Pose, Quat, Shape, Vec3, Velocity, World};

use crate::jointing::{hinge, join_at};
use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// Swings whose period and height a seam must not change.
pub(crate) const SCENE: Scene = Scene {
    name: "pendulums",
    about: "Cradles, swinging arms, roped weights and free pendulums hang around every seam and strike each other.",
    build,
};

/// Width of a region, metres.
const WIDTH: f32 = 24.0;
/// Height of the beams, metres.
const BEAM: f32 = 6.0;

fn build(params: &SceneParams) -> World {
    let regions = Regions::columns(params.servers, WIDTH);
    let mut world = World::new(SCENE.name);
    world.radius_max = 2.0;
    world.kill_box = Aabb::new(Vec3::new(-2_000.0, -20.0, -200.0), Vec3::new(2_000.0, 60.0, 200.0));
    world.add_ground(regions.half.x + WIDTH, 40.0);
    world.layout = regions.layout;
    let rows = params.count(2, 1);
    for x in Regions::seams(params.servers, WIDTH) {
        for row in 0..rows {
            let at = |station: f32| Vec3::new(x, BEAM, (station + row as f32 * 5.0) * 3.0 - 12.0);
            cradle(&mut world, at(0.0), 7, 2 + row.min(2));
            arms(&mut world, at(1.0));
            ropes(&mut world, at(2.0));
            double_arms(&mut world, at(3.0));
            free_pendulum(&mut world, at(4.0), (0.9 + 0.3 * row as f32).min(1.4));
        }
    }
    world
}

/// Newton's cradle along x with its middle ball at the seam; the first `raised` balls start lifted.
pub(crate) fn cradle(world: &mut World, middle: Vec3, balls: u32, raised: u32) {
    const RADIUS: f32 = 0.4;
    const LENGTH: f32 = 3.0;
    let beam = add_beam(world, middle, balls as f32 * RADIUS + 0.3);
    for i in 0..balls {
        let offset = (i as f32 - (balls - 1) as f32 / 2.0) * (2.0 * RADIUS + 0.002);
        let turn = if i < raised { Quat::from_rotation_z(-0.7) } else { Quat::IDENTITY };
        let hook = middle + Vec3::X * offset;
        hang(world, beam, elastic(Shape::ball(RADIUS)), hook, LENGTH, turn);
    }
}

/// Two rods whose hinges are on either side of the seam; they swing in and meet at it.
fn arms(world: &mut World, middle: Vec3) {
    let beam = add_beam(world, middle, 1.6);
    for side in [-1.0, 1.0] {
        let turn = Quat::from_rotation_z(side * 0.9);
        hang(
            world,
            beam,
            elastic(Shape::Capsule { half_height: 1.3, radius: 0.15 }),
            middle + Vec3::X * (side * 0.9),
            1.5,
            turn,
        );
    }
}

/// Two weights on taut ropes that swing in from either side.
fn ropes(world: &mut World, middle: Vec3) {
    const LENGTH: f32 = 3.0;
    let beam = add_beam(world, middle, 1.2);
    for side in [-1.0, 1.0] {
        let hook = middle + Vec3::X * (side * 0.5);
        let place = hook + Quat::from_rotation_z(side * 0.8) * Vec3::NEG_Y * LENGTH;
        let weight = world.add(elastic(Shape::ball(0.45)), Pose::at(place), Velocity::ZERO);
        world.join(beam, weight, JointDesc::new(JointKind::Rope { length: LENGTH }, hook - middle, Vec3::ZERO));
    }
}

/// Two double pendulums on ball joints that swing through the seam and into each other.
fn double_arms(world: &mut World, middle: Vec3) {
    let beam = add_beam(world, middle, 1.6);
    for side in [-1.0, 1.0] {
        let hook = middle + Vec3::X * (side * 0.7);
        let down = Vec3::new(side, -1.0, 0.0).normalize();
        let turn = Quat::from_rotation_arc(Vec3::NEG_Y, down);
        let rod = || BodyDesc { angular_damping: 0.02, ..elastic(Shape::Capsule { half_height: 0.5, radius: 0.15 }) };
        let upper = world.add(rod(), Pose::at(hook + down * 0.75).turned(turn), Velocity::ZERO);
        let lower = world.add(rod(), Pose::at(hook + down * 2.25).turned(turn), Velocity::ZERO);
        join_at(world, beam, upper, hook, JointKind::Spherical);
        join_at(world, upper, lower, hook + down * 1.5, JointKind::Spherical);
    }
}

/// One weight that touches nothing and swings from one region into the other and back: its period and height are the
/// measure of what a seam does to it.
pub(crate) fn free_pendulum(world: &mut World, middle: Vec3, angle: f32) {
    let hook = middle - Vec3::X * 0.4;
    let beam = add_beam(world, middle, 1.0);
    hang(world, beam, elastic(Shape::ball(0.4)), hook, 3.5, Quat::from_rotation_z(-angle));
}

/// Hangs a body on a hinge about z, its frame `length` below the hook and turned about it.
fn hang(world: &mut World, beam: u32, desc: BodyDesc, hook: Vec3, length: f32, turn: Quat) -> u32 {
    let pose = Pose::at(hook + turn * Vec3::NEG_Y * length).turned(turn);
    let body = world.add(desc, pose, Velocity::ZERO);
    join_at(world, beam, body, hook, hinge(Vec3::Z));
    body
}

/// A static beam along x that things hang from. Its frame is its middle.
pub(crate) fn add_beam(world: &mut World, middle: Vec3, half_length: f32) -> u32 {
    world.add(BodyDesc::fixed(Shape::cuboid(half_length, 0.08, 0.08)), Pose::at(middle), Velocity::ZERO)
}

/// Gives back what it gets, and does not tire.
fn elastic(shape: Shape) -> BodyDesc {
    BodyDesc { friction: 0.0, restitution: 1.0, can_sleep: false, ..BodyDesc::dynamic(shape) }
}

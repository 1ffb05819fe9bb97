//! Cars that drive through every region over rough ground.

use std::sync::Arc;

use nimbus_model::{Aabb, BodyDesc, JointKind, Motor, Pose, Quat, Rng, Shape, Vec3, Velocity, World};

use crate::jointing::join_at;
use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// Motorised groups that change owner many times.
pub(crate) const SCENE: Scene = Scene {
    name: "vehicles",
    about: "Cars with four motorised wheels drive over bumpy ground through every region, in both directions.",
    build,
};

/// Width of a region, metres.
const WIDTH: f32 = 40.0;
/// Road beyond the outermost region, metres.
const MARGIN: f32 = 30.0;
/// Distance between lanes, metres.
const LANE: f32 = 5.0;
/// Distance between two points of the ground, metres.
const CELL: f32 = 1.0;
/// Height of the highest bump, metres.
const BUMP: f32 = 0.15;
const WHEEL_RADIUS: f32 = 0.5;
/// Speed of a car on flat ground, m/s.
const SPEED: f32 = 9.0;

fn build(params: &SceneParams) -> World {
    let regions = Regions::columns(params.servers, WIDTH);
    let cars = params.count(10, 2);
    let mut world = World::new(SCENE.name);
    world.radius_max = 2.4;
    world.kill_box = Aabb::new(Vec3::new(-2_000.0, -30.0, -300.0), Vec3::new(2_000.0, 60.0, 300.0));
    let half_x = (regions.half.x + MARGIN).ceil();
    let half_z = (cars as f32 * LANE / 2.0 + 10.0).ceil();
    world.layout = regions.layout;
    add_rough_ground(&mut world, half_x, half_z, params.seed);
    for side in [-1.0, 1.0] {
        let wall = BodyDesc { friction: 0.1, ..BodyDesc::fixed(Shape::cuboid(1.0, 3.0, half_z)) };
        world.add(wall, Pose::at(Vec3::new(side * (half_x + 1.0), 1.0, 0.0)), Velocity::ZERO);
        let wall = BodyDesc { friction: 0.1, ..BodyDesc::fixed(Shape::cuboid(half_x, 3.0, 1.0)) };
        world.add(wall, Pose::at(Vec3::new(0.0, 1.0, side * (half_z + 1.0))), Velocity::ZERO);
    }
    add_kerbs(&mut world, half_x, cars);
    let mut rng = Rng::stream(params.seed, 0xca5);
    let parts = CarParts::new();
    for i in 0..cars {
        let forwards = if i % 2 == 0 { 1.0 } else { -1.0 };
        let z = (i as f32 - (cars - 1) as f32 / 2.0) * LANE;
        let x = -forwards * (half_x - 6.0 - rng.between(0.0, 8.0));
        parts.add_car(&mut world, Vec3::new(x, BUMP + 0.05, z), forwards, SPEED * rng.between(0.8, 1.2));
    }
    world
}

/// Slippery kerbs between the lanes: without steering, bumps would turn cars into each other's way.
fn add_kerbs(world: &mut World, half_x: f32, cars: u32) {
    let kerb = BodyDesc { friction: 0.0, ..BodyDesc::fixed(Shape::cuboid(half_x, 0.6, 0.1)) };
    let kerb = Arc::new(kerb);
    for i in 0..=cars {
        let z = (i as f32 - cars as f32 / 2.0) * LANE;
        world.add_shared(&kerb, Pose::at(Vec3::new(0.0, 0.3, z)), Velocity::ZERO);
    }
}

/// Smooth hills of random height, flat towards the edges.
fn add_rough_ground(world: &mut World, half_x: f32, half_z: f32, seed: u64) {
    let columns = (2.0 * half_x / CELL) as u32 + 1;
    let rows = (2.0 * half_z / CELL) as u32 + 1;
    // Bumps have a random height at every fourth point; between them heights follow a smooth curve.
    let coarse = |x: u32, z: u32| Rng::stream(seed, (u64::from(z) << 32) | u64::from(x)).unit();
    let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
    let mut heights = Vec::with_capacity((rows * columns) as usize);
    for row in 0..rows {
        for column in 0..columns {
            let (x, z) = (column / 4, row / 4);
            let (u, v) = (smooth((column % 4) as f32 / 4.0), smooth((row % 4) as f32 / 4.0));
            let near = coarse(x, z) * (1.0 - u) + coarse(x + 1, z) * u;
            let far = coarse(x, z + 1) * (1.0 - u) + coarse(x + 1, z + 1) * u;
            let edge = column.min(columns - 1 - column).min(12) as f32 / 12.0;
            heights.push((near * (1.0 - v) + far * v) * BUMP * edge);
        }
    }
    let scale = Vec3::new((columns - 1) as f32 * CELL, 1.0, (rows - 1) as f32 * CELL);
    let ground = BodyDesc { friction: 0.9, ..BodyDesc::fixed(Shape::HeightField { rows, columns, heights, scale }) };
    world.add(ground, Pose::IDENTITY, Velocity::ZERO);
}

struct CarParts {
    chassis: Arc<BodyDesc>,
    wheel: Arc<BodyDesc>,
}

impl CarParts {
    fn new() -> CarParts {
        let chassis = BodyDesc { density: 120.0, friction: 0.3, ..BodyDesc::dynamic(Shape::cuboid(2.0, 0.35, 0.8)) };
        let wheel = Shape::Cylinder { half_height: 0.15, radius: WHEEL_RADIUS };
        let wheel = BodyDesc { density: 250.0, friction: 1.2, can_sleep: false, ..BodyDesc::dynamic(wheel) };
        CarParts { chassis: Arc::new(chassis), wheel: Arc::new(wheel) }
    }

    /// A car whose wheels touch the height of `ground`. It drives along x, forwards or backwards.
    fn add_car(&self, world: &mut World, ground: Vec3, forwards: f32, speed: f32) {
        let axle = ground + Vec3::Y * WHEEL_RADIUS;
        let chassis = world.add_shared(&self.chassis, Pose::at(axle + Vec3::Y * 0.35), Velocity::ZERO);
        for (x, z) in [(-1.3, -1.05), (-1.3, 1.05), (1.3, -1.05), (1.3, 1.05)] {
            let hub = axle + Vec3::new(x, 0.0, z);
            let wheel = world.add_shared(&self.wheel, Pose::at(hub).turned(LYING), Velocity::ZERO);
            // Turning about -z rolls a wheel towards +x.
            let motor = Motor { speed: -forwards * speed / WHEEL_RADIUS, factor: 1_000.0, limit: 180.0 };
            join_at(
                world,
                chassis,
                wheel,
                hub,
                JointKind::Revolute { axis: Vec3::Z, limits: None, motor: Some(motor) },
            );
        }
    }
}

/// Turns the `y` axis of a cylinder along `z`.
const LYING: Quat = Quat::from_xyzw(std::f32::consts::FRAC_1_SQRT_2, 0.0, 0.0, std::f32::consts::FRAC_1_SQRT_2);

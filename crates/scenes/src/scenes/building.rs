//! A building on a corner, with bodies of every server around it.

use std::sync::Arc;

use nimbus_model::{Aabb, BodyDesc, Choice, Injection, Pose, Rng, Shape, Tick, Vec3, Velocity, World};

use crate::masonry::{GAP, Wall, stone};
use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// The second of the visualiser's corner scenes.
pub(crate) const SCENE: Scene = Scene {
    name: "building",
    about: "A building of pillars, floors and brick walls on a corner, surrounded by bodies of every server.",
    build,
};

/// Edge of a region, metres.
const REGION: f32 = 40.0;
/// Distance between pillars, and edge of a floor plate, metres.
const BAY: f32 = 3.0;
/// Bays along each side of the building.
const BAYS: u32 = 3;
/// Edge of a pillar's square foot, metres.
const PILLAR: f32 = 0.7;
/// Height of a pillar, metres.
const CLEAR_HEIGHT: f32 = 2.4;
/// Thickness of a floor plate, metres.
const PLATE: f32 = 0.3;

fn build(params: &SceneParams) -> World {
    let regions = Regions::corners(params.servers, REGION);
    let mut world = World::new(SCENE.name);
    world.radius_max = 2.5;
    world.kill_box = Aabb::new(Vec3::new(-1_500.0, -30.0, -600.0), Vec3::new(1_500.0, 100.0, 600.0));
    world.add_ground(regions.half.x.max(REGION) + 20.0, regions.half.z.max(REGION) + 20.0);
    world.layout = regions.layout;
    for storey in 0..params.count(3, 1).min(6) {
        add_storey(&mut world, storey);
    }
    let mut rng = Rng::stream(params.seed, 0xb11d);
    for middle in &regions.middles {
        add_crowd(&mut world, &mut rng, *middle, params.count(16, 4));
        world.injections.push(throw(*middle, params));
    }
    world
}

/// Pillars on a square grid, walls between the outer ones, and plates whose corners lie on the pillars.
fn add_storey(world: &mut World, storey: u32) {
    let floor = storey as f32 * (CLEAR_HEIGHT + PLATE);
    let end = BAYS as f32 * BAY / 2.0;
    let line = |i: u32| i as f32 * BAY - end;
    let pillar = Arc::new(stone(Shape::cuboid(PILLAR / 2.0, CLEAR_HEIGHT / 2.0, PILLAR / 2.0)));
    for (x, z) in square(BAYS + 1) {
        let middle = Vec3::new(line(x), floor + CLEAR_HEIGHT / 2.0, line(z));
        world.add_shared(&pillar, Pose::at(middle), Velocity::ZERO);
    }
    for bay in 0..BAYS {
        for (side, along_z) in [(-end, false), (end, false), (-end, true), (end, true)] {
            let along = line(bay) + BAY / 2.0;
            let foot = if along_z { Vec3::new(side, floor, along) } else { Vec3::new(along, floor, side) };
            add_wall(world, foot, along_z, storey, bay);
        }
    }
    // Outer plates reach over the whole of the outer pillars and walls; otherwise those would stand on an edge.
    let edges = |i: u32| {
        let low = if i == 0 { -end - PILLAR / 2.0 } else { line(i) + GAP / 2.0 };
        let high = if i + 1 == BAYS { end + PILLAR / 2.0 } else { line(i + 1) - GAP / 2.0 };
        ((low + high) / 2.0, (high - low) / 2.0)
    };
    for (x, z) in square(BAYS) {
        let ((x, half_x), (z, half_z)) = (edges(x), edges(z));
        let middle = Vec3::new(x, floor + CLEAR_HEIGHT + PLATE / 2.0, z);
        world.add(stone(Shape::cuboid(half_x, PLATE / 2.0, half_z)), Pose::at(middle), Velocity::ZERO);
    }
}

/// Fills the bay between two pillars: doors in the middle of the ground floor, windows above them. A whole wall ends
/// just below the plate, so that plates rest on pillars alone.
fn add_wall(world: &mut World, foot: Vec3, along_z: bool, storey: u32, bay: u32) {
    let courses = match (storey, bay) {
        (0, 1) => 0,
        (_, 1) => 2,
        _ => 4,
    };
    let brick = Vec3::new((BAY - PILLAR - 2.0 * GAP) / 2.0, (CLEAR_HEIGHT - 0.02) / 4.0, 0.4);
    Wall { foot, along_z, bricks: 2, courses, brick }.build(world);
}

/// Bodies at rest around the middle of a region, outside the building.
fn add_crowd(world: &mut World, rng: &mut Rng, middle: Vec3, many: u32) {
    let across = (many as f32).sqrt().ceil() as u32;
    let shapes = [Shape::cuboid(0.4, 0.4, 0.4), Shape::ball(0.4), Shape::Cylinder { half_height: 0.5, radius: 0.35 }];
    let descs = shapes.map(|shape| Arc::new(BodyDesc { angular_damping: 0.2, ..BodyDesc::dynamic(shape) }));
    let start = if middle.length() < 9.0 { middle + Vec3::new(0.0, 0.0, 14.0) } else { middle };
    for (x, z) in square(across).take(many as usize) {
        let place = Vec3::new(x as f32, 0.0, z as f32) * 1.6 - Vec3::new(1.0, 0.0, 1.0) * (across - 1) as f32 * 0.8;
        let shake = rng.point(Vec3::new(-0.3, 0.0, -0.3), Vec3::new(0.3, 0.0, 0.3));
        let desc = &descs[rng.below(3) as usize];
        let height = desc.shape.bounds().max.y;
        world.add_shared(desc, Pose::at(start + place + shake + Vec3::Y * height), Velocity::ZERO);
    }
}

/// Bodies thrown from above a region's middle at the building, once it has stood for a while.
fn throw(middle: Vec3, params: &SceneParams) -> Injection {
    let from = if middle.length() < 9.0 { Vec3::Z * 14.0 } else { middle.normalize() * middle.length().min(25.0) };
    let towards = -from.normalize() * 12.0;
    let body = |shape| BodyDesc { density: 1_500.0, ..BodyDesc::dynamic(shape) };
    Injection {
        volume: Aabb::around(from + Vec3::Y * 6.0, Vec3::new(3.0, 1.5, 3.0)),
        per_second: 1.0,
        start: Tick(300),
        count: params.count(40, 5),
        velocity_min: towards + Vec3::new(-1.5, 1.0, -1.5),
        velocity_max: towards + Vec3::new(1.5, 4.0, 1.5),
        turned: true,
        choices: vec![
            Choice { weight: 2, body: body(Shape::ball(0.45)) },
            Choice { weight: 1, body: body(Shape::cuboid(0.4, 0.4, 0.4)) },
        ],
    }
}

fn square(edge: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..edge).flat_map(move |x| (0..edge).map(move |z| (x, z)))
}

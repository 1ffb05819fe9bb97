//! Two stacks where four servers meet, and bodies that rain on them.

use std::sync::Arc;

use nimbus_model::{Aabb, BodyDesc, Choice, Injection, Pose, Rng, Shape, Tick, Vec3, Velocity, World};

use crate::masonry::{GAP, stone};
use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// The first of the visualiser's corner scenes.
pub(crate) const SCENE: Scene = Scene {
    name: "corner-stacks",
    about: "Two stacks of boxes at a corner of four servers, with bodies injected from random places around them.",
    build,
};

fn build(params: &SceneParams) -> World {
    let mut world = World::new(SCENE.name);
    world.layout = Regions::corners(params.servers, 40.0).layout;
    world.radius_max = 1.5;
    world.kill_box = Aabb::new(Vec3::new(-300.0, -30.0, -300.0), Vec3::new(300.0, 120.0, 300.0));
    world.add_ground(80.0, 80.0);
    let layers = params.count(10, 3);
    for x in [-1.3, 1.3] {
        add_stack(&mut world, Vec3::X * x, layers);
    }
    let mut rng = Rng::stream(params.seed, 0x57ac);
    for i in 0..6 {
        world.injections.push(random_injection(&mut rng, i, params));
    }
    world
}

/// Two by two boxes on every layer, around `foot`.
fn add_stack(world: &mut World, foot: Vec3, layers: u32) {
    let edge = 1.0;
    let half = (edge - GAP) / 2.0;
    let desc = Arc::new(stone(Shape::cuboid(half, edge / 2.0, half)));
    for layer in 0..layers {
        for (x, z) in [(-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)] {
            let middle = foot + Vec3::new(x, layer as f32 + 0.5, z) * edge;
            world.add_shared(&desc, Pose::at(middle), Velocity::ZERO);
        }
    }
}

/// A volume somewhere around the corner whose bodies fly roughly towards it.
fn random_injection(rng: &mut Rng, i: u64, params: &SceneParams) -> Injection {
    let middle = loop {
        let point = rng.point(Vec3::new(-16.0, 8.0, -16.0), Vec3::new(16.0, 14.0, 16.0));
        if point.x.abs().max(point.z.abs()) > 6.0 {
            break point;
        }
    };
    let half = rng.point(Vec3::new(1.5, 1.0, 1.5), Vec3::new(4.0, 3.0, 4.0));
    let towards = Vec3::new(-middle.x, 0.0, -middle.z).normalize() * rng.between(2.0, 6.0);
    let body = |shape| BodyDesc { restitution: 0.2, ..BodyDesc::dynamic(shape) };
    let choices = [
        Shape::ball(0.4),
        Shape::cuboid(0.35, 0.35, 0.35),
        Shape::Capsule { half_height: 0.35, radius: 0.3 },
        Shape::Cylinder { half_height: 0.4, radius: 0.35 },
        Shape::Cone { half_height: 0.5, radius: 0.4 },
    ];
    Injection {
        volume: Aabb::around(middle, half),
        per_second: 4.0,
        start: Tick(120 + 10 * i),
        count: params.count(100, 10),
        velocity_min: towards - Vec3::new(2.0, 3.0, 2.0),
        velocity_max: towards + Vec3::new(2.0, 0.0, 2.0),
        turned: true,
        choices: choices.map(|shape| Choice { weight: 1, body: body(shape) }).to_vec(),
    }
}

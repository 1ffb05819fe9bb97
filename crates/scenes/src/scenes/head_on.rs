//! Spheres that fly at each other across every seam.

use std::sync::Arc;

use nimbus_model::{Aabb, BodyDesc, Pose, Rng, Shape, Vec3, Velocity, World};

use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// The collision-correctness experiment as a scene.
pub(crate) const SCENE: Scene = Scene {
    name: "head-on",
    about: "Pairs of spheres fly at each other and meet at the seams, with gravity off.",
    build,
};

/// Radius of a sphere: so large that one server never lets two of them pass through each other at twice 48 m/s.
const RADIUS: f32 = 1.6;
/// Width of a region, metres.
const WIDTH: f32 = 100.0;
/// Distance between pairs along a seam, metres.
const LANE: f32 = 8.0;
/// Nominal speed of a sphere, m/s; each is up to 1 m/s slower.
const SPEEDS: [f32; 4] = [8.0, 16.0, 24.0, 32.0];

fn build(params: &SceneParams) -> World {
    let regions = Regions::columns(params.servers, WIDTH);
    let mut world = World::new(SCENE.name);
    world.gravity = Vec3::ZERO;
    world.radius_max = RADIUS + 0.1;
    world.kill_box = Aabb::around(Vec3::ZERO, Vec3::new(regions.half.x + 500.0, 100.0, 300.0));
    world.layout = regions.layout;
    let sphere =
        BodyDesc { friction: 0.0, restitution: 1.0, can_sleep: false, ..BodyDesc::dynamic(Shape::ball(RADIUS)) };
    let sphere = Arc::new(sphere);
    let pairs = params.count(8, 1);
    for (s, seam) in Regions::seams(params.servers, WIDTH).into_iter().enumerate() {
        let mut rng = Rng::stream(params.seed, s as u64);
        for i in 0..pairs {
            let z = (i as f32 - (pairs - 1) as f32 / 2.0) * LANE;
            let meeting = seam + rng.between(-RADIUS, RADIUS);
            let until_s = rng.between(0.8, 1.2);
            for side in [-1.0, 1.0] {
                let speed = SPEEDS[i as usize % SPEEDS.len()] - rng.unit();
                let x = meeting + side * (RADIUS + speed * until_s);
                world.add_shared(&sphere, Pose::at(Vec3::new(x, 0.0, z)), Velocity::linear(Vec3::X * (-side * speed)));
            }
        }
    }
    world
}

//! Jointed figures thrown across the seams.

use nimbus_model::{Aabb, Rng, Vec3, World};

use crate::figure::{PELVIS_HEIGHT, add_figure};
use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// Groups that must change owner whole.
pub(crate) const SCENE: Scene = Scene {
    name: "ragdolls",
    about: "Ragdolls of eleven jointed bodies are dropped beside the seams and tumble across them.",
    build,
};

/// Width of a region, metres.
const WIDTH: f32 = 30.0;
/// Distance between figures along a seam, metres; their arms reach 0.9 m to each side along x.
const LANE: f32 = 1.6;

fn build(params: &SceneParams) -> World {
    let regions = Regions::columns(params.servers, WIDTH);
    let seams = Regions::seams(params.servers, WIDTH);
    let mut world = World::new(SCENE.name);
    world.radius_max = 0.5;
    world.kill_box = Aabb::new(Vec3::new(-2_000.0, -20.0, -200.0), Vec3::new(2_000.0, 60.0, 200.0));
    world.add_ground(regions.half.x + WIDTH, 60.0);
    world.layout = regions.layout;
    let mut rng = Rng::stream(params.seed, 0xd011);
    let figures = params.count(24, 2).max(2 * seams.len() as u32);
    let lanes = figures.div_ceil(2 * seams.len() as u32);
    for i in 0..figures {
        let seam = seams[i as usize % seams.len()];
        let turn = i / seams.len() as u32;
        let side = if turn.is_multiple_of(2) { -1.0 } else { 1.0 };
        let lane = (turn / 2) as f32 - (lanes - 1) as f32 / 2.0;
        let x = seam + side * rng.between(2.0, 4.5);
        let pelvis = Vec3::new(x, PELVIS_HEIGHT + rng.between(0.5, 3.0), lane * LANE);
        let velocity = Vec3::new(-side * rng.between(3.0, 6.0), rng.between(0.0, 2.0), rng.between(-0.5, 0.5));
        add_figure(&mut world, pelvis, velocity);
    }
    world
}

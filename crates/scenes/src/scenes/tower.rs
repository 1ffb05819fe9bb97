//! A tall tower beside every seam.

use nimbus_model::{Aabb, Vec3, World};

use crate::masonry::plank_tower;
use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// A structure that falls over when its owner changes carelessly.
pub(crate) const SCENE: Scene =
    Scene { name: "tower", about: "A tall tower of planks stands just beside every seam, reaching over it.", build };

/// Width of a region, metres.
const WIDTH: f32 = 40.0;

fn build(params: &SceneParams) -> World {
    let regions = Regions::columns(params.servers, WIDTH);
    let mut world = World::new(SCENE.name);
    world.radius_max = 1.1;
    world.kill_box = Aabb::new(Vec3::new(-2_000.0, -20.0, -100.0), Vec3::new(2_000.0, 80.0, 100.0));
    world.add_ground(regions.half.x + WIDTH, 40.0);
    world.layout = regions.layout;
    for x in Regions::seams(params.servers, WIDTH) {
        plank_tower(&mut world, Vec3::X * (x + 0.6), params.count(24, 4));
    }
    world
}

//! A brick wall across every seam.

use nimbus_model::{Aabb, Vec3, World};

use crate::masonry::Wall;
use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// A structure that must not twitch although two servers share it.
pub(crate) const SCENE: Scene =
    Scene { name: "wall", about: "A brick wall stands across every seam and should not notice it.", build };

/// Width of a region, metres.
const WIDTH: f32 = 40.0;

fn build(params: &SceneParams) -> World {
    let regions = Regions::columns(params.servers, WIDTH);
    let mut world = World::new(SCENE.name);
    world.radius_max = 1.0;
    world.kill_box = Aabb::new(Vec3::new(-2_000.0, -20.0, -100.0), Vec3::new(2_000.0, 60.0, 100.0));
    world.add_ground(regions.half.x + WIDTH, 40.0);
    world.layout = regions.layout;
    for x in Regions::seams(params.servers, WIDTH) {
        let wall = Wall {
            foot: Vec3::X * x,
            along_z: false,
            bricks: params.count(10, 3),
            courses: params.count(10, 3),
            brick: Vec3::new(1.0, 0.5, 0.5),
        };
        wall.build(&mut world);
    }
    world
}

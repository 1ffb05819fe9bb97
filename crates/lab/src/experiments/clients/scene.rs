//! The world that clients look at: bodies that never rest, and eyes around them.

use nimbus_model::{BodyDesc, Layout, Pose, Rng, Shape, Vec3, Velocity, World};
use nimbus_wire::client::Watch;

/// Half the edges of the hall in which bodies bounce, metres.
const HALF: Vec3 = Vec3::new(100.0, 15.0, 100.0);
const WALL_M: f32 = 2.0;
/// Fastest that a body starts along an axis, m/s.
const SPEED_M_S: f32 = 3.0;
/// Eyes stand around the middle at this distance, metres, and see so far.
const AWAY_M: f32 = 60.0;
const RANGE_M: f32 = 90.0;

/// A hall without gravity in which so many bodies bounce about for ever, on two servers.
pub(super) fn world(bodies: u32) -> World {
    let mut world = World::new("hall");
    world.gravity = Vec3::ZERO;
    world.radius_max = 0.6;
    world.layout = Layout::columns(2, HALF.x);
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let mut half = HALF + Vec3::splat(WALL_M);
            half[axis] = 0.5 * WALL_M;
            let mut place = Vec3::ZERO;
            place[axis] = side * (HALF[axis] + 0.5 * WALL_M);
            world.add(
                bouncing(BodyDesc::fixed(Shape::cuboid(half.x, half.y, half.z))),
                Pose::at(place),
                Velocity::ZERO,
            );
        }
    }
    let mut rng = Rng::stream(1, 77);
    // On a grid, so that nothing begins inside something else.
    let side = (1..).find(|n| n * n * 5 >= bodies).unwrap_or(1);
    for i in 0..bodies {
        let (level, place) = (i / (side * side), i % (side * side));
        let at = |k: u32, half: f32, count: u32| (k as f32 + 0.5) / count as f32 * 2.0 * half - half;
        let (x, z) = (at(place % side, 0.97 * HALF.x, side), at(place / side, 0.97 * HALF.z, side));
        let y = at(level, 0.9 * HALF.y, 5);
        let mut speed = || (2.0 * rng.unit() - 1.0) * SPEED_M_S;
        let linear = Vec3::new(speed(), speed(), speed());
        let shape = if i % 2 == 0 { Shape::ball(0.5) } else { Shape::cuboid(0.3, 0.3, 0.3) };
        let velocity = Velocity { linear, angular: Vec3::new(speed(), speed(), speed()) };
        world.add(bouncing(BodyDesc::dynamic(shape)), Pose::at(Vec3::new(x, y, z)), velocity);
    }
    world
}

fn bouncing(mut body: BodyDesc) -> BodyDesc {
    body.restitution = 1.0;
    body.friction = 0.0;
    body
}

/// The view of a client, of so many different ones: all around the hall, looking to its middle.
pub(super) fn view(client: usize, views: usize, kbit: u32, hz: u32) -> Watch {
    let angle = (client % views) as f32 / views as f32 * std::f32::consts::TAU;
    let eye = AWAY_M * Vec3::new(angle.cos(), 0.1, angle.sin());
    let toward = Some(-eye.normalize());
    Watch { toward, field: 100.0, kbit, hz, packed: true, ..Watch::around(eye, RANGE_M) }
}

//! A closed box full of bouncing bodies on small regions: hundreds of hand-overs in seconds.

use std::sync::Arc;

use nimbus_model::{
    Aabb, BodyDesc, Choice, Injection, JointKind, Pose, Rng, ScriptedPush, Shape, Tick, Tolerances, Vec3, Velocity,
    World,
};

use crate::jointing::{hinge, join_at};
use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// The scene that whole-cluster tests run most.
pub(crate) const SCENE: Scene = Scene {
    name: "crossing",
    about: "Bodies, jointed pairs and chains bounce without friction in a closed box across small regions.",
    build,
};

/// Edge of a region, metres.
const REGION: f32 = 12.0;
/// How many pushes the script gives.
const SCRIPTED: u64 = 2_400;
/// Height of the inside of the box, metres.
const HEIGHT: f32 = 6.0;
/// Distance between starting places along x and z, and along y: a chain fits into one of them.
const PITCH: Vec3 = Vec3::new(2.0, 1.5, 2.0);

fn build(params: &SceneParams) -> World {
    let regions = if params.servers < 4 {
        Regions::columns(params.servers, REGION)
    } else {
        Regions::corners(params.servers, REGION)
    };
    let mut world = World::new(SCENE.name);
    world.gravity = Vec3::ZERO;
    world.tolerances = Tolerances { speed: 24.0, ..Tolerances::default() };
    world.radius_max = 0.6;
    world.layout = regions.layout.clone();
    let inside = Vec3::new(regions.half.x, HEIGHT / 2.0, regions.half.z);
    world.kill_box = Aabb::around(Vec3::Y * inside.y, inside + 6.0);
    add_walls(&mut world, inside);

    let mut rng = Rng::stream(params.seed, 0xc505);
    let mut places = places(inside);
    shuffle(&mut places, &mut rng);
    let wanted = params.count(110 + 20 * u32::from(params.servers.saturating_sub(2)), 11) as usize;
    let stock = Stock::new();
    for (i, place) in places.into_iter().take(wanted).enumerate() {
        let velocity = Velocity { linear: direction(&mut rng) * rng.between(6.0, 10.0), angular: Vec3::ZERO };
        stock.add(&mut world, i % 11, place, velocity);
    }
    world.injections.push(newcomers(&stock, inside));
    let pushed = world.bodies.len() as u32 - 1;
    world.script = (1..=SCRIPTED).map(|k| jolt(&mut rng, pushed, k)).collect();
    world
}

/// A few more bodies all the time, anywhere in the box, so that births meet hand-overs.
fn newcomers(stock: &Stock, inside: Vec3) -> Injection {
    let room = inside - 1.0;
    Injection {
        volume: Aabb::around(Vec3::Y * inside.y, room),
        per_second: 4.0,
        start: Tick(0),
        count: 2_400,
        velocity_min: Vec3::splat(-6.0),
        velocity_max: Vec3::splat(6.0),
        turned: false,
        choices: vec![
            Choice { weight: 2, body: stock.ball.as_ref().clone() },
            Choice { weight: 1, body: stock.cube.as_ref().clone() },
        ],
    }
}

/// A push for one body every quarter of a second, whoever owns it then.
fn jolt(rng: &mut Rng, body: u32, k: u64) -> ScriptedPush {
    ScriptedPush { tick: Tick(15 * k), body, linear: direction(rng) * 3.0, angular: Vec3::ZERO }
}

/// What the box is filled with, of about equal mass so that collisions make nothing very fast.
struct Stock {
    ball: Arc<BodyDesc>,
    cube: Arc<BodyDesc>,
    capsule: Arc<BodyDesc>,
    link: Arc<BodyDesc>,
}

impl Stock {
    fn new() -> Stock {
        let bouncy = |shape| Arc::new(slippery(BodyDesc::dynamic(shape)));
        Stock {
            ball: bouncy(Shape::ball(0.28)),
            cube: bouncy(Shape::cuboid(0.23, 0.23, 0.23)),
            capsule: bouncy(Shape::Capsule { half_height: 0.2, radius: 0.21 }),
            link: bouncy(Shape::cuboid(0.25, 0.2, 0.2)),
        }
    }

    /// Of eleven: a chain of three, two pairs, three balls, three cubes, two capsules.
    fn add(&self, world: &mut World, kind: usize, place: Vec3, velocity: Velocity) {
        let beside = |offset: f32| Pose::at(place + Vec3::X * offset);
        match kind {
            0 => {
                let links = [-0.58, 0.0, 0.58].map(|x| world.add_shared(&self.link, beside(x), velocity));
                join_at(world, links[0], links[1], place - Vec3::X * 0.29, hinge(Vec3::Z));
                join_at(world, links[1], links[2], place + Vec3::X * 0.29, hinge(Vec3::Y));
            }
            1 | 2 => {
                let ends = [-0.32, 0.32].map(|x| world.add_shared(&self.ball, beside(x), velocity));
                let kind = if kind == 1 { JointKind::Spherical } else { JointKind::Fixed };
                join_at(world, ends[0], ends[1], place, kind);
            }
            3..=5 => _ = world.add_shared(&self.ball, beside(0.0), velocity),
            6..=8 => _ = world.add_shared(&self.cube, beside(0.0), velocity),
            _ => _ = world.add_shared(&self.capsule, beside(0.0), velocity),
        }
    }
}

/// Loses nothing when it bounces.
fn slippery(desc: BodyDesc) -> BodyDesc {
    BodyDesc { friction: 0.0, restitution: 1.0, ..desc }
}

/// Six slabs, two metres thick, around the inside, whose floor is at height zero.
fn add_walls(world: &mut World, inside: Vec3) {
    for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
        let thin = axis;
        let wide = (inside + 2.0) * (Vec3::ONE - axis);
        let half = thin + wide;
        for side in [-1.0, 1.0] {
            let middle = Vec3::Y * inside.y + axis * (inside + 1.0) * side;
            let slab = slippery(BodyDesc::fixed(Shape::cuboid(half.x, half.y, half.z)));
            world.add(slab, Pose::at(middle), Velocity::ZERO);
        }
    }
}

fn places(inside: Vec3) -> Vec<Vec3> {
    let many = (inside * 2.0 / PITCH).floor();
    let first = (many - 1.0) * PITCH / -2.0 + Vec3::Y * inside.y;
    let line = |n: f32| 0..n as u32;
    line(many.x)
        .flat_map(|x| {
            line(many.y).flat_map(move |y| line(many.z).map(move |z| Vec3::new(x as f32, y as f32, z as f32)))
        })
        .map(|step| first + step * PITCH)
        .collect()
}

fn shuffle(places: &mut [Vec3], rng: &mut Rng) {
    for i in (1..places.len()).rev() {
        places.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// A unit vector, mostly along the ground so that bodies cross seams rather than bounce between floor and lid.
fn direction(rng: &mut Rng) -> Vec3 {
    loop {
        let point = rng.point(-Vec3::ONE, Vec3::ONE);
        if (0.04..=1.0).contains(&point.length_squared()) {
            return (point * Vec3::new(1.0, 0.5, 1.0)).normalize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_size_has_enough_bodies_of_every_sort() {
        for servers in [1, 2, 3, 4, 5, 8] {
            let world = build(&SceneParams::on(servers));
            assert!(world.owned_bodies().count() >= 120, "{servers}: {}", world.owned_bodies().count());
            let jointed = |kind: fn(&JointKind) -> bool| world.joints.iter().filter(|j| kind(&j.desc.kind)).count();
            assert!(jointed(|k| matches!(k, JointKind::Spherical)) >= 8);
            assert!(jointed(|k| matches!(k, JointKind::Revolute { .. })) >= 16);
        }
    }
}

//! Bodies of every shape and joint, for the tests of this crate.
#![allow(dead_code, missing_docs, unreachable_pub)]

use nimbus_model::{
    BodyDesc, BodyKind, JointDesc, JointKind, Motion, Motor, Nid, Origin, Pose, Quat, Rng, Shape, Vec3, Velocity, World,
};
use nimbus_physics::{Group, Link, Member, PhysicsWorld};
use std::sync::Arc;

pub fn nid(serial: u64) -> Nid {
    Nid::new(Origin(7), serial)
}

pub fn at(x: f32, y: f32, z: f32) -> Motion {
    Motion::new(Pose::at(Vec3::new(x, y, z)), Velocity::ZERO)
}

pub fn dynamic(shape: Shape) -> Arc<BodyDesc> {
    Arc::new(BodyDesc::dynamic(shape))
}

pub fn boxes() -> Arc<BodyDesc> {
    dynamic(Shape::cuboid(0.5, 0.5, 0.5))
}

pub fn single(serial: u64, desc: &Arc<BodyDesc>, motion: Motion) -> Group {
    Group::single(nid(serial), desc.clone(), motion)
}

/// Flat ground at height zero, and a heightfield and a mesh beside it.
pub fn ground() -> World {
    let mut world = World::new("test");
    world.add_ground(50.0, 50.0);
    let heights = (0..64).map(|i| (i % 5) as f32 * 0.1).collect();
    let field = Shape::HeightField { rows: 8, columns: 8, heights, scale: Vec3::new(20.0, 1.0, 20.0) };
    world.add(BodyDesc::fixed(field), Pose::at(Vec3::new(70.0, 0.0, 0.0)), Velocity::ZERO);
    let mesh = Shape::TriMesh {
        vertices: vec![
            Vec3::new(-10.0, 0.0, -10.0),
            Vec3::new(10.0, 0.0, -10.0),
            Vec3::new(10.0, 0.0, 10.0),
            Vec3::new(-10.0, 0.0, 10.0),
        ],
        triangles: vec![[0, 2, 1], [0, 3, 2]],
    };
    world.add(BodyDesc::fixed(mesh), Pose::at(Vec3::new(-70.0, 0.0, 0.0)), Velocity::ZERO);
    world
}

/// The ground and nothing on it, in a world that reports touches.
pub fn empty() -> PhysicsWorld {
    reporting(&ground())
}

/// A world that reports touches.
pub fn reporting(model: &World) -> PhysicsWorld {
    let mut world = PhysicsWorld::new(model, 0);
    world.report_contacts(true);
    world
}

pub fn shapes() -> Vec<Shape> {
    let hull = [[0.5, 0.0, 0.0], [-0.5, 0.0, 0.1], [0.0, 0.6, 0.0], [0.0, 0.0, 0.5], [0.1, -0.4, -0.4]];
    vec![
        Shape::ball(0.4),
        Shape::cuboid(0.3, 0.4, 0.5),
        Shape::Capsule { half_height: 0.4, radius: 0.2 },
        Shape::Cylinder { half_height: 0.3, radius: 0.4 },
        Shape::Cone { half_height: 0.4, radius: 0.4 },
        Shape::ConvexHull { points: hull.map(Vec3::from_array).to_vec() },
        Shape::Compound {
            parts: vec![
                (Pose::at(Vec3::new(-0.4, 0.0, 0.0)), Shape::ball(0.3)),
                (Pose::at(Vec3::new(0.4, 0.0, 0.0)), Shape::cuboid(0.2, 0.2, 0.2)),
            ],
        },
    ]
}

/// `count` falling bodies of all shapes above the ground, ids from `first`.
pub fn rain(first: u64, count: u64, rng: &mut Rng) -> Group {
    let shapes: Vec<_> = shapes().into_iter().map(dynamic).collect();
    let members = (0..count)
        .map(|i| {
            let place = Vec3::new(rng.between(-4.0, 4.0), rng.between(1.0, 8.0), rng.between(-4.0, 4.0));
            let turn = Quat::from_scaled_axis(Vec3::new(rng.between(-2.0, 2.0), rng.between(-2.0, 2.0), 0.3));
            let speed = Vec3::new(rng.between(-3.0, 3.0), rng.between(-3.0, 0.0), rng.between(-3.0, 3.0));
            let motion = Motion::new(Pose::at(place).turned(turn), Velocity::linear(speed));
            Member { nid: nid(first + i), desc: shapes[i as usize % shapes.len()].clone(), motion }
        })
        .collect();
    Group::of(members)
}

pub fn joint_kinds() -> Vec<JointKind> {
    let motor = Some(Motor { speed: 2.0, factor: 10.0, limit: 500.0 });
    vec![
        JointKind::Fixed,
        JointKind::Revolute { axis: Vec3::Z, limits: Some([-1.0, 1.0]), motor },
        JointKind::Prismatic { axis: Vec3::X, limits: Some([0.0, 0.5]), motor: None },
        JointKind::Spherical,
        JointKind::Rope { length: 1.5 },
        JointKind::Spring { rest: 1.0, stiffness: 200.0, damping: 5.0 },
    ]
}

/// A hanging chain with one joint of every kind, held by the ground, ids from `first`.
pub fn chain(first: u64) -> Group {
    let desc = dynamic(Shape::cuboid(0.2, 0.2, 0.2));
    let kinds = joint_kinds();
    let members = (0..=kinds.len() as u64)
        .map(|i| Member { nid: nid(first + i), desc: desc.clone(), motion: at(10.0 + i as f32, 5.0, 0.0) })
        .collect();
    let between = |(i, kind): (usize, JointKind)| {
        let (a, b) = (nid(first + i as u64), nid(first + i as u64 + 1));
        Link::new(a, b, 0, JointDesc::new(kind, Vec3::new(0.5, 0.0, 0.0), Vec3::new(-0.5, 0.0, 0.0)))
    };
    let mut links: Vec<Link> = kinds.into_iter().enumerate().map(between).collect();
    let hook = JointDesc::new(JointKind::Spherical, Vec3::new(9.5, 6.0, 0.0), Vec3::new(-0.5, 0.0, 0.0));
    links.push(Link::new(Nid::of_world(0, 0), nid(first), 0, hook));
    Group { members, links, ..Group::default() }
}

/// A kinematic paddle that sweeps through the rain.
pub fn paddle(serial: u64) -> Group {
    let desc = Arc::new(BodyDesc::new(BodyKind::Kinematic, Shape::cuboid(2.0, 0.2, 0.2)));
    let mut motion = at(0.0, 0.6, 0.0);
    motion.velocity.angular = Vec3::new(0.0, 1.5, 0.0);
    single(serial, &desc, motion)
}

/// Rain, chain and paddle in a world of their own.
pub fn mixed() -> PhysicsWorld {
    let mut world = empty();
    let mut rng = Rng::new(3);
    world.insert(rain(0, 60, &mut rng)).expect("rain is sound");
    world.insert(chain(1000)).expect("the chain is sound");
    world.insert(paddle(2000)).expect("the paddle is sound");
    world
}

/// What a busy server does to its world at a tick: bodies come, go, are pushed; joints break.
pub fn churn(world: &mut PhysicsWorld, tick: u64) {
    let mut rng = Rng::new(tick + 11);
    if tick.is_multiple_of(7) {
        world.insert(rain(10_000 + tick * 10, 5, &mut rng)).expect("rain is sound");
    }
    if tick.is_multiple_of(5) {
        let gone: Vec<Nid> = world.nids().filter(|nid| nid.serial() % 31 == tick % 31).take(3).collect();
        world.remove(&gone);
    }
    if tick.is_multiple_of(11) {
        let some: Vec<Nid> = world.nids().filter(|nid| nid.serial() % 13 == tick % 13).collect();
        for nid in some {
            world.push(nid, Vec3::new(100.0, 200.0, 0.0), None);
        }
    }
    if tick.is_multiple_of(13) {
        world.insert(chain(20_000 + tick * 10)).expect("the chain is sound");
    }
    if tick.is_multiple_of(19) {
        let asleep: Vec<Nid> = world.nids().filter(|nid| world.motion(*nid).is_some_and(|m| m.sleeping)).collect();
        let group = world.remove(&asleep);
        let closed = |nid: Nid| world.view(nid).is_some() || asleep.contains(&nid);
        let links = group.links.into_iter().filter(|link| closed(link.a) && closed(link.b)).collect();
        world.insert(Group { links, ..group }).expect("what came out goes in");
    }
    if tick.is_multiple_of(17) {
        let third = world.link_keys().nth(2);
        third.and_then(|key| world.remove_link(key));
    }
}

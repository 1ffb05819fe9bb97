//! The parts that messages are made of, drawn at random.

use nimbus_model::{
    BodyDesc, ClientId, JointDesc, JointKind, Motion, Nid, Origin, Pose, Quat, RegionId, Rng, Shape, Tick, Vec3,
    Velocity,
};
use nimbus_wire::{CommandRef, GatewayId};

pub(super) fn several<T>(rng: &mut Rng, most: u64, mut make: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    (0..rng.below(most + 1)).map(|_| make(rng)).collect()
}

pub(super) fn nid(rng: &mut Rng) -> Nid {
    Nid::new(Origin(rng.below(4) as u16), rng.below(1 << (4 + rng.clone().below(20))))
}

pub(super) fn tick(rng: &mut Rng) -> Tick {
    Tick(rng.below(1 << 20))
}

pub(super) fn region(rng: &mut Rng) -> RegionId {
    RegionId(rng.below(8) as u16)
}

pub(super) fn vector(rng: &mut Rng) -> Vec3 {
    rng.point(Vec3::splat(-100.0), Vec3::splat(100.0))
}

pub(super) fn pose(rng: &mut Rng) -> Pose {
    Pose { position: vector(rng), rotation: Quat::from_scaled_axis(rng.point(Vec3::NEG_ONE, Vec3::ONE)) }
}

pub(super) fn velocity(rng: &mut Rng) -> Velocity {
    Velocity { linear: vector(rng), angular: vector(rng) }
}

pub(super) fn motion(rng: &mut Rng) -> Motion {
    Motion {
        pose: pose(rng),
        velocity: velocity(rng),
        force: Vec3::ZERO,
        torque: Vec3::ZERO,
        sleeping: rng.chance(0.5),
        quiet_s: rng.unit(),
    }
}

pub(super) fn shape(rng: &mut Rng) -> Shape {
    let size = rng.between(0.1, 2.0);
    match rng.below(7) {
        0 => Shape::Cuboid { half: Vec3::splat(size) },
        1 => Shape::Capsule { half_height: size, radius: 0.2 },
        2 => Shape::ConvexHull { points: (0..8).map(|_| rng.point(Vec3::NEG_ONE, Vec3::ONE)).collect() },
        3 => Shape::Compound { parts: (0..3).map(|_| (pose(rng), Shape::ball(size))).collect() },
        4 => Shape::TriMesh { vertices: (0..6).map(|_| vector(rng)).collect(), triangles: vec![[0, 1, 2], [3, 4, 5]] },
        5 => Shape::HeightField { rows: 2, columns: 3, heights: vec![size; 6], scale: Vec3::ONE },
        _ => Shape::ball(size),
    }
}

pub(super) fn desc(rng: &mut Rng) -> BodyDesc {
    BodyDesc { density: rng.between(1.0, 5_000.0), ..BodyDesc::dynamic(shape(rng)) }
}

pub(super) fn joint(rng: &mut Rng) -> JointDesc {
    let kind = match rng.below(2) {
        0 => JointKind::Fixed,
        _ => JointKind::Revolute { axis: Vec3::Y, limits: Some([-1.0, 1.0]), motor: None },
    };
    JointDesc::new(kind, rng.point(Vec3::NEG_ONE, Vec3::ONE), rng.point(Vec3::NEG_ONE, Vec3::ONE))
}

pub(super) fn asked_by(rng: &mut Rng) -> CommandRef {
    CommandRef {
        gateway: GatewayId(rng.below(3) as u16),
        client: ClientId(rng.below(100) as _),
        sequence: rng.below(1_000),
    }
}

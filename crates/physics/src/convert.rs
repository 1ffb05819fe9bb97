//! The few conversions between our plain types and the engine's.

use nimbus_model::{Aabb, Pose, Vec3, Velocity};
use rapier3d::dynamics::RigidBody;
use rapier3d::parry::bounding_volume::Aabb as EngineAabb;
use rapier3d::prelude::Pose as EnginePose;

/// Bodies farther out or faster than this are not simulated: single precision has nothing left to say there, m and m/s.
pub(crate) const LIMIT: f32 = 1e6;

pub(crate) fn engine_pose(pose: &Pose) -> EnginePose {
    EnginePose::from_parts(pose.position, pose.rotation)
}

pub(crate) fn pose(pose: &EnginePose) -> Pose {
    Pose { position: pose.translation, rotation: pose.rotation }
}

pub(crate) fn velocity(body: &RigidBody) -> Velocity {
    Velocity { linear: body.linvel(), angular: body.angvel() }
}

pub(crate) fn aabb(aabb: &EngineAabb) -> Aabb {
    Aabb::new(aabb.mins, aabb.maxs)
}

/// True for a state the engine can go on from. Comparisons are false for NaN, so this catches it too.
pub(crate) fn is_sane(pose: &Pose, velocity: &Velocity) -> bool {
    let within = |vector: Vec3| vector.abs().cmple(Vec3::splat(LIMIT)).all();
    within(pose.position)
        && within(velocity.linear)
        && within(velocity.angular)
        && (pose.rotation.length_squared() - 1.0).abs() < 1e-2
}

//! From a described joint to an engine joint.

use nimbus_model::{JointDesc, JointKind, Motor, Pose, Vec3};
use rapier3d::dynamics::{
    FixedJointBuilder, GenericJoint, JointAxis, MotorModel, PrismaticJointBuilder, RevoluteJointBuilder,
    RopeJointBuilder, SphericalJointBuilder, SpringJointBuilder,
};

use crate::convert::engine_pose;

/// The engine joint of this description, which must have passed [`JointDesc::problem`].
pub(crate) fn build(desc: &JointDesc) -> GenericJoint {
    let mut joint: GenericJoint = match &desc.kind {
        JointKind::Fixed => FixedJointBuilder::new().into(),
        JointKind::Spherical => SphericalJointBuilder::new().into(),
        JointKind::Revolute { axis, .. } => RevoluteJointBuilder::new(axis.normalize()).into(),
        JointKind::Prismatic { axis, .. } => PrismaticJointBuilder::new(axis.normalize()).into(),
        JointKind::Rope { length } => RopeJointBuilder::new(*length).into(),
        JointKind::Spring { rest, stiffness, damping } => {
            SpringJointBuilder::new(*rest, *stiffness, *damping).spring_model(MotorModel::ForceBased).into()
        }
    };
    match &desc.kind {
        JointKind::Revolute { axis, limits, motor } => {
            place_along(&mut joint, desc, *axis);
            drive(&mut joint, JointAxis::AngX, *limits, *motor);
        }
        JointKind::Prismatic { axis, limits, motor } => {
            place_along(&mut joint, desc, *axis);
            drive(&mut joint, JointAxis::LinX, *limits, *motor);
        }
        JointKind::Fixed | JointKind::Spherical | JointKind::Rope { .. } | JointKind::Spring { .. } => {
            joint.set_local_frame1(engine_pose(&desc.anchor_a));
            joint.set_local_frame2(engine_pose(&desc.anchor_b));
        }
    }
    joint.set_contacts_enabled(desc.contacts);
    joint
}

/// Turns both anchor frames so that their `x`, the engine's free axis, is the described axis.
fn place_along(joint: &mut GenericJoint, desc: &JointDesc, axis: Vec3) {
    let along = GenericJoint::complete_ang_frame(axis.normalize());
    let turned = |anchor: &Pose| engine_pose(&anchor.turned((anchor.rotation * along).normalize()));
    joint.set_local_frame1(turned(&desc.anchor_a));
    joint.set_local_frame2(turned(&desc.anchor_b));
}

fn drive(joint: &mut GenericJoint, axis: JointAxis, limits: Option<[f32; 2]>, motor: Option<Motor>) {
    if let Some(limits) = limits {
        joint.set_limits(axis, limits);
    }
    if let Some(motor) = motor {
        joint.set_motor_velocity(axis, motor.speed, motor.factor);
        joint.set_motor_max_force(axis, motor.limit);
    }
}

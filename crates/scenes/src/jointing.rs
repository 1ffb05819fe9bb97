//! Holding two bodies of a world together at a place in the world.

use nimbus_model::{JointDesc, JointKind, Pose, Vec3, World};

/// Joins two bodies at a point of the world. The frames of both anchors are unturned in the world, so axes and limits
/// are those one sees in the start pose, where every angle is zero.
pub(crate) fn join_at(world: &mut World, a: u32, b: u32, point: Vec3, kind: JointKind) {
    let desc = JointDesc {
        kind,
        anchor_a: local(&world.bodies[a as usize].pose, point),
        anchor_b: local(&world.bodies[b as usize].pose, point),
        contacts: false,
    };
    world.join(a, b, desc);
}

/// A hinge about a world axis with no stop and no motor.
pub(crate) const fn hinge(axis: Vec3) -> JointKind {
    JointKind::Revolute { axis, limits: None, motor: None }
}

/// A hinge about a world axis that turns from `low` to `high` radians from its start pose.
pub(crate) const fn limited_hinge(axis: Vec3, low: f32, high: f32) -> JointKind {
    JointKind::Revolute { axis, limits: Some([low, high]), motor: None }
}

fn local(pose: &Pose, point: Vec3) -> Pose {
    let inverse = pose.rotation.inverse();
    Pose { position: inverse * (point - pose.position), rotation: inverse }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyDesc, Quat, Shape, Velocity};

    #[test]
    fn anchors_meet_at_the_point_and_frames_agree() {
        let mut world = World::new("test");
        let turned = Pose::at(Vec3::new(1.0, 2.0, 3.0)).turned(Quat::from_rotation_z(0.7));
        let a = world.add(BodyDesc::dynamic(Shape::ball(0.5)), turned, Velocity::ZERO);
        let b = world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::at(Vec3::X), Velocity::ZERO);
        let point = Vec3::new(0.0, 5.0, 0.0);
        join_at(&mut world, a, b, point, hinge(Vec3::Z));
        let desc = &world.joints[0].desc;
        assert!(turned.transform(desc.anchor_a.position).distance(point) < 1e-5);
        assert!(world.bodies[1].pose.transform(desc.anchor_b.position).distance(point) < 1e-5);
        let frame = turned.rotation * desc.anchor_a.rotation;
        assert!(frame.angle_between(world.bodies[1].pose.rotation * desc.anchor_b.rotation) < 1e-3);
    }
}

//! A jointed human figure of eleven bodies.

use nimbus_model::{BodyDesc, JointKind, Pose, Quat, Shape, Vec3, Velocity, World};

use crate::jointing::{join_at, limited_hinge};

/// How high the figure's pelvis is above its soles, metres.
pub(crate) const PELVIS_HEIGHT: f32 = 0.98;

/// Adds a figure that stands upright, facing +z, with its arms stretched sideways. Returns the index of its head.
///
/// Parts of one figure do not collide with their joint partners; other parts do, as skin would.
pub(crate) fn add_figure(world: &mut World, pelvis: Vec3, velocity: Vec3) -> u32 {
    let mut part = |shape: Shape, offset: Vec3, lying: bool| {
        let desc = BodyDesc {
            density: 900.0,
            friction: 0.6,
            linear_damping: 0.02,
            angular_damping: 0.4,
            ..BodyDesc::dynamic(shape)
        };
        let rotation = if lying { LYING } else { Quat::IDENTITY };
        world.add(desc, Pose::at(pelvis + offset).turned(rotation), Velocity::linear(velocity))
    };
    let capsule = |half_height: f32, radius: f32| Shape::Capsule { half_height, radius };

    let hips = part(Shape::cuboid(0.16, 0.09, 0.1), Vec3::ZERO, false);
    let chest = part(Shape::cuboid(0.18, 0.21, 0.11), Vec3::new(0.0, 0.33, 0.0), false);
    let head = part(Shape::ball(0.13), Vec3::new(0.0, 0.73, 0.0), false);
    let mut joints = vec![
        (hips, chest, Vec3::new(0.0, 0.105, 0.0), limited_hinge(Vec3::X, -0.4, 0.9)),
        (chest, head, Vec3::new(0.0, 0.57, 0.0), limited_hinge(Vec3::X, -0.5, 0.6)),
    ];
    for side in [-1.0, 1.0] {
        let upper_arm = part(capsule(0.11, 0.055), Vec3::new(side * 0.39, 0.47, 0.0), true);
        let lower_arm = part(capsule(0.11, 0.05), Vec3::new(side * 0.74, 0.47, 0.0), true);
        let thigh = part(capsule(0.14, 0.075), Vec3::new(side * 0.1, -0.33, 0.0), false);
        let shin = part(capsule(0.15, 0.06), Vec3::new(side * 0.1, -0.77, 0.0), false);
        let bend = if side > 0.0 { [-2.2, 0.05] } else { [-0.05, 2.2] };
        joints.push((chest, upper_arm, Vec3::new(side * 0.205, 0.47, 0.0), JointKind::Spherical));
        joints.push((
            upper_arm,
            lower_arm,
            Vec3::new(side * 0.57, 0.47, 0.0),
            limited_hinge(Vec3::Y, bend[0], bend[1]),
        ));
        joints.push((hips, thigh, Vec3::new(side * 0.1, -0.105, 0.0), JointKind::Spherical));
        joints.push((thigh, shin, Vec3::new(side * 0.1, -0.55, 0.0), limited_hinge(Vec3::X, -0.05, 2.2)));
    }
    for (a, b, offset, kind) in joints {
        join_at(world, a, b, pelvis + offset, kind);
    }
    head
}

/// Turns the `y` axis of a capsule along `x`.
const LYING: Quat = Quat::from_xyzw(0.0, 0.0, std::f32::consts::FRAC_1_SQRT_2, std::f32::consts::FRAC_1_SQRT_2);

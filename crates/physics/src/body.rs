//! From a described body to an engine body and its one collider.

use nimbus_model::{BodyDesc, BodyKind, Groups, Motion, Nid};
use rapier3d::dynamics::{LockedAxes, RigidBody, RigidBodyBuilder, RigidBodyType};
use rapier3d::geometry::{
    ActiveCollisionTypes, Collider, ColliderBuilder, ColliderHandle, Group as EngineGroup, InteractionGroups,
    InteractionTestMode,
};
use rapier3d::parry::shape::SharedShape;
use rapier3d::pipeline::ActiveEvents;
use std::sync::Arc;

use crate::convert::engine_pose;
use crate::quiet;

/// What this crate keeps about a body beside the engine's own record.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) nid: Nid,
    pub(crate) desc: Arc<BodyDesc>,
    pub(crate) shape: SharedShape,
    pub(crate) collider: ColliderHandle,
    /// In the awake list; follows the engine once a step.
    pub(crate) awake: bool,
    /// Came asleep and has not been stepped yet, see `quiet.rs`; the engine still counts it as awake.
    pub(crate) dozing: bool,
}

/// The engine body; its user data is the id.
pub(crate) fn build_body(nid: Nid, desc: &BodyDesc, motion: &Motion) -> RigidBody {
    let kind = match desc.kind {
        BodyKind::Dynamic => RigidBodyType::Dynamic,
        BodyKind::Kinematic => RigidBodyType::KinematicVelocityBased,
        BodyKind::Static => RigidBodyType::Fixed,
    };
    let mut body = RigidBodyBuilder::new(kind)
        .pose(engine_pose(&motion.pose))
        .linvel(motion.velocity.linear)
        .angvel(motion.velocity.angular)
        .linear_damping(desc.linear_damping)
        .angular_damping(desc.angular_damping)
        .gravity_scale(desc.gravity_scale)
        .locked_axes(locked_axes(desc))
        .ccd_enabled(desc.ccd)
        .can_sleep(desc.can_sleep)
        .user_data(u128::from(nid.0))
        .build();
    body.add_force(motion.force, false);
    body.add_torque(motion.torque, false);
    if desc.kind != BodyKind::Static {
        quiet::carry(&mut body, motion, sleeps(desc, motion));
    }
    body
}

/// True for a body that arrives asleep.
pub(crate) fn sleeps(desc: &BodyDesc, motion: &Motion) -> bool {
    motion.sleeping && desc.can_sleep && desc.kind != BodyKind::Static
}

/// The engine collider; its user data is the id.
pub(crate) fn build_collider(nid: Nid, desc: &BodyDesc, shape: SharedShape) -> Collider {
    let mut collider = ColliderBuilder::new(shape)
        .friction(desc.friction)
        .restitution(desc.restitution)
        .collision_groups(groups(desc.groups))
        .sensor(desc.sensor)
        .active_events(ActiveEvents::COLLISION_EVENTS)
        .user_data(u128::from(nid.0));
    if !desc.shape.is_surface() {
        collider = collider.density(desc.density);
    }
    if desc.sensor {
        // A sensor reports whoever enters, also a kinematic body that enters a static sensor.
        collider = collider.active_collision_types(ActiveCollisionTypes::all() & !ActiveCollisionTypes::FIXED_FIXED);
    }
    collider.build()
}

pub(crate) fn groups(groups: Groups) -> InteractionGroups {
    InteractionGroups::new(
        EngineGroup::from_bits_retain(groups.memberships),
        EngineGroup::from_bits_retain(groups.filter),
        InteractionTestMode::And,
    )
}

fn locked_axes(desc: &BodyDesc) -> LockedAxes {
    let all = [
        (desc.locked.translation[0], LockedAxes::TRANSLATION_LOCKED_X),
        (desc.locked.translation[1], LockedAxes::TRANSLATION_LOCKED_Y),
        (desc.locked.translation[2], LockedAxes::TRANSLATION_LOCKED_Z),
        (desc.locked.rotation[0], LockedAxes::ROTATION_LOCKED_X),
        (desc.locked.rotation[1], LockedAxes::ROTATION_LOCKED_Y),
        (desc.locked.rotation[2], LockedAxes::ROTATION_LOCKED_Z),
    ];
    all.iter().filter(|(locked, _)| *locked).fold(LockedAxes::empty(), |axes, (_, axis)| axes | *axis)
}

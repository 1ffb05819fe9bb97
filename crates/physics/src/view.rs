//! Reading bodies.

use nimbus_model::{Aabb, BodyDesc, BodyKind, Extent, Motion, Nid, Pose, Vec3, Velocity};
use rapier3d::dynamics::{RigidBody, RigidBodyHandle};
use rapier3d::math::Pose as EnginePose;
use rapier3d::parry::bounding_volume::BoundingVolume;
use rapier3d::parry::shape::SharedShape;
use std::sync::Arc;

use crate::body::Slot;
use crate::{PhysicsWorld, convert};

/// What others may see of a body.
#[derive(Clone, Copy)]
pub struct BodyView<'a> {
    /// Its name.
    pub nid: Nid,
    /// What it is.
    pub desc: &'a Arc<BodyDesc>,
    /// Where it is.
    pub pose: Pose,
    /// How it moves.
    pub velocity: Velocity,
    shape: &'a SharedShape,
    body: &'a RigidBody,
}

impl BodyView<'_> {
    /// The tight box around its shape, in the world. Computed at every call.
    pub fn aabb(&self) -> Aabb {
        tight_aabb(self.shape, self.body.position())
    }

    /// The room it takes, in the world. Computed at every call.
    pub fn extent(&self) -> Extent {
        Extent::of(&self.desc.shape, &self.pose, self.aabb())
    }

    /// Its mass, kilograms.
    pub fn mass(&self) -> f32 {
        self.body.mass()
    }

    /// How fast any point of it moves into room that it does not take yet, m/s: the speed of its centre and what its
    /// spin adds.
    pub fn surface_speed(&self) -> f32 {
        let Velocity { linear, angular } = self.velocity;
        linear.length() + self.desc.shape.turning_speed(self.pose.rotation, angular)
    }

    /// Mass, kilograms, as what it strikes feels it: infinite for a body that nothing moves.
    pub fn striking_mass(&self) -> f32 {
        if self.body.is_dynamic() { self.body.mass() } else { f32::INFINITY }
    }

    /// True for a body that acts on others within a step: the engine looks along its whole way for movable bodies, not only
    /// at where it starts. It can be stopped one tick earlier than any other body could touch what stops it.
    pub fn sweeps(&self) -> bool {
        self.desc.ccd && self.desc.kind == BodyKind::Dynamic
    }

    /// The acceleration that the force set on it gives it, m/s2.
    pub fn drive(&self) -> f32 {
        let force = self.body.user_force();
        if force == Vec3::ZERO { 0.0 } else { force.length() / self.body.mass().max(1e-6) }
    }
}

impl PhysicsWorld {
    /// True for an owned body; statics are not owned.
    pub fn contains(&self, nid: Nid) -> bool {
        self.index.contains(nid)
    }

    /// Number of owned bodies.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// True when no body is owned.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of owned bodies that are awake.
    pub fn awake_len(&self) -> usize {
        self.awake.len()
    }

    /// Owned bodies in the order of ids.
    pub fn nids(&self) -> impl ExactSizeIterator<Item = Nid> + '_ {
        self.index.iter().map(|(nid, _)| nid)
    }

    /// Owned bodies that are awake, in the order of ids. Costs nothing for bodies asleep.
    pub fn awake(&self) -> impl ExactSizeIterator<Item = Nid> + '_ {
        self.awake.iter().map(|(nid, _)| nid)
    }

    /// Calls `each` for every owned body that is awake, in the order of ids. Costs nothing for bodies asleep.
    pub fn for_each_awake(&self, mut each: impl FnMut(BodyView<'_>)) {
        for (_, handle) in self.awake.iter() {
            if let Some(slot) = self.slot(handle) {
                each(self.view_of(slot, handle));
            }
        }
    }

    /// Calls `each` for every owned body, awake or not, in the order of ids.
    pub fn for_each(&self, mut each: impl FnMut(BodyView<'_>)) {
        for (_, handle) in self.index.iter() {
            if let Some(slot) = self.slot(handle) {
                each(self.view_of(slot, handle));
            }
        }
    }

    /// A body, owned or static.
    pub fn view(&self, nid: Nid) -> Option<BodyView<'_>> {
        let handle = self.handle_of_any(nid)?;
        Some(self.view_of(self.slot(handle)?, handle))
    }

    /// What an owned body is doing, complete: inserted elsewhere, it goes on as it did here.
    pub fn motion(&self, nid: Nid) -> Option<Motion> {
        self.index.get(nid).map(|handle| self.motion_of(handle))
    }

    /// How many pairs of bodies the engine looked at closely in the last step, because they touch or nearly do. What a
    /// step costs depends on it.
    pub fn pair_count(&self) -> usize {
        self.engine.narrow_phase.contact_pairs().count()
    }

    /// The owned bodies and statics that an owned body touches now, sorted. A body inserted since the last step
    /// touches nothing yet.
    pub fn touching(&self, nid: Nid) -> Vec<Nid> {
        let Some(slot) = self.index.get(nid).and_then(|handle| self.slot(handle)) else { return Vec::new() };
        let solid = self.engine.narrow_phase.contact_pairs_with(slot.collider);
        let solid = solid.filter(|pair| pair.has_any_active_contact()).map(|pair| (pair.collider1, pair.collider2));
        let sensed = self.engine.narrow_phase.intersection_pairs_with(slot.collider);
        let sensed = sensed.filter(|(_, _, touch)| *touch).map(|(one, two, _)| (one, two));
        let mut others: Vec<Nid> = solid
            .chain(sensed)
            .map(|(one, two)| if one == slot.collider { two } else { one })
            .filter_map(|other| self.present_nid(self.engine.colliders.get(other)?))
            .collect();
        others.sort_unstable();
        others.dedup();
        others
    }

    /// How deep two owned bodies were in each other when the last step found them touching, metres; below zero when
    /// they were only close. `None` when it found no contact.
    pub fn contact_depth(&self, a: Nid, b: Nid) -> Option<f32> {
        let collider = |nid| self.index.get(nid).and_then(|handle| self.slot(handle)).map(|slot| slot.collider);
        let pair = self.engine.narrow_phase.contact_pair(collider(a)?, collider(b)?)?;
        pair.find_deepest_contact().map(|(_, contact)| -contact.dist)
    }

    pub(crate) fn motion_of(&self, handle: RigidBodyHandle) -> Motion {
        let body = &self.engine.bodies[handle];
        Motion {
            pose: convert::pose(body.position()),
            velocity: convert::velocity(body),
            force: body.user_force(),
            torque: body.user_torque(),
            sleeping: self.is_asleep(handle),
            quiet_s: body.activation().time_since_can_sleep,
        }
    }

    pub(crate) fn is_asleep(&self, handle: RigidBodyHandle) -> bool {
        self.engine.bodies[handle].is_sleeping() || self.slot(handle).is_some_and(|slot| slot.dozing)
    }

    fn view_of<'a>(&'a self, slot: &'a Slot, handle: RigidBodyHandle) -> BodyView<'a> {
        let body = &self.engine.bodies[handle];
        BodyView {
            nid: slot.nid,
            desc: &slot.desc,
            pose: convert::pose(body.position()),
            velocity: convert::velocity(body),
            shape: &slot.shape,
            body,
        }
    }
}

/// The box around a shape at a pose. The engine turns the box of a whole compound, which is loose; its parts are not.
fn tight_aabb(shape: &SharedShape, pose: &EnginePose) -> Aabb {
    let parts = shape.as_compound().map_or(&[][..], |compound| compound.shapes());
    let boxes = parts.iter().map(|(place, part)| part.compute_aabb(&(*pose * *place)));
    let tight = boxes.reduce(|one, two| one.merged(&two));
    convert::aabb(&tight.unwrap_or_else(|| shape.compute_aabb(pose)))
}

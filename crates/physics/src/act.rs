//! Acting on bodies from outside.

use nimbus_model::{Nid, Pose, Quat, Vec3, Velocity};
use rapier3d::dynamics::{RigidBody, RigidBodyHandle};

use crate::PhysicsWorld;
use crate::convert::{self, LIMIT};

impl PhysicsWorld {
    /// Gives an owned dynamic body an impulse in N s, at a point of the world or else at its centre of mass, and wakes
    /// it. False if nothing was done: the body is not here, not dynamic, or the numbers are out of bounds.
    pub fn push(&mut self, nid: Nid, impulse: Vec3, at: Option<Vec3>) -> bool {
        if !is_bounded(impulse) || !at.is_none_or(is_bounded) {
            return false;
        }
        self.act(nid, |body| {
            if !body.is_dynamic() {
                return false;
            }
            let before = (body.linvel(), body.angvel());
            match at {
                Some(point) => body.apply_impulse_at_point(impulse, point, true),
                None => body.apply_impulse(impulse, true),
            }
            let good = is_bounded(body.linvel()) && is_bounded(body.angvel());
            if !good {
                body.set_linvel(before.0, false);
                body.set_angvel(before.1, false);
            }
            good
        })
    }

    /// Adds to the velocity of an owned body and wakes it. False if nothing was done.
    pub fn change_velocity(&mut self, nid: Nid, linear: Vec3, angular: Vec3) -> bool {
        let Some(handle) = self.index.get(nid) else { return false };
        let body = &self.engine.bodies[handle];
        let velocity = Velocity { linear: body.linvel() + linear, angular: body.angvel() + angular };
        self.set_velocity(nid, velocity)
    }

    /// Replaces the velocity of an owned body and wakes it. False if nothing was done.
    pub fn set_velocity(&mut self, nid: Nid, velocity: Velocity) -> bool {
        if !is_bounded(velocity.linear) || !is_bounded(velocity.angular) {
            return false;
        }
        self.act(nid, |body| {
            body.set_linvel(velocity.linear, true);
            body.set_angvel(velocity.angular, true);
            true
        })
    }

    /// The velocity with which an owned kinematic body is at a pose after so many steps, if nothing else changes it. `None`
    /// if it is not here.
    pub fn velocity_to(&self, nid: Nid, to: &Pose, steps: u32) -> Option<Velocity> {
        let body = self.engine.bodies.get(self.index.get(nid)?)?;
        let span = steps.max(1) as f32 * self.engine.integration_parameters.dt;
        // The engine moves and turns a body about its centre of mass.
        let from = convert::pose(body.position());
        let centre = body.local_center_of_mass();
        let way = to.transform(centre) - from.transform(centre);
        Some(Velocity { linear: way / span, angular: turn(from.rotation, to.rotation) / span })
    }

    /// True when an owned body is at a pose, but for rounding.
    pub fn is_at(&self, nid: Nid, pose: &Pose) -> bool {
        let body = self.index.get(nid).and_then(|handle| self.engine.bodies.get(handle));
        body.map(|body| convert::pose(body.position())).is_some_and(|now| {
            let near = 1e-3 + 1e-6 * pose.position.abs().max_element();
            now.position.distance(pose.position) < near && turn(now.rotation, pose.rotation).length() < 1e-2
        })
    }

    /// Replaces the force and torque that act on an owned dynamic body every step, and wakes it. False if nothing was
    /// done.
    pub fn set_force(&mut self, nid: Nid, force: Vec3, torque: Vec3) -> bool {
        if !force.is_finite() || !torque.is_finite() {
            return false;
        }
        self.act(nid, |body| {
            body.reset_forces(true);
            body.reset_torques(true);
            body.add_force(force, true);
            body.add_torque(torque, true);
            body.is_dynamic()
        })
    }

    /// Wakes an owned body; its island follows with the next step. False if it is not here.
    pub fn wake(&mut self, nid: Nid) -> bool {
        self.act(nid, |_| true)
    }

    fn act(&mut self, nid: Nid, change: impl FnOnce(&mut RigidBody) -> bool) -> bool {
        let Some(handle) = self.index.get(nid) else { return false };
        let Some(body) = self.engine.bodies.get_mut(handle) else { return false };
        let done = change(body);
        if done {
            body.wake_up(true);
            self.note_awake(nid, handle);
        }
        done
    }

    fn note_awake(&mut self, nid: Nid, handle: RigidBodyHandle) {
        if let Some(slot) = self.slot_mut(handle).filter(|slot| !slot.awake) {
            slot.awake = true;
            slot.dozing = false;
            self.awake.merge(&[(nid, handle)]);
            self.woken.push(nid);
        }
    }
}

/// The axis about which to turn from one orientation to another, as long as the angle, the short way round.
fn turn(from: Quat, to: Quat) -> Vec3 {
    let between = to * from.inverse();
    let short = if between.w < 0.0 { -between } else { between };
    short.to_scaled_axis()
}

fn is_bounded(vector: Vec3) -> bool {
    vector.abs().max_element() <= LIMIT && vector.is_finite()
}

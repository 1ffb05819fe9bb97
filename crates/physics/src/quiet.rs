//! Carrying sleep over: for how long a body has been quiet, and whether it sleeps.
//!
//! The engine lets a body sleep once it has hardly moved for half a second, judged by its pose one step ago. A body new
//! to the engine has no pose one step ago, so its timer would start anew with every change of servers, and a pile near
//! a border would never come to rest. That earlier pose can only be written by reading it in, hence the detour.
//!
//! A body put into the engine asleep would be woken by its own first contacts, even by the ground. So a sleeper goes in
//! awake, at rest and with its timer run out. The engine finds its contacts, sees that the whole island is due for
//! sleep, and lets it sleep before anything moves; if it touches something lively it stays awake, as it should.

use nimbus_model::{Motion, Vec3, coding};
use rapier3d::dynamics::{RigidBody, RigidBodyActivation};
use rapier3d::math::Pose as EnginePose;
use serde::Serialize;

/// The engine's sleep record, field by field as it reads it.
#[derive(Serialize)]
struct SleepRecord {
    normalized_linear_threshold: f32,
    angular_threshold: f32,
    time_until_sleep: f32,
    time_since_can_sleep: f32,
    sleeping: bool,
    sleep_prev_pose: EnginePose,
}

/// Gives a new body the sleep timer it had where it came from; one that `sleeps` is due at once.
pub(crate) fn carry(body: &mut RigidBody, motion: &Motion, sleeps: bool) {
    let now = *body.activation();
    let quiet_s = if sleeps { motion.quiet_s.max(now.time_until_sleep) } else { motion.quiet_s };
    if sleeps {
        body.set_linvel(Vec3::ZERO, false);
        body.set_angvel(Vec3::ZERO, false);
    }
    body.activation_mut().time_since_can_sleep = quiet_s;
    if quiet_s <= 0.0 {
        return;
    }
    let record = SleepRecord {
        normalized_linear_threshold: now.normalized_linear_threshold,
        angular_threshold: now.angular_threshold,
        time_until_sleep: now.time_until_sleep,
        time_since_can_sleep: quiet_s,
        sleeping: now.sleeping,
        sleep_prev_pose: *body.position(),
    };
    let read = coding::read::<RigidBodyActivation>(&coding::write(&record));
    // Should the engine's record ever change its form, the timer starts anew; a test tells.
    if let Ok(activation) = read {
        *body.activation_mut() = activation;
    }
}

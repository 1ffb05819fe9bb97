//! Where a body is and how it moves.

use glam::{Quat, Vec3};
use serde::{Deserialize, Serialize};

/// Position in metres and orientation (unit quaternion) in the world frame; `y` is up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Centre of the body's frame, metres.
    pub position: Vec3,
    /// Unit quaternion, x y z w.
    pub rotation: Quat,
}

impl Pose {
    /// At the origin, unturned.
    pub const IDENTITY: Pose = Pose { position: Vec3::ZERO, rotation: Quat::IDENTITY };

    /// Unturned at `position`.
    pub const fn at(position: Vec3) -> Pose {
        Pose { position, rotation: Quat::IDENTITY }
    }

    /// The same place with another orientation.
    pub const fn turned(self, rotation: Quat) -> Pose {
        Pose { rotation, ..self }
    }

    /// A point of this frame in world coordinates.
    pub fn transform(&self, local: Vec3) -> Vec3 {
        self.position + self.rotation * local
    }

    /// True when every component is a number a body may have and the rotation is of unit length.
    pub fn is_valid(&self) -> bool {
        self.position.is_finite() && self.rotation.is_finite() && (self.rotation.length_squared() - 1.0).abs() < 1e-2
    }
}

impl Default for Pose {
    fn default() -> Self {
        Pose::IDENTITY
    }
}

/// Linear velocity in m/s and angular velocity in rad/s, world frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Velocity {
    /// Metres per second.
    pub linear: Vec3,
    /// Radians per second about each axis.
    pub angular: Vec3,
}

impl Velocity {
    /// Not moving.
    pub const ZERO: Velocity = Velocity { linear: Vec3::ZERO, angular: Vec3::ZERO };

    /// Moving without turning.
    pub const fn linear(linear: Vec3) -> Velocity {
        Velocity { linear, angular: Vec3::ZERO }
    }

    /// True when every component is a number.
    pub fn is_valid(&self) -> bool {
        self.linear.is_finite() && self.angular.is_finite()
    }
}

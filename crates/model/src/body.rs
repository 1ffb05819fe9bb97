//! What a body is (its description, fixed for life) and what it is doing (its motion, which travels with it).

use glam::Vec3;
use serde::{Deserialize, Serialize};

use crate::{Nid, Pose, Shape, Velocity};

/// How a body takes part in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BodyKind {
    /// Moved by forces; has one owner.
    #[default]
    Dynamic,
    /// Moves with its velocity whatever it meets; has one owner.
    Kinematic,
    /// Never moves; every server holds a copy.
    Static,
}

/// Which bodies a body collides with: two touch when each one's memberships meet the other's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Groups {
    /// Bits of the groups the body is in.
    pub memberships: u32,
    /// Bits of the groups it touches.
    pub filter: u32,
}

impl Default for Groups {
    fn default() -> Self {
        Groups { memberships: u32::MAX, filter: u32::MAX }
    }
}

/// Axes a body may not move along or turn about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedAxes {
    /// Per axis x, y, z: no translation.
    pub translation: [bool; 3],
    /// Per axis x, y, z: no rotation.
    pub rotation: [bool; 3],
}

/// What a body is; fixed from birth to death.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyDesc {
    /// Dynamic, kinematic or static.
    pub kind: BodyKind,
    /// Its form.
    pub shape: Shape,
    /// Mass per volume, kg/m3.
    pub density: f32,
    /// Coulomb coefficient, 0 to 10.
    pub friction: f32,
    /// Bounciness, 0 to 1.
    pub restitution: f32,
    /// Loss of linear speed per second.
    pub linear_damping: f32,
    /// Loss of angular speed per second.
    pub angular_damping: f32,
    /// Factor on the world's gravity.
    pub gravity_scale: f32,
    /// Whom it collides with.
    pub groups: Groups,
    /// Axes it may not use.
    pub locked: LockedAxes,
    /// Reports touches without pushing back.
    pub sensor: bool,
    /// Swept against static geometry when fast.
    pub ccd: bool,
    /// May come to rest and cost nothing.
    pub can_sleep: bool,
    /// For the application; carried, never read.
    pub user_data: u64,
}

impl BodyDesc {
    /// A body of this form with everything else at its default.
    pub const fn new(kind: BodyKind, shape: Shape) -> BodyDesc {
        BodyDesc {
            kind,
            shape,
            density: 1000.0,
            friction: 0.5,
            restitution: 0.0,
            linear_damping: 0.0,
            angular_damping: 0.0,
            gravity_scale: 1.0,
            groups: Groups { memberships: u32::MAX, filter: u32::MAX },
            locked: LockedAxes { translation: [false; 3], rotation: [false; 3] },
            sensor: false,
            ccd: false,
            can_sleep: true,
            user_data: 0,
        }
    }

    /// A dynamic body of this form.
    pub const fn dynamic(shape: Shape) -> BodyDesc {
        BodyDesc::new(BodyKind::Dynamic, shape)
    }

    /// A static body of this form.
    pub const fn fixed(shape: Shape) -> BodyDesc {
        BodyDesc::new(BodyKind::Static, shape)
    }

    /// What is wrong with the description, in words for the person who wrote it; `None` when nothing is.
    pub fn problem(&self) -> Option<String> {
        let within = |what: &str, value: f32, low: f32, high: f32| {
            let good = value.is_finite() && value >= low && value <= high;
            (!good).then(|| format!("{what} is {value}; it must be from {low} to {high}"))
        };
        if self.shape.is_surface() && self.kind != BodyKind::Static {
            return Some("only a static body may be a trimesh or a heightfield; use kind = \"static\"".to_owned());
        }
        self.shape
            .problem()
            .or_else(|| within("density", self.density, 1e-3, 1e6))
            .or_else(|| within("friction", self.friction, 0.0, 10.0))
            .or_else(|| within("restitution", self.restitution, 0.0, 1.0))
            .or_else(|| within("linear_damping", self.linear_damping, 0.0, 1e3))
            .or_else(|| within("angular_damping", self.angular_damping, 0.0, 1e3))
            .or_else(|| within("gravity_scale", self.gravity_scale, -100.0, 100.0))
    }
}

/// What a body is doing: everything about it that changes, and therefore everything that must travel with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// Where it is.
    pub pose: Pose,
    /// How it moves.
    pub velocity: Velocity,
    /// Force that acts on it every step until changed, newtons.
    pub force: Vec3,
    /// Torque that acts on it every step until changed, newton metres.
    pub torque: Vec3,
    /// At rest and not simulated until something wakes it.
    pub sleeping: bool,
    /// For how long it has been slow, seconds; decides when it may fall asleep.
    pub quiet_s: f32,
}

impl Motion {
    /// At a pose, moving.
    pub fn new(pose: Pose, velocity: Velocity) -> Motion {
        Motion { pose, velocity, ..Motion::default() }
    }

    /// True when every number in it is one.
    pub fn is_valid(&self) -> bool {
        self.pose.is_valid()
            && self.velocity.is_valid()
            && self.force.is_finite()
            && self.torque.is_finite()
            && self.quiet_s.is_finite()
    }
}

/// Where a body is and how it moves, as its owner says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateUpdate {
    /// Which body.
    pub nid: Nid,
    /// Under which reign; an observer that knows a higher one ignores the update.
    pub body_epoch: u32,
    /// Where.
    pub pose: Pose,
    /// How it moves.
    pub velocity: Velocity,
}

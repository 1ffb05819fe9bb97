//! What holds two bodies together.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use crate::Pose;

/// Drives a joint's free axis towards a speed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Motor {
    /// Wanted speed, rad/s or m/s.
    pub speed: f32,
    /// How hard the motor tries: the damping factor of the velocity error.
    pub factor: f32,
    /// Greatest torque or force, N m or N.
    pub limit: f32,
}

/// The freedom a joint leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JointKind {
    /// None.
    Fixed,
    /// Turning about one axis.
    Revolute {
        /// Unit vector in the frames of both anchors.
        axis: Vec3,
        /// Least and greatest angle, radians.
        limits: Option<[f32; 2]>,
        /// Drives the angle.
        motor: Option<Motor>,
    },
    /// Sliding along one axis.
    Prismatic {
        /// Unit vector in the frames of both anchors.
        axis: Vec3,
        /// Least and greatest offset, metres.
        limits: Option<[f32; 2]>,
        /// Drives the offset.
        motor: Option<Motor>,
    },
    /// Turning freely about the anchor.
    Spherical,
    /// Anywhere up to a distance.
    Rope {
        /// Greatest distance between the anchors, metres.
        length: f32,
    },
    /// Pulled towards a distance.
    Spring {
        /// Distance at rest, metres.
        rest: f32,
        /// N/m.
        stiffness: f32,
        /// N s/m.
        damping: f32,
    },
}

/// What a joint is; fixed from making to breaking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointDesc {
    /// The freedom it leaves.
    pub kind: JointKind,
    /// Anchor in the frame of the first body.
    pub anchor_a: Pose,
    /// Anchor in the frame of the second body.
    pub anchor_b: Pose,
    /// Whether the two bodies also collide.
    pub contacts: bool,
}

impl JointDesc {
    /// A joint at these two points, frames unturned, bodies not colliding.
    pub const fn new(kind: JointKind, a: Vec3, b: Vec3) -> JointDesc {
        JointDesc { kind, anchor_a: Pose::at(a), anchor_b: Pose::at(b), contacts: false }
    }

    /// What is wrong with the description, in words for the person who wrote it; `None` when nothing is.
    pub fn problem(&self) -> Option<String> {
        if !self.anchor_a.is_valid() || !self.anchor_b.is_valid() {
            return Some("an anchor is not finite or its rotation not of unit length".to_owned());
        }
        let positive = |what: &str, value: f32| {
            let good = value.is_finite() && value > 0.0 && value <= 1e9;
            (!good).then(|| format!("{what} is {value}; it must be above 0"))
        };
        match &self.kind {
            JointKind::Fixed | JointKind::Spherical => None,
            JointKind::Rope { length } => positive("length", *length),
            JointKind::Spring { rest, stiffness, damping } => {
                let good = rest.is_finite() && *rest >= 0.0 && damping.is_finite() && *damping >= 0.0;
                (!good)
                    .then(|| "rest and damping of a spring must be 0 or more".to_owned())
                    .or_else(|| positive("stiffness", *stiffness))
            }
            JointKind::Revolute { axis, limits, motor } | JointKind::Prismatic { axis, limits, motor } => {
                if !axis.is_finite() || (axis.length() - 1.0).abs() > 1e-2 {
                    return Some(format!("axis is {axis}; it must be of length 1"));
                }
                if let Some([low, high]) = limits
                    && !(low.is_finite() && high.is_finite() && low <= high)
                {
                    return Some(format!("limits are {low} to {high}; write the lower one first"));
                }
                motor.and_then(|m| {
                    let good = m.speed.is_finite() && m.factor.is_finite() && m.factor >= 0.0;
                    (!good)
                        .then(|| "motor speed and factor must be finite, factor 0 or more".to_owned())
                        .or_else(|| positive("motor limit", m.limit))
                })
            }
        }
    }
}

//! The steps of a stream as numbers to calculate with, and poses in them.

use nimbus_model::{Pose, Quat, Vec3};

use super::prediction::{Sample, kept};
use super::rotation::{ComponentGrid, unit};
use super::{BodyState, StreamConfig};

/// Parts of a step of a position. Predictions come between steps; were they rounded to whole ones, the rounding would have
/// to be sent too.
pub(super) const PARTS: i32 = 16;

/// A [`StreamConfig`] in the units that bodies are coded in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) config: StreamConfig,
    part_m: f64,
    /// Furthest position along an axis, steps.
    pub(super) reach: u32,
    /// One step of a turn, as the tangent of half its angle.
    pub(super) half_turn: f64,
    pub(super) three: ComponentGrid,
    pub(super) four: ComponentGrid,
}

impl Scale {
    pub(super) fn new(config: StreamConfig) -> Scale {
        let step_m = f64::from(config.fidelity.position_um()) * 1e-6;
        let step_rad = (f64::from(config.fidelity.rotation_mdeg()) * 1e-3).to_radians();
        Scale {
            config,
            part_m: step_m / f64::from(PARTS),
            reach: (f64::from(config.fidelity.reach_m()) / step_m) as u32,
            half_turn: step_rad / 2.0,
            three: ComponentGrid::of_three(step_rad),
            four: ComponentGrid::of_four(step_rad),
        }
    }

    /// Furthest position along an axis, parts of a step.
    pub(super) fn limit(&self) -> i32 {
        self.reach as i32 * PARTS
    }

    /// Bits of a position that is sent in full.
    pub(super) fn width(&self) -> u32 {
        32 - (2 * self.reach).leading_zeros()
    }

    /// A body as exactly as it can be kept, motion unknown.
    pub(super) fn sample(&self, body: &BodyState) -> Sample {
        let p = body.pose.position;
        let position = [p.x, p.y, p.z].map(|c| {
            if self.config.techniques.quantised {
                // Not a number becomes 0, and what is too far away the limit.
                ((f64::from(c) / self.part_m).round() as i32).clamp(-self.limit(), self.limit())
            } else {
                c.to_bits() as i32
            }
        });
        let q = body.pose.rotation;
        let rotation = kept(unit([q.x, q.y, q.z, q.w].map(f64::from)));
        Sample { slot: body.slot, at_rest: body.at_rest, position, rotation, ..Sample::ORIGIN }
    }

    /// What a client is told.
    pub(super) fn body(&self, sample: &Sample) -> BodyState {
        let [x, y, z] = sample.position.map(|c| {
            if self.config.techniques.quantised {
                (f64::from(c) * self.part_m) as f32
            } else {
                f32::from_bits(c as u32)
            }
        });
        let [qx, qy, qz, qw] = sample.rotation;
        let pose = Pose { position: Vec3::new(x, y, z), rotation: Quat::from_xyzw(qx, qy, qz, qw) };
        BodyState { slot: sample.slot, pose, at_rest: sample.at_rest }
    }
}

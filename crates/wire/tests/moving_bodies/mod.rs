//! Bodies for streams to be tested with.

use nimbus_model::{Pose, Quat, Rng, Vec3};
use nimbus_wire::stream::BodyState;

/// Bodies that lie, slide, turn, jump, come and go.
pub(crate) struct Bodies {
    rng: Rng,
    /// With velocity and spin, in a tick.
    pub(crate) all: Vec<(BodyState, Vec3, Vec3)>,
}

impl Bodies {
    /// So many, all at rest.
    pub(crate) fn new(seed: u64, count: u32) -> Bodies {
        let mut rng = Rng::new(seed);
        let body = |slot| {
            let position = rng.point(Vec3::splat(-20.0), Vec3::splat(20.0));
            let turn = rng.point(Vec3::splat(-3.0), Vec3::splat(3.0));
            let pose = Pose { position, rotation: Quat::from_scaled_axis(turn) };
            (BodyState { slot: slot * 3 + 1, pose, at_rest: true }, Vec3::ZERO, Vec3::ZERO)
        };
        let all = (0..count).map(body).collect();
        Bodies { rng, all }
    }

    /// A tick passes.
    pub(crate) fn step(&mut self) {
        let rng = &mut self.rng;
        for (state, velocity, spin) in &mut self.all {
            match rng.below(40) {
                0 => {
                    *velocity = rng.point(Vec3::splat(-0.1), Vec3::splat(0.1));
                    *spin = rng.point(Vec3::splat(-0.2), Vec3::splat(0.2));
                }
                1 | 2 => (*velocity, *spin) = (Vec3::ZERO, Vec3::ZERO),
                3 if rng.chance(0.05) => state.pose.rotation = Quat::from_rotation_x(3.0) * state.pose.rotation,
                _ => {}
            }
            state.at_rest = *velocity == Vec3::ZERO;
            state.pose.position += *velocity;
            state.pose.rotation = (Quat::from_scaled_axis(*spin) * state.pose.rotation).normalize();
        }
    }

    /// Some of them are away for a while.
    pub(crate) fn seen(&self, tick: u32) -> Vec<BodyState> {
        self.all.iter().map(|body| body.0).filter(|body| !(body.slot + tick / 8).is_multiple_of(7)).collect()
    }
}

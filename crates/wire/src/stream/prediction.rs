//! What both ends know of a body at one snapshot, and where it would be later had nothing touched it since.

use super::rotation::{STILL, Turn, turn_between, turned};

/// Velocities have this many bits below a part of a step.
const VELOCITY_SHIFT: u32 = 8;
/// Most of a velocity that counts; beyond it nothing can be foretold anyway.
const VELOCITY_MAX: i64 = 1 << 30;
/// Most of a turn in a tick that counts, as the tangent of half its angle.
const SPIN_MAX: f64 = 0.5;

/// A body in a snapshot: what the client shows, and how it has moved from the snapshot before, which is never sent but
/// follows at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) slot: u32,
    pub(super) at_rest: bool,
    /// How far off the last prediction was, in bits: what to expect of the next.
    pub(super) position_miss: u8,
    pub(super) rotation_miss: u8,
    /// Parts of a step, or the bits of floats in a stream that is not quantised.
    pub(super) position: [i32; 3],
    /// Parts of a step in a tick, shifted.
    pub(super) velocity: [i32; 3],
    pub(super) rotation: [f32; 4],
    /// Turn in a tick.
    pub(super) spin: [f32; 3],
}

impl Sample {
    /// Where differences start when there is nothing to differ from.
    pub(super) const ORIGIN: Sample = Sample {
        slot: 0,
        at_rest: true,
        position_miss: 0,
        rotation_miss: 0,
        position: [0; 3],
        velocity: [0; 3],
        rotation: [0.0, 0.0, 0.0, 1.0],
        spin: [0.0; 3],
    };

    pub(super) fn turn(&self) -> Turn {
        self.rotation.map(f64::from)
    }

    /// Where it is after some ticks of the same motion.
    pub(super) fn place_after(&self, ticks: u32, limit: i32) -> [i32; 3] {
        std::array::from_fn(|i| {
            let way = (i64::from(self.velocity[i]) * i64::from(ticks)) >> VELOCITY_SHIFT;
            (i64::from(self.position[i]) + way).clamp(-i64::from(limit), i64::from(limit)) as i32
        })
    }

    /// How it is turned after some ticks of the same motion.
    pub(super) fn turn_after(&self, ticks: u32) -> Turn {
        turned(self.turn(), self.spin.map(|s| f64::from(s) * f64::from(ticks)))
    }

    /// The same, not moving.
    pub(super) fn stopped(&self) -> Sample {
        Sample { velocity: [0; 3], spin: [0.0; 3], position_miss: 0, rotation_miss: 0, ..*self }
    }

    /// Takes the motion from an earlier sample of the same body into account.
    pub(super) fn follow(&mut self, before: &Sample, ticks: u32) {
        let ticks = i64::from(ticks.max(1));
        for i in 0..3 {
            let way = (i64::from(self.position[i]) - i64::from(before.position[i])) << VELOCITY_SHIFT;
            self.velocity[i] = (way / ticks).clamp(-VELOCITY_MAX, VELOCITY_MAX) as i32;
        }
        let turn = turn_between(before.turn(), self.turn()).unwrap_or_default();
        self.spin = turn.map(|t| (t / ticks as f64).clamp(-SPIN_MAX, SPIN_MAX) as f32);
    }
}

/// A rotation as it is kept.
pub(super) fn kept(turn: Turn) -> [f32; 4] {
    let kept = turn.map(|c| c as f32);
    if kept.iter().all(|c| c.is_finite()) { kept } else { STILL.map(|c| c as f32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_motion_is_foretold() {
        let mut now = Sample { position: [1000, 0, -500], ..Sample::ORIGIN };
        let before = Sample { position: [400, 0, -530], rotation: kept(turned(STILL, [0.0, -0.1, 0.0])), ..now };
        now.follow(&before, 6);
        assert_eq!(now.place_after(6, 1 << 20), [1600, 0, -470]);
        assert_eq!(now.place_after(6, 1200), [1200, 0, -470]);
        let turn = turn_between(STILL, now.turn_after(6)).unwrap();
        assert!((turn[1] - 0.1).abs() < 1e-6 && turn[0].abs() < 1e-6);
        assert_eq!(now.stopped().place_after(6, 1 << 20), now.position);
    }
}

//! Where a body was between two known places, when more than a tick lies between them.
//!
//! A straight line is wrong for whatever falls: over three ticks by three millimetres. So the line is bent as the motion
//! before it says, but by no more than falling bends it: what has hit something meanwhile must not be thrown off.
//!
//! Three places of a body that hits something say the same as those of one that is thrown up: its way is bent upwards. Who must
//! not show it beneath the floor asks with [`falls`] first, and goes straight where it does not.

use nimbus_model::{Pose, Vec3};

/// Most that a path is bent, m/s2: about what gravity does.
const BEND_MAX: f32 = 10.0;
/// By so much, metres, the middle of a way may be off that of a body that falls, and still be taken for one. What rounding to
/// millimetres comes to at the most; less than falling is at 60 states a second, so what is shown is never beneath the straight
/// line.
const FALL_OFF_M: f32 = 0.000_25;

/// Where a body was at a time between two others, seconds, given where it was a little earlier if that is known.
pub fn between(earlier: Option<(f32, Pose)>, from: (f32, Pose), to: (f32, Pose), at: f32) -> Pose {
    let (gap, past) = (to.0 - from.0, at - from.0);
    if gap <= 0.0 {
        return to.1;
    }
    let share = (past / gap).clamp(0.0, 1.0);
    let turn = if from.1.rotation.dot(to.1.rotation) < 0.0 { -to.1.rotation } else { to.1.rotation };
    let mut position = from.1.position.lerp(to.1.position, share);
    if let Some(earlier) = earlier.filter(|(when, _)| *when < from.0) {
        position -= 0.5 * bend(earlier, from, to).clamp_length_max(BEND_MAX) * past * (gap - past);
    }
    Pose { position, rotation: from.1.rotation.lerp(turn, share).normalize() }
}

/// Whether nothing but gravity, m/s2, has moved a body through three places.
pub fn falls(earlier: (f32, Pose), from: (f32, Pose), to: (f32, Pose), gravity: Vec3) -> bool {
    let (first, gap) = (from.0 - earlier.0, to.0 - from.0);
    if first <= 0.0 || gap <= 0.0 {
        return false;
    }
    let off = (bend(earlier, from, to) - gravity).length() * gap * gap / 8.0;
    // The shorter the way before, the more it counts by what its ends were rounded.
    off <= FALL_OFF_M * (gap / first).max(1.0)
}

/// What bends the way through three places, one after the other, m/s2.
fn bend(earlier: (f32, Pose), from: (f32, Pose), to: (f32, Pose)) -> Vec3 {
    let before = (from.1.position - earlier.1.position) / (from.0 - earlier.0);
    let after = (to.1.position - from.1.position) / (to.0 - from.0);
    // The two are the velocities in the middle of their stretches.
    (after - before) / (0.5 * (to.0 - earlier.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that falls and flies.
    fn thrown(at: f32) -> Pose {
        Pose::at(Vec3::new(3.0 * at, 4.0 * at - 4.9 * at * at, 0.0))
    }

    #[test]
    fn what_falls_is_shown_where_it_was() {
        let (t0, t1, t2) = (1.0, 1.0 + 1.0 / 60.0, 1.0 + 4.0 / 60.0);
        let at = 1.0 + 2.5 / 60.0;
        let shown = |earlier| between(earlier, (t1, thrown(t1)), (t2, thrown(t2)), at).position;
        let off = |shown: Vec3| (shown - thrown(at).position).length();
        assert!(off(shown(Some((t0, thrown(t0))))) < 1e-4);
        assert!(off(shown(None)) > 2e-3, "a straight line is not enough");
    }

    #[test]
    fn what_bounced_meanwhile_is_not_thrown_off() {
        let at = |x: f32| Pose::at(Vec3::X * x);
        let shown = between(Some((0.0, at(0.0))), (0.1, at(1.0)), (0.2, at(0.0)), 0.15).position.x;
        assert!((shown - 0.5).abs() <= 0.5 * BEND_MAX * 0.05 * 0.05 + 1e-6, "{shown}");
    }
    #[test]
    fn what_hit_something_does_not_fall() {
        let gravity = Vec3::Y * -9.8;
        let thrice = |place: fn(f32) -> Pose, gap: f32| {
            falls((1.0, place(1.0)), (1.0 + gap, place(1.0 + gap)), (1.0 + 2.0 * gap, place(1.0 + 2.0 * gap)), gravity)
        };
        assert!(thrice(thrown, 0.05) && thrice(thrown, 0.2));
        assert!(!thrice(|at| Pose::at(Vec3::X * at), 0.05), "it slides");
        assert!(!thrice(|at| Pose::at(Vec3::Y * (at - 1.08).abs()), 0.05), "it bounces");
        assert!(!thrice(|at| Pose::at(Vec3::Y * (1.05 - at).max(0.0)), 0.05), "it stops");
        assert!(!falls((1.0, thrown(1.0)), (1.0, thrown(1.0)), (1.1, thrown(1.1)), gravity), "it has just begun");
    }
}

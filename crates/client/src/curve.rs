//! Where a body was between two known places, when more than a tick lies between them.
//!
//! A straight line is wrong for whatever falls: over three ticks by three millimetres. So the line is bent as the motion
//! before it says, but by no more than falling bends it: what has hit something meanwhile must not be thrown off.

use nimbus_model::Pose;

/// Most that a path is bent, m/s2: about what gravity does.
const BEND_MAX: f32 = 10.0;

/// Where a body was at a time between two others, seconds, given where it was a little earlier if that is known.
pub fn between(earlier: Option<(f32, Pose)>, from: (f32, Pose), to: (f32, Pose), at: f32) -> Pose {
    let (gap, past) = (to.0 - from.0, at - from.0);
    if gap <= 0.0 {
        return to.1;
    }
    let share = (past / gap).clamp(0.0, 1.0);
    let turn = if from.1.rotation.dot(to.1.rotation) < 0.0 { -to.1.rotation } else { to.1.rotation };
    let mut position = from.1.position.lerp(to.1.position, share);
    if let Some((when, place)) = earlier.filter(|(when, _)| *when < from.0) {
        let before = (from.1.position - place.position) / (from.0 - when);
        let after = (to.1.position - from.1.position) / gap;
        // The two are the velocities in the middle of their stretches.
        let bend = (after - before) / (0.5 * (to.0 - when));
        position -= 0.5 * bend.clamp_length_max(BEND_MAX) * past * (gap - past);
    }
    Pose { position, rotation: from.1.rotation.lerp(turn, share).normalize() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Vec3;

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
}

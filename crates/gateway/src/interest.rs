//! What an eye sees of the world, and what of it is worth sending first.

use nimbus_model::{Pose, Vec3, Velocity};
use nimbus_wire::client::Watch;

/// Nothing is nearer than this to any eye, metres; what is on its nose does not count without end.
const NEAREST_M: f32 = 1.0;
/// What is nearer than this share of the range is seen whichever way the eye looks: it may turn.
const AROUND: f32 = 0.125;
/// What is seen stays seen until it is this many times too far, or too far aside, so that nothing flickers at the edge.
pub(crate) const LINGERS: f32 = 1.1;
/// The angle that can be told apart, radians: a quarter of a pixel of a screen 1,280 pixels and 100 degrees wide.
const VISIBLE_RAD: f32 = 0.000_35;
/// Bodies are taken to be this big, metres, when it is asked what a turn of theirs moves.
const SURFACE_M: f32 = 0.5;

/// For about so long clients go on with a body by themselves when they are not told of it, seconds.
const GOES_ON_S: f32 = 0.25;
/// What does not move by more than an eye can tell in that time rests, and what rests does until it moves by more than this many
/// times as much.
const STIRS: f32 = 2.0;

/// An eye.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Eye {
    at: Vec3,
    toward: Option<Vec3>,
    /// Cosines of half the field of view, to come into sight and to go out of it.
    field_cos: [f32; 2],
    range_m: f32,
}

impl Eye {
    pub(crate) fn new(watch: &Watch) -> Eye {
        let half = (0.5 * watch.field).to_radians();
        let cos = |angle: f32| angle.min(std::f32::consts::PI).cos();
        Eye { at: watch.eye, toward: watch.toward, field_cos: [cos(half), cos(half * LINGERS)], range_m: watch.range }
    }

    /// How far away something is that comes into sight, or is in sight already and stays there; none for what is not.
    pub(crate) fn sees(&self, place: Vec3, already: bool) -> Option<f32> {
        let way = place - self.at;
        let distance = way.length();
        let range_m = self.range_m * if already { LINGERS } else { 1.0 };
        let field_cos = self.field_cos[usize::from(already)];
        let is_ahead = |toward: Vec3| way.dot(toward) >= distance * field_cos;
        let near = distance <= AROUND * range_m;
        (distance <= range_m && (near || self.toward.is_none_or(is_ahead))).then_some(distance)
    }

    /// Whether something that moves like this, or has been at rest already, stays where it is for as long as clients would go
    /// on with it by themselves. They must not: what has just landed would be shown in the ground.
    pub(crate) fn rests(&self, place: Vec3, velocity: &Velocity, already: bool) -> bool {
        let distance = (place - self.at).length().max(NEAREST_M);
        let way = GOES_ON_S * (velocity.linear.length() + SURFACE_M * velocity.angular.length());
        way < distance * VISIBLE_RAD * if already { STIRS } else { 1.0 }
    }

    /// By how much what is shown differs from what is, as the angle that the eye sees, in units of what it can tell apart. Below
    /// one nobody sees it.
    pub(crate) fn error(&self, shown: &Pose, truth: &Pose) -> f32 {
        let distance = (truth.position - self.at).length().max(NEAREST_M);
        let off = (truth.position - shown.position).length();
        let cos = shown.rotation.dot(truth.rotation).abs().min(1.0);
        // Half the angle between the two, from its cosine; exact enough where it is small, which is where it matters.
        let turn = 2.0 * (2.0 * (1.0 - cos)).sqrt();
        (off + SURFACE_M * turn) / (distance * VISIBLE_RAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Quat;

    #[test]
    fn an_eye_sees_what_is_near_and_ahead() {
        let watch = Watch { toward: Some(Vec3::X), field: 90.0, ..Watch::around(Vec3::ZERO, 80.0) };
        let eye = Eye::new(&watch);
        assert_eq!(eye.sees(Vec3::X * 79.0, false), Some(79.0));
        assert_eq!(eye.sees(Vec3::X * 81.0, false), None);
        assert_eq!(eye.sees(Vec3::X * 81.0, true), Some(81.0), "what is seen lingers");
        assert_eq!(eye.sees(Vec3::X * -40.0, false), None, "behind");
        assert!(eye.sees(Vec3::X * -9.0, false).is_some(), "behind, but next to it");
        assert!(Eye::new(&Watch { toward: None, ..watch }).sees(Vec3::X * -40.0, false).is_some());
    }

    #[test]
    fn what_is_far_away_may_be_wrong_by_more() {
        let eye = Eye::new(&Watch::around(Vec3::ZERO, 80.0));
        let off = |distance: f32| {
            let truth = Pose::at(Vec3::X * distance);
            eye.error(&Pose::at(truth.position + Vec3::Y * 0.01), &truth)
        };
        assert!(off(5.0) > 1.0 && off(70.0) < 1.0, "{} {}", off(5.0), off(70.0));
        let truth = Pose::at(Vec3::X * 10.0);
        let turned = Pose { rotation: Quat::from_rotation_y(0.1), ..truth };
        let by_turn = eye.error(&turned, &truth);
        assert!((by_turn - 0.05 / (10.0 * VISIBLE_RAD)).abs() < 0.1 * by_turn, "{by_turn}");
        assert_eq!(eye.error(&truth, &truth), 0.0);
    }
    #[test]
    fn what_hardly_moves_rests() {
        let eye = Eye::new(&Watch::around(Vec3::ZERO, 80.0));
        let rests = |speed: f32, already| {
            let velocity = Velocity { linear: Vec3::Y * speed, ..Velocity::ZERO };
            eye.rests(Vec3::X * 10.0, &velocity, already)
        };
        assert!(rests(0.0, false) && rests(0.01, false));
        assert!(!rests(0.02, false) && rests(0.02, true), "what rests is not easily stirred");
        assert!(!rests(0.1, true));
    }
}

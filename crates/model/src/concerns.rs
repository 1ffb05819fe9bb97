//! What is allowed in a world and will disappoint: promises that cannot hold, joints that snap together at the start.
//!
//! A world with concerns runs. Whoever wrote it should hear of them before it does.

use std::fmt;

use crate::{JointKind, JointSpawn, Pose, World};

/// Anchors of a joint that start farther apart than this, or turned by more than this against each other, are told,
/// metres and radians. The engine pulls them together within a few ticks, which throws both bodies about.
pub const ANCHOR_GAP_MAX: f32 = 0.01;
/// See [`ANCHOR_GAP_MAX`].
pub const ANCHOR_TURN_MAX: f32 = 0.05;

/// What a concern is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The world as a whole.
    World,
    /// What it promises.
    Tolerances,
    /// What it adds while it runs.
    Injections,
    /// Two of its bodies, by index.
    Bodies(u32, u32),
    /// One of its joints, by index.
    Joint(u32),
}

/// One thing that will disappoint, and what to change.
#[derive(Clone, Debug, PartialEq)]
pub struct Concern {
    /// What it is about.
    pub subject: Subject,
    /// What will disappoint; reads on from the subject.
    pub what: String,
    /// What to change.
    pub remedy: String,
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            Subject::World => write!(f, "the world")?,
            Subject::Tolerances => write!(f, "tolerances")?,
            Subject::Injections => write!(f, "injections")?,
            Subject::Bodies(one, two) => write!(f, "bodies {one} and {two}")?,
            Subject::Joint(index) => write!(f, "joints[{index}]")?,
        }
        write!(f, " {} — {}", self.what, self.remedy)
    }
}

impl World {
    /// Says when a server cannot keep to the promised time between wake-ups because it wakes once a tick, and a tick is
    /// longer. With more than one server every wake-up is then a breach.
    pub fn frame_concern(&self) -> Option<Concern> {
        let hz = self.tick_hz.max(1);
        let (tick_ms, frame_ms) = (1e3 / hz as f32, self.tolerances.frame_ms);
        // A microsecond for whoever wrote the length of a tick with few digits.
        if frame_ms + 1e-3 >= tick_ms {
            return None;
        }
        // As much room for lateness as the default leaves at 60 Hz.
        let enough_ms = (1.68 * tick_ms).ceil();
        let enough_hz = (1e3 / frame_ms).ceil();
        let or_faster = if enough_hz <= 1e3 { format!(", or tick_hz to at least {enough_hz}") } else { String::new() };
        Some(Concern {
            subject: Subject::Tolerances,
            what: format!(
                "cannot hold: frame_ms is {frame_ms}, and at tick_hz = {hz} a server wakes every {tick_ms:.2} ms, so on more \
                 than one server every wake-up is a breach"
            ),
            remedy: format!("raise tolerances.frame_ms to {enough_ms} (at least {tick_ms:.2}){or_faster}"),
        })
    }

    /// Joints whose anchors start apart, farther than the joint lets them be.
    pub fn joint_concerns(&self) -> Vec<Concern> {
        let numbered = self.joints.iter().zip(0..);
        numbered.filter_map(|(joint, index)| self.joint_concern(joint, index)).collect()
    }

    fn joint_concern(&self, joint: &JointSpawn, index: u32) -> Option<Concern> {
        let anchor = |body: u32, anchor: &Pose| {
            let at = self.bodies.get(body as usize)?.pose;
            Some(Pose { position: at.transform(anchor.position), rotation: at.rotation * anchor.rotation })
        };
        let (one, two) = (anchor(joint.a, &joint.desc.anchor_a)?, anchor(joint.b, &joint.desc.anchor_b)?);
        let between = one.rotation.inverse() * (two.position - one.position);
        let gap = match &joint.desc.kind {
            JointKind::Spring { .. } => 0.0,
            JointKind::Rope { length } => between.length() - length,
            JointKind::Fixed | JointKind::Spherical | JointKind::Revolute { .. } => between.length(),
            JointKind::Prismatic { axis, limits, .. } => {
                let along = between.dot(*axis);
                let beyond = limits.map_or(0.0, |[low, high]| along - along.clamp(low, high));
                (between - *axis * along + *axis * beyond).length()
            }
        };
        let turn = match &joint.desc.kind {
            JointKind::Fixed | JointKind::Prismatic { .. } => one.rotation.angle_between(two.rotation),
            JointKind::Revolute { axis, .. } => (one.rotation * *axis).angle_between(two.rotation * *axis),
            JointKind::Spherical | JointKind::Rope { .. } | JointKind::Spring { .. } => 0.0,
        };
        let (bodies, remedy) = (
            format!("bodies {} and {}", joint.a, joint.b),
            "move a body, or anchor_a or anchor_b, so that the anchors meet where the bodies start".to_owned(),
        );
        let what = if gap > ANCHOR_GAP_MAX {
            format!(
                "has anchors {gap:.3} m farther apart than it allows ({ANCHOR_GAP_MAX} m is tolerated): it will snap {bodies} together"
            )
        } else if turn > ANCHOR_TURN_MAX {
            let (turn, most) = (turn.to_degrees(), ANCHOR_TURN_MAX.to_degrees());
            format!(
                "has anchors that are turned by {turn:.1} degrees against each other ({most:.1} are tolerated): it will twist {bodies}"
            )
        } else {
            return None;
        };
        Some(Concern { subject: Subject::Joint(index), what, remedy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BodyDesc, JointDesc, Quat, Shape, Tolerances, Vec3, Velocity};

    fn of_frames(tick_hz: u32, frame_ms: f32) -> Option<String> {
        let mut world = World::new("test");
        world.tick_hz = tick_hz;
        world.tolerances = Tolerances { frame_ms, ..world.tolerances };
        world.frame_concern().map(|concern| concern.to_string())
    }

    #[test]
    fn a_frame_shorter_than_a_tick_is_told_with_what_would_do() {
        for (tick_hz, frame_ms) in [(60, 28.0), (60, 16.667), (30, 33.334), (30, 56.0), (120, 8.34), (1, 1_000.0)] {
            assert_eq!(of_frames(tick_hz, frame_ms), None, "{tick_hz} Hz, {frame_ms} ms");
        }
        let said = of_frames(30, 28.0).expect("it cannot hold");
        for part in ["frame_ms is 28", "33.33 ms", "frame_ms to 56 (at least 33.33)", "tick_hz to at least 36"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(of_frames(30, 56.0), None, "the remedy helps");
        assert_eq!(of_frames(36, 28.0), None, "and so does the other");
        assert!(!of_frames(60, 0.5).expect("it cannot hold").contains("tick_hz to"), "no rate is high enough");
    }

    fn of_joint(kind: JointKind, at: Vec3, turn: Quat) -> Vec<String> {
        let mut world = World::new("test");
        let ball = || BodyDesc::dynamic(Shape::ball(0.5));
        world.add(ball(), Pose::at(Vec3::new(3.0, 1.0, 0.0)), Velocity::ZERO);
        world.add(ball(), Pose { position: Vec3::new(3.0, 1.0, 0.0) + at, rotation: turn }, Velocity::ZERO);
        world.joints.push(JointSpawn { a: 0, b: 1, desc: JointDesc::new(kind, Vec3::X, Vec3::NEG_X) });
        world.joint_concerns().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn anchors_that_start_apart_are_told_and_those_that_meet_are_not() {
        let (meets, unturned) = (Vec3::X * 2.0, Quat::IDENTITY);
        let revolute = |axis| JointKind::Revolute { axis, limits: None, motor: None };
        let prismatic = |limits| JointKind::Prismatic { axis: Vec3::Y, limits, motor: None };
        let spring = JointKind::Spring { rest: 1.0, stiffness: 9.0, damping: 0.0 };
        for kind in [JointKind::Fixed, JointKind::Spherical, revolute(Vec3::Y), prismatic(None), spring.clone()] {
            assert_eq!(of_joint(kind.clone(), meets, unturned), [""; 0], "{kind:?}");
            let apart = of_joint(kind.clone(), meets + Vec3::Z * 0.25, unturned);
            if kind == spring {
                assert_eq!(apart, [""; 0], "a spring may be as long as it likes");
            } else {
                assert!(
                    apart[0].contains("joints[0] has anchors 0.250 m") && apart[0].contains("anchor_b"),
                    "{apart:?}"
                );
            }
        }
        assert_eq!(of_joint(prismatic(None), meets + Vec3::Y * 9.0, unturned), [""; 0], "it slides along its axis");
        assert_eq!(of_joint(prismatic(Some([0.0, 2.0])), meets + Vec3::Y, unturned), [""; 0]);
        let beyond = of_joint(prismatic(Some([0.0, 2.0])), meets + Vec3::Y * 2.5, unturned);
        assert!(beyond[0].contains("0.500 m"), "{beyond:?}");
        assert_eq!(of_joint(JointKind::Rope { length: 1.0 }, meets + Vec3::Z, unturned), [""; 0]);
        let taut = of_joint(JointKind::Rope { length: 1.0 }, meets + Vec3::Z * 1.5, unturned);
        assert!(taut[0].contains("0.500 m"), "{taut:?}");
    }

    #[test]
    fn anchors_that_start_turned_are_told_where_the_joint_does_not_turn() {
        // About the line between the bodies, so that the anchors stay together.
        let (meets, turned) = (Vec3::X * 2.0, Quat::from_rotation_x(0.5));
        for kind in [JointKind::Fixed, JointKind::Revolute { axis: Vec3::Y, limits: None, motor: None }] {
            let said = of_joint(kind.clone(), meets, turned);
            assert!(said[0].contains("28.6 degrees"), "{kind:?}: {said:?}");
        }
        for kind in [JointKind::Spherical, JointKind::Revolute { axis: Vec3::X, limits: None, motor: None }] {
            assert_eq!(of_joint(kind.clone(), meets, turned), [""; 0], "{kind:?}");
        }
    }
}

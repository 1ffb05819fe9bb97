//! Kinematic bodies on their way to a place. The course goes with the body from server to server, and every tick works
//! out anew how fast it must be, so that neither a hand-over nor a skipped tick makes it miss.

use nimbus_model::{BodyKind, Nid, Pose, Vec3, Velocity};
use nimbus_wire::{Course, Outcome};

use crate::node::Node;

/// A body that should have been there so many ticks ago stops where it is.
const LATE_TICKS_MAX: u64 = 60;

impl Node {
    /// Sends a kinematic body to a place.
    pub(crate) fn steer(&mut self, nid: Nid, pose: Pose, ticks: u32) -> Outcome {
        match self.steer_refusal(nid, &pose, ticks) {
            Some(reason) => Outcome::Refused(reason),
            None => {
                self.courses.insert(nid, Course { pose, until: self.now + u64::from(ticks.max(1)) - 1 });
                Outcome::Done(nid)
            }
        }
    }

    /// Why a body cannot be sent to a place within some ticks; `None` when it can.
    fn steer_refusal(&self, nid: Nid, pose: &Pose, ticks: u32) -> Option<String> {
        let Some(body) = self.physics.view(nid).filter(|_| self.hosted.contains(nid)) else {
            return Some(format!("there is no body {nid}"));
        };
        if body.desc.kind != BodyKind::Kinematic {
            return Some(format!("{nid} is moved by forces; only a kinematic body goes where it is sent"));
        }
        if !pose.is_valid() || !self.world.kill_box.holds(pose.position) {
            return Some(format!("{} is outside the world", pose.position));
        }
        let (way, most) = (body.pose.position.distance(pose.position), self.world.speed_max());
        let speed = way / (ticks.max(1) as f32 * self.world.tick_s());
        (speed > most).then(|| {
            let least = (way / (most * self.world.tick_s())).ceil();
            format!("{way:.1} m within {ticks} ticks is too fast; give it {least} ticks or more")
        })
    }

    /// Gives every body that is on its way the velocity it needs for this tick. Comes just before the step.
    pub(crate) fn follow_courses(&mut self) {
        for (nid, course) in std::mem::take(&mut self.courses) {
            if !self.hosted.contains(nid) {
                continue;
            }
            let late = self.now.since(course.until);
            let there = late > 0 && self.physics.is_at(nid, &course.pose);
            if there || late > LATE_TICKS_MAX {
                self.physics.set_velocity(nid, Velocity::ZERO);
                continue;
            }
            let steps = course.until.since(self.now) + 1;
            if let Some(Velocity { linear, angular }) = self.physics.velocity_to(nid, &course.pose, steps as u32) {
                let linear: Vec3 = linear.clamp_length_max(self.world.speed_max());
                self.physics.set_velocity(nid, Velocity { linear, angular });
            }
            self.courses.insert(nid, course);
        }
    }
}

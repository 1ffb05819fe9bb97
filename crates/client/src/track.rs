//! The motion of one body: where it was at which tick, where it probably goes, and how it is led back.

use nimbus_model::{Pose, Quat, Vec3};
use std::collections::VecDeque;

use crate::curve;

/// States kept of one body: half a second of 120 a second. Older ones are behind what is shown anyway.
const SAMPLES_MAX: usize = 64;
/// States farther apart than this say nothing about the velocity, ticks.
const VELOCITY_TICKS_MAX: f64 = 30.0;
/// A body that is told of every so many ticks is waited for this many times as long. Where more moves than there are bytes for,
/// the next word of it comes about as late as the last one did.
const GAPS_WAITED: f64 = 2.0;

/// The moment that is shown, and how to show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The tick that is shown.
    pub(crate) head: f64,
    /// The time of whoever looks.
    pub(crate) now_s: f64,
    /// The newest tick that anything came of.
    pub(crate) heard: f64,
    /// A body that was not mentioned for so many ticks of it lies still.
    pub(crate) quiet_ticks: f64,
    /// Bodies are not told of at every tick, so one that is told of rarely is waited for longer.
    pub(crate) is_sparse: bool,
    /// How many ticks a body goes on by itself.
    pub(crate) extrapolation: f64,
    /// How long it takes to lead it back.
    pub(crate) correction_s: f64,
    /// Farther than this it jumps, metres.
    pub(crate) jump: f32,
    /// How long a tick of the world takes, seconds, and what bends the way of whatever falls in it, m/s2.
    pub(crate) tick_s: f64,
    pub(crate) gravity: Vec3,
}

/// What was told of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    pub(crate) pose: Pose,
    /// It stays there until it is told of again.
    pub(crate) at_rest: bool,
}

/// How far a body is shown from where it should be; fades.
#[derive(Clone, Copy, Debug)]
struct Offset {
    position: Vec3,
    rotation: Quat,
    since_s: f64,
}

/// The motion of one body.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    samples: VecDeque<(f64, Pose)>,
    offset: Option<Offset>,
    /// It went on by itself when it was looked at last.
    went_on: bool,
    /// Whoever told of it last said that it stays there.
    at_rest: bool,
}

impl Track {
    pub(crate) fn new(tick: f64, pose: Pose) -> Track {
        Track { samples: VecDeque::from([(tick, pose)]), offset: None, went_on: false, at_rest: false }
    }

    /// Where the body was at a tick. Until `rested_until` it was not mentioned, which means that it had not moved.
    pub(crate) fn place(&mut self, tick: f64, sight: Sight, rested_until: f64, moment: &Moment) {
        let Some((last, rested)) = self.samples.back().copied() else { return };
        if tick < last {
            return;
        }
        // What is shown now depends on a new state only if it was beyond the ones before. Who went on until now does not lie
        // still, however long ago it was mentioned: here is word of it.
        let shown = (moment.head > last)
            .then(|| if self.went_on { self.faded(self.going_on(moment), moment) } else { self.pose(moment) });
        if tick == last {
            self.samples.pop_back();
        } else if rested_until > last {
            self.samples.push_back((rested_until, rested));
        }
        self.samples.push_back((tick, sight.pose));
        self.at_rest = sight.at_rest;
        // The last two say how fast it is, and the one before the head how its way is bent.
        let is_behind = |samples: &VecDeque<(f64, Pose)>| samples.len() > 2 && samples[2].0 <= moment.head;
        while self.samples.len() > SAMPLES_MAX || is_behind(&self.samples) {
            self.samples.pop_front();
        }
        if let Some(shown) = shown {
            self.lead_back(shown, moment);
            self.went_on = self.goes_on(moment);
        }
    }

    /// Where to show the body.
    pub(crate) fn pose(&mut self, moment: &Moment) -> Pose {
        let goes_on = self.goes_on(moment);
        if self.went_on && !goes_on && self.lies_still(moment) {
            // It went on by itself, but now it is known that it lies still.
            let shown = self.faded(self.going_on(moment), moment);
            self.went_on = false;
            self.lead_back(shown, moment);
        }
        self.went_on = goes_on;
        let pose = if goes_on { self.going_on(moment) } else { self.between(moment) };
        self.faded(pose, moment)
    }

    /// True when what is shown is newer than what is known, and the body is not known to lie still.
    fn goes_on(&self, moment: &Moment) -> bool {
        self.samples.back().is_some_and(|(last, _)| moment.head > *last) && !self.lies_still(moment)
    }

    /// True when it was said that the body stays where it is, or nobody has spoken of it for so long that it must have.
    fn lies_still(&self, moment: &Moment) -> bool {
        let Some((last, _)) = self.samples.back() else { return false };
        let earlier =
            self.samples.len().checked_sub(2).and_then(|at| self.samples.get(at)).filter(|_| moment.is_sparse);
        let usual_ticks = earlier.map_or(0.0, |(tick, _)| (last - tick).min(VELOCITY_TICKS_MAX));
        self.at_rest || moment.heard - last > moment.quiet_ticks.max(usual_ticks * GAPS_WAITED)
    }

    /// From here on the body is shown where it was shown until now, less and less.
    fn lead_back(&mut self, shown: Pose, moment: &Moment) {
        let real = if self.goes_on(moment) { self.going_on(moment) } else { self.between(moment) };
        let position = shown.position - real.position;
        let rotation = shown.rotation * real.rotation.inverse();
        self.offset = (position.length() <= moment.jump && rotation.is_finite()).then_some(Offset {
            position,
            rotation,
            since_s: moment.now_s,
        });
    }

    fn faded(&mut self, pose: Pose, moment: &Moment) -> Pose {
        let Some(offset) = self.offset else { return pose };
        let done = ((moment.now_s - offset.since_s) / moment.correction_s.max(1e-3)).clamp(0.0, 1.0) as f32;
        if done >= 1.0 {
            self.offset = None;
            return pose;
        }
        // Quick at first, because late states come one after the other and each begins anew.
        let left = (1.0 - done) * (1.0 - done);
        Pose {
            position: pose.position + offset.position * left,
            rotation: (Quat::IDENTITY.lerp(offset.rotation, left) * pose.rotation).normalize(),
        }
    }

    /// A place between two known ones; the first or last of them outside.
    fn between(&self, moment: &Moment) -> Pose {
        let after = self.samples.partition_point(|(tick, _)| *tick <= moment.head);
        let before = |back: usize| after.checked_sub(back).and_then(|at| self.samples.get(at)).copied();
        match (before(1), self.samples.get(after).copied()) {
            (Some(from), Some(to)) => {
                let timed = |(tick, pose): (f64, Pose)| (((tick - from.0) * moment.tick_s) as f32, pose);
                let (start, end) = (timed(from), timed(to));
                let earlier = before(2).map(timed).filter(|earlier| curve::falls(*earlier, start, end, moment.gravity));
                curve::between(earlier, start, end, ((moment.head - from.0) * moment.tick_s) as f32)
            }
            (Some((_, pose)), None) | (None, Some((_, pose))) => pose,
            (None, None) => Pose::IDENTITY,
        }
    }

    /// Where the last velocities would have taken it.
    fn going_on(&self, moment: &Moment) -> Pose {
        let Some((last, pose)) = self.samples.back().copied() else { return Pose::IDENTITY };
        let before = self.samples.len().checked_sub(2).and_then(|at| self.samples.get(at));
        let tells = |tick: f64| tick < last && last - tick <= VELOCITY_TICKS_MAX;
        let Some((earlier, from)) = before.filter(|(tick, _)| tells(*tick)) else { return pose };
        let ahead = (moment.head - last).clamp(0.0, moment.extrapolation);
        let share = (ahead / (last - earlier)) as f32;
        let turn = pose.rotation * from.rotation.inverse();
        // The same turn, the shorter way round.
        let turn = if turn.w < 0.0 { -turn } else { turn };
        Pose {
            position: pose.position + (pose.position - from.position) * share,
            rotation: (Quat::from_scaled_axis(turn.to_scaled_axis() * share) * pose.rotation).normalize(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(head: f64) -> Moment {
        Moment {
            head,
            now_s: head / 60.0,
            heard: 0.0,
            quiet_ticks: 3.0,
            is_sparse: false,
            extrapolation: 15.0,
            correction_s: 0.1,
            jump: 5.0,
            tick_s: 1.0 / 60.0,
            gravity: Vec3::Y * -9.81,
        }
    }

    fn x(track: &mut Track, head: f64) -> f32 {
        track.pose(&moment(head)).position.x
    }

    fn at(x: f32) -> Sight {
        moving(Pose::at(Vec3::X * x))
    }

    fn moving(pose: Pose) -> Sight {
        Sight { pose, at_rest: false }
    }

    /// One metre a tick, known up to tick 4.
    fn runner() -> Track {
        let mut track = Track::new(0.0, at(0.0).pose);
        for tick in 1u8..=4 {
            track.place(f64::from(tick), at(f32::from(tick)), f64::from(tick - 1), &moment(0.0));
        }
        track
    }

    #[test]
    fn between_two_states_it_is_on_the_way() {
        let mut track = runner();
        for head in [0.0, 0.5, 1.25, 3.75] {
            assert!((x(&mut track, head) - head as f32).abs() < 1e-6, "{head}");
        }
    }

    #[test]
    fn beyond_the_last_state_it_goes_on_for_a_while_and_then_waits() {
        let mut track = runner();
        assert!((x(&mut track, 9.0) - 9.0).abs() < 1e-5);
        assert_eq!((x(&mut track, 19.0), x(&mut track, 40.0)), (19.0, 19.0));
    }

    #[test]
    fn it_turns_on_as_well() {
        let turned = |angle: f32| Pose::at(Vec3::ZERO).turned(Quat::from_rotation_y(angle));
        let mut track = Track::new(0.0, turned(0.0));
        track.place(1.0, moving(turned(0.2)), 0.0, &moment(0.0));
        let shown = track.pose(&moment(3.0)).rotation;
        assert!(shown.angle_between(Quat::from_rotation_y(0.6)) < 1e-3, "{shown}");
    }

    #[test]
    fn a_wrong_guess_is_mended_without_a_jump() {
        let mut track = runner();
        let guessed = x(&mut track, 8.0);
        // It had met a wall and stood still.
        track.place(8.0, at(4.5), 4.0, &moment(8.0));
        let mut last = x(&mut track, 8.0);
        assert!((last - guessed).abs() < 1e-4, "{guessed} then {last}");
        for tick in 1..=14 {
            let head = 8.0 + f64::from(tick) * 0.5;
            track.place(8.0 + f64::from(tick), at(4.5), 8.0, &moment(head));
            let shown = x(&mut track, head);
            assert!((shown - last).abs() < 1.0, "{last} to {shown}");
            last = shown;
        }
        assert!((last - 4.5).abs() < 1e-4, "{last}");
    }

    #[test]
    fn a_body_that_is_far_off_jumps() {
        let mut track = runner();
        x(&mut track, 8.0);
        track.place(8.0, at(100.0), 7.0, &moment(8.0));
        assert_eq!(x(&mut track, 8.0), 100.0);
    }

    #[test]
    fn who_is_not_mentioned_has_not_moved() {
        let mut track = runner();
        track.place(50.0, at(5.0), 49.0, &moment(0.0));
        assert_eq!((x(&mut track, 30.0), x(&mut track, 49.5), x(&mut track, 50.0)), (4.0, 4.5, 5.0));
        let mut rests = runner();
        let resting = Moment { heard: 9.0, ..moment(9.0) };
        assert_eq!(rests.pose(&resting).position.x, 4.0, "others moved on, it did not");
    }

    #[test]
    fn who_is_said_to_rest_does_not_go_on() {
        let mut track = Track::new(0.0, at(0.0).pose);
        track.place(3.0, at(3.0), f64::NEG_INFINITY, &moment(0.0));
        let guessed = x(&mut track, 5.0);
        track.place(6.0, Sight { at_rest: true, ..at(4.0) }, f64::NEG_INFINITY, &moment(5.0));
        assert!((x(&mut track, 5.0) - guessed).abs() < 1e-4, "without a jump");
        assert_eq!((x(&mut track, 20.0), x(&mut track, 40.0)), (4.0, 4.0));
        track.place(50.0, at(5.0), f64::NEG_INFINITY, &moment(40.0));
        track.place(51.0, at(6.0), f64::NEG_INFINITY, &moment(40.0));
        assert!(x(&mut track, 54.0) > 6.0, "it moves again");
    }

    #[test]
    fn who_is_told_of_rarely_is_waited_for_longer() {
        let mut track = Track::new(0.0, at(0.0).pose);
        track.place(20.0, at(2.0), f64::NEG_INFINITY, &moment(0.0));
        let sparse = |heard| Moment { heard, quiet_ticks: 15.0, is_sparse: true, ..moment(30.0) };
        assert_eq!(track.pose(&sparse(60.0)).position.x, 3.0, "the next word may be as late as the last");
        let (led, there) = (Moment { now_s: 0.6, ..sparse(61.0) }, Moment { now_s: 0.8, ..sparse(61.0) });
        assert!((track.pose(&led).position.x - 3.0).abs() < 1e-4, "without a jump");
        assert_eq!(track.pose(&there).position.x, 2.0);
    }

    #[test]
    fn memory_is_bounded() {
        let mut track = Track::new(0.0, at(0.0).pose);
        for tick in 1..1000u32 {
            track.place(f64::from(tick), at(0.0), f64::from(tick) - 1.0, &moment(0.0));
        }
        assert_eq!(track.samples.len(), SAMPLES_MAX);
        track.place(1001.0, at(1.0), 0.0, &moment(1000.5));
        assert!(track.samples.len() <= 3, "what is behind the head is forgotten");
    }

    /// A body that falls, known at every third tick.
    fn falling(tick: f64) -> Pose {
        let s = (tick / 60.0) as f32;
        Pose::at(Vec3::new(3.0 * s, 2.0 * s - 4.905 * s * s, 0.0))
    }

    #[test]
    fn what_falls_is_shown_on_its_parabola() {
        let mut track = Track::new(0.0, falling(0.0));
        for tick in [3.0, 6.0, 9.0] {
            track.place(tick, moving(falling(tick)), f64::NEG_INFINITY, &moment(0.0));
        }
        for head in [3.5, 4.5, 5.9, 7.0, 8.9] {
            let off = track.pose(&moment(head)).position.distance(falling(head).position);
            assert!(off < 1e-4, "{off} at {head}");
        }
        let straight = falling(0.0).position.lerp(falling(3.0).position, 0.5);
        assert!(track.pose(&moment(1.5)).position.distance(straight) < 1e-6, "nothing is known of the way before");
    }

    #[test]
    fn a_body_that_was_put_elsewhere_goes_straight() {
        let mut track = Track::new(0.0, falling(0.0));
        track.place(3.0, moving(falling(3.0)), f64::NEG_INFINITY, &moment(0.0));
        track.place(6.0, at(4.0), f64::NEG_INFINITY, &moment(0.0));
        let middle = falling(3.0).position.lerp(Vec3::X * 4.0, 0.5);
        assert!(track.pose(&moment(4.5)).position.distance(middle) < 1e-5);
    }
}

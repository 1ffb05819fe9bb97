//! Which tick is due at which moment: pause, single steps, slow motion and fast forward.
//!
//! Pure arithmetic on whole numbers, so that a run of any length and any number of changes of speed loses nothing to
//! rounding. The moment is always an argument.

use nimbus_model::Tick;
use std::time::Duration;

/// Slowest and fastest factor that [`Timeline::set_speed`] takes; others are brought into this range.
pub const SPEED_RANGE: std::ops::RangeInclusive<f32> = 0.05..=4.0;

/// Held to this is not held: no speed is greater.
const UNHELD: u32 = 4_000;

/// Positions on the timeline are counted in units of this part of a tick: a nanosecond at 1 Hz and speed 0.001.
const UNITS_PER_TICK: u128 = 1_000_000_000_000;

/// Maps moments to ticks. Moments are times since one common start and must not go back.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Where the timeline was at `since`, in units.
    position: u128,
    since: Duration,
    hz: u32,
    /// Speed that was asked for, in thousandths.
    permille: u32,
    /// It is no faster than this, in thousandths: time dilation.
    held_permille: u32,
    /// While paused, nothing beyond this tick is due.
    limit: Option<Tick>,
}

impl Timeline {
    /// A running timeline on which `first` is due at `now`.
    pub fn new(first: Tick, hz: u32, now: Duration) -> Timeline {
        Timeline {
            position: units(first),
            since: now,
            hz: hz.max(1),
            permille: 1000,
            held_permille: UNHELD,
            limit: None,
        }
    }

    /// The last tick that is due.
    pub fn due(&self, now: Duration) -> Tick {
        Tick((self.position_at(now) / UNITS_PER_TICK) as u64)
    }

    /// The moment at which a tick becomes due; none when it never will unless somebody resumes or steps.
    pub fn when(&self, tick: Tick) -> Option<Duration> {
        if self.limit.is_some_and(|limit| tick > limit) {
            return None;
        }
        let ahead = units(tick).saturating_sub(self.position);
        let nanos = ahead.div_ceil(u128::from(self.hz) * u128::from(self.pace_permille()));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        Some(self.since.saturating_add(Duration::from_nanos(nanos)))
    }

    /// Stops. Nothing after the tick that is due now becomes due, except by [`Timeline::step`].
    pub fn pause(&mut self, now: Duration) {
        if self.limit.is_none() {
            self.limit = Some(self.due(now));
            self.settle(now);
        }
    }

    /// Goes on after a pause.
    pub fn resume(&mut self, now: Duration) {
        self.settle(now);
        self.limit = None;
    }

    /// Lets some more ticks become due while paused, at the pace that is set. False, and nothing happens, when running.
    pub fn step(&mut self, ticks: u64, now: Duration) -> bool {
        let Some(limit) = self.limit else { return false };
        self.settle(now);
        let next = Tick(limit.0.saturating_add(ticks));
        if self.due(now) == limit && ticks > 0 {
            // Nobody who presses a key wants to wait for the rest of a tick that was cut short by the pause.
            self.position = units(limit + 1);
        }
        self.limit = Some(next);
        true
    }

    /// Slow motion or fast forward, from now on.
    pub fn set_speed(&mut self, factor: f32, now: Duration) {
        self.settle(now);
        let factor = if factor.is_finite() { factor.clamp(*SPEED_RANGE.start(), *SPEED_RANGE.end()) } else { 1.0 };
        self.permille = (factor * 1000.0).round() as u32;
    }

    /// No faster than so many thousandths of real time from now on, whatever speed was asked for; what is no slower than
    /// that lets go of it.
    pub fn hold(&mut self, permille: u32, now: Duration) {
        self.settle(now);
        self.held_permille = if permille < self.permille { permille.max(1) } else { UNHELD };
    }

    /// Nothing after a tick is due yet: some server has not run the one before. Time passes at this many thousandths of
    /// real time all the same.
    pub fn hold_back(&mut self, last: Tick, least_permille: u32, now: Duration) {
        let least = self.position + self.passed(now, least_permille.min(self.pace_permille()));
        let held = (units(last.next()) - 1).max(least);
        if held < self.position_at(now) {
            self.position = held.max(self.position);
            self.since = self.since.max(now);
        }
    }

    /// Another number of ticks a second, from now on.
    pub fn set_hz(&mut self, hz: u32, now: Duration) {
        self.settle(now);
        self.hz = hz.max(1);
    }

    /// True while nothing becomes due by itself.
    pub fn is_paused(&self) -> bool {
        self.limit.is_some()
    }

    /// How fast time was asked to pass; 1 is real time.
    pub fn speed(&self) -> f32 {
        self.permille as f32 / 1000.0
    }

    /// How fast time was asked to pass, thousandths.
    pub fn speed_permille(&self) -> u32 {
        self.permille
    }

    /// How fast time passes, thousandths of real time: as asked for, or slower where it is held.
    pub fn pace_permille(&self) -> u32 {
        self.permille.min(self.held_permille)
    }

    /// Ticks a second at real time.
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// World time: microseconds that have passed in the world since tick 0. It stands still while the world does.
    pub fn world_us(&self, now: Duration) -> u64 {
        (self.position_at(now) / u128::from(self.hz) * 1_000_000 / UNITS_PER_TICK) as u64
    }

    /// The last tick that will be due without anybody doing anything: that of the pause, else the one due now.
    pub fn horizon(&self, now: Duration) -> Tick {
        self.limit.unwrap_or_else(|| self.due(now))
    }

    /// Makes `now` the moment that later arithmetic starts from.
    fn settle(&mut self, now: Duration) {
        self.position = self.position_at(now);
        self.since = self.since.max(now);
    }

    fn position_at(&self, now: Duration) -> u128 {
        let position = self.position + self.passed(now, self.pace_permille());
        match self.limit {
            // A pause in the middle of a tick keeps the part that has passed.
            Some(limit) => position.min(self.position.max(units(limit))),
            None => position,
        }
    }

    /// Units that pass until a moment at so many thousandths of real time.
    fn passed(&self, now: Duration, permille: u32) -> u128 {
        now.saturating_sub(self.since).as_nanos() * u128::from(self.hz) * u128::from(permille)
    }
}

fn units(tick: Tick) -> u128 {
    u128::from(tick.0) * UNITS_PER_TICK
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn ticks_are_due_at_their_rate() {
        let timeline = Timeline::new(Tick(100), 50, ms(1000));
        assert_eq!(timeline.due(ms(1000)), Tick(100));
        assert_eq!(timeline.due(ms(1019)), Tick(100));
        assert_eq!(timeline.due(ms(1020)), Tick(101));
        assert_eq!(timeline.when(Tick(101)), Some(ms(1020)));
        assert_eq!(timeline.due(ms(3_601_000)), Tick(100 + 50 * 3600));
        assert_eq!(timeline.due(ms(0)), Tick(100), "a moment before the start is not an error");
    }

    #[test]
    fn a_pause_holds_and_single_steps_run_at_once() {
        let mut timeline = Timeline::new(Tick(0), 50, ms(0));
        timeline.pause(ms(110));
        assert_eq!(timeline.due(ms(99_000)), Tick(5));
        assert_eq!(timeline.when(Tick(6)), None);
        assert!(timeline.step(1, ms(99_000)));
        assert_eq!(timeline.due(ms(99_000)), Tick(6));
        assert!(timeline.step(3, ms(99_100)));
        assert_eq!(timeline.horizon(ms(99_100)), Tick(9));
        assert_eq!(timeline.due(ms(99_100)), Tick(7));
        assert_eq!(timeline.due(ms(99_120)), Tick(8));
        assert_eq!(timeline.due(ms(999_000)), Tick(9));
        assert!(timeline.is_paused());
        timeline.resume(ms(999_000));
        assert_eq!(timeline.due(ms(999_020)), Tick(10));
        assert!(!timeline.step(1, ms(999_020)), "a running timeline does not step");
    }

    #[test]
    fn steps_ordered_one_after_another_add_up() {
        let mut timeline = Timeline::new(Tick(0), 50, ms(0));
        timeline.pause(ms(0));
        for _ in 0..5 {
            assert!(timeline.step(2, ms(7)));
        }
        assert_eq!(timeline.due(ms(10_000)), Tick(10));
    }

    #[test]
    fn speed_changes_the_rate_and_stays_in_range() {
        let mut timeline = Timeline::new(Tick(0), 100, ms(0));
        timeline.set_speed(0.5, ms(1000));
        assert_eq!(timeline.due(ms(3000)), Tick(200));
        timeline.set_speed(4.0, ms(3000));
        assert_eq!(timeline.due(ms(4000)), Tick(600));
        timeline.set_speed(1e9, ms(4000));
        assert_eq!(timeline.speed(), 4.0);
        timeline.set_speed(-1.0, ms(4000));
        assert_eq!(timeline.speed(), 0.05);
        timeline.set_speed(f32::NAN, ms(4000));
        assert_eq!(timeline.speed(), 1.0);
    }

    #[test]
    fn held_time_passes_no_faster_than_it_is_held_to() {
        let mut timeline = Timeline::new(Tick(0), 50, ms(0));
        timeline.hold(500, ms(1000));
        assert_eq!((timeline.due(ms(2000)), timeline.pace_permille(), timeline.speed()), (Tick(75), 500, 1.0));
        assert_eq!(timeline.world_us(ms(2000)), 1_500_000);
        timeline.hold(1000, ms(2000));
        assert_eq!((timeline.due(ms(3000)), timeline.pace_permille()), (Tick(125), 1000));
    }

    #[test]
    fn time_waits_for_the_slowest_but_not_for_ever() {
        let mut timeline = Timeline::new(Tick(0), 50, ms(0));
        timeline.hold_back(Tick(3), 0, ms(40));
        assert_eq!(timeline.due(ms(40)), Tick(2), "nothing is held that is not due");
        timeline.hold_back(Tick(3), 0, ms(500));
        assert_eq!(timeline.due(ms(500)), Tick(3));
        assert!(timeline.world_us(ms(500)) <= 80_000);
        assert_eq!(timeline.due(ms(501)), Tick(4), "at once when it may");
        timeline.hold_back(Tick(1), 0, ms(501));
        assert_eq!(timeline.due(ms(501)), Tick(3), "nothing that was due is taken back");
        timeline.hold_back(Tick(1), 100, ms(1500));
        assert_eq!(timeline.due(ms(1500)), Tick(8), "a tenth of the speed at the least");
    }

    #[derive(Clone, Debug)]
    enum Act {
        Hold(u32),
        Pause,
        Resume,
        Step(u64),
        Speed(f32),
        Hz(u32),
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            (0u32..3000).prop_map(Act::Hold),
            Just(Act::Pause),
            Just(Act::Resume),
            (0u64..20).prop_map(Act::Step),
            (0.0f32..5.0).prop_map(Act::Speed),
            (1u32..240).prop_map(Act::Hz),
        ]
    }

    proptest! {
        /// Whatever is done to it, time never goes back, `when` is the exact inverse of `due`, and a pause holds.
        #[test]
        fn due_and_when_agree(acts in prop::collection::vec((act(), 0u64..3_000_000_000), 1..40)) {
            let mut timeline = Timeline::new(Tick(7), 60, Duration::ZERO);
            let mut now = Duration::ZERO;
            let mut last = timeline.due(now);
            for (act, passed) in acts {
                now += Duration::from_nanos(passed);
                prop_assert!(timeline.due(now) >= last);
                last = timeline.due(now);
                match act {
                    Act::Hold(permille) => timeline.hold(permille, now),
                    Act::Pause => timeline.pause(now),
                    Act::Resume => timeline.resume(now),
                    Act::Step(n) => { timeline.step(n, now); }
                    Act::Speed(factor) => timeline.set_speed(factor, now),
                    Act::Hz(hz) => timeline.set_hz(hz, now),
                }
                prop_assert!(timeline.due(now) >= last, "an act took time back");
                prop_assert!(timeline.due(now).0 <= last.0 + 1);
                last = timeline.due(now);
                match timeline.when(last + 1) {
                    Some(moment) => {
                        prop_assert!(timeline.due(moment) > last);
                        prop_assert!(moment > now);
                        prop_assert_eq!(timeline.due(moment - Duration::from_nanos(1)), last);
                    }
                    None => prop_assert_eq!(timeline.due(now + Duration::from_secs(9999)), last),
                }
            }
        }
    }
}

//! Which tick is due at which moment when a whole cluster goes by one timeline: that of the roster, read off the
//! coordinator's calendar. Pauses, steps and other paces are in the timeline, so every process makes them at the same tick.

use nimbus_control::Timeline;
use nimbus_model::Tick;
use std::time::Duration;

/// A calendar that is off by less than this many microseconds is left alone.
const OFF_US_MAX: u64 = 500;

/// See the description of this file. Moments are times since one start of this process's own.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommonTime {
    /// None until the cluster has started: nothing is due before.
    timeline: Option<Timeline>,
    /// What the calendar showed at moment zero, microseconds.
    zero_us: u64,
    /// What was due once stays due, also when the calendar or the timeline goes back.
    floor: Tick,
}

impl CommonTime {
    /// Goes by this timeline from now on, and by a calendar that shows this microsecond now. False when that is no news.
    pub(crate) fn follow(&mut self, timeline: &Timeline, calendar_us: u64, now: Duration) -> bool {
        let zero_us = calendar_us.saturating_sub(now.as_micros() as u64);
        if self.timeline.as_ref() == Some(timeline) && self.zero_us.abs_diff(zero_us) <= OFF_US_MAX {
            return false;
        }
        self.floor = self.due(now);
        (self.timeline, self.zero_us) = (Some(timeline.clone()), zero_us);
        true
    }

    /// The last tick that is due.
    pub(crate) fn due(&self, now: Duration) -> Tick {
        let now_us = self.zero_us.saturating_add(now.as_micros() as u64);
        let tick = self.timeline.as_ref().and_then(|timeline| timeline.tick_at(now_us));
        tick.unwrap_or_default().max(self.floor)
    }

    /// World time, microseconds; none before the cluster has started.
    pub(crate) fn world_us(&self, now: Duration) -> Option<u64> {
        let now_us = self.zero_us.saturating_add(now.as_micros() as u64);
        self.timeline.as_ref().map(|timeline| timeline.world_us(now_us))
    }

    /// The moment at which a tick becomes due; none when it never will unless the timeline changes.
    pub(crate) fn when(&self, tick: Tick) -> Option<Duration> {
        let due_us = self.timeline.as_ref()?.due_us(tick)?;
        Some(Duration::from_micros(due_us.saturating_sub(self.zero_us)))
    }

    /// Whether time stands still.
    pub(crate) fn is_paused(&self, now: Duration) -> bool {
        let horizon = self.timeline.as_ref().and_then(Timeline::horizon);
        horizon.is_some_and(|last| self.due(now) >= last)
    }

    /// Ticks a second in real time.
    pub(crate) fn tick_hz(&self) -> u32 {
        self.timeline.as_ref().map_or(1, Timeline::tick_hz)
    }

    /// How fast time passes whenever it does, and how fast it was ordered to, thousandths of real time.
    pub(crate) fn paces(&self) -> (u32, u32) {
        let timeline = self.timeline.as_ref();
        timeline.map_or((1000, 1000), |timeline| (timeline.pace_permille(), timeline.speed_permille()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn nothing_is_due_before_the_cluster_has_started() {
        let mut time = CommonTime::default();
        assert_eq!((time.due(ms(9_000)), time.when(Tick(1)), time.world_us(ms(9))), (Tick(0), None, None));
        assert_eq!((time.is_paused(ms(0)), time.paces()), (false, (1000, 1000)));
        assert!(time.follow(&Timeline::new(5_000_000, 50), 4_000_000, ms(1_000)));
        assert_eq!((time.due(ms(1_999)), time.due(ms(2_020))), (Tick(0), Tick(1)));
        assert_eq!(time.when(Tick(1)), Some(ms(2_020)));
    }

    #[test]
    fn a_calendar_that_is_corrected_takes_no_tick_back() {
        let timeline = Timeline::new(0, 50);
        let mut time = CommonTime::default();
        assert!(time.follow(&timeline, 2_000_000, ms(0)));
        assert_eq!(time.due(ms(0)), Tick(100));
        assert!(!time.follow(&timeline, 2_000_400, ms(0)), "that is close enough");
        assert!(time.follow(&timeline, 1_900_000, ms(0)));
        assert_eq!((time.due(ms(0)), time.due(ms(99))), (Tick(100), Tick(100)), "it waits where it is");
        assert_eq!((time.when(Tick(101)), time.due(ms(120))), (Some(ms(120)), Tick(101)));
        assert!(time.follow(&timeline, 9_000_000, ms(120)));
        assert_eq!(time.due(ms(120)), Tick(450), "what is behind jumps ahead");
    }

    #[test]
    fn a_moment_at_which_a_tick_is_due_is_one_at_which_it_is() {
        let mut time = CommonTime::default();
        assert!(time.follow(&Timeline::new(1_234_567, 60), 1_000_001, Duration::from_nanos(1_999)));
        for tick in (1..500).map(Tick) {
            let moment = time.when(tick).unwrap();
            assert_eq!(time.due(moment), tick);
            assert_eq!(time.due(moment - Duration::from_nanos(1)), tick - 1);
        }
    }
}

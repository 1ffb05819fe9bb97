//! The one place that reads the clocks of the machine.

use std::time::{Duration, Instant};

/// Time since a process started to look, the same for all its threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    /// What the machine's calendar said at the start.
    start_unix_us: u64,
    /// How long the machine had been up at the start; none where it does not tell.
    start_up: Option<Duration>,
}

impl Clock {
    /// A clock that starts at zero.
    #[allow(clippy::disallowed_methods, reason = "the shell is where time comes from; cores take it as an argument")]
    pub fn start() -> Clock {
        Clock { start: Instant::now(), start_unix_us: Clock::unix_us(), start_up: up() }
    }

    /// What the machine's calendar says, microseconds since 1970. Somebody may set it at any moment, so nothing may wait
    /// for it or be measured by it: that is for [`Clock::now`] and [`Clock::steady_us`].
    #[allow(clippy::disallowed_methods, reason = "the shell is where time comes from; cores take it as an argument")]
    pub fn unix_us() -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let unix_us = since.map_or(0, |since| since.as_micros() as u64);
        #[cfg(test)]
        let unix_us = unix_us.saturating_add_signed(SET_AHEAD_US.get());
        unix_us
    }

    /// What the machine's calendar said at the start and the time since then, microseconds since 1970. It goes on evenly
    /// whatever is done to the calendar, and where the machine can tell also while it sleeps. Other machines have other
    /// ideas of it, and so has another clock of this process: whoever measures how far others are takes one clock for all.
    pub fn steady_us(&self) -> u64 {
        let passed = self.start_up.zip(up()).map(|(start, now)| now.saturating_sub(start));
        self.start_unix_us.saturating_add(passed.unwrap_or_else(|| self.now()).as_micros() as u64)
    }

    /// Time since the start, without the time that the machine slept.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// How long the machine has been up, asleep or not.
#[cfg(target_os = "linux")]
fn up() -> Option<Duration> {
    nix::time::ClockId::CLOCK_BOOTTIME.now().ok().map(Duration::from)
}

#[cfg(not(target_os = "linux"))]
fn up() -> Option<Duration> {
    None
}

#[cfg(test)]
thread_local! {
    static SET_AHEAD_US: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
impl Clock {
    /// As if somebody set the machine's calendar, for this thread alone: so far ahead of what it really is, or back.
    pub(crate) fn set_calendar_ahead(by_us: i64) {
        SET_AHEAD_US.set(by_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calendar_that_is_set_does_not_touch_the_steady_clock() {
        let clock = Clock::start();
        let (before, calendar) = (clock.steady_us(), Clock::unix_us());
        assert!(before.abs_diff(calendar) < 60_000_000, "it begins with the calendar");
        for by in [3_600_000_000, -3_600_000_000] {
            Clock::set_calendar_ahead(by);
            assert!((Clock::unix_us() as i64 - calendar as i64 - by).abs() < 60_000_000);
            assert!((before..before + 60_000_000).contains(&clock.steady_us()));
        }
    }
}

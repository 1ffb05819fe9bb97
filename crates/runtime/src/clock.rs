//! The one place that reads the clock of the machine.

use std::time::{Duration, Instant};

/// Time since a process started to look, the same for all its threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts at zero.
    #[allow(clippy::disallowed_methods, reason = "the shell is where time comes from; cores take it as an argument")]
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    /// What the machine's calendar says, microseconds since 1970. It may jump; use it to agree with other machines, and
    /// [`Clock::now`] to measure.
    #[allow(clippy::disallowed_methods, reason = "the shell is where time comes from; cores take it as an argument")]
    pub fn unix_us() -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_micros() as u64)
    }

    /// Time since the start.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

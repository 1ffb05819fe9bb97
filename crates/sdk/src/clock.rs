//! The one place that reads the clock of the machine.

use std::time::{Duration, Instant};

/// Time since a connection was begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "the shell is where time comes from; cores take it as an argument")]
    pub(crate) fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// A number that differs from process to process and from time to time, to spread clients that start together.
    #[allow(clippy::disallowed_methods, reason = "the shell is where seeds come from; cores take them as arguments")]
    pub(crate) fn seed() -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_nanos() as u64) ^ u64::from(std::process::id()).rotate_left(32)
    }
}

//! The only place of this crate that knows what time it is.

#![expect(clippy::disallowed_methods, reason = "steps of the test command are timed and waited for in real time")]

use std::time::{Duration, Instant};

/// Measures how long a step took.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring.
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Asks `done` every 50 ms until it answers or `limit` has passed.
pub(crate) fn poll<T>(limit: Duration, mut done: impl FnMut() -> Option<T>) -> Option<T> {
    let watch = Stopwatch::start();
    loop {
        if let Some(answer) = done() {
            return Some(answer);
        }
        if watch.elapsed() >= limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_ends_with_the_first_answer_or_the_limit() {
        let mut asked = 0;
        let third = poll(Duration::from_secs(5), || {
            asked += 1;
            (asked == 3).then_some(asked)
        });
        assert_eq!(third, Some(3));
        assert_eq!(poll(Duration::ZERO, || None::<u8>), None);
    }
}

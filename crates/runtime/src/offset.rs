//! By how much the clock of another process is ahead of ours, from round trips.
//!
//! Half of a round trip is the most that a single estimate can be wrong, so the shortest of the last ones counts.

use std::collections::VecDeque;

/// Round trips remembered. At a few a second this is short enough to follow clocks that drift.
const KEPT: usize = 32;

/// One round trip, microseconds.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    took_us: u64,
    ahead_us: i64,
}

/// What is known of another clock.
#[derive(Clone, Debug, Default)]
pub struct ClockOffset {
    trips: VecDeque<RoundTrip>,
}

impl ClockOffset {
    /// Notes a round trip: sent and answered by our clock, and what the other clock showed in between. One that came back
    /// before it left is not believed.
    pub fn note(&mut self, sent_us: u64, other_us: u64, received_us: u64) {
        let Some(took_us) = received_us.checked_sub(sent_us) else { return };
        let middle = sent_us + took_us / 2;
        let ahead_us = other_us.wrapping_sub(middle) as i64;
        if self.trips.len() == KEPT {
            self.trips.pop_front();
        }
        self.trips.push_back(RoundTrip { took_us, ahead_us });
    }

    /// By how many microseconds the other clock is ahead; none before the first round trip.
    pub fn ahead_us(&self) -> Option<i64> {
        self.best().map(|trip| trip.ahead_us)
    }

    /// The most that [`ClockOffset::ahead_us`] can be wrong by, microseconds, if clocks do not drift meanwhile.
    pub fn error_us(&self) -> Option<u64> {
        self.best().map(|trip| trip.took_us.div_ceil(2))
    }

    /// The shortest round trip lately, and of equally short ones the latest.
    fn best(&self) -> Option<RoundTrip> {
        self.trips.iter().rev().min_by_key(|trip| trip.took_us).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_clock_that_starts_to_drift_is_followed() {
        let mut offset = ClockOffset::default();
        assert_eq!(offset.ahead_us(), None);
        for i in 0..200u64 {
            let (sent, drift) = (1_000_000 * i, 50 * i);
            offset.note(sent, sent + 200 + drift, sent + 400);
        }
        let ahead = offset.ahead_us().unwrap();
        assert!((50 * (200 - KEPT as i64)..=50 * 199).contains(&ahead), "{ahead}");
    }

    #[test]
    fn time_that_runs_backwards_is_not_believed() {
        let mut offset = ClockOffset::default();
        offset.note(100, 5_000, 90);
        assert_eq!((offset.ahead_us(), offset.error_us()), (None, None));
    }

    proptest! {
        /// However unevenly the way there and the way back take their time, the estimate is as good as it says.
        #[test]
        fn the_error_is_bounded(ahead in -5_000_000i64..5_000_000, trips in prop::collection::vec((0u64..20_000, 0u64..20_000), 1..60)) {
            let mut offset = ClockOffset::default();
            for (i, (there, back)) in trips.into_iter().enumerate() {
                let sent = 10_000_000 + 50_000 * i as u64;
                let other = (sent + there).wrapping_add_signed(ahead);
                offset.note(sent, other, sent + there + back);
            }
            let (found, error) = (offset.ahead_us().unwrap(), offset.error_us().unwrap());
            prop_assert!(found.abs_diff(ahead) <= error, "{found} against {ahead}, error {error}");
        }
    }
}

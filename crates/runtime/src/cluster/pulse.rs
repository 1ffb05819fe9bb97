//! Which servers a gateway can tell to be there: those of which it was shown something lately.

use nimbus_model::RegionId;
use std::collections::BTreeMap;
use std::time::Duration;

/// A server of which nothing was shown for so long is taken to be gone. Nodes show theirs with every heartbeat, ten times
/// a second by their own clocks, also while the world stands still; a backup takes over within this time.
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// The most that counts of the time between two looks: whoever slept itself has not listened to the end yet.
const LOOK_MAX: Duration = Duration::from_millis(100);

/// See the description of this file.
#[derive(Default)]
pub(super) struct Pulses {
    /// For how long each server has been silent; none for one that was never heard of.
    silence: BTreeMap<RegionId, Duration>,
    looked: Duration,
}

impl Pulses {
    /// A server was shown.
    pub(super) fn feel(&mut self, region: RegionId) {
        self.silence.insert(region, Duration::ZERO);
    }

    /// Time has passed.
    pub(super) fn pass(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.looked).min(LOOK_MAX);
        self.looked = now;
        self.silence.values_mut().for_each(|silence| *silence += passed);
    }

    /// Whether a server is there.
    pub(super) fn beats(&self, region: RegionId) -> bool {
        self.silence.get(&region).is_some_and(|silence| *silence < SILENCE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: RegionId = RegionId(1);

    /// Looks every ten milliseconds.
    fn look(pulses: &mut Pulses, from_ms: u64, to_ms: u64) {
        (from_ms..=to_ms).step_by(10).for_each(|now| pulses.pass(Duration::from_millis(now)));
    }

    #[test]
    fn who_is_silent_for_a_second_is_gone_until_it_is_heard_again() {
        let mut pulses = Pulses::default();
        assert!(!pulses.beats(ONE), "nobody has heard of it");
        look(&mut pulses, 0, 5_000);
        pulses.feel(ONE);
        look(&mut pulses, 5_000, 5_900);
        assert!(pulses.beats(ONE));
        look(&mut pulses, 5_910, 6_000);
        assert!(!pulses.beats(ONE));
        pulses.feel(ONE);
        assert!(pulses.beats(ONE));
        assert!(!pulses.beats(RegionId(2)));
    }

    #[test]
    fn who_slept_itself_listens_first() {
        let mut pulses = Pulses::default();
        pulses.feel(ONE);
        pulses.pass(Duration::from_secs(60));
        assert!(pulses.beats(ONE), "what came in that minute has not been read yet");
        look(&mut pulses, 60_000, 60_900);
        assert!(!pulses.beats(ONE), "and nothing has come");
    }
}

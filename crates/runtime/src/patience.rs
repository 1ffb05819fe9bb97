//! How long a server waits for neighbours whose word its next tick needs.

use nimbus_model::{RegionId, Tick};
use std::collections::BTreeMap;
use std::time::Duration;

/// A server waits so long for one tick at the most: a neighbour that is gone must not hold the others up for longer.
const WAIT_MAX: Duration = Duration::from_millis(250);
/// Where ticks are farther apart it waits for so many of them.
const WAIT_TICKS: u32 = 2;

/// See the description of this file. Moments are times on one clock.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// Since when it waits; none while it does not.
    since: Option<Duration>,
    /// Neighbours that it has waited for in vain, with the tick up to which they had said everything: it does not wait for
    /// them again before they have said more.
    given_up: BTreeMap<RegionId, Tick>,
}

impl Patience {
    /// Whether to wait a moment more for these neighbours, each with the tick up to which it has said everything, while ticks
    /// are so far apart.
    pub(crate) fn waits(
        &mut self,
        awaited: impl Iterator<Item = (RegionId, Tick)>,
        now: Duration,
        between_ticks: Duration,
    ) -> bool {
        let awaited: Vec<(RegionId, Tick)> =
            awaited.filter(|(region, latest)| self.given_up.get(region) != Some(latest)).collect();
        if awaited.is_empty() {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) < WAIT_MAX.max(between_ticks * WAIT_TICKS) {
            return true;
        }
        self.given_up.extend(awaited);
        self.since = None;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: RegionId = RegionId(1);
    const SHORT: Duration = Duration::from_millis(16);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn it_waits_until_it_hears_or_gives_up_and_begins_anew_with_the_next_word() {
        let mut patience = Patience::default();
        let mut waits = |latest: Option<u64>, now: u64, between: Duration| {
            patience.waits(latest.map(|tick| (ONE, Tick(tick))).into_iter(), ms(now), between)
        };
        assert!(waits(Some(7), 0, SHORT) && waits(Some(7), 249, SHORT));
        assert!(!waits(None, 249, SHORT), "it has heard");
        assert!(waits(Some(8), 300, SHORT), "another tick, another wait");
        assert!(!waits(Some(8), 550, SHORT), "it gives up");
        assert!(!waits(Some(8), 560, SHORT), "and does not wait for the same again");
        assert!(waits(Some(9), 570, SHORT), "one that speaks is waited for");
        assert!(waits(Some(9), 1_100, ms(333)), "longer where ticks are far apart");
        assert!(!waits(Some(9), 1_236, ms(333)));
    }
}

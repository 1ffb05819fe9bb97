//! When each tick is due, for all processes alike, also after the whole world was slowed down.
//!
//! Whole numbers only: every process computes the same microsecond from the same roster.

use nimbus_model::Tick;
use serde::{Deserialize, Serialize};

/// Slowest and fastest pace that may be ordered, thousandths of real time.
pub const PACE_PERMILLE: std::ops::RangeInclusive<u32> = 50..=4000;
/// Paces that are remembered; older ones no longer matter to anybody who is not hours behind.
pub const PACES_MAX: usize = 8;
/// Greatest rate of ticks.
pub const TICK_HZ_MAX: u32 = 1000;

/// How fast ticks follow each other from a named tick on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The tick from which it holds.
    pub from: Tick,
    /// The unix microsecond at which that tick is due.
    pub due_us: u64,
    /// Thousandths of real time.
    pub permille: u32,
}

/// The start of the timeline and its paces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    start_us: u64,
    tick_hz: u32,
    paces: Vec<Pace>,
}

impl Timeline {
    /// A timeline in real time whose tick 0 is due at a unix microsecond.
    pub fn new(start_us: u64, tick_hz: u32) -> Timeline {
        let pace = Pace { from: Tick(0), due_us: start_us, permille: 1000 };
        Timeline { start_us, tick_hz: tick_hz.clamp(1, TICK_HZ_MAX), paces: vec![pace] }
    }

    /// A timeline that goes on after a tick, which counts as due at a unix microsecond.
    pub fn after(tick: Tick, start_us: u64, tick_hz: u32) -> Timeline {
        let pace = Pace { from: tick, due_us: start_us, permille: 1000 };
        Timeline { paces: vec![pace], ..Timeline::new(start_us, tick_hz) }
    }

    /// The unix microsecond at which the first tick was due.
    pub fn start_us(&self) -> u64 {
        self.start_us
    }

    /// Ticks a second in real time.
    pub fn tick_hz(&self) -> u32 {
        self.tick_hz
    }

    /// The paces, oldest first; the last may be still to come.
    pub fn paces(&self) -> &[Pace] {
        &self.paces
    }

    /// The unix microsecond at which a tick is due. Ticks before the oldest pace that is remembered are long past.
    pub fn due_us(&self, tick: Tick) -> u64 {
        let pace = self.pace_of(tick);
        let passed = u128::from(tick.since(pace.from)) * UNITS / self.units_per_us(pace);
        pace.due_us.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// The last tick that is due at a unix microsecond; none before the start.
    pub fn tick_at(&self, now_us: u64) -> Option<Tick> {
        let after = self.paces.partition_point(|pace| pace.due_us <= now_us);
        let pace = self.paces.get(after.checked_sub(1)?)?;
        let passed = u128::from(now_us - pace.due_us) + 1;
        let ticks = (passed * self.units_per_us(pace)).div_ceil(UNITS).saturating_sub(1);
        let tick = pace.from + u64::try_from(ticks).unwrap_or(u64::MAX);
        // A later pace has the ticks from its own on, although rounding may make one look due here.
        Some(self.paces.get(after).map_or(tick, |next| tick.min(next.from - 1)))
    }

    /// Changes the pace from a tick on. The tick moves behind a change that is already announced, and is returned.
    pub(crate) fn set_pace(&mut self, from: Tick, permille: u32) -> Tick {
        let last = self.paces.last().map_or(Tick(0), |pace| pace.from);
        let from = from.max(last.next());
        let permille = permille.clamp(*PACE_PERMILLE.start(), *PACE_PERMILLE.end());
        self.paces.push(Pace { from, due_us: self.due_us(from), permille });
        if self.paces.len() > PACES_MAX {
            self.paces.remove(0);
        }
        from
    }

    /// True for a timeline on which arithmetic cannot go wrong.
    pub(crate) fn is_valid(&self) -> bool {
        let ascends = |pair: &[Pace]| pair[0].from < pair[1].from && pair[0].due_us <= pair[1].due_us;
        (1..=TICK_HZ_MAX).contains(&self.tick_hz)
            && (1..=PACES_MAX).contains(&self.paces.len())
            && self.paces.windows(2).all(ascends)
            && self.paces.iter().all(|pace| PACE_PERMILLE.contains(&pace.permille))
    }

    fn pace_of(&self, tick: Tick) -> &Pace {
        let after = self.paces.partition_point(|pace| pace.from <= tick);
        &self.paces[after.saturating_sub(1)]
    }

    fn units_per_us(&self, pace: &Pace) -> u128 {
        u128::from(self.tick_hz) * u128::from(pace.permille)
    }
}

/// Parts of a tick in which rate times pace counts microseconds.
const UNITS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_due_at_their_rate_and_slower_once_slowed_down() {
        let mut timeline = Timeline::new(1_000_000, 50);
        assert_eq!((timeline.due_us(Tick(0)), timeline.due_us(Tick(50))), (1_000_000, 2_000_000));
        assert_eq!((timeline.tick_at(999_999), timeline.tick_at(1_000_000)), (None, Some(Tick(0))));
        assert_eq!(timeline.set_pace(Tick(100), 500), Tick(100));
        assert_eq!((timeline.due_us(Tick(100)), timeline.due_us(Tick(150))), (3_000_000, 5_000_000));
        assert_eq!(timeline.set_pace(Tick(90), 1000), Tick(101), "after the change that is announced");
        assert_eq!(timeline.start_us(), 1_000_000);
    }

    #[test]
    fn a_timeline_may_go_on_where_another_ended() {
        let timeline = Timeline::after(Tick(500), 1_000_000, 50);
        assert!(timeline.is_valid());
        assert_eq!((timeline.tick_at(999_999), timeline.tick_at(1_000_000)), (None, Some(Tick(500))));
        assert_eq!((timeline.due_us(Tick(550)), timeline.tick_at(2_000_000)), (2_000_000, Some(Tick(550))));
    }

    proptest! {
        #[test]
        fn due_and_tick_at_agree(hz in 1u32..=1000, changes in prop::collection::vec((1u64..500, 0u32..5000), 0..12)) {
            let mut timeline = Timeline::new(77, hz);
            let mut from = Tick(0);
            for (later, permille) in changes {
                from = timeline.set_pace(from + later, permille);
            }
            prop_assert!(timeline.is_valid());
            let first = timeline.paces()[0].from;
            for tick in (first.0..from.0 + 100).map(Tick) {
                let due = timeline.due_us(tick);
                prop_assert_eq!(timeline.tick_at(due), Some(tick));
                prop_assert_eq!(timeline.tick_at(timeline.due_us(tick.next()) - 1), Some(tick));
            }
        }
    }
}

//! When each tick is due, for all processes alike, also after the whole world was slowed down or stopped.
//!
//! Whole numbers only: every process computes the same microsecond from the same roster.

use nimbus_model::Tick;
use serde::{Deserialize, Serialize};

/// Slowest and fastest pace that may be ordered, thousandths of real time.
pub const PACE_PERMILLE: std::ops::RangeInclusive<u32> = 50..=4000;
/// Time that is held to this, or to more, is not held: no faster pace may be ordered.
pub const UNHELD_PERMILLE: u32 = *PACE_PERMILLE.end();
/// Paces that are remembered; older ones no longer matter to anybody who is not far behind.
pub const PACES_MAX: usize = 16;
/// Greatest rate of ticks.
pub const TICK_HZ_MAX: u32 = 1000;

/// How fast ticks follow each other from a named tick on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The tick from which it holds.
    pub from: Tick,
    /// The unix microsecond at which that tick is due.
    pub due_us: u64,
    /// Thousandths of real time. At 0 time stands still: no tick after `from` is due until another pace says so.
    pub permille: u32,
}

impl Pace {
    /// True when time stands still once its tick is due.
    pub fn is_still(&self) -> bool {
        self.permille == 0
    }
}

/// The start of the timeline and its paces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    start_us: u64,
    tick_hz: u32,
    /// How fast time is to pass whenever it does, thousandths of real time; can be changed while it stands still.
    speed_permille: u32,
    /// It passes no faster than this, thousandths of real time: time dilation.
    held_permille: u32,
    paces: Vec<Pace>,
}

impl Timeline {
    /// A timeline in real time whose tick 0 is due at a unix microsecond.
    pub fn new(start_us: u64, tick_hz: u32) -> Timeline {
        let pace = Pace { from: Tick(0), due_us: start_us, permille: 1000 };
        let (speed_permille, held_permille) = (1000, UNHELD_PERMILLE);
        let tick_hz = tick_hz.clamp(1, TICK_HZ_MAX);
        Timeline { start_us, tick_hz, speed_permille, held_permille, paces: vec![pace] }
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

    /// How fast time was ordered to pass, thousandths of real time.
    pub fn speed_permille(&self) -> u32 {
        self.speed_permille
    }

    /// How fast time passes, or will when it goes on, thousandths of real time: as ordered, or slower where it is held.
    pub fn pace_permille(&self) -> u32 {
        self.speed_permille.min(self.held_permille)
    }

    /// True while it is held to less than was ordered.
    pub fn is_held(&self) -> bool {
        self.held_permille < self.speed_permille
    }

    /// World time at a unix microsecond: microseconds that have passed in the world since tick 0. It stands still while the
    /// world does, and passes as much slower or faster.
    pub fn world_us(&self, now_us: u64) -> u64 {
        let after = self.paces.partition_point(|pace| pace.due_us <= now_us);
        let Some(pace) = self.paces.get(after.saturating_sub(1)) else { return 0 };
        let at_us = |tick: Tick| u128::from(tick.0) * 1_000_000 / u128::from(self.tick_hz);
        let passed = u128::from(now_us.saturating_sub(pace.due_us)) * u128::from(pace.permille) / 1000;
        let until = self.paces.get(after).map_or(u128::MAX, |next| at_us(next.from));
        u64::try_from((at_us(pace.from) + passed).min(until)).unwrap_or(u64::MAX)
    }

    /// The paces, oldest first; the last may be still to come.
    pub fn paces(&self) -> &[Pace] {
        &self.paces
    }

    /// The last tick that will ever be due unless somebody orders otherwise: the one of a pause, if there is one.
    pub fn horizon(&self) -> Option<Tick> {
        self.paces.last().filter(|pace| pace.is_still()).map(|pace| pace.from)
    }

    /// The unix microsecond at which a tick is due; none when time stands still before it. Ticks before the oldest pace
    /// that is remembered are long past.
    pub fn due_us(&self, tick: Tick) -> Option<u64> {
        let pace = self.pace_of(tick);
        let after = u128::from(tick.since(pace.from));
        if pace.is_still() && after > 0 {
            return None;
        }
        let passed = if after == 0 { 0 } else { after * UNITS / self.units_per_us(pace.permille) };
        Some(pace.due_us.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    /// The last tick that is due at a unix microsecond; none before the start.
    pub fn tick_at(&self, now_us: u64) -> Option<Tick> {
        let after = self.paces.partition_point(|pace| pace.due_us <= now_us);
        let Some(pace) = after.checked_sub(1).and_then(|at| self.paces.get(at)) else {
            // Before a pace that is not the first: what held then is forgotten, but not that time has begun.
            return self.paces.first().filter(|first| first.from > Tick(0)).map(|first| first.from - 1);
        };
        let passed = u128::from(now_us - pace.due_us) + 1;
        let ticks = (passed * self.units_per_us(pace.permille)).div_ceil(UNITS).saturating_sub(1);
        let tick = pace.from + u64::try_from(ticks).unwrap_or(u64::MAX);
        // A later pace has the ticks from its own on, although rounding may make one look due here.
        Some(self.paces.get(after).map_or(tick, |next| tick.min(next.from - 1)))
    }

    /// Changes how fast time passes from a tick on. The tick moves behind a change that is already announced. While time
    /// stands still, or is about to, that is how fast it will go on.
    pub(crate) fn set_speed(&mut self, from: Tick, permille: u32) {
        self.speed_permille = permille.clamp(*PACE_PERMILLE.start(), *PACE_PERMILLE.end());
        if self.horizon().is_none() {
            self.push_after(from, self.pace_permille());
        }
    }

    /// Lets time pass no faster than this from a tick on; what is no slower than ordered lets go of it.
    pub(crate) fn hold(&mut self, from: Tick, permille: u32) {
        let before = self.pace_permille();
        self.held_permille = if permille < self.speed_permille { permille.max(1) } else { UNHELD_PERMILLE };
        if self.horizon().is_none() && self.pace_permille() != before {
            self.push_after(from, self.pace_permille());
        }
    }

    /// Time stands still once a tick is due. Nothing happens when it does already, or is about to.
    pub(crate) fn pause(&mut self, at: Tick) {
        if self.horizon().is_none() {
            self.push_after(at, 0);
        }
    }

    /// Time goes on, with the next tick due at this microsecond or later. Nothing happens while it runs.
    pub(crate) fn resume(&mut self, due_us: u64) {
        if let Some(at) = self.horizon() {
            let due_us = self.due_after_pause(due_us);
            self.push(Pace { from: at.next(), due_us, permille: self.pace_permille() });
        }
    }

    /// Lets some more ticks become due while time stands still, the first of them at this microsecond or later. False,
    /// and nothing happens, while it runs.
    pub(crate) fn step(&mut self, ticks: u64, due_us: u64) -> bool {
        let Some(at) = self.horizon() else { return false };
        if ticks == 0 {
            return true;
        }
        let due_us = self.due_after_pause(due_us);
        if ticks > 1 {
            self.push(Pace { from: at.next(), due_us, permille: self.pace_permille() });
            self.push_after(at + ticks, 0);
        } else {
            self.push(Pace { from: at.next(), due_us, permille: 0 });
        }
        true
    }

    /// True for a timeline on which arithmetic cannot go wrong.
    pub(crate) fn is_valid(&self) -> bool {
        let ascends = |pair: &[Pace]| pair[0].from < pair[1].from && pair[0].due_us <= pair[1].due_us;
        (1..=TICK_HZ_MAX).contains(&self.tick_hz)
            && PACE_PERMILLE.contains(&self.speed_permille)
            && (1..=UNHELD_PERMILLE).contains(&self.held_permille)
            && (1..=PACES_MAX).contains(&self.paces.len())
            && self.paces.windows(2).all(ascends)
            && self.paces.iter().all(|pace| pace.permille <= UNHELD_PERMILLE)
    }

    /// When the tick after a pause may be due: not before it would have been without the pause.
    fn due_after_pause(&self, due_us: u64) -> u64 {
        let period = u64::try_from(UNITS / self.units_per_us(self.pace_permille())).unwrap_or(u64::MAX);
        let paused_us = self.paces.last().map_or(0, |pace| pace.due_us);
        due_us.max(paused_us.saturating_add(period))
    }

    /// Another pace while time runs, from a tick on that lies behind the last change.
    fn push_after(&mut self, from: Tick, permille: u32) {
        let last = self.paces.last().map_or(Tick(0), |pace| pace.from);
        let from = from.max(last.next());
        let due_us = self.due_us(from).unwrap_or(u64::MAX);
        self.push(Pace { from, due_us, permille });
    }

    fn push(&mut self, pace: Pace) {
        self.paces.push(pace);
        if self.paces.len() > PACES_MAX {
            self.paces.remove(0);
        }
    }

    fn pace_of(&self, tick: Tick) -> &Pace {
        let after = self.paces.partition_point(|pace| pace.from <= tick);
        &self.paces[after.saturating_sub(1)]
    }

    fn units_per_us(&self, permille: u32) -> u128 {
        u128::from(self.tick_hz) * u128::from(permille)
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
        assert_eq!((timeline.due_us(Tick(0)), timeline.due_us(Tick(50))), (Some(1_000_000), Some(2_000_000)));
        assert_eq!((timeline.tick_at(999_999), timeline.tick_at(1_000_000)), (None, Some(Tick(0))));
        timeline.set_speed(Tick(100), 500);
        assert_eq!((timeline.due_us(Tick(100)), timeline.due_us(Tick(150))), (Some(3_000_000), Some(5_000_000)));
        timeline.set_speed(Tick(90), 1000);
        assert_eq!(timeline.paces()[2].from, Tick(101), "after the change that is announced");
        assert_eq!(timeline.start_us(), 1_000_000);
    }

    #[test]
    fn a_timeline_may_go_on_where_another_ended() {
        let timeline = Timeline::after(Tick(500), 1_000_000, 50);
        assert!(timeline.is_valid());
        assert_eq!((timeline.tick_at(999_999), timeline.tick_at(1_000_000)), (Some(Tick(499)), Some(Tick(500))));
        assert_eq!((timeline.due_us(Tick(550)), timeline.tick_at(2_000_000)), (Some(2_000_000), Some(Tick(550))));
    }

    #[test]
    fn a_pause_holds_until_somebody_steps_or_resumes() {
        let mut timeline = Timeline::new(0, 50);
        timeline.pause(Tick(100));
        assert_eq!((timeline.horizon(), timeline.tick_at(1_999_999)), (Some(Tick(100)), Some(Tick(99))));
        assert_eq!((timeline.tick_at(90_000_000), timeline.due_us(Tick(101))), (Some(Tick(100)), None));
        timeline.pause(Tick(400));
        assert_eq!(timeline.horizon(), Some(Tick(100)), "it is paused already");
        assert!(timeline.step(1, 90_000_000));
        assert_eq!((timeline.tick_at(90_000_000), timeline.horizon()), (Some(Tick(101)), Some(Tick(101))));
        assert!(timeline.step(10, 91_000_000));
        assert_eq!((timeline.due_us(Tick(102)), timeline.due_us(Tick(111))), (Some(91_000_000), Some(91_180_000)));
        assert_eq!(timeline.due_us(Tick(112)), None);
        timeline.set_speed(Tick(0), 500);
        assert_eq!((timeline.horizon(), timeline.speed_permille()), (Some(Tick(111)), 500), "still paused");
        timeline.resume(95_000_000);
        assert_eq!((timeline.due_us(Tick(112)), timeline.due_us(Tick(137))), (Some(95_000_000), Some(96_000_000)));
        assert!(!timeline.step(1, 99_000_000) && timeline.horizon().is_none(), "a running timeline does not step");
        assert!(timeline.is_valid());
    }

    #[test]
    fn a_pause_that_is_taken_back_before_it_holds_changes_nothing() {
        let (mut timeline, plain) = (Timeline::new(0, 50), Timeline::new(0, 50));
        timeline.pause(Tick(100));
        timeline.resume(1_000_000);
        for tick in (90..120).map(Tick) {
            assert_eq!(timeline.due_us(tick), plain.due_us(tick));
        }
    }

    #[test]
    fn steps_in_a_hurry_do_not_take_time_back_to_the_start() {
        let mut timeline = Timeline::new(0, 50);
        timeline.pause(Tick(100));
        for _ in 0..40 {
            assert!(timeline.step(2, 5_000_000));
        }
        assert_eq!(timeline.horizon(), Some(Tick(180)));
        assert!(timeline.tick_at(5_000_000).is_some_and(|tick| tick >= Tick(100)));
        assert!(timeline.is_valid());
    }

    #[test]
    fn time_that_is_held_passes_slower_than_ordered_and_never_faster() {
        let mut timeline = Timeline::new(0, 50);
        timeline.hold(Tick(100), 250);
        assert_eq!((timeline.speed_permille(), timeline.pace_permille()), (1000, 250));
        assert_eq!((timeline.due_us(Tick(100)), timeline.due_us(Tick(125))), (Some(2_000_000), Some(4_000_000)));
        timeline.hold(Tick(110), 2_000);
        assert_eq!((timeline.pace_permille(), timeline.paces().len()), (1000, 3), "held to more than was ordered");
        timeline.hold(Tick(120), 1000);
        assert_eq!(timeline.paces().len(), 3, "nothing changes");
        timeline.pause(Tick(200));
        timeline.hold(Tick(300), 500);
        timeline.resume(90_000_000);
        assert_eq!((timeline.due_us(Tick(201)), timeline.due_us(Tick(226))), (Some(90_000_000), Some(91_000_000)));
        assert!(timeline.is_valid());
    }

    #[test]
    fn world_time_follows_the_pace_and_stands_still_with_it() {
        let mut timeline = Timeline::new(1_000_000, 50);
        assert_eq!((timeline.world_us(0), timeline.world_us(1_000_000), timeline.world_us(1_500_000)), (0, 0, 500_000));
        timeline.hold(Tick(100), 250);
        assert_eq!((timeline.world_us(3_000_000), timeline.world_us(5_000_000)), (2_000_000, 2_500_000));
        timeline.pause(Tick(150));
        assert_eq!((timeline.world_us(7_000_000), timeline.world_us(99_000_000)), (3_000_000, 3_000_000));
        timeline.resume(100_000_000);
        assert_eq!(timeline.world_us(100_000_000), 3_020_000, "tick 151 is due");
    }

    #[derive(Clone, Debug)]
    enum Act {
        Hold(u32),
        Speed(u32),
        Pause,
        Resume,
        Step(u64),
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            (0u32..5000).prop_map(Act::Hold),
            (0u32..5000).prop_map(Act::Speed),
            Just(Act::Pause),
            Just(Act::Resume),
            (0u64..9).prop_map(Act::Step),
        ]
    }

    proptest! {
        #[test]
        fn due_and_tick_at_agree(hz in 1u32..=1000, acts in prop::collection::vec((act(), 1u64..3_000_000), 0..7)) {
            let mut timeline = Timeline::new(77, hz);
            let mut now_us = 77;
            for (act, later_us) in acts {
                now_us += later_us;
                let next = timeline.tick_at(now_us + 250_000).unwrap_or_default().next();
                match act {
                    Act::Hold(permille) => timeline.hold(next, permille),
                    Act::Speed(permille) => timeline.set_speed(next, permille),
                    Act::Pause => timeline.pause(next),
                    Act::Resume => timeline.resume(now_us + 250_000),
                    Act::Step(ticks) => _ = timeline.step(ticks, now_us + 250_000),
                }
                prop_assert!(timeline.is_valid());
            }
            let first = timeline.paces()[0].from;
            let last = timeline.horizon().unwrap_or(timeline.paces().last().map_or(first, |pace| pace.from) + 100);
            for tick in (first.0..=last.0).map(Tick) {
                let Some(due) = timeline.due_us(tick) else {
                    return Err(TestCaseError::fail(format!("{tick} is never due")));
                };
                prop_assert_eq!(timeline.tick_at(due), Some(tick));
                prop_assert!(timeline.world_us(due).abs_diff(tick.0 * 1_000_000 / u64::from(hz)) <= 5);
                let until = timeline.due_us(tick.next()).unwrap_or(u64::MAX / 4);
                prop_assert_eq!(timeline.tick_at(until - 1), Some(tick));
            }
        }
    }
}

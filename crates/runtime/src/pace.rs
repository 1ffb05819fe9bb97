//! Who may run which tick when: in real time, or in lock step as fast as the machine can.
//!
//! Threads sleep here and nowhere else, so a stop, a pause or a step reaches all of them at once.

use nimbus_model::Tick;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nimbus_control as control;

use crate::clock::Clock;
use crate::common_time::CommonTime;
use crate::node_thread::BEHIND_TICKS_MAX;
use crate::timeline::Timeline;

/// A server looks in at least this often, so that its word is kept and it can be told things while time stands still.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A runner may be this many ticks behind another one before time waits for it.
const HELD_TICKS: u64 = 1;
/// A sleeper that waits for the slowest runner looks this often; it is also woken when that has completed a tick.
const HELD_LOOK: Duration = Duration::from_millis(5);
/// A server that is further behind than this skips ticks, although time could slow down: its process stood still.
const SKIPS_ANYWAY_TICKS: u64 = 600;

/// Why a sleeper woke up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The last tick that is due; none after the last one when it only looks in.
    pub due: Tick,
    /// How long ago the first tick that the sleeper waited for became due.
    pub late: Duration,
}

/// How time passes, as people are shown it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// It stands still.
    pub paused: bool,
    /// How fast it was asked to pass; 1 is real time.
    pub speed: f32,
    /// The share of that at which it passes: less than 1 while the world slows down for a region that cannot keep up.
    pub dilation: f32,
}

/// Real time: ticks become due by the clock.
pub struct RealTime {
    clock: Clock,
    state: Mutex<RealTimeState>,
    changed: Condvar,
}

struct RealTimeState {
    timeline: Timeline,
    /// The timeline of a whole cluster, which then counts instead.
    common: Option<CommonTime>,
    /// Least share of the speed asked for to which time may slow down, thousandths; 1000 forbids it.
    slowest_permille: u32,
    /// The last tick that each runner of this process has completed. Time waits for the slowest of them, where the process has
    /// the whole world and time may slow down.
    done: BTreeMap<usize, Tick>,
    /// A sleeper waits for a tick that becomes due when the slowest runner has completed one.
    held: bool,
    /// What was due once stays due.
    floor: Tick,
    stopped: bool,
}

impl RealTimeState {
    fn due(&mut self, now: Duration) -> Tick {
        if let Some(common) = &self.common {
            return common.due(now);
        }
        if let Some(last) = self.last_allowed() {
            let least = self.timeline.speed_permille() * self.slowest_permille / 1000;
            self.timeline.hold_back(last, least, now);
        }
        self.floor = self.floor.max(self.timeline.due(now));
        self.floor
    }

    /// The moment until which a sleeper need not look whether a tick is due; none when it never will be by itself.
    fn when(&mut self, tick: Tick, now: Duration) -> Option<Duration> {
        if let Some(common) = &self.common {
            return common.when(tick);
        }
        let moment = self.timeline.when(tick)?;
        if self.last_allowed().is_some_and(|last| tick > last) {
            self.held = true;
            return Some(moment.max(now + HELD_LOOK));
        }
        Some(moment)
    }

    /// The last tick that may be due while time waits for the slowest runner. Each has one tick of its own to be late.
    fn last_allowed(&self) -> Option<Tick> {
        if self.slowest_permille >= 1000 {
            return None;
        }
        self.done.values().min().map(|slowest| *slowest + HELD_TICKS)
    }

    /// What the pace is decided by.
    fn law(&self) -> control::Dilation {
        let (present, ordered) = self.paces();
        let tick_hz = self.common.as_ref().map_or_else(|| self.timeline.hz(), CommonTime::tick_hz);
        control::Dilation { tick_hz, ordered, present, slowest: self.slowest_permille }
    }

    /// The pace, and what was asked for, thousandths of real time.
    fn paces(&self) -> (u32, u32) {
        let own = || (self.timeline.pace_permille(), self.timeline.speed_permille());
        self.common.as_ref().map_or_else(own, CommonTime::paces)
    }
}

impl RealTime {
    /// Starts now: the tick after `loaded_at` is due one tick from now. Time may slow down to a share of what is asked for,
    /// in thousandths; 1000 forbids it.
    pub fn start(loaded_at: Tick, hz: u32, slowest_permille: u32) -> RealTime {
        RealTime::new(loaded_at, hz, slowest_permille, None)
    }

    /// Goes by the timeline of a whole cluster, whose coordinator may slow it down that far; nothing is due until
    /// [`RealTime::follow`] is told one.
    pub fn common(slowest_permille: u32) -> RealTime {
        RealTime::new(Tick(0), 1, slowest_permille, Some(CommonTime::default()))
    }

    fn new(loaded_at: Tick, hz: u32, slowest_permille: u32, common: Option<CommonTime>) -> RealTime {
        let clock = Clock::start();
        let timeline = Timeline::new(loaded_at, hz, clock.now());
        let (done, held, floor, stopped) = (BTreeMap::new(), false, loaded_at, false);
        let state = Mutex::new(RealTimeState { timeline, common, slowest_permille, done, held, floor, stopped });
        RealTime { clock, state, changed: Condvar::new() }
    }

    /// A runner has completed a tick. Time waits for the slowest, where the whole world is in this process.
    pub fn completed(&self, runner: usize, tick: Tick) {
        let mut state = self.lock();
        state.done.insert(runner, tick);
        if std::mem::take(&mut state.held) {
            self.changed.notify_all();
        }
    }

    /// A runner is gone. Time does not wait for it any more.
    pub fn gone(&self, runner: usize) {
        self.lock().done.remove(&runner);
        self.changed.notify_all();
    }

    /// True when a server that is so many ticks behind, and whose ticks take so long, is to skip some: where time may not
    /// slow down, or has slowed down as far as it may and the server still cannot keep up.
    pub fn skips(&self, behind: u64, tick_us: u32) -> bool {
        let state = self.lock();
        let law = state.law();
        let is_hopeless = law.present <= law.floor() && !law.floor_holds(tick_us);
        let may_slow_down = law.slowest < 1000;
        behind >= BEHIND_TICKS_MAX && (!may_slow_down || is_hopeless || behind >= SKIPS_ANYWAY_TICKS)
    }

    /// How far ticks are apart at present, and whether the world is slowed down, where servers wait for each other between
    /// processes because it may be; none elsewhere. Within one process time itself waits.
    pub fn waits_for_others(&self) -> Option<(Duration, bool)> {
        let state = self.lock();
        let law = state.law();
        let ticks_per_s = f64::from(law.tick_hz.max(1)) * f64::from(law.present.max(1)) / 1000.0;
        let waits = state.common.is_some() && law.slowest < 1000;
        waits.then(|| (Duration::from_secs_f64(1.0 / ticks_per_s), law.present < law.ordered))
    }

    /// Sleeps for so long, unless the run ends.
    pub fn rest(&self, longest: Duration) {
        let (mut state, until) = (self.lock(), self.clock.now() + longest);
        while !state.stopped && self.clock.now() < until {
            let left = until.saturating_sub(self.clock.now());
            state = sleep(&self.changed, state, left);
        }
    }

    /// Decides how fast time passes from now on, by how hard each server finds the present pace.
    pub(crate) fn dilate(&self, strains: impl IntoIterator<Item = control::Strain>) {
        let mut state = self.lock();
        let (law, now) = (state.law(), self.clock.now());
        let timeline = &mut state.timeline;
        if let Some(next) = law.next(strains).filter(|_| !timeline.is_paused()) {
            timeline.hold(next, now);
            self.changed.notify_all();
        }
    }

    /// Goes by this timeline from now on, with a calendar that shows this unix microsecond now.
    pub fn follow(&self, timeline: &control::Timeline, calendar_us: u64) {
        let now = self.clock.now();
        let news = |common: &mut CommonTime| common.follow(timeline, calendar_us, now);
        if self.lock().common.as_mut().is_some_and(news) {
            self.changed.notify_all();
        }
    }

    /// What people are shown of it.
    pub fn shown(&self) -> Shown {
        let (state, now) = (self.lock(), self.clock.now());
        let paused = state.common.as_ref().map_or_else(|| state.timeline.is_paused(), |common| common.is_paused(now));
        let (pace, asked) = state.paces();
        Shown { paused, speed: asked as f32 / 1000.0, dilation: pace as f32 / asked.max(1) as f32 }
    }

    /// Time since the start.
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// World time, microseconds since tick 0: what all servers of a world go by. It passes with the ticks, slower when the
    /// world is slow, and not at all while it stands still. Zero before a cluster has started.
    pub fn world_us(&self) -> u64 {
        self.world_us_before(Duration::ZERO)
    }

    /// World time so long ago. Where the pace has changed since then it may be later than it was, by no more than has
    /// passed, but never earlier: a frame must not seem to arrive before it was sent.
    pub fn world_us_before(&self, real: Duration) -> u64 {
        let (mut state, now) = (self.lock(), self.clock.now());
        state.due(now);
        let then = now.saturating_sub(real);
        let own = || Some(state.timeline.world_us(then) + 1);
        state.common.as_ref().map_or_else(own, |common| common.world_us(then)).unwrap_or(0)
    }

    /// How long it takes until a tick is due; none when it never will be unless somebody orders otherwise.
    pub fn until(&self, tick: Tick) -> Option<Duration> {
        let (mut state, now) = (self.lock(), self.clock.now());
        if state.due(now) >= tick {
            return Some(Duration::ZERO);
        }
        state.when(tick, now).map(|moment| moment.saturating_sub(now))
    }

    /// Sleeps until a tick after `after` is due, but not for ever: while ticks are far apart, or time stands still, it
    /// wakes now and then although nothing is due. None when the run is over.
    pub fn wait(&self, after: Tick) -> Option<Wake> {
        let mut state = self.lock();
        let until = self.clock.now() + LOOK_EVERY;
        loop {
            if state.stopped {
                return None;
            }
            let now = self.clock.now();
            let due = state.due(now);
            let moment = state.when(after.next(), now);
            if due > after || now >= until {
                return Some(Wake { due, late: now.saturating_sub(moment.unwrap_or(now)) });
            }
            let moment = moment.map_or(until, |moment| moment.min(until));
            state = sleep(&self.changed, state, moment.saturating_sub(now));
        }
    }

    /// Sleeps until a tick after `after` is due, but no longer than `longest`. None when the run is over.
    pub fn wait_briefly(&self, after: Tick, longest: Duration) -> Option<Tick> {
        let mut state = self.lock();
        let until = self.clock.now() + longest;
        loop {
            let now = self.clock.now();
            let due = state.due(now);
            if state.stopped || due > after || now >= until {
                return (!state.stopped).then_some(due);
            }
            let moment = state.when(after.next(), now).map_or(until, |moment| moment.min(until));
            state = sleep(&self.changed, state, moment.saturating_sub(now));
        }
    }

    /// Looks at the timeline; nobody wakes up for that.
    pub fn look<T>(&self, at: impl FnOnce(&Timeline, Duration) -> T) -> T {
        at(&self.lock().timeline, self.clock.now())
    }

    /// Changes the timeline; sleepers see the change at once.
    pub fn with<T>(&self, act: impl FnOnce(&mut Timeline, Duration) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state.timeline, self.clock.now());
        self.changed.notify_all();
        result
    }

    /// Ends the run: every sleeper wakes and goes home.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, RealTimeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lock step: a tick is due once everybody has completed the one before and sent what it had to say. Every frame is
/// therefore there in time, and the same world gives the same run every time.
pub struct LockStep {
    state: Mutex<LockStepState>,
    changed: Condvar,
    end: Tick,
}

struct LockStepState {
    done: Vec<Tick>,
    stopped: bool,
}

impl LockStep {
    /// For some runners that have all completed `start`, up to and including tick `end`.
    pub fn new(runners: usize, start: Tick, end: Tick) -> LockStep {
        let state = LockStepState { done: vec![start; runners], stopped: false };
        LockStep { state: Mutex::new(state), changed: Condvar::new(), end }
    }

    /// Sleeps until the tick after `after` is due. None when the run is over.
    pub fn wait(&self, after: Tick) -> Option<Wake> {
        let mut state = self.lock();
        loop {
            if state.stopped || after >= self.end {
                return None;
            }
            if state.done.iter().all(|done| *done >= after) {
                return Some(Wake { due: after.next(), late: Duration::ZERO });
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A runner has completed a tick and said what it had to say.
    pub fn completed(&self, runner: usize, tick: Tick) {
        if let Some(done) = self.lock().done.get_mut(runner) {
            *done = tick;
        }
        self.changed.notify_all();
    }

    /// The tick that everybody has completed.
    pub fn reached(&self) -> Tick {
        self.lock().done.iter().min().copied().unwrap_or(self.end)
    }

    /// Ends the run early.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, LockStepState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the ticks of a run become due.
pub enum Pace {
    /// By the clock.
    RealTime(RealTime),
    /// As fast as everybody gets through them.
    LockStep(LockStep),
}

impl Pace {
    /// Sleeps until a tick after `after` is due, or in real time until it should look in. None when the run is over.
    pub fn wait(&self, after: Tick) -> Option<Wake> {
        match self {
            Pace::RealTime(real_time) => real_time.wait(after),
            Pace::LockStep(lock_step) => lock_step.wait(after),
        }
    }

    /// A runner has completed a tick and said what it had to say.
    pub fn completed(&self, runner: usize, tick: Tick) {
        match self {
            Pace::RealTime(real_time) => real_time.completed(runner, tick),
            Pace::LockStep(lock_step) => lock_step.completed(runner, tick),
        }
    }

    /// A runner is gone.
    pub fn gone(&self, runner: usize) {
        if let Pace::RealTime(real_time) = self {
            real_time.gone(runner);
        }
    }

    /// True when a server that is so many ticks behind, and whose ticks take so long, is to skip some.
    pub fn skips(&self, behind: u64, tick_us: u32) -> bool {
        match self {
            Pace::RealTime(real_time) => real_time.skips(behind, tick_us),
            Pace::LockStep(_) => false,
        }
    }

    /// Ends the run.
    pub fn stop(&self) {
        match self {
            Pace::RealTime(real_time) => real_time.stop(),
            Pace::LockStep(lock_step) => lock_step.stop(),
        }
    }

    /// True when somebody has ended the run.
    pub fn is_over(&self) -> bool {
        match self {
            Pace::RealTime(real_time) => real_time.lock().stopped,
            Pace::LockStep(lock_step) => lock_step.lock().stopped,
        }
    }

    /// The timeline to pause, step and speed up; none in lock step.
    pub fn real_time(&self) -> Option<&RealTime> {
        match self {
            Pace::RealTime(real_time) => Some(real_time),
            Pace::LockStep(_) => None,
        }
    }
}

fn sleep<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>, longest: Duration) -> MutexGuard<'a, T> {
    condition.wait_timeout(guard, longest).unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_sleeper_wakes_for_a_step_and_for_the_end() {
        let pace = Arc::new(RealTime::start(Tick(0), 60, 50));
        pace.with(|timeline, now| timeline.pause(now));
        let paused_at = pace.look(|timeline, now| timeline.due(now));
        let sleeper = {
            let pace = pace.clone();
            let wait = move |after: Tick| loop {
                match pace.wait(after) {
                    Some(wake) if wake.due <= after => {}
                    woke => break woke,
                }
            };
            std::thread::Builder::new().spawn(move || (wait(paused_at), wait(paused_at + 1))).unwrap()
        };
        assert!(pace.with(|timeline, now| timeline.step(1, now)));
        while pace.look(|timeline, now| timeline.due(now)) <= paused_at {}
        pace.wait_briefly(paused_at + 1, Duration::from_millis(20));
        pace.stop();
        let (first, second) = sleeper.join().unwrap();
        assert_eq!(first.map(|wake| wake.due), Some(paused_at + 1));
        assert_eq!(second, None);
    }

    #[test]
    fn a_brief_wait_ends_although_time_stands_still() {
        let pace = RealTime::start(Tick(0), 60, 50);
        pace.with(|timeline, now| timeline.pause(now));
        let due = pace.look(|timeline, now| timeline.due(now));
        assert_eq!(pace.wait_briefly(due, Duration::from_millis(5)), Some(due));
    }

    #[test]
    fn how_long_a_tick_takes_to_come_is_known_beforehand() {
        let pace = RealTime::start(Tick(100), 1, 50);
        assert_eq!(pace.until(Tick(7)), Some(Duration::ZERO));
        let until = pace.until(Tick(1_000)).unwrap();
        assert!((Duration::from_secs(800)..=Duration::from_secs(900)).contains(&until), "{until:?}");
        pace.with(|timeline, now| timeline.pause(now));
        assert_eq!((pace.until(Tick(100)), pace.until(Tick(1_000))), (Some(Duration::ZERO), None));
    }

    #[test]
    fn a_sleeper_looks_in_while_time_stands_still() {
        let pace = RealTime::start(Tick(0), 60, 50);
        pace.with(|timeline, now| timeline.pause(now));
        let due = pace.look(|timeline, now| timeline.due(now));
        assert_eq!(pace.wait(due), Some(Wake { due, late: Duration::ZERO }));
        assert_eq!(
            RealTime::common(50).wait(Tick(0)).map(|wake| wake.due),
            Some(Tick(0)),
            "a cluster that has not begun"
        );
    }

    #[test]
    fn real_time_waits_for_the_slowest_runner_if_it_may() {
        let waits = |slowest_permille| {
            let pace = RealTime::start(Tick(0), 1_000, slowest_permille);
            pace.completed(0, Tick(5));
            pace.completed(1, Tick(3));
            pace.wait_briefly(Tick(900), Duration::from_millis(100)).unwrap()
        };
        assert_eq!(waits(0), Tick(3) + HELD_TICKS);
        assert!(waits(200) > Tick(15), "a fifth of the speed at the least");
        assert!(waits(1000) > Tick(90), "it may not");
        let pace = RealTime::start(Tick(0), 1_000, 0);
        pace.completed(0, Tick(0));
        assert_eq!(pace.wait_briefly(Tick(1), Duration::from_millis(50)), Some(Tick(1)));
        pace.gone(0);
        assert!(pace.wait_briefly(Tick(1), Duration::from_secs(5)).unwrap() > Tick(1));
    }

    #[test]
    fn world_time_of_a_moment_past_is_never_earlier_than_it_was() {
        let pace = RealTime::start(Tick(0), 60, 50);
        let spin = |from: Duration| while pace.clock.now() < from + Duration::from_millis(20) {};
        for speed in [4.0, 0.25, 2.0] {
            let (then_us, then) = (pace.world_us(), pace.clock.now());
            spin(then);
            assert!(pace.world_us() > then_us);
            let before_us = pace.world_us_before(pace.clock.now() - then);
            assert!(before_us >= then_us, "at one pace: {before_us} {then_us}");
            pace.with(|timeline, now| timeline.set_speed(speed, now));
            spin(pace.clock.now());
            let before_us = pace.world_us_before(pace.clock.now() - then);
            assert!((then_us..=pace.world_us()).contains(&before_us), "the pace has changed: {before_us} {then_us}");
        }
    }

    #[test]
    fn ticks_are_skipped_only_where_time_cannot_slow_down() {
        let pace = RealTime::start(Tick(0), 60, 500);
        assert!(!pace.skips(BEHIND_TICKS_MAX, 40_000) && pace.skips(SKIPS_ANYWAY_TICKS, 40_000));
        pace.dilate([control::Strain { tick_us: 900_000, behind: 0 }]);
        assert_eq!(pace.shown(), Shown { paused: false, speed: 1.0, dilation: 0.5 });
        assert!(pace.skips(BEHIND_TICKS_MAX, 40_000) && !pace.skips(BEHIND_TICKS_MAX - 1, 40_000));
        assert!(!pace.skips(BEHIND_TICKS_MAX, 30_000), "it catches up at this pace");
        assert!(RealTime::start(Tick(0), 60, 1000).skips(BEHIND_TICKS_MAX, 1_000));
    }

    #[test]
    fn lock_step_waits_for_the_slowest() {
        let pace = LockStep::new(2, Tick(0), Tick(2));
        assert_eq!(pace.wait(Tick(0)).map(|wake| wake.due), Some(Tick(1)));
        pace.completed(0, Tick(1));
        assert_eq!(pace.reached(), Tick(0));
        pace.completed(1, Tick(1));
        assert_eq!(pace.wait(Tick(1)).map(|wake| wake.due), Some(Tick(2)));
        assert_eq!(pace.wait(Tick(2)), None);
    }
}

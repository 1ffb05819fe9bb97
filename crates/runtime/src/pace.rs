//! Who may run which tick when: in real time, or in lock step as fast as the machine can.
//!
//! Threads sleep here and nowhere else, so a stop, a pause or a step reaches all of them at once.

use nimbus_model::Tick;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nimbus_control as control;

use crate::clock::Clock;
use crate::common_time::CommonTime;
use crate::timeline::Timeline;

/// A server looks in at least this often, so that its word is kept and it can be told things while time stands still.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why a sleeper woke up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The last tick that is due; none after the last one when it only looks in.
    pub due: Tick,
    /// How long ago the first tick that the sleeper waited for became due.
    pub late: Duration,
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
    stopped: bool,
}

impl RealTimeState {
    fn due(&self, now: Duration) -> Tick {
        self.common.as_ref().map_or_else(|| self.timeline.due(now), |common| common.due(now))
    }

    fn when(&self, tick: Tick) -> Option<Duration> {
        self.common.as_ref().map_or_else(|| self.timeline.when(tick), |common| common.when(tick))
    }
}

impl RealTime {
    /// Starts now: the tick after `loaded_at` is due one tick from now.
    pub fn start(loaded_at: Tick, hz: u32) -> RealTime {
        RealTime::new(loaded_at, hz, None)
    }

    /// Goes by the timeline of a whole cluster; nothing is due until [`RealTime::follow`] is told one.
    pub fn common() -> RealTime {
        RealTime::new(Tick(0), 1, Some(CommonTime::default()))
    }

    fn new(loaded_at: Tick, hz: u32, common: Option<CommonTime>) -> RealTime {
        let clock = Clock::start();
        let timeline = Timeline::new(loaded_at, hz, clock.now());
        let state = Mutex::new(RealTimeState { timeline, common, stopped: false });
        RealTime { clock, state, changed: Condvar::new() }
    }

    /// Goes by this timeline from now on, with a calendar that shows this unix microsecond now.
    pub fn follow(&self, timeline: &control::Timeline, calendar_us: u64) {
        let now = self.clock.now();
        let news = |common: &mut CommonTime| common.follow(timeline, calendar_us, now);
        if self.lock().common.as_mut().is_some_and(news) {
            self.changed.notify_all();
        }
    }

    /// Whether time stands still, and how fast it passes otherwise; 1 is real time.
    pub fn shown(&self) -> (bool, f32) {
        let (state, now) = (self.lock(), self.clock.now());
        let own = || (state.timeline.is_paused(), state.timeline.speed());
        state.common.as_ref().map_or_else(own, |common| common.shown(now))
    }

    /// Time since the start.
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// How long it takes until a tick is due; none when it never will be unless somebody orders otherwise.
    pub fn until(&self, tick: Tick) -> Option<Duration> {
        let (state, now) = (self.lock(), self.clock.now());
        if state.due(now) >= tick {
            return Some(Duration::ZERO);
        }
        state.when(tick).map(|moment| moment.saturating_sub(now))
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
            let moment = state.when(after.next());
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
            let moment = state.when(after.next()).map_or(until, |moment| moment.min(until));
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
        if let Pace::LockStep(lock_step) = self {
            lock_step.completed(runner, tick);
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
        let pace = Arc::new(RealTime::start(Tick(0), 60));
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
        let pace = RealTime::start(Tick(0), 60);
        pace.with(|timeline, now| timeline.pause(now));
        let due = pace.look(|timeline, now| timeline.due(now));
        assert_eq!(pace.wait_briefly(due, Duration::from_millis(5)), Some(due));
    }

    #[test]
    fn how_long_a_tick_takes_to_come_is_known_beforehand() {
        let pace = RealTime::start(Tick(100), 1);
        assert_eq!(pace.until(Tick(7)), Some(Duration::ZERO));
        let until = pace.until(Tick(1_000)).unwrap();
        assert!((Duration::from_secs(800)..=Duration::from_secs(900)).contains(&until), "{until:?}");
        pace.with(|timeline, now| timeline.pause(now));
        assert_eq!((pace.until(Tick(100)), pace.until(Tick(1_000))), (Some(Duration::ZERO), None));
    }

    #[test]
    fn a_sleeper_looks_in_while_time_stands_still() {
        let pace = RealTime::start(Tick(0), 60);
        pace.with(|timeline, now| timeline.pause(now));
        let due = pace.look(|timeline, now| timeline.due(now));
        assert_eq!(pace.wait(due), Some(Wake { due, late: Duration::ZERO }));
        assert_eq!(
            RealTime::common().wait(Tick(0)).map(|wake| wake.due),
            Some(Tick(0)),
            "a cluster that has not begun"
        );
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

//! One server on its own thread: sleep until a tick is due, take what has arrived, run, speak, write down.

use cpu_time::ThreadTime;
use nimbus_control::Strain;
use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{Change, ContactTick, Node};
use nimbus_wire::Frame;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::sync::mpsc::error::TryRecvError;

use crate::balancer::LoadMeter;
use crate::clock::Clock;
use crate::errand::Errands;
use crate::handover_log::tell_events;
use crate::links::{LinkEnd, Links};
use crate::pace::{Pace, RealTime, Wake};
use crate::patience::Patience;
use crate::play::{Play, tell_game_events};
use crate::reading::{Began, Gauge, Sample};
use crate::recording::{HASH_TICKS, Note, RecorderHandle, StateMark};

/// A server that is further behind than this many ticks skips tick numbers, where time cannot slow down; elsewhere it runs
/// no more of them at a time.
pub const BEHIND_TICKS_MAX: u64 = 8;
/// Nor does it run more than take so long: what it has to say, and to hear, does not wait for all that it is behind.
const WAKE_US: u32 = 20_000;
/// How often a server looks whether those for whom it waits have spoken.
const AWAIT_LOOK: Duration = Duration::from_millis(1);

/// Wake-ups over which the effort of a tick is averaged, and for how long they count. Some always do.
const EFFORT_WAKES: usize = 12;
const EFFORT_WAKES_MIN: usize = 2;
const EFFORT_AGE: Duration = Duration::from_millis(300);

/// Most refused statics that are told one by one.
const REFUSED_TOLD_MAX: usize = 10;

/// A server with everything it needs to run.
pub(crate) struct NodeThread {
    /// The server.
    pub(crate) node: Node,
    /// Its place among the runners of the pace.
    pub(crate) runner: usize,
    /// When ticks are due.
    pub(crate) pace: Arc<Pace>,
    /// Where it speaks.
    pub(crate) links: Links,
    /// Where it listens.
    pub(crate) inbox: LinkEnd,
    /// Changes of the whole world.
    pub(crate) changes: Receiver<Change>,
    /// What it alone is asked to do.
    pub(crate) errands: Errands,
    /// Where it shows itself.
    pub(crate) gauge: Gauge,
    /// Where it writes down what it does.
    pub(crate) recorder: Option<RecorderHandle>,
    /// Where it tells of touches.
    pub(crate) contacts: Option<SyncSender<(RegionId, ContactTick)>>,
    /// The game that it plays.
    pub(crate) play: Option<Play>,
}

/// How a server ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEnd {
    /// The region it served.
    pub region: RegionId,
    /// The last tick it completed.
    pub tick: Tick,
    /// Its state.
    pub hash: u64,
    /// Bodies it owned.
    pub bodies: usize,
    /// Bodies it had given away and that may not have arrived.
    pub in_flight: usize,
    /// Bodies that had arrived since the world was loaded.
    pub arrived: u64,
    /// Tick numbers it skipped.
    pub ticks_lost: u64,
}

impl NodeThread {
    /// Runs until the pace says that it is over.
    pub(crate) fn run(mut self) -> NodeEnd {
        let _going_home = GoesHome { gauge: self.gauge.clone(), pace: self.pace.clone(), runner: self.runner };
        let begins_after = self.node.now();
        let clock = Clock::start();
        let mut frames = Vec::new();
        self.note_mark();
        let mut told_era = None;
        let mut seen = self.node.now();
        let mut meter = LoadMeter::default();
        let mut effort = Effort::default();
        let mut patience = Patience::default();
        self.pace.completed(self.runner, self.node.now());
        while let Some(wake) = self.pace.wait(seen) {
            let (before, began, woke) = (self.node.now(), ThreadTime::now(), clock.now());
            let woke_us = self.pace.real_time().map(|time| time.world_us());
            if !self.listen(wake) || self.errands.is_killed() {
                break;
            }
            if wake.due > self.node.now() && self.waits_for_others(&mut patience, clock.now()) {
                let behind = wake.due.since(self.node.now()) as u32;
                self.gauge.write(|reading| reading.strain.behind = behind);
                continue;
            }
            // Only real time can be late.
            if let Some(woke_us) = woke_us.filter(|_| wake.due > seen) {
                self.node.wake(woke_us);
            }
            let left = self.run_due(wake, effort.tick_us(), &clock);
            if let Some((time, woke_us)) = self.pace.real_time().zip(woke_us) {
                let now_us = time.world_us();
                if self.node.now() > before {
                    self.node.computed(now_us.saturating_sub(woke_us));
                }
                self.node.set_clock(now_us);
            }
            self.speak(&mut frames);
            meter.add(began.elapsed(), self.node.now().since(before));
            self.note_progress();
            self.tell_contacts();
            tell_game_events(&mut self.node, self.play.as_ref(), &self.gauge);
            effort.add(woke, clock.now() - woke, self.node.now().since(before));
            let needed_us = self.needed_us(effort.tick_us());
            self.gauge.write(|reading| {
                reading.observe(&self.node);
                reading.longest_look = self.errands.longest_look;
                reading.strain = Strain { tick_us: needed_us, behind: left as u32 };
                if reading.load_wanted {
                    reading.load = meter.report(&self.node).or_else(|| reading.load.take());
                }
                if reading.began.is_none() && reading.tick > begins_after {
                    reading.began = Some(Began { after: begins_after, unix_us: Clock::unix_us() });
                }
            });
            // One that was told to stop still wakes at every tick, to say what it has to say.
            seen = if left > 0 { self.node.now() } else { self.node.now().max(wake.due) };
            self.pace.completed(self.runner, self.node.now());
            // Every server has every static, so one of them speaks for all, once for each world.
            if self.runner == 0 && told_era.replace(self.node.era()) != Some(self.node.era()) {
                tell_refused(self.node.physics().refused_statics());
            }
        }
        self.note_progress();
        self.note_mark();
        NodeEnd {
            region: self.node.region(),
            tick: self.node.now(),
            hash: self.node.state_hash(),
            bodies: self.node.hosted_count(),
            in_flight: self.node.in_flight().count(),
            arrived: self.node.counters().arrived,
            ticks_lost: self.node.counters().ticks_lost,
        }
    }

    /// Takes what has arrived. False when its door is gone: it is not to serve any more.
    fn listen(&mut self, wake: Wake) -> bool {
        loop {
            match self.changes.try_recv() {
                // A node that has too many changes waiting refuses more; whoever sends them waits for each to be made.
                Ok(change) => _ = self.node.schedule(change),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        let node = &mut self.node;
        self.errands.take(node);
        match &*self.pace {
            Pace::RealTime(time) => {
                self.inbox.drain_timed(|frame, waited| {
                    // Frames wait for the server to wake up; how long they took is told by when they came.
                    node.set_clock(time.world_us_before(waited));
                    node.handle(frame);
                });
            }
            Pace::LockStep(_) => self.inbox.drain_before(wake.due, |frame| node.handle(frame)),
        }
        true
    }

    /// Rests for a moment if the next tick needs the word of servers that are late, where the world may slow down.
    fn waits_for_others(&mut self, patience: &mut Patience, now: Duration) -> bool {
        let Some(time) = self.pace.real_time() else { return false };
        let Some((between_ticks, is_slow)) = time.waits_for_others() else { return false };
        let awaited = self.node.awaited(self.node.now().next(), time.world_us(), is_slow);
        if !patience.waits(awaited, now, between_ticks) {
            return false;
        }
        time.rest(AWAIT_LOOK);
        self.node.waited(time.world_us());
        true
    }

    /// Time that a tick needs, by that which it takes. Between processes it is as many times more as what is promised for it is
    /// shorter than a tick; within one, others wait for it.
    fn needed_us(&self, tick_us: u32) -> u32 {
        let waits = self.pace.real_time().and_then(RealTime::waits_for_others);
        let Some(promised_ms) = waits.and_then(|_| self.node.compute_ms_max()) else { return tick_us };
        let tick_ms = 1e3 * self.node.world().tick_s();
        (tick_us as f32 * (tick_ms / promised_ms).max(1.0)) as u32
    }

    /// True when a tick needs the word of servers that are late; the next wake-up waits for it.
    fn lacks_others(&self, tick: Tick) -> bool {
        let Some(time) = self.pace.real_time() else { return false };
        let Some((_, is_slow)) = time.waits_for_others() else { return false };
        self.node.awaited(tick, time.world_us(), is_slow).next().is_some()
    }

    /// Runs ticks that are due, and says how many of them are left. One that is far behind speaks and listens in between.
    fn run_due(&mut self, wake: Wake, tick_us: u32, clock: &Clock) -> u64 {
        let last = self.errands.cap(wake.due);
        let next = self.node.now().next();
        let behind = last.since(next);
        let skips = self.pace.skips(behind, tick_us);
        let at_once = u64::from(WAKE_US / tick_us.max(1)).clamp(1, BEHIND_TICKS_MAX);
        let due = if skips { last } else { last.min(self.node.now() + at_once) };
        let awaited = self.errands.awaited(next..=due).filter(|tick| skips && *tick < due);
        let first = if skips { due } else { next };
        for tick in awaited.into_iter().chain((first.0..=due.0).map(Tick)) {
            let before = self.node.now();
            if self.pace.is_over() || (tick > next && self.lacks_others(tick)) {
                break;
            }
            self.errands.prepare(&mut self.node);
            let began = clock.now();
            self.node.tick(tick);
            self.errands.answer(&self.node);
            let step = clock.now() - began;
            self.gauge.write(|reading| reading.add_sample(Sample { tick, late: wake.late, step }));
            if tick.0 / HASH_TICKS != before.0 / HASH_TICKS {
                self.note_progress();
                self.note_mark();
            }
        }
        self.gauge.write(|reading| reading.late_ticks += behind);
        last.since(self.node.now())
    }

    fn speak(&mut self, frames: &mut Vec<Frame>) {
        self.node.emit(frames);
        // Links make copies themselves, where frames can be lost.
        frames.dedup();
        for frame in frames.drain(..) {
            self.links.send(&frame);
        }
    }

    fn tell_contacts(&mut self) {
        let Some(contacts) = &self.contacts else { return };
        for tick in self.node.take_contacts() {
            let count = tick.contacts.len() as u64;
            if contacts.try_send((self.node.region(), tick)).is_err() {
                self.gauge.write(|reading| reading.contacts_dropped += count);
            }
        }
    }

    /// Tells and hands in what happened since the last time; without a recording it is forgotten then.
    fn note_progress(&mut self) {
        let region = self.node.region();
        let (log, events) = (self.node.take_log(), self.node.take_events());
        tell_events(self.node.epoch(), &events);
        if let Some(recorder) = &self.recorder {
            let noted = (log.is_empty() || recorder.note(Note::Log(region, log)))
                && (events.is_empty() || recorder.note(Note::Events(region, events)));
            if !noted {
                self.recorder = None;
            }
        }
    }

    fn note_mark(&mut self) {
        if let Some(recorder) = &self.recorder {
            let mark = StateMark { tick: self.node.now(), hash: self.node.state_hash() };
            recorder.note(Note::Mark(self.node.region(), mark));
        }
    }
}

/// Real time that a server is busy with a tick, over its latest wake-ups.
#[derive(Debug, Default)]
struct Effort {
    /// The latest wake-ups that ran ticks.
    wakes: VecDeque<Busy>,
}

/// A wake-up that ran ticks.
#[derive(Debug)]
struct Busy {
    at: Duration,
    took: Duration,
    ticks: u64,
}

impl Effort {
    /// A wake-up at a moment was busy for so long and ran so many ticks.
    fn add(&mut self, at: Duration, took: Duration, ticks: u64) {
        if ticks == 0 {
            return;
        }
        self.wakes.push_back(Busy { at, took, ticks });
        let is_old = |oldest: &Busy| oldest.at + EFFORT_AGE < at;
        while self.wakes.len() > EFFORT_WAKES
            || (self.wakes.len() > EFFORT_WAKES_MIN && self.wakes.front().is_some_and(is_old))
        {
            self.wakes.pop_front();
        }
    }

    /// Microseconds a tick.
    fn tick_us(&self) -> u32 {
        let took: Duration = self.wakes.iter().map(|wake| wake.took).sum();
        let ticks: u64 = self.wakes.iter().map(|wake| wake.ticks).sum();
        u32::try_from(took.as_micros() / u128::from(ticks.max(1))).unwrap_or(u32::MAX)
    }
}

/// Says on standard error which statics the engine would not have: the world runs on without them.
fn tell_refused(refused: &[(Nid, String)]) {
    for (nid, reason) in refused.iter().take(REFUSED_TOLD_MAX) {
        eprintln!("nimbus: static {nid} is left out of the world: {reason}");
    }
    if refused.len() > REFUSED_TOLD_MAX {
        eprintln!("nimbus: {} more statics are left out", refused.len() - REFUSED_TOLD_MAX);
    }
}

/// Says that the thread is gone, even when it panics.
pub(crate) struct GoesHome {
    /// Where it says so.
    pub(crate) gauge: Gauge,
    /// Who waits for it.
    pub(crate) pace: Arc<Pace>,
    /// Its place among the runners of the pace.
    pub(crate) runner: usize,
}

impl Drop for GoesHome {
    fn drop(&mut self) {
        self.gauge.write(|reading| reading.alive = false);
        self.pace.gone(self.runner);
        if std::thread::panicking() && matches!(*self.pace, Pace::LockStep(_)) {
            // The others would wait for this one for ever.
            self.pace.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effort_is_a_mean_over_the_latest_ticks() {
        let ms = Duration::from_millis;
        let mut effort = Effort::default();
        assert_eq!(effort.tick_us(), 0);
        effort.add(ms(0), ms(900), 0);
        effort.add(ms(900), ms(3), 1);
        effort.add(ms(910), ms(9), 3);
        assert_eq!(effort.tick_us(), 3_000, "a look without a tick does not count");
        (0..EFFORT_WAKES as u64).for_each(|i| effort.add(ms(920 + 17 * i), ms(50), 1));
        assert_eq!(effort.tick_us(), 50_000);
    }

    #[test]
    fn effort_forgets_what_is_old_but_never_all() {
        let ms = Duration::from_millis;
        let mut effort = Effort::default();
        (0..4).for_each(|i| effort.add(ms(100 * i), ms(120), 1));
        effort.add(ms(601), ms(12), 1);
        assert_eq!(effort.tick_us(), 66_000, "what was 300 ms ago counts no more");
        effort.add(ms(9_000), ms(8), 1);
        assert_eq!(effort.tick_us(), 10_000);
    }
}

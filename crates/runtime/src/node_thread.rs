//! One server on its own thread: sleep until a tick is due, take what has arrived, run, speak, write down.

use cpu_time::ThreadTime;
use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{Change, ContactTick, Node};
use nimbus_wire::Frame;
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
use crate::pace::{Pace, Wake};
use crate::play::{Play, tell_game_events};
use crate::reading::{Began, Gauge, Sample};
use crate::recording::{HASH_TICKS, Note, RecorderHandle, StateMark};

/// A server that is further behind than this many ticks skips tick numbers.
pub const BEHIND_TICKS_MAX: u64 = 8;

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
        let _going_home = GoesHome { gauge: self.gauge.clone(), pace: self.pace.clone() };
        let begins_after = self.node.now();
        let clock = Clock::start();
        let mut frames = Vec::new();
        self.note_mark();
        let mut told_era = None;
        let mut seen = self.node.now();
        let mut meter = LoadMeter::default();
        let mut awake = AwakeTime::default();
        while let Some(wake) = self.pace.wait(seen) {
            let (before, began) = (self.node.now(), ThreadTime::now());
            if !self.listen(wake) || self.errands.is_killed() {
                break;
            }
            // Only real time can be late.
            if matches!(*self.pace, Pace::RealTime(_)) {
                if wake.due > seen {
                    self.node.wake(awake.wake(clock.now(), wake.late).as_micros() as u64);
                } else {
                    awake.look_in();
                }
            }
            self.run_due(wake, &clock);
            self.speak(&mut frames);
            meter.add(began.elapsed(), self.node.now().since(before));
            self.note_progress();
            self.tell_contacts();
            tell_game_events(&mut self.node, self.play.as_ref(), &self.gauge);
            self.gauge.write(|reading| {
                reading.observe(&self.node);
                reading.longest_look = self.errands.longest_look;
                if reading.load_wanted {
                    reading.load = meter.report(&self.node).or_else(|| reading.load.take());
                }
                if reading.began.is_none() && reading.tick > begins_after {
                    reading.began = Some(Began { after: begins_after, unix_us: Clock::unix_us() });
                }
            });
            // One that was told to stop still wakes at every tick, to say what it has to say.
            seen = self.node.now().max(wake.due);
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
            Pace::RealTime(_) => self.inbox.drain(|frame| node.handle(frame)),
            Pace::LockStep(_) => self.inbox.drain_before(wake.due, |frame| node.handle(frame)),
        }
        true
    }

    fn run_due(&mut self, wake: Wake, clock: &Clock) {
        let due = self.errands.cap(wake.due);
        let next = self.node.now().next();
        let behind = due.since(next);
        let skips = behind >= BEHIND_TICKS_MAX;
        let awaited = self.errands.awaited(next..=due).filter(|tick| skips && *tick < due);
        let first = if skips { due } else { next };
        for tick in awaited.into_iter().chain((first.0..=due.0).map(Tick)) {
            let before = self.node.now();
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
    }

    fn speak(&mut self, frames: &mut Vec<Frame>) {
        self.node.emit(frames);
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

/// The time that a server has had ticks to run. While they are far apart by intent, or time stands still, only by how
/// much it is late afterwards counts as a pause of its own.
#[derive(Default)]
struct AwakeTime {
    /// Time that does not count.
    left_out: Duration,
    last: Duration,
    looked_in: bool,
}

impl AwakeTime {
    /// It wakes for a tick, so late. The time to tell it.
    fn wake(&mut self, now: Duration, late: Duration) -> Duration {
        if std::mem::take(&mut self.looked_in) {
            self.left_out = now.saturating_sub(self.last + late);
        }
        self.last = now.saturating_sub(self.left_out);
        self.last
    }

    /// It wakes although nothing is due.
    fn look_in(&mut self) {
        self.looked_in = true;
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
}

impl Drop for GoesHome {
    fn drop(&mut self) {
        self.gauge.write(|reading| reading.alive = false);
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
    fn a_pause_of_the_world_is_none_of_the_servers_own() {
        let ms = Duration::from_millis;
        let mut awake = AwakeTime::default();
        assert_eq!([awake.wake(ms(100), ms(0)), awake.wake(ms(117), ms(1))], [ms(100), ms(117)]);
        awake.look_in();
        awake.look_in();
        assert_eq!(awake.wake(ms(5_000), ms(2)), ms(119), "two milliseconds late");
        assert_eq!(awake.wake(ms(5_040), ms(23)), ms(159), "and this one is its own");
    }
}

//! What each server shows of itself while it runs: figures for people and monitoring, never inputs of a core.

use nimbus_control::{LoadReport, Strain, Told};
use nimbus_model::{RegionId, Tick};
use nimbus_node::{Counters, Durability, Node};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many of the latest ticks the figures speak of; five seconds at 60 Hz.
const SAMPLES_MAX: usize = 300;

/// One tick as it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Which.
    pub tick: Tick,
    /// How long after its time it began.
    pub late: Duration,
    /// How long it took.
    pub step: Duration,
}

/// The state of a server, as of its last wake-up.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The region it serves.
    pub region: RegionId,
    /// False while its region has no place in the present map.
    pub has_place: bool,
    /// False once its thread has ended. One in another process is not alive before it was heard of, or when it is silent.
    pub alive: bool,
    /// The last tick it completed.
    pub tick: Tick,
    /// How often a world has been loaded.
    pub era: u16,
    /// Which life of the region this is.
    pub epoch: u32,
    /// The newest world, partition and statics that it has made, and the tick at which it made the last of them.
    pub applied: (Told, Tick),
    /// Bodies it owns.
    pub bodies: usize,
    /// How many of them are awake.
    pub awake: usize,
    /// What it counted.
    pub counters: Counters,
    /// Items that wait for an acknowledgement.
    pub unacknowledged: usize,
    /// Items that wait for their turn.
    pub held: usize,
    /// Ticks that began more than one tick too late.
    pub late_ticks: u64,
    /// How hard it finds it to keep up.
    pub strain: Strain,
    /// The most time of its own that a look for a checkpoint took.
    pub longest_look: Duration,
    /// Touches that nobody took in time.
    pub contacts_dropped: u64,
    /// Things that a game said and nobody took in time.
    pub game_events_dropped: u64,
    /// How well its word is kept.
    pub durability: Durability,
    /// Whether clients may kill it while its word is kept.
    pub mortal: bool,
    /// How this life of it began; none before its first tick.
    pub began: Option<Began>,
    /// Whether somebody plans boundaries with its load.
    pub load_wanted: bool,
    /// Its latest load, if wanted.
    pub load: Option<LoadReport>,
    /// The latest ticks, in no order.
    pub samples: Vec<Sample>,
    next_sample: usize,
}

/// The newest world, partition and statics that a server goes by.
pub(crate) fn known_by(node: &Node) -> Told {
    Told { era: node.era(), epoch: node.map().epoch(), revision: node.world().placed.revision }
}

/// How a life of a server began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// The tick that it continued from.
    pub after: Tick,
    /// When it had run its first one, microseconds of the calendar.
    pub unix_us: u64,
}

impl Reading {
    /// Keeps a sample in place of the oldest.
    pub fn add_sample(&mut self, sample: Sample) {
        if self.samples.len() < SAMPLES_MAX {
            self.samples.push(sample);
        } else {
            self.samples[self.next_sample] = sample;
            self.next_sample = (self.next_sample + 1) % SAMPLES_MAX;
        }
    }

    /// The step time that a share of the latest ticks did not exceed.
    pub fn step_quantile(&self, share: f64) -> Duration {
        quantile(self.samples.iter().map(|sample| sample.step).collect(), share)
    }

    /// The lateness that a share of the latest ticks did not exceed.
    pub fn late_quantile(&self, share: f64) -> Duration {
        quantile(self.samples.iter().map(|sample| sample.late).collect(), share)
    }

    /// What others may see of it, with the ticks after one that they have seen.
    pub fn shown(&self, after: Tick) -> Shown {
        Shown {
            region: self.region,
            has_place: self.has_place,
            alive: self.alive,
            tick: self.tick,
            era: self.era,
            epoch: self.epoch,
            bodies: self.bodies as u32,
            awake: self.awake as u32,
            counters: self.counters,
            unacknowledged: self.unacknowledged as u32,
            held: self.held as u32,
            strain: (self.strain.tick_us, self.strain.behind),
            late_ticks: self.late_ticks,
            contacts_dropped: self.contacts_dropped,
            game_events_dropped: self.game_events_dropped,
            samples: self.samples.iter().filter(|sample| sample.tick > after).copied().collect(),
        }
    }

    /// Takes over what a server of another process showed. False when it does not: a server of a later epoch is known, or
    /// what was shown makes no sense.
    pub fn see(&mut self, shown: Shown) -> bool {
        if shown.epoch < self.epoch || shown.samples.len() > SAMPLES_MAX {
            return false;
        }
        (self.has_place, self.alive) = (shown.has_place, shown.alive);
        (self.tick, self.era, self.epoch) = (shown.tick, shown.era, shown.epoch);
        (self.bodies, self.awake) = (shown.bodies as usize, shown.awake as usize);
        (self.counters, self.late_ticks) = (shown.counters, shown.late_ticks);
        (self.unacknowledged, self.held) = (shown.unacknowledged as usize, shown.held as usize);
        self.strain = Strain { tick_us: shown.strain.0, behind: shown.strain.1 };
        self.contacts_dropped = shown.contacts_dropped;
        self.game_events_dropped = shown.game_events_dropped;
        shown.samples.into_iter().for_each(|sample| self.add_sample(sample));
        true
    }

    /// True when it may be killed, and a backup has everything.
    pub fn is_killable(&self) -> bool {
        self.mortal && self.alive && self.durability.kept.is_some()
    }

    /// Takes down what a server looks like now.
    pub fn observe(&mut self, node: &Node) {
        self.tick = node.now();
        self.era = node.era();
        self.epoch = node.epoch();
        self.applied = (known_by(node), node.applied_at());
        self.bodies = node.hosted_count();
        self.awake = node.awake_count();
        self.counters = *node.counters();
        self.unacknowledged = node.queues().map(|(_, length, _)| length).sum();
        self.held = node.held();
        self.durability = node.durability();
        self.has_place = node.map().regions().binary_search(&self.region).is_ok();
    }
}

/// What a server shows to gateways in other processes: everything that they have figures of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// The region.
    pub region: RegionId,
    /// False while its region has no place in the present map.
    pub has_place: bool,
    /// False once its thread has ended.
    pub alive: bool,
    /// The last tick it completed.
    pub tick: Tick,
    /// How often a world has been loaded.
    pub era: u16,
    /// Which life of the region this is.
    pub epoch: u32,
    /// Bodies it owns.
    pub bodies: u32,
    /// How many of them are awake.
    pub awake: u32,
    /// What it counted.
    pub counters: Counters,
    /// Items that wait for an acknowledgement.
    pub unacknowledged: u32,
    /// Items that wait for their turn.
    pub held: u32,
    /// Microseconds that a tick takes, and ticks that are due and not done.
    pub strain: (u32, u32),
    /// Ticks that began more than one tick too late.
    pub late_ticks: u64,
    /// Touches that nobody took in time.
    pub contacts_dropped: u64,
    /// Things that a game said and nobody took in time.
    pub game_events_dropped: u64,
    /// The latest ticks.
    pub samples: Vec<Sample>,
}

/// A reading that its server writes and others copy.
#[derive(Clone, Default)]
pub struct Gauge(Arc<Mutex<Reading>>);

impl Gauge {
    /// The gauge of a region's server, before its first wake-up.
    pub fn new(region: RegionId) -> Gauge {
        Gauge(Arc::new(Mutex::new(Reading { region, alive: true, ..Reading::default() })))
    }

    /// The present reading.
    pub fn read(&self) -> Reading {
        self.lock().clone()
    }

    /// Looks at the present reading.
    pub fn look<T>(&self, at: impl FnOnce(&Reading) -> T) -> T {
        at(&self.lock())
    }

    /// The load that it reported since this was last asked.
    pub fn take_load(&self) -> Option<LoadReport> {
        self.lock().load.take()
    }

    /// The latest load that it reported in an era.
    pub fn load(&self, era: u16) -> Option<LoadReport> {
        let reading = self.lock();
        reading.load.clone().filter(|_| reading.era == era)
    }

    /// Changes the reading.
    pub fn write(&self, change: impl FnOnce(&mut Reading)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far each server was behind the foremost one in the latest ticks that all of them ran: the middle value.
pub fn skews(readings: &[Reading]) -> Vec<Duration> {
    let mut behind = vec![Vec::new(); readings.len()];
    let Some(first) = readings.first() else { return Vec::new() };
    let ordered: Vec<Vec<Sample>> = readings.iter().map(|reading| sorted(&reading.samples)).collect();
    for sample in &first.samples {
        let found: Option<Vec<Duration>> = ordered
            .iter()
            .map(|samples| samples.binary_search_by_key(&sample.tick, |s| s.tick).ok().map(|at| samples[at].late))
            .collect();
        let Some(lateness) = found else { continue };
        let foremost = lateness.iter().min().copied().unwrap_or_default();
        for (list, late) in behind.iter_mut().zip(lateness) {
            list.push(late - foremost);
        }
    }
    behind.into_iter().map(|list| quantile(list, 0.5)).collect()
}

fn sorted(samples: &[Sample]) -> Vec<Sample> {
    let mut samples = samples.to_vec();
    samples.sort_unstable_by_key(|sample| sample.tick);
    samples
}

fn quantile(mut values: Vec<Duration>, share: f64) -> Duration {
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * share.clamp(0.0, 1.0)).round() as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(samples: impl IntoIterator<Item = (u64, u64)>) -> Reading {
        let mut reading = Reading::default();
        for (tick, late_ms) in samples {
            let late = Duration::from_millis(late_ms);
            reading.add_sample(Sample { tick: Tick(tick), late, step: Duration::from_millis(tick) });
        }
        reading
    }

    #[test]
    fn old_samples_make_room() {
        let reading = reading((1..=1000).map(|tick| (tick, 0)));
        assert_eq!(reading.samples.len(), SAMPLES_MAX);
        assert!(reading.samples.iter().all(|sample| sample.tick.0 > 700));
        assert_eq!(reading.step_quantile(0.0), Duration::from_millis(701));
        assert_eq!(reading.step_quantile(1.0), Duration::from_millis(1000));
        assert_eq!(Reading::default().step_quantile(0.5), Duration::ZERO);
    }

    #[test]
    fn skew_is_measured_against_the_foremost_at_the_same_tick() {
        let slow = reading((1..100).map(|tick| (tick, 10 + tick % 2)));
        let quick = reading((50..150).map(|tick| (tick, 3 + tick % 2)));
        assert_eq!(skews(&[slow, quick]), [Duration::from_millis(7), Duration::ZERO]);
        assert_eq!(skews(&[reading([(1, 5)]), reading([(2, 9)])]), [Duration::ZERO; 2], "no tick in common");
    }

    #[test]
    fn what_a_server_shows_is_known_elsewhere_unless_another_has_taken_over() {
        let mut shown = Reading { alive: true, epoch: 2, ..Reading::default() };
        shown.counters.ticks_lost = 7;
        let mut elsewhere = Reading::default();
        assert!(elsewhere.see(shown.shown(Tick(0))));
        assert_eq!((elsewhere.alive, elsewhere.counters.ticks_lost), (true, 7));
        shown.alive = false;
        assert!(elsewhere.see(shown.shown(Tick(0))));
        assert!(!elsewhere.alive, "its thread has ended");
        let former = Reading { alive: true, epoch: 1, ..Reading::default() };
        assert!(!elsewhere.see(former.shown(Tick(0))));
        assert!(!elsewhere.alive);
    }
}

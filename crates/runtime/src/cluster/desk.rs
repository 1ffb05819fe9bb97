//! What operators can ask of a node: the regions it serves, and what each owns at one tick.

use nimbus_model::{RegionId, Tick};
use nimbus_node::Contribution;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::checkpoints::{Checkpoints, Filed};
use crate::clock::Clock;
use crate::errand::{Asker, Census, Errand, ErrandDesk, Places, Reply};
use crate::ferry::Ferry;
use crate::links::Links;
use crate::mesh::Mesh;
use crate::metrics;
use crate::operator::{Facts, Page};
use crate::pace::{Pace, RealTime};
use crate::reading::{Gauge, Reading};

/// How long a server may take to answer once the tick that was asked for is due.
const PATIENCE: Duration = Duration::from_secs(3);
/// A tick that operators ask for may be so far ahead.
const AHEAD_MAX: Duration = Duration::from_secs(20);

/// The servers of a process, as operators see them. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Desk {
    servers: Arc<Mutex<BTreeMap<RegionId, (Gauge, ErrandDesk)>>>,
    /// Backups that are kept here.
    keeps: Arc<AtomicU64>,
    /// Frames that came from a process that does not house their sender.
    misplaced: Arc<AtomicU64>,
    /// The newest roster that is followed.
    revision: Arc<AtomicU64>,
    /// When ticks are due, once that is known.
    pace: Arc<OnceLock<Arc<Pace>>>,
}

impl Desk {
    /// Ticks are due by this.
    pub(super) fn go_by(&self, pace: &Arc<Pace>) {
        self.pace.get_or_init(|| pace.clone());
    }

    /// A server has begun.
    pub(super) fn open(&self, region: RegionId, gauge: Gauge, errands: ErrandDesk) {
        self.lock().insert(region, (gauge, errands));
    }

    /// A server has ended.
    pub(super) fn close(&self, region: RegionId) {
        self.lock().remove(&region);
    }

    /// What the process does now.
    pub(super) fn note(&self, revision: u64, keeps: usize, misplaced: u64) {
        self.revision.store(revision, Ordering::Relaxed);
        self.keeps.store(keeps as u64, Ordering::Relaxed);
        self.misplaced.store(misplaced, Ordering::Relaxed);
    }

    /// Everything that operators may ask.
    pub(super) fn facts(&self, links: Links, mesh: Arc<Mesh>, experiments: bool) -> Facts {
        let (ready, figures, regions, census) = (self.clone(), self.clone(), self.clone(), self.clone());
        let (ticks, places) = (self.clone(), self.clone());
        let network = mesh.clone();
        let regions: Page = Box::new(move |_| Ok(regions.regions(network.stats().refusals)));
        let census: Page = Box::new(move |arguments| {
            let mut census = census.ask_at(arguments, Errand::Census)?;
            census.sort_by_key(|one: &Census| one.region);
            Ok(json!(census))
        });
        let places: Page = Box::new(move |arguments| {
            let mut places = places.ask_at(arguments, Errand::Places)?;
            places.sort_by_key(|one: &Places| one.region);
            Ok(json!(places))
        });
        let ticks: Page = Box::new(move |arguments| {
            let after = arguments.get("after").and_then(|tick| tick.parse().ok()).ok_or("say ?after=TICK")?;
            Ok(ticks.ticks(Tick(after)))
        });
        let mut pages = BTreeMap::from([("/api/regions", regions), ("/api/census", census), ("/api/ticks", ticks)]);
        pages.insert("/api/places", places);
        pages.extend(self.orders(experiments));
        Facts {
            unready: Box::new(move || {
                let is_member = ready.revision.load(Ordering::Relaxed) > 0;
                (!is_member).then(|| "it is no member of the cluster yet".to_owned())
            }),
            metrics: Box::new(move || {
                let misplaced = figures.misplaced.load(Ordering::Relaxed);
                metrics::render_node(&figures.readings(), &links, &mesh.stats(), misplaced)
            }),
            pages,
            acts: BTreeMap::new(),
        }
    }

    /// What operators may order: nothing, unless the cluster is there for experiments.
    fn orders(&self, experiments: bool) -> Option<(&'static str, Page)> {
        let desk = self.clone();
        let ferry: Page = Box::new(move |arguments| desk.ferry(arguments));
        experiments.then_some(("/api/ferry", ferry))
    }

    fn readings(&self) -> Vec<Reading> {
        self.lock().values().map(|(gauge, _)| gauge.read()).collect()
    }

    fn regions(&self, refusals: u64) -> Value {
        let regions: Vec<Value> = self
            .readings()
            .iter()
            .map(|reading| {
                json!({
                    "region": reading.region,
                    "epoch": reading.epoch,
                    "tick": reading.tick,
                    "alive": reading.alive,
                    "bodies": reading.bodies,
                    "awake": reading.awake,
                    "began_after": reading.began.map(|began| began.after),
                    "began_us": reading.began.map(|began| began.unix_us),
                    "backup_life": reading.durability.life,
                    "kept": reading.durability.kept,
                    "protected": reading.durability.kept.is_some(),
                    "arrived": reading.counters.arrived,
                    "arrival_ticks": reading.counters.arrival_ticks,
                    "ticks_in_transit": reading.counters.ticks_in_transit,
                    "body_ticks": reading.counters.body_ticks,
                    "late_ticks": reading.late_ticks,
                    "look_us": reading.longest_look.as_micros() as u64,
                    "lost_ticks": reading.counters.ticks_lost,
                    "void_frames": reading.counters.frames_void,
                })
            })
            .collect();
        json!({
            "revision": self.revision.load(Ordering::Relaxed),
            "keeps": self.keeps.load(Ordering::Relaxed),
            "misplaced_frames": self.misplaced.load(Ordering::Relaxed),
            "refused_connections": refusals,
            "regions": regions,
        })
    }

    /// The latest ticks of every server here, as far as they come after one: how late each began and how long it took.
    fn ticks(&self, after: Tick) -> Value {
        let of = |reading: &Reading| {
            let samples = reading.shown(after).samples;
            let ticks: Vec<[u64; 3]> = samples
                .iter()
                .map(|sample| [sample.tick.0, sample.late.as_micros() as u64, sample.step.as_micros() as u64])
                .collect();
            json!({ "region": reading.region, "ticks": ticks })
        };
        self.readings().iter().map(of).collect()
    }

    /// Has a server give bodies away at every tick, for experiments.
    fn ferry(&self, arguments: &BTreeMap<String, String>) -> Result<Value, String> {
        let number = |name: &str| arguments.get(name).and_then(|value| value.parse::<u16>().ok());
        let order = number("region").zip(number("to")).zip(number("bodies"));
        let ((region, to), bodies) = order.ok_or("say ?region=NUMBER&to=NUMBER&bodies=NUMBER, bodies at each tick")?;
        let desk = self.lock().get(&RegionId(region)).map(|(_, desk)| desk.clone());
        let desk = desk.ok_or_else(|| format!("region {region} is not served here"))?;
        let ferry = (bodies > 0).then(|| Ferry::new(RegionId(to), usize::from(bodies)));
        if desk.hand_in(Errand::Ferry(ferry)) {
            Ok(json!(true))
        } else {
            Err("too much waits at that server".to_owned())
        }
    }

    /// The answers of all servers here about the tick that an operator names; one that does not answer in time is left out.
    fn ask_at<T>(
        &self,
        arguments: &BTreeMap<String, String>,
        errand: impl Fn(Tick, Reply<T>) -> Errand,
    ) -> Result<Vec<T>, String> {
        let tick = arguments.get("tick").and_then(|tick| tick.parse().ok()).map(Tick).ok_or("say ?tick=NUMBER")?;
        match self.until(tick) {
            Some(until) if until <= AHEAD_MAX => Ok(self.ask_all(until + PATIENCE, |reply| errand(tick, reply))),
            Some(until) => Err(format!(
                "tick {tick} is due in {} s; ask for one that is due within {} s",
                until.as_secs(),
                AHEAD_MAX.as_secs()
            )),
            None => Err(format!("time stands still before tick {tick}")),
        }
    }

    /// How long it takes until a tick is due; none when it never will be unless somebody orders otherwise.
    fn until(&self, tick: Tick) -> Option<Duration> {
        let time = self.pace.get().and_then(|pace| pace.real_time());
        time.map_or(Some(Duration::ZERO), |time: &RealTime| time.until(tick))
    }

    /// Writes what every server here is after a tick into a checkpoint, beside what else goes on. `tell` gets to know.
    pub(super) fn contribute(
        &self,
        place: Option<String>,
        name: String,
        tick: Tick,
        tell: impl FnOnce(Result<Vec<Filed>, String>) + Send + 'static,
    ) {
        let desk = self.clone();
        let work = move || {
            let write = || {
                let place = place.ok_or("the cluster's file of this node does not say where checkpoints go")?;
                let checkpoints = Checkpoints::open(&place).map_err(|error| error.to_string())?;
                // The coordinator names no tick before which time stands still, but may have heard of a pause later.
                let patience = desk.until(tick).unwrap_or_default() + PATIENCE;
                let contributions: Vec<Contribution> = desk.ask_all(patience, |reply| Errand::Contribute(tick, reply));
                let filed = contributions.into_iter().map(|one| checkpoints.write_part(&name, &one.into_part()));
                filed.collect::<Result<Vec<Filed>, _>>().map_err(|error| error.to_string())
            };
            tell(write());
        };
        // Without a thread nothing is told, and the coordinator loses patience.
        _ = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(work);
    }

    /// The answers of all servers here; one that does not answer in time is left out.
    fn ask_all<T>(&self, patience: Duration, errand: impl Fn(Reply<T>) -> Errand) -> Vec<T> {
        let desks: Vec<ErrandDesk> = self.lock().values().map(|(_, desk)| desk.clone()).collect();
        let (asker, reply) = Asker::new(desks.len());
        let asked = desks.iter().filter(|desk| desk.hand_in(errand(reply.clone()))).count();
        drop(reply);
        let clock = Clock::start();
        let left = || patience.saturating_sub(clock.now());
        (0..asked).map_while(|_| asker.answers.recv_timeout(left()).ok()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RegionId, (Gauge, ErrandDesk)>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errand::Errands;

    #[test]
    fn only_experiments_may_order_and_only_what_makes_sense() {
        let desk = Desk::default();
        let (errands, _list) = Errands::open();
        desk.open(RegionId(3), Gauge::new(RegionId(3)), errands);
        assert!(desk.orders(false).is_none());
        let (_, page) = desk.orders(true).unwrap();
        for (arguments, fits) in [
            (["3", "1", "5"], true),
            (["3", "1", "0"], true),
            (["2", "1", "5"], false),
            (["3", "1", "-1"], false),
            (["3", "", "5"], false),
        ] {
            let names = ["region", "to", "bodies"].map(str::to_owned);
            let arguments: BTreeMap<String, String> = names.into_iter().zip(arguments.map(str::to_owned)).collect();
            assert_eq!(page(&arguments).is_ok(), fits, "{arguments:?}");
        }
    }

    #[test]
    fn a_tick_that_is_far_off_or_never_comes_is_not_asked_for() {
        let desk = Desk::default();
        let (errands, _list) = Errands::open();
        desk.open(RegionId(3), Gauge::new(RegionId(3)), errands);
        let pace = Arc::new(Pace::RealTime(RealTime::start(Tick(100), 50, 50)));
        desk.go_by(&pace);
        let ask = |tick: &str| {
            let arguments = BTreeMap::from([("tick".to_owned(), tick.to_owned())]);
            desk.ask_at::<Census>(&arguments, |_, _| Errand::StopAfter(None)).map(|answers| answers.len())
        };
        assert_eq!(ask("110"), Ok(0));
        assert!(ask("99999999999").is_err_and(|why| why.contains("within 20 s")));
        assert_eq!(ask("soon"), Err("say ?tick=NUMBER".to_owned()));
        pace.real_time().unwrap().with(|timeline, now| timeline.pause(now));
        assert!(ask("99999").is_err_and(|why| why.contains("stands still")));
        assert_eq!(ask("100"), Ok(0));
    }
}

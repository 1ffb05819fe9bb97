//! What operators can ask of a node: the regions it serves, and what each owns at one tick.

use nimbus_model::{RegionId, Tick};
use nimbus_node::Part;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::checkpoints::{Checkpoints, Filed};
use crate::errand::{Census, Errand, ErrandDesk};
use crate::links::Links;
use crate::mesh::Mesh;
use crate::metrics;
use crate::operator::{Facts, Page};
use crate::reading::{Gauge, Reading};

/// How long a server may take to reach the tick that was asked for.
const PATIENCE: Duration = Duration::from_secs(3);

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
}

impl Desk {
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
    pub(super) fn facts(&self, links: Links, mesh: Arc<Mesh>) -> Facts {
        let (ready, figures, regions, census) = (self.clone(), self.clone(), self.clone(), self.clone());
        let network = mesh.clone();
        let regions: Page = Box::new(move |_| Ok(regions.regions(network.stats().refusals)));
        let census: Page = Box::new(move |arguments| {
            let tick = arguments.get("tick").and_then(|tick| tick.parse().ok()).ok_or("say ?tick=NUMBER")?;
            Ok(json!(census.census(Tick(tick))))
        });
        Facts {
            unready: Box::new(move || {
                let is_member = ready.revision.load(Ordering::Relaxed) > 0;
                (!is_member).then(|| "it is no member of the cluster yet".to_owned())
            }),
            metrics: Box::new(move || {
                let misplaced = figures.misplaced.load(Ordering::Relaxed);
                metrics::render_node(&figures.readings(), &links, &mesh.stats(), misplaced)
            }),
            pages: BTreeMap::from([("/api/regions", regions), ("/api/census", census)]),
            acts: BTreeMap::new(),
        }
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

    /// What every server here owns after a tick; one that does not answer in time is left out.
    fn census(&self, tick: Tick) -> Vec<Census> {
        let mut census = self.ask_all(|answer| Errand::Census(tick, answer));
        census.sort_by_key(|one: &Census| one.region);
        census
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
                let parts: Vec<Part> = desk.ask_all(|answer| Errand::Contribute(tick, answer));
                let filed = parts.iter().map(|part| checkpoints.write_part(&name, part));
                filed.collect::<Result<Vec<Filed>, _>>().map_err(|error| error.to_string())
            };
            tell(write());
        };
        // Without a thread nothing is told, and the coordinator loses patience.
        _ = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(work);
    }

    /// The answers of all servers here; one that does not answer in time is left out.
    fn ask_all<T>(&self, errand: impl Fn(SyncSender<T>) -> Errand) -> Vec<T> {
        let desks: Vec<ErrandDesk> = self.lock().values().map(|(_, desk)| desk.clone()).collect();
        let (answer, answers) = sync_channel(desks.len());
        let asked = desks.iter().filter(|desk| desk.hand_in(errand(answer.clone()))).count();
        drop(answer);
        (0..asked).map_while(|_| answers.recv_timeout(PATIENCE).ok()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RegionId, (Gauge, ErrandDesk)>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

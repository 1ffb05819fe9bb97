//! One run: a world on several servers, watched at every tick of every server.

use nimbus_model::{Nid, Tick, Tolerances, Vec3, World};
use nimbus_node::{AuraConfig, Breach, Factor, Node, Planted, Policy};
use nimbus_universe::{LinkModel, Universe, UniverseConfig, UniverseError};

use super::scene::{Case, Scene};

/// The run goes on for this long after the contact, so that whoever throws bodies to and fro then is seen as well.
const AFTER_TICKS: u64 = 30;
/// Time that frozen or resent bodies are given to appear, when nothing has collided.
const GRACE_TICKS: u64 = 40;
/// A velocity counts as changed by a collision when it differs by this share of the closing speed from what it must be
/// without one.
const CHANGED: f32 = 1e-3;
/// Servers wake at most this often, milliseconds: no frame takes no time.
const FRAME_MS_MIN: f32 = 0.5;

/// Everything that decides a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) case: Case,
    pub(crate) policy: Policy,
    pub(crate) aura: AuraConfig,
    /// What the world promises.
    pub(crate) tolerances: Tolerances,
    /// Speed of each body, m/s; chance takes up to 1 m/s off it.
    pub(crate) speed: f32,
    /// One-way latency of every link, milliseconds.
    pub(crate) latency_ms: f32,
    /// Time between two wake-ups of a server, milliseconds.
    pub(crate) frame_ms: f32,
    /// Standard deviation of that time, milliseconds; no frame is longer or shorter by more than three of them.
    pub(crate) frame_sigma_ms: f32,
    /// Time from a wake-up until its frames are sent, milliseconds.
    pub(crate) compute_ms: f32,
    /// By how much the clock of one server is ahead, milliseconds; chance says of which.
    pub(crate) skew_ms: f32,
    /// Every server has a backup, which takes so long to store what it is sent, milliseconds.
    pub(crate) store_ms: Option<f32>,
    /// Probability that a frame is lost.
    pub(crate) loss: f32,
    /// The tolerance that the run exceeds on purpose.
    pub(crate) exceeded: Option<Factor>,
    /// A mistake on purpose.
    pub(crate) planted: Option<Planted>,
    /// Everything runs on one server: the control of the control.
    pub(crate) alone: bool,
    pub(crate) seed: u64,
}

impl Setup {
    /// A head-on collision under auras with every factor exactly at its tolerance.
    pub(crate) fn at_tolerance(tolerances: Tolerances) -> Setup {
        Setup {
            case: Case::HeadOn,
            policy: Policy::Aura,
            aura: AuraConfig::default(),
            tolerances,
            speed: tolerances.speed,
            latency_ms: tolerances.latency_ms,
            frame_ms: tolerances.frame_ms,
            frame_sigma_ms: 0.0,
            compute_ms: 0.0,
            skew_ms: 0.0,
            store_ms: None,
            loss: 0.0,
            exceeded: None,
            planted: None,
            alone: false,
            seed: 0,
        }
    }
}

/// A body as its owner saw it after a tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    pub(crate) tick: u64,
    pub(crate) region: u16,
    /// Grows by one whenever the body changes owner.
    pub(crate) epoch: u32,
    pub(crate) velocity: Vec3,
}

/// What was seen of a run.
pub(crate) struct Record {
    /// Per body, in the order in which it was seen. Servers are at slightly different ticks at any moment, so ticks
    /// count here, not moments.
    pub(crate) sights: Vec<Vec<Sight>>,
    /// Per body, the first tick at which its velocity was not what free flight makes it.
    pub(crate) struck: Vec<Option<u64>>,
    /// How deep bodies were in each other when the engine first found a contact that changed something, metres.
    pub(crate) depth: Option<f32>,
    pub(crate) breaches: Vec<Breach>,
    /// Bodies that nobody owns at the end and that are not on their way either.
    pub(crate) lost: u32,
    /// Bodies that two servers own at the end.
    pub(crate) duplicated: u32,
}

impl Record {
    /// The tick of the first collision.
    pub(crate) fn contact(&self) -> Option<u64> {
        self.struck.iter().flatten().copied().min()
    }

    /// A body's velocity at a tick, or as soon after it as anybody owned the body.
    pub(crate) fn velocity(&self, body: usize, tick: u64) -> Option<Vec3> {
        let later = self.sights[body].iter().filter(|sight| sight.tick >= tick);
        later.min_by_key(|sight| sight.tick).map(|sight| sight.velocity)
    }
}

/// Runs a scene on the servers of its layout.
pub(crate) fn on_servers(scene: &Scene, setup: &Setup) -> Result<Record, UniverseError> {
    let mut config = quiet(setup.seed);
    config.policy = setup.policy;
    config.aura = setup.aura;
    config.frame_ns = Some(nanos(setup.frame_ms.max(FRAME_MS_MIN)));
    config.frame_sigma_ns = nanos(setup.frame_sigma_ms);
    config.compute_ns = nanos(setup.compute_ms);
    let skew_ns = nanos(setup.skew_ms) as i64;
    config.skew_ns = if setup.seed.is_multiple_of(2) { skew_ns } else { -skew_ns };
    config.durable = setup.store_ms.is_some();
    config.store_ns = nanos(setup.store_ms.unwrap_or(0.0));
    config.planted = setup.planted;
    let latency_ns = nanos(setup.latency_ms);
    config.link = Some(LinkModel { latency_ns, loss: setup.loss, ..LinkModel::default() });
    watch(scene, Universe::of_world(config, scene.world.clone())?)
}

/// Runs the same scene from the same start on one server.
pub(crate) fn on_one_server(scene: &Scene, setup: &Setup) -> Result<Record, UniverseError> {
    let world = nimbus_scenes::on_one_server(&scene.world);
    watch(scene, Universe::of_world(quiet(setup.seed), world)?)
}

fn quiet(seed: u64) -> UniverseConfig {
    // The number of ticks only decides when a universe that runs by itself ends.
    let mut config = UniverseConfig::new("collision", 2, seed, 1 << 32);
    config.clients = 0;
    config.checked = false;
    config
}

fn nanos(ms: f32) -> u64 {
    (f64::from(ms) * 1e6).round() as u64
}

fn watch(scene: &Scene, mut universe: Universe) -> Result<Record, UniverseError> {
    let nids: Vec<Nid> = (0..scene.world.bodies.len() as u32).map(|i| World::nid(1, i)).collect();
    let mut record = Record {
        sights: vec![Vec::new(); nids.len()],
        struck: vec![None; nids.len()],
        depth: None,
        breaches: Vec::new(),
        lost: 0,
        duplicated: 0,
    };
    let mut end = scene.passed + GRACE_TICKS;
    while universe.tick() < Tick(end) {
        universe.advance_watching(&mut |node| look(scene, &nids, node, &mut record));
        if let Some(contact) = record.contact() {
            end = contact + AFTER_TICKS;
        }
    }
    record.breaches.clone_from(&universe.outcome().breaches);
    for nid in nids {
        let owners = universe.nodes().iter().filter(|node| node.motion(nid).is_some()).count();
        let on_its_way = universe.nodes().iter().any(|node| node.in_flight().any(|(other, _)| other == nid));
        record.lost += u32::from(owners == 0 && !on_its_way);
        record.duplicated += u32::from(owners > 1);
    }
    Ok(record)
}

fn look(scene: &Scene, nids: &[Nid], node: &Node, record: &mut Record) {
    let tick = node.now().0;
    let first = record.contact().is_none();
    for (nid, epoch) in node.hosted() {
        let Some(body) = nids.iter().position(|known| *known == nid) else { continue };
        let Some(motion) = node.motion(nid) else { continue };
        let velocity = motion.velocity.linear;
        record.sights[body].push(Sight { tick, region: node.region().0, epoch, velocity });
        let free = free_velocity(&scene.world, body, tick);
        if record.struck[body].is_none() && velocity.distance(free) > CHANGED * scene.closing {
            record.struck[body] = Some(tick);
        }
    }
    if first && record.contact() == Some(tick) {
        let pairs = nids.iter().enumerate().flat_map(|(i, a)| nids[i + 1..].iter().map(move |b| (*a, *b)));
        record.depth = pairs.filter_map(|(a, b)| node.physics().contact_depth(a, b)).reduce(f32::max);
    }
}

/// The velocity that a body has after a tick if it has met nothing: its own and what pushes added.
fn free_velocity(world: &World, body: usize, tick: u64) -> Vec3 {
    let pushes = world.script.iter().filter(|push| push.body as usize == body && push.tick.0 <= tick);
    world.bodies[body].velocity.linear + pushes.map(|push| push.linear).sum::<Vec3>()
}

//! A whole world in one process: servers, a gateway, and a way in for clients.

use nimbus_gateway::{Gateway, GatewayConfig, SceneInfo};
use nimbus_model::{ClientId, Nid, RegionId, Tick, World};
use nimbus_node::{AuraConfig, ContactTick, Policy};
use nimbus_wire::client::{ClientRole, Parsed, Reject};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

use crate::balancer::Balancer;
use crate::board::{Board, GatewayReading};
use crate::client_queue::{ClientEnd, client_queue};
use crate::gateway_thread::{ClientEvent, EVENTS_MAX, GatewayThread};
use crate::pace::{Pace, RealTime};
use crate::play::{Play, SLOWEST_PERMILLE, slowest_permille};
use crate::recording::RecordingError;
use crate::servers::{GATEWAY, RunEnd, Servers, ServersConfig, StartError};

/// Makes the world of a name for a number of servers, or says why not.
pub type BuildScene = Arc<dyn Fn(&str, u16) -> Result<World, String> + Send + Sync>;

/// The worlds that clients may choose while the process runs.
#[derive(Clone)]
pub struct Scenes {
    /// What they are called.
    pub list: Vec<SceneInfo>,
    /// Makes one.
    pub build: BuildScene,
}

impl Default for Scenes {
    /// No choice.
    fn default() -> Self {
        let build = |name: &str, _| Err(format!("there is no scene `{name}`: this process runs one world only"));
        Scenes { list: Vec::new(), build: Arc::new(build) }
    }
}

/// What a process is started with.
pub struct EmbeddedConfig {
    /// The world it begins with.
    pub world: Arc<World>,
    /// The worlds it can change to.
    pub scenes: Scenes,
    /// How many servers; more when the world has more regions.
    pub servers: u16,
    /// Who should own what.
    pub policy: Policy,
    /// How the aura policy judges, and what is promised of computing, clocks and backups.
    pub aura: AuraConfig,
    /// Whether boundaries follow the load, by measured CPU time.
    pub balance: bool,
    /// What a tick of a server may cost, microseconds, before one without a place shares its region. Worlds begin on one
    /// server then, and go back to it. Needs `balance`.
    pub budget_us: Option<u32>,
    /// Every server has a backup in this process, and clients may kill it; see [`ServersConfig::durable`]. Off while there
    /// is a recording.
    pub durable: bool,
    /// Least share of the speed asked for to which the world slows down when a server cannot keep up, thousandths; 1000
    /// forbids time dilation.
    pub slowest_permille: u32,
    /// Write the run to this file.
    pub record: Option<PathBuf>,
    /// Tell here what begins and ceases to touch; see [`ServersConfig::contacts`].
    pub contacts: Option<SyncSender<(RegionId, ContactTick)>>,
    /// The game that its servers play.
    pub play: Option<Play>,
    /// Most bodies that one server hosts; by the machine's memory unless told.
    pub bodies_per_region: Option<u32>,
    /// Limits of the gateway.
    pub gateway: GatewayConfig,
}

impl EmbeddedConfig {
    /// One world, with as many servers as it has regions.
    pub fn new(world: impl Into<Arc<World>>) -> EmbeddedConfig {
        EmbeddedConfig {
            world: world.into(),
            scenes: Scenes::default(),
            servers: 1,
            policy: Policy::default(),
            aura: AuraConfig::PROCESSES,
            balance: false,
            budget_us: None,
            durable: false,
            slowest_permille: SLOWEST_PERMILLE,
            record: None,
            contacts: None,
            play: None,
            bodies_per_region: None,
            gateway: GatewayConfig { id: GATEWAY, ..GatewayConfig::default() },
        }
    }
}

/// A whole world in one process. Dropping it without [`EmbeddedCluster::stop`] leaves its threads running.
pub struct EmbeddedCluster {
    servers: Servers,
    gateway: JoinHandle<()>,
    handle: ClusterHandle,
}

/// A way to watch and enter a running world. Cheap to clone.
#[derive(Clone)]
pub struct ClusterHandle {
    events: mpsc::Sender<ClientEvent>,
    board: Arc<Board>,
    next_client: Arc<AtomicU32>,
}

impl EmbeddedCluster {
    /// Starts every server and the gateway, in real time.
    pub fn start(config: EmbeddedConfig) -> Result<EmbeddedCluster, StartError> {
        let EmbeddedConfig { world, scenes, servers, policy, balance, budget_us, .. } = config;
        let EmbeddedConfig { aura, durable, record, contacts, play, bodies_per_region, gateway, .. } = config;
        let slowest = slowest_permille(config.slowest_permille, play.as_ref());
        let durable = durable && record.is_none();
        let aura = aura.with_commits(durable);
        let gateway = GatewayConfig { id: GATEWAY, durable, ..gateway };
        let asked = ServersConfig {
            world: world.clone(),
            servers,
            gateway: true,
            policy,
            aura,
            record,
            durable,
            contacts,
            play,
            bodies_per_region,
        };
        let hz = world.tick_hz;
        let (running, inbox, map) = Servers::start(asked, |_| Pace::RealTime(RealTime::start(Tick(0), hz, slowest)))?;
        let (events, inbound) = mpsc::channel(EVENTS_MAX);
        let shown = GatewayReading {
            alive: true,
            scene: world.name.clone(),
            era: 1,
            speed: 1.0,
            dilation: 1.0,
            ..GatewayReading::default()
        };
        let board = Arc::new(Board::new(running.gauges().to_vec(), running.links().clone(), shown));
        running.gauges().iter().for_each(|gauge| gauge.write(|reading| reading.load_wanted = balance));
        let thread = GatewayThread {
            aura,
            council: None,
            kill_switch: running.kill_switch().cloned(),
            lives: Vec::new(),
            balancer: balance.then(|| Balancer::new(&world, &aura, map.clone()).with_budget(budget_us)),
            gateway: Gateway::new(gateway, scenes.list.clone(), world.clone(), 1, map.clone()),
            map,
            dilate_at: Duration::ZERO,
            placed: Arc::default(),
            placed_at: Vec::new(),
            pace: running.pace().clone(),
            links: running.links().clone(),
            inbox,
            events: inbound,
            doors: running.doors(),
            board: board.clone(),
            scenes,
            servers: if budget_us.is_some() { 1 } else { servers.max(1) },
            regions: running.regions().to_vec(),
            world,
            next_world: None,
            queues: BTreeMap::new(),
        };
        let gateway = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || thread.run())?;
        let handle = ClusterHandle { events, board, next_client: Arc::new(AtomicU32::new(1)) };
        Ok(EmbeddedCluster { servers: running, gateway, handle })
    }

    /// A way to watch and enter it.
    pub fn handle(&self) -> ClusterHandle {
        self.handle.clone()
    }

    /// How many servers there are.
    pub fn servers(&self) -> usize {
        self.servers.regions().len()
    }

    /// Says goodbye to clients, ends every thread and completes the recording.
    pub fn stop(self) -> Result<RunEnd, RecordingError> {
        self.servers.pace().stop();
        // A gateway that panicked has said so on its way; the servers still end cleanly.
        _ = self.gateway.join();
        self.servers.stop()
    }
}

impl ClusterHandle {
    pub(crate) fn new(
        events: mpsc::Sender<ClientEvent>,
        board: Arc<Board>,
        next_client: Arc<AtomicU32>,
    ) -> ClusterHandle {
        ClusterHandle { events, board, next_client }
    }

    /// What can be looked up.
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Lets a client in that may do what its role may, and sees everything, or only what it says it watches. None when the
    /// process is ending.
    pub async fn connect(&self, role: ClientRole, watches: bool) -> Option<(ClientId, ClientEnd)> {
        let client = ClientId(self.next_client.fetch_add(1, Ordering::Relaxed));
        let (queue, end) = client_queue();
        self.send(ClientEvent::Connected(client, (role, watches), queue)).await.then_some((client, end))
    }

    /// A client asks for something. False when the process is ending.
    pub async fn ask(&self, client: ClientId, parsed: Parsed) -> bool {
        self.send(ClientEvent::Asked(client, parsed)).await
    }

    /// A client sent so many messages that are no commands, and what was wrong with the last. False when the process is
    /// ending.
    pub async fn rubbish(&self, client: ClientId, count: u32, last: Reject) -> bool {
        self.send(ClientEvent::Rubbish(client, count, last)).await
    }

    /// A client is gone.
    pub async fn disconnect(&self, client: ClientId) {
        // When the process is ending the client is forgotten anyway.
        _ = self.send(ClientEvent::Gone(client)).await;
    }

    /// Every body that the gateway knows, and who was last known to own it. None when it does not answer in time. Waits, so
    /// it is for threads that may.
    pub(crate) fn bodies(&self) -> Option<Vec<(Nid, RegionId)>> {
        let (answer, bodies) = sync_channel(1);
        self.events.try_send(ClientEvent::Bodies(answer)).ok()?;
        bodies.recv_timeout(Duration::from_secs(2)).ok()
    }

    /// Waits while the gateway is behind, which makes the client's socket wait too.
    async fn send(&self, event: ClientEvent) -> bool {
        self.events.send(event).await.is_ok()
    }
}

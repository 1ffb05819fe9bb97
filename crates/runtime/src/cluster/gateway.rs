//! A gateway as a process: it lets clients in and shows them what the nodes tell.

use nimbus_control::{Change, Roster};
use nimbus_gateway::{Gateway, GatewayConfig};
use nimbus_model::Tick;
use nimbus_space::PartitionMap;
use nimbus_wire::{Address, GatewayId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

use super::member::{Heard, Member};
use super::setup::{ClusterError, ClusterSetup};
use crate::board::{Board, GatewayReading};
use crate::doors::Doors;
use crate::embedded::{ClusterHandle, Scenes};
use crate::gateway_thread::{ClientEvent, EVENTS_MAX, GatewayThread};
use crate::links::Links;
use crate::mesh::{ProcessName, Role};
use crate::metrics;
use crate::operator::{Facts, Operator, Page};
use crate::pace::{Pace, RealTime};
use crate::reading::Gauge;

/// How long it waits for the network at most before it looks after itself.
const POLL: Duration = Duration::from_millis(10);

/// A gateway with its place in the cluster.
pub struct GatewayProcess {
    setup: ClusterSetup,
    member: Member,
    links: Links,
    pace: Arc<Pace>,
    /// By region, in order.
    gauges: Vec<Gauge>,
    board: Arc<Board>,
    /// What clients do; here until the gateway itself has begun.
    events: Option<mpsc::Receiver<ClientEvent>>,
    thread: Option<JoinHandle<()>>,
    /// Where partitions are announced to the gateway, and the epoch of the newest that was.
    maps: Option<std::sync::mpsc::Sender<PartitionMap>>,
    map_epoch: u32,
    handle: ClusterHandle,
    _operator: Option<Operator>,
}

impl GatewayProcess {
    /// Starts it; clients can come at once and see something when the cluster has started.
    pub fn start(setup: &ClusterSetup, name: &ProcessName, token: u64) -> Result<GatewayProcess, ClusterError> {
        let member = Member::new(setup, name, Role::Gateway, token)?;
        let links = Links::default();
        let pace = Arc::new(Pace::RealTime(RealTime::start(Tick(0), setup.world.tick_hz)));
        let (events, inbound) = mpsc::channel(EVENTS_MAX);
        let shown = GatewayReading {
            alive: true,
            scene: setup.world.name.clone(),
            era: 1,
            speed: 1.0,
            ..GatewayReading::default()
        };
        let gauges: Vec<Gauge> = setup.map.regions().iter().map(|region| Gauge::new(*region)).collect();
        let board = Arc::new(Board::new(gauges.clone(), links.clone(), shown));
        let handle = ClusterHandle::new(events, board.clone(), Arc::new(AtomicU32::new(1)));
        let facts = facts(&board);
        let operator = setup.operators.get(name).map(|address| Operator::start(*address, facts)).transpose()?;
        Ok(GatewayProcess {
            setup: setup.clone(),
            member,
            links,
            pace,
            gauges,
            board,
            events: Some(inbound),
            thread: None,
            maps: None,
            map_epoch: setup.map.epoch(),
            handle,
            _operator: operator,
        })
    }

    /// Begins to listen to servers, under the number that this start of the process has.
    fn begin(&mut self, roster: &Roster) -> Result<(), ClusterError> {
        let (Some(process), Some(events)) = (self.member.process(), self.events.take()) else { return Ok(()) };
        self.map_epoch = roster.map.epoch();
        let id = GatewayId(process.0);
        let durable = self.setup.is_durable();
        let config = GatewayConfig { id, durable, ..GatewayConfig::default() };
        let world = self.setup.world.clone();
        let (announce, maps) = std::sync::mpsc::channel();
        self.maps = Some(announce);
        let thread = GatewayThread {
            gateway: Gateway::new(config, Vec::new(), world.clone(), roster.era, (*roster.map).clone()),
            pace: self.pace.clone(),
            links: self.links.clone(),
            inbox: self.links.open(Address::Gateway(id)),
            events,
            doors: Doors::default(),
            board: self.board.clone(),
            scenes: Scenes::default(),
            servers: self.setup.map.regions().len() as u16,
            regions: self.setup.map.regions().to_vec(),
            world,
            next_world: None,
            queues: BTreeMap::new(),
            balancer: None,
            maps: Some(maps),
        };
        let spawned = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || thread.run());
        self.thread = Some(spawned.map_err(|error| ClusterError::Io("gateway".to_owned(), error))?);
        Ok(())
    }

    /// Passes on partitions that are announced.
    fn announce(&mut self, roster: &Roster) {
        let announced = roster.changes.iter().filter_map(|change| match change {
            Change::Map(map) => Some(map),
            Change::Load { .. } => None,
        });
        for map in announced.chain([&roster.map]) {
            if map.epoch() > self.map_epoch
                && let Some(maps) = &self.maps
            {
                self.map_epoch = map.epoch();
                // A gateway whose thread has ended shows nothing any more.
                _ = maps.send((**map).clone());
            }
        }
    }

    /// A way in for clients.
    pub fn handle(&self) -> ClusterHandle {
        self.handle.clone()
    }

    /// Runs until `ends` says so, or until it is told that it is no member any more.
    pub fn run(mut self, mut ends: impl FnMut() -> bool) -> Result<(), ClusterError> {
        let mut outcome = Ok(());
        while outcome.is_ok() && !ends() {
            outcome = self.turn();
        }
        self.pace.stop();
        // One that panicked has said so on its way.
        self.thread.take().into_iter().for_each(|thread| _ = thread.join());
        outcome
    }

    fn turn(&mut self) -> Result<(), ClusterError> {
        let mesh = self.member.mesh.clone();
        mesh.wait(POLL);
        let mut outcome = Ok(());
        let mut news = None;
        mesh.drain(|received| match self.member.hear(received) {
            Ok(Heard::Frame(to, bytes)) => _ = self.links.deliver(to, || bytes),
            Ok(Heard::Roster(roster)) => news = Some(roster),
            Ok(Heard::Shown(shown)) => {
                let gauge = self.gauges.iter().find(|gauge| gauge.read().region == shown.region);
                gauge.into_iter().for_each(|gauge| gauge.write(|reading| reading.see(shown.clone())));
            }
            Ok(Heard::Nothing | Heard::Left) => {}
            Err(error) => outcome = Err(error),
        });
        if let Some(roster) = news {
            self.begin(&roster)?;
            self.announce(&roster);
            self.links.route(&mesh, self.member.routes());
        }
        if let Some(time) = self.pace.real_time() {
            self.member.align(time);
        }
        self.member.beat(Tick(0), Vec::new);
        outcome
    }
}

/// What operators may ask of a gateway.
fn facts(board: &Arc<Board>) -> Facts {
    let (ready, figures, world) = (board.clone(), board.clone(), board.clone());
    let world: Page = Box::new(move |_| serde_json::to_value(world.world_stats()).map_err(|error| error.to_string()));
    Facts {
        unready: Box::new(move || (ready.gateway().bodies == 0).then(|| "no body is known yet".to_owned())),
        metrics: Box::new(move || metrics::render(&figures)),
        pages: BTreeMap::from([("/api/world", world)]),
    }
}

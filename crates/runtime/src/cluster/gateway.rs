//! A gateway as a process: it lets clients in and shows them what the nodes tell.

use nimbus_gateway::{Gateway, GatewayConfig};
use nimbus_model::Tick;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

use super::member::{Heard, Member, gateway};
use super::setup::{ClusterError, ClusterSetup};
use crate::board::{Board, GatewayReading};
use crate::doors::Doors;
use crate::embedded::{ClusterHandle, Scenes};
use crate::gateway_thread::{EVENTS_MAX, GatewayThread};
use crate::links::Links;
use crate::mesh::{ProcessName, Role};
use crate::pace::{Pace, RealTime};
use crate::reading::Gauge;
use crate::servers::GATEWAY;

/// How long it waits for the network at most before it looks after itself.
const POLL: Duration = Duration::from_millis(10);

/// A gateway with its place in the cluster.
pub struct GatewayProcess {
    member: Member,
    links: Links,
    pace: Arc<Pace>,
    /// By region, in order.
    gauges: Vec<Gauge>,
    thread: JoinHandle<()>,
    handle: ClusterHandle,
}

impl GatewayProcess {
    /// Starts it; clients can come at once and see something when the cluster has started.
    pub fn start(setup: &ClusterSetup, name: &ProcessName, token: u64) -> Result<GatewayProcess, ClusterError> {
        let member = Member::new(setup, name, Role::Gateway, token)?;
        let links = Links::default();
        let inbox = links.open(gateway());
        let time = RealTime::start(Tick(0), setup.world.tick_hz);
        let pace = Arc::new(Pace::RealTime(time));
        let (events, inbound) = mpsc::channel(EVENTS_MAX);
        let world = setup.world.clone();
        let shown =
            GatewayReading { alive: true, scene: world.name.clone(), era: 1, speed: 1.0, ..GatewayReading::default() };
        let gauges: Vec<Gauge> = setup.map.regions().iter().map(|region| Gauge::new(*region)).collect();
        let board = Arc::new(Board::new(gauges.clone(), links.clone(), shown));
        let config = GatewayConfig { id: GATEWAY, ..GatewayConfig::default() };
        let thread = GatewayThread {
            gateway: Gateway::new(config, Vec::new(), world.clone(), 1, setup.map.clone()),
            pace: pace.clone(),
            links: links.clone(),
            inbox,
            events: inbound,
            doors: Doors::default(),
            board: board.clone(),
            scenes: Scenes::default(),
            servers: setup.map.regions().len() as u16,
            regions: setup.map.regions().to_vec(),
            world,
            next_world: None,
            queues: BTreeMap::new(),
        };
        let spawned = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || thread.run());
        let thread = spawned.map_err(|error| ClusterError::Io("gateway".to_owned(), error))?;
        let handle = ClusterHandle::new(events, board, Arc::new(AtomicU32::new(1)));
        Ok(GatewayProcess { member, links, pace, gauges, thread, handle })
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
        _ = self.thread.join();
        outcome
    }

    fn turn(&mut self) -> Result<(), ClusterError> {
        let mesh = self.member.mesh.clone();
        mesh.wait(POLL);
        let mut outcome = Ok(());
        let mut news = false;
        mesh.drain(|received| match self.member.hear(received) {
            Ok(Heard::Frame(to, bytes)) => _ = self.links.deliver(to, || bytes),
            Ok(Heard::Roster(_)) => news = true,
            Ok(Heard::Shown(shown)) => {
                let gauge = self.gauges.iter().find(|gauge| gauge.read().region == shown.region);
                gauge.into_iter().for_each(|gauge| gauge.write(|reading| reading.see(shown.clone())));
            }
            Ok(Heard::Nothing) => {}
            Err(error) => outcome = Err(error),
        });
        if news {
            self.links.route(&mesh, self.member.routes());
        }
        if let Some(time) = self.pace.real_time() {
            self.member.align(time);
        }
        self.member.beat(Tick(0), Vec::new);
        outcome
    }
}

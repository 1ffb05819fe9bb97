//! A cluster in one process whose nodes take differently long to make a world.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "what runs in real time takes some")]

use nimbus_control::{Change, Roster};
use nimbus_model::Tick;
use nimbus_node::AuraConfig;
use nimbus_runtime::certs::{CertsRequest, make_certs};
use nimbus_runtime::cluster::{ClusterSetup, GatewayProcess, Place, StoreSetup, run_coordinator, run_node};
use nimbus_runtime::mesh::{ClusterName, ProcessName, Role};
use nimbus_runtime::{Clock, ClusterHandle, SLOWEST_PERMILLE, Scenes, first_map};
use nimbus_scenes::SceneParams;
use nimbus_wire::client::{ClientRole, FromClient, Parsed};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Long enough for a loaded machine; nothing waits that long when all is well.
const PATIENCE: Duration = Duration::from_secs(20);
const NAMES: [(&str, Role); 4] = [
    ("coordinator-0", Role::Coordinator),
    ("node-0", Role::Node),
    ("node-1", Role::Node),
    ("gateway-0", Role::Gateway),
];

fn name(text: &str) -> ProcessName {
    text.parse().unwrap()
}

fn build(scene: &str, servers: u16) -> Result<nimbus_model::World, String> {
    nimbus_scenes::build(scene, &SceneParams { servers, seed: 1, scale: 0.2 }).map_err(|error| error.to_string())
}

/// Keeps worlds from being made until it is opened.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        drop(self.changed.wait_while(self.open.lock().unwrap(), |open| !*open).unwrap());
    }
}

/// Every process as a thread that ends with the test. Regions have no backups, so that a slow machine moves nothing.
struct Cluster {
    dir: PathBuf,
    gate: Arc<Gate>,
    handle: ClusterHandle,
}

impl Cluster {
    fn start() -> Cluster {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-slow-world", std::process::id()));
        let processes = NAMES.iter().map(|(text, role)| (name(text), *role)).collect();
        make_certs(&dir, &CertsRequest { processes, hosts: vec!["127.0.0.1".to_owned()] }).unwrap();
        let sockets = NAMES.map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let place = |(socket, (text, role)): (&UdpSocket, &(&str, Role))| {
            (name(text), Place { role: *role, address: socket.local_addr().unwrap(), relayed: None })
        };
        let world = Arc::new(build("wall", 2).unwrap());
        let setup = ClusterSetup {
            name: ClusterName::new("test").unwrap(),
            certs: dir.clone(),
            places: sockets.iter().zip(&NAMES).map(place).collect(),
            operators: BTreeMap::new(),
            balance: false,
            budget_us: None,
            durable: false,
            aura: AuraConfig::PROCESSES,
            slowest_permille: SLOWEST_PERMILLE,
            experiments: false,
            map: first_map(&world, 1).unwrap().0,
            world,
            spare: Vec::new(),
            scenes: Scenes { list: Vec::new(), build: Arc::new(build) },
            store: StoreSetup::File(dir.join("roster")),
            checkpoints: None,
            restored: None,
            bodies_per_region: None,
            play: None,
        };
        drop(sockets);
        let gate = Arc::new(Gate::default());
        let passes = gate.clone();
        let slow = move |scene: &str, servers| {
            passes.wait();
            build(scene, servers)
        };
        let slow = ClusterSetup { scenes: Scenes { list: Vec::new(), build: Arc::new(slow) }, ..setup.clone() };
        let gateway = GatewayProcess::start(&setup, &name("gateway-0"), 4).unwrap();
        let handle = gateway.handle();
        let (coordinator, fast) = (setup.clone(), setup);
        std::thread::spawn(move || run_coordinator(&coordinator, &name("coordinator-0"), 1, || false, |_| {}).unwrap());
        std::thread::spawn(move || run_node(&fast, &name("node-0"), 2, || false, |_| {}).unwrap());
        std::thread::spawn(move || run_node(&slow, &name("node-1"), 3, || false, |_| {}).unwrap());
        std::thread::spawn(move || gateway.run(|| false).unwrap());
        Cluster { dir, gate, handle }
    }

    /// The roster in the store.
    fn roster(&self) -> Option<Roster> {
        Roster::decode(&std::fs::read(self.dir.join("roster")).ok()?).ok()
    }

    /// The era and the tick of each region, as servers show them to the gateway.
    fn shown(&self) -> Vec<(u16, Tick)> {
        self.handle.board().readings().iter().map(|reading| (reading.era, reading.tick)).collect()
    }

    fn until(&self, what: &str, happened: impl Fn(&Cluster) -> bool) {
        let clock = Clock::start();
        while !happened(self) {
            assert!(clock.now() < PATIENCE, "waited in vain for {what}: {:?}, {:?}", self.shown(), self.roster());
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn load(&self, scene: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (client, _end) = self.handle.connect(ClientRole::Admin, true).await.unwrap();
            let command = FromClient::Scene { name: scene.to_owned() };
            assert!(self.handle.ask(client, Parsed { seq: Some(1), command }).await);
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[test]
fn a_node_that_makes_the_world_after_its_tick_still_loads_it() {
    let cluster = Cluster::start();
    cluster.until("the first world", |cluster| cluster.shown().iter().all(|(era, tick)| *era == 1 && *tick > Tick(0)));
    cluster.load("tower");
    let announced = |cluster: &Cluster| match cluster.roster()?.changes[..] {
        [Change::Load { at, era: 2, .. }] => Some(at),
        _ => None,
    };
    cluster.until("the change", |cluster| announced(cluster).is_some());
    let at = announced(&cluster).unwrap();
    // A change that everybody has made is forgotten long before.
    cluster.until("its tick", |cluster| cluster.shown().iter().all(|(_, tick)| *tick > at + 60));
    let mut eras: Vec<u16> = cluster.shown().iter().map(|(era, _)| *era).collect();
    eras.sort_unstable();
    assert_eq!(eras, [1, 2], "one node has no world to load yet");
    assert_eq!(announced(&cluster), Some(at), "and is not forgotten");
    cluster.gate.open();
    cluster.until("the new world everywhere", |cluster| cluster.shown().iter().all(|(era, _)| *era == 2));
    cluster.until("the change to be forgotten", |cluster| {
        cluster.roster().is_some_and(|roster| roster.changes.is_empty())
    });
}

//! What tests of several transports share.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod fake_gateway;

use nimbus_runtime::access::Access;
use nimbus_runtime::{EmbeddedCluster, EmbeddedConfig, Web};
use nimbus_scenes::SceneParams;
use nimbus_sdk::{Connection, Event, Options};
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Long enough for a loaded machine; nothing waits that long when all is well.
const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A world in this process, and a runtime for those who look at it.
pub(crate) struct World {
    pub(crate) cluster: EmbeddedCluster,
    pub(crate) runtime: Runtime,
    pub(crate) bodies: usize,
}

impl World {
    /// A scene without the bodies that it adds later, so that bodies can be counted.
    pub(crate) fn start(scene: &str, servers: u16) -> World {
        let world = nimbus_scenes::build(scene, &SceneParams::on(servers)).unwrap();
        let world = nimbus_model::World { injections: Vec::new(), ..world };
        let bodies = world.owned_bodies().count();
        let cluster = EmbeddedCluster::start(EmbeddedConfig { servers, ..EmbeddedConfig::new(world) }).unwrap();
        World { cluster, runtime: runtime(), bodies }
    }

    pub(crate) fn gateway(&self, port: u16, access: Access) -> (Web, String) {
        let web = Web::listen(HOST, port).unwrap().serve(self.cluster.handle(), access);
        let address = format!("ws://{}/ws", web.address());
        (web, address)
    }

    /// Runs a future that has to end.
    pub(crate) fn run<T>(&self, what: &str, future: impl Future<Output = T>) -> T {
        run(&self.runtime, what, future)
    }

    pub(crate) fn connect(&self, address: &str, options: Options) -> Connection {
        self.run("a connection", Connection::connect(address, options)).unwrap()
    }

    pub(crate) fn stop(self) {
        self.cluster.stop().unwrap();
    }
}

/// A runtime for those who look at a world.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Runs a future that has to end.
pub(crate) fn run<T>(runtime: &Runtime, what: &str, future: impl Future<Output = T>) -> T {
    let limited = async { tokio::time::timeout(PATIENCE, future).await };
    runtime.block_on(limited).unwrap_or_else(|_| panic!("waited in vain for: {what}"))
}

/// Takes events until one is the wanted one.
pub(crate) async fn until(connection: &Connection, mut wanted: impl FnMut(&Event) -> bool) -> Event {
    loop {
        let event = connection.next_event().await.expect("the connection is not over");
        if wanted(&event) {
            return event;
        }
    }
}

/// Takes events until another gateway has let us in and voided what was known. Returns the first of the two.
pub(crate) async fn moved(connection: &Connection) -> Event {
    let connected = until(connection, |event| matches!(event, Event::Connected { .. })).await;
    until(connection, |event| matches!(event, Event::Loaded { .. })).await;
    connected
}

/// Waits until so many bodies are known.
pub(crate) async fn bodies(connection: &Connection, count: usize) {
    while connection.look(|client| client.len()) != count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

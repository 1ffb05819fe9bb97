//! A program that comes to a real cluster over QUIC, and trusts it by its CA.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use nimbus::sdk::{ClientRole, Connection, Event, Options, Trust};
use std::time::Duration;
use support::{Cluster, Free, MARBLES, PATIENCE, Plan, get, is_whole};

const BODIES: usize = 40;

#[test]
fn a_program_comes_to_a_cluster_over_quic() {
    let plan = Plan {
        name: "native-clients",
        world: Some(MARBLES),
        head: String::new(),
        coordinators: 1,
        nodes: 2,
        relayed: false,
        arguments: &[],
    };
    let mut cluster = Cluster::start(&plan, Free::default());
    cluster.until_world("every body", |world| is_whole(world, BODIES as u64));
    let told = get(cluster.http, "/api/quic").expect("the gateway takes QUIC");
    let address = format!("quic://{}:{}", cluster.http.ip(), told["port"]);
    let options = Options { trust: Trust::Ca(cluster.ca()), ..Options::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = async {
        let connection = Connection::connect(&address, options).await.unwrap();
        let connected = connection.next_event().await;
        assert!(matches!(connected, Some(Event::Connected { role: ClientRole::Admin, .. })), "{connected:?}");
        while connection.look(|client| client.len()) < BODIES {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        connection.close().await;
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, seen).await }).expect("every body is seen");
}

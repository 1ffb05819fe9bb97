//! A cluster of real processes with an etcd of its own and two coordinators: whichever is killed, every body lives on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use nimbus::model::Nid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Instant;
use support::{Cluster, Free, MARBLES, Plan, epochs, tick};

/// Bodies of the world; none of them ever leaves it.
const BODIES: usize = 40;

fn is_whole(world: &Value) -> bool {
    support::is_whole(world, BODIES as u64)
}

/// The ids of all bodies, as a client that comes now sees them.
fn ids_of(cluster: &Cluster) -> BTreeSet<Nid> {
    let mut viewer = cluster.viewer();
    viewer.until("every body", |client| client.len() == BODIES);
    viewer.ids()
}

#[test]
fn with_etcd_a_second_coordinator_takes_over() {
    let mut free = Free::default();
    let endpoint = format!("http://{}", free.tcp());
    let plan = Plan {
        name: "etcd",
        world: Some(MARBLES),
        head: format!("[etcd]\nendpoints = [\"{endpoint}\"]\n"),
        coordinators: 2,
        nodes: 3,
        relayed: false,
        arguments: &["--etcd"],
    };
    let mut cluster = Cluster::start(&plan, free);
    let first = cluster.until_world("every body is shown", is_whole);
    assert_eq!(epochs(&first), [1, 1]);
    let ids = ids_of(&cluster);
    let leader = cluster.until_said("Leads { term: 1 }");
    let other = if leader == "coordinator-0" { "coordinator-1" } else { "coordinator-0" };

    // The coordinator that leads. No body notices, and no region changes its server.
    let killed = Instant::now();
    cluster.kill(&leader);
    assert_eq!(cluster.until_said("Leads { term: 2 }"), other);
    println!("{other} leads {} ms after {leader} was killed", killed.elapsed().as_millis());
    let before = tick(&first);
    let second = cluster.until_world("time goes on", |world| tick(world) > before + 120 && is_whole(world));
    assert_eq!(epochs(&second), [1, 1], "nobody took over from a node");
    assert_eq!(ids_of(&cluster), ids);

    // etcd does nothing for a while. Bodies do not notice that either, and then there is a leader again.
    let etcd = ["--listen-client-urls", &endpoint];
    cluster.signal("STOP", &etcd);
    assert!(cluster.until_said("does not answer").starts_with("coordinator-"));
    let before = tick(&second);
    let third = cluster.until_world("time goes on", |world| tick(world) > before + 120 && is_whole(world));
    assert_eq!(epochs(&third), [1, 1]);
    cluster.signal("CONT", &etcd);
    let leader = cluster.until_said("Leads { term: 3 }");
    // A region whose backup lacks something waits for its server.
    cluster.until_protected(other);

    // A node. Whoever leads now has its backup take over.
    let server = cluster.until_said(": serves r1 in epoch 1");
    cluster.kill(&server);
    let before = tick(&third);
    let last = cluster.until_world("its region is served in the next epoch", |world| {
        epochs(world)[1] == 2 && tick(world) > before + 120 && is_whole(world)
    });
    assert_eq!(cluster.until_said("Served { region: RegionId(1), epoch: 2"), leader, "{last}");
    assert_eq!(ids_of(&cluster), ids);
}

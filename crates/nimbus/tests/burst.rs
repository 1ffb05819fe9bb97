//! A world that begins on one node of a real cluster, is shared with idle ones while there is much to do, survives the death of
//! one of them, and is gathered again when there is little.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use serde_json::Value;
use std::time::{Duration, Instant};
use support::{Cluster, Free, MARBLES, Plan};

/// The ids of bodies that two servers have, and how many there are in all.
fn count(cluster: &mut Cluster) -> (usize, usize) {
    let counted = cluster.until("a count of all bodies", |cluster| cluster.count(&cluster.roster()?));
    (counted.doubled.len(), counted.present.len())
}

/// Regions with a place, by the roster.
fn places(roster: &Value) -> usize {
    let tree = roster["map"]["tree"].as_array().unwrap();
    tree.iter().filter(|piece| piece["leaf"].is_object()).count()
}

/// Regions that own bodies.
fn busy(world: &Value) -> usize {
    world["nodes"].as_array().unwrap().iter().filter(|node| node["bodies"].as_u64().unwrap() > 0).count()
}

/// Budgets of a tick, milliseconds. How dear the world is depends on the machine: on a fast one two servers hold it within a
/// budget at which a slow one needs all three, and which it is back within once all lies still.
const BUDGETS_MS: [u32; 3] = [3, 2, 1];
/// So long after the marbles were let go they are as dear as they will be.
const DEAR: Duration = Duration::from_secs(15);

/// A world that begins on one server and is shared by three; none if two hold it within this budget.
fn shared_by_three(budget_ms: u32) -> Option<Cluster> {
    let world = MARBLES.replace("count = 2", "count = 1").replace("[10, 1, 4]", "[60, 1, 40]");
    // They come to rest after some twenty seconds.
    let world = world.replace("velocity = [2.0", "linear_damping = 0.15\nvelocity = [2.0");
    let head = format!("regions = 1\nspare = 2\nbalance = true\nbudget_ms = {budget_ms}\n");
    let (coordinators, nodes, relayed) = (1, 3, false);
    let plan = Plan { name: "burst", world: Some(&world), head, coordinators, nodes, relayed, arguments: &[] };
    let mut cluster = Cluster::start(&plan, Free::default());
    let begun = cluster.until_world("the world on one server", |world| world["bodies"] == 2_400);
    assert_eq!((begun["nodes"].as_array().unwrap().len(), busy(&begun)), (3, 1), "{begun}");
    let until = Instant::now() + DEAR;
    let world = cluster.until_world("idle servers to help", |world| busy(world) == 3 || Instant::now() > until);
    (busy(&world) == 3).then_some(cluster)
}

#[test]
fn a_burst_is_shared_by_idle_nodes_and_gathered_again() {
    let shared = BUDGETS_MS.into_iter().find_map(shared_by_three);
    let mut cluster = shared.expect("a world that is too dear for two servers is shared by three");
    cluster.until_protected("coordinator-0");
    assert_eq!(count(&mut cluster), (0, 2_400));
    let helper = cluster.server_of("r1");
    cluster.kill(&helper);
    cluster.until("its backup to take over", |cluster| {
        let roster = cluster.roster()?;
        let region = &roster["regions"]["1"];
        (region["epoch"].as_u64()? >= 2 && region["protected"] == true).then_some(())
    });
    assert_eq!(count(&mut cluster), (0, 2_400), "nothing is lost, nothing doubled");
    cluster.until("the others to be idle again", |cluster| (places(&cluster.roster()?) == 1).then_some(()));
    cluster.until_world("one server to have it all", |world| world["bodies"] == 2_400 && busy(world) == 1);
    assert_eq!(count(&mut cluster), (0, 2_400));
}

//! A cluster of real processes over real sockets: it comes up, and nothing is lost when one of them is killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use support::{Cluster, Free, MARBLES, Plan, epochs, is_whole, page, server, tick};

/// Bodies of the world; none of them ever leaves it.
const BODIES: u64 = 40;

#[test]
fn a_killed_server_is_replaced_and_every_body_is_there() {
    let plan = Plan {
        name: "cluster",
        world: Some(MARBLES),
        head: String::new(),
        coordinators: 1,
        nodes: 3,
        relayed: false,
        arguments: &[],
    };
    let mut cluster = Cluster::start(&plan, Free::default());
    let first = cluster.until_world("every body is shown", |world| is_whole(world, BODIES));
    assert_eq!(epochs(&first), [1, 1]);
    // Long enough for the backups to have everything, and for balls to cross.
    let crossed = cluster.until_world("balls have crossed the seam", |world| {
        world["nodes"][1]["migrations"].as_u64().is_some_and(|arrived| arrived >= 4)
    });
    let victim = cluster.server_of("r1");
    cluster.kill(&victim);
    let after = tick(&crossed);
    let replaced = cluster.until_world("its region is served in the next epoch", |world| {
        epochs(world) == [1, 2] && tick(world) > after + 120 && is_whole(world, BODIES)
    });
    // The other one, too, by now perhaps served by the same process.
    let victim = cluster.server_of("r0");
    cluster.kill(&victim);
    let after = tick(&replaced);
    cluster.until_world("both regions have had another server", |world| {
        let [zero, one] = epochs(world)[..] else { return false };
        zero == 2 && one >= 2 && tick(world) > after + 120 && is_whole(world, BODIES)
    });
    is_told_when_nobody_has_a_region(&mut cluster);
}

/// Kills a server and its backup at once, and looks at what watches clusters look at.
fn is_told_when_nobody_has_a_region(cluster: &mut Cluster) {
    let well = |cluster: &Cluster| page(cluster.http, "/healthz").map(|(is_well, _)| is_well);
    let up = |cluster: &Cluster, region: u32| {
        let (_, figures) = page(cluster.http, "/metrics")?;
        let line = format!("nimbus_node_up{{node=\"{region}\"}} ");
        figures.lines().find_map(|figure| Some(figure.strip_prefix(&line)? == "1"))
    };
    let roster = cluster.until_protected("coordinator-0");
    cluster.until("all to be well", |cluster| (well(cluster)? && up(cluster, 0)? && up(cluster, 1)?).then_some(()));
    let (first, _) = server(&roster, 1);
    let backup = roster["regions"]["1"]["backup"]["process"].as_u64().unwrap();
    let second = roster["processes"][backup.to_string()]["name"].as_str().unwrap();
    cluster.kill(&first);
    cluster.kill(second);
    cluster.until("the gateway to tell", |cluster| (!well(cluster)? && !up(cluster, 1)?).then_some(()));
}

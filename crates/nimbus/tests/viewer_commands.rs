//! The viewer of a cluster works as in the demo: it pauses, steps, slows down, resets and changes the world on every
//! process at one tick, and nothing of that is forgotten by whoever takes over from a process that is killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use nimbus::scenes::{self, SceneParams};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use support::{Cluster, Count, Free, Plan, Viewer, epochs, page, tick};

const PARAMS: SceneParams = SceneParams { servers: 2, seed: 3, scale: 0.2 };

fn plan() -> Plan<'static> {
    let SceneParams { servers, seed, scale } = PARAMS;
    let head = format!("scene = \"wall\"\nregions = {servers}\nseed = {seed}\nscale = {scale}\n");
    Plan { name: "viewer", world: None, head, coordinators: 1, nodes: 3, relayed: false, arguments: &[] }
}

/// The ids of all bodies of a scene that was the world of an era.
fn ids_of(scene: &str, era: u16) -> BTreeSet<u64> {
    let world = scenes::build(scene, &PARAMS).unwrap();
    world.owned_bodies().map(|(i, _)| nimbus::model::World::nid(era, i).0).collect()
}

impl Viewer {
    fn until_sees(&mut self, scene: &str, era: u16) {
        let ids = ids_of(scene, era);
        self.until("all bodies of the world", |client| {
            client.bodies().map(|body| body.nid.0).collect::<BTreeSet<u64>>() == ids
        });
    }
}

/// Waits until every server runs this world, and every one of its bodies is there once.
fn until_runs(cluster: &mut Cluster, scene: &str, era: u16) -> Value {
    let roster = cluster.until("the world to be in force", |cluster| {
        let roster = cluster.roster()?;
        let settled = roster["changes"].as_array()?.is_empty() && roster["era"] == era;
        (settled && roster["world"] == scene).then_some(roster)
    });
    let count = cluster.until("a count", |cluster| cluster.count(&cluster.roster()?));
    assert_eq!(count, Count { present: ids_of(scene, era), doubled: BTreeSet::new() }, "{scene}");
    roster
}

#[test]
fn a_viewer_commands_the_clock_and_the_world_of_a_cluster() {
    let mut cluster = Cluster::start(&plan(), Free::default());
    until_runs(&mut cluster, "wall", 1);
    let mut viewer = cluster.viewer();
    viewer.until_sees("wall", 1);

    // Another world, at the same tick everywhere; and one at a time.
    viewer.command(json!({ "type": "scene", "name": "tower" })).unwrap();
    let refused = viewer.command(json!({ "type": "reset" })).unwrap_err();
    assert!(refused.contains("wait a moment"), "{refused}");
    viewer.until_sees("tower", 2);
    until_runs(&mut cluster, "tower", 2);
    assert!(viewer.command(json!({ "type": "scene", "name": "nowhere" })).unwrap_err().contains("no scene"));

    // Time stands still: nobody gets any further, and everybody is at the same tick.
    assert!(viewer.command(json!({ "type": "step", "ticks": 1 })).unwrap_err().contains("pause it"));
    viewer.command(json!({ "type": "pause", "paused": true })).unwrap();
    let ticks = |world: &Value| -> Vec<u64> {
        world["nodes"].as_array().unwrap().iter().map(|node| node["tick"].as_u64().unwrap()).collect()
    };
    let paused = cluster.until_world("everybody to stand still", |world| {
        let still = ticks(world);
        world["paused"] == true && still[0] == still[1] && world["tick"] == still[0]
    });
    std::thread::sleep(Duration::from_millis(400));
    let later = cluster.until_world("figures", |_| true);
    assert_eq!(ticks(&later), ticks(&paused));
    viewer.command(json!({ "type": "step", "ticks": 5 })).unwrap();
    let after = tick(&paused) + 5;
    cluster.until_world("five ticks more", |world| ticks(world) == [after, after]);

    // A server dies meanwhile. Whoever takes over stands still as well, and is protected again.
    cluster.until_protected("coordinator-0");
    let victim = cluster.server_of("r1");
    cluster.kill(&victim);
    cluster.until_world("its region to be served by another", |world| epochs(world)[1] == 2);
    cluster.until_protected("coordinator-0");
    let still = cluster.until_world("figures", |_| true);
    assert_eq!((ticks(&still), &still["paused"]), (vec![after, after], &json!(true)));
    // By now time has stood still for longer than a server may be silent.
    cluster.until("all to be well", |cluster| page(cluster.http, "/healthz").filter(|(is_well, _)| *is_well));

    // The world begins anew while time stands still, in slow motion from then on.
    viewer.command(json!({ "type": "reset" })).unwrap();
    viewer.until_sees("tower", 3);
    until_runs(&mut cluster, "tower", 3);
    viewer.command(json!({ "type": "speed", "factor": 0.5 })).unwrap();
    viewer.command(json!({ "type": "pause", "paused": false })).unwrap();
    let running = cluster.until_world("time to go on", |world| world["paused"] == false && tick(world) > after + 30);
    assert_eq!(running["speed"], 0.5, "{running}");

    // Another server dies just when a world is to be loaded: it takes over before, and loads it, too.
    cluster.until_protected("coordinator-0");
    viewer.command(json!({ "type": "speed", "factor": 1.0 })).unwrap();
    viewer.command(json!({ "type": "scene", "name": "wall" })).unwrap();
    let victim = cluster.server_of("r0");
    cluster.kill(&victim);
    viewer.until_sees("wall", 4);
    until_runs(&mut cluster, "wall", 4);

    // A gateway that starts now shows the world that runs, not that of the file.
    cluster.kill("gateway-0");
    let shown = cluster.until_world("it to be back", |world| world["clients"] == 0 && world["bodies"] != 0);
    assert_eq!((&shown["scene"], &shown["era"]), (&json!("wall"), &json!(4)), "{shown}");
    let mut viewer = cluster.viewer();
    viewer.until_sees("wall", 4);
}

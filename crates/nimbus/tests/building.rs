//! Builders of a cluster of processes put statics in and draw regions: on every process at one tick, and nothing of it is
//! forgotten when a node or the gateway is killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use nimbus::model::{Nid, Placed, Vec3};
use serde_json::{Value, json};
use support::{Cluster, Free, MARBLES, Plan, Viewer, epochs};

fn placed(client: &nimbus::client::Client) -> Vec<Nid> {
    client.statics().iter().map(|known| known.nid).filter(|nid| Placed::may_name(*nid)).collect()
}

/// Spawns a ball above a place and waits until it rests at this height.
fn rests(viewer: &mut Viewer, at: [f32; 3], height: f32) {
    let before = viewer.ids();
    let shape = json!({ "ball": { "radius": 0.3 } });
    viewer.command(json!({ "type": "spawn", "shape": shape, "position": at, "velocity": [0, 0, 0] })).unwrap();
    viewer.until("a ball to rest", |client| {
        let new = client.bodies().filter(|body| !before.contains(&body.nid));
        let place =
            new.map(|body| body.pose.position).find(|place| (*place - Vec3::from(at)).with_y(0.0).length() < 3.0);
        place.is_some_and(|place| (place.y - height).abs() < 0.02)
    });
}

#[test]
fn what_is_built_in_a_cluster_outlives_its_processes() {
    let plan = Plan {
        name: "building",
        world: Some(MARBLES),
        head: String::new(),
        coordinators: 1,
        nodes: 3,
        relayed: false,
        arguments: &[],
    };
    let mut cluster = Cluster::start(&plan, Free::default());
    cluster.until_world("every body is shown", |world| world["bodies"] == 40);
    cluster.until_protected("coordinator-0");
    let mut viewer = cluster.viewer();
    viewer.until("bodies and regions", |client| client.len() == 40 && client.map().len() == 2);

    let slab = json!({ "cuboid": { "half": [3, 0.5, 3] } });
    for x in [-150, 150] {
        viewer.command(json!({ "type": "static", "shape": slab, "position": [x, 10, 0] })).unwrap();
        viewer.until("the static", |client| placed(client).len() == if x < 0 { 1 } else { 2 });
    }
    rests(&mut viewer, [-150.0, 11.5, 0.0], 10.8);
    rests(&mut viewer, [150.0, 11.5, 0.0], 10.8);
    let far = json!({ "type": "static", "shape": slab, "position": [5000, 0, 0] });
    assert!(viewer.command(far).unwrap_err().contains("outside the world"));

    // A node dies: whoever takes over has both.
    cluster.until("the roster to have them", |cluster| {
        let roster = cluster.roster()?;
        let there = roster["placed"]["statics"].as_array()?.len() == 2 && roster["changes"].as_array()?.is_empty();
        there.then_some(())
    });
    cluster.until_protected("coordinator-0");
    let victim = cluster.server_of("r1");
    cluster.kill(&victim);
    cluster.until_world("its region to be served by another", |world| epochs(world)[1] == 2);
    rests(&mut viewer, [151.5, 11.5, 0.0], 10.8);

    // The gateway dies: the next one shows both, and takes one out.
    cluster.kill("gateway-0");
    cluster.until_world("another gateway shows the world", |world| world["bodies"].as_u64() >= Some(43));
    let mut viewer = cluster.viewer();
    viewer.until("statics", |client| placed(client).len() == 2);
    let first = placed(&viewer.client)[0];
    viewer.command(json!({ "type": "despawn", "nid": first.to_string() })).unwrap();
    viewer.until("one static less", |client| placed(client).len() == 1);
    assert!(viewer.command(json!({ "type": "despawn", "nid": first.to_string() })).unwrap_err().contains("no static"));
    rests(&mut viewer, [-148.5, 11.5, 0.0], 0.3);

    // Regions: the seam moves to x = 60, and what cannot be is refused.
    let halves = |at: f32| -> Value {
        json!([
            { "region": 0, "min": [null, null, null], "max": [at, null, null] },
            { "region": 1, "min": [at, null, null], "max": [null, null, null] }
        ])
    };
    viewer.command(json!({ "type": "regions", "boxes": halves(60.0), "rest": 0 })).unwrap();
    viewer.until("the seam at 60 m", |client| {
        client.map().values().flatten().any(|bounds| bounds.max.x == 60.0) && client.map().len() == 2
    });
    let lost = json!({ "type": "regions", "boxes": [], "rest": 0 });
    assert!(viewer.command(lost).unwrap_err().contains("no place any more"));
    let nobody = json!([{ "region": 7, "min": [0, null, 0], "max": [200, null, 200] }]);
    let nobody = json!([nobody[0], halves(60.0)[0], halves(60.0)[1]]);
    let refused = viewer.command(json!({ "type": "regions", "boxes": nobody, "rest": 0 })).unwrap_err();
    assert!(refused.contains("no server for region 7"), "{refused}");
    let narrow = json!([{ "region": 0, "min": [61, null, 0], "max": [62, null, 200] }]);
    let narrow = json!([narrow[0], halves(60.0)[0], halves(60.0)[1]]);
    let refused = viewer.command(json!({ "type": "regions", "boxes": narrow, "rest": 0 })).unwrap_err();
    assert!(refused.contains("must be at least"), "{refused}");
}

//! Touches that a client of a real cluster hears of: each once, although bodies change servers and a server is killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use nimbus::client::{Client, TouchNews};
use nimbus::model::{Nid, RegionId};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Instant;
use support::{Cluster, Free, MARBLES, PATIENCE, Plan, Viewer, is_whole};

const BALLS: u64 = 40;
/// Lets a ball of the marbles fly for more than half a second, N s.
const HOP: [f32; 3] = [0.0, 900.0, 0.0];

/// What a client heard of each pair, in order.
#[derive(Default)]
struct Heard(BTreeMap<(Nid, Nid), Vec<TouchNews>>);

impl Heard {
    fn take(&mut self, viewer: &mut Viewer) {
        let (touches, left_out) = viewer.client.take_touches();
        assert_eq!(left_out, 0);
        for touch in touches {
            self.0.entry((touch.one, touch.two)).or_default().push(touch);
        }
    }

    /// How often a ball has come down, on whatever.
    fn landings(&self, ball: Nid) -> usize {
        let own = self.0.iter().filter(|((one, two), _)| *one == ball || *two == ball);
        own.flat_map(|(_, told)| told).filter(|touch| touch.began).count()
    }

    /// Beginnings and ends of every pair take turns, and time does not run backwards.
    fn check(&self) {
        for (pair, told) in &self.0 {
            let turns = told.windows(2).all(|two| two[0].began != two[1].began && two[0].tick <= two[1].tick);
            assert!(turns, "{pair:?}: {told:?}");
        }
    }
}

/// Lets every ball hop, and waits until all have come down again.
fn hop(viewer: &mut Viewer, heard: &mut Heard) {
    let balls: Vec<Nid> = viewer.ids().into_iter().collect();
    let before: BTreeMap<Nid, usize> = balls.iter().map(|ball| (*ball, heard.landings(*ball))).collect();
    for ball in &balls {
        viewer.command(json!({"type": "impulse", "nid": ball.to_string(), "impulse": HOP})).unwrap();
    }
    let end = Instant::now() + PATIENCE;
    while balls.iter().any(|ball| heard.landings(*ball) == before[ball]) {
        assert!(Instant::now() < end, "some have not come down");
        viewer.take();
        heard.take(viewer);
    }
}

#[test]
fn touches_are_heard_once_across_seams_and_crashes() {
    let plan = Plan {
        name: "touches",
        world: Some(MARBLES),
        head: String::new(),
        coordinators: 1,
        nodes: 3,
        relayed: false,
        arguments: &[],
    };
    let mut cluster = Cluster::start(&plan, Free::default());
    cluster.until_world("every body", |world| is_whole(world, BALLS));
    cluster.until_protected("coordinator-0");
    let mut viewer = cluster.viewer();
    viewer.until("every body", |client| client.len() as u64 == BALLS);
    viewer.command(json!({"type": "touches", "of": "everything"})).unwrap();
    let mut heard = Heard::default();
    hop(&mut viewer, &mut heard);
    let of_first = |client: &Client| client.bodies().filter(|body| body.region == RegionId(0)).count();
    let before = of_first(&viewer.client);
    viewer.until("a ball crosses the seam", |client| of_first(client) != before);
    let victim = cluster.server_of("r0");
    cluster.kill(&victim);
    cluster.until_protected("coordinator-0");
    hop(&mut viewer, &mut heard);
    hop(&mut viewer, &mut heard);
    heard.check();
    let events: usize = heard.0.values().map(Vec::len).sum();
    println!("{events} touches of {} pairs", heard.0.len());
    assert!(events >= 6 * BALLS as usize, "three hops each: {events}");
}

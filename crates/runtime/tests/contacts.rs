//! Who embeds a world hears what touches what, the same from four servers as from one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use nimbus_model::{BodyDesc, Layout, Nid, Pose, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::{Contact, ContactKind};
use nimbus_runtime::pace::{LockStep, Pace};
use nimbus_runtime::{Servers, ServersConfig};
use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;

/// A ball rolls along a row of four regions and brushes a light one aside in each.
fn row(servers: u16) -> World {
    let mut world = World::new("row");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(servers, 200.0 / f32::from(servers));
    let heavy = BodyDesc { density: 8_000.0, ..BodyDesc::dynamic(Shape::ball(1.0)) };
    let velocity = Velocity { linear: Vec3::X * 25.0, angular: Vec3::ZERO };
    world.add(heavy, Pose::at(Vec3::X * -95.0), velocity);
    for x in [-70.0, -20.0, 30.0, 80.0] {
        let light = BodyDesc { density: 10.0, ..BodyDesc::dynamic(Shape::ball(0.5)) };
        world.add(light, Pose::at(Vec3::new(x, 0.0, 1.2)), Velocity::ZERO);
    }
    world
}

fn contacts(servers: u16, room: usize) -> (Vec<Contact>, u64) {
    let (sender, receiver) = sync_channel(room);
    let config = ServersConfig { contacts: Some(sender), ..ServersConfig::new(row(servers)) };
    let pace = |count| Pace::LockStep(LockStep::new(count, Tick(0), Tick(480)));
    let (running, ..) = Servers::start(config, pace).unwrap();
    let gauges = running.gauges().to_vec();
    let end = running.join().unwrap();
    assert_eq!(end.died, []);
    let mut all: Vec<Contact> = receiver.try_iter().flat_map(|(_, tick)| tick.contacts).collect();
    all.sort_unstable();
    (all, gauges.iter().map(|gauge| gauge.read().contacts_dropped).sum())
}

#[test]
fn four_servers_tell_what_one_tells() {
    let (one, _) = contacts(1, 4096);
    let (four, dropped) = contacts(4, 4096);
    assert_eq!(dropped, 0);
    assert_eq!(one.iter().filter(|contact| contact.kind == ContactKind::Began).count(), 4, "{one:?}");
    assert_eq!(four, one);
    let mut touching: BTreeMap<(Nid, Nid), bool> = BTreeMap::new();
    for Contact { one, two, kind, .. } in four {
        let before = touching.insert((one, two), kind == ContactKind::Began);
        assert_ne!(before, Some(kind == ContactKind::Began), "{one} and {two} take turns");
    }
}

#[test]
fn nobody_waits_for_who_does_not_listen() {
    let (taken, dropped) = contacts(1, 1);
    assert!(taken.len() <= 2 && dropped >= 4, "{} taken, {dropped} dropped", taken.len());
}

//! What servers write down: ticks, snapshots and maps.

use nimbus_model::{BodyDesc, Layout, Mixer, Placed, Pose, RegionId, Rng, Shape, Tick, Vec3, Velocity, World, coding};
use nimbus_node::{Change, Factor, Input, LegTimes, Node, NodeConfig, Part, TickLog};
use nimbus_physics::PhysicsWorld;
use nimbus_space::PartitionMap;
use nimbus_wire::{Address, Item};
use std::sync::{Arc, LazyLock};

use super::parts::{desc, motion, nid, pose, region, several, tick};
use crate::Verdict;

pub(super) fn tick_log(bytes: &[u8]) -> Verdict {
    Verdict::of(TickLog::decode(bytes).is_some())
}

pub(super) fn map(bytes: &[u8]) -> Verdict {
    let map = coding::read::<PartitionMap>(bytes);
    assert!(map.as_ref().is_ok_and(|map| map.validate().is_ok()) || map.is_err(), "a map that is not valid was read");
    Verdict::of(map.is_ok())
}

pub(super) fn part(bytes: &[u8]) -> Verdict {
    Verdict::of(Part::decode(RegionId(0), bytes).is_ok())
}

/// Snapshots get the name of their form and a true checksum in front, as a forger would write them.
fn sealed(name: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut mixer = Mixer::new();
    mixer.bytes(bytes);
    [name, &mixer.finish().to_le_bytes(), bytes].concat()
}

pub(super) fn node(bytes: &[u8]) -> Verdict {
    static NAME: LazyLock<Vec<u8>> = LazyLock::new(|| some_node(&mut Rng::new(1)).snapshot()[..8].to_vec());
    Verdict::of(Node::restore(&sealed(&NAME, bytes)).is_ok())
}

pub(super) fn physics(bytes: &[u8]) -> Verdict {
    static NAME: LazyLock<Vec<u8>> =
        LazyLock::new(|| PhysicsWorld::new(&World::new("empty"), 1).snapshot()[..8].to_vec());
    Verdict::of(PhysicsWorld::restore(&sealed(&NAME, bytes)).is_ok())
}

pub(super) fn some_map(rng: &mut Rng) -> PartitionMap {
    let most = if rng.below(64) == 0 { 1_000 } else { 6 };
    let count = 1 + rng.below(most) as u16;
    PartitionMap::from_layout(&Layout::columns(count, 10.0)).unwrap_or_else(|error| unreachable!("{error}"))
}

pub(super) fn make_map(rng: &mut Rng) -> Vec<u8> {
    coding::write(&some_map(rng))
}

pub(super) fn some_world(rng: &mut Rng) -> World {
    let mut world = World::new("fuzz");
    world.layout = Layout::columns(2, 100.0);
    world.add(BodyDesc::fixed(Shape::Cuboid { half: Vec3::new(50.0, 1.0, 50.0) }), Pose::IDENTITY, Velocity::ZERO);
    for i in 0..2 + rng.below(4) {
        let place = Pose::at(Vec3::new(-2.0 - i as f32, 2.0, 0.0));
        world.add(BodyDesc::dynamic(Shape::ball(0.5)), place, Velocity::ZERO);
    }
    world
}

pub(super) fn some_placed(rng: &mut Rng) -> Placed {
    let world = World::new("placed");
    (0..rng.below(3)).fold(Placed::default(), |placed, _| {
        let slab = BodyDesc::fixed(Shape::cuboid(1.0, 0.5, 1.0));
        placed.with(&world, 1, slab, pose(rng)).map_or(placed, |(next, _)| next)
    })
}

pub(super) fn some_log(rng: &mut Rng) -> TickLog {
    let inputs = several(rng, 6, |rng| match rng.below(8) {
        0 => Input::Ack { from: Address::Region(region(rng)), upto: rng.below(99) },
        1 => Input::Measured { factor: Factor::Latency, value: 9.5 },
        6 => Input::Times(LegTimes { compute_ms: 3.5, skew_ms: f32::NAN, commit_ms: f32::INFINITY }),
        2 => Input::Force { nids: several(rng, 9, nid), to: region(rng) },
        3 => Input::Change(Change::Map(some_map(rng))),
        5 => Input::Announced(Change::Statics { at: tick(rng), era: 1, placed: Arc::new(some_placed(rng)) }),
        4 => {
            let world = some_world(rng);
            Input::Change(Change::Load { at: tick(rng), era: 2, world: Arc::new(world), map: some_map(rng) })
        }
        _ => Input::Item {
            from: Address::Region(region(rng)),
            sequence: rng.below(99),
            said: tick(rng),
            item: Item::Hosted { nid: nid(rng), body_epoch: 1, desc: Arc::new(desc(rng)), motion: motion(rng) },
        },
    });
    TickLog { tick: tick(rng), inputs }
}

pub(super) fn make_tick_log(rng: &mut Rng) -> Vec<u8> {
    some_log(rng).encode()
}

fn some_node(rng: &mut Rng) -> Node {
    let world = some_world(rng);
    let map = PartitionMap::from_layout(&world.layout).unwrap_or_else(|error| unreachable!("{error}"));
    let mut node = Node::new(NodeConfig::new(RegionId(0)), Arc::new(world), 1, map, Tick(0));
    (1..=3).for_each(|now| node.tick(Tick(now)));
    node
}

pub(super) fn make_node(rng: &mut Rng) -> Vec<u8> {
    some_node(rng).snapshot()[coding::SEAL_LEN..].to_vec()
}

pub(super) fn make_part(rng: &mut Rng) -> Vec<u8> {
    let node = some_node(rng);
    node.contribution(node.whole_draft()).into_part().encode()
}

pub(super) fn make_physics(rng: &mut Rng) -> Vec<u8> {
    some_node(rng).physics().snapshot()[coding::SEAL_LEN..].to_vec()
}

//! How bodies change server, seen from outside.

mod pair;

use nimbus_model::{Aabb, Choice, Injection, JointDesc, JointKind, Rng, ScriptedPush, Tick, Vec3, World};
use nimbus_node::{Cause, Change, EventKind, Node, Policy};
use nimbus_space::PartitionMap;
use pair::{LEFT, Pair, RIGHT, add_ball, empty_world};

#[test]
fn a_body_changes_server_when_its_box_has_left() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -1.0, 6.0);
    let mut pair = Pair::new(world, |_| {});
    // 0.1 m a tick: the box still touches the left volume after 14 ticks and has left it after 16.
    pair.run(14);
    assert_eq!(pair.hosts(nid), [true, false]);
    pair.run(4);
    assert_eq!(pair.hosts(nid), [false, true]);
    let motion = pair.nodes[RIGHT].motion(nid).unwrap();
    assert_eq!(motion.velocity.linear, Vec3::new(6.0, 0.0, 0.0), "speed is kept across the seam");
    assert_eq!(pair.nodes[LEFT].in_flight().count(), 0, "acknowledged and forgotten");
    assert_eq!(pair.nodes[RIGHT].hosted().next(), Some((nid, 2)), "a change of owner raises the epoch by one");
}

#[test]
fn nothing_is_lost_or_doubled_whatever_the_network_does() {
    for seed in 0..20 {
        let mut world = empty_world();
        let mut rng = Rng::new(seed);
        let nids: Vec<_> = (0..10)
            .map(|i| {
                let index = world.add(
                    pair::ball(),
                    nimbus_model::Pose::at(Vec3::new(rng.between(-4.0, 4.0), 0.0, 3.0 * i as f32)),
                    nimbus_model::Velocity::linear(Vec3::new(rng.between(-9.0, 9.0), 0.0, 0.0)),
                );
                nimbus_model::World::nid(1, index)
            })
            .collect();
        let mut pair = Pair::new(world, |_| {});
        for _ in 0..120 {
            pair.tick_with(|_| [0, 0, 1, 1, 2][rng.below(5) as usize]);
        }
        pair.run(30);
        for nid in nids {
            let hosts = pair.hosts(nid);
            assert!(hosts[LEFT] != hosts[RIGHT], "seed {seed}: {nid} is hosted by {hosts:?}");
        }
    }
}

#[test]
fn jointed_bodies_move_as_one() {
    let mut world = empty_world();
    let first = add_ball(&mut world, -3.0, 6.0);
    let second = add_ball(&mut world, -1.5, 6.0);
    let rope = JointKind::Rope { length: 1.5 };
    world.join(0, 1, JointDesc::new(rope, Vec3::ZERO, Vec3::ZERO));
    let mut pair = Pair::new(world, |_| {});
    let mut moved_at = [None; 2];
    for tick in 0..80 {
        pair.run(1);
        for (i, nid) in [first, second].into_iter().enumerate() {
            if moved_at[i].is_none() && pair.hosts(nid)[RIGHT] {
                moved_at[i] = Some(tick);
            }
        }
    }
    assert!(moved_at[0].is_some());
    assert_eq!(moved_at[0], moved_at[1], "both arrive at the same tick");
    assert_eq!(pair.nodes[RIGHT].physics().linkage(first), vec![first, second], "and are still joined");
}

#[test]
fn a_full_server_gives_the_body_back_and_it_stays_whole() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -1.0, 6.0);
    let mut pair = Pair::new(world, |config| config.bodies_max = if config.region.0 == 1 { 0 } else { 10 });
    pair.run(20);
    let events = pair.nodes[RIGHT].take_events();
    assert!(events.iter().any(|e| matches!(e.kind, EventKind::Refused(..))), "{events:?}");
    assert_eq!(pair.hosts(nid), [true, false]);
    let (_, epoch) = pair.nodes[LEFT].hosted().next().unwrap();
    assert_eq!(epoch, 3, "given away at 2, owned again at 3");
    assert_eq!(pair.nodes[LEFT].counters().returned, 1);
    assert_eq!(pair.nodes[RIGHT].counters().refused, 1);
}

#[test]
fn a_silent_neighbour_gets_nothing_more() {
    let mut world = empty_world();
    let nids: Vec<_> = (0..5).map(|i| add_ball(&mut world, -1.0 - 3.0 * i as f32, 6.0)).collect();
    let mut pair = Pair::new(world, |_| {});
    for _ in 0..200 {
        pair.tick_with(|_| 0);
    }
    assert_eq!(pair.nodes[LEFT].in_flight().count(), 1, "one is on its way, the others stay");
    assert_eq!(nids.iter().filter(|nid| pair.hosts(**nid)[LEFT]).count(), 4);
    pair.run(60);
    assert!(nids.iter().all(|nid| pair.hosts(*nid) == [false, true]), "all go once the neighbour answers");
}

#[test]
fn fire_and_forget_loses_what_the_network_loses() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -1.0, 6.0);
    let mut pair = Pair::new(world, |config| config.policy = Policy::Forgetful);
    for _ in 0..30 {
        pair.tick_with(|_| 0);
    }
    pair.run(30);
    assert_eq!(pair.hosts(nid), [false, false]);
}

#[test]
fn snapshot_and_log_give_the_same_bits_again() {
    let mut world = empty_world();
    for i in 0..6 {
        add_ball(&mut world, -1.0 - 2.0 * i as f32, 3.0 + i as f32);
    }
    let mut pair = Pair::new(world, |_| {});
    pair.run(30);
    let before: Vec<Vec<u8>> = pair.nodes.iter().map(Node::snapshot).collect();
    pair.nodes.iter_mut().for_each(|node| drop(node.take_log()));
    pair.run(60);
    for (snapshot, node) in before.iter().zip(&mut pair.nodes) {
        let mut again = Node::restore(snapshot).unwrap();
        for entry in node.take_log() {
            again.replay(&entry);
        }
        assert_eq!(again.state_hash(), node.state_hash());
        assert_eq!(again.hosted().collect::<Vec<_>>(), node.hosted().collect::<Vec<_>>());
    }
    assert!(Node::restore(&before[0][..before[0].len() / 2]).is_err());
}

#[test]
fn a_body_that_nobody_may_take_stays_with_its_owner() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -5.0, 200.0);
    world.tolerances.speed = 10.0;
    assert!(world.speed_max() < 200.0);
    let mut pair = Pair::new(world, |_| {});
    pair.run(12);
    assert!(pair.nodes[RIGHT].counters().refused > 0, "it is faster than a server may take");
    assert_eq!(pair.hosts(nid), [true, false], "and so it stays, alive");
    assert_eq!(pair.nodes[LEFT].in_flight().count(), 0);
}

#[test]
fn a_scripted_push_is_given_once_also_on_the_tick_of_arrival() {
    // The same flight with a push at every possible tick: each ends with the same speed.
    for tick in 10..30 {
        let mut world = empty_world();
        let nid = add_ball(&mut world, -1.0, 6.0);
        let up = Vec3::new(0.0, 1.0, 0.0);
        world.script = vec![ScriptedPush { tick: Tick(tick), body: 0, linear: up, angular: Vec3::ZERO }];
        let mut pair = Pair::new(world, |_| {});
        for t in 1..=40 {
            // Frames are late now and then, so that the body is on its way for several ticks.
            pair.tick_with(|_| usize::from(t % 3 == 0));
        }
        let motion = pair.nodes[RIGHT].motion(nid).expect("it has arrived");
        assert_eq!(motion.velocity.linear, Vec3::new(6.0, 1.0, 0.0), "pushed at tick {tick}");
    }
}

/// Bodies appear on both sides of the seam, four with every tick.
fn drizzle() -> World {
    let mut world = empty_world();
    world.injections.push(Injection {
        volume: Aabb::new(Vec3::new(-9.0, 0.0, -50.0), Vec3::new(9.0, 5.0, 50.0)),
        per_second: 240.0,
        start: Tick(0),
        count: 10_000,
        velocity_min: Vec3::ZERO,
        velocity_max: Vec3::ZERO,
        turned: false,
        choices: vec![Choice { weight: 1, body: pair::ball() }],
    });
    world
}

/// The first partition with its cut elsewhere, from a tick on.
fn moved_cut(world: &World, at: f32, from: Tick) -> PartitionMap {
    let map = PartitionMap::from_layout(&world.layout).expect("the layout is good");
    let cut = map.cuts().next().expect("two regions have a cut between them").index;
    map.move_cut(cut, at, 1.0, from).expect("there is room")
}

/// Everybody who should have been born was, once. How many each server bore.
fn assert_born_once(pair: &mut Pair, ticks: usize) -> [usize; 2] {
    let mut born: Vec<_> = pair.nodes.iter_mut().flat_map(Node::take_events).collect();
    born.retain(|event| event.kind == EventKind::Born);
    let mut ids: Vec<_> = born.iter().map(|event| event.nid).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), born.len(), "nobody is born twice");
    assert_eq!(ids.len(), 4 * ticks, "and nobody is missing");
    [0, 1].map(|region| born.iter().filter(|event| event.region.0 == region).count())
}

#[test]
fn bodies_injected_while_ticks_are_skipped_and_a_boundary_moves_are_born_once() {
    let world = drizzle();
    let moved = moved_cut(&world, 5.0, Tick(20));
    let mut pair = Pair::new(world, |_| {});
    for node in &mut pair.nodes {
        assert!(node.schedule(Change::Map(moved.clone())));
    }
    pair.nodes[LEFT].tick(Tick(10));
    pair.nodes[LEFT].tick(Tick(30));
    for tick in 1..=30 {
        pair.nodes[RIGHT].tick(Tick(tick));
    }
    let born = assert_born_once(&mut pair, 30);
    assert!(born.iter().all(|count| *count > 0), "{born:?}");
}

#[test]
fn a_partition_that_one_server_hears_of_late_loses_and_doubles_no_birth() {
    let world = drizzle();
    let moved = moved_cut(&world, 8.0, Tick(20));
    let mut pair = Pair::new(world, |_| {});
    assert!(pair.nodes[LEFT].schedule(Change::Map(moved.clone())));
    pair.run(200);
    assert!(pair.nodes[RIGHT].schedule(Change::Map(moved)));
    pair.run(300);
    let [before_left, before_right] = assert_born_once(&mut pair, 500);
    assert!(before_left.abs_diff(before_right) < 200, "the first partition still decides about births");
    pair.run(200);
    pair.nodes.iter_mut().for_each(|node| _ = node.take_events());
    pair.run(200);
    let [left, right] = assert_born_once(&mut pair, 200);
    assert!(left > 8 * right, "by now the new one does, and nearly everything lies left of it: {left} and {right}");
}

#[test]
fn a_world_loaded_anew_runs_as_it_did_the_first_time() {
    let mut world = empty_world();
    add_ball(&mut world, -3.0, 4.0);
    let layout = PartitionMap::from_layout(&world.layout).expect("the layout is good");
    let mut pair = Pair::new(world, |_| {});
    pair.run(20);
    let first: Vec<_> = pair.nodes[LEFT].hosted().filter_map(|(nid, _)| pair.nodes[LEFT].motion(nid)).collect();
    let world = pair.nodes[LEFT].world().clone();
    for node in &mut pair.nodes {
        let map = layout.succeed(Tick(25));
        assert!(node.schedule(Change::Load { at: Tick(25), era: 2, world: world.clone(), map }));
    }
    pair.run(25);
    let again: Vec<_> = pair.nodes[LEFT].hosted().filter_map(|(nid, _)| pair.nodes[LEFT].motion(nid)).collect();
    assert_eq!(pair.nodes[LEFT].era(), 2);
    assert_eq!(first, again);
}

#[test]
fn a_body_that_cannot_be_built_takes_nobody_with_it() {
    let mut world = empty_world();
    let good = add_ball(&mut world, -3.0, 0.0);
    let broken = nimbus_model::BodyDesc { density: -1.0, ..pair::ball() };
    world.add(broken, nimbus_model::Pose::at(Vec3::new(-9.0, 0.0, 0.0)), nimbus_model::Velocity::ZERO);
    let mut pair = Pair::new(world, |_| {});
    pair.run(2);
    assert_eq!(pair.hosts(good), [true, false]);
    let events = pair.nodes[LEFT].take_events();
    assert!(events.iter().any(|e| e.kind == EventKind::Died(Cause::Unplaceable)), "{events:?}");
}

//! How bodies change server, seen from outside.

mod pair;

use nimbus_model::{JointDesc, JointKind, Rng, Vec3};
use nimbus_node::{EventKind, Node, Policy};
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

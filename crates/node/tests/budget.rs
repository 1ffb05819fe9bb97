//! What does not fit into a server's budget is not born, by name; what can stay elsewhere does not go to a server that is
//! nearly full, and what a contact needs does.

mod cluster;
mod pair;

use nimbus_model::{
    Aabb, BodyDesc, Budget, Choice, ClientId, Injection, JointDesc, JointKind, Motion, Nid, Pose, RegionId, Shape,
    Tick, Vec3, Velocity, World,
};
use nimbus_node::{Event, EventKind, Factor, Node, Policy};
use nimbus_wire::{Address, Command, CommandRef, Content, Frame, GatewayId, Item, LaneFrame, Order, Outcome};
use std::sync::Arc;

use cluster::Cluster;
use pair::{LEFT, Pair, RIGHT, add_ball, ball, empty_world};

/// Bodies appear far apart on the right, one every tick from the fifth on.
fn with_injection(count: u32) -> World {
    let mut world = empty_world();
    world.injections.push(Injection {
        volume: Aabb::new(Vec3::new(20.0, -90.0, -90.0), Vec3::new(45.0, 90.0, 90.0)),
        per_second: 60.0,
        start: Tick(5),
        count,
        velocity_min: Vec3::ZERO,
        velocity_max: Vec3::ZERO,
        turned: false,
        choices: vec![Choice { weight: 1, body: ball() }],
    });
    world
}

fn told(events: &[Event], kind: EventKind) -> Vec<Nid> {
    events.iter().filter(|event| event.kind == kind).map(|event| event.nid).collect()
}

#[test]
fn injected_bodies_beyond_the_budget_are_not_born_and_named() {
    let mut world = with_injection(100);
    world.budget = Budget { bodies_per_region: Some(30), ..Budget::default() };
    let mut pair = Pair::new(world, |_| {});
    pair.run(150);
    let node = &mut pair.nodes[RIGHT];
    let events = node.take_events();
    let (born, refused) = (told(&events, EventKind::Born), told(&events, EventKind::NotBorn));
    assert_eq!((born.len(), refused.len(), node.hosted_count()), (30, 70, 30));
    assert!(refused.iter().all(|nid| !born.contains(nid)));
    assert_eq!(node.counters().births_refused, 70);
    let breaches: Vec<_> = node.take_breaches().into_iter().filter(|breach| breach.factor == Factor::Budget).collect();
    assert_eq!(breaches.len(), 2, "once a second: {breaches:?}");
    assert_eq!((breaches[0].value, breaches[0].limit, breaches[0].bodies.len()), (31.0, 30.0, 1));
    assert_eq!((breaches[1].value, breaches[1].bodies.len()), (90.0, 4), "all that were refused in that second");
}

#[test]
fn a_replay_and_a_backup_refuse_the_same() {
    let mut cluster = Cluster::of(with_injection(80), |config| (config.bodies_max, config.log) = (20, true));
    let snapshot = cluster.pair.nodes[RIGHT].snapshot();
    cluster.run(100, |_| true);
    let node = &mut cluster.pair.nodes[RIGHT];
    let mut again = Node::restore(&snapshot).expect("it is sound");
    node.take_log().iter().for_each(|entry| again.replay(entry));
    let counted = |node: &Node| (node.state_hash(), node.counters().births_refused, node.hosted_count());
    assert_eq!(counted(&again), counted(node));
    assert_eq!(again.counters().births_refused, 60);
    cluster.promote(RIGHT, 2);
    let promoted = &cluster.pair.nodes[RIGHT];
    assert_eq!((promoted.hosted_count(), promoted.counters().births_refused), (20, 60));
}

#[test]
fn what_is_jointed_is_born_whole_or_not_at_all() {
    let mut world = empty_world();
    for i in 0..3 {
        let pair: [u32; 2] =
            [0.0, 2.0].map(|z| world.add(ball(), Pose::at(Vec3::new(20.0, 5.0 * i as f32, z)), Velocity::ZERO));
        world.join(pair[0], pair[1], JointDesc::new(JointKind::Spherical, Vec3::Z, Vec3::NEG_Z));
    }
    let mut pair = Pair::new(world, |config| config.bodies_max = 5);
    let events = pair.nodes[RIGHT].take_events();
    let born = told(&events, EventKind::Born);
    assert_eq!((born.len(), told(&events, EventKind::NotBorn).len()), (4, 2), "the fifth place stays free");
    assert_eq!(pair.nodes[RIGHT].physics().linkage(born[0]).len(), 2);
}

/// Orders a server to carry out a command, the `sequence`-th that it hears.
fn order(pair: &mut Pair, at: usize, sequence: u64, command: Command) {
    let gateway = GatewayId(0);
    let by = CommandRef { gateway, client: ClientId(7), sequence };
    let items = vec![(pair.tick, Item::Order(Order { by, hops: 0, command }))];
    let content = Content::Lane(LaneFrame { ack: 0, first: sequence, items });
    let (from, to) = (Address::Gateway(gateway), Address::Region(RegionId(at as u16)));
    pair.nodes[at].handle(Frame { from, to, era: 1, epoch: 1, tick: pair.tick, content });
}

#[test]
fn a_command_that_does_not_fit_is_told_the_budget() {
    let mut pair = Pair::new(empty_world(), |config| config.bodies_max = 1);
    pair.run(1);
    for sequence in 1..=3 {
        let motion = Motion::new(Pose::at(Vec3::new(20.0, 5.0 * sequence as f32, 0.0)), Velocity::ZERO);
        order(&mut pair, RIGHT, sequence, Command::Spawn { desc: Arc::new(ball()), motion });
        pair.run(2);
    }
    let outcomes: Vec<Outcome> = pair
        .to_gateway
        .iter()
        .filter_map(|frame| match &frame.content {
            Content::Lane(lane) => Some(lane.items.clone()),
            _ => None,
        })
        .flatten()
        .filter_map(|(_, item)| match item {
            Item::Outcome(by, outcome) => Some((by.sequence, outcome)),
            _ => None,
        })
        .collect::<std::collections::BTreeMap<_, _>>()
        .into_values()
        .collect();
    assert!(matches!(outcomes[0], Outcome::Done(_)), "{outcomes:?}");
    let refused = "r1 hosts 1 bodies and its budget is 1; remove bodies there, or raise bodies_per_region";
    assert_eq!(outcomes[1..], [Outcome::Refused(refused.to_owned()), Outcome::Refused(refused.to_owned())]);
    assert_eq!(pair.nodes[RIGHT].counters().births_refused, 2);
}

/// Islands lie on `home`'s side and belong to `away`, which `home`, with a budget of 100, would have to take back.
fn with_guests(home: usize, residents: usize) -> (Pair, Vec<Nid>, Vec<Nid>) {
    let side = if home == LEFT { -1.0 } else { 1.0 };
    let mut world = empty_world();
    let at = |i: usize, x: f32| Vec3::new(side * x, 3.0 * (i % 10) as f32, 3.0 * (i / 10) as f32);
    let place = |world: &mut World, position| {
        let cube = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
        World::nid(1, world.add(cube, Pose::at(position), Velocity::ZERO))
    };
    let own: Vec<Nid> = (0..residents).map(|i| place(&mut world, at(i, 45.0))).collect();
    let guests: Vec<Nid> = (0..3).map(|i| place(&mut world, at(i, 20.0))).collect();
    let mut pair = Pair::new(world, |config| (config.policy, config.bodies_max) = (Policy::Aura, 100));
    pair.run(10);
    pair.nodes[home].force(&guests, RegionId(1 - home as u16));
    pair.run(6);
    assert_eq!(pair.nodes[1 - home].hosted_count(), guests.len());
    (pair, own, guests)
}

#[test]
fn what_can_stay_does_not_go_home_to_a_server_that_is_nearly_full() {
    for home in [LEFT, RIGHT] {
        let (mut pair, _, guests) = with_guests(home, 87);
        pair.run(150);
        assert_eq!(pair.nodes[home].hosted_count(), 90, "nine tenths are not more than nine tenths");
        assert!(guests.iter().all(|nid| pair.hosts(*nid)[home]));

        let (mut pair, own, guests) = with_guests(home, 92);
        pair.run(200);
        let [here, there] = [&pair.nodes[home], &pair.nodes[1 - home]];
        assert_eq!((here.hosted_count(), there.hosted_count()), (92, 3), "they stay");
        assert!(
            there.counters().islands_kept > 0 && there.counters().islands_kept < 60,
            "they are not looked at all the time"
        );
        assert_eq!((here.counters().refused, there.counters().offers.min(1)), (0, 0), "nothing was tried in vain");

        // Down to 85, it is not relieved yet; at 80 it is.
        let removed = own.iter().zip(1..);
        removed.clone().take(7).for_each(|(nid, at)| order(&mut pair, home, at, Command::Despawn { nid: *nid }));
        pair.run(100);
        assert_eq!(pair.nodes[home].hosted_count(), 85);
        let more = removed.skip(7).take(5);
        more.for_each(|(nid, at)| order(&mut pair, home, at, Command::Despawn { nid: *nid }));
        pair.run(150);
        assert_eq!(pair.nodes[home].hosted_count(), 83, "and they come home");
        assert!(guests.iter().all(|nid| pair.hosts(*nid)[home]));
    }
}

#[test]
fn what_a_contact_needs_still_comes_and_what_does_not_fit_goes_back_with_a_breach() {
    // The left server has the lower rank, so what may touch its ball goes there.
    for (most, refused) in [(10, false), (9, true)] {
        let mut world = empty_world();
        for i in 0..8 {
            add_ball(&mut world, -90.0, 0.0);
            world.bodies[i].pose.position.y = 3.0 * i as f32 - 60.0;
        }
        let target = add_ball(&mut world, -1.0, 0.0);
        let comes = add_ball(&mut world, 6.0, -6.0);
        let mut pair = Pair::new(world, |config| {
            config.policy = Policy::Aura;
            config.bodies_max = if config.region.0 == 0 { most } else { 100 };
        });
        pair.run(80);
        let breaches = pair.nodes[LEFT].take_breaches();
        let over: Vec<_> = breaches.iter().filter(|breach| breach.factor == Factor::Budget).collect();
        if refused {
            assert!(pair.hosts(comes)[RIGHT] && !over.is_empty(), "{breaches:?}");
            assert_eq!((over[0].value, over[0].limit, &over[0].bodies[..]), (10.0, 9.0, &[comes][..]));
        } else {
            assert!(pair.hosts(comes)[LEFT] && over.is_empty(), "{breaches:?}");
            let struck = pair.nodes[LEFT].motion(target).expect("it is here").velocity.linear.x;
            assert!(struck < -1.0, "they have met: {struck}");
        }
    }
}

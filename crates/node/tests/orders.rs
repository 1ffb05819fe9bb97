//! Commands: carried out once, passed on to where the body went, refused with a reason.

mod pair;

use nimbus_model::{
    BodyDesc, ClientId, JointDesc, JointKind, Motion, Nid, Pose, Rng, Shape, Tick, Vec3, Velocity, World,
};
use nimbus_node::{Cause, EventKind, Policy};
use nimbus_wire::{Address, Command, CommandRef, Content, Frame, GatewayId, Item, LaneFrame, Order, Outcome};
use pair::{LEFT, Pair, RIGHT, add_ball, empty_world};
use std::sync::Arc;

const GATEWAY: GatewayId = GatewayId(0);

fn order(pair: &mut Pair, node: usize, sequence: u64, command: Command) {
    let by = CommandRef { gateway: GATEWAY, client: ClientId(7), sequence };
    let items = vec![(pair.tick, Item::Order(Order { by, hops: 0, command }))];
    let content = Content::Lane(LaneFrame { ack: 0, first: sequence, items });
    let to = Address::Region(nimbus_model::RegionId(node as u16));
    let frame = Frame { from: Address::Gateway(GATEWAY), to, era: 1, epoch: 1, tick: pair.tick, content };
    pair.nodes[node].handle(frame.clone());
    pair.nodes[node].handle(frame);
}

fn outcomes(pair: &Pair) -> Vec<(u64, Outcome)> {
    let mut seen: Vec<(u64, Outcome)> = Vec::new();
    for frame in &pair.to_gateway {
        if let Content::Lane(lane) = &frame.content {
            for (_, item) in &lane.items {
                if let Item::Outcome(by, outcome) = item
                    && !seen.iter().any(|(sequence, _)| *sequence == by.sequence)
                {
                    seen.push((by.sequence, outcome.clone()));
                }
            }
        }
    }
    seen
}

fn spawn(x: f32, shape: Shape, speed: f32) -> Command {
    let desc = Arc::new(BodyDesc::dynamic(shape));
    let motion = Motion::new(Pose::at(Vec3::new(x, 0.0, 0.0)), Velocity::linear(Vec3::new(speed, 0.0, 0.0)));
    Command::Spawn { desc, motion }
}

#[test]
fn a_spawn_is_carried_out_once_where_it_belongs() {
    let mut pair = Pair::new(empty_world(), |_| {});
    pair.run(1);
    order(&mut pair, LEFT, 1, spawn(20.0, Shape::ball(0.5), 0.0));
    pair.run(6);
    let counts: Vec<usize> = pair.nodes.iter().map(|node| node.hosted_count()).collect();
    assert_eq!(counts, [0, 1], "the left server passes it on, the right one makes it, once");
    assert!(matches!(outcomes(&pair)[..], [(1, Outcome::Done(_))]));
}

#[test]
fn a_command_follows_a_body_that_is_on_its_way() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -1.0, 6.0);
    let mut pair = Pair::new(world, |_| {});
    pair.run(40);
    assert_eq!(pair.hosts(nid), [false, true]);
    order(&mut pair, LEFT, 1, Command::Push { nid, impulse: Vec3::new(0.0, 1e4, 0.0) });
    pair.run(6);
    assert_eq!(outcomes(&pair), vec![(1, Outcome::Done(nid))]);
    assert!(pair.nodes[RIGHT].motion(nid).unwrap().velocity.linear.y > 1.0, "pushed where it is now");
}

#[test]
fn death_is_an_epoch_above_life_and_is_told() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -20.0, 0.0);
    let mut pair = Pair::new(world, |_| {});
    pair.run(2);
    order(&mut pair, LEFT, 1, Command::Despawn { nid });
    pair.run(3);
    assert_eq!(pair.hosts(nid), [false, false]);
    let events = pair.nodes[LEFT].take_events();
    let death = events.iter().find(|e| e.kind == EventKind::Died(Cause::Despawned)).expect("it died");
    assert_eq!(death.body_epoch, 2);
    let told = pair.to_gateway.iter().any(|frame| match &frame.content {
        Content::Lane(lane) => lane.items.iter().any(|(_, item)| *item == Item::Died { nid, body_epoch: 2 }),
        _ => false,
    });
    assert!(told);
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let mut pair = Pair::new(empty_world(), |_| {});
    pair.run(1);
    let nobody = Nid(99);
    let cases: Vec<(Command, &str)> = vec![
        (spawn(-20.0, Shape::ball(-1.0), 0.0), "radius"),
        (spawn(-20.0, Shape::ball(50.0), 0.0), "allows"),
        (spawn(-20.0, Shape::ball(0.5), 1e6), "too fast"),
        (spawn(f32::NAN, Shape::ball(0.5), 0.0), "not finite"),
        (spawn(-1e6, Shape::ball(0.5), 0.0), "outside"),
        (Command::Push { nid: nobody, impulse: Vec3::ONE }, "no body"),
        (Command::Despawn { nid: nobody }, "no body"),
    ];
    for (i, (command, _)) in cases.iter().enumerate() {
        order(&mut pair, LEFT, i as u64 + 1, command.clone());
    }
    pair.run(8);
    let outcomes = outcomes(&pair);
    assert_eq!(outcomes.len(), cases.len());
    for (sequence, outcome) in outcomes {
        let (command, fragment) = &cases[sequence as usize - 1];
        assert!(
            matches!(&outcome, Outcome::Refused(reason) if reason.contains(fragment)),
            "{command:?} gave {outcome:?}, expected {fragment}"
        );
    }
    assert_eq!(pair.nodes[LEFT].hosted_count(), 0);
}

#[test]
fn a_body_that_leaves_the_world_dies() {
    let mut world = empty_world();
    world.kill_box = nimbus_model::Aabb::around(Vec3::ZERO, Vec3::splat(30.0));
    let nid = add_ball(&mut world, -20.0, -30.0);
    let mut pair = Pair::new(world, |_| {});
    pair.run(30);
    assert_eq!(pair.hosts(nid), [false, false]);
    let events = pair.nodes[LEFT].take_events();
    assert!(events.iter().any(|e| e.nid == nid && e.kind == EventKind::Died(Cause::LeftWorld)));
    assert!(events.iter().all(|e| e.tick <= Tick(30)));
}

fn rope(length: f32) -> JointDesc {
    JointDesc::new(JointKind::Rope { length }, Vec3::ZERO, Vec3::ZERO)
}

#[test]
fn bodies_of_one_server_are_joined_at_once() {
    let mut world = empty_world();
    let (one, two) = (add_ball(&mut world, -20.0, 0.0), add_ball(&mut world, -17.0, 3.0));
    let ground = World::nid(1, world.add_ground(50.0, 50.0));
    let mut pair = Pair::new(world, |_| {});
    pair.run(1);
    order(&mut pair, LEFT, 1, Command::Join { one, two, joint: rope(4.0) });
    order(&mut pair, LEFT, 2, Command::Join { one, two: ground, joint: rope(30.0) });
    order(&mut pair, LEFT, 3, Command::Join { one: ground, two: one, joint: rope(30.0) });
    pair.run(1);
    assert_eq!(pair.nodes[LEFT].physics().linkage(one), vec![one, two]);
    assert_eq!(pair.nodes[LEFT].physics().link_keys().count(), 2, "also to what does not move");
    assert_eq!(pair.nodes[LEFT].linkages_waiting(), 0);
    pair.run(120);
    let place = |nid| pair.nodes[LEFT].motion(nid).expect("it is here").pose.position;
    assert!(place(one).distance(place(two)) < 4.1, "and they hold");
    let outcomes = outcomes(&pair);
    assert_eq!(outcomes[..2], [(1, Outcome::Done(one)), (2, Outcome::Done(one))]);
    assert!(matches!(&outcomes[2].1, Outcome::Refused(reason) if reason.contains("does not move")), "{outcomes:?}");
}

#[test]
fn a_pair_can_be_joined_only_so_often() {
    let mut world = empty_world();
    let (one, two) = (add_ball(&mut world, -20.0, 0.0), add_ball(&mut world, -17.0, 0.0));
    let mut pair = Pair::new(world, |_| {});
    pair.run(1);
    for sequence in 1..=17 {
        order(&mut pair, LEFT, sequence, Command::Join { one, two, joint: rope(4.0) });
    }
    pair.run(2);
    assert_eq!(pair.nodes[LEFT].physics().link_keys().count(), 16);
    let refused = outcomes(&pair).into_iter().find(|(sequence, _)| *sequence == 17).expect("it is answered").1;
    assert!(matches!(&refused, Outcome::Refused(reason) if reason.contains("16 times already")), "{refused:?}");
}

#[test]
fn a_joint_brings_bodies_together_under_every_policy_and_survives_lost_frames() {
    for (policy, seed) in [(Policy::Exclusive, 1), (Policy::Aura, 2), (Policy::Exclusive, 3), (Policy::Aura, 4)] {
        let mut world = empty_world();
        let (one, two) = (add_ball(&mut world, -3.0, 0.0), add_ball(&mut world, 3.0, 0.0));
        let mut pair = Pair::new(world, |config| config.policy = policy);
        let mut rng = Rng::new(seed);
        pair.run(2);
        let node = (seed % 2) as usize;
        let (first, second) = if node == LEFT { (one, two) } else { (two, one) };
        order(&mut pair, node, 1, Command::Join { one: first, two: second, joint: rope(7.0) });
        for _ in 0..30 {
            pair.tick_with(|_| [0, 1, 2][rng.below(3) as usize]);
        }
        pair.run(10);
        assert_eq!(outcomes(&pair), vec![(1, Outcome::Done(first))], "{policy:?}");
        assert_eq!(pair.nodes[LEFT].physics().linkage(one), vec![one, two], "{policy:?}: with the lower rank");
    }
}

#[test]
fn a_command_that_comes_over_two_ways_is_carried_out_once() {
    // The other way is longer by so many ticks; the body changes server in the meantime, or has done so before.
    for (asked, later) in [(1, 60), (1, 20), (12, 8), (14, 3), (16, 1), (30, 1), (30, 20)] {
        let mut world = empty_world();
        let nid = add_ball(&mut world, -1.0, 6.0);
        let mut pair = Pair::new(world, |_| {});
        let mass = pair.nodes[LEFT].physics().view(nid).expect("it is here").mass();
        let push = Command::Push { nid, impulse: Vec3::Y * mass };
        pair.run(asked);
        order(&mut pair, LEFT, 1, push.clone());
        pair.run(later);
        order(&mut pair, RIGHT, 1, push.clone());
        pair.run(60);
        order(&mut pair, LEFT, 2, push);
        pair.run(6);
        assert_eq!(pair.hosts(nid), [false, true]);
        let speed = pair.nodes[RIGHT].motion(nid).expect("it is here").velocity.linear.y;
        assert!((speed - 2.0).abs() < 1e-4, "asked at {asked} and {later} later: two commands give 2 m/s, not {speed}");
    }
}

#[test]
fn a_body_that_is_given_back_remembers_what_it_has_obeyed() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -1.0, 6.0);
    let mut pair = Pair::new(world, |config| config.bodies_max = if config.region.0 == 1 { 0 } else { 10 });
    let mass = pair.nodes[LEFT].physics().view(nid).expect("it is here").mass();
    let push = Command::Push { nid, impulse: Vec3::Y * mass };
    pair.run(1);
    order(&mut pair, LEFT, 1, push.clone());
    pair.run(24);
    assert!(pair.nodes[LEFT].counters().returned > 0);
    order(&mut pair, RIGHT, 1, push);
    pair.run(6);
    let speed = pair.nodes[LEFT].motion(nid).expect("it is here").velocity.linear.y;
    assert!((speed - 1.0).abs() < 1e-4, "{speed} m/s");
    assert_eq!(pair.nodes[LEFT].counters().orders_repeated, 1);
}

#[test]
fn a_joint_that_is_asked_for_over_two_ways_is_made_once() {
    let mut repeated = 0;
    for later in 0..10 {
        let mut world = empty_world();
        let (one, two) = (add_ball(&mut world, -3.0, 0.0), add_ball(&mut world, 3.0, 0.0));
        let mut pair = Pair::new(world, |config| config.policy = Policy::Aura);
        pair.run(2);
        let join = Command::Join { one: two, two: one, joint: rope(7.0) };
        order(&mut pair, RIGHT, 1, join.clone());
        pair.run(later);
        order(&mut pair, LEFT, 1, join);
        pair.run(30);
        let joints: usize = pair.nodes.iter().map(|node| node.physics().link_keys().count()).sum();
        assert_eq!(joints, 1, "{later} ticks later");
        assert_eq!(pair.nodes[LEFT].physics().linkage(one), vec![one, two]);
        repeated += pair.nodes[LEFT].counters().orders_repeated;
    }
    assert!(repeated > 0, "it came again after it was made");
}

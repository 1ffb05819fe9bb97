//! Statics that come and go at a named tick, bodies that are given a velocity, and kinematic bodies that are sent
//! somewhere.

mod pair;

use nimbus_model::{
    BodyDesc, BodyKind, ClientId, JointDesc, JointKind, Layout, Nid, Placed, Pose, Quat, RegionId, Shape, Tick, Vec3,
    Velocity, World,
};
use nimbus_node::{Change, Checkpoint, Node, NodeConfig, Policy};
use nimbus_space::PartitionMap;
use nimbus_wire::{Address, Command, CommandRef, Content, Frame, GatewayId, Item, LaneFrame, Order, Outcome};
use pair::{LEFT, Pair, RIGHT, add_ball, empty_world};
use std::sync::Arc;

const GATEWAY: GatewayId = GatewayId(0);

/// Gives a server its next order; its number among all is a hundred higher on the right.
fn order(pair: &mut Pair, node: usize, sequence: u64, command: Command) {
    let by = CommandRef { gateway: GATEWAY, client: ClientId(7), sequence: sequence + 100 * node as u64 };
    let items = vec![(pair.tick, Item::Order(Order { by, hops: 0, command }))];
    let content = Content::Lane(LaneFrame { ack: 0, first: sequence, items });
    let to = Address::Region(RegionId(node as u16));
    let frame = Frame { from: Address::Gateway(GATEWAY), to, era: 1, epoch: 1, tick: pair.tick, content };
    pair.nodes[node].handle(frame);
}

fn outcome(pair: &Pair, sequence: u64) -> Option<Outcome> {
    let lanes = pair.to_gateway.iter().filter_map(|frame| match &frame.content {
        Content::Lane(lane) => Some(&lane.items),
        _ => None,
    });
    lanes.flatten().find_map(|(_, item)| match item {
        Item::Outcome(by, outcome) if by.sequence == sequence => Some(outcome.clone()),
        _ => None,
    })
}

fn refusal(pair: &Pair, sequence: u64) -> String {
    match outcome(pair, sequence) {
        Some(Outcome::Refused(reason)) => reason,
        other => panic!("{sequence} was not refused: {other:?}"),
    }
}

/// A world in which things fall, with a ball above each side of the seam.
fn falling() -> (World, [Nid; 2]) {
    let mut world = empty_world();
    world.gravity = Vec3::new(0.0, -9.81, 0.0);
    world.add_ground(90.0, 90.0);
    let balls = [-20.0, 20.0].map(|x| {
        let ball = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
        World::nid(1, world.add(ball, Pose::at(Vec3::new(x, 8.0, 0.0)), Velocity::ZERO))
    });
    (world, balls)
}

/// A shelf that reaches over both regions, and its id.
fn shelf(world: &World, before: &Placed) -> (Arc<Placed>, Nid) {
    let desc = BodyDesc::fixed(Shape::cuboid(40.0, 0.5, 5.0));
    let (placed, nid) = before.with(world, 1, desc, Pose::at(Vec3::Y * 3.0)).expect("it fits");
    (Arc::new(placed), nid)
}

fn height(pair: &Pair, node: usize, nid: Nid) -> f32 {
    pair.nodes[node].motion(nid).expect("it is there").pose.position.y
}

#[test]
fn a_static_is_there_for_everybody_from_its_tick_on() {
    let (world, balls) = falling();
    let (placed, nid) = shelf(&world, &Placed::default());
    let mut pair = Pair::new(world, |config| config.contacts = true);
    for node in &mut pair.nodes {
        assert!(node.schedule(Change::Statics { at: Tick(10), era: 1, placed: placed.clone() }));
    }
    pair.run(9);
    assert!(pair.nodes.iter().all(|node| node.physics().view(nid).is_none()), "not before");
    pair.run(1);
    assert!(pair.nodes.iter().all(|node| node.physics().view(nid).is_some() && node.world().placed == *placed));
    pair.run(230);
    for (side, ball) in balls.iter().enumerate() {
        assert!(
            (height(&pair, side, *ball) - 4.0).abs() < 0.02,
            "it lies on the shelf: {}",
            height(&pair, side, *ball)
        );
    }
    let touched: Vec<Nid> = pair.nodes[LEFT].take_contacts().iter().flat_map(|t| &t.contacts).map(|c| c.two).collect();
    assert_eq!(touched, [nid]);

    // A copy made of a snapshot and the log goes on alike, through the removal.
    let mut copy = Node::restore(&pair.nodes[LEFT].snapshot()).expect("a snapshot");
    pair.nodes[LEFT].take_log();
    let gone = Arc::new(placed.without(1, nid).expect("it is there"));
    for node in &mut pair.nodes {
        assert!(node.schedule(Change::Statics { at: pair.tick + 5, era: 1, placed: gone.clone() }));
        // What comes late or again changes nothing.
        assert!(node.schedule(Change::Statics { at: pair.tick + 6, era: 1, placed: placed.clone() }));
        assert!(node.schedule(Change::Statics { at: pair.tick + 7, era: 2, placed: placed.clone() }));
    }
    pair.run(120);
    for entry in pair.nodes[LEFT].take_log() {
        copy.replay(&entry);
    }
    assert_eq!(copy.state_hash(), pair.nodes[LEFT].state_hash());
    for (side, ball) in balls.iter().enumerate() {
        assert!((height(&pair, side, *ball) - 0.5).abs() < 0.02, "it fell: {}", height(&pair, side, *ball));
    }
    let ended: Vec<_> = pair.nodes[LEFT].take_contacts().into_iter().flat_map(|told| told.contacts).collect();
    assert_eq!(ended.iter().filter(|contact| contact.two == nid).count(), 1, "the touch ended once: {ended:?}");
    let counters = pair.nodes[RIGHT].counters();
    assert_eq!((counters.statics_placed, counters.statics_removed), (1, 1));
}

#[test]
fn who_missed_some_changes_makes_up_for_all_of_them() {
    let (world, _) = falling();
    let (one, first) = shelf(&world, &Placed::default());
    let (two, second) = shelf(&world, &one);
    let three = Arc::new(two.without(1, first).expect("it is there"));
    let mut pair = Pair::new(world, |_| {});
    assert!(pair.nodes[LEFT].schedule(Change::Statics { at: Tick(5), era: 1, placed: three }));
    pair.run(6);
    let node = &pair.nodes[LEFT];
    assert!(node.physics().view(first).is_none() && node.physics().view(second).is_some());
    assert_eq!(node.world().placed.revision, 3);
}

#[test]
fn a_load_takes_out_what_was_put_in() {
    let (world, _) = falling();
    let (placed, nid) = shelf(&world, &Placed::default());
    let mut pair = Pair::new(world, |_| {});
    let (pristine, map) = (pair.nodes[LEFT].world().clone(), pair.nodes[LEFT].map().clone());
    for node in &mut pair.nodes {
        assert!(node.schedule(Change::Statics { at: Tick(3), era: 1, placed: placed.clone() }));
        assert!(node.schedule(Change::Load {
            at: Tick(9),
            era: 2,
            world: pristine.clone(),
            map: map.succeed(Tick(9))
        }));
        assert!(node.schedule(Change::Statics { at: Tick(12), era: 1, placed: placed.clone() }));
    }
    pair.run(8);
    assert!(pair.nodes[LEFT].physics().view(nid).is_some());
    pair.run(8);
    for node in &pair.nodes {
        assert!(node.physics().view(nid).is_none() && node.world().placed == Placed::default());
    }
}

#[test]
fn a_checkpoint_has_what_was_put_in_and_who_was_on_the_way() {
    let (mut world, balls) = falling();
    let lift = BodyDesc { kind: BodyKind::Kinematic, ..BodyDesc::dynamic(Shape::cuboid(1.0, 0.2, 1.0)) };
    let lift = World::nid(1, world.add(lift, Pose::at(Vec3::new(-40.0, 1.0, 0.0)), Velocity::ZERO));
    let pristine = Arc::new(world.clone());
    let (placed, nid) = shelf(&world, &Placed::default());
    let mut pair = Pair::new(world, |_| {});
    for node in &mut pair.nodes {
        assert!(node.schedule(Change::Statics { at: Tick(3), era: 1, placed: placed.clone() }));
    }
    pair.run(5);
    order(&mut pair, LEFT, 1, Command::Steer { nid: lift, pose: Pose::at(Vec3::new(-40.0, 7.0, 0.0)), ticks: 120 });
    pair.run(60);
    let parts: Vec<_> = pair.nodes.iter().map(|node| node.contribution(node.whole_draft()).into_part()).collect();
    let parts: Vec<_> = parts
        .iter()
        .map(|part| nimbus_node::Part::decode(part.region, &part.encode()).expect("it was written"))
        .collect();
    let whole = Checkpoint::assemble(pristine, &[RegionId(0), RegionId(1)], &parts).expect("the parts fit");
    let map = PartitionMap::from_layout(&Layout::columns(1, 100.0)).expect("one column");
    let mut node = Node::resume(NodeConfig::new(RegionId(0)), &whole, map);
    assert!(node.physics().view(nid).is_some());
    let start = node.now();
    (1..=300).for_each(|tick| node.tick(start + tick));
    let at = |nid| node.motion(nid).expect("it is there").pose.position;
    assert!((at(balls[0]).y - 4.0).abs() < 0.02, "on the shelf");
    assert!((at(lift).y - 7.0).abs() < 0.01, "and the lift has arrived at {}", at(lift));
}

#[test]
fn a_velocity_is_set_and_bounded() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -20.0, 3.0);
    let mut pair = Pair::new(world, |_| {});
    pair.run(1);
    order(&mut pair, LEFT, 1, Command::Turn { nid, linear: Some(Vec3::Y * 2.0), angular: None });
    pair.run(2);
    assert_eq!(outcome(&pair, 1), Some(Outcome::Done(nid)));
    let velocity = |pair: &Pair| pair.nodes[LEFT].motion(nid).expect("it is there").velocity;
    assert_eq!(velocity(&pair), Velocity::linear(Vec3::Y * 2.0));
    order(&mut pair, LEFT, 2, Command::Turn { nid, linear: None, angular: Some(Vec3::X * 1e4) });
    pair.run(2);
    assert_eq!(velocity(&pair).linear, Vec3::Y * 2.0, "what is not named stays");
    let spin = velocity(&pair).angular.length();
    assert!((10.0..100.1).contains(&spin), "no faster than it should turn: {spin}");
    order(&mut pair, LEFT, 3, Command::Turn { nid, linear: Some(Vec3::X * -1e5), angular: None });
    pair.run(2);
    let speed = velocity(&pair).linear.length();
    assert!((100.0..512.1).contains(&speed), "no faster than any may be: {speed}");
    order(&mut pair, LEFT, 4, Command::Turn { nid, linear: Some(Vec3::NAN), angular: None });
    order(&mut pair, LEFT, 5, Command::Turn { nid: Nid(9), linear: Some(Vec3::X), angular: None });
    pair.run(3);
    assert!(refusal(&pair, 4).contains("not a number"));
    assert!(refusal(&pair, 5).contains("there is no body"));
}

#[test]
fn a_kinematic_body_goes_where_it_is_sent_across_a_seam() {
    for policy in [Policy::Exclusive, Policy::Aura] {
        let mut world = empty_world();
        let shape =
            Shape::Compound { parts: vec![(Pose::at(Vec3::X), Shape::ball(0.4)), (Pose::IDENTITY, Shape::ball(0.2))] };
        let lift = BodyDesc { kind: BodyKind::Kinematic, ..BodyDesc::dynamic(shape) };
        let lift = World::nid(1, world.add(lift, Pose::at(Vec3::new(-4.0, 0.0, 0.0)), Velocity::ZERO));
        let ball = add_ball(&mut world, -40.0, 0.0);
        let mut pair = Pair::new(world, |config| config.policy = policy);
        pair.run(1);
        let goal = Pose::at(Vec3::new(6.0, 2.0, 1.0)).turned(Quat::from_rotation_y(3.0));
        order(&mut pair, LEFT, 1, Command::Steer { nid: lift, pose: goal, ticks: 90 });
        pair.run(60);
        assert_eq!(outcome(&pair, 1), Some(Outcome::Done(lift)));
        pair.run(60);
        let host = pair.hosts(lift).iter().position(|here| *here).expect("somebody has it");
        assert_eq!(host, RIGHT, "{policy:?}");
        let there = pair.nodes[host].motion(lift).expect("it is hosted");
        assert!(there.pose.position.distance(goal.position) < 0.01, "{policy:?}: {}", there.pose.position);
        assert!(there.pose.rotation.angle_between(goal.rotation) < 0.02, "{policy:?}");
        assert_eq!(there.velocity, Velocity::ZERO);
        order(&mut pair, LEFT, 2, Command::Steer { nid: ball, pose: goal, ticks: 90 });
        let far = Pose::at(Vec3::new(900.0, 0.0, 0.0));
        order(&mut pair, RIGHT, 1, Command::Steer { nid: lift, pose: far, ticks: 5 });
        order(&mut pair, RIGHT, 2, Command::Steer { nid: lift, pose: Pose::at(Vec3::Y * 1e5), ticks: 90 });
        pair.run(20);
        assert!(refusal(&pair, 2).contains("only a kinematic body"));
        assert!(refusal(&pair, 101).contains("give it 105 ticks or more"), "{}", refusal(&pair, 101));
        assert!(refusal(&pair, 102).contains("outside the world"));
    }
}

#[test]
fn nothing_is_joined_to_what_may_go_again() {
    let (world, balls) = falling();
    let (placed, nid) = shelf(&world, &Placed::default());
    let mut pair = Pair::new(world, |_| {});
    for node in &mut pair.nodes {
        assert!(node.schedule(Change::Statics { at: Tick(2), era: 1, placed: placed.clone() }));
    }
    pair.run(3);
    let joint = JointDesc::new(JointKind::Spherical, Vec3::ZERO, Vec3::ZERO);
    order(&mut pair, LEFT, 1, Command::Join { one: balls[0], two: nid, joint });
    pair.run(3);
    assert!(refusal(&pair, 1).contains("may go again"));
}

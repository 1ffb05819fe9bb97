//! Joints that are asked for between bodies of two servers.

use nimbus_client::Answer;
use nimbus_model::{JointDesc, JointKind, Nid, RegionId, Vec3, World};
use nimbus_node::Node;

use crate::stage::{Stage, add_ball, world};

/// Length of the ropes, metres.
const ROPE_M: f32 = 8.0;

fn rope() -> JointDesc {
    JointDesc::new(JointKind::Rope { length: ROPE_M }, Vec3::ZERO, Vec3::ZERO)
}

fn place(stage: &Stage, nid: Nid) -> Vec3 {
    stage.owner(nid).and_then(|node| node.motion(nid)).expect("somebody has it").pose.position
}

fn waiting(stage: &Stage) -> usize {
    stage.universe.nodes().iter().map(Node::linkages_waiting).sum()
}

fn only_answer(stage: &mut Stage, case: &str) -> Answer {
    let mut answers = stage.answers();
    assert_eq!(answers.len(), 1, "{case}: {answers:?}");
    answers.remove(0)
}

/// Two balls that fly apart, and by which `x` they start.
fn apart(servers: u16, one: f32, two: f32) -> (World, Nid, Nid) {
    let mut world = world(servers);
    let sense = (two - one).signum();
    let first = add_ball(&mut world, Vec3::new(one, 0.0, 0.0), Vec3::X * -2.0 * sense);
    let second = add_ball(&mut world, Vec3::new(two, 0.0, 0.0), Vec3::X * 2.0 * sense);
    (world, first, second)
}

/// Asks for the joint at a tick and asserts that the bodies come to one server, stay together, and travel as one.
/// Returns the server they came to.
fn assert_joined(world: World, one: Nid, two: Nid, at: u64, seed: u64, case: &str) -> Option<RegionId> {
    let mut stage = Stage::new(world, seed, 200);
    stage.until(at);
    stage.ask(|client| client.join(one, two, rope()));
    stage.until(at + 20);
    let answer = only_answer(&mut stage, case);
    assert_eq!(answer.outcome, Ok(Some(one)), "{case}");
    assert_eq!(waiting(&stage), 0, "{case}: nothing waits any more");
    let together = stage.owner(one).map(Node::region);
    for tick in at + 20..200 {
        stage.until(tick);
        let Some(owner) = stage.owner(one) else { continue };
        assert_eq!(owner.physics().linkage(one).len(), 2, "{case}: on one server, and joined, at tick {tick}");
        let distance = place(&stage, one).distance(place(&stage, two));
        assert!(distance < ROPE_M + 1.0, "{case}: they are {distance} m apart at tick {tick}");
    }
    let joints: usize = stage.universe.nodes().iter().map(|node| node.physics().link_keys().count()).sum();
    assert_eq!((joints, stage.count(|counters| counters.joints)), (1, 1), "{case}: there is one joint");
    assert_eq!(stage.owned(), 2, "{case}");
    stage.finish_promised(case);
    together
}

#[test]
fn joint_between_servers() {
    for (one, two) in [(-2.0, 2.0), (2.0, -2.0), (-25.0, -20.0), (-1.0, 5.0)] {
        let (world, first, second) = apart(2, one, two);
        let together = assert_joined(world, first, second, 5, 1, &format!("from {one} and {two}"));
        assert_eq!(together, Some(RegionId(0)), "the higher rank gives way");
    }
    // The regions of the two are not even neighbours. A rope that long holds them as they are.
    for (one, two) in [(-31.0, 31.0), (31.0, -31.0)] {
        let (world, first, second) = apart(3, one, two);
        let case = format!("three servers, from {one} and {two}");
        let mut stage = Stage::new(world, 1, 100);
        stage.until(5);
        let long = JointDesc::new(JointKind::Rope { length: 64.0 }, Vec3::ZERO, Vec3::ZERO);
        stage.ask(|client| client.join(first, second, long));
        stage.until(100);
        assert_eq!(only_answer(&mut stage, &case).outcome, Ok(Some(first)), "{case}");
        assert_eq!(stage.owner(first).map(|node| node.physics().linkage(first).len()), Some(2), "{case}");
        assert!(place(&stage, first).distance(place(&stage, second)) < 65.0, "{case}");
        stage.finish_promised(&case);
    }
}

/// The joint is asked for while one of the bodies changes server.
#[test]
fn joint_to_a_body_in_transit() {
    for at in 14..34 {
        let mut world = world(2);
        let crossing = add_ball(&mut world, Vec3::new(-2.0, 0.0, 0.0), Vec3::X * 6.0);
        let lying = add_ball(&mut world, Vec3::new(2.0, 0.0, 3.0), Vec3::ZERO);
        let (one, two) = if at % 2 == 0 { (crossing, lying) } else { (lying, crossing) };
        assert_joined(world, one, two, at, at, &format!("asked for at tick {at}"));
    }
}

/// What lies against a body comes with it.
#[test]
fn joint_brings_the_cluster_along() {
    let mut world = world(2);
    let first = add_ball(&mut world, Vec3::new(-4.0, 0.0, 0.0), Vec3::ZERO);
    let stack: Vec<Nid> =
        (0..4).map(|i| add_ball(&mut world, Vec3::new(3.0 + i as f32, 0.0, 0.0), Vec3::ZERO)).collect();
    let mut stage = Stage::new(world, 1, 60);
    stage.until(5);
    stage.ask(|client| client.join(first, stack[0], rope()));
    stage.until(15);
    let owner = stage.owner(first).expect("somebody has it");
    assert!(stack.iter().all(|nid| owner.motion(*nid).is_some()), "all that touch are on one server");
    stage.finish_promised("a stack");
}

#[test]
fn joint_refused() {
    let nobody = Nid(0xdead);
    let (world, one, two) = apart(2, -2.0, 2.0);
    let mut stage = Stage::new(world, 1, 120);
    stage.until(5);
    stage.ask(|client| client.join(one, nobody, rope()));
    stage.until(60);
    assert_eq!((stage.answers().len(), waiting(&stage)), (0, 1), "it waits");
    stage.until(72);
    let reason = only_answer(&mut stage, "a body that nobody has").outcome.expect_err("refused");
    assert!(reason.contains("no server") && reason.contains(&nobody.to_string()), "{reason}");
    assert_eq!(waiting(&stage), 0);

    stage.ask(|client| client.join(nobody, two, rope()));
    let zero = JointDesc::new(JointKind::Rope { length: -1.0 }, Vec3::ZERO, Vec3::ZERO);
    stage.ask(|client| client.join(one, two, zero));
    stage.ask(|client| client.join(one, one, rope()));
    stage.until(80);
    let reasons: Vec<String> = stage.answers().into_iter().filter_map(|answer| answer.outcome.err()).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    for part in ["no body", "length is -1", "itself"] {
        assert!(reasons.iter().any(|reason| reason.contains(part)), "{part}: {reasons:?}");
    }
    assert_eq!(stage.count(|counters| counters.joints), 0);
    stage.finish_promised("refused joints");
}

/// The server that would have to take the other body is full.
#[test]
fn joint_refused_by_a_full_server() {
    let mut refused = 0;
    for seed in 1..=6 {
        let mut world = world(2);
        let one = add_ball(&mut world, Vec3::new(-12.0, 0.0, 0.0), Vec3::ZERO);
        let crowd: Vec<Nid> =
            (0..4).map(|i| add_ball(&mut world, Vec3::new(12.0, 0.0, i as f32), Vec3::ZERO)).collect();
        let mut stage = Stage::with(world, seed, 100, |config| config.faults = "full".parse().expect("a fault"));
        stage.until(5);
        stage.ask(|client| client.join(one, crowd[1], rope()));
        stage.until(100);
        let answer = only_answer(&mut stage, "a full server");
        if let Err(reason) = answer.outcome {
            refused += 1;
            assert!(reason.contains("did not come to one server within 60 ticks"), "{reason}");
        }
        assert_eq!((stage.owned(), waiting(&stage)), (5, 0), "seed {seed}: everybody lives");
        stage.finish(&format!("seed {seed}"));
    }
    assert!(refused > 0, "a server of five bodies was full at least once");
}

/// A body dies while its joint waits, and too many joints wait at once.
#[test]
fn joints_that_wait_are_bounded_and_end_with_their_body() {
    let (world, one, _) = apart(2, -2.0, 2.0);
    let mut stage = Stage::new(world, 1, 100);
    stage.until(5);
    for i in 0..80 {
        stage.ask(|client| client.join(one, Nid(0xdead + i), rope()));
    }
    stage.until(15);
    assert_eq!(waiting(&stage), 64);
    let reasons: Vec<String> = stage.answers().into_iter().filter_map(|answer| answer.outcome.err()).collect();
    assert_eq!(reasons.len(), 16);
    assert!(reasons.iter().all(|reason| reason.contains("too many joints wait")), "{reasons:?}");
    stage.ask(|client| client.despawn(one));
    stage.until(25);
    let answers = stage.answers();
    assert_eq!((answers.len(), waiting(&stage)), (65, 0), "all end at once");
    let gone = answers.iter().filter_map(|answer| answer.outcome.as_ref().err());
    assert!(gone.clone().count() == 64 && gone.clone().all(|reason| reason.contains("there is no body")));
    stage.finish_promised("a body that dies");
}

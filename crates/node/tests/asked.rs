//! Questions for one tick: when a server answers, what it says of bodies under way, and what it cannot answer.

mod cluster;
mod pair;

use cluster::Cluster;
use nimbus_model::{Nid, Pose, RegionId, Shape, Tick, Vec3};
use nimbus_node::Policy;
use nimbus_wire::ask::{Ask, LaneMarks, Part, PartAnswer, Reply, Unanswered};
use nimbus_wire::client::{Query, QueryFilter};
use nimbus_wire::{Address, Content, Frame, GatewayId, Item};
use pair::{LEFT, Pair, RIGHT, add_ball, empty_world};

fn everything() -> Query {
    Query::Overlap { shape: Shape::ball(90.0), pose: Pose::IDENTITY }
}

fn ray() -> Query {
    Query::Ray { origin: Vec3::new(-50.0, 0.0, 0.0), direction: Vec3::X, max: 100.0 }
}

fn ask(pair: &mut Pair, node: usize, ask: Ask) {
    let (from, to) = (Address::Gateway(GatewayId(0)), Address::Region(RegionId(node as u16)));
    let frame = Frame { from, to, era: 1, epoch: 1, tick: pair.tick, content: Content::Ask(ask) };
    pair.nodes[node].handle(Frame::decode(&frame.encode()).expect("a frame survives"));
}

fn batch(number: u64, at: Tick, queries: Vec<Query>) -> Ask {
    Ask { number, at, queries, filter: QueryFilter::default() }
}

/// What was said to the gateway since the last call, and after which tick.
fn replies(pair: &mut Pair) -> Vec<(Tick, Reply)> {
    let frames = std::mem::take(&mut pair.to_gateway).into_iter();
    let replies = frames.filter_map(|frame| match frame.content {
        Content::Reply(reply) => Some((frame.tick, reply)),
        _ => None,
    });
    replies.collect()
}

fn bodies(answer: &PartAnswer) -> Vec<Nid> {
    match answer {
        PartAnswer::Overlap { bodies, .. } => bodies.nids.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_question_is_answered_right_after_its_tick_and_as_often_as_it_is_asked() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -20.0, 6.0);
    let mut pair = Pair::new(world, |_| {});
    pair.run(5);
    for _ in 0..3 {
        ask(&mut pair, LEFT, batch(7, Tick(9), vec![ray()]));
    }
    pair.run(3);
    assert_eq!(replies(&mut pair), []);
    pair.run(3);
    let told = replies(&mut pair);
    let [(Tick(9), Reply { number: 7, at: Tick(9), found: Ok(part) })] = &told[..] else { panic!("{told:?}") };
    let [PartAnswer::Ray(Some(hit))] = &part.answers[..] else { panic!("{part:?}") };
    let x = -20.0 + 6.0 * 9.0 / 60.0;
    assert!(hit.nid == nid && (hit.distance - (x - 0.5 + 50.0)).abs() < 1e-4, "as it was after tick 9: {hit:?}");
    // The same again, although the body has moved on.
    ask(&mut pair, LEFT, batch(7, Tick(9), vec![ray()]));
    pair.run(1);
    let again = replies(&mut pair);
    assert_eq!((again.len(), &again[0].1), (1, &told[0].1));
    pair.run(1);
    assert_eq!(replies(&mut pair), []);
    assert_eq!(pair.nodes[LEFT].counters().asks_answered, 1);
}

#[test]
fn between_two_ticks_the_last_one_can_still_be_asked_for_and_no_earlier_one() {
    let mut world = empty_world();
    add_ball(&mut world, -20.0, 6.0);
    let mut pair = Pair::new(world, |_| {});
    pair.run(5);
    ask(&mut pair, LEFT, batch(1, Tick(5), vec![ray()]));
    ask(&mut pair, LEFT, batch(2, Tick(4), vec![ray()]));
    ask(&mut pair, LEFT, batch(3, Tick(5_000), vec![ray()]));
    pair.run(1);
    let told = replies(&mut pair);
    assert!(told[0].1.found.is_ok());
    assert_eq!(told[1].1.found, Err(Unanswered::Missed));
    assert_eq!(told[2].1.found, Err(Unanswered::Missed), "so far ahead nothing is kept");
}

#[test]
fn a_tick_that_is_skipped_is_missed() {
    let mut world = empty_world();
    add_ball(&mut world, -20.0, 6.0);
    let mut pair = Pair::new(world, |_| {});
    pair.run(5);
    ask(&mut pair, LEFT, batch(1, Tick(9), vec![ray()]));
    pair.tick = Tick(19);
    pair.run(1);
    assert_eq!(replies(&mut pair)[0].1.found, Err(Unanswered::Missed));
    assert_eq!(pair.nodes[LEFT].counters().asks_missed, 1);
}

/// Both parts of a tick while a body is on its way, which takes some ticks because frames are lost.
fn parts_on_the_way(policy: Policy) -> (Nid, Vec<[Part; 2]>) {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -1.0, 6.0);
    let mut pair = Pair::new(world, |config| config.policy = policy);
    let carries = |frame: &Frame| {
        let is_transfer = |(_, item): &(Tick, Item)| matches!(item, Item::Transfer(_));
        matches!(&frame.content, Content::Lane(lane) if lane.items.iter().any(is_transfer))
    };
    while pair.nodes[LEFT].in_flight().count() == 0 {
        pair.tick_with(|frame| usize::from(!carries(frame)));
        assert!(pair.tick < Tick(300), "it never leaves");
    }
    let mut parts = Vec::new();
    for i in 0..20u64 {
        let next = pair.tick.next();
        for node in [LEFT, RIGHT] {
            ask(&mut pair, node, batch(i, next, vec![everything(), ray()]));
        }
        // The body is lost for a while, and then the answers.
        pair.tick_with(|frame| {
            let lost = if frame.to == Address::Region(RegionId(1)) { i < 4 && carries(frame) } else { i < 9 };
            usize::from(!lost)
        });
        let [left, right] = &replies(&mut pair)[..] else { panic!("two replies") };
        parts.push([left, right].map(|(_, reply)| reply.found.clone().expect("an answer")));
    }
    (nid, parts)
}

#[test]
fn the_sender_answers_for_what_is_under_way_until_it_knows_better() {
    let (nid, parts) = parts_on_the_way(Policy::Exclusive);
    for (i, [left, right]) in parts.iter().enumerate() {
        let arrived = right.lanes.iter().find(|lanes| lanes.peer == RegionId(0)).is_some_and(|lanes| lanes.mark > 0);
        assert_eq!(bodies(&right.answers[0]).contains(&nid), arrived, "tick {i}");
        assert!(bodies(&left.answers[0]).is_empty());
        let known = left.lanes.contains(&LaneMarks { peer: RegionId(1), acknowledged: 1, mark: 0 });
        assert_eq!(left.under_way.is_empty(), known, "tick {i}: until it is acknowledged");
        for group in &left.under_way {
            assert_eq!((group.to, group.sequence), (RegionId(1), 1));
            assert_eq!(bodies(&group.answers[0].1), [nid]);
        }
    }
    let arrives = parts.iter().position(|[_, right]| !bodies(&right.answers[0]).is_empty());
    let known = parts.iter().position(|[left, _]| left.under_way.is_empty());
    assert!(arrives.is_some_and(|at| at > 3) && known > arrives, "{arrives:?}, {known:?}");
}

#[test]
fn what_is_under_way_is_where_the_receiver_will_find_it() {
    let (_, parts) = parts_on_the_way(Policy::Aura);
    let met = |answer: &PartAnswer| match answer {
        PartAnswer::Ray(hit) => hit.map(|hit| hit.distance),
        other => panic!("{other:?}"),
    };
    let mut way = Vec::new();
    for [left, right] in &parts {
        let passing = left.under_way.first().and_then(|group| met(&group.answers.iter().find(|(i, _)| *i == 1)?.1));
        way.push(met(&right.answers[1]).or(passing).expect("it is always somewhere"));
    }
    for pair in way.windows(2) {
        assert!(
            (pair[1] - pair[0] - 0.1).abs() < 1e-3,
            "a tenth of a metre in every tick, on the lane or not: {way:?}"
        );
    }
    // A policy that does not catch bodies up leaves them where they were.
    let (_, parts) = parts_on_the_way(Policy::Exclusive);
    let waits: Vec<f32> = parts[..4].iter().filter_map(|[left, _]| met(&left.under_way[0].answers[1].1)).collect();
    assert!(waits.len() == 4 && waits.iter().all(|distance| *distance == waits[0]), "{waits:?}");
}

#[test]
fn more_than_a_tick_has_time_for_is_not_answered() {
    let mut world = empty_world();
    for i in 0..90 {
        add_ball(&mut world, -99.0 + 1.1 * f32::from(i as u8), 0.0);
    }
    let mut pair = Pair::new(world, |_| {});
    pair.run(5);
    ask(&mut pair, LEFT, batch(1, Tick(7), vec![everything(); 100]));
    ask(&mut pair, LEFT, batch(2, Tick(7), vec![everything(); 256]));
    ask(&mut pair, LEFT, batch(3, Tick(7), vec![ray(); 10]));
    for number in 10..30 {
        ask(&mut pair, LEFT, batch(number, Tick(8), vec![ray(); 256]));
    }
    pair.run(3);
    let told: Vec<(u64, bool)> =
        replies(&mut pair).iter().map(|(_, reply)| (reply.number, reply.found == Err(Unanswered::TooMuch))).collect();
    let refused = |from: u64| told.iter().filter(|(number, refused)| *number >= from && *refused).count();
    assert!(told.contains(&(1, false)) && told.contains(&(2, true)), "{told:?}");
    assert_eq!((refused(10), told.len()), (12, 23), "2,048 questions wait for one tick: {told:?}");
    assert!(pair.nodes[LEFT].counters().asks_too_much >= 13);
}

#[test]
fn nothing_is_answered_before_the_backup_has_the_tick() {
    let (mut cluster, _) = Cluster::new(-20.0, 3.0);
    cluster.run(10, |_| true);
    ask(&mut cluster.pair, LEFT, batch(1, Tick(14), vec![ray()]));
    cluster.run(10, |frame| !matches!(frame.content, Content::Kept(_)));
    assert_eq!(replies(&mut cluster.pair), []);
    cluster.run(3, |_| true);
    let told = replies(&mut cluster.pair);
    assert!(matches!(&told[..], [(_, Reply { at: Tick(14), found: Ok(_), .. })]), "{told:?}");
}

#[test]
fn questions_leave_no_trace() {
    let run = |asks: bool| {
        let mut world = empty_world();
        for i in 0..20 {
            add_ball(&mut world, -20.0 + 2.0 * f32::from(i as u8), 4.0);
        }
        let mut pair = Pair::new(world, |config| config.policy = Policy::Aura);
        for i in 0..120 {
            let soon = pair.tick + 2;
            if asks {
                for node in [LEFT, RIGHT] {
                    ask(&mut pair, node, batch(i, soon, vec![everything(), ray()]));
                }
            }
            pair.tick_with(|frame| usize::from(frame.tick.0 % 3 != 0));
        }
        [LEFT, RIGHT].map(|node| pair.nodes[node].state_hash())
    };
    assert_eq!(run(true), run(false));
}

//! Bodies from birth to death, as clients see them.

use crate::stage::{A, B, Stage, at, died, hosted};
use nimbus_model::{Nid, Tick, Vec3};
use nimbus_wire::Item;

#[test]
fn a_body_is_born_moves_changes_hands_and_dies() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    stage.say(A, hosted(7, 1, -2.0));
    stage.say(A, hosted(8, 1, -3.0));
    stage.step();
    stage.check_sight(viewer);
    let slot = stage.client(viewer).body(Nid(8)).unwrap().slot;

    stage.states(A, 102, &[(7, 1, -2.0), (8, 1, -1.0)]);
    stage.step();
    stage.check_sight(viewer);
    assert_eq!(stage.client(viewer).body(Nid(8)).unwrap().pose.position.x, -1.0);
    assert_eq!(stage.client(viewer).body(Nid(8)).unwrap().tick, Some(Tick(102)));
    assert_eq!(stage.client(viewer).body(Nid(7)).unwrap().tick, None, "what did not move is not mentioned");

    stage.say(B, hosted(8, 2, 0.5));
    stage.states(A, 110, &[(8, 1, -9.0)]);
    stage.step();
    let body = *stage.client(viewer).body(Nid(8)).unwrap();
    assert_eq!((body.slot, body.region, body.pose.position.x), (slot, B, 0.5));
    stage.check_sight(viewer);

    stage.say(B, died(8, 3));
    stage.states(B, 111, &[(8, 2, 1.0)]);
    stage.step();
    stage.states(B, 112, &[(8, 2, 1.0)]);
    stage.say(A, hosted(8, 2, 1.0));
    stage.step();
    assert!(stage.client(viewer).body(Nid(8)).is_none());
    stage.check_sight(viewer);
    assert_eq!(stage.client(viewer).dropped().records, 0);
}

#[test]
fn a_client_that_joins_late_sees_the_same() {
    let mut stage = Stage::new();
    let first = stage.join(1);
    for nid in 0..50 {
        stage.say(if nid % 2 == 0 { A } else { B }, hosted(nid, 1, nid as f32));
    }
    stage.step();
    stage.say(A, died(10, 2));
    stage.states(B, 101, &[(1, 1, 30.0), (3, 1, 31.0)]);
    stage.step();
    let second = stage.join(2);
    stage.say(A, hosted(99, 1, 5.0));
    stage.step();
    stage.check_sight(first);
    stage.check_sight(second);
    assert_eq!(stage.client(second).len(), 50);
    assert_eq!(stage.client(second).id(), Some(second));
    assert_eq!(stage.client(second).statics().len(), 1);
    assert_eq!(stage.client(second).map().len(), 2);
    assert_eq!(stage.client(second).scenes().len(), 2);
    assert_eq!(stage.client(second).clock(), Some((false, 1.0)));
    stage.states(A, 103, &[(0, 1, 7.0), (99, 1, 8.0)]);
    stage.step();
    stage.check_sight(first);
    stage.check_sight(second);
    assert_eq!(stage.client(second).body(Nid(99)).unwrap().pose.position, Vec3::new(8.0, 1.0, 0.0));
}

#[test]
fn a_newcomer_is_let_in_while_the_timeline_stands_still() {
    let mut stage = Stage::new();
    stage.say(A, hosted(1, 1, 0.0));
    stage.step();
    stage.gateway.set_clock(true, 0.5, 1.0);
    let viewer = stage.join(1);
    let mut out = nimbus_gateway::Outputs::default();
    stage.gateway.poll(&mut out);
    stage.deliver(out);
    stage.check_sight(viewer);
    assert_eq!(stage.client(viewer).clock(), Some((true, 0.5)));
    stage.tick();
    stage.tick();
    stage.check_sight(viewer);
    assert_eq!(stage.client(viewer).len(), 1);
}

#[test]
fn a_slot_that_is_used_again_within_a_step_stays_clean() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.say(A, hosted(1, 1, 1.0));
    stage.step();
    for round in 2..40 {
        stage.say(A, died(round - 1, 2));
        stage.say(A, hosted(round, 1, round as f32));
        stage.step();
        stage.check_sight(viewer);
    }
    assert!(stage.client(viewer).bodies().all(|body| body.slot < 2), "slots are used again");
    assert_eq!(stage.client(viewer).dropped().records, 0);
}

#[test]
fn rest_is_where_the_owner_says() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.say(A, hosted(1, 1, 0.0));
    stage.step();
    stage.states(A, 101, &[(1, 1, 0.5)]);
    stage.step();
    stage.say(A, Item::Rested { nid: Nid(1), body_epoch: 1, motion: at(0.625) });
    stage.step();
    assert_eq!(stage.client(viewer).body(Nid(1)).unwrap().pose.position.x, 0.625);
    assert!(stage.gateway.replica(Nid(1)).unwrap().sleeping);
}

#[test]
fn regions_at_different_ticks_are_told_apart() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.say(A, hosted(1, 1, 0.0));
    stage.say(B, hosted(2, 1, 0.0));
    stage.step();
    stage.states(A, 104, &[(1, 1, 0.5)]);
    stage.states(B, 103, &[(2, 1, 0.5)]);
    stage.step();
    let ticks: Vec<_> = stage.client(viewer).bodies().map(|body| body.tick).collect();
    assert_eq!(ticks, [Some(Tick(104)), Some(Tick(103))]);
}

//! A coordinator's desk by itself: which time it goes by.

use super::*;
use crate::cluster::stage::Stage;
use nimbus_control::{Join, Timeline};

const HOUR_US: i64 = 3_600_000_000;
/// A test may take so long.
const SLACK_US: u64 = 60_000_000;

/// A desk that leads.
fn desk(stage: &Stage) -> Desk {
    let (mut desk, _) = Desk::open(&stage.setup, &"c".parse().unwrap(), 7).unwrap();
    turn(&mut desk);
    assert!(desk.core.leads());
    desk
}

/// Does what there is to do, without the network.
fn turn(desk: &mut Desk) {
    desk.keep_time();
    desk.act(Input::Time, &mut drop);
    while let Some(word) = desk.store.hear() {
        desk.heed(word, &mut drop);
    }
}

/// The desk hears this from the node.
fn hear(desk: &mut Desk, post: &Post) {
    let received = Received { from: "n".parse().unwrap(), role: Role::Node, incarnation: 1, bytes: post.encode() };
    desk.hear(received, &mut drop);
}

/// The node joins, and the core says when tick 0 is due.
fn begin(desk: &mut Desk) -> Timeline {
    let address = "127.0.0.1:1".to_owned();
    let join = Join { name: "n".to_owned(), role: Part::Node, address, token: 3 };
    hear(desk, &Post::ToCoordinator(ToCoordinator::Join(join)));
    (0..4).for_each(|_| turn(desk));
    desk.core.roster().and_then(|roster| roster.timeline.clone()).expect("its only node is there")
}

#[test]
fn a_calendar_that_somebody_sets_is_not_shown_to_members() {
    let stage = Stage::new("desk-steps");
    let mut desk = desk(&stage);
    let before = desk.calendar_us().unwrap();
    for by_us in [HOUR_US, -HOUR_US] {
        Clock::set_calendar_ahead(by_us);
        turn(&mut desk);
        let shown = desk.calendar_us().unwrap();
        assert!((before..before + SLACK_US).contains(&shown), "{} us later", shown - before);
    }
    let start = begin(&mut desk).start_us();
    assert!((before..before + SLACK_US).contains(&start), "the core goes by the same time: {start} after {before}");
}

#[test]
fn a_coordinator_that_starts_again_goes_on_with_the_time_of_its_members() {
    let stage = Stage::new("desk-restarts");
    let mut first = desk(&stage);
    let before = first.calendar_us().unwrap();
    begin(&mut first);
    drop(first);
    Clock::set_calendar_ahead(HOUR_US);
    let mut second = desk(&stage);
    assert_eq!(second.calendar_us(), None, "it asks first");
    for _ in 0..20 {
        let (sent, told) = (second.clock.steady_us(), second.clock.steady_us().saturating_add_signed(-HOUR_US));
        hear(&mut second, &Post::ClockTold(sent, told));
    }
    turn(&mut second);
    let shown = second.calendar_us().unwrap();
    assert!((before..before + SLACK_US).contains(&shown), "{shown} after {before}");
}

#[test]
fn what_gateways_ask_at_once_is_carried_out_in_order_and_only_so_much_waits() {
    let stage = Stage::new("desk-asks");
    let mut desk = desk(&stage);
    begin(&mut desk);
    let ask = |desk: &mut Desk, number: u64, permille: u32| {
        let mut told = Vec::new();
        desk.take_ask("g".parse().unwrap(), number, Ask::Speed(permille), &mut |line| told.push(line));
    };
    ask(&mut desk, 1, 500);
    ask(&mut desk, 2, 250);
    assert!(desk.petition.is_some() && desk.asked.len() == 1, "the second waits");
    for _ in 0..8 {
        turn(&mut desk);
        desk.carry_on(&mut drop);
    }
    assert!(desk.petition.is_none() && desk.asked.is_empty());
    let paces: Vec<u32> =
        desk.core.roster().unwrap().timeline.as_ref().unwrap().paces().iter().map(|pace| pace.permille).collect();
    assert_eq!(paces, [1000, 500, 250]);
    (0..2 * ASKED_MAX as u64).for_each(|number| ask(&mut desk, number, 1000));
    assert_eq!(desk.asked.len(), ASKED_MAX, "the rest is refused");
}

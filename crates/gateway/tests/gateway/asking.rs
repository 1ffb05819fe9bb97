//! Questions that every region answers after one tick.

use nimbus_client::{Hits, Query, QueryAnswer, QueryFilter};
use nimbus_model::{ClientId, Nid, RegionId, Tick, Vec3};
use nimbus_space::PartitionMap;
use nimbus_wire::Content;
use nimbus_wire::ask::{Ask, Part, PartAnswer, Reply, Unanswered};
use nimbus_wire::client::{ClientRole, Hit};

use crate::stage::{A, B, Stage, hosted};

/// A region that has no place at first.
const C: RegionId = RegionId(2);

fn ray() -> Query {
    Query::Ray { origin: Vec3::Y, direction: Vec3::X, max: 50.0 }
}

fn ask(stage: &mut Stage, client: ClientId, at: Option<Tick>, questions: usize) {
    let queries = vec![ray(); questions];
    let text = match at {
        Some(at) => stage.client(client).query_servers_at(at, queries, QueryFilter::default()),
        None => stage.client(client).query_servers(queries, QueryFilter::default()),
    };
    stage.gateway.client_text(client, &text);
}

/// What a region met, at this distance.
fn met(ask: &Ask, nid: u64, distance: f32) -> Result<Part, Unanswered> {
    let hit = Hit { nid: Nid(nid), distance, point: Vec3::ZERO, normal: Vec3::Y };
    Ok(Part { answers: vec![PartAnswer::Ray(Some(hit)); ask.queries.len()], ..Part::default() })
}

fn reply(stage: &mut Stage, region: RegionId, ask: &Ask, found: Result<Part, Unanswered>) {
    let content = Content::Reply(Reply { number: ask.number, at: ask.at, found });
    stage.gateway.handle(stage.frame(region, content));
}

/// The one question that a region has been asked since the last call.
fn asked(stage: &mut Stage, region: RegionId) -> Ask {
    let asks: Vec<Ask> = stage.asks.iter().filter(|(to, _)| *to == region).map(|(_, ask)| ask.clone()).collect();
    let last = asks.last().expect("the region is asked").clone();
    assert!(asks.iter().all(|ask| *ask == last), "the same again: {asks:?}");
    stage.asks.retain(|(to, _)| *to != region);
    last
}

/// A stage where time runs, with a client.
fn stage() -> (Stage, ClientId) {
    let mut stage = Stage::new();
    let client = stage.join(1);
    stage.step();
    (stage, client)
}

fn refusal(stage: &mut Stage, client: ClientId) -> String {
    let answers = stage.client(client).take_answers();
    answers.last().expect("an answer").outcome.clone().expect_err("a refusal")
}

fn hits(stage: &mut Stage, client: ClientId) -> Hits {
    let hits = stage.client(client).take_hits();
    let [hits] = &hits[..] else { panic!("one answer, not {hits:?}") };
    hits.clone()
}

#[test]
fn all_regions_are_asked_for_a_tick_to_come_and_the_nearest_answer_wins() {
    let (mut stage, client) = stage();
    ask(&mut stage, client, None, 2);
    stage.step();
    let (to_a, to_b) = (asked(&mut stage, A), asked(&mut stage, B));
    assert_eq!(to_a, to_b);
    assert!(to_a.at > stage.now + 4, "time enough to hear of it");
    reply(&mut stage, A, &to_a, met(&to_a, 3, 5.0));
    reply(&mut stage, A, &to_a, met(&to_a, 3, 1.0));
    stage.step();
    assert!(stage.client(client).take_hits().is_empty(), "one region has not answered");
    reply(&mut stage, B, &to_a, met(&to_a, 4, 4.5));
    while stage.now < to_a.at + 2 {
        stage.step();
    }
    let hits = hits(&mut stage, client);
    assert_eq!((hits.seq, hits.tick, hits.missing.as_deref()), (Some(1), to_a.at, Some(&[][..])));
    assert!(matches!(&hits.answers[..], [QueryAnswer::Ray(Some(hit)), _] if hit.nid == Nid(4)), "{hits:?}");
    let counters = stage.gateway.counters();
    assert_eq!((counters.asks, counters.asks_incomplete, counters.replies_unknown), (1, 0, 1));
    stage.asks.clear();
    stage.step();
    assert!(stage.asks.is_empty(), "nobody is asked any more");
}

#[test]
fn a_question_from_before_the_first_tick_is_for_one_that_can_be_heard_of() {
    let mut stage = Stage::new();
    let client = stage.join(1);
    ask(&mut stage, client, None, 1);
    stage.step();
    let to_a = asked(&mut stage, A);
    assert!(to_a.at > stage.now + 4, "{} at {}", to_a.at, stage.now);
    for region in [A, B] {
        reply(&mut stage, region, &to_a, met(&to_a, 3, 5.0));
    }
    stage.step();
    assert_eq!(hits(&mut stage, client).missing, Some(vec![]));
}

#[test]
fn whoever_is_silent_is_asked_again_and_named_in_the_end() {
    let (mut stage, client) = stage();
    ask(&mut stage, client, None, 1);
    stage.step();
    let to_a = asked(&mut stage, A);
    reply(&mut stage, A, &to_a, met(&to_a, 3, 5.0));
    let (mut asked_b, mut waited) = (0, 0);
    let hits = loop {
        stage.step();
        waited += 1;
        assert!(waited < 100, "silence is no answer");
        assert!(stage.asks.iter().all(|(to, _)| *to == B), "one who has answered is left alone");
        asked_b += std::mem::take(&mut stage.asks).len();
        if let [hits] = &stage.client(client).take_hits()[..] {
            break hits.clone();
        }
    };
    assert!(asked_b > 10, "asked {asked_b} times");
    assert_eq!((hits.tick, hits.missing.as_deref()), (to_a.at, Some(&[B][..])));
    assert!(matches!(&hits.answers[..], [QueryAnswer::Ray(Some(hit))] if hit.nid == Nid(3)));
    assert_eq!(stage.gateway.counters().asks_incomplete, 1);
    // An answer that comes too late is for nobody.
    reply(&mut stage, B, &to_a, met(&to_a, 4, 1.0));
    stage.step();
    assert!(stage.client(client).take_hits().is_empty());
}

#[test]
fn a_tick_that_was_missed_is_replaced_by_a_later_one_a_few_times() {
    let (mut stage, client) = stage();
    ask(&mut stage, client, None, 1);
    let mut ticks = Vec::new();
    for _ in 0..3 {
        stage.step();
        let (to_a, to_b) = (asked(&mut stage, A), asked(&mut stage, B));
        ticks.push(to_a.at.since(stage.now));
        reply(&mut stage, A, &to_a, met(&to_a, 3, 5.0));
        reply(&mut stage, B, &to_b, Err(Unanswered::Missed));
    }
    stage.step();
    assert!(ticks[0] < ticks[1] && ticks[1] < ticks[2], "each farther ahead: {ticks:?}");
    assert_eq!(hits(&mut stage, client).missing, Some(vec![B]));
    assert_eq!(stage.gateway.counters().asks_again, 2);
    // For a tick of the client's own choice there is no other.
    let at = stage.now + 20;
    ask(&mut stage, client, Some(at), 1);
    stage.step();
    let (to_a, to_b) = (asked(&mut stage, A), asked(&mut stage, B));
    assert_eq!(to_a.at, at);
    reply(&mut stage, A, &to_a, Err(Unanswered::Missed));
    reply(&mut stage, B, &to_b, met(&to_b, 3, 5.0));
    stage.step();
    assert_eq!(hits(&mut stage, client).missing, Some(vec![A]));
}

#[test]
fn refusals_have_reasons() {
    let (mut stage, client) = stage();
    let viewer = stage.join_as(2, ClientRole::Viewer);
    ask(&mut stage, viewer, None, 1);
    stage.step();
    assert!(refusal(&mut stage, viewer).contains("player"));
    for (at, part) in [(stage.now, "is past"), (stage.now + 601, "too far ahead")] {
        ask(&mut stage, client, Some(at), 1);
        stage.tick();
        assert!(refusal(&mut stage, client).contains(part));
    }
    // More than a server has time for.
    ask(&mut stage, client, None, 1);
    stage.step();
    let to_a = asked(&mut stage, A);
    reply(&mut stage, A, &to_a, met(&to_a, 3, 5.0));
    reply(&mut stage, B, &to_a, Err(Unanswered::TooMuch));
    stage.step();
    assert!(refusal(&mut stage, client).contains("ask for less"));
    // A stop of the clock, or another world, ends what is under way.
    ask(&mut stage, client, None, 1);
    stage.gateway.set_clock(true, 1.0, 1.0);
    stage.step();
    assert!(refusal(&mut stage, client).contains("time was stopped"));
    ask(&mut stage, client, None, 1);
    stage.step();
    assert!(refusal(&mut stage, client).contains("time stands still"));
    stage.gateway.set_clock(false, 1.0, 1.0);
    ask(&mut stage, client, None, 1);
    stage.gateway.load(crate::stage::world(), 2, crate::stage::map(), stage.now.next());
    stage.era = 2;
    stage.step();
    assert!(refusal(&mut stage, client).contains("loaded anew"));
}

/// The map after that of the stage, in which half of what B has is C's.
fn map_with_c(effective: Tick) -> PartitionMap {
    crate::stage::map().split(2, (0, 25.0), C, 10.0, effective).expect("there is room for a third")
}

/// Runs until there is an answer; says whom the gateway asked from the next tick on.
fn answer(stage: &mut Stage, client: ClientId) -> (Hits, Vec<RegionId>) {
    let mut asked = Vec::new();
    for _ in 0..200 {
        stage.step();
        asked.extend(std::mem::take(&mut stage.asks).into_iter().map(|(to, _)| to));
        if let [hits] = &stage.client(client).take_hits()[..] {
            return (hits.clone(), asked);
        }
    }
    panic!("silence is no answer");
}

#[test]
fn whoever_gets_a_place_before_the_tick_is_asked_at_once_and_named_when_silent() {
    let (mut stage, client) = stage();
    let at = stage.now + 40;
    ask(&mut stage, client, Some(at), 1);
    stage.step();
    let to_a = asked(&mut stage, A);
    for region in [A, B] {
        reply(&mut stage, region, &to_a, met(&to_a, 3, 5.0));
    }
    stage.asks.clear();
    stage.gateway.set_map(map_with_c(stage.now + 10));
    stage.step();
    assert_eq!(asked(&mut stage, C), to_a);
    let (hits, asked) = answer(&mut stage, client);
    assert!(asked.iter().all(|to| *to == C), "nobody else is silent: {asked:?}");
    assert_eq!((hits.tick, hits.missing), (to_a.at, Some(vec![C])));
    assert!(stage.now > to_a.at + 59, "it was waited for");
}

#[test]
fn whoever_gets_a_place_after_the_tick_is_not_waited_for() {
    let (mut stage, client) = stage();
    let at = stage.now + 10;
    ask(&mut stage, client, Some(at), 1);
    stage.step();
    let to_a = asked(&mut stage, A);
    stage.gateway.set_map(map_with_c(to_a.at + 1));
    for region in [A, B] {
        reply(&mut stage, region, &to_a, met(&to_a, 3, 5.0));
    }
    stage.step();
    assert_eq!(hits(&mut stage, client).missing, Some(vec![]));
    // Whoever is about to get one is asked with all others.
    ask(&mut stage, client, None, 1);
    stage.step();
    assert_eq!(asked(&mut stage, A), asked(&mut stage, C));
}

#[test]
fn whoever_lost_its_place_is_asked_as_long_as_it_may_make_bodies() {
    let (mut stage, client) = stage();
    let three = map_with_c(stage.now.next());
    let two = three.merge(2, stage.now + 2).expect("B has both");
    stage.gateway.set_map(three);
    stage.step();
    stage.gateway.set_map(two);
    stage.step();
    assert_eq!(stage.gateway.map().regions(), [A, B]);
    for (wait, is_asked) in [(600, true), (100, false)] {
        (0..wait).for_each(|_| stage.step());
        stage.asks.clear();
        ask(&mut stage, client, None, 1);
        stage.step();
        assert_eq!(stage.asks.iter().any(|(to, _)| *to == C), is_asked, "after {wait} more ticks");
    }
}

#[test]
fn bodies_make_a_region_one_to_ask_wherever_they_come_from() {
    let (mut stage, client) = stage();
    ask(&mut stage, client, None, 1);
    stage.step();
    let to_a = asked(&mut stage, A);
    for region in [A, B] {
        reply(&mut stage, region, &to_a, met(&to_a, 3, 5.0));
    }
    stage.say(C, hosted(8, 1, 4.0));
    stage.step();
    assert_eq!(asked(&mut stage, C), to_a);
    // It had run the tick already, so another one is tried, and it is among those who are asked for that.
    reply(&mut stage, C, &to_a, Err(Unanswered::Missed));
    stage.asks.clear();
    stage.step();
    let later = asked(&mut stage, C);
    assert!(later.at > to_a.at);
    for region in [A, B, C] {
        reply(&mut stage, region, &later, met(&later, 3, 5.0));
    }
    stage.step();
    assert_eq!(hits(&mut stage, client).missing, Some(vec![]));
}

#[test]
fn what_is_under_way_is_bounded_and_spread_over_ticks() {
    let (mut stage, client) = stage();
    let other = stage.join(2);
    for _ in 0..9 {
        ask(&mut stage, client, None, 256);
    }
    stage.step();
    assert!(refusal(&mut stage, client).contains("are under way"), "eight at a time");
    let mut at: Vec<u64> = stage.asks.iter().filter(|(to, _)| *to == A).map(|(_, ask)| ask.at.0).collect();
    at.sort_unstable();
    assert_eq!((at.len(), at[3], at[4]), (8, at[0], at[0] + 1), "four times 256 questions fit into a tick");
    ask(&mut stage, other, Some(Tick(at[0])), 1);
    stage.tick();
    assert!(refusal(&mut stage, other).contains("too many questions"));
    // Eight times 16 and one commands are paid for, and a moment later the rest are.
    for _ in 0..30 {
        ask(&mut stage, other, None, 256);
        stage.gateway.disconnect(other);
        stage.gateway.connect(other, ClientRole::Player).expect("there is room");
    }
    stage.asks.clear();
    stage.step();
    assert!(stage.asks.len() < 20, "nobody asks for those who are gone");
}

#[test]
fn answers_to_something_else_are_not_taken() {
    let (mut stage, client) = stage();
    ask(&mut stage, client, None, 2);
    stage.step();
    let to_a = asked(&mut stage, A);
    let short = Part { answers: vec![PartAnswer::Ray(None)], ..Part::default() };
    reply(&mut stage, A, &to_a, Ok(short));
    reply(&mut stage, A, &Ask { at: to_a.at + 1, ..to_a.clone() }, met(&to_a, 3, 1.0));
    reply(&mut stage, A, &Ask { number: 99, ..to_a.clone() }, met(&to_a, 3, 1.0));
    reply(&mut stage, RegionId(7), &to_a, met(&to_a, 3, 1.0));
    assert_eq!(stage.gateway.counters().replies_unknown, 4);
    reply(&mut stage, A, &to_a, met(&to_a, 3, 5.0));
    reply(&mut stage, B, &to_a, met(&to_a, 4, 6.0));
    stage.step();
    assert_eq!(hits(&mut stage, client).missing, Some(vec![]));
}

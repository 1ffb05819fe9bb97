//! A session fed by hand.

use super::*;
use nimbus_model::{BodyKind, ClientId, Origin, RegionId, Tick, Vec3};
use nimbus_wire::Factor;
use nimbus_wire::client::bodies::Create;
use nimbus_wire::client::{Authority, BreachNews, ClientRole, Hits, Query, QueryFilter, TouchNews};
use nimbus_wire::stream::{BodyState, StreamConfig, StreamEncoder};
use proptest::prelude::*;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn welcome(session: &mut Session) {
    let welcome = ToClient::Welcome { protocol: 1, client: ClientId(3), role: ClientRole::Player, scenes: Vec::new() };
    session.handle_text(&welcome.to_text(), ms(0));
    session.handle_text(&ToClient::world(&nimbus_model::World::new("hall"), 1).to_text(), ms(0));
}

fn live() -> Session {
    let mut session = Session::new(SessionConfig::default());
    welcome(&mut session);
    events(&mut session);
    session
}

fn events(session: &mut Session) -> Vec<Event> {
    std::iter::from_fn(|| session.next_event()).collect()
}

fn create(session: &mut Session, slot: u32, nid: u64) {
    let (region, kind, pose) = (RegionId(0), BodyKind::Dynamic, Pose::IDENTITY);
    let body = Create { slot, nid: Nid(nid), shape: 0, region, kind, sensor: false, pose };
    let mut bytes = Vec::new();
    bodies::encode_create([body].into_iter(), &mut bytes);
    session.handle_binary(&bytes, ms(0));
}

fn state(session: &mut Session, tick: u64, slot: u32, position: Vec3) {
    let mut bytes = Vec::new();
    bodies::encode_state(Tick(tick), [(slot, Pose::at(position))].into_iter(), &mut bytes);
    session.handle_binary(&bytes, ms(tick * 1000 / 60));
}

#[test]
fn bodies_are_born_handed_over_and_die_in_order() {
    let mut session = Session::new(SessionConfig::default());
    welcome(&mut session);
    create(&mut session, 4, 9);
    let mut bytes = Vec::new();
    bodies::encode_owner([(4, RegionId(2)), (5, RegionId(1))].into_iter(), &mut bytes);
    session.handle_binary(&bytes, ms(1));
    create(&mut session, 4, 10);
    bytes.clear();
    bodies::encode_destroy(&[4, 5], &mut bytes);
    session.handle_binary(&bytes, ms(2));
    let (one, two) = (Nid(9), Nid(10));
    assert_eq!(
        events(&mut session),
        [
            Event::Connected { client: ClientId(3), role: ClientRole::Player },
            Event::Loaded { era: 1, name: "hall".to_owned() },
            Event::Born { nid: one },
            Event::HandedOver { nid: one, from: RegionId(0), to: RegionId(2) },
            Event::Died { nid: one },
            Event::Born { nid: two },
            Event::Died { nid: two },
        ]
    );
    assert!(session.client().is_empty() && session.pose_at(two, ms(3)).is_none());
}

#[test]
fn answers_find_what_was_asked() {
    let mut session = live();
    let query = FromClient::Query {
        queries: vec![Query::Nearest { position: Vec3::ZERO, max: 1.0 }],
        filter: QueryFilter::default(),
        authority: Authority::Gateway,
    };
    let (first, _) = session.ask(&FromClient::Reset, ms(0)).unwrap();
    let (second, text) = session.ask(&query, ms(0)).unwrap();
    let (third, _) = session.ask(&FromClient::Despawn { nid: Nid(5) }, ms(0)).unwrap();
    assert_eq!(FromClient::parse(&text).unwrap().seq, Some(second));
    let hits = Hits { seq: Some(second), tick: Tick(8), age: 1, answers: Vec::new(), missing: None };
    session.handle_text(&ToClient::Hits(hits.clone()).to_text(), ms(5));
    session.handle_text(&ToClient::Refused { seq: Some(first), reason: "no".to_owned() }.to_text(), ms(6));
    session.handle_text(&ToClient::Done { seq: Some(99), nid: None }.to_text(), ms(6));
    assert_eq!(
        session.take_settled(),
        [
            Settled { seq: second, outcome: Ok(Answered::Hits(hits)) },
            Settled { seq: first, outcome: Err(AskError::Refused("no".to_owned())) },
        ]
    );
    session.advance(ms(9_999));
    assert!(session.take_settled().is_empty());
    session.advance(ms(10_000));
    assert_eq!(session.take_settled(), [Settled { seq: third, outcome: Err(AskError::Silent) }]);
}

#[test]
fn nothing_waits_for_a_gateway_that_is_gone_and_not_too_much_for_one_that_is_not() {
    let config = SessionConfig { pending_max: 2, ..SessionConfig::default() };
    let mut session = Session::new(config);
    assert_eq!(session.ask(&FromClient::Reset, ms(0)), Err(AskError::Lost));
    welcome(&mut session);
    assert!(session.ask(&FromClient::Reset, ms(0)).is_ok() && session.ask(&FromClient::Reset, ms(0)).is_ok());
    assert_eq!(session.ask(&FromClient::Reset, ms(0)), Err(AskError::TooMany));
    session.lost("it broke");
    assert_eq!(session.take_settled().len(), 2);
    assert_eq!(session.ask(&FromClient::Reset, ms(0)), Err(AskError::Lost));
    assert_eq!(events(&mut session).pop(), Some(Event::Lost { reason: "it broke".to_owned() }));
}

#[test]
fn a_subscription_outlives_a_gateway() {
    let mut session = live();
    assert_eq!(session.subscription().count(), 0);
    session.subscribe(&[Overlay::Breaches]);
    session.lost("it broke");
    welcome(&mut session);
    let watch = FromClient::Watch(Watch::around(Vec3::ZERO, 50.0));
    assert!(session.ask(&watch, Duration::ZERO).is_ok());
    let touches = FromClient::Touches { of: TouchesOf::Everything };
    assert!(session.ask(&touches, Duration::ZERO).is_ok());
    let overlays = FromClient::Overlays { on: vec![Overlay::Breaches] };
    assert_eq!(session.subscription().collect::<Vec<_>>(), [overlays, watch, touches]);
}

#[test]
fn touches_are_events() {
    let mut session = live();
    events(&mut session);
    let touch = TouchNews { tick: Tick(9), one: Nid(3), two: Nid(5), began: true };
    session.handle_text(&ToClient::Touches { touches: vec![touch], left_out: 2 }.to_text(), ms(0));
    assert_eq!(events(&mut session), [Event::Touched(touch), Event::TouchesLeftOut(2)]);
}

#[test]
fn a_breach_is_told_once() {
    let mut session = live();
    let breach = |tick| BreachNews {
        tick: Tick(tick),
        region: RegionId(0),
        factor: Factor::Speed,
        value: 9.0,
        limit: 8.0,
        bodies: vec![Nid::new(Origin(0), 4)],
    };
    let tell = |session: &mut Session, recent| {
        session.handle_text(&ToClient::Breaches { total: 2, recent }.to_text(), ms(0));
        events(session)
    };
    assert_eq!(tell(&mut session, vec![breach(1)]), [Event::Breach(breach(1))]);
    assert_eq!(tell(&mut session, vec![breach(1), breach(2)]), [Event::Breach(breach(2))]);
    assert_eq!(tell(&mut session, vec![breach(2)]), []);
}

#[test]
fn the_clock_is_told_when_it_changes() {
    let mut session = live();
    let clock = ToClient::Clock { paused: true, speed: 0.5, dilation: 0.8 };
    session.handle_text(&clock.to_text(), ms(0));
    session.handle_text(&clock.to_text(), ms(1));
    assert_eq!(events(&mut session), [Event::Clock { paused: true, speed: 0.5, dilation: 0.8 }]);
}

#[test]
fn bodies_are_shown_between_the_states_that_came() {
    let mut session = live();
    create(&mut session, 1, 1);
    for tick in 1..=60 {
        state(&mut session, tick, 1, Vec3::X * tick as f32);
        session.advance(ms(tick * 1000 / 60));
    }
    let now = ms(1000);
    let (head, newest) = (session.head().unwrap() as f32, session.client().body(Nid(1)).unwrap().pose.position.x);
    let shown = session.pose_at(Nid(1), now).unwrap().position.x;
    assert!((shown - head).abs() < 0.05, "{shown} at {head}");
    assert!(newest == 60.0 && shown < newest - 0.5 && shown > newest - 4.0, "{shown} of {newest}");
    let all: Vec<(Nid, f32)> = session.poses_at(now).map(|(body, pose)| (body.nid, pose.position.x)).collect();
    assert_eq!(all, [(Nid(1), shown)]);
    assert!(session.delay() > Duration::ZERO && session.jitter() < ms(5));
}

#[test]
fn a_ticket_is_kept_for_the_next_time() {
    let mut session = live();
    assert_eq!(session.tickets().take(), None);
    session.handle_text(&ToClient::Ticket { token: "v1.t".to_owned() }.to_text(), ms(0));
    assert_eq!(session.client().role(), Some(ClientRole::Player));
    assert_eq!((session.tickets().unspent(), session.tickets().take().as_deref()), (1, Some("v1.t")));
}

fn around(range: f32) -> FromClient {
    FromClient::Watch(Watch::around(Vec3::ZERO, range))
}

/// Asks, and lets the gateway answer.
fn answered(session: &mut Session, command: &FromClient, is_granted: bool) {
    let (seq, _) = session.ask(command, ms(0)).unwrap();
    let answer = match is_granted {
        true => ToClient::Done { seq: Some(seq), nid: None },
        false => ToClient::Refused { seq: Some(seq), reason: "no".to_owned() },
    };
    session.handle_text(&answer.to_text(), ms(0));
}

#[test]
fn a_view_that_is_refused_leaves_everything_as_it_was() {
    let mut session = live();
    answered(&mut session, &around(0.0), false);
    assert!(!session.playback.is_sparse && !session.is_watching(), "the gateway goes on telling everything");
    assert_eq!(session.subscription().count(), 0);
    answered(&mut session, &around(50.0), true);
    answered(&mut session, &around(0.0), false);
    assert!(session.playback.is_sparse && session.is_watching());
    assert_eq!(session.subscription().collect::<Vec<_>>(), [around(50.0)]);
    // Another gateway may refuse what this one has granted, and tells everything then. The one after it is asked again.
    session.lost("it broke");
    welcome(&mut session);
    answered(&mut session, &around(50.0), false);
    assert!(!session.playback.is_sparse);
    assert_eq!(session.subscription().collect::<Vec<_>>(), [around(50.0)]);
}

#[test]
fn what_is_chosen_while_there_is_no_gateway_is_asked_of_the_next() {
    let touches = |nid| FromClient::Touches { of: TouchesOf::bodies([Nid(nid)]) };
    let mut session = live();
    answered(&mut session, &around(50.0), true);
    answered(&mut session, &touches(1), true);
    session.lost("it broke");
    assert_eq!(session.ask(&around(80.0), ms(0)), Err(AskError::Lost));
    assert_eq!(session.ask(&touches(2), ms(0)), Err(AskError::Lost));
    welcome(&mut session);
    let wanted: Vec<FromClient> = session.subscription().collect();
    assert_eq!(wanted, [around(50.0), around(80.0), touches(1), touches(2)], "what is known to be good, and the new");
    for command in &wanted {
        answered(&mut session, command, true);
    }
    assert_eq!(session.subscription().collect::<Vec<_>>(), [around(80.0), touches(2)]);
    session.lost("it broke");
    assert_eq!(session.ask(&FromClient::Touches { of: TouchesOf::NONE }, ms(0)), Err(AskError::Lost));
    assert_eq!(session.subscription().collect::<Vec<_>>(), [around(80.0)]);
}

#[test]
fn a_body_that_settles_in_the_last_packet_is_not_shown_beyond() {
    let mut session = live();
    create(&mut session, 1, 1);
    answered(&mut session, &around(50.0), true);
    let mut encoder = StreamEncoder::reliable(StreamConfig::default());
    let mut furthest = 0.0f32;
    for tick in 1..=240 {
        // It runs into a wall at 6 m/s. With that, nothing moves any more and nothing is sent.
        if tick % 3 == 0 && tick <= 120 {
            let place = Vec3::X * 0.1 * (tick.min(118) as f32 - 118.0);
            let body = BodyState { slot: 1, pose: Pose::at(place), at_rest: tick == 120 };
            let mut bytes = Vec::new();
            bodies::encode_packed(Tick(tick), &mut bytes, |bytes| encoder.encode_next(&[body], bytes)).unwrap();
            session.handle_binary(&bytes, ms(tick * 1000 / 60));
        }
        furthest = furthest.max(session.pose_at(Nid(1), ms(tick * 1000 / 60 + 7)).unwrap().position.x);
    }
    assert!(session.client().body(Nid(1)).unwrap().at_rest);
    assert!(furthest < 0.01, "{furthest} m inside the wall");
}

proptest! {
    #[test]
    fn rubbish_never_panics(
        messages in prop::collection::vec((0u8..9, 0u8..4, prop::collection::vec(any::<u8>(), 0..120)), 0..12),
    ) {
        let mut session = live();
        create(&mut session, 0, 1);
        for (at, (kind, count, bytes)) in messages.iter().enumerate() {
            let mut framed = vec![*kind, 0, 0, 0, *count, 0, 0, 0];
            framed.extend(bytes);
            session.handle_binary(&framed, ms(at as u64 * 10));
            session.handle_text(&String::from_utf8_lossy(bytes), ms(at as u64 * 10));
            let known = session.client().len();
            prop_assert_eq!(session.poses_at(ms(at as u64 * 10 + 5)).count(), known);
        }
    }

    #[test]
    fn wild_ticks_never_panic(ticks in prop::collection::vec(any::<u64>(), 1..20), gap in 0u64..2000) {
        let mut session = live();
        create(&mut session, 0, 1);
        for (at, tick) in ticks.iter().enumerate() {
            let mut bytes = Vec::new();
            bodies::encode_state(Tick(*tick), [(0, Pose::at(Vec3::X))].into_iter(), &mut bytes);
            session.handle_binary(&bytes, ms(at as u64 * gap));
            let shown = session.pose_at(Nid(1), ms(at as u64 * gap + 7)).unwrap();
            prop_assert!(shown.is_valid(), "{:?}", shown);
        }
    }
}

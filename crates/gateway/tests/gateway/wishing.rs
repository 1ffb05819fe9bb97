//! What a gateway asks regions to tell, what clients hear of touches, and gateways that answer questions only.

use nimbus_client::{Client, TouchNews, TouchesOf, Watch};
use nimbus_gateway::{GatewayConfig, Serves};
use nimbus_model::{ClientId, Nid, Tick, Vec3};
use nimbus_wire::client::{ClientRole, Query, QueryFilter};
use nimbus_wire::{GatewayId, Item, Places, Touch, Touches, WantedTouches};

use crate::stage::{A, B, Stage, hosted};

/// Long enough for a wish to shrink.
const LONG: u64 = 200;

fn watcher(stage: &mut Stage, client: u32, x: f32, range: f32) -> ClientId {
    let id = ClientId(client);
    stage.gateway.connect_watching(id, ClientRole::Viewer).expect("there is room");
    stage.clients.insert(id, Client::new());
    let text = stage.client(id).watch(Watch::around(Vec3::new(x, 1.0, 0.0), range));
    stage.gateway.client_text(id, &text);
    id
}

fn run(stage: &mut Stage, ticks: u64) {
    for _ in 0..ticks {
        stage.step();
    }
}

/// What every region was asked for, which is the same of all.
fn wanted(stage: &Stage) -> Places {
    assert_eq!(stage.wishes.keys().copied().collect::<Vec<_>>(), [A, B]);
    assert_eq!(stage.wishes[&A], stage.wishes[&B]);
    stage.wishes[&A].motion.clone()
}

#[test]
fn regions_are_asked_for_what_clients_look_at() {
    let mut stage = Stage::new();
    stage.step();
    assert_eq!(wanted(&stage), Places::Within(vec![]), "nobody is there");
    watcher(&mut stage, 1, 10.0, 8.0);
    stage.step();
    let places = wanted(&stage);
    assert!(places.hold(Vec3::new(17.0, 1.0, 0.0)) && !places.hold(Vec3::new(40.0, 1.0, 0.0)));
    watcher(&mut stage, 2, -60.0, 8.0);
    stage.step();
    let places = wanted(&stage);
    assert!(places.hold(Vec3::new(-60.0, 1.0, 0.0)) && places.hold(Vec3::new(10.0, 1.0, 0.0)));
    let all = stage.join(3);
    stage.step();
    assert_eq!(wanted(&stage), Places::Everywhere, "somebody sees everything");
    stage.gateway.disconnect(all);
    stage.gateway.disconnect(ClientId(2));
    stage.step();
    assert_eq!(wanted(&stage), Places::Everywhere, "for a while");
    run(&mut stage, LONG);
    let places = wanted(&stage);
    assert!(places.hold(Vec3::new(10.0, 1.0, 0.0)) && !places.hold(Vec3::new(-60.0, 1.0, 0.0)));
}

#[test]
fn whoever_asks_what_is_where_may_ask_anywhere() {
    let mut stage = Stage::new();
    let client = watcher(&mut stage, 1, 10.0, 8.0);
    stage.say(A, hosted(7, 1, -50.0));
    run(&mut stage, LONG);
    assert_ne!(wanted(&stage), Places::Everywhere);
    let nearest = Query::Nearest { position: Vec3::new(-50.0, 1.0, 0.0), max: 5.0 };
    let text = stage.client(client).query(vec![nearest], QueryFilter { statics: false, ..QueryFilter::default() });
    stage.gateway.client_text(client, &text);
    stage.step();
    let hits = stage.client(client).take_hits().remove(0);
    assert!(hits.age >= LONG - 5, "it moved when it was heard of, and that was long ago: {}", hits.age);
    assert_eq!(wanted(&stage), Places::Everywhere, "from now on it is better known");
}

#[test]
fn clients_that_listen_hear_of_touches() {
    let mut stage = Stage::new();
    let (all, some, none) = (stage.join(1), stage.join(2), stage.join(3));
    stage.step();
    assert!(stage.wishes.is_empty(), "everything but touches is told unasked");
    for (client, of) in [(all, TouchesOf::Everything), (some, TouchesOf::bodies([Nid(9)]))] {
        let text = stage.client(client).touches(of);
        stage.gateway.client_text(client, &text);
    }
    stage.step();
    assert!([A, B].iter().all(|region| stage.wishes[region].touches == WantedTouches::All));
    let touch = |one, two| Touch { tick: Tick(90), one: Nid(one), two: Nid(two), began: true };
    stage.say(A, Item::Touches(Touches { touches: vec![touch(1, 2)], left_out: 0 }));
    stage.say(B, Item::Touches(Touches { touches: vec![touch(2, 9)], left_out: 3 }));
    stage.step();
    let news = |one, two| TouchNews::from(touch(one, two));
    assert_eq!(stage.client(all).take_touches(), (vec![news(1, 2), news(2, 9)], 3));
    assert_eq!(stage.client(some).take_touches(), (vec![news(2, 9)], 3));
    assert_eq!(stage.client(none).take_touches(), (vec![], 0));
    let text = stage.client(all).touches(TouchesOf::NONE);
    stage.gateway.client_text(all, &text);
    run(&mut stage, LONG);
    assert_eq!(stage.wishes[&A].touches, WantedTouches::Of(vec![Nid(9)]), "only of the body that somebody named");
    stage.gateway.disconnect(some);
    run(&mut stage, LONG);
    assert_eq!(stage.wishes[&A].touches, WantedTouches::None, "nobody listens any more");
}

#[test]
fn a_gateway_for_questions_shows_nothing_and_answers() {
    let serves = Serves::Questions;
    let mut stage = Stage::with(GatewayConfig { id: GatewayId(3), serves, ..GatewayConfig::default() });
    let client = stage.join(1);
    stage.say(A, hosted(7, 1, -5.0));
    run(&mut stage, 3);
    assert!(stage.wishes.is_empty(), "it is told everything");
    assert!(stage.client(client).is_empty() && stage.client(client).world().is_some());
    let nearest = Query::Nearest { position: Vec3::new(-5.0, 1.0, 0.0), max: 5.0 };
    for text in [
        stage.client(client).query(vec![nearest], QueryFilter { statics: false, ..QueryFilter::default() }),
        stage.client(client).inspect(Nid(7)),
        stage.client(client).watch(Watch::around(Vec3::ZERO, 50.0)),
        stage.client(client).reset(),
        stage.client(client).touches(TouchesOf::Everything),
    ] {
        stage.gateway.client_text(client, &text);
    }
    stage.step();
    assert_eq!(stage.client(client).take_hits().len(), 1);
    assert_eq!(stage.client(client).take_cards().len(), 1);
    let answers = stage.client(client).take_answers();
    let refused = |answer: &nimbus_client::Answer| {
        answer.outcome.as_ref().is_err_and(|reason| reason.contains("answers questions and nothing else"))
    };
    assert_eq!(answers.iter().filter(|answer| refused(answer)).count(), 3, "{answers:?}");
    assert!(stage.requests.is_empty() && stage.client(client).is_empty());
}

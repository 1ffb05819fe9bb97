//! Questions about what is where, their age, and what they cost.

use crate::stage::{A, B, Stage, at, died, hosted};
use nimbus_client::{Answer, Hits, Query, QueryAnswer, QueryFilter};
use nimbus_gateway::{GatewayConfig, Outputs};
use nimbus_model::{ClientId, Nid, Pose, Shape, Tick, Vec3};
use nimbus_wire::{GatewayId, Item};

/// A ray from above, down to the ground at height 0.
fn down(x: f32) -> Query {
    Query::Ray { origin: Vec3::new(x, 9.0, 0.0), direction: Vec3::NEG_Y, max: 50.0 }
}

/// Asks between two ticks; the answer needs no tick.
fn ask(stage: &mut Stage, client: ClientId, queries: Vec<Query>, filter: QueryFilter) {
    let text = stage.client(client).query(queries, filter);
    stage.gateway.client_text(client, &text);
    let mut out = Outputs::default();
    stage.gateway.poll(&mut out);
    stage.deliver(out);
}

fn answered(stage: &mut Stage, client: ClientId, queries: Vec<Query>) -> Hits {
    ask(stage, client, queries, QueryFilter::default());
    let mut hits = stage.client(client).take_hits();
    assert_eq!(hits.len(), 1, "{:?}", stage.client(client).take_answers());
    hits.remove(0)
}

/// What a ray from above meets at some place, and how far down.
fn below(stage: &mut Stage, client: ClientId, x: f32) -> (Nid, f32) {
    match &answered(stage, client, vec![down(x)]).answers[..] {
        [QueryAnswer::Ray(Some(hit))] => (hit.nid, hit.distance),
        other => panic!("{other:?}"),
    }
}

fn ground(era: u16) -> Nid {
    Nid::of_world(era, 0)
}

#[test]
fn questions_are_answered_from_what_is_known() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    // Balls of radius 0.25, 0.5 and 0.75 at height 1.
    stage.say(A, hosted(3, 1, -4.0));
    stage.say(B, hosted(4, 1, 4.0));
    stage.say(B, hosted(5, 1, 5.0));
    stage.step();
    let ball = Shape::ball(0.5);
    let queries = vec![
        down(-4.0),
        down(20.0),
        Query::Ray { origin: Vec3::new(0.0, 1.0, 0.0), direction: Vec3::Y, max: 10.0 },
        Query::Cast { shape: ball.clone(), pose: Pose::at(Vec3::Y), direction: Vec3::X * 3.0, max: 50.0 },
        Query::Overlap { shape: Shape::ball(2.0), pose: Pose::at(Vec3::new(4.5, 3.0, 0.0)) },
        Query::Nearest { position: Vec3::new(-4.0, 2.0, 0.0), max: 5.0 },
    ];
    let Hits { seq, tick, age, answers, missing } = answered(&mut stage, viewer, queries);
    assert_eq!((seq, tick, age, missing), (Some(1), Tick(100), 1, None), "regions spoke at tick 100");
    let [ray, miss, up, cast, overlap, nearest] = &answers[..] else { panic!("{answers:?}") };
    assert!(matches!(ray, QueryAnswer::Ray(Some(hit)) if hit.nid == Nid(3) && (hit.distance - 7.75).abs() < 1e-4));
    assert!(matches!(miss, QueryAnswer::Ray(Some(hit)) if hit.nid == ground(1) && hit.normal == Vec3::Y));
    assert_eq!(up, &QueryAnswer::Ray(None));
    assert!(matches!(cast, QueryAnswer::Cast(Some(hit)) if hit.nid == Nid(4) && (hit.distance - 3.0).abs() < 1e-2));
    assert!(matches!(overlap, QueryAnswer::Overlap(found) if found.bodies == [Nid(4), Nid(5)] && found.total == 2));
    assert!(matches!(nearest, QueryAnswer::Nearest(Some(near)) if near.nid == Nid(3) && near.distance == 0.75));

    // The ground left out, and a body that asks about others.
    let filter = QueryFilter { statics: false, except: Some(Nid(3)), ..QueryFilter::default() };
    ask(&mut stage, viewer, vec![down(-4.0)], filter);
    assert_eq!(stage.client(viewer).take_hits()[0].answers, [QueryAnswer::Ray(None)]);
    assert_eq!(stage.gateway.counters().queries, 7);
}

#[test]
fn answers_follow_the_bodies() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.say(A, hosted(3, 1, -4.0));
    stage.step();
    assert_eq!(below(&mut stage, viewer, -4.0).0, Nid(3));
    stage.states(A, 101, &[(3, 1, -9.0)]);
    stage.say(A, hosted(4, 1, -6.0));
    stage.step();
    assert_eq!(below(&mut stage, viewer, -4.0).0, ground(1));
    assert_eq!(below(&mut stage, viewer, -9.0).0, Nid(3));
    assert_eq!(below(&mut stage, viewer, -6.0).0, Nid(4));
    // A change of owner is not a change of body.
    stage.say(B, hosted(3, 2, 8.0));
    stage.say(A, died(4, 1));
    stage.step();
    assert_eq!(below(&mut stage, viewer, 8.0).0, Nid(3));
    assert_eq!(below(&mut stage, viewer, -9.0).0, ground(1));
    assert_eq!(below(&mut stage, viewer, -6.0).0, ground(1));
    // Born and dead between two ticks.
    stage.say(A, hosted(6, 1, -6.0));
    stage.say(A, died(6, 1));
    stage.step();
    assert_eq!(below(&mut stage, viewer, -6.0).0, ground(1));
    assert_eq!(stage.gateway.counters().mirror_refused, 0);
}

#[test]
fn answers_say_how_old_they_are() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    let hits = answered(&mut stage, viewer, vec![down(0.0)]);
    assert_eq!((hits.tick, hits.age), (Tick(101), 0), "nothing moves, so nothing can be old");
    stage.say(A, hosted(3, 1, -4.0));
    stage.say(B, hosted(4, 1, 4.0));
    stage.step();
    for _ in 0..5 {
        stage.states(B, stage.now.0, &[(4, 1, 4.5)]);
        stage.step();
    }
    let hits = answered(&mut stage, viewer, vec![down(0.0)]);
    assert_eq!((hits.tick, hits.age), (Tick(101), 6), "one server has not been heard of since");
    stage.say(A, Item::Rested { nid: Nid(3), body_epoch: 1, motion: at(-4.0) });
    stage.step();
    let hits = answered(&mut stage, viewer, vec![down(0.0)]);
    assert_eq!((hits.tick, hits.age), (Tick(106), 2), "what rests does not age");
}

#[test]
fn another_world_has_other_bodies() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.say(A, hosted(3, 1, -4.0));
    stage.step();
    assert_eq!(below(&mut stage, viewer, -4.0).0, Nid(3));
    stage.gateway.load(crate::stage::world(), 2, crate::stage::map(), stage.now.next());
    stage.era = 2;
    stage.regions.clear();
    stage.step();
    assert_eq!(below(&mut stage, viewer, -4.0).0, ground(2));
}

#[test]
fn bad_questions_are_refused_with_a_reason() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    let ray = r#"{"ray":{"origin":[0,5,0],"direction":[0,-1,0],"max":9}}"#;
    let many = vec![ray; 257].join(",");
    for (queries, part) in [
        (r#"{"ray":{"origin":[0,null,0],"direction":[0,1,0],"max":9}}"#, "`origin[1]` is null"),
        (r#"{"ray":{"origin":[0,0,0],"direction":[0,0,0],"max":9}}"#, "no length"),
        (r#"{"ray":{"origin":[0,0,0],"direction":[0,1,0],"max":1e12}}"#, "`max` is 1e12"),
        (&many, "257 questions"),
    ] {
        let text = format!(r#"{{"type":"query","seq":9,"queries":[{queries}]}}"#);
        stage.gateway.client_text(viewer, &text);
        stage.tick();
        let answers = stage.client(viewer).take_answers();
        assert!(
            matches!(&answers[..], [Answer { seq: Some(9), outcome: Err(reason) }] if reason.contains(part)),
            "{answers:?}"
        );
    }
    assert!(stage.client(viewer).take_hits().is_empty());
}

#[test]
fn questions_count_against_the_allowance() {
    let config =
        GatewayConfig { id: GatewayId(3), commands_per_second: 60, command_burst: 10, ..GatewayConfig::default() };
    let mut stage = Stage::with(config);
    let viewer = stage.join(1);
    for nid in 0..600 {
        stage.say(A, hosted(nid, 1, -4.0));
    }
    stage.step();
    for _ in 0..10 {
        assert_eq!(answered(&mut stage, viewer, vec![down(20.0)]).answers.len(), 1);
    }
    ask(&mut stage, viewer, vec![down(20.0)], QueryFilter::default());
    let refused = |stage: &mut Stage| stage.client(viewer).take_answers().remove(0).outcome.unwrap_err();
    assert!(refused(&mut stage).contains("60 a second"));

    // Ten ticks later there is credit for ten commands. A question that looks at 600 bodies costs three.
    let heap = || Query::Overlap { shape: Shape::ball(0.9), pose: Pose::at(Vec3::new(-4.0, 1.0, 0.0)) };
    for _ in 0..10 {
        stage.step();
    }
    let hits = answered(&mut stage, viewer, vec![heap()]);
    assert!(
        matches!(&hits.answers[..], [QueryAnswer::Overlap(found)] if found.bodies.len() == 256 && found.total == 600)
    );
    for _ in 0..2 {
        answered(&mut stage, viewer, vec![heap()]);
    }
    answered(&mut stage, viewer, vec![down(20.0)]);
    ask(&mut stage, viewer, vec![down(20.0)], QueryFilter::default());
    assert!(refused(&mut stage).contains("60 a second"), "that was all of it");

    // Many such questions at once are given up as soon as they cost more than there is.
    for _ in 0..10 {
        stage.step();
    }
    ask(&mut stage, viewer, vec![heap(); 200], QueryFilter::default());
    assert!(refused(&mut stage).contains("more bodies than your allowance covers"));
    assert!(stage.client(viewer).take_hits().is_empty());
    stage.step();
    answered(&mut stage, viewer, vec![down(20.0)]);
}

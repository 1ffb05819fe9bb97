//! Statics and regions that clients ask for, and what they hear of them.

use crate::stage::{A, B, Stage, hosted, map};
use nimbus_gateway::Request;
use nimbus_model::{Aabb, BodyDesc, Nid, Placed, Pose, RegionBox, RegionId, Shape, Tick, Vec3, World};
use nimbus_wire::Command;
use nimbus_wire::client::{ClientRole, Query, QueryAnswer, QueryFilter, StaticSpawn};
use std::sync::Arc;

fn slab() -> StaticSpawn {
    StaticSpawn::new(Shape::cuboid(2.0, 0.5, 2.0), Pose::at(Vec3::Y * 4.0))
}

fn say(stage: &mut Stage, client: nimbus_model::ClientId, text: &str) {
    stage.gateway.client_text(client, text);
}

#[test]
fn statics_are_told_at_their_tick_to_those_here_and_to_those_who_come() {
    let mut stage = Stage::new();
    let builder = stage.join_as(1, ClientRole::Builder);
    stage.step();
    let text = stage.client(builder).place_static(slab());
    say(&mut stage, builder, &text);
    stage.tick();
    let desc = Arc::new(slab().desc());
    assert_eq!(stage.requests, [(builder, Some(1), Request::PlaceStatic(desc.clone(), slab().pose))]);

    let (placed, nid) = Placed::default().with(stage.gateway.world(), 1, (*desc).clone(), slab().pose).unwrap();
    let placed = Arc::new(placed);
    stage.gateway.set_statics(Tick(105), 1, placed.clone());
    stage.gateway.answer(builder, Some(1), Ok(Some(nid)));
    stage.step();
    assert_eq!(stage.client(builder).take_answers()[0].outcome, Ok(Some(nid)));
    assert_eq!(stage.client(builder).statics().len(), 1, "the ground, and nothing before its tick");
    while stage.now < Tick(105) {
        stage.step();
    }
    assert_eq!(stage.client(builder).statics()[1].nid, nid);
    let late = stage.join(2);
    stage.step();
    assert_eq!(stage.clients[&late].statics(), stage.clients[&builder].statics());

    let down = |stage: &mut Stage| {
        let ray = Query::Ray { origin: Vec3::Y * 9.0, direction: -Vec3::Y, max: 50.0 };
        let text = stage.client(late).query(vec![ray], QueryFilter::default());
        say(stage, late, &text);
        stage.step();
        match &stage.client(late).take_hits()[0].answers[0] {
            QueryAnswer::Ray(hit) => hit.as_ref().map(|hit| hit.nid),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(down(&mut stage), Some(nid));
    let text = stage.client(builder).despawn(nid);
    say(&mut stage, builder, &text);
    stage.tick();
    assert_eq!(stage.requests.last(), Some(&(builder, Some(2), Request::RemoveStatic(nid))));
    let gone = Arc::new(placed.without(1, nid).unwrap());
    stage.gateway.set_statics(stage.now.next(), 1, gone);
    // What is older, or for another world, is void.
    stage.gateway.set_statics(stage.now.next(), 1, placed.clone());
    stage.gateway.set_statics(stage.now.next(), 7, placed);
    stage.step();
    assert_eq!(stage.client(late).statics().len(), 1);
    assert_eq!(down(&mut stage), Some(World::nid(1, 0)));
}

#[test]
fn a_world_that_is_loaded_has_only_what_is_put_into_it() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    let desc = BodyDesc::fixed(Shape::ball(1.0));
    let (placed, nid) = Placed::default().with(&World::new("next"), 2, desc, Pose::IDENTITY).unwrap();
    stage.gateway.set_statics(Tick(103), 2, Arc::new(placed));
    stage.gateway.load(Arc::new(World::new("next")), 2, map(), Tick(104));
    for _ in 0..3 {
        stage.step();
        assert!(stage.client(viewer).statics().iter().all(|known| known.nid != nid));
    }
    stage.step();
    stage.step();
    assert_eq!(stage.client(viewer).statics().iter().map(|known| known.nid).collect::<Vec<Nid>>(), [nid]);
}

#[test]
fn only_builders_build() {
    let mut stage = Stage::new();
    let player = stage.join_as(1, ClientRole::Player);
    stage.say(A, hosted(5, 1, -3.0));
    stage.step();
    let client = stage.client(player);
    let bounds = Aabb::new(Vec3::splat(-20.0), Vec3::splat(20.0));
    let texts = [
        client.place_static(slab()),
        client.draw_regions(vec![RegionBox { region: RegionId(0), bounds }], RegionId(1)),
        client.velocity(Nid(5), Some(Vec3::X), None),
        client.target(Nid(5), Pose::IDENTITY, 9),
    ];
    texts.iter().for_each(|text| say(&mut stage, player, text));
    stage.step();
    let answers = stage.client(player).take_answers();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer.outcome.as_ref().is_err_and(|why| why.contains("the role builder"))));
    assert_eq!(stage.gateway.counters().commands_forbidden, 2);
    let orders: Vec<&Command> = stage.regions[&A].orders.iter().map(|order| &order.command).collect();
    assert!(matches!(orders[..], [Command::Turn { .. }, Command::Steer { ticks: 9, .. }]));
    assert!(stage.requests.is_empty() && !stage.regions.contains_key(&B));

    let builder = stage.join_as(2, ClientRole::Builder);
    say(&mut stage, builder, &texts[1]);
    stage.tick();
    let expected = Request::Regions(vec![RegionBox { region: RegionId(0), bounds }], RegionId(1));
    assert_eq!(stage.requests.last().map(|(.., request)| request), Some(&expected));
}

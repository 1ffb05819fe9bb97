//! Worlds and maps that take effect at a named tick.

use crate::stage::{A, B, Stage, at, hosted, map, world};
use nimbus_client::Spawn;
use nimbus_model::{Shape, Tick, Vec3, World};
use nimbus_wire::{Content, Frame, LaneFrame};
use std::sync::Arc;

#[test]
fn a_world_takes_over_at_its_tick() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    for nid in 1..=3 {
        stage.say(A, hosted(nid, 1, 1.0));
    }
    stage.step();
    let text = stage.client(viewer).spawn(Spawn::new(Shape::ball(0.5), Vec3::Y, Vec3::ZERO));
    stage.gateway.client_text(viewer, &text);
    stage.gateway.load(Arc::new(World::new("next")), 2, map(), Tick(103));
    stage.step();
    assert_eq!((stage.now, stage.client(viewer).era(), stage.client(viewer).len()), (Tick(102), Some(1), 3));
    assert!(stage.client(viewer).take_answers().is_empty());

    // A region that is a little ahead speaks of the new world already.
    stage.era = 2;
    stage.regions.clear();
    let early = LaneFrame { ack: 0, first: 1, items: vec![(Tick(103), hosted(9, 1, 2.0))] };
    stage.gateway.handle(stage.frame(B, Content::Lane(early)));
    stage.step();
    let client = stage.client(viewer);
    assert_eq!((client.era(), client.world(), client.len()), (Some(2), Some("next"), 1));
    assert_eq!(client.bodies().next().unwrap().slot, 0, "every slot is free again");
    assert_eq!(client.statics().len(), 0);
    let answers = client.take_answers();
    assert_eq!(answers[0].outcome, Err("the world was loaded anew".to_owned()));
    stage.check_sight(viewer);

    stage.era = 1;
    stage.gateway.handle(stage.frame(A, Content::Lane(LaneFrame::default())));
    assert_eq!(stage.gateway.counters().frames_wrong_era, 1);
}

#[test]
fn lanes_begin_anew_with_a_world() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    for nid in 1..=20 {
        stage.say(A, hosted(nid, 1, 1.0));
    }
    stage.step();
    stage.gateway.load(world(), 2, map(), Tick(102));
    stage.era = 2;
    stage.regions.clear();
    stage.say(A, hosted(50, 1, 1.0));
    stage.step();
    stage.step();
    assert_eq!(stage.client(viewer).len(), 1);
    stage.check_sight(viewer);
}

#[test]
fn a_map_takes_effect_at_its_tick() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    let cut = map().cuts().next().unwrap();
    let moved = map().move_cut(cut.index, 20.0, 1.0, Tick(103)).unwrap();
    stage.gateway.set_map(moved);
    stage.step();
    assert_eq!(stage.client(viewer).map_epoch(), Some(1));
    assert_eq!(stage.gateway.map().region_at(at(10.0).pose.position), B);
    stage.step();
    assert_eq!(stage.now, Tick(103));
    assert_eq!(stage.client(viewer).map_epoch(), Some(2));
    assert_eq!(stage.client(viewer).map()[&A][0].max.x, 20.0);
    assert_eq!(stage.gateway.map().region_at(at(10.0).pose.position), A);
    stage.gateway.set_map(map());
    stage.step();
    assert_eq!(stage.client(viewer).map_epoch(), Some(2), "an older map does not come back");
}

#[test]
fn a_load_voids_maps_that_were_meant_for_the_world_before() {
    let mut stage = Stage::new();
    stage.step();
    let cut = map().cuts().next().unwrap();
    stage.gateway.set_map(map().move_cut(cut.index, 20.0, 1.0, Tick(110)).unwrap());
    stage.gateway.load(world(), 2, map(), Tick(105));
    stage.gateway.set_map(map().move_cut(cut.index, 30.0, 1.0, Tick(103)).unwrap());
    stage.era = 2;
    while stage.now < Tick(104) {
        stage.step();
        assert_eq!(stage.gateway.map().epoch(), 1, "a map of the next world waits for it");
    }
    while stage.now < Tick(115) {
        stage.step();
        assert_eq!(stage.gateway.map().region_at(at(25.0).pose.position), A);
    }
}

#[test]
fn clock_and_figures_reach_clients() {
    let mut stage = Stage::new();
    let viewer = stage.join(1);
    stage.step();
    stage.gateway.set_clock(true, 0.25, 1.0);
    let stats = nimbus_gateway::WorldStats { bodies: 42, ..Default::default() };
    stage.gateway.set_stats(stats.clone());
    stage.step();
    assert_eq!(stage.client(viewer).clock(), Some((true, 0.25)));
    assert_ne!(stage.client(viewer).stats(), Some(&stats));
    for _ in 0..30 {
        stage.step();
    }
    assert_eq!(stage.client(viewer).stats(), Some(&stats));
}

#[test]
fn frames_are_the_same_after_the_wire() {
    let stage = Stage::new();
    let frame =
        stage.frame(A, Content::Lane(LaneFrame { ack: 1, first: 2, items: vec![(Tick(3), hosted(1, 1, 0.5))] }));
    assert_eq!(Frame::decode(&frame.encode()), Ok(frame));
}

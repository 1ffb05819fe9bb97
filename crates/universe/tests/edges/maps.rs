//! Partitions that change while bodies are on their way.

use nimbus_model::{Nid, Tick, Vec3, World};

use crate::stage::{Stage, add_ball, assert_same, world};

/// When the partition changes.
const CHANGE: u64 = 60;
/// How long before that everybody hears of it.
const LEAD: u64 = 30;

/// Pairs of balls that meet near the seam, each pair a tick later than the one before, around the tick of the change.
fn pairs() -> World {
    let mut world = world(2);
    for i in 0..16 {
        let meet = CHANGE as f32 - 6.0 + i as f32;
        let way = 10.0 * meet / 60.0;
        let (middle, z) = (0.4 * ((i % 5) as f32 - 2.0), 12.0 * i as f32);
        for sense in [1.0, -1.0] {
            let place = Vec3::new(middle - sense * (way + 0.5), 0.0, z);
            add_ball(&mut world, place, Vec3::X * 10.0 * sense);
        }
    }
    world
}

/// Runs the pairs on one server, and on two whose partition changes, and asserts that every pair meets as it should.
fn assert_unharmed(case: &str, seed: u64, change: impl Fn(&mut Stage)) -> Stage {
    let world = pairs();
    let mut one = Stage::new(nimbus_scenes::on_one_server(&world), seed, 120);
    one.until(120);
    let mut many = Stage::new(world, seed, 120);
    many.until(CHANGE - LEAD);
    change(&mut many);
    many.until(120);
    assert!(many.universe.nodes().iter().all(|node| node.map().effective() == Tick(CHANGE)), "{case}: it is in force");
    assert_same(&one, &many, 32, case);
    many
}

#[test]
fn map_change_mid_flight() {
    for (seed, at) in [(1, 1.5), (2, -1.5), (3, 12.0), (4, -12.0)] {
        let case = format!("the seam moves to {at}");
        let stage = assert_unharmed(&case, seed, |stage| {
            let cut = stage.universe.map().cuts().next().expect("two regions have a cut").index;
            let map = stage.universe.map().move_cut(cut, at, 10.0, Tick(CHANGE)).expect("there is room");
            stage.universe.repartition(map);
        });
        let changed: Vec<Nid> =
            stage.lives.iter().filter(|(_, life)| life.owners.len() > 1).map(|(nid, _)| *nid).collect();
        assert!(changed.len() > 8, "{case}: {} bodies changed server", changed.len());
        stage.finish_promised(&case);
    }
}

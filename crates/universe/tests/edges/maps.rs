//! Partitions that change while bodies are on their way.

use nimbus_model::{Nid, RegionId, Tick, Vec3, World};

use crate::stage::{Stage, add_ball, assert_same, world};

/// When the partition changes.
const CHANGE: u64 = 60;
/// How long before that everybody hears of it.
const LEAD: u64 = 30;
/// Pairs of balls that meet, a quarter of a tick after each other.
const PAIRS: u32 = 64;
/// How fast they are, m/s.
const SPEED: f32 = 28.0;

/// Pairs of balls that meet near the seam, each pair a little later than the one before, around the tick of the change.
fn pairs() -> World {
    let mut world = world(2);
    for i in 0..PAIRS {
        let meet = CHANGE as f32 - 4.0 + 0.25 * i as f32;
        let way = SPEED * meet / 60.0;
        let (middle, z) = (0.4 * ((i % 5) as f32 - 2.0), 12.0 * i as f32);
        for sense in [1.0, -1.0] {
            let place = Vec3::new(middle - sense * (way + 0.5), 0.0, z);
            add_ball(&mut world, place, Vec3::X * SPEED * sense);
        }
    }
    world
}

/// Runs the pairs on one server, and on two whose partition changes, and asserts that every pair meets as it should.
fn assert_unharmed(case: &str, seed: u64, change: impl Fn(&mut Stage)) -> Stage {
    let world = pairs();
    let mut one = Stage::new(nimbus_scenes::on_one_server(&world), seed, 120);
    one.until(120);
    let mut many = Stage::at_tolerance(world, seed, 120);
    many.until(CHANGE - LEAD);
    change(&mut many);
    many.until(120);
    assert!(many.universe.nodes().iter().all(|node| node.map().effective() == Tick(CHANGE)), "{case}: it is in force");
    assert_same(&one, &many, 2 * PAIRS as usize, case);
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

/// Two servers swap ranks while pairs of their bodies meet, and both give way for a moment or neither does, if anybody
/// gets it wrong.
#[test]
fn rank_change_mid_flight() {
    // With the last of these seeds bodies fly past each other if the new order begins at once.
    for seed in [1, 2, 3, 17] {
        let case = format!("ranks are swapped, seed {seed}");
        let stage = assert_unharmed(&case, seed, |stage| {
            let order = [1, 0].map(RegionId);
            let map = stage.universe.map().with_ranks(&order, Tick(CHANGE)).expect("both are named");
            stage.universe.repartition(map);
        });
        let pulled_to = |region: u16, pairs: std::ops::Range<u32>| {
            let late = pairs.flat_map(|pair| [World::nid(1, 2 * pair), World::nid(1, 2 * pair + 1)]);
            late.filter(|nid| stage.lives[nid].owners.values().nth(1) == Some(&RegionId(region))).count()
        };
        assert!(pulled_to(0, 0..8) >= 4 && pulled_to(1, 0..8) == 0, "{case}: before, bodies go to the first server");
        assert!(pulled_to(1, 56..64) >= 4 && pulled_to(0, 56..64) == 0, "{case}: after it, to the second");
        stage.finish_promised(&case);
    }
}

/// Everything at once: the seam moves, ranks are swapped, and swapped again before the first change has settled.
#[test]
fn changes_that_follow_each_other() {
    for (seed, later) in [(1, 1), (2, 2), (3, 3), (4, 4), (5, 7)] {
        let case = format!("another change {later} ticks later");
        let world = pairs();
        let mut one = Stage::new(nimbus_scenes::on_one_server(&world), seed, 120);
        one.until(120);
        let mut many = Stage::at_tolerance(world, seed, 120);
        many.until(CHANGE - LEAD);
        let cut = many.universe.map().cuts().next().expect("two regions have a cut").index;
        let moved = many.universe.map().move_cut(cut, 1.0, 10.0, Tick(CHANGE)).expect("there is room");
        let turned = moved.with_ranks(&[1, 0].map(RegionId), Tick(CHANGE)).expect("both are named");
        let back = turned.move_cut(cut, -0.5, 10.0, Tick(CHANGE + later)).expect("there is room");
        let back = back.with_ranks(&[0, 1].map(RegionId), Tick(CHANGE + later)).expect("both are named");
        many.universe.repartition(turned);
        many.universe.repartition(back);
        many.until(120);
        assert_same(&one, &many, 2 * PAIRS as usize, &case);
        many.finish_promised(&case);
    }
}

/// Balls that go home across the seam, some to the lower rank and some by offer, while ranks are swapped.
#[test]
fn offers_under_way_at_a_rank_change() {
    for seed in 1..=3 {
        let mut world = world(2);
        let balls: Vec<Nid> = (0..32)
            .map(|i| {
                let (sense, speed) = (if i % 2 == 0 { 1.0 } else { -1.0 }, 6.0);
                // Each has left its region wholly a tick after the one before, around the change.
                let way = speed * (CHANGE as f32 - 26.0 + i as f32) / 60.0 - 0.5;
                add_ball(&mut world, Vec3::new(-sense * way, 0.0, 12.0 * i as f32), Vec3::X * speed * sense)
            })
            .collect();
        let mut stage = Stage::at_tolerance(world, seed, 200);
        stage.until(CHANGE - LEAD);
        let map = stage.universe.map().with_ranks(&[1, 0].map(RegionId), Tick(CHANGE)).expect("both are named");
        stage.universe.repartition(map);
        stage.until(200);
        for (i, nid) in balls.iter().enumerate() {
            let owner = stage.owner(*nid).map(|node| node.region().0);
            assert_eq!(owner, Some(if i % 2 == 0 { 1 } else { 0 }), "seed {seed}: {nid} is at home");
            assert_eq!(stage.lives[nid].owners.len(), 2, "seed {seed}: and came there directly");
        }
        stage.finish_promised(&format!("seed {seed}"));
    }
}

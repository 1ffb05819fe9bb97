//! Commands to bodies that are under way or near a seam.

use nimbus_model::{Nid, Shape, Vec3};
use nimbus_wire::client::Spawn;

use crate::stage::{Stage, add_ball, world};

/// Balls that cross the seam side by side, every second one in the other direction.
const BALLS: usize = 24;
/// When the first of them gets its command; the others follow, one a tick.
const FIRST: u64 = 16;

/// Balls that cross the seam between ticks 20 and 35, each in a lane of its own.
fn crossing() -> (nimbus_model::World, Vec<Nid>) {
    let mut world = world(2);
    let nids = (0..BALLS)
        .map(|i| {
            let sense = if i % 2 == 0 { 1.0 } else { -1.0 };
            let place = Vec3::new(-2.0 * sense, 0.0, 10.0 * i as f32);
            add_ball(&mut world, place, Vec3::new(6.0 * sense, 0.0, 0.0))
        })
        .collect();
    (world, nids)
}

fn mass(stage: &Stage, nid: Nid) -> f32 {
    stage.owner(nid).and_then(|node| node.physics().view(nid)).expect("somebody has it").mass()
}

/// Gives every ball of a crossing one command, at another moment of its way each.
fn command_each(stage: &mut Stage, nids: &[Nid], mut write: impl FnMut(&mut nimbus_client::Client, Nid) -> String) {
    for (i, nid) in nids.iter().enumerate() {
        stage.until(FIRST + i as u64);
        stage.ask(|client| write(client, *nid));
    }
    stage.until(FIRST + BALLS as u64 + 30);
}

#[test]
fn command_in_transit() {
    let mut forwarded = 0;
    for seed in 1..=3 {
        let (world, nids) = crossing();
        let mut stage = Stage::new(world, seed, 120);
        stage.until(2);
        let up = Vec3::Y * mass(&stage, nids[0]);
        command_each(&mut stage, &nids, |client, nid| client.impulse(nid, up));
        for nid in &nids {
            let life = &stage.lives[nid];
            assert_eq!(life.changes.len(), 1, "seed {seed}: {nid} is pushed exactly once: {:?}", life.changes);
            assert!((life.velocity().y - 1.0).abs() < 1e-3, "seed {seed}: {nid} ends with {}", life.velocity());
            assert!(life.owners.len() > 1, "seed {seed}: {nid} has changed server");
        }
        let answers = stage.answers();
        assert_eq!(answers.len(), BALLS);
        assert!(answers.iter().all(|answer| answer.outcome.is_ok()), "seed {seed}: {answers:?}");
        forwarded += stage.count(|counters| counters.orders_forwarded);
        stage.finish_promised(&format!("seed {seed}"));
    }
    assert!(forwarded > 0, "some command came after its body had left");
}

#[test]
fn birth_and_death_at_a_seam() {
    let mut forwarded = 0;
    for seed in 1..=3 {
        let (world, nids) = crossing();
        let mut stage = Stage::new(world, seed, 120);
        stage.until(2);
        // Every ball dies on its way, and above each one is born, on either side of the seam.
        for (i, nid) in nids.iter().enumerate() {
            stage.until(FIRST + i as u64);
            stage.ask(|client| client.despawn(*nid));
            let place = Vec3::new(0.02 * (i as f32 - 12.0), 5.0, 10.0 * i as f32);
            stage.ask(|client| client.spawn(Spawn::new(Shape::ball(0.5), place, Vec3::ZERO)));
        }
        stage.until(FIRST + BALLS as u64 + 30);
        let answers = stage.answers();
        assert_eq!(answers.len(), 2 * BALLS);
        assert!(answers.iter().all(|answer| answer.outcome.is_ok()), "seed {seed}: {answers:?}");
        assert!(nids.iter().all(|nid| stage.owner(*nid).is_none()), "seed {seed}: the dead stay dead");
        assert_eq!(stage.owned(), BALLS, "seed {seed}: whoever was asked for lives, once");
        assert_eq!(stage.lives.len(), 2 * BALLS, "seed {seed}: nobody else was ever there");
        forwarded += stage.count(|counters| counters.orders_forwarded);
        let outcome = stage.finish_promised(&format!("seed {seed}"));
        assert_eq!(outcome.hosted.iter().sum::<usize>(), BALLS);
    }
    assert!(forwarded > 0, "some death came after its body had left");
}

/// Speed of a ball that is spawned, m/s.
const SPAWNED: f32 = 12.0;

/// Where a ball is spawned: on the other side of the seam than its target, with so much room between them.
fn place(gap: f32, sense: f32) -> Vec3 {
    Vec3::new((0.6 - 1.0 - gap) * sense, 0.0, 0.0)
}

/// The tick before a body began to move from a place. It may have changed server at that very tick and be seen only
/// later; how far it came tells.
fn begun((seen, at): (u64, Vec3), from: Vec3, speed: f32) -> u64 {
    seen - (at.distance(from) / (speed / 60.0)).round() as u64
}

/// A ball that lies still on one side of the seam, and one that is thrown at it from the other.
fn thrown_at(servers: u16, gap: f32, sense: f32, seed: u64) -> Stage {
    let mut world = world(servers);
    add_ball(&mut world, Vec3::new(0.6 * sense, 0.0, 0.0), Vec3::ZERO);
    let mut stage = Stage::new(world, seed, 60);
    stage.until(10);
    let velocity = Vec3::X * SPAWNED * sense;
    let spawn = Spawn { restitution: 1.0, friction: 0.0, ..Spawn::new(Shape::ball(0.5), place(gap, sense), velocity) };
    stage.ask(|client| client.spawn(spawn));
    stage.until(60);
    stage
}

#[test]
fn spawn_near_a_seam() {
    let target = nimbus_model::World::nid(1, 0);
    for sense in [1.0, -1.0] {
        for gap in [0.3, 0.45, 0.6, 1.0, 1.7] {
            let case = format!("gap {gap}, direction {sense}");
            let (one, many) = (thrown_at(1, gap, sense, 1), thrown_at(2, gap, sense, 1));
            assert_eq!(one.count(|counters| counters.orders_delayed), 0);
            assert_eq!(many.count(|counters| counters.orders_delayed), 1, "{case}: it waits until all have heard");
            let after = |stage: &Stage| {
                let spawned = stage.lives.iter().find(|(nid, _)| **nid != target).expect("it was born").1;
                let hits = stage.lives[&target].hits();
                assert_eq!((hits.len(), spawned.changes.len()), (1, 1), "{case}: one hit, seen by both");
                let before = begun((spawned.first_seen, spawned.first_place), place(gap, sense), SPAWNED);
                (hits[0] - before, spawned.hits()[0] - before, stage.lives[&target].velocity())
            };
            let (alone, across) = (after(&one), after(&many));
            assert_eq!((alone.0, alone.1), (across.0, across.1), "{case}: it hits as long after its birth");
            assert!(alone.2.distance(across.2) < 1e-2, "{case}: {} and {}", alone.2, across.2);
            many.finish_promised(&case);
        }
    }
}

/// Two balls that lie still on either side of the seam; one of them is pushed at the other.
fn pushed_at(servers: u16, gap: f32, sense: f32, speed: f32) -> Stage {
    let mut world = world(servers);
    add_ball(&mut world, Vec3::new(0.6 * sense, 0.0, 0.0), Vec3::ZERO);
    let pushed = add_ball(&mut world, place(gap, sense), Vec3::ZERO);
    let mut stage = Stage::new(world, 1, 60);
    stage.until(10);
    let impulse = Vec3::X * sense * speed * mass(&stage, pushed);
    stage.ask(|client| client.impulse(pushed, impulse));
    stage.until(60);
    stage
}

#[test]
fn impulse_near_a_seam() {
    let (target, pushed) = (nimbus_model::World::nid(1, 0), nimbus_model::World::nid(1, 1));
    for sense in [1.0, -1.0] {
        for gap in [0.1, 0.3, 0.6, 1.5] {
            let case = format!("gap {gap}, direction {sense}");
            let (one, many) = (pushed_at(1, gap, sense, 20.0), pushed_at(2, gap, sense, 20.0));
            assert!(many.count(|counters| counters.orders_delayed) > 0, "{case}: it waits until all have heard");
            let after = |stage: &Stage| {
                let (push, hit) = (&stage.lives[&pushed].changes, stage.lives[&target].hits());
                assert_eq!((push.len(), hit.len()), (2, 1), "{case}: pushed once, and then it hits");
                let before = begun(push[0], place(gap, sense), 20.0);
                (hit[0] - before, push[1].0 - before, stage.lives[&target].velocity())
            };
            let (alone, across) = (after(&one), after(&many));
            assert_eq!((alone.0, alone.1), (across.0, across.1), "{case}: it hits as long after the push");
            assert!(alone.2.distance(across.2) < 1e-2, "{case}: {} and {}", alone.2, across.2);
            many.finish_promised(&case);
        }
    }
}

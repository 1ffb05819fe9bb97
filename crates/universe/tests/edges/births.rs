//! Bodies that the world itself adds where servers meet.

use nimbus_model::{Aabb, Choice, Injection, Tick, Vec3};

use crate::stage::{Stage, ball, world};

/// Balls rain on both sides of the seam while it moves to and fro.
#[test]
fn injections_at_a_seam() {
    let mut world = world(2);
    world.injections.push(Injection {
        volume: Aabb::new(Vec3::new(-3.0, 0.0, -40.0), Vec3::new(3.0, 20.0, 40.0)),
        per_second: 60.0,
        start: Tick(5),
        count: 60,
        velocity_min: Vec3::splat(-2.0),
        velocity_max: Vec3::splat(2.0),
        turned: false,
        choices: vec![Choice { weight: 1, body: ball(0.3) }],
    });
    let mut stage = Stage::new(world, 4, 140);
    stage.until(10);
    for (tick, at) in [(25, 2.0), (45, -2.0)] {
        let cut = stage.universe.map().cuts().next().expect("two regions have a cut").index;
        let map = stage.universe.map().move_cut(cut, at, 10.0, Tick(tick)).expect("there is room");
        stage.universe.repartition(map);
    }
    stage.until(140);
    assert_eq!(stage.lives.len(), 60, "everybody is born");
    assert_eq!(stage.owned(), 60, "and has one owner");
    let first: Vec<u16> = stage.lives.values().filter_map(|life| life.owners.values().next()).map(|r| r.0).collect();
    assert!(first.contains(&0) && first.contains(&1), "on both sides");
    stage.finish("rain on a seam that moves");
}

//! Bodies of several servers that meet, compared with the same on one server.

use nimbus_model::{Layout, Tick, Vec3, World};

use crate::stage::{Stage, add, add_ball, assert_same, ball, world};

/// Runs a world on its servers and on one, and asserts that the same happens in both.
fn assert_as_on_one_server(world: &World, ticks: u64, hits: usize, seed: u64, case: &str) -> Stage {
    let mut one = Stage::new(nimbus_scenes::on_one_server(world), seed, ticks);
    let mut many = Stage::new(world.clone(), seed, ticks);
    one.until(ticks);
    many.until(ticks);
    assert_same(&one, &many, hits, case);
    many
}

/// Balls that come from every side and meet at a point, two by two, each pair a little later than the one before.
fn meeting(layout: Layout, at: Vec3, turn: f32) -> World {
    let mut world = world(1);
    world.layout = layout;
    for pair in 0..2 {
        let angle = turn + std::f32::consts::FRAC_PI_2 * pair as f32;
        let way = Vec3::new(angle.cos(), 0.0, angle.sin());
        let beside = Vec3::Y * 3.0 * pair as f32;
        for sense in [1.0, -1.0] {
            add_ball(&mut world, at + beside - way * sense * (6.0 + 0.7 * pair as f32), way * sense * 14.0);
        }
    }
    world
}

#[test]
fn corner() {
    let grid = || Layout::Grid { count: [2, 1, 2], size: [60.0, 60.0, 60.0] };
    for (name, layout) in [("three", Layout::Corner3), ("four", grid())] {
        for at in [Vec3::ZERO, Vec3::new(0.4, 0.0, -0.3), Vec3::new(-1.2, 0.0, 0.8)] {
            for turn in [0.2, 0.785, 1.3] {
                let case = format!("{name} servers meet, at {at}, turned by {turn}");
                let stage = assert_as_on_one_server(&meeting(layout.clone(), at, turn), 60, 4, 2, &case);
                stage.finish_promised(&case);
            }
        }
    }
}

/// The same while the ranks of all servers are turned about.
#[test]
fn corner_while_ranks_change() {
    let layout = Layout::Grid { count: [2, 1, 2], size: [60.0, 60.0, 60.0] };
    for change in 16..34 {
        let at = Vec3::new(0.4 - 0.05 * change as f32, 0.0, -0.3);
        let world = meeting(layout.clone(), at, 0.2 + 0.08 * change as f32);
        let case = format!("ranks change at tick {change}");
        let mut one = Stage::new(nimbus_scenes::on_one_server(&world), 1, 60);
        one.until(60);
        let mut many = Stage::at_tolerance(world, change, 60);
        many.until(2);
        let mut order = many.universe.map().order();
        order.rotate_left(1 + change as usize % 3);
        let map = many.universe.map().with_ranks(&order, Tick(change)).expect("all are named");
        many.universe.repartition(map);
        many.until(60);
        assert_same(&one, &many, 4, &case);
        many.finish_promised(&case);
    }
}

/// A body of the greatest size meets one on the other side of the seam.
#[test]
fn largest_body() {
    for sense in [1.0, -1.0] {
        for speed in [7.0, 11.0, 15.5] {
            let mut world = world(2);
            let radius = world.radius_max;
            let large = add(&mut world, ball(radius), Vec3::new(-8.0 * sense, 0.0, 0.0), Vec3::X * speed * sense);
            add_ball(&mut world, Vec3::new(1.5 * sense, 0.0, 0.0), Vec3::ZERO);
            let case = format!("direction {sense}, {speed} m/s");
            let stage = assert_as_on_one_server(&world, 130, 2, 3, &case);
            assert!(stage.lives[&large].owners.len() > 1, "{case}: it crosses the seam");
            stage.finish_promised(&case);
        }
    }
}

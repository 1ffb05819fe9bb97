//! The comparison with one server finds what is wrong and nothing else.

use nimbus_model::{BodyDesc, Layout, Pose, Shape, Vec3, Velocity, World};
use nimbus_node::{Factor, Planted};
use nimbus_universe::{Comparison, LinkModel, UniverseConfig, against_one};

/// A smooth ball.
fn ball() -> BodyDesc {
    BodyDesc { restitution: 1.0, friction: 0.0, can_sleep: false, ..BodyDesc::dynamic(Shape::ball(0.5)) }
}

fn add(world: &mut World, place: Vec3, velocity: Vec3) {
    world.add(ball(), Pose::at(place), Velocity::linear(velocity));
}

/// Balls that meet head-on at the boundary of two servers, eight times.
fn head_on(speed: f32) -> World {
    let mut world = World::new("head-on");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(2, 60.0);
    for i in 0..8 {
        let z = 6.0 * i as f32;
        add(&mut world, Vec3::new(-12.0 - 0.3 * i as f32, 0.0, z), Vec3::X * speed);
        add(&mut world, Vec3::new(12.0, 0.0, z), Vec3::X * -speed);
    }
    world
}

fn compare(world: &World, ticks: u64, planted: Option<Planted>) -> Comparison {
    let mut config = UniverseConfig::new("own", 1, 1, ticks);
    config.link = Some(LinkModel::default());
    config.planted = planted;
    against_one(&config, world, |_| {}).expect("the world can be laid out")
}

#[test]
fn what_meets_in_time_is_no_fault() {
    let found = compare(&head_on(20.0), 120, None);
    assert_eq!((found.compared, found.late.len(), found.missed.len(), found.chaotic), (8, 0, 0, 0));
    assert_eq!(found.deviations, []);
    assert!(found.outcome.hand_overs > 0 && found.outcome.violations.is_empty());
}

#[test]
fn servers_that_hear_nothing_of_each_other_are_found_and_silent() {
    let found = compare(&head_on(20.0), 120, Some(Planted::DeafToAuras));
    // Some pairs meet so far from the boundary that one server has both by then.
    assert!(found.late.len() + found.missed.len() >= 3, "{} late, {} missed", found.late.len(), found.missed.len());
    assert_eq!(found.silent().count(), found.late.len() + found.missed.len());
}

#[test]
fn a_breach_before_the_contact_makes_it_announced() {
    let mut world = head_on(30.0);
    world.tolerances.speed = 20.0;
    let found = compare(&world, 120, Some(Planted::DeafToAuras));
    assert!(found.late.len() + found.missed.len() >= 3, "{} late, {} missed", found.late.len(), found.missed.len());
    assert_eq!(found.silent().count(), 0);
    let factors = found.late.iter().chain(&found.missed).filter_map(|fault| fault.announced.as_ref());
    assert!(factors.into_iter().all(|breach| breach.factor == Factor::Speed));
}

#[test]
fn bodies_that_change_their_speed_with_their_server_deviate() {
    let found = compare(&head_on(2.0), 420, Some(Planted::FastArrival));
    assert!(!found.deviations.is_empty());
}

/// Cubes rain from both sides: after the first contacts, what happens depends on the order in which the engine has them.
#[test]
fn what_differs_on_one_server_in_another_order_is_no_fault() {
    let mut world = World::new("tumble");
    world.layout = Layout::columns(2, 60.0);
    world.add_ground(30.0, 30.0);
    let cube = BodyDesc { friction: 0.3, ..BodyDesc::dynamic(Shape::cuboid(0.3, 0.3, 0.3)) };
    for i in 0..40 {
        let side = if i % 2 == 1 { 1.0 } else { -1.0 };
        let place = Vec3::new(
            side * (2.5 + 0.1 * (i % 3) as f32),
            1.0 + 0.55 * (i / 2) as f32 + 0.3 * (i % 2) as f32,
            0.3 * ((i * 3) % 5) as f32 - 0.6,
        );
        let velocity = Vec3::new(-side * (3.0 + 0.2 * (i % 4) as f32), -2.0, 0.0);
        world.add(cube.clone(), Pose::at(place), Velocity::linear(velocity));
    }
    let found = compare(&world, 240, None);
    assert!(found.compared > 100 && found.orders > 0 && found.chaotic > 0, "{} pairs", found.compared);
    assert_eq!(found.silent().count(), 0);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let mut config = UniverseConfig::new("own", 1, 1, 10);
    config.commands = true;
    let refused = against_one(&config, &head_on(10.0), |_| {}).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|words| words.contains("cannot be compared")));
}

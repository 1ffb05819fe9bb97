//! What is beyond a limit is refused or said, and harms nobody.

use nimbus_model::{Aabb, BodyDesc, Nid, Pose, RegionId, Shape, Vec3, Velocity, World};
use nimbus_node::{Factor, Planted};
use nimbus_wire::client::Spawn;

use crate::stage::{Stage, add_ball, world};

fn refusals(stage: &mut Stage) -> Vec<String> {
    stage.answers().into_iter().filter_map(|answer| answer.outcome.err()).collect()
}

#[test]
fn very_fast_body() {
    let mut world = world(2);
    // The engine itself holds everything to 400 m/s; the limit of this world is lower.
    world.tolerances.speed = 16.0;
    let tolerated = world.tolerances.speed;
    let fast = add_ball(&mut world, Vec3::new(-6.0, 0.0, 0.0), Vec3::X * (tolerated + 4.0));
    let slow = add_ball(&mut world, Vec3::new(-20.0, 0.0, 50.0), Vec3::ZERO);
    let most = world.speed_max();
    assert_eq!(most, 16.0 * tolerated);
    let mut stage = Stage::new(world, 1, 60);
    stage.until(30);
    let breaches: Vec<_> = stage.universe.outcome().breaches.clone();
    assert!(!breaches.is_empty(), "it is said");
    for breach in &breaches {
        assert_eq!((breach.factor, breach.bodies.as_slice()), (Factor::Speed, [fast].as_slice()), "by name");
        assert!((breach.value - tolerated - 4.0).abs() < 0.1 && breach.limit == tolerated, "{breach:?}");
    }
    let place = Vec3::new(-20.0, 0.0, 0.0);
    stage.ask(|client| client.spawn(Spawn::new(Shape::ball(0.5), place, Vec3::X * (most + 1.0))));
    stage.ask(|client| client.spawn(Spawn::new(Shape::ball(0.5), place, Vec3::Y * (tolerated + 1.0))));
    stage.ask(|client| client.impulse(slow, Vec3::Y * 1e6));
    stage.until(36);
    assert_eq!(stage.lives.len(), 3, "what is faster than anything may be is not made");
    let refused = refusals(&mut stage);
    assert!(matches!(&refused[..], [reason] if reason.contains("allows 256 m/s")), "{refused:?}");
    let speed = stage.lives[&slow].velocity().length();
    assert!((speed - most).abs() < 0.1, "a push ends at the greatest speed, not at {speed} m/s");
    stage.until(60);
    assert_eq!(stage.owned(), 3, "and nobody is lost");
    stage.finish("a very fast body");
}

#[test]
fn a_body_beyond_the_largest_is_refused() {
    let world = world(2);
    let radius = world.radius_max;
    let mut stage = Stage::new(world, 1, 20);
    stage.until(5);
    stage.ask(|client| client.spawn(Spawn::new(Shape::ball(radius + 0.1), Vec3::ZERO, Vec3::ZERO)));
    stage.ask(|client| client.spawn(Spawn::new(Shape::ball(radius), Vec3::ZERO, Vec3::ZERO)));
    stage.until(20);
    let refused = refusals(&mut stage);
    assert!(matches!(&refused[..], [reason] if reason.contains("allows 4 m")), "{refused:?}");
    assert_eq!(stage.owned(), 1);
    stage.finish_promised("spawns of the greatest size");
}

/// The server on the left has room for two more at the most and says when it is nearly full; balls that want to go there stay
/// with the one on the right.
#[test]
fn a_full_server_gets_nothing_that_can_stay() {
    for seed in 1..=4 {
        let mut world = world(2);
        add_ball(&mut world, Vec3::new(-30.0, 0.0, 0.0), Vec3::ZERO);
        let balls: Vec<Nid> = (0..6)
            .map(|i| add_ball(&mut world, Vec3::new(3.0 + i as f32, 0.0, 5.0 * i as f32), Vec3::X * -9.0))
            .collect();
        let mut stage = Stage::with(world, seed, 200, |config| config.faults = "full".parse().expect("a fault"));
        stage.until(200);
        let right = balls.iter().filter(|nid| stage.owner(**nid).is_some_and(|node| node.region() == RegionId(1)));
        assert!(right.count() >= 4, "seed {seed}: the left server is full");
        assert_eq!(stage.owned(), 7, "seed {seed}: nobody is lost");
        for (i, nid) in balls.into_iter().enumerate() {
            let life = &stage.lives[&nid];
            assert_eq!(life.changes, [], "seed {seed}: {nid} flies on as if nothing had been");
            let motion = stage.owner(nid).and_then(|node| node.motion(nid)).expect("somebody has it");
            let expected = 3.0 + i as f32 - 9.0 * 200.0 / 60.0;
            // Whoever is under way misses no tick: it is caught up.
            assert!(
                (motion.pose.position.x - expected).abs() < 0.2,
                "seed {seed}: {nid} is at {}",
                motion.pose.position
            );
        }
        stage.finish(&format!("seed {seed}"));
    }
}

/// Balls leave the world right at a seam, some of them while they change server.
#[test]
fn kill_box() {
    for edge in [0.2, 0.7, 1.2, 3.0] {
        let mut world: World = world(2);
        world.kill_box = Aabb::new(Vec3::new(-40.0, -50.0, -10.0), Vec3::new(edge, 50.0, 500.0));
        let balls: Vec<Nid> = (0..12)
            .map(|i| add_ball(&mut world, Vec3::new(-3.0 - 0.2 * i as f32, 0.0, 10.0 * i as f32), Vec3::X * 12.0))
            .collect();
        let stays = add_ball(&mut world, Vec3::new(-5.0, 0.0, 300.0), Vec3::ZERO);
        let mut stage = Stage::new(world, 5, 100);
        stage.until(60);
        let case = format!("the world ends {edge} m beyond the seam");
        assert!(balls.iter().all(|nid| stage.owner(*nid).is_none()), "{case}: nobody outside lives");
        assert_eq!(stage.owned(), 1, "{case}");
        let seen: Vec<Nid> = stage.universe.clients_mut()[0].bodies().map(|body| body.nid).collect();
        assert_eq!(seen, [stays], "{case}: whoever watches has been told");
        let ghosts = stage.count(|counters| counters.ghosts);
        assert!(ghosts <= 1, "{case}: no server goes on announcing the dead, but {ghosts} are known");
        stage.finish_promised(&case);
    }
}

/// Two boxes lie at rest beside each other, one on either side of the boundary.
#[test]
fn what_lies_at_rest_changes_owner_once_at_most() {
    let run = |planted| {
        let mut world = world(2);
        world.gravity = Vec3::Y * -9.81;
        world.add_ground(40.0, 40.0);
        for x in [-0.6, 0.55] {
            let cube = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
            world.add(cube, Pose::at(Vec3::new(x, 0.5, 0.0)), Velocity::ZERO);
        }
        Stage::with(world, 1, 900, |config| config.planted = planted).universe.run(|_| {})
    };
    let sound = run(None);
    assert!(sound.violations.is_empty(), "{:?}", sound.violations);
    let tossed = run(Some(Planted::SleepersTossed));
    let found = tossed.violations.iter().any(|violation| violation.rule == "rest");
    assert!(found, "{} hand-overs: {:?}", tossed.hand_overs, tossed.violations);
}

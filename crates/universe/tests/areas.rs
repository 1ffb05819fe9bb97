//! A gateway hears of motion where its clients look, and its clients miss nothing by it.

use nimbus_client::Watch;
use nimbus_model::{BodyDesc, Layout, Nid, Pose, Shape, Vec3, Velocity, World};
use nimbus_universe::{Universe, UniverseConfig};

const SERVERS: u16 = 4;
const BALLS: usize = 240;
const SPEED: f32 = 4.0;
/// How far the client sees.
const RANGE: f32 = 25.0;
/// A body that moves is shown where it was this many ticks ago at most: on its way to the gateway, and to the client.
const LATE_TICKS: f32 = 20.0;

/// Balls that fly to and fro for ever on lines of their own, over four regions of 40 m each.
fn traffic() -> World {
    let mut world = World::new("traffic");
    world.layout = Layout::columns(SERVERS, 40.0);
    world.add_ground(200.0, 400.0);
    for side in [-1.0, 1.0] {
        world.add(BodyDesc::fixed(Shape::cuboid(1.0, 10.0, 400.0)), Pose::at(Vec3::X * side * 80.0), Velocity::ZERO);
    }
    for i in 0..BALLS {
        let ball = BodyDesc {
            gravity_scale: 0.0,
            restitution: 1.0,
            friction: 0.0,
            can_sleep: false,
            ..BodyDesc::dynamic(Shape::ball(0.4))
        };
        let place = Vec3::new((i % 12) as f32 * 12.0 - 66.0, 3.0, (i / 12) as f32 * 2.0 - 20.0);
        let toward = if (i / 12) % 2 == 0 { SPEED } else { -SPEED };
        world.add(ball, Pose::at(place), Velocity::linear(Vec3::X * toward));
    }
    world
}

fn start(seed: u64) -> Universe {
    let mut config = UniverseConfig::new("traffic", SERVERS, seed, 0);
    config.clients = 1;
    config.checked = false;
    config.faults = "loss,jitter,reordering,duplication".parse().expect("these are faults");
    Universe::of_world(config, traffic()).expect("the world can be laid out")
}

fn run(universe: &mut Universe, ticks: u64) {
    for _ in 0..ticks {
        universe.advance();
    }
}

/// States that servers have sent to the gateway in some ticks.
fn states(universe: &mut Universe, ticks: u64) -> u64 {
    let told = |universe: &Universe| universe.nodes().iter().map(|node| node.counters().states_told).sum::<u64>();
    let before = told(universe);
    run(universe, ticks);
    told(universe) - before
}

fn look(universe: &mut Universe, x: f32) -> Vec3 {
    let eye = Vec3::new(x, 3.0, 0.0);
    let watch = Watch { kbit: 20_000, hz: 60, ..Watch::around(eye, RANGE) };
    let text = universe.clients_mut()[0].watch(watch);
    universe.say(0, text);
    eye
}

/// What the client sees around an eye is what is there. Returns how many bodies that are.
fn check_sight(universe: &mut Universe, eye: Vec3) -> usize {
    let place = |nid: Nid| universe.nodes().iter().find_map(|node| node.motion(nid)).map(|motion| motion.pose.position);
    let balls = traffic().owned_bodies().map(|(index, _)| World::nid(1, index)).collect::<Vec<_>>();
    let places: Vec<_> = balls.into_iter().map(|nid| (nid, place(nid))).collect();
    let client = &universe.clients_mut()[0];
    let slack = SPEED * LATE_TICKS / 60.0;
    let mut near = 0;
    for (nid, truth) in places {
        // One between two servers is nobody's.
        let Some(truth) = truth else { continue };
        let distance = (truth - eye).length();
        let shown = client.body(nid).map(|body| body.pose.position);
        if distance < RANGE - slack {
            near += 1;
            let off = shown.map(|shown| (shown - truth).length());
            assert!(off.is_some_and(|off| off <= slack), "{nid} at {truth} is shown {off:?} m off");
        }
        assert!(distance < RANGE * 1.1 + slack || shown.is_none(), "{nid} at {truth} is out of sight");
    }
    near
}

#[test]
fn motion_is_sent_where_a_client_looks_and_nothing_there_is_missed() {
    for seed in 1..=3 {
        let mut universe = start(seed);
        run(&mut universe, 60);
        let everything = states(&mut universe, 240);
        assert_eq!(universe.clients_mut()[0].len(), BALLS);
        assert!(everything > 230 * BALLS as u64, "{everything}");
        for x in [-60.0, 55.0, 0.0] {
            let eye = look(&mut universe, x);
            // A gateway repeats what it wants to hear after half a second; two of these may get lost.
            run(&mut universe, 80);
            for _ in 0..40 {
                run(&mut universe, 3);
                assert!(check_sight(&mut universe, eye) > 20);
            }
        }
        run(&mut universe, 120);
        let some = states(&mut universe, 240);
        println!("seed {seed}: {some} of {everything} states, {:.2}", some as f64 / everything as f64);
        assert!(some < everything * 4 / 10, "{some} of {everything}");
    }
}

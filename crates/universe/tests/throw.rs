//! A ball thrown through four regions hits the same bodies at the same time as on one server.

use nimbus_model::{BodyDesc, Layout, Nid, Pose, RegionId, ScriptedPush, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::{Node, Policy};
use nimbus_universe::{LinkModel, Universe, UniverseConfig};
use std::collections::BTreeMap;

const REGIONS: u16 = 4;
const WIDTH_M: f32 = 50.0;
/// Speed of the throw, m/s.
const SPEED: f32 = 25.0;
/// When the ball is thrown. By then the targets sleep.
const THROWN: Tick = Tick(240);
/// Long enough for the ball to leave the last region's inner edge well behind.
const TICKS: u64 = 240 + 480;
/// A body that is faster has been hit, m/s.
const STRUCK: f32 = 1e-3;
const BALL_RADIUS_M: f32 = 1.0;
const TARGET_RADIUS_M: f32 = 0.5;
/// How far beside the ball's path a target's centre lies: it is brushed aside, and the ball goes on.
const BESIDE_M: f32 = 1.2;

/// Where along the ball's way the targets lie.
#[derive(Clone, Copy, Debug)]
enum Targets {
    /// One well inside each region.
    Inside,
    /// One across each boundary, and one more in the last region.
    Across,
}

impl Targets {
    /// Distances from where the first region begins, along the throw.
    fn places(self) -> [f32; 4] {
        match self {
            Targets::Inside => [0.6, 1.45, 2.55, 3.4].map(|regions| regions * WIDTH_M),
            // Not exactly on it: the centres lie on one side and on the other.
            Targets::Across => [WIDTH_M + 0.1, 2.0 * WIDTH_M - 0.2, 3.0 * WIDTH_M + 0.3, 3.5 * WIDTH_M],
        }
    }
}

/// When servers wake and how long frames take.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// At every tick, over a quiet network.
    Quiet,
    /// As rarely and as late as the world's promises allow.
    AtTolerance,
    /// At every tick, but frames between servers go out at every third only, and come as late as promised.
    RareFrames,
}

/// No gravity; body 0 is the ball, the targets follow. `sense` is the direction of the throw along x.
fn world(targets: Targets, sense: f32) -> World {
    let mut world = World::new("throw");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(REGIONS, WIDTH_M);
    let along = |way: f32| sense * (way - 0.5 * f32::from(REGIONS) * WIDTH_M);
    let ball = BodyDesc { density: 8_000.0, ..BodyDesc::dynamic(Shape::Ball { radius: BALL_RADIUS_M }) };
    let ball = world.add(ball, Pose::at(Vec3::new(along(5.0), 0.0, 0.0)), Velocity::ZERO);
    for (i, way) in targets.places().into_iter().enumerate() {
        let light = BodyDesc { density: 10.0, ..BodyDesc::dynamic(Shape::Ball { radius: TARGET_RADIUS_M }) };
        let side = if i % 2 == 0 { BESIDE_M } else { -BESIDE_M };
        world.add(light, Pose::at(Vec3::new(along(way), 0.0, side)), Velocity::ZERO);
    }
    let linear = Vec3::new(sense * SPEED, 0.0, 0.0);
    world.script.push(ScriptedPush { tick: THROWN, body: ball, linear, angular: Vec3::ZERO });
    world
}

/// What was seen of a throw.
struct Throw {
    /// Per target that was hit, the first tick at which it moved.
    hits: BTreeMap<Nid, u64>,
    /// The ball's owners, in order of its reigns.
    owners: Vec<RegionId>,
    universe: Universe,
}

fn throw(world: World, servers: u16, seed: u64, pace: Pace) -> Throw {
    let mut config = UniverseConfig::new("throw", servers, seed, TICKS);
    config.policy = Policy::Aura;
    config.clients = 0;
    config.link = Some(LinkModel::default());
    let nanos = |ms: f32| (f64::from(ms) * 1e6) as u64;
    if let Pace::AtTolerance = pace {
        config.frame_ns = Some(nanos(world.tolerances.frame_ms));
    }
    if let Pace::RareFrames = pace {
        config.aura.send_every = 3;
    }
    if !matches!(pace, Pace::Quiet) {
        config.link = Some(LinkModel { latency_ns: nanos(world.tolerances.latency_ms), ..LinkModel::default() });
    }
    let ball = World::nid(1, 0);
    let targets: Vec<Nid> = (1..world.bodies.len() as u32).map(|i| World::nid(1, i)).collect();
    let mut universe = Universe::of_world(config, world).expect("the world can be laid out");
    let mut hits: BTreeMap<Nid, u64> = BTreeMap::new();
    let mut reigns: BTreeMap<u32, RegionId> = BTreeMap::new();
    while universe.tick() < Tick(TICKS) {
        if universe.tick() + 1 == THROWN {
            let awake: usize = universe.nodes().iter().map(Node::awake_count).sum();
            assert_eq!(awake, 0, "everything sleeps before the throw");
        }
        universe.advance_watching(&mut |node: &Node| {
            for (nid, epoch) in node.hosted() {
                if nid == ball {
                    reigns.insert(epoch, node.region());
                }
                let moves = node.motion(nid).is_some_and(|motion| motion.velocity.linear.length() > STRUCK);
                if moves && targets.contains(&nid) {
                    let first = hits.entry(nid).or_insert(node.now().0);
                    *first = node.now().0.min(*first);
                }
            }
        });
    }
    Throw { hits, owners: reigns.into_values().collect(), universe }
}

fn assert_same(targets: Targets, sense: f32, pace: Pace, seed: u64) {
    let case = format!("{targets:?} targets, direction {sense}, {pace:?}, seed {seed}");
    let world = world(targets, sense);
    let one = throw(nimbus_scenes::on_one_server(&world), 1, seed, Pace::Quiet);
    let many = throw(world, REGIONS, seed, pace);

    assert_eq!(one.hits.len(), 4, "{case}: the ball hits every target on one server: {:?}", one.hits);
    assert!(one.hits.keys().eq(many.hits.keys()), "{case}: hits {:?} and {:?}", one.hits, many.hits);
    for (nid, tick) in &one.hits {
        let seen = many.hits[nid];
        assert!(seen.abs_diff(*tick) <= 1, "{case}: {nid} is hit at tick {tick}, on many servers at {seen}");
    }
    let mut through = many.owners.clone();
    through.dedup();
    let mut expected: Vec<RegionId> = (0..REGIONS).map(RegionId).collect();
    if sense < 0.0 {
        expected.reverse();
    }
    assert_eq!(through, expected, "{case}: the ball goes from server to server");
    assert_eq!(many.universe.outcome().breaches.first(), None, "{case}: no promise is void");
    let owned: usize = many.universe.nodes().iter().map(Node::hosted_count).sum();
    assert_eq!(owned, 5, "{case}: every body has one owner");
}

#[test]
fn a_throw_through_four_regions_hits_the_same_bodies() {
    for seed in 1..=4 {
        for sense in [1.0, -1.0] {
            assert_same(Targets::Inside, sense, Pace::Quiet, seed);
            assert_same(Targets::Inside, sense, Pace::AtTolerance, seed);
        }
    }
}

#[test]
fn a_throw_hits_the_same_bodies_across_boundaries() {
    for seed in 1..=4 {
        for sense in [1.0, -1.0] {
            assert_same(Targets::Across, sense, Pace::Quiet, seed);
            assert_same(Targets::Across, sense, Pace::AtTolerance, seed);
        }
    }
}

#[test]
fn a_throw_is_the_same_when_frames_go_out_at_every_third_tick() {
    for (targets, sense, seed) in [(Targets::Inside, 1.0, 1), (Targets::Across, 1.0, 2), (Targets::Across, -1.0, 3)] {
        assert_same(targets, sense, Pace::RareFrames, seed);
    }
}

#[test]
fn who_wakes_rarely_and_has_nothing_to_say_is_not_silent() {
    for ticks_apart in [1, 2, 3, 5] {
        let mut world = World::new("alone");
        world.layout = Layout::columns(2, WIDTH_M);
        world.tolerances.frame_ms = 1_000.0 * ticks_apart as f32 / world.tick_hz as f32;
        let body = BodyDesc::dynamic(Shape::Ball { radius: TARGET_RADIUS_M });
        world.add(body, Pose::at(Vec3::X * 0.9 * WIDTH_M), Velocity::ZERO);
        let mut config = UniverseConfig::new("alone", 2, ticks_apart, 240);
        config.clients = 0;
        config.link = Some(LinkModel::default());
        config.frame_ns = Some(ticks_apart * 1_000_000_000 / u64::from(world.tick_hz));
        let outcome = Universe::of_world(config, world).expect("the world can be laid out").run(|_| {});
        assert_eq!(outcome.breaches.first(), None, "{ticks_apart} ticks apart");
    }
}

//! What touches what is told once, by whoever has the bodies, as one server would tell it.

use nimbus_model::{BodyDesc, Layout, Nid, Pose, RegionId, Rng, ScriptedPush, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::{Contact, ContactKind, Planted, Policy};
use nimbus_universe::{LinkModel, Outcome, Universe, UniverseConfig};
use std::collections::{BTreeMap, BTreeSet};

/// When servers wake and how long frames take.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    /// At every tick, over a quiet network.
    Quiet,
    /// As rarely and as late as the world's promises allow, so that bodies miss ticks on their way.
    AtTolerance,
}

/// A log by pair: what began and ended, and when.
type ByPair = BTreeMap<(Nid, Nid), Vec<(u64, ContactKind)>>;

fn config(world: &World, servers: u16, seed: u64, ticks: u64, pace: Pace) -> UniverseConfig {
    let mut config = UniverseConfig::new(&world.name, servers, seed, ticks);
    config.clients = 0;
    config.contacts = true;
    config.link = Some(LinkModel::default());
    if pace == Pace::AtTolerance {
        let nanos = |ms: f32| (f64::from(ms) * 1e6) as u64;
        config.frame_ns = Some(nanos(world.tolerances.frame_ms));
        config.link = Some(LinkModel { latency_ns: nanos(world.tolerances.latency_ms), ..LinkModel::default() });
    }
    config
}

/// The merged log of all servers. Of one pair and tick the order in which it was told stays.
fn by_pair(log: &[(RegionId, Contact)]) -> ByPair {
    let mut pairs = ByPair::new();
    for (_, Contact { tick, one, two, kind }) in log {
        pairs.entry((*one, *two)).or_default().push((tick.0, *kind));
    }
    pairs.values_mut().for_each(|told| told.sort_by_key(|(tick, _)| *tick));
    pairs
}

/// Panics unless every pair begins and ends in turn.
fn assert_turns(case: &str, pairs: &ByPair) {
    for (pair, told) in pairs {
        let turns = [ContactKind::Began, ContactKind::Ended].into_iter().cycle();
        assert!(told.iter().map(|(_, kind)| *kind).eq(turns.take(told.len())), "{case}: {pair:?} {told:?}");
    }
}

/// Panics unless both logs tell the same of the same pairs, within a tick.
fn assert_same(case: &str, one: &ByPair, many: &ByPair) {
    assert_turns(case, one);
    assert_turns(case, many);
    assert!(one.keys().eq(many.keys()), "{case}: {one:?}\n{many:?}");
    for (pair, told) in one {
        let seen = &many[pair];
        let same =
            |(one, many): (&(u64, ContactKind), &(u64, ContactKind))| one.0.abs_diff(many.0) <= 1 && one.1 == many.1;
        assert!(told.len() == seen.len() && told.iter().zip(seen).all(same), "{case}: {pair:?} {told:?} {seen:?}");
    }
}

fn assert_clean(case: &str, outcome: &Outcome) {
    assert!(outcome.violations.is_empty(), "{case}: {}", outcome.violations[0]);
}

const STACK_TICKS: u64 = 420;
const STACK_HEIGHT: usize = 5;
/// When the top of the stack is thrown off, towards the other region.
const THROWN_OFF: Tick = Tick(330);

/// A stack beside the boundary of two regions. It falls a little at the start, and loses its top near the end.
fn stack() -> World {
    let mut world = World::new("stack");
    world.layout = Layout::columns(2, 100.0);
    world.add_ground(100.0, 100.0);
    let cube = BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5)) };
    let mut top = 0;
    for i in 0..STACK_HEIGHT {
        let place = Vec3::new(0.2 + 0.01 * (i % 2) as f32, 0.55 + 1.05 * i as f32, 0.0);
        top = world.add(cube.clone(), Pose::at(place), Velocity::ZERO);
    }
    let linear = Vec3::new(-3.0, 4.0, 0.0);
    world.script.push(ScriptedPush { tick: THROWN_OFF, body: top, linear, angular: Vec3::ZERO });
    world
}

/// Lets the stack stand, and gives it to the other server every half second.
fn stand(world: World, servers: u16, pace: Pace, planted: Option<Planted>) -> Universe {
    let cubes: Vec<Nid> = world.owned_bodies().map(|(i, _)| World::nid(1, i)).collect();
    let config = UniverseConfig { planted, ..config(&world, servers, 10, STACK_TICKS, pace) };
    let mut universe = Universe::of_world(config, world).expect("the world can be laid out");
    while universe.tick() < Tick(STACK_TICKS) {
        if servers > 1 && universe.tick().0 % 30 == 20 && universe.tick() < THROWN_OFF {
            let has_it = |node: &&mut nimbus_node::Node| cubes.iter().any(|nid| node.motion(*nid).is_some());
            let owner = universe.nodes_mut().iter_mut().find(has_it).expect("somebody has the stack");
            let other = RegionId(1 - owner.region().0);
            owner.force(&cubes, other);
        }
        universe.advance();
    }
    universe
}

#[test]
fn a_stack_that_changes_server_while_it_stands_touches_as_before() {
    let one = stand(nimbus_scenes::on_one_server(&stack()), 1, Pace::Quiet, None);
    let one = by_pair(&one.outcome().contacts);
    let told: usize = one.values().map(Vec::len).sum();
    assert!(one.len() > STACK_HEIGHT && told > STACK_HEIGHT + 1, "it lands, and its top falls off: {one:?}");
    for pace in [Pace::Quiet, Pace::AtTolerance] {
        let many = stand(stack(), 2, pace, None);
        let outcome = many.outcome();
        assert!(outcome.hand_overs >= 10 * STACK_HEIGHT as u64, "{pace:?}: {} hand-overs", outcome.hand_overs);
        assert!(outcome.breaches.is_empty(), "{pace:?}: {:?}", outcome.breaches);
        assert_same(&format!("{pace:?}"), &one, &by_pair(&outcome.contacts));
        let tellers: BTreeSet<RegionId> = outcome.contacts.iter().map(|(region, _)| *region).collect();
        assert_eq!(tellers.len(), 2, "{pace:?}: both servers have something to tell");
        let counted: u64 = many.nodes().iter().map(|node| node.counters().contacts_began).sum();
        let began = outcome.contacts.iter().filter(|(_, contact)| contact.kind == ContactKind::Began).count();
        assert_eq!(counted, began as u64);
    }
}

#[test]
fn touches_that_do_not_travel_would_be_noticed() {
    let many = stand(stack(), 2, Pace::Quiet, Some(Planted::ForgottenTouches));
    let pairs = by_pair(&many.outcome().contacts);
    let twice = |told: &Vec<(u64, ContactKind)>| told.windows(2).any(|two| two[0].1 == two[1].1);
    assert!(pairs.values().any(twice), "{pairs:?}");
}

const REGIONS: u16 = 3;
const WIDTH_M: f32 = 50.0;
const SPEED: f32 = 20.0;
const THROW_TICKS: u64 = 480;
const BALLS: u32 = 32;

/// A ball that flies through three regions. On its way it passes a gate that only senses across the first boundary, a
/// target across the second one, a target inside each region, and a post that does not move.
fn throw() -> World {
    let mut world = World::new("throw");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(REGIONS, WIDTH_M);
    let along = |way: f32| way - 0.5 * f32::from(REGIONS) * WIDTH_M;
    let heavy = BodyDesc { density: 8_000.0, ..BodyDesc::dynamic(Shape::ball(1.0)) };
    world.add(heavy, Pose::at(Vec3::new(along(5.0), 0.0, 0.0)), Velocity::linear(Vec3::new(SPEED, 0.0, 0.0)));
    for (way, side) in [(30.0, 1.2), (75.0, -1.2), (2.0 * WIDTH_M - 0.2, 1.2), (125.0, -1.2)] {
        let light = BodyDesc { density: 10.0, ..BodyDesc::dynamic(Shape::ball(0.5)) };
        world.add(light, Pose::at(Vec3::new(along(way), 0.0, side)), Velocity::ZERO);
    }
    let gate = BodyDesc { sensor: true, ..BodyDesc::fixed(Shape::cuboid(4.0, 1.0, 1.0)) };
    world.add(gate, Pose::at(Vec3::new(along(WIDTH_M), 0.0, 0.0)), Velocity::ZERO);
    world.add(BodyDesc::fixed(Shape::ball(0.5)), Pose::at(Vec3::new(along(140.0), 0.0, 1.3)), Velocity::ZERO);
    world
}

#[test]
fn a_throw_across_two_boundaries_touches_what_it_touches_on_one_server() {
    let run = |world: World, servers, seed, pace| {
        let config = config(&world, servers, seed, THROW_TICKS, pace);
        Universe::of_world(config, world).expect("the world can be laid out").run(|_| {})
    };
    let one = run(nimbus_scenes::on_one_server(&throw()), 1, 1, Pace::Quiet);
    let one = by_pair(&one.contacts);
    let ball = World::nid(1, 0);
    assert_eq!(one.keys().filter(|(a, b)| *a == ball || *b == ball).count(), 6, "it meets all of them: {one:?}");
    for (pace, seed) in [(Pace::Quiet, 1), (Pace::AtTolerance, 2), (Pace::AtTolerance, 3)] {
        let case = format!("{pace:?}, seed {seed}");
        let many = run(throw(), REGIONS, seed, pace);
        assert_clean(&case, &many);
        assert!(many.hand_overs >= 2 && many.breaches.is_empty(), "{case}: {:?}", many.breaches);
        assert_same(&case, &one, &by_pair(&many.contacts));
        let gate = Nid::of_world(1, 5);
        let senses = |(_, contact): &&(RegionId, Contact)| contact.one.min(contact.two) == gate || contact.two == gate;
        let tellers: BTreeSet<RegionId> = many.contacts.iter().filter(senses).map(|(region, _)| *region).collect();
        assert_eq!(tellers.len(), 2, "{case}: one server sees the ball enter, another one sees it leave");
    }
}

#[test]
fn crowds_begin_and_end_in_turn_under_every_policy() {
    for (policy, faults) in [
        (Policy::Aura, "none"),
        (Policy::Exclusive, "none"),
        (Policy::Exclusive, "loss,duplication,stall,map,full"),
        (Policy::Aura, "loss,reordering,stall,map,reset,full"),
    ] {
        let mut config = UniverseConfig::new("crossing", 4, 5, 240);
        config.policy = policy;
        config.contacts = true;
        config.commands = true;
        config.faults = faults.parse().expect("faults are named right");
        let case = format!("{policy:?}, {faults}");
        let outcome = Universe::new(config).expect("the scene is known").run(|_| {});
        assert_clean(&case, &outcome);
        assert_turns(&case, &by_pair(&outcome.contacts));
        assert!(outcome.contacts.len() > 50 && outcome.hand_overs > 20, "{case}: {}", outcome.contacts.len());
    }
}

/// Balls that bounce about in a box across the boundary of two regions and never lose speed, so that something begins
/// or ends to touch at almost every tick.
fn billiards(seed: u64) -> World {
    let mut world = World::new("billiards");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(2, 60.0);
    let mut rng = Rng::new(seed);
    for i in 0..BALLS {
        let ball = BodyDesc { restitution: 1.0, friction: 0.0, ..BodyDesc::dynamic(Shape::ball(0.5)) };
        let place = Vec3::new(2.0 * (i % 8) as f32 - 7.0, 0.0, 2.0 * (i / 8) as f32 - 3.0);
        let speed = Vec3::new(rng.between(-8.0, 8.0), 0.0, rng.between(-8.0, 8.0));
        world.add(ball, Pose::at(place), Velocity::linear(speed));
    }
    let wall = |x: f32, y: f32, z: f32| BodyDesc {
        restitution: 1.0,
        friction: 0.0,
        ..BodyDesc::fixed(Shape::cuboid(x, y, z))
    };
    for side in [-1.0, 1.0] {
        world.add(wall(1.0, 3.0, 7.0), Pose::at(Vec3::new(11.0 * side, 0.0, 0.0)), Velocity::ZERO);
        world.add(wall(12.0, 3.0, 1.0), Pose::at(Vec3::new(0.0, 0.0, 7.0 * side)), Velocity::ZERO);
        world.add(wall(12.0, 1.0, 7.0), Pose::at(Vec3::new(0.0, 2.0 * side, 0.0)), Velocity::ZERO);
    }
    world
}

#[test]
fn a_crash_neither_repeats_nor_loses_a_touch() {
    for (faults, seed) in [("crash", 3), ("crash,suspicion", 4), ("crash,loss,jitter", 5), ("all", 6), ("all", 7)] {
        let world = billiards(seed);
        let mut config = UniverseConfig { link: None, ..config(&world, 2, seed, 600, Pace::Quiet) };
        config.faults = faults.parse().expect("faults are named right");
        let case = format!("{faults}, seed {seed}");
        let outcome = Universe::of_world(config, world).expect("the world can be laid out").run(|_| {});
        assert_clean(&case, &outcome);
        assert!(outcome.promotions > 0, "{case}");
        assert_turns(&case, &by_pair(&outcome.contacts));
        let mut seen = BTreeSet::new();
        assert!(outcome.contacts.iter().all(|(_, contact)| seen.insert(*contact)), "{case}: told twice");
        eprintln!(
            "{case}: {} contacts {} promotions {} hand-overs",
            seen.len(),
            outcome.promotions,
            outcome.hand_overs
        );
        assert!(seen.len() > 500, "{case}: {}", seen.len());
    }
}

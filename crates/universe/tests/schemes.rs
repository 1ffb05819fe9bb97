//! Every scheme of who owns what, on the same small universes: whatever else it does, it loses and doubles nothing.

use nimbus_model::{BodyDesc, JointDesc, JointKind, Layout, Nid, Pose, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::Policy;
use nimbus_universe::{LinkModel, Outcome, Universe, UniverseConfig};

const BALLS: u32 = 4;

/// Balls that fly from the first of three regions to the last, or back, and nothing in their way.
fn crossing(sense: f32) -> World {
    let mut world = World::new("schemes");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(3, 60.0);
    for i in 0..BALLS {
        let place = Vec3::new(-sense * 40.0, 0.0, 20.0 * i as f32 - 30.0);
        let speed = Vec3::X * (sense * (16.0 + i as f32));
        let ball = BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::ball(0.5)) };
        world.add(ball, Pose::at(place), Velocity::linear(speed));
    }
    world
}

fn config(policy: Policy, servers: u16, ticks: u64) -> UniverseConfig {
    let mut config = UniverseConfig::new("schemes", servers, 3, ticks);
    config.policy = policy;
    config.link = Some(LinkModel::default());
    config
}

fn assert_clean(outcome: &Outcome, what: &str) {
    let violations: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{what}: {}", violations.join("\n"));
}

#[test]
fn every_scheme_hands_over_once_at_each_boundary() {
    for (name, policy) in Policy::ALL {
        for sense in [1.0, -1.0] {
            let universe = Universe::of_world(config(policy, 3, 300), crossing(sense)).unwrap();
            let outcome = universe.run(|_| {});
            assert_clean(&outcome, name);
            assert_eq!(outcome.hand_overs, u64::from(2 * BALLS), "{name}, direction {sense}");
            let last = if sense > 0.0 { 2 } else { 0 };
            assert_eq!(outcome.hosted[last], BALLS as usize, "{name}, direction {sense}: {:?}", outcome.hosted);
        }
    }
}

#[test]
fn every_scheme_runs_a_scene_clean() {
    for (name, policy) in Policy::ALL {
        let mut config = config(policy, 4, 180);
        config.scene = "crossing".to_owned();
        config.scale = 0.3;
        let outcome = Universe::new(config).unwrap().run(|_| {});
        assert_clean(&outcome, name);
        assert!(outcome.hand_overs > 20, "{name}: {} hand-overs", outcome.hand_overs);
    }
}

/// What acknowledges loses nothing, whatever happens to frames and boundaries.
#[test]
fn schemes_that_acknowledge_lose_nothing_when_much_goes_wrong() {
    for policy in [Policy::Naive, Policy::Cells, Policy::Utility] {
        let mut config = UniverseConfig::new("crossing", 3, 5, 300);
        config.scale = 0.3;
        config.policy = policy;
        config.faults = "loss,duplication,reordering,stall,map,reset,full,crash".parse().unwrap();
        config.commands = true;
        let outcome = Universe::new(config).unwrap().run(|_| {});
        assert_clean(&outcome, policy.name());
        assert!(outcome.hand_overs > 20, "{}: {} hand-overs", policy.name(), outcome.hand_overs);
    }
}

/// A ball that lies in region 1 and one that lies across the boundary, both awake.
fn beside_a_straddler(apart: f32) -> World {
    let mut world = World::new("schemes");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(2, 60.0);
    let ball = || BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::ball(0.5)) };
    world.add(ball(), Pose::at(Vec3::new(-0.2, 1.0, 1.0)), Velocity::ZERO);
    world.add(ball(), Pose::at(Vec3::new(apart, 1.0, 1.0)), Velocity::ZERO);
    world
}

/// Who has each body after a second.
fn owners(policy: Policy, world: World) -> Vec<Option<u16>> {
    let nids: Vec<Nid> = (0..world.bodies.len() as u32).map(|i| World::nid(1, i)).collect();
    let mut universe = Universe::of_world(config(policy, 2, 1 << 32), world).expect("the world can be laid out");
    while universe.tick() < Tick(60) {
        universe.advance();
    }
    let owner = |nid: &Nid| universe.nodes().iter().find(|node| node.motion(*nid).is_some()).map(|n| n.region().0);
    nids.iter().map(owner).collect()
}

#[test]
fn what_shares_a_cell_shares_an_owner() {
    let near = || beside_a_straddler(2.0);
    assert_eq!(owners(Policy::Exclusive, near()), [Some(0), Some(1)], "without joins each stays where it is");
    assert_eq!(owners(Policy::Cells, near()), [Some(0), Some(0)]);
    assert_eq!(owners(Policy::Utility, near()), [Some(0), Some(0)]);
    let far = || beside_a_straddler(6.0);
    assert_eq!(owners(Policy::Cells, far()), [Some(0), Some(1)], "they share no cell");
    assert_eq!(owners(Policy::Utility, far()), [Some(0), Some(1)]);
}

/// A long row of jointed balls from the boundary deep into region 1, and whether anything is on region 0.
#[test]
fn utility_gives_nobody_what_is_deep_inside_a_neighbour() {
    let row = || {
        let mut world = World::new("schemes");
        world.gravity = Vec3::ZERO;
        world.layout = Layout::columns(2, 60.0);
        let ball = || BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::ball(0.5)) };
        let balls: Vec<u32> = (0..20)
            .map(|i| world.add(ball(), Pose::at(Vec3::new(-0.2 + 2.0 * i as f32, 1.0, 1.0)), Velocity::ZERO))
            .collect();
        let rope = JointKind::Rope { length: 2.5 };
        world.join(balls[18], balls[19], JointDesc::new(rope, Vec3::ZERO, Vec3::ZERO));
        world
    };
    assert!(owners(Policy::Cells, row()).iter().all(|owner| *owner == Some(0)), "one join, one owner");
    let owners = owners(Policy::Utility, row());
    assert_eq!((owners[0], owners[19]), (Some(0), Some(1)), "{owners:?}");
}

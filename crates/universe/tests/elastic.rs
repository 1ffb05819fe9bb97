//! Regions that come and go while bodies move and things go wrong.

use nimbus_model::{Aabb, BodyDesc, Choice, Injection, Layout, RegionId, Shape, Tick, Tolerances, Vec3, World};
use nimbus_node::Node;
use nimbus_scenes::SceneParams;
use nimbus_universe::{BalanceConfig, Faults, LinkModel, Outcome, Swarm, Universe, UniverseConfig};

fn assert_clean(outcome: &Outcome, what: &str) {
    let violations: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{what}: {}", violations.join("\n"));
}

/// A quiet universe of one region and idle servers.
fn one_of(servers: u16, ticks: u64) -> UniverseConfig {
    let mut config = UniverseConfig::new("crossing", 1, 3, ticks);
    config.spare = servers - 1;
    config.scale = 0.3;
    config.link = Some(LinkModel::default());
    config
}

fn crossing(config: UniverseConfig) -> Universe {
    let params = SceneParams { servers: 2, seed: config.seed, scale: config.scale };
    let mut world = nimbus_scenes::build("crossing", &params).expect("there is such a scene");
    world.layout = Layout::columns(1, 400.0);
    Universe::of_world(config, world).expect("the configuration is good")
}

fn hosted(universe: &Universe) -> Vec<usize> {
    universe.nodes().iter().map(Node::hosted_count).collect()
}

fn advance(universe: &mut Universe, ticks: u64) {
    (0..ticks).for_each(|_| universe.advance());
}

#[test]
fn a_region_that_gets_a_place_gets_what_lies_there_and_gives_it_back() {
    let mut universe = crossing(one_of(3, 600));
    advance(&mut universe, 60);
    let all = hosted(&universe)[0];
    assert_eq!(hosted(&universe), [all, 0, 0]);
    let two = universe.map().split(0, (0, 0.0), RegionId(2), 0.0, Tick(80)).expect("a good place");
    universe.repartition(two);
    advance(&mut universe, 120);
    let shared = hosted(&universe);
    assert!(shared[1] == 0 && shared[2] > all / 5, "{shared:?} of {all}");
    let one = universe.map().merge(0, Tick(200)).expect("two leaves");
    universe.repartition(one);
    advance(&mut universe, 120);
    let gathered = hosted(&universe);
    assert!(gathered[0] >= all && gathered[1..] == [0, 0], "drained within two seconds: {gathered:?}");
    assert_eq!(universe.outcome().breaches, [], "and nothing came late");
}

/// Bodies that fall past each other and vanish: many for a while, few before and after.
fn shower(bodies: f32, burst: (u64, u64), end_s: u64) -> World {
    let mut world = World::new("shower");
    world.gravity = Vec3::ZERO;
    world.radius_max = 0.5;
    world.tolerances = Tolerances { speed: 16.0, ..Tolerances::default() };
    world.layout = Layout::columns(1, 400.0);
    world.kill_box = Aabb::new(Vec3::new(-500.0, 0.0, -500.0), Vec3::new(500.0, 40.0, 500.0));
    let mut body = BodyDesc::dynamic(Shape::ball(0.4));
    body.restitution = 0.6;
    for (from_s, to_s, share) in [(0, burst.0, 0.1), (burst.0, burst.1, 1.0), (burst.1, end_s, 0.1)] {
        let per_second = share * bodies * 8.0 / 16.0;
        world.injections.push(Injection {
            volume: Aabb::around(Vec3::Y * 16.0, Vec3::new(60.0, 2.0, 60.0)),
            per_second,
            start: Tick(from_s * u64::from(world.tick_hz)),
            count: (per_second * (to_s - from_s) as f32) as u32,
            velocity_min: Vec3::new(-1.0, -9.0, -1.0),
            velocity_max: Vec3::new(1.0, -7.0, 1.0),
            turned: true,
            choices: vec![Choice { weight: 1, body: body.clone() }],
        });
    }
    world
}

#[test]
fn a_burst_is_spread_over_idle_servers_and_gathered_again() {
    let mut config = one_of(4, 30 * 60);
    config.balance = Some(BalanceConfig { budget_us: Some(300), ..BalanceConfig::default() });
    let world = shower(500.0, (3, 15), 30);
    let mut universe = Universe::of_world(config.clone(), world.clone()).expect("the configuration is good");
    let mut places = Vec::new();
    for _ in 0..30 {
        advance(&mut universe, 60);
        places.push(universe.nodes()[0].map().regions().len());
    }
    assert_eq!((places[0], places[29]), (1, 1), "{places:?}");
    assert!(places.iter().max() >= Some(&3), "{places:?}");
    assert_eq!(hosted(&universe)[1..], [0, 0, 0]);
    let outcome = Universe::of_world(config, world).expect("the configuration is good").run(|_| {});
    assert_clean(&outcome, "a burst");
    assert!(outcome.resizes >= 4, "{} resizes", outcome.resizes);
}

/// `SEEDS=100 TICKS=3600` makes more of it.
#[test]
fn nothing_breaks_when_regions_come_and_go_and_everything_goes_wrong() {
    let told = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let mut base = UniverseConfig::new("crossing", 2, 0, told("TICKS").unwrap_or(400));
    base.commands = true;
    base.faults = Faults::all();
    base.scale = 0.4;
    base.spare = 3;
    let seeds = told("SEEDS").unwrap_or(3);
    let swarm = Swarm { base, first_seed: 1, seeds, servers: Some(2..=6), at_limits: false, stop_at_first: true };
    let report = swarm.run(2, |_| {}).expect("the configuration is good");
    if let Some(failure) = &report.failure {
        assert_clean(&failure.outcome, &format!("seed {}", failure.config.seed));
    }
    assert!(report.counted >= swarm.seeds, "{}", report.thin_reason);
    assert!(report.resizes >= report.counted, "{} resizes", report.resizes);
}

//! Boundaries that follow the load while bodies move and things go wrong.

use nimbus_control::{Misplan, PlannerConfig};
use nimbus_model::{Layout, World};
use nimbus_scenes::SceneParams;
use nimbus_universe::{BalanceConfig, Faults, LinkModel, Outcome, Swarm, Universe, UniverseConfig};

/// A scene laid out so that two regions in the middle have it all.
fn uneven(config: &UniverseConfig, width: f32) -> World {
    let params = SceneParams { servers: config.servers, seed: config.seed, scale: config.scale };
    let mut world = nimbus_scenes::build(&config.scene, &params).expect("there is such a scene");
    world.layout = Layout::columns(config.servers, width);
    world
}

fn run(config: UniverseConfig, width: f32) -> Outcome {
    let world = uneven(&config, width);
    Universe::of_world(config, world).expect("the configuration is good").run(|_| {})
}

fn assert_clean(outcome: &Outcome, what: &str) {
    let violations: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{what}: {}", violations.join("\n"));
}

fn balanced(scene: &str, servers: u16, seed: u64, ticks: u64) -> UniverseConfig {
    let mut config = UniverseConfig::new(scene, servers, seed, ticks);
    config.balance = Some(BalanceConfig::default());
    config.link = Some(LinkModel::default());
    config
}

#[test]
fn boundaries_follow_the_load_and_nothing_is_late() {
    let mut config = balanced("crossing", 4, 3, 600);
    config.scale = 0.5;
    let still = UniverseConfig { balance: None, ..config.clone() };
    let (planned, still) = (run(config.clone(), 20.0), run(still, 20.0));
    assert_clean(&planned, "boundaries that move");
    assert_eq!(planned.breaches, []);
    assert!(planned.plans >= 2, "{} plans", planned.plans);
    let most = |outcome: &Outcome| outcome.hosted.iter().copied().max();
    assert!(most(&planned) < most(&still), "{:?} against {:?}", planned.hosted, still.hosted);
    let again = UniverseConfig { checked: false, ..config };
    assert_eq!(run(again, 20.0).hash, planned.hash, "the same run is the same, bit for bit");
}

/// Boundaries that move for little, so that they move all the time.
fn eager(faults: Faults, ticks: u64, planted: Option<Misplan>) -> Swarm {
    let mut base = UniverseConfig::new("crossing", 4, 0, ticks);
    base.commands = true;
    base.faults = faults;
    let world = nimbus_scenes::build("crossing", &SceneParams { servers: 4, seed: 1, scale: 1.0 }).expect("a scene");
    let usual = BalanceConfig::default().planner_for(&world, &base.aura);
    let planner = PlannerConfig {
        start_permille: 40,
        stop_permille: 20,
        gain_us_min: 2,
        settle_ticks: 90,
        step_m: 16.0,
        ..usual
    };
    base.balance = Some(BalanceConfig { planner: Some(planner), planted, ..BalanceConfig::default() });
    Swarm { base, first_seed: 1, seeds: 2, servers: Some(2..=6), at_limits: false, stop_at_first: true }
}

/// `SEEDS=100 TICKS=1200 SCALE=0.25` makes more of it: more seeds, for longer, with fewer bodies to begin with.
#[test]
fn nothing_breaks_when_boundaries_move_and_everything_goes_wrong() {
    let told = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let mut swarm = eager(Faults::all(), told("TICKS").unwrap_or(260), None);
    swarm.seeds = told("SEEDS").unwrap_or(2);
    let scale = std::env::var("SCALE").ok().and_then(|text| text.parse().ok());
    swarm.base.scale = scale.unwrap_or(swarm.base.scale);
    let report = swarm.run(2, |_| {}).expect("the configuration is good");
    println!(
        "{} seeds, {} thin, {} plans, {} hand-overs",
        report.counted, report.thin, report.plans, report.hand_overs
    );
    if let Some(failure) = &report.failure {
        assert_clean(&failure.outcome, &format!("seed {}", failure.config.seed));
    }
    assert!(report.counted >= swarm.seeds, "{}", report.thin_reason);
    assert!(report.plans >= report.counted, "{} plans", report.plans);
}

#[test]
fn every_mistake_of_a_planner_is_found() {
    for (name, planted) in Misplan::ALL {
        let mut config = balanced("crossing", 4, 3, 420);
        config.scale = 0.3;
        config.clients = 0;
        let swarm = eager(Faults::default(), 420, Some(planted));
        config.balance = swarm.base.balance;
        // A leap needs room.
        let outcome = run(config, if planted == Misplan::Leaping { 60.0 } else { 20.0 });
        let first = outcome.violations.first().unwrap_or_else(|| panic!("{name} was not found"));
        let rules: &[&str] = match planted {
            Misplan::Hasty => &["boundaries", "one partition"],
            _ => &["boundaries"],
        };
        assert!(rules.contains(&first.rule), "{name} was noticed by an unlikely rule: {first}");
    }
}

//! Whole clusters whose processes do what a coordinator's roster says.

use nimbus_model::Layout;
use nimbus_node::Planted;
use nimbus_scenes::SceneParams;
use nimbus_universe::{
    BalanceConfig, ControlConfig, Faults, LinkModel, Mismanage, Outcome, Swarm, Universe, UniverseConfig,
};

fn run(config: UniverseConfig) -> Outcome {
    Universe::new(config).expect("the configuration is good").run(|_| {})
}

fn assert_clean(outcome: &Outcome, what: &str) {
    let violations: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{what}: {}", violations.join("\n"));
}

fn governed(servers: u16, seed: u64, ticks: u64) -> UniverseConfig {
    let mut config = UniverseConfig::new("crossing", servers, seed, ticks);
    config.scale = 0.25;
    config.control = Some(ControlConfig::default());
    config
}

#[test]
fn regions_are_placed_protected_and_left_alone_while_all_is_well() {
    let mut config = governed(3, 1, 200);
    config.link = Some(LinkModel::default());
    let outcome = run(config);
    assert_clean(&outcome, "quiet");
    assert_eq!((outcome.promotions, outcome.control.fenced, outcome.control.misplaced), (0, 0, 0));
    assert!((3..12).contains(&outcome.control.revisions), "{:?}", outcome.control);
    assert!(outcome.hand_overs > 20, "{} hand-overs", outcome.hand_overs);
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let config = |seed| {
        let mut config = governed(3, seed, 240);
        config.faults = Faults::all();
        config
    };
    let (first, again, other) = (run(config(1)), run(config(1)), run(config(2)));
    assert_eq!((first.hash, first.frames, first.control), (again.hash, again.frames, again.control));
    assert_ne!(first.hash, other.hash);
}

#[test]
fn nothing_is_lost_or_doubled_when_everything_goes_wrong() {
    let (mut promotions, mut moves, mut fenced, mut stops) = (0, 0, 0, 0);
    for (seed, servers) in [(1, 3), (2, 4), (5, 2)] {
        let mut config = governed(servers, seed, 700);
        config.faults = Faults::all();
        config.commands = true;
        let outcome = run(config);
        assert_clean(&outcome, &format!("seed {seed}"));
        assert!(outcome.hand_overs > 20, "seed {seed}: {} hand-overs", outcome.hand_overs);
        promotions += outcome.promotions;
        moves += outcome.control.moves;
        fenced += outcome.control.fenced;
        stops += outcome.control.stops;
    }
    let all = [promotions, moves, fenced, stops];
    assert!(all.iter().all(|count| *count > 0), "promotions, moves, fenced processes, stops: {all:?}");
}

#[test]
fn a_process_that_makes_a_world_after_its_tick_loads_it_late() {
    let mut config = governed(3, 1, 500);
    config.faults = "reset".parse().unwrap();
    let outcome = run(config);
    assert_clean(&outcome, "slow worlds");
    let (loads, late) = (outcome.faults.reset, outcome.control.late_changes);
    assert!(loads > 0 && late > 0, "{loads} worlds loaded, {late} changes too late");
}

/// A load due at tick 96 was made at tick 157, and its server died before its backup had that tick.
#[test]
fn bodies_are_not_born_twice_after_the_server_of_a_late_load_dies() {
    let mut config = governed(4, 910_027, 1_200);
    config.faults = Faults::all();
    config.commands = true;
    let outcome = run(config);
    assert_clean(&outcome, "seed 910027");
    let (loads, late) = (outcome.faults.reset, outcome.control.late_changes);
    assert!(loads > 0 && late > 0 && outcome.promotions > 0, "{loads} worlds loaded, {late} changes too late");
}

#[test]
fn a_server_that_loads_a_world_as_of_another_tick_is_noticed() {
    let mut config = governed(3, 1, 500);
    config.faults = "reset".parse().unwrap();
    config.planted = Some(Planted::LoadsAtNow);
    let outcome = run(config);
    let rules: Vec<&str> = outcome.violations.iter().map(|violation| violation.rule).collect();
    assert!(rules.contains(&"one load"), "{rules:?}");
}

#[test]
fn boundaries_that_follow_the_load_are_orders_too() {
    let mut config = governed(4, 3, 400);
    config.balance = Some(BalanceConfig::default());
    config.faults = "crash".parse().unwrap();
    config.scale = 0.5;
    // Two regions in the middle have it all.
    let params = SceneParams { servers: config.servers, seed: config.seed, scale: config.scale };
    let mut world = nimbus_scenes::build(&config.scene, &params).expect("there is such a scene");
    world.layout = Layout::columns(config.servers, 20.0);
    let outcome = Universe::of_world(config, world).expect("the configuration is good").run(|_| {});
    assert_clean(&outcome, "balance");
    assert!(outcome.plans > 0 && outcome.faults.map > 0, "{} planned, {} announced", outcome.plans, outcome.faults.map);
}

#[test]
fn one_server_cannot_be_governed() {
    let error = Universe::new(governed(1, 1, 10)).err().unwrap();
    assert!(error.to_string().contains("two servers"), "{error}");
}

/// The rules that may notice each mistake of the coordinator first. Some are left to the simulation of `crates/control`: one
/// takes two coordinators, and one shows only in runs that are longer than `abandon_ms`.
fn noticed_by(planted: Mismanage) -> &'static [&'static str] {
    match planted {
        Mismanage::DeafToConflict | Mismanage::NoGrace => &[],
        Mismanage::TellBeforeStore => &["stored first"],
        Mismanage::PromoteUnprotected => &["sound control"],
        Mismanage::ReuseEpoch | Mismanage::ReuseIncarnation => &["one server"],
        // A backup that takes what was meant for a former one may also never commit, and neighbours wait.
        Mismanage::ReuseLife => &["sound control", "durable", "one owner", "never lost", "bounded queues"],
        Mismanage::DeafToSilence => &["one era", "durable"],
        Mismanage::DropUnapplied => &["kept changes"],
    }
}

#[test]
fn mistakes_of_the_coordinator_are_found() {
    for (name, planted) in Mismanage::ALL {
        let rules = noticed_by(planted);
        if rules.is_empty() {
            continue;
        }
        let mut base = governed(3, 0, 300);
        base.faults = if planted == Mismanage::DeafToSilence { "crash".parse().unwrap() } else { Faults::all() };
        base.control = Some(ControlConfig { planted: Some(planted) });
        let swarm = Swarm { base, first_seed: 1, seeds: 16, servers: None, at_limits: false, stop_at_first: true };
        let report = swarm.run(1, |_| {}).unwrap();
        let failure = report.failure.unwrap_or_else(|| panic!("{name} was not found"));
        let first = &failure.outcome.violations[0];
        println!("{name}: seed {}: {first}", failure.config.seed);
        assert!(rules.contains(&first.rule), "{name} was noticed by an unlikely rule: {first}");
    }
}

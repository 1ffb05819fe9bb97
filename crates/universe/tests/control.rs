//! Whole clusters whose processes do what a coordinator's roster says.

use nimbus_universe::{ControlConfig, Faults, Outcome, Universe, UniverseConfig};

fn run(config: UniverseConfig) -> Outcome {
    Universe::new(config).expect("the configuration is good").run(|_| {})
}

fn assert_clean(outcome: &Outcome, what: &str) {
    let violations: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{what}: {}", violations.join("\n"));
}

fn governed(servers: u16, seed: u64, ticks: u64) -> UniverseConfig {
    let mut config = UniverseConfig::new("crossing", servers, seed, ticks);
    config.scale = 0.3;
    config.control = Some(ControlConfig::default());
    config
}

#[test]
fn a_quiet_cluster_is_placed_and_runs() {
    let outcome = run(governed(3, 1, 200));
    assert_clean(&outcome, "quiet");
    println!("{:?} {:?}", outcome.control, outcome.faults);
    assert_eq!(outcome.promotions, 0);
}

#[test]
fn everything_goes_wrong() {
    for seed in 1..=6 {
        let mut config = governed(2 + (seed % 5) as u16, seed, 900);
        config.faults = Faults::all();
        config.commands = true;
        let outcome = run(config);
        println!("seed {seed}: {} promotions {} hand-overs {:?} {:?}", outcome.promotions, outcome.hand_overs, outcome.control, outcome.faults);
        for violation in &outcome.violations {
            println!("  {violation}");
        }
    }
}

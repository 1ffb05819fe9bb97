//! Random histories of a whole control plane, and the rules that none may break.

mod checkers;
mod cluster;
mod faults;
mod made;
mod member;

use checkers::Counts;
use cluster::Cluster;
use nimbus_control::Planted;

const FAULTS_MS: u64 = 15_000;
const CALM_MS: u64 = 12_000;

fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    match (number("SEED"), number("SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, count_wanted) => 0..count_wanted.unwrap_or(count),
    }
}

#[test]
fn no_history_breaks_a_rule() {
    let mut total = Counts::default();
    for seed in seeds(80) {
        let mut cluster = Cluster::new(seed, None);
        let verdict = cluster.run(FAULTS_MS, CALM_MS);
        assert_eq!(verdict, Ok(()), "seed {seed}: run again with SEED={seed}; {:?}", cluster.counts);
        total.add(&cluster.counts);
        total.add(&cluster.truth.counts);
    }
    println!("{:?}", total.0);
    let wanted = [
        "kill",
        "cut",
        "stall",
        "election",
        "coordinator kill",
        "conflict",
        "step back",
        "fenced",
        "message lost",
        "order",
        "store silent",
        "promotion",
        "loss",
        "left",
        "given up",
        "restart",
    ];
    for what in wanted {
        assert!(total.of(what) > 0 || seeds(80).count() == 1, "{what} never happened, so it was not tested");
    }
}

#[test]
fn every_planted_mistake_is_noticed() {
    for (name, planted) in Planted::ALL {
        let found =
            (0..60).find_map(|seed| Some((seed, Cluster::new(seed, Some(planted)).run(FAULTS_MS, CALM_MS).err()?)));
        let (seed, what) = found.unwrap_or_else(|| panic!("{name} was not noticed"));
        println!("{name}: seed {seed}: {what}");
    }
}

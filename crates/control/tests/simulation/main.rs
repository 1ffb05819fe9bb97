//! Random histories of a whole control plane, and the rules that none may break.

mod checkers;
mod cluster;
mod faults;
mod member;

use cluster::{Cluster, Counts};
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
    let (mut promotions, mut losses, mut left, mut given_up) = (0, 0, 0, 0);
    for seed in seeds(120) {
        let mut cluster = Cluster::new(seed, None);
        let verdict = cluster.run(FAULTS_MS, CALM_MS);
        assert_eq!(verdict, Ok(()), "seed {seed}: run again with SEED={seed}; {:?}", cluster.counts);
        promotions += cluster.truth.promotions;
        losses += cluster.truth.losses;
        left += cluster.truth.left;
        given_up += cluster.truth.given_up;
        let counts = cluster.counts;
        total.kills += counts.kills;
        total.cuts += counts.cuts;
        total.stalls += counts.stalls;
        total.elections += counts.elections;
        total.coordinator_kills += counts.coordinator_kills;
        total.conflicts += counts.conflicts;
        total.step_backs += counts.step_backs;
        total.fenced += counts.fenced;
        total.lost_messages += counts.lost_messages;
        total.orders_done += counts.orders_done;
    }
    println!("{total:?} promotions {promotions} losses {losses} left {left} given up {given_up}");
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

//! Many universes at once: the search for a seed that breaks a rule.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

use crate::config::{Outcome, UniverseConfig, UniverseError};
use crate::universe::Universe;

/// A run with fewer bodies proves nothing.
const BODIES_MIN: usize = 100;
/// A run with fewer hand-overs proves nothing.
const HAND_OVERS_MIN: u64 = 20;

/// A range of seeds to try.
#[derive(Clone, Debug)]
pub struct Swarm {
    /// What every universe has in common; seed and number of servers vary.
    pub base: UniverseConfig,
    /// The first seed.
    pub first_seed: u64,
    /// How many seeds must count.
    pub seeds: u64,
    /// Vary the number of servers from 2 to 6 with the seed.
    pub vary_servers: bool,
    /// Stop at the first broken rule.
    pub stop_at_first: bool,
}

/// What one seed showed.
#[derive(Clone, Debug)]
pub struct SeedVerdict {
    /// The configuration that shows it again.
    pub config: UniverseConfig,
    /// What became of it.
    pub outcome: Outcome,
    /// Why the run does not count although nothing broke; empty when it counts.
    pub thin: Vec<String>,
}

/// What a swarm showed.
#[derive(Clone, Debug, Default)]
pub struct SwarmReport {
    /// Seeds that counted.
    pub counted: u64,
    /// Seeds that ran and proved too little to count.
    pub thin: u64,
    /// Hand-overs in all of them.
    pub hand_overs: u64,
    /// Partitions that planners made in all of them.
    pub plans: u64,
    /// Times that clients put a static in or took one out.
    pub statics: u64,
    /// Times that a client drew the regions anew.
    pub redraws: u64,
    /// How often a region got a place or lost it, in all of them.
    pub resizes: u64,
    /// The failing run with the lowest seed.
    pub failure: Option<SeedVerdict>,
    /// Why thin runs were thin: the last reason seen.
    pub thin_reason: String,
}

impl Swarm {
    /// The universe of a seed.
    pub fn config(&self, seed: u64) -> UniverseConfig {
        let mut config = self.base.clone();
        config.seed = seed;
        if self.vary_servers {
            config.servers = 2 + (seed % 5) as u16;
        }
        config
    }

    /// Tries seeds on as many threads until enough have counted or, if asked, a rule broke. `progress` is told how many
    /// have counted. Gives up when more than twice as many seeds as asked for were needed.
    pub fn run(&self, threads: usize, mut progress: impl FnMut(u64)) -> Result<SwarmReport, UniverseError> {
        let next = AtomicU64::new(self.first_seed);
        let stop = AtomicBool::new(false);
        let limit = self.first_seed + 2 * self.seeds + 10;
        let (verdicts, inbox) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                let verdicts = verdicts.clone();
                let (next, stop) = (&next, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= limit || verdicts.send(self.try_seed(seed)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(verdicts);
            let mut report = SwarmReport::default();
            for verdict in inbox {
                let verdict = match verdict {
                    Ok(verdict) => verdict,
                    Err(error) => {
                        stop.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                };
                report.hand_overs += verdict.outcome.hand_overs;
                report.plans += verdict.outcome.plans;
                report.statics += verdict.outcome.statics;
                report.redraws += verdict.outcome.redraws;
                report.resizes += verdict.outcome.resizes;
                if !verdict.outcome.violations.is_empty() {
                    let earlier = report.failure.as_ref().is_none_or(|f| verdict.config.seed < f.config.seed);
                    if earlier {
                        report.failure = Some(verdict);
                    }
                    stop.store(stop.load(Ordering::Relaxed) || self.stop_at_first, Ordering::Relaxed);
                } else if verdict.thin.is_empty() {
                    report.counted += 1;
                    progress(report.counted);
                } else {
                    report.thin += 1;
                    report.thin_reason = verdict.thin.join(", ");
                }
                if report.counted >= self.seeds {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Ok(report)
        })
    }

    fn try_seed(&self, seed: u64) -> Result<SeedVerdict, UniverseError> {
        let config = self.config(seed);
        let outcome = Universe::new(config.clone())?.run(|_| {});
        let mut thin = Vec::new();
        if outcome.bodies_max < BODIES_MIN {
            thin.push(format!("only {} bodies", outcome.bodies_max));
        }
        if outcome.hand_overs < HAND_OVERS_MIN {
            thin.push(format!("only {} hand-overs", outcome.hand_overs));
        }
        if config.balance.is_some() && outcome.plans == 0 {
            thin.push("no boundary moved".to_owned());
        }
        thin.extend(outcome.faults.missing(&config.faults).iter().map(|name| format!("no {name}")));
        Ok(SeedVerdict { config, outcome, thin })
    }
}

//! Many universes at once: the search for a seed that breaks a rule.

use nimbus_model::Rng;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

use crate::config::{Outcome, UniverseConfig, UniverseError};
use crate::network::{LinkModel, Nanos};
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
    /// Vary the number of servers with the seed.
    pub servers: Option<RangeInclusive<u16>>,
    /// Run a third of the seeds with latency and frame time at the world's tolerances, and a third with regions hardly
    /// wider than these demand.
    pub at_limits: bool,
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
    /// Transfers that were refused and went back.
    pub refused: u64,
    /// Bodies that were not made because a server's budget was used up.
    pub births_refused: u64,
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
    pub fn config(&self, seed: u64) -> Result<UniverseConfig, UniverseError> {
        let mut config = self.base.clone();
        config.seed = seed;
        if let Some(servers) = &self.servers {
            let choices = u64::from(servers.end().saturating_sub(*servers.start())) + 1;
            config.servers = servers.start() + (seed % choices) as u16;
        }
        if self.at_limits {
            // Drawn apart from the number of servers, so that every number meets every limit.
            let mut rng = Rng::stream(seed, 0x11a7);
            config.narrow |= rng.below(3) == 0;
            if rng.below(3) == 0 {
                let tolerances = config.world()?.tolerances;
                let nanos = |ms: f32| (f64::from(ms) * 1e6) as Nanos;
                config.frame_ns = Some(nanos(tolerances.frame_ms));
                let latency_ns = nanos(tolerances.latency_ms);
                config.link = Some(LinkModel { latency_ns, ..config.faults.link_model(seed) });
            }
        }
        Ok(config)
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
                report.refused += verdict.outcome.refused;
                report.births_refused += verdict.outcome.births_refused;
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
        let config = self.config(seed)?;
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

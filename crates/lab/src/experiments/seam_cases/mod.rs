//! Worlds at boundaries that no formula was made for, each run many times and compared with one server.
//!
//! Every file of `data/seams` is a case. For each seed the world is moved, turned and slowed down a little, and servers wake
//! at other times; for a third of the seeds latency and frame time are at the world's tolerances, for the others within
//! them. A run is one command line, which the report names for runs that fail.

mod cases;
mod tally;

use nimbus_model::{World, world_file};
use nimbus_node::Planted;
use nimbus_universe::{Comparison, LinkModel, UniverseConfig, UniverseError, Variation, against_one, vary};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use self::cases::{Bar, CASES, Case};
use self::tally::Tally;
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "seam-cases",
    about: "Worlds with rods, ropes, heaps, streams and more at boundaries, each against the same on one server.",
    run,
};

const RUNS: u64 = 60;
const RUNS_QUICK: u64 = 3;
/// A heap is only one of many ways to lie.
const HEAP_RUNS: u64 = 100;
const HEAP_RUNS_QUICK: u64 = 2;

/// One run.
struct Job {
    row: usize,
    case: Case,
    seed: u64,
    planted: Option<Planted>,
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let runs = |case: &Case| match (case.bar, options.quick) {
        (Bar::Rest, false) => HEAP_RUNS,
        (Bar::Rest, true) => HEAP_RUNS_QUICK,
        (_, false) => RUNS,
        (_, true) => RUNS_QUICK,
    };
    let mut jobs = Vec::new();
    for (row, case) in CASES.iter().enumerate() {
        jobs.extend((1..=runs(case)).map(|seed| Job { row, case: *case, seed, planted: None }));
    }
    // Servers that hear nothing of each other: if that went unnoticed, so would anything else.
    let deaf = CASES.iter().find(|case| case.name == "head-on").copied();
    let deaf = deaf.ok_or_else(|| LabError::Failed("there is no case `head-on`".to_owned()))?;
    jobs.extend((1..=runs(&deaf)).map(|seed| {
        let planted = Some(Planted::DeafToAuras);
        Job { row: CASES.len(), case: deaf, seed, planted }
    }));
    let tallies = run_all(&jobs, progress)?;
    let (deaf_tally, tallies) = tallies.split_last().ok_or_else(|| LabError::Failed("no case".to_owned()))?;
    let failed: Vec<&str> =
        CASES.iter().zip(tallies).filter(|(case, tally)| !tally.meets(case.bar)).map(|(case, _)| case.name).collect();
    let noticed = deaf_tally.late + deaf_tally.missed > 0;
    let contacts: usize = tallies.iter().map(|tally| tally.compared).sum();
    let runs: u64 = tallies.iter().map(|tally| tally.runs).sum();
    let sentence = match (failed.is_empty(), noticed) {
        (_, false) => "Servers that hear nothing of each other were not noticed.".to_owned(),
        (true, true) => {
            format!("In {runs} runs of {} worlds, {contacts} first contacts are those of one server.", CASES.len())
        }
        (false, true) => format!(
            "Of {contacts} first contacts in {runs} runs, {} were late and {} missed, {} of them silently; not met: {}.",
            tallies.iter().map(|tally| tally.late).sum::<usize>(),
            tallies.iter().map(|tally| tally.missed).sum::<usize>(),
            tallies.iter().map(|tally| tally.silent).sum::<usize>(),
            failed.join(", ")
        ),
    };
    let mut rows: Vec<Row> = CASES.iter().zip(tallies).map(|(case, tally)| tally.row(case.name, case)).collect();
    rows.push(deaf_tally.row("head-on, deaf to auras", &deaf));
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("worlds", CASES.len()).with("runs", runs),
        rows,
        plots: Vec::new(),
        summary: Summary { passed: failed.is_empty() && noticed, sentence },
    })
}

/// Runs all jobs on as many threads as there are processors, and adds up by row.
fn run_all(jobs: &[Job], progress: &mut Progress<'_>) -> Result<Vec<Tally>, LabError> {
    let worlds: Vec<World> = CASES
        .iter()
        .map(|case| world_file::parse(case.text, case.name).map_err(|problems| LabError::Failed(problems.to_string())))
        .collect::<Result<_, _>>()?;
    let world_of = |job: &Job| {
        let place = CASES.iter().position(|case| case.name == job.case.name);
        place.map(|place| &worlds[place])
    };
    let mut tallies = vec![Tally::default(); CASES.len() + 1];
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(world) = world_of(job) else { break };
                    // Once a run has failed, nothing is received any more.
                    if sender.send((job, compare(job, world))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (done, (job, comparison)) in results.iter().enumerate() {
            tallies[job.row].count(job.case.bar, job.seed, &comparison?);
            progress((done + 1) as f32 / jobs.len() as f32);
        }
        Ok(tallies)
    })
}

fn compare(job: &Job, world: &World) -> Result<Comparison, LabError> {
    let failed = |error: UniverseError| LabError::Failed(format!("{}, seed {}: {error}", job.case.name, job.seed));
    let mut config = UniverseConfig::new(job.case.name, 1, job.seed, job.case.ticks);
    config.planted = job.planted;
    config.narrow = job.case.narrow();
    config.world = Some(Arc::new(world.clone()));
    let Variation { world, latency_ms, frame_ms } = vary(&config.world().map_err(failed)?, job.seed);
    config.aura.cluster_max = job.case.cluster_max().unwrap_or(config.aura.cluster_max);
    let nanos = |ms: f64| (ms * 1e6).round() as u64;
    config.link = Some(LinkModel { latency_ns: nanos(latency_ms), ..LinkModel::default() });
    config.frame_ns = Some(nanos(frame_ms));
    against_one(&config, &world, |_| {}).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_hear_nothing_of_each_other_are_silently_late() {
        let case = *CASES.iter().find(|case| case.name == "head-on").unwrap();
        let world = world_file::parse(case.text, case.name).unwrap();
        let [good, deaf] = [None, Some(Planted::DeafToAuras)].map(|planted| {
            let comparison = compare(&Job { row: 0, case, seed: 1, planted }, &world).unwrap();
            assert!(comparison.compared >= 8, "{comparison:?}");
            comparison.silent().count()
        });
        assert_eq!(good, 0);
        assert!(deaf > 4, "{deaf} of 8");
    }

    type Seeds = std::ops::RangeInclusive<u64>;

    /// The runs of a case with these seeds.
    fn runs(name: &str, planted: Option<Planted>, mut seeds: Seeds) -> impl Iterator<Item = Comparison> {
        let case = *CASES.iter().find(|case| case.name == name).unwrap();
        let world = world_file::parse(case.text, case.name).unwrap();
        std::iter::from_fn(move || Some(compare(&Job { row: 0, case, seed: seeds.next()?, planted }, &world).unwrap()))
    }

    /// Late and missed contacts that no breach announced.
    fn silent(name: &str, planted: Option<Planted>, seeds: Seeds) -> usize {
        runs(name, planted, seeds).map(|run| run.silent().count()).sum()
    }

    /// Late and missed contacts, announced or not, and broken rules of the simulator.
    fn wrong(name: &str, planted: Option<Planted>, seeds: Seeds) -> usize {
        runs(name, planted, seeds).map(|run| run.late.len() + run.missed.len() + run.outcome.violations.len()).sum()
    }

    #[test]
    fn each_rule_of_the_aura_policy_is_needed() {
        for (name, planted) in [
            ("birth-beside-travellers", Planted::BirthsStay),
            ("pile-above-the-limit", Planted::NoAnchors),
            ("row-of-balls", Planted::ImpactsEndAtOnce),
        ] {
            assert_eq!(wrong(name, None, 1..=20), 0, "{name}");
            assert!(wrong(name, Some(planted), 1..=20) > 0, "{name} without its rule");
        }
    }

    #[test]
    fn spin_joints_and_mass_count_before_they_strike() {
        for name in ["rod-beside-a-ball", "rod-at-the-start", "kinematic-bat", "chain-jerk", "hundred-to-one"] {
            assert_eq!(silent(name, None, 1..=6), 0, "{name}");
        }
    }

    #[test]
    fn relays_come_in_time_where_regions_are_narrow() {
        for name in ["narrow-columns", "corner-of-three"] {
            assert_eq!(silent(name, None, 1..=9), 0, "{name}");
        }
    }
}

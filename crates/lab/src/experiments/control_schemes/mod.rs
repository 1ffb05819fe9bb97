//! Every way to decide who owns what, on the same scenes, against the same scenes on one server.
//!
//! - `stage.rs` lists the scenes and builds their worlds.
//! - `watch.rs` runs one of them under a scheme and writes down what is seen.
//! - `overlap.rs` finds bodies of different servers that are in each other.
//! - `falls.rs` and `swings.rs` compare dominoes and pendulums with those on one server.
//!
//! The bars are about the aura policy. The references are reported as they are.

mod falls;
mod overlap;
mod stage;
mod swings;
mod watch;

use nimbus_model::Tolerances;
use nimbus_node::Policy;
use serde_json::Value;

use self::falls::Falls;
use self::stage::Stage;
use self::swings::Swings;
use self::watch::{Record, watch};
use super::collision::{Setup, Tally, run_all};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "control-schemes",
    about: "Six ways to decide who owns what, on the same scenes: what each costs and what it does to bodies.",
    run,
};

const TOLERANCES: Tolerances = Tolerances { speed: 32.0, latency_ms: 2.0, frame_ms: 15.0 };
const PAIRS: u32 = 200;
const PAIRS_QUICK: u32 = 20;
/// Greatest error of a pendulum's period and amplitude, percent.
const SWING_BAR_PERCENT: f64 = 1.0;
/// Share of the progress that head-on pairs take.
const PAIRS_SHARE: f32 = 0.2;

/// One scheme on one scene.
struct Found {
    policy: Policy,
    stage: &'static str,
    servers: u16,
    pairs: Option<Tally>,
    record: Option<Record>,
    /// Mean cost of a tick where it is greatest, by that of the one server.
    slowest_share: Option<f64>,
    energy_error_percent: Option<f64>,
    falls: Option<Falls>,
    swings: Option<Swings>,
}

impl Found {
    fn lost(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.lost) + self.pairs.map_or(0, |pairs| u64::from(pairs.lost))
    }

    fn duplicated(&self) -> u64 {
        let pairs = self.pairs.map_or(0, |pairs| u64::from(pairs.duplicated));
        self.record.as_ref().map_or(0, |record| record.duplicated) + pairs
    }

    /// True when it is as it has to be for our own scheme.
    fn meets(&self) -> bool {
        self.lost() + self.duplicated() == 0
            && self.pairs.is_none_or(|pairs| pairs.late + pairs.missed == 0)
            && self.falls.as_ref().is_none_or(Falls::are_right)
            && self.swings.is_none_or(|swings| swings.worst_percent() <= SWING_BAR_PERCENT)
    }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let pairs = if options.quick { PAIRS_QUICK } else { PAIRS };
    let mut found = head_on(pairs, &mut |share| progress(PAIRS_SHARE * share))?;
    let stages = stage::all(options.quick);
    let runs = (stages.len() * (Policy::ALL.len() + 1)) as f32;
    let mut done = 0.0;
    for stage in &stages {
        let mut step = || {
            done += 1.0;
            progress(PAIRS_SHARE + (1.0 - PAIRS_SHARE) * done / runs);
        };
        let control = watch(stage, nimbus_scenes::on_one_server(&stage.world), Policy::Aura)?;
        step();
        for (_, policy) in Policy::ALL {
            let record = watch(stage, stage.world.clone(), policy)?;
            found.push(compare(stage, policy, record, &control));
            step();
        }
    }
    let ours = || found.iter().filter(|found| found.policy == Policy::Aura);
    let failed: Vec<&str> = ours().filter(|found| !found.meets()).map(|found| found.stage).collect();
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("pairs", pairs)
            .with("pairs_latency_ms", TOLERANCES.latency_ms)
            .with("pairs_frame_ms", TOLERANCES.frame_ms)
            .with("swing_bar_percent", SWING_BAR_PERCENT),
        plots: vec![late_plot(&found), overlap_plot(&found, &stages), cost_plot(&found, &stages)],
        summary: Summary { passed: failed.is_empty(), sentence: sentence(&found, &failed) },
        rows: found.iter().map(row).collect(),
    })
}

/// Pairs of spheres that meet at a boundary, everything at its tolerance.
fn head_on(pairs: u32, progress: &mut Progress<'_>) -> Result<Vec<Found>, LabError> {
    let setups = |policy| {
        let setup = move |i| Setup { policy, seed: u64::from(i), ..Setup::at_tolerance(TOLERANCES) };
        (0..pairs).map(setup).collect::<Vec<Setup>>()
    };
    let lists: Vec<Vec<Setup>> = Policy::ALL.iter().map(|(_, policy)| setups(*policy)).collect();
    let tallies = run_all(&lists, progress)?;
    let found = |((_, policy), tally): (&(&str, Policy), Tally)| Found {
        policy: *policy,
        stage: "head-on",
        servers: 2,
        pairs: Some(tally),
        record: None,
        slowest_share: None,
        energy_error_percent: None,
        falls: None,
        swings: None,
    };
    Ok(Policy::ALL.iter().zip(tallies).map(found).collect())
}

fn compare(stage: &Stage, policy: Policy, mut record: Record, control: &Record) -> Found {
    record.count_lost(stage, control);
    Found {
        policy,
        stage: stage.name,
        servers: stage.servers,
        pairs: None,
        slowest_share: (control.cost_ms > 0.0).then_some(record.cost_ms / control.cost_ms),
        energy_error_percent: stage.energy.then(|| record.energy_error_percent(control)),
        falls: stage.dominoes.then(|| Falls::compare(&stage.world, &record, control)),
        swings: (!stage.pendulums.is_empty()).then(|| Swings::compare(&stage.pendulums, &record, control)),
        record: Some(record),
    }
}

fn row(found: &Found) -> Row {
    let pairs = |pick: fn(Tally) -> u32| found.pairs.map_or(Value::Null, |tally| pick(tally).into());
    let record = |pick: fn(&Record) -> Value| found.record.as_ref().map_or(Value::Null, pick);
    let falls = |pick: fn(&Falls) -> u64| found.falls.as_ref().map_or(Value::Null, |falls| pick(falls).into());
    let swings = |pick: fn(&Swings) -> f64| found.swings.map_or(Value::Null, |swings| rounded(pick(&swings)));
    let swung = found.record.as_ref().filter(|_| found.swings.is_some());
    let pendulum_changes = swung.map_or(Value::Null, |record| record.pendulum_changes.into());
    Row::new()
        .with("scheme", found.policy.name())
        .with("scene", found.stage)
        .with("servers", found.servers)
        .with("pairs", pairs(|tally| tally.n))
        .with("late", pairs(|tally| tally.late))
        .with("missed", pairs(|tally| tally.missed))
        .with("lost", found.lost())
        .with("duplicated", found.duplicated())
        .with("owner_changes", record(|record| record.owner_changes.into()))
        .with("missed_ticks", record(|record| record.missed_ticks.into()))
        .with("frames_per_tick", record(|record| rounded(record.frames_per_tick)))
        .with("bytes_per_tick", record(|record| rounded(record.bytes_per_tick)))
        .with("slowest_share", found.slowest_share.map_or(Value::Null, rounded))
        .with("hosted_max_percent", record(|record| rounded(record.hosted_max_percent)))
        .with("overlap_max_m", record(|record| rounded(f64::from(record.overlap_m))))
        .with("overlap_ticks", record(|record| record.overlap_ticks.into()))
        .with("energy_error_percent", found.energy_error_percent.map_or(Value::Null, rounded))
        .with("unfallen", falls(|falls| falls.unfallen))
        .with("out_of_order", falls(|falls| falls.out_of_order))
        .with("mistimed", falls(|falls| falls.mistimed))
        .with("mistimed_worst_ticks", falls(|falls| falls.worst_ticks))
        .with("fell_unseen", falls(|falls| falls.unseen))
        .with("pendulum_owner_changes", pendulum_changes)
        .with("amplitude_error_percent", swings(|swings| swings.amplitude_percent))
        .with("period_error_percent", swings(|swings| swings.period_percent))
}

fn sentence(found: &[Found], failed: &[&str]) -> String {
    let late = |policy: Policy| {
        let pairs = found.iter().filter(|found| found.policy == policy).find_map(|found| found.pairs);
        pairs.map_or(0.0, |tally| 100.0 * f64::from(tally.late + tally.missed) / f64::from(tally.n.max(1)))
    };
    let lost = |policy: Policy| found.iter().filter(|found| found.policy == policy).map(Found::lost).sum::<u64>();
    let references = Policy::ALL.iter().filter(|(_, policy)| *policy != Policy::Aura);
    let references: Vec<String> =
        references.map(|(name, policy)| format!("{name} {:.0} % and {}", late(*policy), lost(*policy))).collect();
    let verdict = if failed.is_empty() { String::new() } else { format!(" Not met by aura: {}.", failed.join(", ")) };
    format!(
        "Of head-on pairs at a boundary, aura has {:.0} % late or missed and loses {} bodies in all scenes; {}.{verdict}",
        late(Policy::Aura),
        lost(Policy::Aura),
        references.join(", ")
    )
}

fn names() -> Vec<String> {
    Policy::ALL.iter().map(|(name, _)| (*name).to_owned()).collect()
}

fn late_plot(found: &[Found]) -> Plot {
    let share = |pick: fn(&Tally) -> u32| {
        let of = |found: &Found| found.pairs.map(|tally| 100.0 * f64::from(pick(&tally)) / f64::from(tally.n.max(1)));
        (0..).map(f64::from).zip(found.iter().filter_map(of)).map(|(i, y)| [i, y]).collect()
    };
    Plot::bars("late", "Head-on pairs at a boundary", "scheme", "pairs, %", names())
        .with(Series::new("late", share(|tally| tally.late)))
        .with(Series::new("missed", share(|tally| tally.missed)))
}

/// One series per scene, one group per scheme.
fn by_scene(mut plot: Plot, found: &[Found], stages: &[Stage], value: impl Fn(&Found) -> Option<f64>) -> Plot {
    for stage in stages {
        let here = found.iter().filter(|found| found.stage == stage.name).filter_map(&value);
        plot = plot.with(Series::new(stage.name, (0..).map(f64::from).zip(here).map(|(i, y)| [i, y]).collect()));
    }
    plot
}

fn overlap_plot(found: &[Found], stages: &[Stage]) -> Plot {
    let title = "How deep bodies of different servers get into each other";
    let plot = Plot::bars("overlap", title, "scheme", "greatest depth, m", names());
    by_scene(plot, found, stages, |found| Some(f64::from(found.record.as_ref()?.overlap_m)))
}

fn cost_plot(found: &[Found], stages: &[Stage]) -> Plot {
    let title = "Cost of a tick on the dearest server, one server being 1";
    let plot = Plot::bars("cost", title, "scheme", "ratio", names());
    by_scene(plot, found, stages, |found| found.slowest_share).with_level("one server", 1.0)
}

/// As many digits as people read.
fn rounded(value: f64) -> Value {
    ((value * 1e4).round() / 1e4).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fails_when_a_body_is_lost_or_a_pendulum_swings_otherwise() {
        let tally = |late, lost| Tally { n: 4, late, lost, ..Tally::default() };
        let found = |tally, swings| Found {
            policy: Policy::Aura,
            stage: "test",
            servers: 2,
            pairs: Some(tally),
            record: None,
            slowest_share: None,
            energy_error_percent: None,
            falls: None,
            swings,
        };
        let swings = |period_percent| Some(Swings { amplitude_percent: 0.0, period_percent });
        assert!(found(tally(0, 0), swings(0.9)).meets());
        assert!(!found(tally(1, 0), None).meets());
        assert!(!found(tally(0, 1), None).meets());
        assert!(!found(tally(0, 0), swings(1.1)).meets());
        assert!(!found(tally(0, 0), swings(f64::NAN)).meets(), "a pendulum that does not swing at all");
    }
}

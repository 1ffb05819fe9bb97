//! Whether collisions at a boundary are what they are on one server, as long as nothing exceeds its tolerance; and
//! whether the system says so when something does.
//!
//! The original experiment: two spheres fly at each other head-on, each at the given speed less up to 1 m/s, without
//! gravity and drag, and meet while one of them straddles the boundary. Tolerances are 32 m/s, 2 ms and 15 ms unless
//! the row says otherwise. One factor is varied in the original's steps up to twice its tolerance, the other two are at
//! theirs. Servers wake at random phases. Every run has a control: the same start on one server.
//!
//! More rows have what makes a leg longer: backups, 10 ms of computing, frame times that vary; and what is promised of these
//! is exceeded in its turn.

use nimbus_model::Tolerances;
use nimbus_node::{AuraConfig, Factor, Planted};
use serde_json::Value;

use super::collision::{Case, RADIUS, Setup, Strain, Tally, aura_radius, original_aura_radius, run_all};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "aura-correctness",
    about: "Collisions at a boundary against the same collisions on one server, within and beyond the tolerances.",
    run,
};

/// What the original uses unless it says otherwise, except that a tick is 1/60 s here and 16 ms there.
const USUAL: Tolerances = Tolerances { speed: 32.0, latency_ms: 2.0, frame_ms: 15.0 };
const TICK_HZ: u32 = 60;
const REPEATS: u32 = 50;
const REPEATS_QUICK: u32 = 5;
/// Points of a case that the original does not have.
const CASE_POINTS: u32 = 16;
/// What the auras are scaled by to show that their size matters.
const TOO_SMALL: f32 = 0.5;

/// What the original reports: late %, missed %, runs with thrashing; within tolerance, then beyond.
type Original = [(f64, f64, u32); 2];

/// One varied factor: its tolerance, its step, and what the original found.
struct Sweep {
    factor: Factor,
    tolerance: f32,
    step: f32,
    original: Option<Original>,
}

const SWEEPS: [Sweep; 9] = [
    sweep(Factor::Speed, 16.0, 1.0, [(1.0, 0.13, 0), (49.9, 0.0, 0)]),
    sweep(Factor::Speed, 32.0, 1.0, [(0.688, 0.0422, 0), (48.6, 0.0, 11)]),
    sweep(Factor::Speed, 48.0, 1.0, [(0.632, 0.0, 28), (45.1, 1.12, 167)]),
    sweep(Factor::Latency, 2.0, 0.05, [(10.7, 0.0, 7), (13.99, 0.0, 0)]),
    sweep(Factor::Latency, 8.0, 0.25, [(0.0, 0.0, 30), (0.15, 0.0, 121)]),
    sweep(Factor::Latency, 16.0, 1.0, [(2.5, 0.0, 53), (12.2, 0.0, 226)]),
    sweep(Factor::FrameTime, 8.33, 1.0, [(0.0, 0.0, 0), (9.5, 0.0, 0)]),
    sweep(Factor::FrameTime, 15.0, 1.0, [(1.88, 0.0, 0), (58.13, 0.0, 0)]),
    sweep(Factor::FrameTime, 33.33, 2.0, [(0.0, 0.0, 523), (1.89, 0.0, 693)]),
];

const fn sweep(factor: Factor, tolerance: f32, step: f32, original: Original) -> Sweep {
    Sweep { factor, tolerance, step, original: Some(original) }
}

/// Parts of a leg that the original does not have. The other tolerances are such that legs of whole ticks leave little to
/// spare.
const LEG_SWEEPS: [(Sweep, Tolerances); 3] = [
    (leg_sweep(Factor::Compute, 10.0, 1.0), Tolerances { speed: 32.0, latency_ms: 6.0, frame_ms: 33.33 }),
    (leg_sweep(Factor::Skew, 4.0, 0.5), Tolerances { speed: 32.0, latency_ms: 1.0, frame_ms: 28.0 }),
    (leg_sweep(Factor::Commit, 4.0, 0.5), Tolerances { speed: 32.0, latency_ms: 2.0, frame_ms: 25.0 }),
];

const fn leg_sweep(factor: Factor, tolerance: f32, step: f32) -> Sweep {
    Sweep { factor, tolerance, step, original: None }
}

/// Points of a sweep under a strain; the last is the tolerance.
const STRAINED_POINTS: usize = 8;

/// What a row is held to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bar {
    /// Every run as on one server.
    Exact,
    /// Failures are allowed, but not silently.
    Announced,
    /// Some runs must be late, or the experiment could not fail.
    Fails,
}

/// A row before it is run.
struct Plan {
    case: String,
    factor: &'static str,
    tolerance: f32,
    tolerances: Tolerances,
    aura: AuraConfig,
    bar: Bar,
    original: Option<(f64, f64, u32)>,
    setups: Vec<Setup>,
}

impl Plan {
    fn title(&self) -> String {
        let beyond = if self.bar == Bar::Announced { "beyond " } else { "" };
        format!("{} {beyond}{} {}", self.case, self.factor, self.tolerance)
    }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let repeats = if options.quick { REPEATS_QUICK } else { REPEATS };
    let mut plans = vec![one_server(repeats)];
    plans.extend(SWEEPS.iter().flat_map(|sweep| [true, false].map(|within| varied(sweep, within, repeats))));
    plans.extend([Case::Cuboids, Case::Glancing, Case::Masses, Case::Thrust, Case::Corner].map(|c| case(c, repeats)));
    plans.push(too_small(repeats));
    let strained_sweeps = Strain::ALL.iter().flat_map(|kind| SWEEPS.iter().map(|sweep| (*kind, sweep)));
    plans.extend(strained_sweeps.filter_map(|(kind, sweep)| strained(kind, sweep, repeats)));
    plans.extend(LEG_SWEEPS.iter().flat_map(|sweep| [true, false].map(|within| leg_part(sweep, within, repeats))));
    plans.push(without_commit_leg(repeats));
    let mut seed = 0;
    for setup in plans.iter_mut().flat_map(|plan| &mut plan.setups) {
        seed += 1;
        setup.seed = seed;
    }
    let lists: Vec<Vec<Setup>> = plans.iter().map(|plan| plan.setups.clone()).collect();
    let tallies = run_all(&lists, progress)?;
    let failed: Vec<&Plan> =
        plans.iter().zip(&tallies).filter(|(plan, tally)| !meets(plan, tally)).map(|r| r.0).collect();
    let exact = plans.iter().zip(&tallies).filter(|(plan, _)| plan.bar == Bar::Exact);
    let (runs, wrong) = exact.fold((0, 0), |(runs, wrong), (_, t)| (runs + t.n, wrong + t.late + t.missed));
    let sentence = if failed.is_empty() {
        format!("All {runs} collisions within tolerance are those of one server; beyond it, no failure was silent.")
    } else {
        let names: Vec<String> = failed.iter().map(|plan| plan.title()).collect();
        format!("Of {runs} collisions within tolerance {wrong} were late or missed; not met: {}.", names.join(", "))
    };
    let plots = [true, false].map(|within| plot(&plans, &tallies, within)).into();
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("tick_hz", TICK_HZ)
            .with("radius", readable(RADIUS))
            .with("repeats", repeats)
            .with("speed", USUAL.speed)
            .with("latency_ms", USUAL.latency_ms)
            .with("frame_ms", USUAL.frame_ms),
        rows: plans.iter().zip(&tallies).map(|(plan, tally)| row(plan, tally)).collect(),
        plots,
        summary: Summary { passed: failed.is_empty(), sentence },
    })
}

/// The original's control: both spheres on one server, from 1 to 64 m/s.
fn one_server(repeats: u32) -> Plan {
    let setups = (1..=64).map(|speed| Setup { alone: true, speed: speed as f32, ..Setup::at_tolerance(USUAL) });
    Plan { case: "one server".to_owned(), ..plan(Case::HeadOn, USUAL, Bar::Exact, repeated(setups, repeats)) }
}

/// One factor from nothing to its tolerance, or from there to twice as much.
fn varied(sweep: &Sweep, within: bool, repeats: u32) -> Plan {
    let mut tolerances = USUAL;
    match sweep.factor {
        Factor::Speed => tolerances.speed = sweep.tolerance,
        Factor::Latency => tolerances.latency_ms = sweep.tolerance,
        _ => tolerances.frame_ms = sweep.tolerance,
    }
    let setups = points(sweep, within).into_iter().map(|value| {
        let mut setup = Setup::at_tolerance(tolerances);
        setup.exceeded = (!within).then_some(sweep.factor);
        match sweep.factor {
            Factor::Speed => setup.speed = value,
            Factor::Latency => setup.latency_ms = value,
            _ => setup.frame_ms = value,
        }
        setup
    });
    let setups = repeated(setups, repeats);
    Plan {
        factor: sweep.factor.name(),
        tolerance: sweep.tolerance,
        original: sweep.original.map(|original| original[usize::from(!within)]),
        ..plan(Case::HeadOn, tolerances, if within { Bar::Exact } else { Bar::Announced }, setups)
    }
}

/// One factor up to its tolerance under a strain; none where no run makes sense.
fn strained(strain: Strain, sweep: &Sweep, repeats: u32) -> Option<Plan> {
    let mut plan = varied(sweep, true, 1);
    let skip = plan.setups.len().div_ceil(STRAINED_POINTS);
    plan.setups.reverse();
    let setups: Vec<Setup> = plan.setups.iter().step_by(skip).filter_map(|setup| strain.of(*setup)).collect();
    plan.case = format!("{}, {}", plan.case, strain.name());
    (plan.aura, plan.original) = (strain.aura(plan.aura), None);
    plan.setups = repeated(setups.into_iter(), repeats);
    (!plan.setups.is_empty()).then_some(plan)
}

/// One part of a leg from nothing to its tolerance, or from there to twice as much.
fn leg_part((sweep, tolerances): &(Sweep, Tolerances), within: bool, repeats: u32) -> Plan {
    let (tolerance, usual) = (sweep.tolerance, AuraConfig::default());
    let aura = match sweep.factor {
        Factor::Compute => AuraConfig { compute_ms: tolerance, ..usual },
        Factor::Skew => AuraConfig { skew_ms: tolerance, ..usual },
        _ => AuraConfig { store_ms: tolerance, ..usual }.with_commits(true),
    };
    let setups = points(sweep, within).into_iter().map(|value| {
        let exceeded = (!within).then_some(sweep.factor);
        let setup = Setup { aura, exceeded, ..Setup::at_tolerance(*tolerances) };
        match sweep.factor {
            Factor::Compute => Setup { compute_ms: value, ..setup },
            Factor::Skew => Setup { skew_ms: value, ..setup },
            _ => Setup { store_ms: Some(value), ..setup },
        }
    });
    let setups = repeated(setups, repeats);
    let (factor, bar) = (sweep.factor.name(), if within { Bar::Exact } else { Bar::Announced });
    Plan { factor, tolerance, aura, ..plan(Case::HeadOn, *tolerances, bar, setups) }
}

/// Backups whose leg does not count: the proof that it must.
fn without_commit_leg(repeats: u32) -> Plan {
    let tight = Tolerances { latency_ms: 16.0, ..USUAL };
    let setup = Setup { planted: Some(Planted::NoCommitLeg), ..Setup::at_tolerance(tight) };
    let setups = (0..8).filter_map(|_| Strain::Backups.of(setup));
    Plan { case: "no commit leg".to_owned(), ..plan(Case::HeadOn, tight, Bar::Fails, repeated(setups, repeats)) }
}

/// The values of the varied factor. A speed begins with one step, for nothing moves at none; every tolerance is itself a
/// point, be it a whole number of steps or not.
fn points(sweep: &Sweep, within: bool) -> Vec<f32> {
    let value = |i: u32| i as f32 * sweep.step;
    let steps = (2.0 * sweep.tolerance / sweep.step).round() as u32;
    let limit = sweep.tolerance + sweep.step / 1000.0;
    if within {
        let first = u32::from(sweep.factor == Factor::Speed);
        let mut points: Vec<f32> =
            (first..=steps).map(value).filter(|v| *v < sweep.tolerance - sweep.step / 1000.0).collect();
        points.push(sweep.tolerance);
        points
    } else {
        (0..=steps).map(value).filter(|v| *v > limit).collect()
    }
}

/// A kind of collision that the original does not have, from half the greatest speed to all of it.
fn case(case: Case, repeats: u32) -> Plan {
    let speed = |i: u32| USUAL.speed * (0.5 + 0.5 * (i + 1) as f32 / CASE_POINTS as f32);
    let setups = (0..CASE_POINTS).map(|i| Setup { case, speed: speed(i), ..Setup::at_tolerance(USUAL) });
    plan(case, USUAL, Bar::Exact, repeated(setups, repeats))
}

/// Auras of half the size: the proof that the experiment can fail. Latency is such that legs of whole ticks leave little
/// to spare.
fn too_small(repeats: u32) -> Plan {
    let aura = AuraConfig { scale: TOO_SMALL, ..AuraConfig::default() };
    let tight = Tolerances { latency_ms: 16.0, ..USUAL };
    let setups = (0..8).map(|_| Setup { aura, ..Setup::at_tolerance(tight) });
    Plan { case: "half auras".to_owned(), aura, ..plan(Case::HeadOn, tight, Bar::Fails, repeated(setups, repeats)) }
}

fn plan(case: Case, tolerances: Tolerances, bar: Bar, setups: Vec<Setup>) -> Plan {
    Plan {
        case: case.name().to_owned(),
        factor: Factor::Speed.name(),
        tolerance: tolerances.speed,
        tolerances,
        aura: AuraConfig::default(),
        bar,
        original: None,
        setups,
    }
}

fn repeated(setups: impl Iterator<Item = Setup>, repeats: u32) -> Vec<Setup> {
    setups.flat_map(|setup| (0..repeats).map(move |_| setup)).collect()
}

fn meets(plan: &Plan, tally: &Tally) -> bool {
    let radius = aura_radius(RADIUS, &plan.tolerances, &plan.aura, TICK_HZ);
    // The original has no legs but that from server to server.
    let is_comparable = plan.aura == AuraConfig { scale: plan.aura.scale, ..AuraConfig::default() };
    let no_larger = !is_comparable || radius <= original_aura_radius(RADIUS, &plan.tolerances, TICK_HZ);
    no_larger
        && match plan.bar {
            Bar::Exact => tally.is_clean(),
            Bar::Announced => tally.unannounced + tally.lost + tally.duplicated == 0,
            Bar::Fails => tally.late > 0,
        }
}

/// Late collisions of the original's rows, theirs and ours.
fn plot(plans: &[Plan], tallies: &[Tally], within: bool) -> Plot {
    let bar = if within { Bar::Exact } else { Bar::Announced };
    let shown: Vec<(&Plan, &Tally)> =
        plans.iter().zip(tallies).filter(|(plan, _)| plan.bar == bar && plan.original.is_some()).collect();
    let names = shown.iter().map(|(plan, _)| format!("{} {}", plan.factor, plan.tolerance)).collect();
    let ours = (0..).map(f64::from).zip(&shown).map(|(i, (_, tally))| [i, tally.late_percent_of_steady()]).collect();
    let theirs = (0..).map(f64::from).zip(&shown).filter_map(|(i, (plan, _))| Some([i, plan.original?.0])).collect();
    let (name, title) = if within {
        ("within", "Late collisions within tolerance")
    } else {
        ("beyond", "Late collisions up to twice the tolerance")
    };
    Plot::bars(name, title, "factor and its tolerance", "runs without thrashing, %", names)
        .with(Series::new("nimbus", ours))
        .with(Series::original(theirs))
}

fn row(plan: &Plan, tally: &Tally) -> Row {
    let original = |pick: fn((f64, f64, u32)) -> Value| plan.original.map_or(Value::Null, pick);
    Row::new()
        .with("case", plan.case.as_str())
        .with("factor", plan.factor)
        .with("tolerance", readable(plan.tolerance))
        .with("within_tolerance", plan.bar != Bar::Announced)
        .with("n", tally.n)
        .with("late", tally.late)
        .with("missed", tally.missed)
        .with("thrashing", tally.thrashing)
        .with("breaches", tally.breaches)
        .with("wrong_tick", tally.wrong_tick)
        .with("wrong_velocity", tally.wrong_velocity)
        .with("unannounced", tally.unannounced)
        .with("aura_radius", readable(aura_radius(RADIUS, &plan.tolerances, &plan.aura, TICK_HZ)))
        .with("seed_aura_radius", readable(original_aura_radius(RADIUS, &plan.tolerances, TICK_HZ)))
        .with("late_percent_of_steady", readable(tally.late_percent_of_steady() as f32))
        .with("original_late_percent", original(|(late, _, _)| late.into()))
        .with("original_missed_percent", original(|(_, missed, _)| missed.into()))
        .with("original_thrashing", original(|(_, _, thrashing)| thrashing.into()))
}

/// As many digits as people write, not as many as the number has.
fn readable(value: f32) -> f64 {
    (f64::from(value) * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_least_as_many_runs_as_in_the_original() {
        let counts = SWEEPS.each_ref().map(|sweep| varied(sweep, true, REPEATS).setups.len());
        for (count, original) in counts.into_iter().zip([800, 1600, 2372, 1920, 1520, 797, 450, 800, 251]) {
            assert!(count >= original, "{counts:?}");
        }
    }

    #[test]
    fn points_end_at_the_tolerance_and_go_on_beyond_it() {
        for sweep in &SWEEPS {
            let (within, beyond) = (points(sweep, true), points(sweep, false));
            assert_eq!(within.last(), Some(&sweep.tolerance));
            assert!(within.is_sorted() && beyond.is_sorted());
            assert!(beyond[0] > sweep.tolerance && beyond[0] <= sweep.tolerance + sweep.step * 1.001);
            let last = beyond[beyond.len() - 1];
            assert!((last - 2.0 * sweep.tolerance).abs() < sweep.step * 0.7, "{last}");
        }
    }
}

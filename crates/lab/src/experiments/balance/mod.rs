//! Whether boundaries follow a load that wanders over eight servers, and what that spares the dearest of them.

pub(super) mod burst;
mod measure;
mod plots;
mod workload;

use nimbus_universe::{BalanceConfig, Universe, UniverseConfig};

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::report::{Report, Row, Summary};
use measure::{Measured, Second};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "balance",
    about: "A hot spot over eight servers: what the dearest costs when boundaries follow the load and when they do not.",
    run: |options, progress| experiment(&if options.quick { Setup::quick() } else { Setup::full() }, options, progress),
};

/// Greatest cost of the dearest server, as a share of what it is when boundaries stand still.
const SLOWEST_SHARE_MAX: f64 = 0.5;
/// Greatest difference between servers while the load stands still, as a share of the dearest.
const UNEVEN_MAX: f64 = 0.15;

/// How much is run.
#[derive(Clone, Debug)]
struct Setup {
    seed: u64,
    /// About so many bodies at a time.
    bodies: u32,
    /// The load stands still for this long at either end, and wanders in between. Seconds.
    still_s: u64,
    wander_s: u64,
    /// Costs of the servers are compared over the last of the time that the load stands still. Seconds.
    compared_s: u64,
    /// Bodies and seconds of the run in which every rule is checked.
    checked_bodies: u32,
    checked_s: u64,
}

impl Setup {
    fn full() -> Setup {
        let (still_s, wander_s, compared_s) = (40, 60, 20);
        Setup { seed: 5, bodies: 3_200, still_s, wander_s, compared_s, checked_bodies: 600, checked_s: 60 }
    }

    fn quick() -> Setup {
        let (still_s, wander_s, compared_s) = (24, 20, 10);
        Setup { bodies: 1_200, still_s, wander_s, compared_s, checked_bodies: 300, checked_s: 15, ..Setup::full() }
    }

    #[cfg(test)]
    fn tiny() -> Setup {
        let (still_s, wander_s, compared_s) = (4, 2, 1);
        Setup { bodies: 120, still_s, wander_s, compared_s, checked_bodies: 100, checked_s: 2, ..Setup::full() }
    }

    fn seconds(&self) -> u64 {
        2 * self.still_s + self.wander_s
    }
}

/// Both runs, and what the checked one found.
struct Found {
    still: Measured,
    planned: Measured,
    /// Where the load was at the end of every second.
    places: Vec<[f32; 2]>,
    violations: Vec<String>,
    checked_plans: u64,
}

impl Found {
    /// Mean cost of the dearest server over some seconds: of boundaries that stand still, and of those that follow.
    fn slowest_ms(&self, from: u64, to: u64) -> [f64; 2] {
        [&self.still, &self.planned].map(|run| {
            let seconds = &run.seconds[from as usize..to as usize];
            seconds.iter().map(Second::slowest_ms).sum::<f64>() / seconds.len().max(1) as f64
        })
    }
}

/// Mean cost of each server over some seconds.
fn costs(run: &Measured, from: u64, to: u64) -> Vec<f64> {
    let seconds = &run.seconds[from as usize..to as usize];
    let server = |i: usize| seconds.iter().map(|second| second.cost_ms[i]).sum::<f64>() / seconds.len().max(1) as f64;
    (0..seconds.first().map_or(0, |second| second.cost_ms.len())).map(server).collect()
}

/// Difference between the dearest and the cheapest as a share of the dearest.
fn uneven(costs: &[f64]) -> f64 {
    let most = costs.iter().copied().fold(0.0, f64::max);
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    if most > 0.0 { (most - least) / most } else { 0.0 }
}

fn experiment(setup: &Setup, options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let (still_s, end_s) = (setup.still_s, setup.seconds());
    let world = workload::world(setup);
    let [still, planned] = measure::run(setup, &world, &mut |share| progress(0.85 * share))?;
    let (violations, checked_plans) = checked(setup, &mut |share| progress(0.85 + 0.15 * share))?;
    let places = (1..=end_s).map(|second| workload::place(setup, second as f64)).collect();
    let found = Found { still, planned, places, violations, checked_plans };
    progress(1.0);
    let phases = [
        ("stands still", still_s - setup.compared_s, still_s),
        ("wanders", still_s, still_s + setup.wander_s),
        ("stands still again", end_s - setup.compared_s, end_s),
    ];
    let rows = phases.map(|(name, from, to)| {
        let [without, with] = found.slowest_ms(from, to);
        let run = &found.planned.seconds[from as usize..to as usize];
        let changes = run.iter().map(|second| second.hand_overs).sum::<u64>() as f64 / run.len().max(1) as f64;
        Row::new()
            .with("load", name)
            .with("from_s", from)
            .with("to_s", to)
            .with("slowest_still_ms", without)
            .with("slowest_following_ms", with)
            .with("slowest_share", with / without.max(1e-9))
            .with("uneven_still", uneven(&costs(&found.still, from, to)))
            .with("uneven_following", uneven(&costs(&found.planned, from, to)))
            .with("owner_changes_per_s", changes)
    });
    let breached: Vec<String> = found.planned.breaches.iter().map(|(what, count)| format!("{what} {count}")).collect();
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("quick", options.quick)
            .with("servers", workload::SERVERS)
            .with("bodies", setup.bodies)
            .with("seconds", end_s)
            .with("seed", setup.seed)
            .with("partitions_planned", found.planned.plans)
            .with("breached", breached.join(", "))
            .with("checked_bodies", setup.checked_bodies)
            .with("checked_seconds", setup.checked_s)
            .with("checked_partitions_planned", found.checked_plans)
            .with("violations", found.violations.len())
            .not_judging("costs", options.quick),
        summary: judge(&rows, &found, options.quick),
        rows: rows.to_vec(),
        plots: plots::all(&found),
    })
}

/// The same shower, smaller, planned by modelled cost, with every rule checked; what was broken, and the partitions made.
fn checked(setup: &Setup, progress: &mut dyn FnMut(f32)) -> Result<(Vec<String>, u64), LabError> {
    let third = setup.checked_s / 3;
    let (still_s, wander_s) = (third, setup.checked_s - 2 * third);
    let setup = Setup { bodies: setup.checked_bodies, still_s, wander_s, ..setup.clone() };
    let world = workload::world(&setup);
    let config = measure::config(&setup, &world, Some(BalanceConfig::default()));
    let config = UniverseConfig { checked: true, ..config };
    let last = config.ticks as f32;
    let universe = Universe::of_world(config, world).map_err(|error| LabError::Failed(error.to_string()))?;
    let outcome = universe.run(|tick| progress((tick.0 as f32 / last).min(1.0)));
    Ok((outcome.violations.iter().map(ToString::to_string).collect(), outcome.plans))
}

/// A quick run has too few bodies for its costs to be those of bodies; only the rules are judged then.
fn judge(rows: &[Row], found: &Found, quick: bool) -> Summary {
    let number = |row: usize, name: &str| rows[row].get(name).and_then(serde_json::Value::as_f64).unwrap_or(f64::NAN);
    let share = number(1, "slowest_share");
    let rest = number(0, "uneven_following").max(number(2, "uneven_following"));
    let mut short = Vec::new();
    if !quick && (share.is_nan() || share > SLOWEST_SHARE_MAX) {
        short.push(format!("the dearest server costs {share:.2} of the static layout's, above {SLOWEST_SHARE_MAX}"));
    }
    if !quick && (rest.is_nan() || rest > UNEVEN_MAX) {
        short.push(format!("costs differ by {:.0} % at rest, above {:.0} %", 100.0 * rest, 100.0 * UNEVEN_MAX));
    }
    if let Some(first) = found.violations.first() {
        short.push(format!("{} rules were broken, first {first}", found.violations.len()));
    }
    let result = format!(
        "While the load wanders, the dearest server costs {share:.2} of what it costs with boundaries that stand still; while \
         it stands still, costs differ by at most {:.1} %; {} rules broken.",
        100.0 * rest,
        found.violations.len()
    );
    conclude(&result, &short, quick)
}

/// What is said of a result, given the bars that it falls short of.
fn conclude(result: &str, short: &[String], quick: bool) -> Summary {
    let verdict = match (short.is_empty(), quick) {
        (true, true) => "Every rule is kept; a quick run does not judge costs.".to_owned(),
        (true, false) => "Every bar is met.".to_owned(),
        (false, _) => format!("Short of: {}.", short.join("; ")),
    };
    Summary { passed: short.is_empty(), sentence: format!("{result} {verdict}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_its_shape() {
        let mut shares = Vec::new();
        let options = Options { quick: true, ..Options::default() };
        let report = experiment(&Setup::tiny(), &options, &mut |share| shares.push(share)).unwrap();
        assert_eq!((report.rows.len(), report.plots.len()), (3, 4));
        assert!(report.rows[1].get("slowest_share").and_then(serde_json::Value::as_f64).unwrap() > 0.0);
        assert!(shares.is_sorted() && shares.last() == Some(&1.0), "progress goes forward to the end");
    }

    #[test]
    fn each_bar_can_be_missed() {
        let row = |share: f64, uneven: f64| Row::new().with("slowest_share", share).with("uneven_following", uneven);
        let judged = |share: f64, uneven: f64, violations: Vec<String>| {
            let found = Found {
                still: Measured::default(),
                planned: Measured::default(),
                places: Vec::new(),
                violations,
                checked_plans: 0,
            };
            judge(&[row(0.2, uneven), row(share, 0.9), row(0.2, 0.1)], &found, false).passed
        };
        assert!(judged(0.5, 0.15, Vec::new()));
        assert!(!judged(0.51, 0.15, Vec::new()));
        assert!(!judged(0.5, 0.16, Vec::new()));
        assert!(!judged(0.5, 0.15, vec!["lost".to_owned()]));
    }
}

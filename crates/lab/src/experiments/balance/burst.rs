//! Whether a world that begins on one server is spread over idle ones while it is dense, and gathered again afterwards.

use nimbus_model::{Layout, World};
use nimbus_universe::{BalanceConfig, Universe, UniverseConfig};

use super::measure::{self, Measured, Second};
use super::plots;
use super::workload::{self, Shower};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "burst",
    about: "One server and seven idle ones: a dense place is spread over them and gathered again; against one server alone.",
    run: |options, progress| experiment(&if options.quick { Setup::quick() } else { Setup::full() }, options, progress),
};

/// Servers, of which one has the world to begin with.
const SERVERS: u16 = 8;
/// Greatest cost of the dearest server in the second half of the burst, as a share of what one server alone costs.
const SLOWEST_SHARE_MAX: f64 = 0.35;
/// The shower is this wide, metres.
const SHOWER_M: f32 = 160.0;
/// Bodies before and after the burst, as a share of those in it.
const CALM: f32 = 0.08;

/// How much is run.
#[derive(Clone, Debug)]
struct Setup {
    seed: u64,
    /// About so many bodies at a time, in the burst.
    bodies: u32,
    /// The burst begins and ends, and the run ends. Seconds.
    burst_s: [u64; 2],
    end_s: u64,
    /// Bodies and share of the seconds of the run in which every rule is checked.
    checked_bodies: u32,
    checked_share: f64,
    /// Whether regions come and go by what servers measure of themselves. Ticks of few bodies cost so little that chance would
    /// decide; those are planned by modelled cost.
    measured: bool,
}

impl Setup {
    fn full() -> Setup {
        Setup {
            seed: 5,
            bodies: 4_000,
            burst_s: [10, 70],
            end_s: 120,
            checked_bodies: 800,
            checked_share: 0.5,
            measured: true,
        }
    }

    fn quick() -> Setup {
        Setup { bodies: 1_200, burst_s: [4, 24], end_s: 70, checked_bodies: 400, measured: false, ..Setup::full() }
    }

    #[cfg(test)]
    fn tiny() -> Setup {
        Setup { bodies: 150, burst_s: [1, 4], end_s: 6, checked_bodies: 100, ..Setup::full() }
    }

    fn world(&self) -> World {
        let rate = workload::rate(self.bodies);
        let shower = |from_s: u64, to_s: u64, share: f32| Shower {
            middle: [0.0, 0.0],
            width_m: SHOWER_M,
            per_second: share * rate,
            from_s,
            lasts_s: to_s - from_s,
        };
        let [begins, ends] = self.burst_s;
        let showers = [shower(0, begins, CALM), shower(begins, ends, 1.0), shower(ends, self.end_s, CALM)];
        workload::of_showers(Layout::columns(1, 400.0), &showers)
    }

    fn config(&self, world: &World, balance: Option<BalanceConfig>) -> UniverseConfig {
        let spare = if balance.is_some() { SERVERS - 1 } else { 0 };
        UniverseConfig { spare, ..measure::config_for(self.seed, self.end_s, world, balance) }
    }
}

/// Both runs, and what the checked one found.
struct Found {
    alone: Measured,
    spread: Measured,
    budget_us: u32,
    violations: Vec<String>,
    checked_resizes: u64,
}

fn experiment(setup: &Setup, options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let world = setup.world();
    let budget_us = match setup.measured {
        true => budget_for(setup, &world, &mut |share| progress(0.1 * share))?,
        false => modelled_budget_us(setup.bodies),
    };
    let balance = BalanceConfig { measured: setup.measured, budget_us: Some(budget_us), ..BalanceConfig::default() };
    let configs = [None, Some(balance)].map(|balance| setup.config(&world, balance));
    let [alone, spread] = measure::side_by_side(configs, &world, &mut |share| progress(0.1 + 0.75 * share))?;
    let (violations, checked_resizes) = checked(setup, &mut |share| progress(0.85 + 0.15 * share))?;
    progress(1.0);
    let found = Found { alone, spread, budget_us, violations, checked_resizes };
    let [begins, ends] = setup.burst_s;
    let phases = [
        ("before", 0, begins),
        ("burst, first half", begins, (begins + ends) / 2),
        ("burst, second half", (begins + ends) / 2, ends),
        ("after", ends, setup.end_s),
    ];
    let rows = phases.map(|(name, from, to)| row(&found, name, from, to));
    let breached: Vec<String> = found.spread.breaches.iter().map(|(what, count)| format!("{what} {count}")).collect();
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("quick", options.quick)
            .with("servers", SERVERS)
            .with("bodies", setup.bodies)
            .with("seconds", setup.end_s)
            .with("seed", setup.seed)
            .with("budget_us", found.budget_us)
            .with("partitions_planned", found.spread.plans)
            .with("breached", breached.join(", "))
            .with("checked_bodies", setup.checked_bodies)
            .with("checked_resizes", found.checked_resizes)
            .with("violations", found.violations.len())
            .not_judging("costs", options.quick),
        summary: judge(&rows, &found, options.quick),
        rows: rows.to_vec(),
        plots: pictures(&found),
    })
}

fn row(found: &Found, name: &str, from: u64, to: u64) -> Row {
    let mean = |run: &Measured, value: &dyn Fn(&Second) -> f64| {
        let seconds = &run.seconds[from as usize..to as usize];
        seconds.iter().map(value).sum::<f64>() / seconds.len().max(1) as f64
    };
    let [alone, spread] = [&found.alone, &found.spread].map(|run| mean(run, &Second::slowest_ms));
    let last = found.spread.seconds.get(to as usize - 1).cloned().unwrap_or_default();
    Row::new()
        .with("load", name)
        .with("from_s", from)
        .with("to_s", to)
        .with("alone_ms", alone)
        .with("slowest_ms", spread)
        .with("slowest_share", spread / alone.max(1e-9))
        .with("regions_mean", mean(&found.spread, &|second| second.regions as f64))
        .with("regions_last", last.regions)
        .with("busy_servers_last", last.hosted.iter().filter(|count| **count > 0).count())
        .with("owner_changes_per_s", mean(&found.spread, &|second| second.hand_overs as f64))
}

/// A budget that suits this machine: a fifth of what one server alone needs at the height of the burst, by a short run.
fn budget_for(setup: &Setup, world: &World, progress: &mut dyn FnMut(f32)) -> Result<u32, LabError> {
    let begins = setup.burst_s[0];
    let hz = u64::from(world.tick_hz);
    let config = UniverseConfig { ticks: (begins + 10) * hz, ..setup.config(world, None) };
    let [one] = measure::side_by_side([config], world, progress)?;
    let height = one.seconds.last().map_or(0.0, Second::slowest_ms);
    Ok(((height * 1e3 / 5.0) as u32).max(50))
}

/// A budget that so many bodies exceed several times over by modelled cost.
fn modelled_budget_us(bodies: u32) -> u32 {
    bodies / 2
}

/// The same, smaller, planned by modelled cost, with every rule checked; what was broken, and how often regions came and went.
fn checked(setup: &Setup, progress: &mut dyn FnMut(f32)) -> Result<(Vec<String>, u64), LabError> {
    let shorter = |second: u64| ((second as f64 * setup.checked_share) as u64).max(1);
    let burst_s = [shorter(setup.burst_s[0]), shorter(setup.burst_s[1]) + 1];
    let end_s = shorter(setup.end_s).max(burst_s[1] + 1);
    let setup = Setup { bodies: setup.checked_bodies, burst_s, end_s, ..setup.clone() };
    let world = setup.world();
    let budget_us = Some(modelled_budget_us(setup.bodies));
    let config = setup.config(&world, Some(BalanceConfig { budget_us, ..BalanceConfig::default() }));
    let config = UniverseConfig { checked: true, ..config };
    let last = config.ticks as f32;
    let universe = Universe::of_world(config, world).map_err(|error| LabError::Failed(error.to_string()))?;
    let outcome = universe.run(|tick| progress((tick.0 as f32 / last).min(1.0)));
    Ok((outcome.violations.iter().map(ToString::to_string).collect(), outcome.resizes))
}

/// A quick run has too few bodies for its costs to be those of bodies; only who has a place and the rules are judged then.
fn judge(rows: &[Row], found: &Found, quick: bool) -> Summary {
    let number = |row: usize, name: &str| rows[row].get(name).and_then(serde_json::Value::as_f64).unwrap_or(f64::NAN);
    let (share, most) = (number(2, "slowest_share"), number(2, "regions_last"));
    let (left, busy) = (number(3, "regions_last"), number(3, "busy_servers_last"));
    let mut short = Vec::new();
    if number(0, "regions_last") != 1.0 {
        short.push("the world did not stay on one server before the burst".to_owned());
    }
    if !quick && (share.is_nan() || share > SLOWEST_SHARE_MAX) {
        short.push(format!("the dearest server costs {share:.2} of one alone, above {SLOWEST_SHARE_MAX}"));
    }
    if most.is_nan() || most < 4.0 {
        short.push(format!("only {most} regions share the burst"));
    }
    if left != 1.0 || busy != 1.0 {
        short.push(format!("{left} regions have a place in the end, and {busy} servers have bodies"));
    }
    if let Some(first) = found.violations.first() {
        short.push(format!("{} rules were broken, first {first}", found.violations.len()));
    }
    let result = format!(
        "In the second half of the burst {most} regions share it, and the dearest server costs {share:.2} of one server alone; \
         in the end {left} region has it all; {} rules broken.",
        found.violations.len()
    );
    super::conclude(&result, &short, quick)
}

fn pictures(found: &Found) -> Vec<Plot> {
    let seconds = &found.spread.seconds;
    let slowest = Plot::lines("slowest", "Cost of the dearest server", "second", "ms a tick")
        .with(Series::new("one server alone", plots::over_time(&found.alone.seconds, Second::slowest_ms)))
        .with(Series::new("spread over idle servers", plots::over_time(seconds, Second::slowest_ms)))
        .with(Series::bar("budget", plots::over_time(seconds, |_| f64::from(found.budget_us) / 1e3)));
    let regions = Plot::lines("regions", "Regions that have a place", "second", "regions")
        .with(Series::new("regions", plots::over_time(seconds, |second| second.regions as f64)));
    vec![
        slowest,
        regions,
        plots::costs("Cost of each server", seconds),
        plots::bodies("Bodies of each server", seconds),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_its_shape() {
        let mut shares = Vec::new();
        let options = Options { quick: true, ..Options::default() };
        let report = experiment(&Setup::tiny(), &options, &mut |share| shares.push(share)).unwrap();
        assert_eq!((report.rows.len(), report.plots.len()), (4, 4));
        assert!(report.rows[2].get("slowest_share").and_then(serde_json::Value::as_f64).unwrap() > 0.0);
        assert!(shares.is_sorted() && shares.last() == Some(&1.0), "progress goes forward to the end");
    }

    #[test]
    fn each_bar_can_be_missed() {
        let row = |share: f64, regions: u64, busy: u64| {
            Row::new().with("slowest_share", share).with("regions_last", regions).with("busy_servers_last", busy)
        };
        let judged = |share: f64, regions: [u64; 3], busy: u64, violations: Vec<String>| {
            let (alone, spread) = (Measured::default(), Measured::default());
            let found = Found { alone, spread, budget_us: 1, violations, checked_resizes: 0 };
            let [before, most, after] = regions;
            let rows = [row(1.0, before, 1), row(1.0, most, 1), row(share, most, 1), row(1.0, after, busy)];
            judge(&rows, &found, false).passed
        };
        assert!(judged(0.35, [1, 4, 1], 1, Vec::new()));
        assert!(!judged(0.36, [1, 4, 1], 1, Vec::new()));
        assert!(!judged(0.35, [2, 4, 1], 1, Vec::new()));
        assert!(!judged(0.35, [1, 3, 1], 1, Vec::new()));
        assert!(!judged(0.35, [1, 4, 2], 1, Vec::new()));
        assert!(!judged(0.35, [1, 4, 1], 2, Vec::new()));
        assert!(!judged(0.35, [1, 4, 1], 1, vec!["lost".to_owned()]));
    }
}

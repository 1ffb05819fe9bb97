//! How much faster a world gets with servers: the scalability workload on columns and around corners.

mod bars;
mod measure;
mod plots;
mod workload;

use serde_json::Value;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::report::{Report, Row, Summary};
use measure::Measured;
use workload::{Arrangement, Case};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "aura-scalability",
    about: "Speed-up of the rain workload with 1 to 10 servers, in columns and around corners, under aura projection.",
    run: |options, progress| experiment(&if options.quick { Setup::quick() } else { Setup::full() }, options, progress),
};

/// How much is run.
#[derive(Clone, Debug)]
struct Setup {
    seed: u64,
    /// 1 is 160 bodies a second.
    scale: f32,
    seconds: u64,
    /// Costs are compared over this long at the end.
    late_seconds: u64,
    /// Greatest frame times are taken per this long.
    stretch_seconds: u64,
    cases: Vec<Case>,
    /// Whether the bars apply: they are for the whole workload only.
    judged: bool,
}

impl Setup {
    fn full() -> Setup {
        let mut cases = cases(Arrangement::Columns, &[1, 2, 3, 4, 5, 8, 10], bars::JUDGED_WIDTH);
        cases.extend(cases_of_corners(&[3, 4, 9]));
        cases.extend(self::cases(Arrangement::Columns, &[2, 4, 8], 100.0));
        Setup { seed: 7, scale: 1.0, seconds: 60, late_seconds: 20, stretch_seconds: 5, cases, judged: true }
    }

    fn quick() -> Setup {
        let mut cases = cases(Arrangement::Columns, &[1, 2, 4], bars::JUDGED_WIDTH);
        cases.extend(cases_of_corners(&[4]));
        Setup { seconds: 15, late_seconds: 5, cases, judged: false, ..Setup::full() }
    }

    #[cfg(test)]
    fn tiny() -> Setup {
        let mut cases = cases(Arrangement::Columns, &[1, 2], bars::JUDGED_WIDTH);
        cases.extend(cases_of_corners(&[3]));
        Setup { scale: 0.25, seconds: 3, late_seconds: 1, stretch_seconds: 1, cases, ..Setup::quick() }
    }
}

fn cases(arrangement: Arrangement, servers: &[u16], region_width: f32) -> Vec<Case> {
    servers.iter().map(|&servers| Case { arrangement, servers, region_width }).collect()
}

fn cases_of_corners(servers: &[u16]) -> Vec<Case> {
    cases(Arrangement::Corner, servers, bars::JUDGED_WIDTH)
}

/// A case, what it showed, and what it is compared with.
struct Found {
    case: Case,
    run: Measured,
    speedup: f64,
    /// Speed-up of worlds that know nothing of each other; there is none for one server.
    independent_speedup: Option<f64>,
    /// What those do outside the engine's step, as a share of it: births, looking at who moved, the clock.
    upkeep_share: Option<f64>,
}

impl Found {
    /// How much of the speed of independent worlds is kept.
    fn split_efficiency(&self) -> Option<f64> {
        self.independent_speedup.map(|alone| self.speedup / alone)
    }

    /// Everything outside the engine's step as a share of it.
    fn overhead_share(&self) -> f64 {
        measure::outside_share(std::slice::from_ref(&self.run))
    }

    /// What the seams cost outside the step: policy and transfer, without what worlds that have no seams do as well.
    fn seam_share(&self) -> Option<f64> {
        self.upkeep_share.map(|upkeep| self.overhead_share() - upkeep)
    }

    fn row(&self) -> Row {
        let value = |x: Option<f64>| x.map_or(Value::Null, Value::from);
        let most = |counts: &[usize]| counts.iter().copied().max().unwrap_or(0);
        let breached: Vec<String> = self.run.breaches.iter().map(|(what, count)| format!("{what} {count}")).collect();
        Row::new()
            .with("layout", self.case.arrangement.name())
            .with("servers", self.case.servers)
            .with("region_width", f64::from(self.case.region_width))
            .with("speedup", self.speedup)
            .with("costmax_ms", self.run.cost_max_ms())
            .with("overhead_share", self.overhead_share())
            .with("migrations", self.run.migrations.last().copied().unwrap_or(0))
            .with("aura_updates", self.run.aura_updates.map_or(Value::Null, Value::from))
            .with("owner_changes_per_s", self.run.owner_changes_per_s)
            .with("hosted_max", most(&self.run.hosted))
            .with("resident_max", most(&self.run.resident))
            .with("split_efficiency", value(self.split_efficiency()))
            .with("seam_share", value(self.seam_share()))
            .with("bodies", self.run.hosted.iter().sum::<usize>())
            .with("breaches", self.run.breaches.values().sum::<usize>())
            .with("breached", breached.join(", "))
    }
}

fn experiment(setup: &Setup, options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    // One server with the whole rain is what every number of servers is compared with.
    let one = setup.cases.first().ok_or_else(|| LabError::Failed("there is nothing to run".to_owned()))?;
    let mut sets = vec![vec![one.control(setup)]];
    for case in setup.cases.iter().filter(|case| case.servers > 1) {
        let world = case.world(setup);
        if case.is_judged() {
            sets.push(workload::independent(&world));
        }
        sets.push(vec![world]);
    }
    let mut measured = measure::run(sets, setup, progress)?.into_iter();
    let dearest = |measured: &[Measured]| measured.iter().map(Measured::cost_max_ms).fold(0.0, f64::max);
    let control = measured.next().unwrap_or_default();
    let one_ms = dearest(&control);
    let mut found: Vec<Found> = Vec::new();
    for case in &setup.cases {
        if case.servers == 1 {
            found.extend(control.iter().map(|run| Found {
                case: *case,
                run: run.clone(),
                speedup: 1.0,
                independent_speedup: None,
                upkeep_share: None,
            }));
            continue;
        }
        let alone = if case.is_judged() { measured.next() } else { None };
        let upkeep_share = alone.as_deref().map(measure::outside_share);
        let independent_speedup = alone.map(|alone| one_ms / dearest(&alone).max(1e-9));
        for run in measured.next().unwrap_or_default() {
            let speedup = one_ms / run.cost_max_ms().max(1e-9);
            found.push(Found { case: *case, run, speedup, independent_speedup, upkeep_share });
        }
    }
    progress(1.0);
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("quick", options.quick)
            .with("seconds", setup.seconds)
            .with("late_seconds", setup.late_seconds)
            .with("bodies_per_second", f64::from(160.0 * setup.scale))
            .with("seed", setup.seed),
        rows: found.iter().map(Found::row).collect(),
        plots: plots::all(&found, setup),
        summary: judge(&found, setup),
    })
}

fn judge(found: &[Found], setup: &Setup) -> Summary {
    let best = found.iter().filter(|f| f.case.region_width == bars::JUDGED_WIDTH);
    let speeds: Vec<String> = best
        .filter(|f| f.case.servers > 1)
        .map(|f| format!("{:.2}x on {} ({})", f.speedup, f.case.servers, f.case.arrangement.name()))
        .collect();
    let bodies = |f: &Found| f.run.hosted.iter().sum::<usize>();
    // Bodies may be under way between two servers when the run ends, so a few may be missing from every list.
    let lost = found.iter().any(|f| bodies(f) * 100 < bodies(&found[0]) * 99);
    if !setup.judged {
        let sentence =
            format!("Speed-up {}. A shorter run with fewer bodies: the bars are not judged.", speeds.join(", "));
        return Summary { passed: !lost, sentence };
    }
    let short: Vec<String> = found
        .iter()
        .flat_map(|f| bars::shortfalls(&f.case, f.speedup, f.split_efficiency(), f.seam_share()))
        .chain(lost.then(|| "bodies are missing".to_owned()))
        .collect();
    let verdict =
        if short.is_empty() { "Every bar is met".to_owned() } else { format!("Short of: {}", short.join("; ")) };
    Summary { passed: short.is_empty(), sentence: format!("Speed-up {}. {verdict}.", speeds.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_its_shape() {
        let mut shares = Vec::new();
        let options = Options { quick: true, ..Options::default() };
        let report = experiment(&Setup::tiny(), &options, &mut |share| shares.push(share)).unwrap();
        let names: Vec<&str> = report.rows[0].iter().map(|(name, _)| name).collect();
        assert_eq!(
            names[..12],
            [
                "layout",
                "servers",
                "region_width",
                "speedup",
                "costmax_ms",
                "overhead_share",
                "migrations",
                "aura_updates",
                "owner_changes_per_s",
                "hosted_max",
                "resident_max",
                "split_efficiency",
            ]
        );
        assert_eq!(report.rows.len(), 3);
        let number = |row: usize, name: &str| report.rows[row].get(name).and_then(Value::as_f64);
        assert_eq!(number(0, "speedup"), Some(1.0));
        assert_eq!(number(0, "split_efficiency"), None);
        for row in 0..3 {
            // Three seconds of forty bodies a second; volumes start in turn, so the last few are still to come.
            let bodies = number(row, "bodies").unwrap();
            assert!((90.0..=120.0).contains(&bodies), "{bodies}");
            assert!(number(row, "costmax_ms").unwrap() > 0.0 && number(row, "overhead_share").unwrap() > 0.0);
        }
        assert!(number(1, "split_efficiency").unwrap() > 0.0);
        assert!(shares.is_sorted() && shares.last() == Some(&1.0), "progress goes forward to the end");
        assert!(report.summary.sentence.contains("not judged"));
        assert!(report.plots.iter().all(|plot| plot.series.iter().any(|series| !series.points.is_empty())));
        assert!(report.plots[0].series.iter().any(|series| series.name == "original"));
    }
}

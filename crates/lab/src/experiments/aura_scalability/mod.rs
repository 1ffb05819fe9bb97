//! What servers gain: the scalability workload on columns and around corners, against the same rain on one server.

mod bars;
mod measure;
mod plots;
mod ratios;
mod samples;
mod workload;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::regression::asymptote;
use crate::report::{Report, Row, Summary};
use measure::Measured;
use samples::{Found, Sample};
use workload::{Arrangement, Case};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "aura-scalability",
    about: "Capacity and cost of the rain workload with 1 to 10 servers, in columns and around corners, against one.",
    run: |options, progress| experiment(&if options.quick { Setup::quick() } else { Setup::full() }, options, progress),
};

/// A tick of a world of 60 Hz, milliseconds.
const REAL_TIME_MS: f64 = 16.67;

/// How much is run.
#[derive(Clone, Debug)]
struct Setup {
    /// Of the first repeat; every further one has the next.
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
        let mut cases = cases(Arrangement::Columns, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], bars::JUDGED_WIDTH);
        cases.extend(cases_of_corners(&[3, 4, 9]));
        cases.extend(self::cases(Arrangement::Columns, &[2, 4, 8], 100.0));
        Setup { seed: 7, scale: 1.0, seconds: 60, late_seconds: 20, stretch_seconds: 5, cases, judged: true }
    }

    fn quick() -> Setup {
        let mut cases = cases(Arrangement::Columns, &[1, 2, 4], bars::JUDGED_WIDTH);
        cases.extend(cases_of_corners(&[4]));
        Setup { seconds: 15, late_seconds: 5, stretch_seconds: 1, cases, judged: false, ..Setup::full() }
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

fn experiment(setup: &Setup, options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let repeats = options.repeat.unwrap_or(1).max(1);
    let mut found: Vec<Found> =
        setup.cases.iter().map(|case| Found { case: *case, samples: Vec::new(), independent: None }).collect();
    for repeat in 0..repeats {
        let before = repeat as f32 / repeats as f32;
        let seeded = Setup { seed: setup.seed + u64::from(repeat), ..setup.clone() };
        run_once(&seeded, repeat == 0, &mut found, &mut |share| progress(before + share / repeats as f32))?;
    }
    progress(1.0);
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("quick", options.quick)
            .with("repeat", repeats)
            .with("seconds", setup.seconds)
            .with("late_seconds", setup.late_seconds)
            .with("stretch_seconds", setup.stretch_seconds)
            .with("bodies_per_second", f64::from(160.0 * setup.scale))
            .with("seed", setup.seed)
            .not_judging("costs", !setup.judged),
        rows: found.iter().map(Found::row).collect(),
        plots: plots::all(&found, setup),
        summary: judge(&found, setup),
    })
}

/// Runs every case once, each beside its own control. What needs no interval, worlds without seams and other widths, is
/// run the first time only.
fn run_once(setup: &Setup, first: bool, found: &mut [Found], progress: &mut dyn FnMut(f32)) -> Result<(), LabError> {
    // One column has no seam. Its rain is that of two on one server, which is also what earlier figures compared with.
    let two_columns = Case { arrangement: Arrangement::Columns, servers: 2, region_width: bars::JUDGED_WIDTH };
    let mut sets = vec![vec![two_columns.control(setup)]];
    let is_run = |case: &Case| case.servers > 1 && (first || case.is_judged());
    for case in setup.cases.iter().filter(|case| is_run(case)) {
        let world = case.world(setup);
        if *case != two_columns {
            sets.push(vec![case.control(setup)]);
        }
        if first && case.is_judged() {
            sets.push(workload::independent(&world));
        }
        sets.push(vec![world]);
    }
    let mut measured = measure::run(sets, setup, progress)?.into_iter();
    let mut next = || measured.next().unwrap_or_default();
    let single = |runs: Vec<Measured>| runs.into_iter().next().unwrap_or_default();
    let base = single(next());
    let two_columns_ms = base.cost_max_ms();
    for found in found {
        let case = found.case;
        if case.servers == 1 {
            found.samples.push(Sample { one: base.clone(), servers: base.clone(), two_columns_ms });
        } else if is_run(&case) {
            let one = if case == two_columns { base.clone() } else { single(next()) };
            if first && case.is_judged() {
                found.independent = Some(next());
            }
            found.samples.push(Sample { one, servers: single(next()), two_columns_ms });
        }
    }
    Ok(())
}

fn judge(found: &[Found], setup: &Setup) -> Summary {
    let words = |value: samples::Value95| value.map_or_else(|why| format!("none: {why}"), |interval| interval.words());
    let shown = found.iter().filter(|f| f.case.servers > 1 && f.case.region_width == bars::JUDGED_WIDTH);
    let ratios: Vec<String> = shown
        .map(|f| {
            let original = bars::original(&f.case).map_or(String::new(), |times| format!(" [original {times}]"));
            format!(
                "{} {}: coefficient ratio {}{original}, capacity ratio {}, cost ratio {}",
                f.case.arrangement.name(),
                f.case.servers,
                words(f.coefficient_ratio()),
                words(f.capacity_ratio()),
                f.cost_ratio().words(),
            )
        })
        .collect();
    let ratios = format!("{}. {}", ratios.join("; "), level(found));
    let lost = found.iter().any(Found::lacks_bodies);
    if !setup.judged {
        let verdict = if lost { "Bodies are missing." } else { "A shorter run with fewer bodies: no bar is judged." };
        return Summary { passed: !lost, sentence: format!("{ratios} {verdict}") };
    }
    let missing = lost.then(|| "bodies are missing".to_owned());
    let short: Vec<String> = found.iter().flat_map(bars::shortfalls).chain(missing).collect();
    let verdict =
        if short.is_empty() { "Every bar is met".to_owned() } else { format!("Short of: {}", short.join("; ")) };
    Summary { passed: short.is_empty(), sentence: format!("{ratios} {verdict}.") }
}

/// What the coefficient ratios of columns tend to with ever more servers.
fn level(found: &[Found]) -> String {
    let points = plots::of_columns(found, |f| f.coefficient_ratio().ok().map(|interval| interval.mean));
    let original = bars::ORIGINAL_ASYMPTOTE;
    match asymptote(&points) {
        Some(level) => format!("Coefficient ratios of columns tend to {level:.2} [original {original}]."),
        None => format!("Coefficient ratios of columns tend to no level that could be told [original {original}]."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_report_has_its_shape() {
        let mut shares = Vec::new();
        let options = Options { quick: true, repeat: Some(2), ..Options::default() };
        let report = experiment(&Setup::tiny(), &options, &mut |share| shares.push(share)).unwrap();
        let names: Vec<&str> = report.rows[0].iter().map(|(name, _)| name).collect();
        for name in ["coefficient_ratio", "capacity_ratio", "capacity_ratio_at_16_67_ms", "cost_ratio", "seam_share"] {
            for end in ["", "_low", "_high"] {
                assert!(names.contains(&format!("{name}{end}").as_str()), "{name}{end} is missing");
            }
        }
        assert!(!names.iter().any(|name| name.contains("speedup")), "a name that could be any of them");
        assert_eq!(report.rows.len(), 3);
        let number = |row: usize, name: &str| report.rows[row].get(name).and_then(Value::as_f64);
        assert_eq!(number(0, "cost_ratio"), Some(1.0));
        // On a busy machine frame times of so few bodies need not grow with them, and then the report says so.
        let untold = report.rows[0].get("not_computed").and_then(Value::as_str).unwrap_or_default();
        assert!(number(0, "coefficient_ratio") == Some(1.0) || untold.contains("coefficient_ratio"), "{untold}");
        assert_eq!((number(0, "split_efficiency"), number(0, "seam_share")), (None, None));
        for row in 0..3 {
            // Three seconds of forty bodies a second; volumes start in turn, so the last few are still to come.
            let bodies = number(row, "bodies").unwrap();
            assert!((90.0..=120.0).contains(&bodies), "{bodies}");
            assert!(number(row, "costmax_ms").unwrap() > 0.0 && number(row, "overhead_share").unwrap() > 0.0);
            assert_eq!(number(row, "repeats"), Some(2.0));
        }
        assert!(number(1, "split_efficiency").unwrap() > 0.0);
        assert!(number(2, "cost_ratio_low").unwrap() < number(2, "cost_ratio").unwrap());
        let not_reached = report.rows[1].get("not_computed").and_then(Value::as_str).unwrap();
        assert!(not_reached.contains("16_67"), "a hundred bodies take no 16.67 ms: {not_reached}");
        assert!(shares.is_sorted() && shares.last() == Some(&1.0), "progress goes forward to the end");
        assert!(report.summary.sentence.contains("no bar is judged"));
        assert!(report.plots.iter().all(|plot| plot.series.iter().any(|series| !series.points.is_empty())));
    }

    #[test]
    fn originals_are_drawn_beside_coefficient_ratios_only() {
        let report = experiment(&Setup::tiny(), &Options::default(), &mut |_| ()).unwrap();
        for plot in &report.plots {
            let original = plot.series.iter().any(|series| series.role == crate::plot::Role::Original);
            assert_eq!(original, plot.name == "coefficient-ratio", "{}", plot.name);
        }
    }
}

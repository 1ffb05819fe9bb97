//! What a cluster does when it gets four times the load that its machine holds in real time, and when the load is gone.
//!
//! Time dilation is to slow the whole world down: no tick is skipped, no body is lost, and pairs of balls that meet at the
//! boundary meanwhile do so at the tick at which they meet on one server. When the load is gone, the world is to be back in
//! real time within five seconds. A row in which time dilation is forbidden must skip ticks, or this could not fail.

mod load;
mod run;

use load::Load;
use run::{Case, Outcome};

use crate::cluster_run::is_possible;
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "overload",
    about: "Four times the load that the machine holds, then none: time dilation, contacts, bodies, memory and the way back.",
    run,
};

/// Load as a multiple of what the machine holds in real time, at the least.
const LOAD_BAR: f64 = 4.0;
/// Seconds after the load is gone in which the world is back in real time.
const BACK_S_BAR: f64 = 5.0;
/// Growth of the memory of all processes during the second half of the overload, megabytes.
const GROWTH_MB_BAR: f64 = 64.0;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    if !is_possible() {
        return Err(LabError::Failed("this experiment needs /proc to find its processes".to_owned()));
    }
    let seconds = if options.quick { 15 } else { 60 };
    let bodies = run::calibrate(LOAD_BAR)?;
    progress(0.2);
    let mut results: Vec<(Case, Outcome)> = Vec::new();
    for case in Case::ALL {
        let seconds = if case.slowest < 1.0 { seconds } else { 10 };
        let load = Load::new(bodies, case.sides, seconds as f32)?;
        results.push((case, run::run(&case, &load, seconds)?));
        progress(0.2 + 0.8 * results.len() as f32 / Case::ALL.len() as f32);
    }
    let failed: Vec<String> = results.iter().filter_map(|(case, seen)| problem(case, seen)).collect();
    let slowed: Vec<&Outcome> = results.iter().filter(|(case, _)| case.slowest < 1.0).map(|(_, seen)| seen).collect();
    let worst = |of: fn(&Outcome) -> f64| slowed.iter().map(|seen| of(seen)).fold(0.0, f64::max);
    let mut sentence = format!(
        "With {bodies} bodies a region, {:.1} times what the machine holds, the world slowed to {:.2} of real time, skipped {} \
         ticks, had {} of its pairs late or missed and lost {} bodies; it was back after {:.1} s (bar {BACK_S_BAR}).",
        slowed.iter().map(|seen| seen.load).fold(f64::INFINITY, f64::min),
        slowed.iter().map(|seen| seen.dilation).fold(f64::INFINITY, f64::min),
        worst(|seen| seen.ticks_lost as f64),
        worst(|seen| f64::from(seen.pairs.late + seen.pairs.missed)),
        worst(|seen| seen.lost as f64),
        worst(|seen| seen.back_s),
    );
    if !failed.is_empty() {
        sentence += &format!(" Not met: {}.", failed.join("; "));
    }
    let mut plot = Plot::lines("dilation", "Share of real time at which the world runs", "seconds", "share");
    for (case, seen) in &results {
        plot = plot.with(Series::new(case.name, seen.dilations.clone()));
    }
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("bodies_a_region", bodies).with("seconds", seconds),
        rows: results.iter().map(|(case, seen)| row(case, seen)).collect(),
        plots: vec![plot],
        summary: Summary { passed: failed.is_empty(), sentence },
    })
}

/// What is not as it should be.
fn problem(case: &Case, seen: &Outcome) -> Option<String> {
    let bad = |what: String| Some(format!("{}: {what}", case.name));
    if case.slowest >= 1.0 {
        return if seen.ticks_lost == 0 {
            bad("it skipped no ticks, so the load proves nothing".to_owned())
        } else {
            None
        };
    }
    if seen.load < LOAD_BAR {
        return bad(format!("the load was only {:.1} times what the machine holds", seen.load));
    }
    if seen.ticks_lost > 0 {
        return bad(format!("{} ticks were skipped", seen.ticks_lost));
    }
    let pairs = &seen.pairs;
    if pairs.late + pairs.missed + pairs.early + pairs.void > 0 || pairs.pairs == 0 {
        return bad(format!("of {} pairs {} were late, {} missed", pairs.pairs, pairs.late, pairs.missed));
    }
    if seen.lost + seen.doubled > 0 {
        return bad(format!("{} bodies were lost and {} doubled", seen.lost, seen.doubled));
    }
    if seen.back_s > BACK_S_BAR {
        return bad(format!("it was back in real time after {:.1} s", seen.back_s));
    }
    if seen.growth_mb > GROWTH_MB_BAR {
        return bad(format!("memory grew by {:.0} MB", seen.growth_mb));
    }
    None
}

fn row(case: &Case, seen: &Outcome) -> Row {
    let round = |value: f64| (value * 1e3).round() / 1e3;
    Row::new()
        .with("case", case.name)
        .with("load", round(seen.load))
        .with("dilation", round(seen.dilation))
        .with("ticks_lost", seen.ticks_lost)
        .with("pairs", seen.pairs.pairs)
        .with("late", seen.pairs.late)
        .with("missed", seen.pairs.missed)
        .with("void", seen.pairs.void)
        .with("bodies", seen.bodies as u64)
        .with("lost", seen.lost as u64)
        .with("doubled", seen.doubled as u64)
        .with("back_s", round(seen.back_s))
        .with("memory_mb", seen.memory_mb.round())
        .with("growth_mb", round(seen.growth_mb))
        .with("breaches", seen.breaches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::seam::run::Seen;

    #[test]
    fn every_promise_is_looked_at_and_so_is_whether_the_load_was_one() {
        let (slows, forbidden) = (Case::ALL[0], Case::ALL[Case::ALL.len() - 1]);
        assert!(slows.slowest < 1.0 && forbidden.slowest >= 1.0);
        let pairs = Seen { pairs: 10, ..Seen::default() };
        let good = || Outcome { load: 4.2, back_s: 3.0, growth_mb: 5.0, pairs: pairs.clone(), ..Outcome::default() };
        assert_eq!(problem(&slows, &good()), None);
        let bad = [
            Outcome { load: 3.9, ..good() },
            Outcome { ticks_lost: 1, ..good() },
            Outcome { pairs: Seen { late: 1, ..pairs.clone() }, ..good() },
            Outcome { pairs: Seen { missed: 1, ..pairs.clone() }, ..good() },
            Outcome { pairs: Seen::default(), ..good() },
            Outcome { lost: 1, ..good() },
            Outcome { doubled: 1, ..good() },
            Outcome { back_s: 5.1, ..good() },
            Outcome { growth_mb: 100.0, ..good() },
        ];
        assert!(bad.iter().all(|seen| problem(&slows, seen).is_some()));
        assert!(problem(&forbidden, &good()).is_some() && problem(&forbidden, &bad[1]).is_none());
    }
}

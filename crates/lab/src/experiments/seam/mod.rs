//! Whether collisions at a boundary between real processes are what they are on one server: two nodes over a relay that is as
//! slow and loses as much as it is told, with and without backups.
//!
//! Hundreds of pairs of balls fly at each other head-on and meet at the boundary. A client of the gateway hears at which tick
//! each pair meets; one server says at which it should. Within the tolerances none may be late. Beyond them, and where the
//! machine itself did not keep them, a breach must have come before.

pub(super) mod run;
pub(super) mod scene;

use run::{EXCUSES_TICKS, Point, Seen};
use scene::{Pairs, TOLERANCES};

use crate::cluster_run::is_possible;
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "seam",
    about: "Head-on pairs at a boundary between real processes over a relay: latency, loss and backups against one server.",
    run,
};

/// Latencies as shares of the tolerance. The machine adds its own to the relay's, so none is the tolerance itself.
const LATENCIES: [f32; 5] = [0.0, 0.5, 0.9, 1.5, 2.0];
const LATENCIES_QUICK: [f32; 2] = [0.5, 2.0];
/// Shares of packets that are lost, at half the tolerance of latency.
const LOSSES: [f32; 4] = [0.01, 0.05, 0.1, 0.2];
const LOSSES_QUICK: [f32; 1] = [0.05];
const SEED: u64 = 11;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    if !is_possible() {
        return Err(LabError::Failed("this experiment needs /proc to find its processes".to_owned()));
    }
    let (count, within_ticks) = if options.quick { (60, 240.0) } else { (500, 720.0) };
    let pairs = Pairs::new(count, within_ticks, SEED);
    let expected = pairs.alone()?;
    let points = points(options.quick);
    let mut results: Vec<(Point, Seen)> = Vec::new();
    for point in points.iter().copied() {
        // One point that cannot be run says nothing about the others.
        let seen = run::run(&point, &pairs, &expected);
        results.push((point, seen.unwrap_or_else(|error| Seen { failure: error.to_string(), ..Seen::default() })));
        progress(results.len() as f32 / points.len() as f32);
    }
    let failed: Vec<String> = results.iter().filter(|(_, seen)| !meets(seen)).map(|(point, _)| title(point)).collect();
    let sum = |of: fn(&Seen) -> u32, within: bool| -> u32 {
        results.iter().filter(|(point, _)| point.is_within() == within).map(|(_, seen)| of(seen)).sum()
    };
    let late = |seen: &Seen| seen.late + seen.missed;
    let void: u32 = results.iter().map(|(_, seen)| seen.void).sum();
    let silent: u32 = results.iter().map(|(_, seen)| seen.silent).sum();
    let mut sentence = format!(
        "Of {} pairs within tolerance {} were late or missed ({} of them without a breach before), of {} beyond it {}; {silent} \
         in all were silent (bar 0).",
        sum(|seen| seen.pairs, true),
        sum(late, true),
        sum(|seen| seen.silent, true),
        sum(|seen| seen.pairs, false),
        sum(late, false),
    );
    if void > 0 {
        sentence += &format!(" {void} were not judged: servers had skipped ticks on this machine.");
    }
    for (point, seen) in results.iter().filter(|(_, seen)| !seen.failure.is_empty()) {
        let why = seen.failure.lines().next().unwrap_or_default();
        sentence += &format!(" {} could not be run: {why}.", title(point));
    }
    if !failed.is_empty() {
        sentence += &format!(" Not met: {}.", failed.join("; "));
    }
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("pairs", count)
            .with("speed", TOLERANCES.speed)
            .with("latency_ms", TOLERANCES.latency_ms)
            .with("frame_ms", TOLERANCES.frame_ms)
            .with("excused_within_ticks", EXCUSES_TICKS),
        rows: results.iter().map(|(point, seen)| row(point, seen)).collect(),
        plots: vec![plot(&results)],
        summary: Summary { passed: failed.is_empty(), sentence },
    })
}

fn points(quick: bool) -> Vec<Point> {
    let (latencies, losses): (&[f32], &[f32]) =
        if quick { (&LATENCIES_QUICK, &LOSSES_QUICK) } else { (&LATENCIES, &LOSSES) };
    let mut points = Vec::new();
    for backups in [false, true] {
        let latency = |share: &f32| Point { latency_ms: share * TOLERANCES.latency_ms, loss: 0.0, backups };
        let loss = |loss: &f32| Point { latency_ms: TOLERANCES.latency_ms / 2.0, loss: *loss, backups };
        points.extend(latencies.iter().map(latency).chain(losses.iter().map(loss)));
    }
    points
}

/// Whatever the machine does, nothing may be late without a word, and nothing may come too early. Where servers skip ticks
/// before half of the pairs have met, nothing is proven.
fn meets(seen: &Seen) -> bool {
    seen.pairs > 2 * seen.void && seen.silent == 0 && seen.early == 0
}

fn title(point: &Point) -> String {
    let backups = if point.backups { "with" } else { "without" };
    format!("{} ms, {} % lost, {backups} backups", point.latency_ms, 100.0 * point.loss)
}

fn row(point: &Point, seen: &Seen) -> Row {
    let of = |factor: &str| seen.breaches.get(factor).copied().unwrap_or(0);
    Row::new()
        .with("backups", point.backups)
        .with("latency_ms", point.latency_ms)
        .with("loss_percent", (f64::from(point.loss) * 1e3).round() / 10.0)
        .with("within_tolerance", point.is_within())
        .with("pairs", seen.pairs)
        .with("late", seen.late)
        .with("missed", seen.missed)
        .with("early", seen.early)
        .with("void", seen.void)
        .with("silent", seen.silent)
        .with("late_ticks_max", seen.late_ticks_max)
        .with("breaches_latency", of("latency"))
        .with("breaches_frame_time", of("frame_time"))
        .with("breaches_compute", of("compute"))
        .with("breaches_skew", of("skew"))
        .with("breaches_commit", of("commit"))
        .with("breaches_time_lost", of("time_lost"))
        .with("breaches_silence", of("silence"))
        .with("failure", seen.failure.as_str())
}

/// Late and missed pairs over the latency, without loss.
fn plot(results: &[(Point, Seen)]) -> Plot {
    let mut plot = Plot::lines("late", "Pairs that met late or never between processes", "latency, ms", "pairs, %");
    for (backups, name) in [(false, "without backups"), (true, "with backups")] {
        let shown = results.iter().filter(|(point, _)| point.backups == backups && point.loss == 0.0);
        let share = |seen: &Seen| 100.0 * f64::from(seen.late + seen.missed) / f64::from(seen.pairs.max(1));
        let points = shown.map(|(point, seen)| [f64::from(point.latency_ms), share(seen)]).collect();
        plot = plot.with(Series::new(name, points));
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_go_from_nothing_to_twice_the_tolerance_and_to_a_fifth_lost_with_and_without_backups() {
        let points = points(false);
        let most = |of: fn(&Point) -> f32| points.iter().map(of).fold(0.0, f32::max);
        assert_eq!((most(|point| point.latency_ms), most(|point| point.loss)), (2.0 * TOLERANCES.latency_ms, 0.2));
        assert!(points.iter().any(|point| point.latency_ms == 0.0));
        assert_eq!(points.iter().filter(|point| point.backups).count() * 2, points.len());
    }

    #[test]
    fn one_silent_pair_fails_a_point() {
        let good = Seen { pairs: 10, late: 2, ..Seen::default() };
        assert!(meets(&good));
        assert!(!meets(&Seen { silent: 1, ..good.clone() }) && !meets(&Seen { early: 1, ..good.clone() }));
        assert!(meets(&Seen { void: 4, ..good.clone() }) && !meets(&Seen { void: 5, ..good }));
        assert!(!meets(&Seen::default()), "nothing proves nothing");
        assert!(!meets(&Seen { failure: "no first pair".to_owned(), ..Seen::default() }));
    }
}

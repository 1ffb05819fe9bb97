//! What two processes on two cores can carry against one process whose engine uses both: the largest rain for which 99
//! of 100 ticks fit into their time.

mod control;
mod largest;
mod measure;

use crate::cluster_watch::load_average;
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};
use control::Control;
use largest::{Found, Search, largest};
use measure::{Rain, TICK_MS, Tried, in_processes};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "two-cores",
    about: "The largest rain that two processes keep up with, against one process with two physics threads.",
    run,
};

/// So many times the bodies of the one process must be carried by two, without backups.
const RATIO_MIN: f64 = 1.3;

/// Who carries the rain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    TwoThreads,
    OneThread,
    Two { durable: bool },
}

impl How {
    fn name(self) -> &'static str {
        match self {
            How::TwoThreads => "one process, two physics threads",
            How::OneThread => "one process, one thread",
            How::Two { durable: false } => "two processes",
            How::Two { durable: true } => "two processes, with backups",
        }
    }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let (two, kept) = (How::Two { durable: false }, How::Two { durable: true });
    let (ways, rain, search) = if options.quick {
        (vec![How::TwoThreads, two], Rain { hurry: 15 }, Search { first: 0.3, step: 1.5, tries: 3 })
    } else {
        let ways = vec![How::TwoThreads, How::OneThread, two, kept];
        (ways, Rain { hurry: 1 }, Search { first: 0.5, step: 1.25, tries: 8 })
    };
    let before = load_average();
    let control = Control::build()?;
    let mut results: Vec<(How, Found)> = Vec::new();
    let all = ways.len() as f32;
    for (done, how) in ways.into_iter().enumerate() {
        let mut tell = |share: f32| progress((done as f32 + share) / all);
        let found = largest(search, &mut tell, |scale| match how {
            How::TwoThreads => control.try_out(rain, scale),
            How::OneThread => in_processes(rain, scale, 1, false),
            How::Two { durable } => in_processes(rain, scale, 2, durable),
        })?;
        results.push((how, found));
    }
    let bodies = |wanted: How| results.iter().find(|(how, _)| *how == wanted).map_or(0, |(_, found)| found.bodies());
    let control = bodies(How::TwoThreads).max(bodies(How::OneThread));
    let ratio = bodies(two) as f64 / control.max(1) as f64;
    let better =
        if bodies(How::OneThread) > bodies(How::TwoThreads) { "one thread, which is more" } else { "both cores" };
    let judged = if options.quick { " Too short to judge." } else { "" };
    let with_backups = match bodies(kept) {
        0 => String::new(),
        some => format!(" With backups {some}."),
    };
    let mut plot = Plot::lines("steps", "Time of a tick that 99 of 100 do not exceed", "bodies", "ms");
    for (how, found) in &results {
        let mut points: Vec<[f64; 2]> = found.tried.iter().map(|(_, one)| [one.bodies as f64, one.p99_ms]).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        plot = plot.with(Series::new(how.name(), points));
    }
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("scene", "rain")
            .with("measured_s", rain.measured_s())
            .with("p99_max_ms", TICK_MS)
            .with("load_average_before", before)
            .not_judging("bodies that fit", options.quick),
        rows: results.iter().flat_map(|(how, found)| rows(*how, found)).collect(),
        plots: vec![plot.with_level("a tick", TICK_MS)],
        summary: Summary {
            passed: options.quick || ratio >= RATIO_MIN,
            sentence: format!(
                "Two processes carry {} bodies, one process with {better} {control}: {ratio:.2} times as many (bar \
                 {RATIO_MIN}).{with_backups}{judged}",
                bodies(two),
            ),
        },
    })
}

fn rows(how: How, found: &Found) -> impl Iterator<Item = Row> {
    let row = move |scale: f32, one: &Tried| {
        Row::new()
            .with("how", how.name())
            .with("scale", f64::from(scale))
            .with("bodies", one.bodies)
            .with("p50_ms", one.p50_ms)
            .with("p99_ms", one.p99_ms)
            .with("ticks", one.ticks)
            .with("ticks_lost", one.ticks_lost)
            .with("fits", one.fits())
    };
    found.tried.iter().map(move |(scale, one)| row(*scale, one)).collect::<Vec<_>>().into_iter()
}

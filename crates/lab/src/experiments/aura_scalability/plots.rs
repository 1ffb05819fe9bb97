//! The pictures of the experiment.

use super::ratios::exponential;
use super::samples::{Found, Sample};
use super::workload::Arrangement;
use super::{Setup, bars};
use crate::interval::Interval;
use crate::plot::{Plot, Series};

/// Numbers of servers whose course over time is drawn; more lines cannot be told apart.
const DRAWN: [u16; 4] = [1, 2, 4, 8];

pub(super) fn all(found: &[Found], setup: &Setup) -> Vec<Plot> {
    vec![
        coefficient_ratio(found),
        capacity_ratio(found),
        cost_ratio(found),
        frame_time(found, setup),
        fit(found),
        migrations(found, setup),
        hosted(found),
    ]
}

/// Servers, and a value of the columns of the judged width that have one.
pub(super) fn of_columns(found: &[Found], value: impl Fn(&Found) -> Option<f64>) -> Vec<[f64; 2]> {
    of(found, Arrangement::Columns, bars::JUDGED_WIDTH).filter_map(|f| Some([servers(f), value(f)?])).collect()
}

fn of(found: &[Found], arrangement: Arrangement, width: f32) -> impl Iterator<Item = &Found> {
    found.iter().filter(move |f| f.case.arrangement == arrangement && f.case.region_width == width)
}

fn servers(found: &Found) -> f64 {
    f64::from(found.case.servers)
}

/// A series of means with their intervals.
fn means(name: &str, found: &[Found], arrangement: Arrangement, value: fn(&Found) -> Option<Interval>) -> Series {
    let known: Vec<(f64, Interval)> =
        of(found, arrangement, bars::JUDGED_WIDTH).filter_map(|f| Some((servers(f), value(f)?))).collect();
    let ends = |i: &Interval| [i.low().unwrap_or(i.mean), i.high().unwrap_or(i.mean)];
    Series::new(name, known.iter().map(|(servers, interval)| [*servers, interval.mean]).collect())
        .with_spread(known.iter().map(|(_, interval)| ends(interval)).collect())
}

fn ideal(found: &[Found]) -> Series {
    Series::reference("as many times as servers", [1.0, widest(found)].map(|servers| [servers; 2]).to_vec())
}

fn widest(found: &[Found]) -> f64 {
    found.iter().map(servers).fold(1.0, f64::max)
}

fn coefficient_ratio(found: &[Found]) -> Plot {
    let ours = |f: &Found| f.coefficient_ratio().ok();
    let original = bars::ORIGINAL.map(|(servers, times)| [f64::from(servers), times]);
    let limit = [1.0, widest(found)].map(|servers| [servers, bars::ORIGINAL_ASYMPTOTE]);
    Plot::lines(
        "coefficient-ratio",
        "Coefficient of one server's fit by that of the servers'",
        "servers",
        "times one server",
    )
    .with(means("columns", found, Arrangement::Columns, ours))
    .with(means("around corners", found, Arrangement::Corner, ours))
    .with(ideal(found))
    .with(Series::original(original.into_iter().filter(|point| point[0] <= widest(found)).collect()))
    .with(Series { name: "limit of the original".to_owned(), ..Series::original(limit.to_vec()) })
}

fn capacity_ratio(found: &[Found]) -> Plot {
    let equal = |f: &Found| f.capacity_ratio().ok();
    let real_time = |f: &Found| f.capacity_ratio_in_real_time().ok();
    let mut plot = Plot::lines("capacity-ratio", "Bodies at equal frame time", "servers", "times one server")
        .with(means("columns", found, Arrangement::Columns, equal))
        .with(means("around corners", found, Arrangement::Corner, equal));
    let in_real_time = means("columns at 16.67 ms", found, Arrangement::Columns, real_time);
    if in_real_time.points.len() > 1 {
        plot = plot.with(in_real_time);
    }
    plot.with(ideal(found))
}

fn cost_ratio(found: &[Found]) -> Plot {
    let ours = |f: &Found| Some(f.cost_ratio());
    let mut plot = Plot::lines("cost-ratio", "Cost of a tick with all bodies", "servers", "one server by the dearest")
        .with(means("columns", found, Arrangement::Columns, ours))
        .with(means("around corners", found, Arrangement::Corner, ours))
        .with(Series::new("independent worlds", of_columns(found, Found::independent_cost_ratio)));
    let narrow: Vec<[f64; 2]> =
        of(found, Arrangement::Columns, 100.0).map(|f| [servers(f), f.cost_ratio().mean]).collect();
    if !narrow.is_empty() {
        plot = plot.with(Series::new("columns of 100 m", narrow));
    }
    plot.with(Series::bar("bar for columns", of_columns(found, |f| bars::cost_ratio_min(&f.case))))
}

/// Columns of the judged width, of the numbers that are drawn, each with its first repeat.
fn drawn(found: &[Found]) -> impl Iterator<Item = (&Found, &Sample)> {
    of(found, Arrangement::Columns, bars::JUDGED_WIDTH)
        .filter(|f| DRAWN.contains(&f.case.servers))
        .filter_map(|f| Some((f, f.samples.first()?)))
}

fn name(found: &Found) -> String {
    if found.case.servers == 1 { "1 server".to_owned() } else { format!("{} servers", found.case.servers) }
}

fn over_time(mut plot: Plot, found: &[Found], setup: &Setup, values: fn(&Sample) -> Vec<f64>) -> Plot {
    for (f, sample) in drawn(found) {
        let ends = (1..).map(|i: u64| (i * setup.stretch_seconds) as f64);
        let points = ends.zip(values(sample)).map(|(second, value)| [second, value]).collect();
        plot = plot.with(Series::new(name(f), points));
    }
    plot
}

fn frame_time(found: &[Found], setup: &Setup) -> Plot {
    let title = format!("Greatest frame time per {} s, any server", setup.stretch_seconds);
    let plot = Plot::lines("frame-time", &title, "seconds", "CPU ms");
    over_time(plot, found, setup, |sample| sample.servers.frames.iter().map(|frame| frame[1]).collect())
}

/// The points of the regression, and its lines.
fn fit(found: &[Found]) -> Plot {
    let title = "Greatest frame time over bodies, and its exponential fit";
    let mut plot = Plot::lines("fit", title, "bodies", "log10 of CPU ms");
    for (f, sample) in drawn(found) {
        let frames = sample.servers.frames.iter().filter(|frame| frame[1] > 0.0);
        let logs: Vec<[f64; 2]> = frames.map(|frame| [frame[0], frame[1].log10()]).collect();
        let ends = logs.first().zip(logs.last()).map(|(first, last)| [first[0], last[0]]);
        plot = plot.with(Series::new(name(f), logs));
        if let (Ok(line), Some(ends)) = (exponential(&sample.servers.frames), ends) {
            let points = ends.map(|bodies| [bodies, line.intercept + line.slope * bodies]).to_vec();
            plot = plot.with(Series::reference(format!("fit, {}", name(f)), points));
        }
    }
    plot
}

fn migrations(found: &[Found], setup: &Setup) -> Plot {
    let plot = Plot::lines("migrations", "Owner changes so far, all servers", "seconds", "bodies that changed server");
    over_time(plot, found, setup, |sample| sample.servers.migrations.iter().map(|count| *count as f64).collect())
}

/// Hosted against resident of every server of every case that is judged.
fn hosted(found: &[Found]) -> Plot {
    let mut categories = Vec::new();
    let (mut hosted, mut resident) = (Vec::new(), Vec::new());
    for f in found.iter().filter(|f| f.case.servers > 1 && f.case.region_width == bars::JUDGED_WIDTH) {
        let Some(run) = f.samples.first().map(|sample| &sample.servers) else { continue };
        for (i, (has, lies)) in run.hosted.iter().zip(&run.resident).enumerate() {
            let x = categories.len() as f64;
            let first =
                if i == 0 { format!("{} {}", f.case.arrangement.name(), f.case.servers) } else { String::new() };
            categories.push(first);
            hosted.push([x, *has as f64]);
            resident.push([x, *lies as f64]);
        }
    }
    Plot::bars("hosted", "Bodies per server at the end", "servers, by layout", "bodies", categories)
        .with(Series::new("hosted by the server", hosted))
        .with(Series::new("lying in its region", resident))
}

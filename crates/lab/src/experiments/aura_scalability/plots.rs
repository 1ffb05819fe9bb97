//! The pictures of the experiment.

use super::workload::Arrangement;
use super::{Found, Setup, bars};
use crate::plot::{Plot, Series};

/// Numbers of servers whose course over time is drawn; more lines cannot be told apart.
const DRAWN: [u16; 4] = [1, 2, 4, 8];

pub(super) fn all(found: &[Found], setup: &Setup) -> Vec<Plot> {
    vec![speedup(found), frame_time(found, setup), migrations(found, setup), hosted(found)]
}

fn speedup(found: &[Found]) -> Plot {
    let of = |arrangement: Arrangement, width: f32, value: fn(&Found) -> Option<f64>| -> Vec<[f64; 2]> {
        let these = found.iter().filter(|f| f.case.arrangement == arrangement && f.case.region_width == width);
        these.filter_map(|f| Some([f64::from(f.case.servers), value(f)?])).collect()
    };
    let wide = bars::JUDGED_WIDTH;
    let ours = |f: &Found| Some(f.speedup);
    let widest = found.iter().map(|f| f.case.servers).max().unwrap_or(1);
    let original = bars::ORIGINAL.iter().filter(|(servers, _)| *servers <= widest);
    let mut plot = Plot::lines("speedup", "Speed-up over servers", "servers", "times one server")
        .with(Series::new("columns", of(Arrangement::Columns, wide, ours)))
        .with(Series::new("around corners", of(Arrangement::Corner, wide, ours)))
        .with(Series::new("independent worlds", of(Arrangement::Columns, wide, |f| f.independent_speedup)));
    let narrow = of(Arrangement::Columns, 100.0, ours);
    if !narrow.is_empty() {
        plot = plot.with(Series::new("columns of 100 m", narrow));
    }
    let judged: Vec<[f64; 2]> = found
        .iter()
        .filter(|f| f.case.arrangement == Arrangement::Columns)
        .filter_map(|f| Some([f64::from(f.case.servers), bars::speedup_min(&f.case)?]))
        .collect();
    let limit = [1, widest].map(|servers| [f64::from(servers), bars::ORIGINAL_ASYMPTOTE]);
    plot.with(Series::bar("bar for columns", judged))
        .with(Series::original(original.map(|(servers, times)| [f64::from(*servers), *times]).collect()))
        .with(Series { name: "limit of the original".to_owned(), ..Series::original(limit.to_vec()) })
}

/// Columns of the judged width, of the numbers that are drawn.
fn drawn(found: &[Found]) -> impl Iterator<Item = &Found> {
    found.iter().filter(|f| {
        let case = &f.case;
        case.arrangement == Arrangement::Columns
            && case.region_width == bars::JUDGED_WIDTH
            && DRAWN.contains(&case.servers)
    })
}

fn over_time(mut plot: Plot, found: &[Found], setup: &Setup, values: fn(&Found) -> Vec<f64>) -> Plot {
    for f in drawn(found) {
        let ends = (1..).map(|i: u64| (i * setup.stretch_seconds) as f64);
        let points = ends.zip(values(f)).map(|(second, value)| [second, value]).collect();
        let name = if f.case.servers == 1 { "1 server".to_owned() } else { format!("{} servers", f.case.servers) };
        plot = plot.with(Series::new(name, points));
    }
    plot
}

fn frame_time(found: &[Found], setup: &Setup) -> Plot {
    let title = format!("Greatest frame time per {} s, any server", setup.stretch_seconds);
    let plot = Plot::lines("frame-time", &title, "seconds", "CPU ms");
    over_time(plot, found, setup, |f| f.run.frame_ms_max.clone())
}

fn migrations(found: &[Found], setup: &Setup) -> Plot {
    let plot = Plot::lines("migrations", "Owner changes so far", "seconds", "bodies that changed server");
    over_time(plot, found, setup, |f| f.run.migrations.iter().map(|count| *count as f64).collect())
}

/// Hosted against resident of every server of every case that is judged.
fn hosted(found: &[Found]) -> Plot {
    let mut categories = Vec::new();
    let (mut hosted, mut resident) = (Vec::new(), Vec::new());
    for f in found.iter().filter(|f| f.case.servers > 1 && f.case.region_width == bars::JUDGED_WIDTH) {
        for (i, (has, lies)) in f.run.hosted.iter().zip(&f.run.resident).enumerate() {
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

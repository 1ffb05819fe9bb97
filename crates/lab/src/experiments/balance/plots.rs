//! The pictures of the experiment.

use super::measure::Second;
use super::{Found, SLOWEST_SHARE_MAX};
use crate::plot::{Plot, Series};

pub(super) fn all(found: &Found) -> Vec<Plot> {
    vec![
        slowest(found),
        costs("Cost of each server, boundaries follow", &found.planned.seconds),
        bodies("Bodies of each server, boundaries follow", &found.planned.seconds),
        planes(found),
    ]
}

pub(super) fn over_time(seconds: &[Second], value: impl Fn(&Second) -> f64) -> Vec<[f64; 2]> {
    seconds.iter().zip(1..).map(|(second, at)| [f64::from(at), value(second)]).collect()
}

fn slowest(found: &Found) -> Plot {
    let bar = over_time(&found.still.seconds, |second| SLOWEST_SHARE_MAX * second.slowest_ms());
    Plot::lines("slowest", "Cost of the dearest server", "second", "ms a tick")
        .with(Series::new("boundaries stand still", over_time(&found.still.seconds, Second::slowest_ms)))
        .with(Series::new("boundaries follow", over_time(&found.planned.seconds, Second::slowest_ms)))
        .with(Series::bar("half", bar))
}

/// What each server costs.
pub(super) fn costs(title: &str, seconds: &[Second]) -> Plot {
    per_server("cost", title, "ms a tick", seconds, |second| second.cost_ms.clone())
}

/// How many bodies each server has.
pub(super) fn bodies(title: &str, seconds: &[Second]) -> Plot {
    per_server("bodies", title, "bodies", seconds, |second| second.hosted.iter().map(|count| *count as f64).collect())
}

fn per_server(
    name: &'static str,
    title: &str,
    unit: &str,
    seconds: &[Second],
    values: impl Fn(&Second) -> Vec<f64>,
) -> Plot {
    let mut plot = Plot::lines(name, title, "second", unit);
    let servers = seconds.first().map_or(0, |second| second.hosted.len());
    for server in 0..servers {
        let value = |second: &Second| values(second).get(server).copied().unwrap_or(0.0);
        plot = plot.with(Series::new(format!("server {server}"), over_time(seconds, value)));
    }
    plot
}

fn planes(found: &Found) -> Plot {
    let mut plot = Plot::lines("boundaries", "Where boundaries lie", "second", "metres along their axis");
    let first = found.planned.seconds.first().map(|second| second.planes.clone()).unwrap_or_default();
    for (i, (axis, _)) in first.iter().enumerate() {
        let value = |second: &Second| second.planes.get(i).map_or(0.0, |(_, at)| f64::from(*at));
        let name = format!("plane {i} along {}", ["x", "y", "z"][*axis]);
        plot = plot.with(Series::new(name, over_time(&found.planned.seconds, value)));
    }
    let place = (1..).zip(&found.places).map(|(at, place)| [f64::from(at), f64::from(place[0])]).collect();
    plot.with(Series::reference("the load along x", place))
}

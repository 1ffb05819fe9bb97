//! Three quantities that are all called speed-up, each under its own name.
//!
//! They compare servers with one server that has the same rain. A run is a row of points: bodies, and the greatest frame
//! time of any server over a few seconds. Where costs grow faster than bodies, fewer bodies cost less than their share, so
//! the ratio of costs is the largest of the three. None of them may stand beside a figure of another.

use std::fmt;

use crate::regression::Line;

/// Why a ratio has no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Missing {
    /// A fit needs at least two numbers of bodies, and frame times above zero.
    TooFewPoints,
    /// Frame time does not grow with bodies, so its coefficient says nothing.
    DoesNotGrow,
    /// The servers stay below the frame time with all bodies; the ratio is above this.
    ServersStayBelow { frame_ms: f64, above: f64 },
    /// The one server stays below the frame time with all bodies.
    OneServerStaysBelow { frame_ms: f64 },
    /// A run is above the frame time from its first point on.
    AboveFromTheStart { frame_ms: f64 },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::TooFewPoints => write!(f, "too few points"),
            Missing::DoesNotGrow => write!(f, "frame time does not grow with bodies"),
            Missing::ServersStayBelow { frame_ms, above } => {
                write!(f, "the servers never reach {frame_ms:.2} ms; above {above:.2}")
            }
            Missing::OneServerStaysBelow { frame_ms } => write!(f, "one server never reaches {frame_ms:.2} ms"),
            Missing::AboveFromTheStart { frame_ms } => {
                write!(f, "above {frame_ms:.2} ms from the first stretch on")
            }
        }
    }
}

/// The regression of the original document: log10 of the frame time on bodies.
pub(super) fn exponential(points: &[[f64; 2]]) -> Result<Line, Missing> {
    if points.iter().any(|point| point[1] <= 0.0 || point[1].is_nan()) {
        return Err(Missing::TooFewPoints);
    }
    let logs: Vec<[f64; 2]> = points.iter().map(|point| [point[0], point[1].log10()]).collect();
    let line = Line::through(&logs).ok_or(Missing::TooFewPoints)?;
    if line.slope > 0.0 { Ok(line) } else { Err(Missing::DoesNotGrow) }
}

/// The coefficient of one server by that of the servers: how many times as many bodies give the same *growth* of the
/// frame time, if that is exponential. The original document's speed-up.
pub(super) fn coefficient_ratio(one: &[[f64; 2]], servers: &[[f64; 2]]) -> Result<f64, Missing> {
    Ok(exponential(one)?.slope / exponential(servers)?.slope)
}

/// Bodies of the servers by those of one server, both at this frame time, as measured and without any fit.
pub(super) fn capacity_ratio(one: &[[f64; 2]], servers: &[[f64; 2]], frame_ms: f64) -> Result<f64, Missing> {
    let (one, servers) = (rising(one), rising(servers));
    let alone = bodies_at(&one, frame_ms).map_err(|end| match end {
        End::Above => Missing::AboveFromTheStart { frame_ms },
        End::Below => Missing::OneServerStaysBelow { frame_ms },
    })?;
    let shared = bodies_at(&servers, frame_ms).map_err(|end| match end {
        End::Above => Missing::AboveFromTheStart { frame_ms },
        End::Below => {
            let most = servers.last().map_or(0.0, |point| point[0]);
            Missing::ServersStayBelow { frame_ms, above: most / alone }
        }
    })?;
    Ok(shared / alone)
}

/// The greatest frame time that both runs reach, milliseconds.
pub(super) fn common_frame_ms(one: &[[f64; 2]], servers: &[[f64; 2]]) -> Option<f64> {
    Some(rising(one).last()?[1].min(rising(servers).last()?[1]))
}

/// Which end of a run a frame time lies beyond.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Above,
    Below,
}

/// The most bodies at which a rising run has this frame time, between its points by the logarithm.
fn bodies_at(rising: &[[f64; 2]], frame_ms: f64) -> Result<f64, End> {
    let above = rising.iter().position(|point| point[1] > frame_ms).unwrap_or(rising.len());
    let Some(before) = above.checked_sub(1).map(|i| rising[i]) else {
        return if rising.is_empty() { Err(End::Below) } else { Err(End::Above) };
    };
    match rising.get(above) {
        Some(after) => {
            let share = (frame_ms / before[1]).ln() / (after[1] / before[1]).ln();
            Ok(before[0] + share * (after[0] - before[0]))
        }
        None if before[1] == frame_ms => Ok(before[0]),
        None => Err(End::Below),
    }
}

/// The nearest run, by least squares of the logarithm, whose frame time never falls while bodies grow: a single slow tick
/// early on must not decide at how many bodies a frame time is reached.
fn rising(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sorted: Vec<[f64; 2]> = points.iter().copied().filter(|point| point[1] > 0.0).collect();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]));
    // Neighbours that fall are pooled into their mean until none does: (sum, count) of each pool.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for point in &sorted {
        let mut pool = (point[1].ln(), 1);
        while let Some(last) = pools.pop_if(|last| last.0 / last.1 as f64 >= pool.0 / pool.1 as f64) {
            pool = (pool.0 + last.0, pool.1 + last.1);
        }
        pools.push(pool);
    }
    let level = |(sum, count): &(f64, usize)| std::iter::repeat_n((sum / *count as f64).exp(), *count);
    sorted.iter().zip(pools.iter().flat_map(level)).map(|(point, ms)| [point[0], ms]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `first_ms * 10^(bodies * per_body)` at 12 numbers of bodies up to 9,600.
    fn exponential_run(first_ms: f64, per_body: f64) -> Vec<[f64; 2]> {
        (1..=12).map(|i| 800.0 * f64::from(i)).map(|n| [n, first_ms * 10_f64.powf(n * per_body)]).collect()
    }

    /// `(bodies / unit)^power` at the same numbers.
    fn power_run(unit: f64, power: f64) -> Vec<[f64; 2]> {
        (1..=12).map(|i| 800.0 * f64::from(i)).map(|n| [n, (n / unit).powf(power)]).collect()
    }

    fn close(value: Result<f64, Missing>, expected: f64) {
        let value = value.unwrap();
        assert!((value - expected).abs() < 0.01 * expected, "{value} instead of {expected}");
    }

    #[test]
    fn with_exponential_costs_the_coefficient_is_the_capacity() {
        // Four times as many bodies at every frame time, so the costs at 9,600 bodies are far more than four to one.
        let (one, four) = (exponential_run(1.0, 2e-4), exponential_run(1.0, 5e-5));
        close(coefficient_ratio(&one, &four), 4.0);
        assert!((common_frame_ms(&one, &four).unwrap() - 10_f64.powf(0.48)).abs() < 1e-9);
        close(capacity_ratio(&one, &four, 3.0), 4.0);
        assert!(one[11][1] / four[11][1] > 20.0);
    }

    #[test]
    fn a_constant_part_of_the_frame_time_tells_coefficient_and_capacity_apart() {
        // Twice as many bodies for the same growth, but every frame costs half as much again: fewer at equal frame time.
        let (one, two) = (exponential_run(1.0, 2e-4), exponential_run(1.5, 1e-4));
        close(coefficient_ratio(&one, &two), 2.0);
        let bodies = |first: f64, per_body: f64| (5.0_f64.log10() - first.log10()) / per_body;
        close(capacity_ratio(&one, &two, 5.0), bodies(1.5, 1e-4) / bodies(1.0, 2e-4));
    }

    #[test]
    fn with_costs_that_grow_by_a_power_capacity_and_cost_differ() {
        // Each of two servers has half of the bodies: twice the capacity, and 2^1.5 by cost at equal bodies.
        let (one, two) = (power_run(400.0, 1.5), power_run(800.0, 1.5));
        let at = common_frame_ms(&one, &two).unwrap();
        close(capacity_ratio(&one, &two, at), 2.0);
        let cost = one[11][1] / two[11][1];
        assert!((cost - 2.0_f64.powf(1.5)).abs() < 1e-9);
    }

    #[test]
    fn what_the_ranges_do_not_tell_is_said() {
        let (one, eight) = (power_run(400.0, 1.2), power_run(3_200.0, 1.2));
        let missing = capacity_ratio(&one, &eight, 16.67).unwrap_err();
        let Missing::ServersStayBelow { above, .. } = missing else { panic!("{missing:?}") };
        let alone = 400.0 * 16.67_f64.powf(1.0 / 1.2);
        assert!((above - 9_600.0 / alone).abs() < 0.02, "{above}");
        assert!(missing.to_string().contains("never reach 16.67 ms"));
        let idle = power_run(1e5, 1.0);
        assert_eq!(capacity_ratio(&idle, &eight, 16.67), Err(Missing::OneServerStaysBelow { frame_ms: 16.67 }));
        assert_eq!(capacity_ratio(&one, &eight, 0.01), Err(Missing::AboveFromTheStart { frame_ms: 0.01 }));
        assert_eq!(
            coefficient_ratio(&one, &one.iter().rev().map(|p| [9_600.0 - p[0], p[1]]).collect::<Vec<_>>()),
            Err(Missing::DoesNotGrow)
        );
        assert_eq!(coefficient_ratio(&one, &one[..1]), Err(Missing::TooFewPoints));
        assert_eq!(coefficient_ratio(&one, &[[1.0, 0.0], [2.0, 1.0]]), Err(Missing::TooFewPoints));
        assert_eq!(common_frame_ms(&one, &[]), None);
    }

    #[test]
    fn a_single_slow_tick_does_not_decide_the_capacity() {
        let (mut one, two) = (power_run(400.0, 1.5), power_run(800.0, 1.5));
        one[1][1] = 40.0;
        let rising = rising(&one);
        assert!(rising.windows(2).all(|pair| pair[0][1] <= pair[1][1]), "{rising:?}");
        let ratio = capacity_ratio(&one, &two, 30.0).unwrap();
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
    }
}

//! Whether pendulums swing as on one server: as far, and as fast.

use nimbus_model::Nid;

use super::watch::Record;

/// How free pendulums swing, compared with one server; the worst of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Swings {
    pub(super) amplitude_percent: f64,
    pub(super) period_percent: f64,
}

impl Swings {
    pub(super) fn compare(pendulums: &[Nid], record: &Record, control: &Record) -> Swings {
        let mut worst = Swings { amplitude_percent: 0.0, period_percent: 0.0 };
        for nid in pendulums {
            let of = |record: &Record| record.swings.get(nid).and_then(|places| swing(places));
            let (here, there) = (of(record), of(control));
            let error = |pick: fn((f64, f64)) -> f64| match (here, there) {
                (Some(here), Some(there)) => 100.0 * (pick(here) / pick(there) - 1.0).abs(),
                // It is lost, or does not swing any more.
                _ => f64::NAN,
            };
            worst.amplitude_percent = greater(worst.amplitude_percent, error(|(amplitude, _)| amplitude));
            worst.period_percent = greater(worst.period_percent, error(|(_, period)| period));
        }
        worst
    }

    /// The greater of the two errors; not a number when a pendulum does not swing.
    pub(super) fn worst_percent(&self) -> f64 {
        greater(self.amplitude_percent, self.period_percent)
    }
}

fn greater(one: f64, two: f64) -> f64 {
    if one.is_nan() || two.is_nan() { f64::NAN } else { one.max(two) }
}

/// Amplitude in metres and period in ticks of a pendulum by its places along x. The amplitude is that of the second half,
/// by when errors have added up; the period is the mean over all swings.
fn swing(places: &[(u64, f64)]) -> Option<(f64, f64)> {
    let late = &places[places.len() / 2..];
    let most = late.iter().map(|(_, x)| *x).fold(f64::NEG_INFINITY, f64::max);
    let least = late.iter().map(|(_, x)| *x).fold(f64::INFINITY, f64::min);
    let middle = (most + least) / 2.0;
    let upwards = places.windows(2).filter(|pair| pair[0].1 < middle && pair[1].1 >= middle);
    let times: Vec<f64> = upwards
        .map(|pair| {
            let ((from, low), (to, high)) = (pair[0], pair[1]);
            from as f64 + (to - from) as f64 * (middle - low) / (high - low)
        })
        .collect();
    let period = (times.last()? - times.first()?) / (times.len() - 1) as f64;
    (times.len() > 1).then_some(((most - least) / 2.0, period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sine_has_the_amplitude_and_period_it_was_made_with() {
        let places: Vec<(u64, f64)> = (0..1_000).map(|t| (t, 2.0 + 1.5 * (t as f64 / 40.0).sin())).collect();
        let (amplitude, period) = swing(&places).unwrap();
        assert!((amplitude - 1.5).abs() < 1e-3, "{amplitude}");
        assert!((period / (40.0 * std::f64::consts::TAU) - 1.0).abs() < 1e-3, "{period}");
    }

    #[test]
    fn what_hangs_still_does_not_swing() {
        assert_eq!(swing(&[(1, 0.5), (2, 0.5), (3, 0.5)]), None);
        assert_eq!(swing(&[]), None);
    }
}

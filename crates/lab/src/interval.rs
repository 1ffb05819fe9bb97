//! The mean of repeated measurements, and the interval that has it with 95 % confidence.

/// A mean and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// Arithmetic mean.
    pub(crate) mean: f64,
    /// Half the width of the two-sided 95 % interval by Student's t; none for a single measurement.
    pub(crate) half_width: Option<f64>,
}

impl Interval {
    /// The interval of these measurements, which are taken to be independent; none without any.
    pub(crate) fn of(values: &[f64]) -> Option<Interval> {
        let n = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let half_width = (values.len() > 1).then(|| {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
            student_t_975(values.len() - 1) * (variance / n).sqrt()
        });
        Some(Interval { mean, half_width })
    }

    /// The lower end.
    pub(crate) fn low(&self) -> Option<f64> {
        self.half_width.map(|half| self.mean - half)
    }

    /// The upper end.
    pub(crate) fn high(&self) -> Option<f64> {
        self.half_width.map(|half| self.mean + half)
    }

    /// The mean, with the interval where there is one.
    pub(crate) fn words(&self) -> String {
        match (self.low(), self.high()) {
            (Some(low), Some(high)) => format!("{:.2} ({low:.2} to {high:.2})", self.mean),
            _ => format!("{:.2}", self.mean),
        }
    }
}

/// Quantiles for 1 to 30 degrees of freedom.
const STUDENT_T_975: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
    2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484,
    2.0452, 2.0423,
];

/// What Student's t stays below with a probability of 97.5 %. Beyond the table by the expansion around the normal
/// quantile, which is right to four digits there.
fn student_t_975(degrees: usize) -> f64 {
    if let Some(known) = degrees.checked_sub(1).and_then(|i| STUDENT_T_975.get(i)) {
        return *known;
    }
    let (z, v) = (1.959_964_f64, degrees as f64);
    let second = (z.powi(3) + z) / 4.0;
    let third = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    z + second / v + third / v.powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_a_textbook() {
        // Mean 5, standard deviation 2.138, 8 values: 5 +- 2.3646 * 2.138 / sqrt(8).
        let interval = Interval::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((interval.mean - 5.0).abs() < 1e-12);
        assert!((interval.half_width.unwrap() - 1.7875).abs() < 1e-3, "{interval:?}");
        assert!((interval.low().unwrap() + interval.high().unwrap() - 10.0).abs() < 1e-12);
        assert_eq!(interval.words(), "5.00 (3.21 to 6.79)");
    }

    #[test]
    fn one_measurement_has_no_interval_and_none_has_no_mean() {
        assert_eq!(Interval::of(&[3.0]), Some(Interval { mean: 3.0, half_width: None }));
        assert_eq!(Interval::of(&[3.0]).unwrap().words(), "3.00");
        assert_eq!(Interval::of(&[]), None);
    }

    #[test]
    fn quantiles_go_on_smoothly_beyond_the_table() {
        for (degrees, expected) in [(1, 12.7062), (9, 2.2622), (30, 2.0423), (31, 2.0395), (60, 2.0003), (120, 1.9799)]
        {
            assert!((student_t_975(degrees) - expected).abs() < 1e-4, "{degrees}: {}", student_t_975(degrees));
        }
        assert!((1..200).all(|v| student_t_975(v) > student_t_975(v + 1)));
    }

    #[test]
    fn nineteen_of_twenty_intervals_have_the_true_mean() {
        // Sums of twelve uniform numbers are close to normal; the generator is a plain congruential one.
        let mut state = 12_345_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let trials = 4_000;
        let inside = (0..trials)
            .filter(|_| {
                let values: Vec<f64> = (0..5).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect();
                let interval = Interval::of(&values).unwrap();
                interval.low().unwrap() < 0.0 && interval.high().unwrap() > 0.0
            })
            .count();
        let share = inside as f64 / f64::from(trials);
        assert!((0.94..0.96).contains(&share), "{share}");
    }
}

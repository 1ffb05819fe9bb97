//! The range of an axis and the round numbers along it.

/// A range and where its ticks are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

/// About how many ticks an axis has.
const TICKS: f64 = 7.0;

impl Axis {
    /// An axis that has room for all values that are numbers; `whole` widens it to full ticks.
    pub(super) fn around(values: impl Iterator<Item = f64>, whole: bool) -> Axis {
        let (mut low, mut high, mut counts) = (f64::INFINITY, f64::NEG_INFINITY, true);
        for value in values.filter(|v| v.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
            counts &= value.fract() == 0.0;
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if high - low < 1e-9 * high.abs().max(1.0) {
            (low, high) = (low - 0.5, high + 0.5);
        }
        let rough = (high - low) / TICKS;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(power);
        // Between two counts there is nothing to point at.
        let step = if counts { step.max(1.0) } else { step };
        if whole {
            (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        }
        Axis { low, high, step }
    }

    /// Where a value lies between the two ends, 0 to 1.
    pub(super) fn share(&self, value: f64) -> f32 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0) as f32
    }

    /// The ticks, each with its label.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.low / self.step - 1e-6).ceil() as i64;
        let last = (self.high / self.step + 1e-6).floor() as i64;
        let decimals = (-self.step.log10().floor()).clamp(0.0, 6.0) as usize;
        (first..=last)
            .map(|i| {
                let value = i as f64 * self.step;
                (value, format!("{value:.decimals$}"))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let labels = |low: f64, high: f64| -> Vec<String> {
            Axis::around([low, high].into_iter(), true).ticks().into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(0.0, 9.3), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(0.0, 0.11), ["0.00", "0.02", "0.04", "0.06", "0.08", "0.10", "0.12"]);
        assert_eq!(labels(1.0, 4.0), ["1", "2", "3", "4"]);
        assert_eq!(labels(-3.0, 3.0), ["-3", "-2", "-1", "0", "1", "2", "3"]);
    }
}

//! Least squares: a straight line through points, and the level that a rising curve tends to.

/// A straight line and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// Where it is at 0.
    pub(crate) intercept: f64,
    /// How much it rises per unit.
    pub(crate) slope: f64,
    /// Share of the variance that the line explains, 0 to 1.
    pub(crate) r_squared: f64,
}

impl Line {
    /// The line with the least squared error; none without two places that differ.
    pub(crate) fn through(points: &[[f64; 2]]) -> Option<Line> {
        let n = points.len() as f64;
        let mean = |i: usize| points.iter().map(|point| point[i]).sum::<f64>() / n;
        let (x, y) = (mean(0), mean(1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p[0] - x, p[1] - y)).sum::<f64>();
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        if points.len() < 2 || !xx.is_normal() || !xy.is_finite() {
            return None;
        }
        let slope = xy / xx;
        let r_squared = if yy > 0.0 { (xy * xy / (xx * yy)).min(1.0) } else { 1.0 };
        Some(Line { intercept: y - slope * x, slope, r_squared })
    }

    fn squared_error(&self, points: &[[f64; 2]]) -> f64 {
        points.iter().map(|p| (p[1] - self.intercept - self.slope * p[0]).powi(2)).sum()
    }
}

/// Rates that are tried between the two ends, evenly in their logarithm.
const RATES: u32 = 400;
/// At this rate, times the range of the points, a curve bends by a twentieth: it cannot be told from a straight line.
const STRAIGHT: f64 = 0.1;
/// At this rate, times the range, a curve has reached its level within the first few points.
const AT_ONCE: f64 = 50.0;

/// The level of `level - rest * exp(-rate * x)` with the least squared error. None when there are fewer than four points,
/// when the best curve is as good as straight or falls: then the points tend to nothing that they could tell.
pub(crate) fn asymptote(points: &[[f64; 2]]) -> Option<f64> {
    let (low, high) =
        points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p[0]), high.max(p[0])));
    let range = high - low;
    if points.len() < 4 || !range.is_normal() {
        return None;
    }
    let fit = |i: u32| {
        let rate = STRAIGHT * (AT_ONCE / STRAIGHT).powf(f64::from(i) / f64::from(RATES)) / range;
        let bent: Vec<[f64; 2]> = points.iter().map(|p| [(-rate * (p[0] - low)).exp(), p[1]]).collect();
        let line = Line::through(&bent)?;
        Some((i, line, line.squared_error(&bent)))
    };
    let (i, line, _) = (0..=RATES).filter_map(fit).min_by(|a, b| a.2.total_cmp(&b.2))?;
    (i > 0 && line.slope < 0.0).then_some(line.intercept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let points: Vec<[f64; 2]> = (0..12).map(|i| [f64::from(i), 3.0 - 0.5 * f64::from(i)]).collect();
        let line = Line::through(&points).unwrap();
        assert!((line.intercept - 3.0).abs() < 1e-12 && (line.slope + 0.5).abs() < 1e-12);
        assert!((line.r_squared - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_known_regression_is_reproduced() {
        // Anscombe's first set: y = 3.0001 + 0.5001 x, R squared 0.6665.
        let xs = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let ys = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<[f64; 2]> = xs.into_iter().zip(ys).map(|(x, y)| [x, y]).collect();
        let line = Line::through(&points).unwrap();
        assert!((line.intercept - 3.0001).abs() < 1e-4 && (line.slope - 0.5001).abs() < 1e-4, "{line:?}");
        assert!((line.r_squared - 0.6665).abs() < 1e-4, "{line:?}");
    }

    #[test]
    fn points_above_each_other_have_no_line() {
        assert_eq!(Line::through(&[]), None);
        assert_eq!(Line::through(&[[1.0, 1.0]]), None);
        assert_eq!(Line::through(&[[1.0, 1.0], [1.0, 2.0]]), None);
        assert_eq!(Line::through(&[[1.0, 1.0], [2.0, f64::NAN]]), None);
    }

    #[test]
    fn the_level_of_a_saturating_curve_is_found() {
        let curve = |x: f64| 4.26 - 4.0 * (-0.4 * x).exp();
        let points: Vec<[f64; 2]> = (1..=10).map(|x| [f64::from(x), curve(f64::from(x))]).collect();
        assert!((asymptote(&points).unwrap() - 4.26).abs() < 0.01);
    }

    #[test]
    fn what_goes_on_rising_tends_to_nothing() {
        let along = |f: fn(f64) -> f64| (1..=10).map(|x| [f64::from(x), f(f64::from(x))]).collect::<Vec<_>>();
        assert_eq!(asymptote(&along(|x| 0.9 * x)), None);
        assert_eq!(asymptote(&along(|x| x.powf(1.2))), None);
        assert_eq!(asymptote(&along(|x| (-0.4 * x).exp())), None, "it falls");
        assert_eq!(asymptote(&along(|x| x)[..3]), None, "too few points");
    }
}

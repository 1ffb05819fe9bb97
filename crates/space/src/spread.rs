//! Where bodies and what they cost lie along one axis, in a size that does not depend on how many there are.

use serde::{Deserialize, Serialize};

/// Parts that a [`Spread`] divides its range into.
pub const BINS: usize = 64;

/// This share of the bodies at either end, 1 / n, may lie outside the range; they count at its ends. Otherwise one body
/// that flew away would make all bins too wide to tell anything.
const TAIL: usize = 128;

/// What lies in one part of the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bin {
    bodies: u32,
    weight: u32,
}

/// Where bodies lie along one axis, and how much each part of the axis weighs. Servers tell it, a planner reads it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Spread {
    low: f32,
    high: f32,
    bins: Vec<Bin>,
    bodies: u64,
    weight: u64,
}

#[derive(Serialize, Deserialize)]
struct Written {
    low: f32,
    high: f32,
    bins: Vec<Bin>,
}

/// Why a spread that arrived from outside is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpreadError {
    /// The number of bins is neither zero nor [`BINS`].
    #[error("a spread has {BINS} bins or none, not {0}")]
    Bins(usize),
    /// The range is not finite, or inverted.
    #[error("the range of a spread must be finite and not inverted")]
    Range,
}

impl TryFrom<Written> for Spread {
    type Error = SpreadError;

    fn try_from(written: Written) -> Result<Spread, SpreadError> {
        let Written { low, high, bins } = written;
        if !bins.is_empty() && bins.len() != BINS {
            return Err(SpreadError::Bins(bins.len()));
        }
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(SpreadError::Range);
        }
        let bodies = bins.iter().map(|bin| u64::from(bin.bodies)).sum();
        let weight = bins.iter().map(|bin| u64::from(bin.weight)).sum();
        Ok(Spread { low, high, bins, bodies, weight })
    }
}

impl From<Spread> for Written {
    fn from(spread: Spread) -> Written {
        Written { low: spread.low, high: spread.high, bins: spread.bins }
    }
}

impl Spread {
    /// The spread of some bodies: where each lies and what it weighs. Positions that are not finite are left out. The
    /// list comes back in another order.
    pub fn of(bodies: &mut Vec<(f32, u32)>) -> Spread {
        bodies.retain(|(at, _)| at.is_finite());
        if bodies.is_empty() {
            return Spread::default();
        }
        let (tail, last) = (bodies.len() / TAIL, bodies.len() - 1);
        let low = bodies.select_nth_unstable_by(tail, |a, b| a.0.total_cmp(&b.0)).1.0;
        let high = bodies.select_nth_unstable_by(last - tail, |a, b| a.0.total_cmp(&b.0)).1.0;
        let mut bins = vec![Bin::default(); BINS];
        let (mut count, mut sum) = (0, 0);
        for (at, weight) in bodies {
            let share = if high > low { (*at - low) / (high - low) } else { 0.5 };
            let bin = &mut bins[((share * BINS as f32) as usize).min(BINS - 1)];
            bin.bodies = bin.bodies.saturating_add(1);
            bin.weight = bin.weight.saturating_add(*weight);
            count += 1;
            sum += u64::from(*weight);
        }
        Spread { low, high, bins, bodies: count, weight: sum }
    }

    /// From where to where there is something; `None` when there is nothing.
    pub fn range(&self) -> Option<(f32, f32)> {
        (self.bodies > 0).then_some((self.low, self.high))
    }

    /// How many bodies there are.
    pub fn bodies(&self) -> u64 {
        self.bodies
    }

    /// The share of the whole weight that lies between two places, from 0 to 1. Within a bin it is taken to be even.
    pub fn share_between(&self, from: f32, to: f32) -> f64 {
        let weight = self.sum_below(to, |bin| bin.weight) - self.sum_below(from, |bin| bin.weight);
        if self.weight == 0 { 0.0 } else { (weight / self.weight as f64).clamp(0.0, 1.0) }
    }

    /// About how many bodies lie between two places.
    pub fn bodies_between(&self, from: f32, to: f32) -> f64 {
        (self.sum_below(to, |bin| bin.bodies) - self.sum_below(from, |bin| bin.bodies)).max(0.0)
    }

    fn sum_below(&self, at: f32, of: fn(&Bin) -> u32) -> f64 {
        if at <= self.low || at.is_nan() {
            return 0.0;
        }
        if at > self.high {
            return self.bins.iter().map(|bin| f64::from(of(bin))).sum();
        }
        let place = f64::from(at - self.low) / f64::from((self.high - self.low).max(f32::MIN_POSITIVE)) * BINS as f64;
        let whole = (place as usize).min(self.bins.len());
        let below: f64 = self.bins[..whole].iter().map(|bin| f64::from(of(bin))).sum();
        below + self.bins.get(whole).map_or(0.0, |bin| f64::from(of(bin)) * (place - whole as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(count: u32) -> Spread {
        Spread::of(&mut (0..count).map(|i| (i as f32 * 100.0 / (count - 1) as f32, 3)).collect())
    }

    #[test]
    fn shares_follow_the_places() {
        let spread = even(2_001);
        assert_eq!(spread.bodies(), 2_001);
        assert!((spread.share_between(0.0, 50.0) - 0.5).abs() < 0.01);
        assert!((spread.bodies_between(25.0, 50.0) - 500.0).abs() < 12.0);
        assert_eq!(spread.share_between(f32::NEG_INFINITY, f32::INFINITY), 1.0);
        assert_eq!(spread.share_between(60.0, 40.0), 0.0);
    }

    #[test]
    fn one_body_far_away_does_not_blur_the_rest() {
        let mut bodies: Vec<(f32, u32)> = (0..1_000).map(|i| (i as f32 * 0.1, 1)).collect();
        bodies.push((4_000.0, 1));
        let spread = Spread::of(&mut bodies);
        let (_, high) = spread.range().unwrap();
        assert!(high < 101.0, "{high}");
        assert_eq!(spread.bodies(), 1_001);
    }

    #[test]
    fn nothing_and_one_place_are_fine() {
        let nothing = Spread::of(&mut vec![(f32::NAN, 1)]);
        assert_eq!((nothing.range(), nothing.share_between(-1.0, 1.0)), (None, 0.0));
        let place = Spread::of(&mut vec![(2.0, 1); 10]);
        assert_eq!((place.bodies_between(1.0, 3.0), place.bodies_between(2.5, 3.0)), (10.0, 0.0));
    }

    #[test]
    fn what_arrives_is_checked() {
        let spread = even(100);
        let bytes = serde_json::to_string(&spread).unwrap();
        assert_eq!(serde_json::from_str::<Spread>(&bytes).unwrap(), spread);
        let forged = |low, high, bins| Spread::try_from(Written { low, high, bins: vec![Bin::default(); bins] });
        assert_eq!(forged(0.0, 1.0, 3), Err(SpreadError::Bins(3)));
        assert_eq!(forged(1.0, 0.0, BINS), Err(SpreadError::Range));
        assert_eq!(forged(0.0, f32::NAN, BINS), Err(SpreadError::Range));
    }
}

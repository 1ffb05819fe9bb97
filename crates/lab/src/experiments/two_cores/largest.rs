//! Finding the largest scale at which something still fits, with few tries.

use super::measure::Tried;
use crate::experiment::LabError;

/// Scales that scenes are made for.
const SCALES: [f32; 2] = [0.05, 4.0];
/// No finer than this: the next scale is so little larger that noise decides.
const FINE: f32 = 1.03;

/// How to look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// The scale to begin with.
    pub(super) first: f32,
    /// By which factor to go up or down until the answer lies between two tries; then they are halved.
    pub(super) step: f32,
    /// Most tries.
    pub(super) tries: usize,
}

/// Everything that was tried, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) tried: Vec<(f32, Tried)>,
}

impl Found {
    /// Bodies of the largest rain that fitted; none when none did.
    pub(super) fn bodies(&self) -> u64 {
        self.tried.iter().filter(|(_, one)| one.fits()).map(|(_, one)| one.bodies).max().unwrap_or(0)
    }
}

/// Tries scales until the largest that fits is known well enough.
pub(super) fn largest(
    search: Search,
    tell: &mut dyn FnMut(f32),
    mut attempt: impl FnMut(f32) -> Result<Tried, LabError>,
) -> Result<Found, LabError> {
    let mut found = Found::default();
    let (mut fits, mut fails): (Option<f32>, Option<f32>) = (None, None);
    let mut scale = search.first;
    for done in 0..search.tries {
        let one = attempt(scale)?;
        let side = if one.fits() { &mut fits } else { &mut fails };
        *side = Some(scale);
        found.tried.push((scale, one));
        tell((done + 1) as f32 / search.tries as f32);
        scale = match (fits, fails) {
            (Some(low), Some(high)) if high <= low * FINE => break,
            (Some(low), Some(high)) => (low * high).sqrt(),
            (Some(low), None) => low * search.step,
            (None, Some(high)) => high / search.step,
            (None, None) => break,
        };
        if !(SCALES[0]..=SCALES[1]).contains(&scale) {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search_for(limit: f32, tries: usize) -> Found {
        let search = Search { first: 0.5, step: 1.25, tries };
        let attempt = |scale: f32| {
            let p99_ms = if scale <= limit { 10.0 } else { 20.0 };
            Ok(Tried { bodies: (scale * 9_600.0) as u64, p50_ms: 1.0, p99_ms, ticks: 100, ticks_lost: 0 })
        };
        largest(search, &mut |_| {}, attempt).unwrap()
    }

    #[test]
    fn the_limit_is_found_from_either_side() {
        for limit in [0.2_f32, 0.49, 0.5, 0.77, 1.4] {
            let bodies = search_for(limit, 12).bodies() as f32 / 9_600.0;
            assert!(bodies <= limit && bodies * 1.06 >= limit, "{bodies} for {limit}");
        }
    }

    #[test]
    fn nothing_fits_and_everything_fits() {
        assert_eq!(search_for(0.0, 40).bodies(), 0);
        let all = search_for(9.0, 40);
        assert!(all.tried.len() < 12 && all.tried.iter().all(|(scale, _)| *scale <= SCALES[1]));
    }
}

//! Where the load goes: a plane is put where its sides will be equally dear while the next partition is in force, and not
//! where they were when somebody measured.
//!
//! For each plane the place that would make its sides even is noted whenever one is planned. How fast that place wanders
//! is how fast the load does. Two slopes in a row have to agree on the direction, and the lesser of them counts: noise
//! points to either side in turn and moves nothing.

use nimbus_model::Tick;
use std::collections::BTreeMap;

/// Slopes over less time are noise, over more they are history. Ticks.
const SPAN_MIN: u64 = 40;
const SPAN_MAX: u64 = 240;

/// What is known of one plane.
#[derive(Clone, Copy, Debug)]
struct Wandering {
    /// Where its sides were even, and when.
    place: f32,
    at: Tick,
    /// The last two slopes, metres a tick; the latter is the newer one.
    slopes: [Option<f32>; 2],
}

/// What is known of the planes of a partition, by their nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Trends(BTreeMap<usize, Wandering>);

impl Trends {
    /// Notes that the sides of a plane would be even at a place now.
    pub(super) fn note(&mut self, index: usize, place: f32, now: Tick) {
        let wandering = self.0.entry(index).or_insert(Wandering { place, at: now, slopes: [None; 2] });
        let span = now.since(wandering.at);
        if span > SPAN_MAX {
            *wandering = Wandering { place, at: now, slopes: [None; 2] };
        } else if span >= SPAN_MIN {
            let slope = (place - wandering.place) / span as f32;
            *wandering = Wandering { place, at: now, slopes: [wandering.slopes[1], Some(slope)] };
        }
    }

    /// How far the place of a plane will wander within some ticks, metres.
    pub(super) fn ahead(&self, index: usize, ticks: f32) -> f32 {
        match self.0.get(&index).map(|wandering| wandering.slopes) {
            Some([Some(older), Some(newer)]) if older * newer > 0.0 => {
                older.abs().min(newer.abs()).copysign(newer) * ticks
            }
            _ => 0.0,
        }
    }

    /// Planes have other names from now on.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wanders_steadily_is_expected_to_go_on() {
        let mut trends = Trends::default();
        for k in 0..4u8 {
            trends.note(3, 5.0 * f32::from(k), Tick(60 * u64::from(k)));
            assert_eq!(trends.ahead(3, 60.0), if k < 2 { 0.0 } else { 5.0 });
        }
        assert_eq!(trends.ahead(4, 60.0), 0.0, "nothing is known of another plane");
        trends.note(3, 17.0, Tick(240));
        assert!((trends.ahead(3, 60.0) - 2.0).abs() < 1e-4, "it slows down");
        trends.note(3, 500.0, Tick(2_000));
        assert_eq!(trends.ahead(3, 60.0), 0.0, "what was long ago says nothing");
    }

    #[test]
    fn what_goes_to_and_fro_goes_nowhere() {
        let mut trends = Trends::default();
        for k in 0..8u8 {
            trends.note(0, f32::from(k % 2), Tick(60 * u64::from(k)));
            assert_eq!(trends.ahead(0, 60.0), 0.0);
        }
    }
}

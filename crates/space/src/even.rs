//! Cutting space so that every region gets about as many points: the first partition of a world that goes on elsewhere, on
//! another number of servers than before.

use nimbus_model::{RegionId, Tick, Vec3};

use crate::layout::{AXIS_ORDER, LayoutError};
use crate::map::PartitionMap;
use crate::tree::{Piece, REGIONS_MAX, Tree};

impl PartitionMap {
    /// A first map of `count` regions with about as many of the points each, none narrower than `width_min` metres. Cuts
    /// are vertical. Where points lie so close together that this cannot be even, being wide enough comes first; outer
    /// regions reach to infinity, so there is always room.
    pub fn even(points: &[Vec3], count: u16, width_min: f32) -> Result<PartitionMap, LayoutError> {
        if count == 0 {
            return Err(LayoutError::NoRegions);
        }
        if usize::from(count) > REGIONS_MAX {
            return Err(LayoutError::TooManyRegions { count: u64::from(count) });
        }
        let mut points: Vec<Vec3> = points.iter().copied().filter(|point| point.is_finite()).collect();
        let mut pieces = Vec::with_capacity(2 * usize::from(count));
        let everywhere = [(f32::NEG_INFINITY, f32::INFINITY); 3];
        share_out(&mut points, 0..count, everywhere, width_min.max(1.0), &mut pieces);
        Ok(PartitionMap::with_tree(1, Tick(0), Tree::read(&pieces)?))
    }
}

/// Cuts a box for some regions: half of them on each side, and as many points as that is of all.
fn share_out(
    points: &mut [Vec3],
    regions: std::ops::Range<u16>,
    bounds: [(f32, f32); 3],
    width_min: f32,
    pieces: &mut Vec<Piece>,
) {
    let count = regions.end - regions.start;
    if count == 1 {
        pieces.push(Piece::Leaf { region: RegionId(regions.start) });
        return;
    }
    let (low_count, high_count) = (count / 2, count - count / 2);
    // Room for all regions of a side, should they be cut along the same axis.
    let room = |axis: usize| {
        let (low, high) = bounds[axis];
        (low + f32::from(low_count) * width_min, high - f32::from(high_count) * width_min)
    };
    let fits = |axis: &usize| room(*axis).0 <= room(*axis).1;
    let longest = |axis: &usize| extent(points, *axis);
    let vertical = [AXIS_ORDER[0], AXIS_ORDER[1]];
    let best = vertical.into_iter().filter(fits).max_by(|one, two| longest(one).total_cmp(&longest(two)));
    // The outermost box has room along every axis, and each cut leaves enough for all that follow along its own.
    let axis = best.unwrap_or(AXIS_ORDER[0]);
    points.sort_by(|one, two| one[axis].total_cmp(&two[axis]));
    let wanted = points.len() * usize::from(low_count) / usize::from(count);
    let between = |at: usize| Some(0.5 * (points.get(at.checked_sub(1)?)?[axis] + points.get(at)?[axis]));
    let (least, most) = room(axis);
    let at = between(wanted).unwrap_or(0.0).max(least).min(most.max(least));
    let split = points.partition_point(|point| point[axis] < at);
    let (low, high) = points.split_at_mut(split);
    let (mut below, mut above) = (bounds, bounds);
    (below[axis].1, above[axis].0) = (at, at);
    let middle = regions.start + low_count;
    pieces.push(Piece::Cut { axis: axis as u8, at });
    share_out(low, regions.start..middle, below, width_min, pieces);
    share_out(high, middle..regions.end, above, width_min, pieces);
}

/// How far points lie apart along an axis, outliers left out.
fn extent(points: &[Vec3], axis: usize) -> f32 {
    let mut places: Vec<f32> = points.iter().map(|point| point[axis]).collect();
    places.sort_by(f32::total_cmp);
    let at = |part: usize| places.get((places.len().saturating_sub(1)) * part / 20).copied().unwrap_or(0.0);
    at(19) - at(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Rng;

    fn counts(map: &PartitionMap, points: &[Vec3]) -> Vec<usize> {
        map.regions()
            .iter()
            .map(|region| points.iter().filter(|point| map.region_at(**point) == *region).count())
            .collect()
    }

    #[test]
    fn points_are_shared_out_evenly_whatever_the_number_of_regions() {
        let mut rng = Rng::new(3);
        let mut along = |half: f32| (rng.unit() * 2.0 - 1.0) * half;
        let points: Vec<Vec3> = (0..4_000).map(|_| Vec3::new(along(300.0), along(2.0), along(200.0))).collect();
        for count in [1, 2, 3, 4, 5, 8, 16] {
            let map = PartitionMap::even(&points, count, 40.0).unwrap();
            assert_eq!(map.regions().len(), usize::from(count));
            assert!(map.narrowest() >= 40.0, "{count}: {} m", map.narrowest());
            let shares = counts(&map, &points);
            let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
            assert!(most - least <= 2 + 4_000 / 100, "{count}: {shares:?}");
        }
    }

    #[test]
    fn a_heap_is_cut_as_thin_as_allowed_and_no_thinner() {
        let points = vec![Vec3::new(5.0, 0.0, 5.0); 100];
        for count in [2, 4, 8, 13] {
            let map = PartitionMap::even(&points, count, 30.0).unwrap();
            assert!(map.narrowest() >= 30.0 - 1e-3, "{count}: {} m", map.narrowest());
            assert_eq!(map.regions().len(), usize::from(count));
        }
        assert_eq!(PartitionMap::even(&[], 4, 30.0).unwrap().regions().len(), 4, "also without any points");
        assert_eq!(PartitionMap::even(&points, 0, 30.0), Err(LayoutError::NoRegions));
        assert!(PartitionMap::even(&points, 2_000, 30.0).is_err());
    }
}

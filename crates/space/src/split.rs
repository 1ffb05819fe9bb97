//! Regions that come and go: a leaf is shared with a region that had none, or two leaves become one.
//!
//! A region without leaves is idle: it owns no place, and what it still hosts goes home by lookup. So regions need not be
//! made or retired while a world runs; they are given a place, or lose it.

use nimbus_model::{Aabb, RegionId, Tick};
use thiserror::Error;

use crate::map::{Part, PartitionMap};
use crate::ranks::Ranks;
use crate::tree::{MapError, Piece, Tree};

/// Why a leaf cannot be split, or two leaves cannot be merged.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SplitError {
    /// The index does not name a leaf.
    #[error("node {index} is not a leaf of this map")]
    NotALeaf {
        /// What was asked for.
        index: usize,
    },
    /// The index does not name a cut with a leaf on each side.
    #[error("node {index} is not a cut between two leaves")]
    NotAPair {
        /// What was asked for.
        index: usize,
    },
    /// The region that should get a place has one.
    #[error("{region} has a place already")]
    NotIdle {
        /// The region.
        region: RegionId,
    },
    /// A side would be thinner than the least width, or the plane lies outside the leaf.
    #[error("a cut at {at} would leave a side {width} m wide; the least is {width_min} m")]
    TooThin {
        /// What was asked for.
        at: f32,
        /// How wide the thinner side would be; negative when the plane lies outside.
        width: f32,
        /// How wide it must be.
        width_min: f32,
    },
    /// The map would be too large, or the axis does not exist.
    #[error(transparent)]
    Map(#[from] MapError),
}

impl PartitionMap {
    /// The map with a leaf cut in two, as the next map: its region keeps what lies below the plane, and `idle` gets the
    /// rest, with the rank right behind it. The order of all others stays.
    pub fn split(
        &self,
        index: usize,
        (axis, at): (usize, f32),
        idle: RegionId,
        width_min: f32,
        effective: Tick,
    ) -> Result<PartitionMap, SplitError> {
        let Some(Part::Leaf(parent)) = self.part(index) else { return Err(SplitError::NotALeaf { index }) };
        if self.regions().binary_search(&idle).is_ok() {
            return Err(SplitError::NotIdle { region: idle });
        }
        if axis > 2 {
            return Err(MapError::Axis { index, axis: u8::try_from(axis).unwrap_or(u8::MAX) }.into());
        }
        let whole = self.bounds(index).unwrap_or(Aabb::EVERYTHING);
        let width = (at - whole.min[axis]).min(whole.max[axis] - at);
        if !at.is_finite() || width < width_min.max(f32::MIN_POSITIVE) {
            return Err(SplitError::TooThin { at, width, width_min });
        }
        let mut pieces = self.pieces();
        let sides = [Piece::Cut { axis: axis as u8, at }, Piece::Leaf { region: parent }, Piece::Leaf { region: idle }];
        pieces.splice(index..=index, sides);
        let mut order = self.order();
        let behind = order.iter().position(|region| *region == parent).map_or(order.len(), |place| place + 1);
        order.insert(behind, idle);
        self.next_of(&pieces, &order, effective)
    }

    /// The map without a cut that has a leaf on each side, as the next map: the side of the lower rank gets both. The
    /// other region is idle from then on, unless it has further leaves.
    pub fn merge(&self, index: usize, effective: Tick) -> Result<PartitionMap, SplitError> {
        let (low, high) = self.pair(index).ok_or(SplitError::NotAPair { index })?;
        let stays = if self.rank(low) <= self.rank(high) { low } else { high };
        let mut pieces = self.pieces();
        pieces.splice(index..=index + 2, [Piece::Leaf { region: stays }]);
        let remains = |region: &RegionId| pieces.contains(&Piece::Leaf { region: *region });
        let order: Vec<RegionId> = self.order().into_iter().filter(remains).collect();
        self.next_of(&pieces, &order, effective)
    }

    /// The regions on both sides of a cut whose sides are leaves.
    pub fn pair(&self, index: usize) -> Option<(RegionId, RegionId)> {
        let Part::Cut { high, .. } = self.part(index)? else { return None };
        match (self.part(index + 1)?, self.part(high)?) {
            (Part::Leaf(low), Part::Leaf(high)) => Some((low, high)),
            _ => None,
        }
    }

    fn next_of(&self, pieces: &[Piece], order: &[RegionId], effective: Tick) -> Result<PartitionMap, SplitError> {
        let map = PartitionMap::with_tree(self.epoch().saturating_add(1), effective, Tree::read(pieces)?);
        let ranks = Ranks::read(map.regions(), order)?;
        Ok(map.ranked(ranks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Layout, Vec3};

    const LATER: Tick = Tick(50);

    fn ids(regions: &[RegionId]) -> Vec<u16> {
        regions.iter().map(|region| region.0).collect()
    }

    #[test]
    fn what_was_split_is_merged_again() {
        let one = PartitionMap::from_layout(&Layout::columns(1, 100.0)).unwrap();
        let two = one.split(0, (0, 5.0), RegionId(4), 20.0, LATER).unwrap();
        assert_eq!((two.epoch(), two.effective()), (2, LATER));
        assert_eq!(two.region_at(Vec3::X * 4.9), RegionId(0));
        assert_eq!(two.region_at(Vec3::X * 5.0), RegionId(4));
        let three = two.split(1, (2, -8.0), RegionId(2), 20.0, LATER).unwrap();
        assert_eq!(three.region_at(Vec3::new(-1.0, 0.0, -9.0)), RegionId(0));
        assert_eq!(three.region_at(Vec3::new(-1.0, 0.0, 9.0)), RegionId(2));
        assert_eq!(ids(&three.order()), [0, 2, 4], "right behind its parent");
        assert_eq!(three.pair(0), None);
        assert_eq!(three.pair(1), Some((RegionId(0), RegionId(2))));
        let back = three.merge(1, LATER).unwrap();
        assert_eq!((back.epoch(), ids(back.regions())), (4, vec![0, 4]));
        assert_eq!(back.cuts().collect::<Vec<_>>(), two.cuts().collect::<Vec<_>>());
        assert_eq!(ids(back.merge(0, LATER).unwrap().regions()), [0]);
    }

    #[test]
    fn the_order_of_others_stays_whoever_comes_and_goes() {
        let three = PartitionMap::from_layout(&Layout::columns(3, 100.0)).unwrap();
        let turned = three.with_ranks(&[2, 1, 0].map(RegionId), LATER).unwrap();
        let leaf = (0..).find(|index| turned.part(*index) == Some(Part::Leaf(RegionId(1)))).unwrap();
        let four = turned.split(leaf, (2, 0.0), RegionId(9), 20.0, LATER).unwrap();
        assert_eq!(ids(&four.order()), [2, 1, 9, 0]);
        assert_eq!(ids(&four.merge(leaf, LATER).unwrap().order()), [2, 1, 0]);
        let swapped = four.with_ranks(&[9, 2, 1, 0].map(RegionId), LATER).unwrap();
        assert_eq!(ids(&swapped.merge(leaf, LATER).unwrap().order()), [9, 2, 0], "the lower rank stays");
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        let two = PartitionMap::from_layout(&Layout::columns(2, 100.0)).unwrap();
        let split = |index, at, region| two.split(index, (0, at), RegionId(region), 20.0, LATER).unwrap_err();
        assert_eq!(split(0, 50.0, 7), SplitError::NotALeaf { index: 0 });
        assert_eq!(split(9, 50.0, 7), SplitError::NotALeaf { index: 9 });
        assert_eq!(split(2, 50.0, 0), SplitError::NotIdle { region: RegionId(0) });
        assert_eq!(split(2, 15.0, 7), SplitError::TooThin { at: 15.0, width: 15.0, width_min: 20.0 });
        assert_eq!(split(2, -15.0, 7), SplitError::TooThin { at: -15.0, width: -15.0, width_min: 20.0 });
        assert!(matches!(split(2, f32::NAN, 7), SplitError::TooThin { .. }));
        assert!(matches!(two.split(2, (3, 50.0), RegionId(7), 20.0, LATER), Err(SplitError::Map(_))));
        assert_eq!(two.merge(1, LATER).unwrap_err(), SplitError::NotAPair { index: 1 });
        assert!(two.split(1, (0, -60.0), RegionId(7), 0.0, LATER).is_ok_and(|map| map.merge(0, LATER).is_err()));
    }
}

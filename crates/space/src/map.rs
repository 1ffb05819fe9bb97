//! The partition map: a tree, the epoch that names it, and tables derived from it.

use nimbus_model::{Aabb, Layout, RegionId, Tick, Vec3};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::layout::{self, LayoutError};
use crate::neighbours::{self, Neighbour};
use crate::ranks::Ranks;
use crate::tree::{MapError, Node, Piece, Tree, shares_point};
use crate::{Contact, distance};

/// Who has which part of space, from a named tick on.
///
/// A map states intent: where bodies should be owned. It never takes a body from its present owner. Every map that
/// exists is well-formed; one that arrives from outside is checked while it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct PartitionMap {
    epoch: u32,
    effective: Tick,
    tree: Tree,
    ranks: Ranks,
    territories: Vec<Territory>,
}

/// A plane of a map, with the box that it cuts in two. Moving it shifts load from one side to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Names the cut for [`PartitionMap::move_cut`]; moving cuts does not rename them.
    pub index: usize,
    /// 0 is x, 1 is y, 2 is z.
    pub axis: usize,
    /// Where it lies along that axis, metres.
    pub at: f32,
    /// What it cuts.
    pub bounds: Aabb,
}

/// One node of a map's tree, for who walks it from the root, which is node 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// A plane. What lies below it is the next node.
    Cut {
        /// 0 is x, 1 is y, 2 is z.
        axis: usize,
        /// Where it lies along that axis, metres.
        at: f32,
        /// The node of what lies on or above it.
        high: usize,
    },
    /// A box that a region has.
    Leaf(RegionId),
}

/// Why a cut cannot be moved there.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MoveError {
    /// The index does not name a cut.
    #[error("node {index} is not a cut of this map")]
    NotACut {
        /// What was asked for.
        index: usize,
    },
    /// The place is not inside the box that the cut divides.
    #[error("a cut at {at} would leave its box, which reaches from {low} to {high}")]
    OutsideBox {
        /// What was asked for.
        at: f32,
        /// Low end of the box.
        low: f32,
        /// High end of the box.
        high: f32,
    },
    /// On the way lies another cut, whose leaves would turn inside out.
    #[error("a cut at {at} would pass cut {other}; move that one first")]
    PassesCut {
        /// What was asked for.
        at: f32,
        /// The cut in the way.
        other: usize,
    },
    /// A leaf would shrink below the least width.
    #[error("a cut at {at} would leave {region} a leaf {width} m wide; the least is {width_min} m")]
    TooThin {
        /// What was asked for.
        at: f32,
        /// Whose leaf it is.
        region: RegionId,
        /// How wide it would be.
        width: f32,
        /// How wide it must be.
        width_min: f32,
    },
}

/// Up to this many leaves, looking at each beats a search of the tree, which has to pass the leaves of other regions.
const SCANNED_LEAVES_MAX: usize = 512;

/// What a map knows about one region.
#[derive(Clone, Debug, PartialEq)]
struct Territory {
    hull: Aabb,
    leaves: Vec<Aabb>,
    neighbours: Vec<Neighbour>,
}

/// A map as it is sent and stored: only what cannot be derived.
#[derive(Serialize, Deserialize)]
struct Written {
    epoch: u32,
    effective: Tick,
    tree: Vec<Piece>,
    /// The lowest rank first; empty when ranks follow the ids.
    #[serde(default)]
    ranks: Vec<RegionId>,
}

impl From<PartitionMap> for Written {
    fn from(map: PartitionMap) -> Written {
        let ranks = map.ranks.write(map.tree.regions());
        Written { epoch: map.epoch, effective: map.effective, tree: map.tree.write(), ranks }
    }
}

impl TryFrom<Written> for PartitionMap {
    type Error = MapError;

    fn try_from(written: Written) -> Result<PartitionMap, MapError> {
        let map = PartitionMap::with_tree(written.epoch, written.effective, Tree::read(&written.tree)?);
        let ranks = Ranks::read(map.regions(), &written.ranks)?;
        Ok(PartitionMap { ranks, ..map })
    }
}

impl PartitionMap {
    /// The first map of a world: epoch 1, in force from the start.
    pub fn from_layout(layout: &Layout) -> Result<PartitionMap, LayoutError> {
        Ok(PartitionMap::with_tree(1, Tick(0), layout::cut(layout)?))
    }

    /// The same tree as the next map, in force from another tick.
    pub fn succeed(&self, effective: Tick) -> PartitionMap {
        PartitionMap { epoch: self.epoch.saturating_add(1), effective, ..self.clone() }
    }

    /// The map with one cut moved, as the next map. Refused when the cut would leave its box, pass another cut, or
    /// shrink a leaf below `width_min` metres; a leaf that is thinner already may stay so or grow.
    pub fn move_cut(&self, index: usize, at: f32, width_min: f32, effective: Tick) -> Result<PartitionMap, MoveError> {
        self.move_cuts(&[(index, at)], width_min, effective)
    }

    /// The same for several cuts at once, each with its new place. They may pass where others have been, since only
    /// the outcome counts.
    pub fn move_cuts(
        &self,
        moves: &[(usize, f32)],
        width_min: f32,
        effective: Tick,
    ) -> Result<PartitionMap, MoveError> {
        let mut pieces = self.tree.write();
        for (index, at) in moves {
            match pieces.get_mut(*index) {
                Some(Piece::Cut { at: place, .. }) => *place = *at,
                _ => return Err(MoveError::NotACut { index: *index }),
            }
        }
        let asked = |index: usize| moves.iter().find(|(moved, _)| *moved == index).map(|(_, at)| *at);
        let first = moves.first().map_or(f32::NAN, |(_, at)| *at);
        let tree = Tree::read(&pieces).map_err(|error| match error {
            MapError::CutOutside { index, low, high, .. } => match asked(index) {
                Some(at) => MoveError::OutsideBox { at, low, high },
                None => MoveError::PassesCut { at: first, other: index },
            },
            _ => MoveError::OutsideBox { at: first, low: f32::NEG_INFINITY, high: f32::INFINITY },
        })?;
        for ((_, before), (slot, after)) in self.tree.leaves().zip(tree.leaves()) {
            for axis in 0..3 {
                let width = after.max[axis] - after.min[axis];
                let shrinks = width < before.max[axis] - before.min[axis];
                if shrinks && width < width_min {
                    return Err(MoveError::TooThin { at: first, region: tree.regions()[slot], width, width_min });
                }
            }
        }
        let map = PartitionMap::with_tree(self.epoch.saturating_add(1), effective, tree);
        Ok(PartitionMap { ranks: self.ranks.clone(), ..map })
    }

    /// The same tree with other ranks, as the next map. The order starts with the lowest rank and must name every
    /// region once.
    pub fn with_ranks(&self, order: &[RegionId], effective: Tick) -> Result<PartitionMap, MapError> {
        let ranks = Ranks::read(self.regions(), order)?;
        Ok(PartitionMap { ranks, ..self.succeed(effective) })
    }

    /// A region's place in the order that decides who gives way: bodies that may touch go to the lower rank. A total
    /// order also of regions that the map does not have; they come last.
    pub fn rank(&self, region: RegionId) -> u32 {
        self.ranks.of(self.regions(), region)
    }

    /// The regions, the lowest rank first.
    pub fn order(&self) -> Vec<RegionId> {
        self.ranks.order(self.regions())
    }

    /// Which version of the map this is; a higher epoch replaces a lower one.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The tick from which the map is in force, on every server at once.
    pub fn effective(&self) -> Tick {
        self.effective
    }

    /// Every region with at least one leaf, sorted.
    pub fn regions(&self) -> &[RegionId] {
        self.tree.regions()
    }

    /// Who has a point. A point on a face belongs to the high side. Total: a coordinate that is not a number counts as
    /// high, so even a broken position has one owner who can get rid of it.
    pub fn region_at(&self, p: Vec3) -> RegionId {
        self.tree.region_at(p)
    }

    /// True when the point belongs to the region.
    pub fn holds(&self, region: RegionId, p: Vec3) -> bool {
        self.tree.region_at(p) == region
    }

    /// The disjoint boxes that make up a region; outer ones are infinite. Empty for a region that has none.
    pub fn leaves(&self, region: RegionId) -> impl Iterator<Item = &Aabb> {
        self.territory(region).into_iter().flat_map(|territory| &territory.leaves)
    }

    /// True when the closed box shares a point with the region, by the same rule as [`PartitionMap::region_at`]: the
    /// box of a single point meets exactly the region that holds it. An inverted box has no points.
    pub fn meets(&self, region: RegionId, bounds: &Aabb) -> bool {
        let Some(territory) = self.territory(region) else { return false };
        shares_point(&territory.hull, bounds)
            && (territory.leaves.len() == 1 || self.tree.any_meeting(bounds, |found| found == region))
    }

    /// Replaces the content of `out` with every region that meets the box, sorted, each once.
    pub fn regions_meeting(&self, bounds: &Aabb, out: &mut Vec<RegionId>) {
        out.clear();
        self.tree.any_meeting(bounds, |region| {
            if out.last() != Some(&region) {
                out.push(region);
            }
            false
        });
        out.sort_unstable();
        out.dedup();
    }

    /// Distance from a point to the region; zero inside, infinite for a region without leaves.
    pub fn distance(&self, region: RegionId, p: Vec3) -> f32 {
        let Some(territory) = self.territory(region) else { return f32::INFINITY };
        if territory.leaves.len() <= SCANNED_LEAVES_MAX {
            return distance::to_boxes(&territory.leaves, p);
        }
        distance::to_nearest(&self.tree, p, |found| found == region)
    }

    /// Distance from a point inside the region to the nearest point of any other region; infinite when there is no
    /// other. Zero when the point is outside, or not a number.
    pub fn distance_to_boundary(&self, region: RegionId, p: Vec3) -> f32 {
        let Some(territory) = self.territory(region) else { return 0.0 };
        if self.regions().len() == 1 {
            return f32::INFINITY;
        }
        if p.is_nan() {
            return 0.0;
        }
        match territory.leaves.as_slice() {
            [only] if self.holds(region, p) => distance::to_nearest_face(only, p),
            _ => distance::to_nearest(&self.tree, p, |found| found != region),
        }
    }

    /// Regions that touch this one, sorted by region.
    pub fn neighbours(&self, region: RegionId) -> &[Neighbour] {
        self.territory(region).map_or(&[], |territory| &territory.neighbours)
    }

    /// Every cut of the map, so that a planner can choose one to move.
    pub fn cuts(&self) -> impl Iterator<Item = Cut> {
        let nodes = self.tree.nodes().iter().zip(self.tree.bounds());
        nodes.enumerate().filter_map(|(index, (node, bounds))| match *node {
            Node::Cut { axis, at, .. } => Some(Cut { index, axis: axis as usize, at, bounds: *bounds }),
            Node::Leaf { .. } => None,
        })
    }

    /// A node of the tree; `None` beyond the last one. Node 0 is the root.
    pub fn part(&self, index: usize) -> Option<Part> {
        self.tree.nodes().get(index).map(|node| match *node {
            Node::Cut { axis, at, high } => Part::Cut { axis: axis as usize, at, high: high as usize },
            Node::Leaf { region, .. } => Part::Leaf(region),
        })
    }

    /// The box of a node of the tree; `None` beyond the last one.
    pub fn bounds(&self, index: usize) -> Option<Aabb> {
        self.tree.bounds().get(index).copied()
    }

    /// Least finite extent of any leaf; infinite if every leaf is unbounded on every axis.
    pub fn narrowest(&self) -> f32 {
        let extents = self.tree.leaves().map(|(_, leaf)| (leaf.max - leaf.min).min_element());
        extents.fold(f32::INFINITY, f32::min)
    }

    /// Checks the map again from its tree. A map cannot be made that fails this; checkers call it to prove so.
    pub fn validate(&self) -> Result<(), MapError> {
        Tree::read(&self.tree.write()).map(|_| ())
    }

    /// The tree as it is written down.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        self.tree.write()
    }

    /// The same map with other ranks.
    pub(crate) fn ranked(self, ranks: Ranks) -> PartitionMap {
        PartitionMap { ranks, ..self }
    }

    pub(crate) fn with_tree(epoch: u32, effective: Tick, tree: Tree) -> PartitionMap {
        let mut leaves = vec![Vec::new(); tree.regions().len()];
        for (slot, bounds) in tree.leaves() {
            leaves[slot].push(*bounds);
        }
        let mut strongest: Vec<Option<Contact>> = vec![None; leaves.len()];
        let territories = leaves
            .into_iter()
            .enumerate()
            .map(|(slot, leaves)| Territory {
                hull: leaves.iter().skip(1).fold(leaves[0], |hull, leaf| hull.union(leaf)),
                neighbours: neighbours::of_region(&tree, slot, &leaves, &mut strongest),
                leaves,
            })
            .collect();
        let ranks = Ranks::by_id(tree.regions().len());
        PartitionMap { epoch, effective, tree, ranks, territories }
    }

    fn territory(&self, region: RegionId) -> Option<&Territory> {
        let regions = self.tree.regions();
        let guess = region.0 as usize;
        if regions.get(guess) == Some(&region) {
            return self.territories.get(guess);
        }
        regions.binary_search(&region).ok().and_then(|slot| self.territories.get(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(count: u16) -> PartitionMap {
        PartitionMap::from_layout(&Layout::columns(count, 10.0)).unwrap()
    }

    #[test]
    fn a_map_starts_at_epoch_one_and_is_succeeded() {
        let map = columns(3);
        assert_eq!((map.epoch(), map.effective()), (1, Tick(0)));
        let next = map.succeed(Tick(99));
        assert_eq!((next.epoch(), next.effective()), (2, Tick(99)));
        assert!(next.cuts().eq(map.cuts()));
    }

    #[test]
    fn ranks_change_with_a_map_and_outlast_it() {
        let map = columns(3);
        assert_eq!(map.order(), [0, 1, 2].map(RegionId));
        let order = [2, 0, 1].map(RegionId);
        let turned = map.with_ranks(&order, Tick(50)).unwrap();
        assert_eq!((turned.epoch(), turned.effective()), (2, Tick(50)));
        assert_eq!([0, 1, 2].map(|id| turned.rank(RegionId(id))), [1, 2, 0]);
        let cut = turned.cuts().next().unwrap();
        let moved = turned.move_cut(cut.index, cut.at + 1.0, 1.0, Tick(60)).unwrap();
        assert_eq!((moved.order(), turned.succeed(Tick(70)).order()), (order.to_vec(), order.to_vec()));
        let read = PartitionMap::try_from(Written::from(moved.clone())).unwrap();
        assert_eq!(read, moved);
        assert!(map.with_ranks(&order[..2], Tick(50)).is_err());
        let forged = Written { ranks: vec![RegionId(7); 3], ..Written::from(moved) };
        assert_eq!(PartitionMap::try_from(forged), Err(MapError::Ranks { region: RegionId(7) }));
    }

    #[test]
    fn regions_need_not_be_numbered_from_zero() {
        let pieces = vec![
            Piece::Cut { axis: 0, at: 0.0 },
            Piece::Leaf { region: RegionId(40) },
            Piece::Leaf { region: RegionId(1) },
        ];
        let map =
            PartitionMap::try_from(Written { epoch: 3, effective: Tick(4), tree: pieces, ranks: Vec::new() }).unwrap();
        assert_eq!(map.regions(), [RegionId(1), RegionId(40)]);
        assert_eq!(map.leaves(RegionId(40)).count(), 1);
        assert_eq!(map.neighbours(RegionId(1)), [Neighbour { region: RegionId(40), contact: Contact::Face }]);
        assert_eq!(map.distance(RegionId(40), Vec3::X), 1.0);
    }

    #[test]
    fn a_region_without_leaves_is_nowhere() {
        let map = columns(2);
        let nobody = RegionId(9);
        assert_eq!(map.leaves(nobody).count(), 0);
        assert_eq!(map.neighbours(nobody), []);
        assert!(!map.meets(nobody, &Aabb::EVERYTHING));
        assert_eq!(map.distance(nobody, Vec3::ZERO), f32::INFINITY);
        assert_eq!(map.distance_to_boundary(nobody, Vec3::ZERO), 0.0);
    }

    #[test]
    fn a_lone_region_has_no_boundary() {
        let map = columns(1);
        assert_eq!(map.distance_to_boundary(RegionId(0), Vec3::ZERO), f32::INFINITY);
        assert_eq!(map.narrowest(), f32::INFINITY);
        assert_eq!(map.cuts().count(), 0);
    }

    #[test]
    fn points_at_infinity_and_beyond_have_an_owner() {
        let map = columns(3);
        assert_eq!(map.region_at(Vec3::NEG_INFINITY), RegionId(0));
        assert_eq!(map.region_at(Vec3::INFINITY), RegionId(2));
        assert_eq!(map.region_at(Vec3::NAN), RegionId(2));
        assert_eq!(map.distance(RegionId(0), Vec3::INFINITY), f32::INFINITY);
        assert_eq!(map.distance_to_boundary(RegionId(2), Vec3::new(f32::INFINITY, 0.0, 0.0)), f32::INFINITY);
        assert_eq!(map.distance_to_boundary(RegionId(2), Vec3::NAN), 0.0);
        assert!(map.meets(RegionId(2), &Aabb::new(Vec3::INFINITY, Vec3::INFINITY)));
    }

    #[test]
    fn a_cut_moves_within_its_box_and_keeps_leaves_wide() {
        let map = columns(4);
        assert_eq!(map.narrowest(), 10.0);
        let middle = map.cuts().find(|cut| cut.at == 0.0).unwrap();
        let outer = map.cuts().find(|cut| cut.at == 10.0).unwrap();

        let moved = map.move_cut(middle.index, 4.0, 5.0, Tick(60)).unwrap();
        assert_eq!((moved.epoch(), moved.effective(), moved.narrowest()), (2, Tick(60), 6.0));
        assert_eq!(moved.region_at(Vec3::X), RegionId(1));

        let refused = |index, at, width_min| map.move_cut(index, at, width_min, Tick(60)).unwrap_err();
        let thin = MoveError::TooThin { at: 6.0, region: RegionId(2), width: 4.0, width_min: 5.0 };
        assert_eq!(refused(middle.index, 6.0, 5.0), thin);
        assert_eq!(refused(middle.index, 10.0, 0.0), MoveError::PassesCut { at: 10.0, other: outer.index });
        let outside = MoveError::OutsideBox { at: -1.0, low: 0.0, high: f32::INFINITY };
        assert_eq!(refused(outer.index, -1.0, 0.0), outside);
        assert!(matches!(refused(outer.index, f32::NAN, 0.0), MoveError::OutsideBox { .. }));
        assert_eq!(refused(99, 0.0, 0.0), MoveError::NotACut { index: 99 });
    }

    #[test]
    fn cuts_that_move_together_may_pass_each_other() {
        let map = columns(4);
        let at = |place: f32| map.cuts().find(|cut| cut.at == place).unwrap().index;
        let (middle, outer) = (at(0.0), at(10.0));
        let moved = map.move_cuts(&[(middle, 12.0), (outer, 20.0)], 5.0, Tick(60)).unwrap();
        assert_eq!((moved.epoch(), moved.narrowest()), (2, 8.0));
        assert_eq!(moved.region_at(Vec3::X * 11.0), RegionId(1));
        let outside = map.move_cuts(&[(middle, 12.0), (outer, 11.0)], 5.0, Tick(60));
        assert_eq!(outside, Err(MoveError::OutsideBox { at: 11.0, low: 12.0, high: f32::INFINITY }));
        let thin = map.move_cuts(&[(middle, 12.0), (outer, 13.0)], 5.0, Tick(60));
        assert!(matches!(thin, Err(MoveError::TooThin { region: RegionId(2), .. })), "{thin:?}");
    }

    #[test]
    fn a_tree_can_be_walked_from_its_root() {
        let map = columns(2);
        assert_eq!(map.part(0), Some(Part::Cut { axis: 0, at: 0.0, high: 2 }));
        assert_eq!((map.part(1), map.part(2)), (Some(Part::Leaf(RegionId(0))), Some(Part::Leaf(RegionId(1)))));
        assert_eq!(map.part(3), None);
    }

    #[test]
    fn a_leaf_that_is_too_thin_already_may_grow() {
        let map = columns(4);
        let middle = map.cuts().find(|cut| cut.at == 0.0).unwrap();
        let thin = map.move_cut(middle.index, 8.0, 0.0, Tick(1)).unwrap();
        assert!(thin.move_cut(middle.index, 7.0, 5.0, Tick(2)).is_ok());
        assert!(thin.move_cut(middle.index, 9.0, 5.0, Tick(2)).is_err());
    }
}

//! The kd-tree itself: cuts, leaves, and the ways down.
//!
//! Nodes lie in preorder: the low child of a cut is the next node, so a tree is a plain list that cannot hold a cycle.

use nimbus_model::{Aabb, RegionId, Vec3};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Greatest number of regions in one map. Tables that grow with pairs of regions stay small.
pub const REGIONS_MAX: usize = 1024;
/// Greatest number of leaves in one map. Building a map compares leaves in pairs, and maps arrive from outside.
pub const LEAVES_MAX: usize = 8_192;
/// Greatest number of cuts above a leaf. The ways down recurse, so this bounds the stack.
pub const DEPTH_MAX: usize = 256;

/// One node of a tree as it is written down: in preorder, low side first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Piece {
    /// A plane; what lies below it follows at once, then what lies on or above it.
    Cut { axis: u8, at: f32 },
    /// A box that a region has.
    Leaf { region: RegionId },
}

/// Why a list of cuts and leaves is not a partition of space.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MapError {
    /// The list ends before every cut has both its sides.
    #[error("the partition tree ends early: {missing} sides of cuts have no leaf")]
    Truncated {
        /// How many sides are open.
        missing: usize,
    },
    /// The list goes on after the tree is whole.
    #[error("the partition tree is complete at node {index}, but more nodes follow")]
    Trailing {
        /// The first node too many.
        index: usize,
    },
    /// Space has three axes.
    #[error("node {index} cuts along axis {axis}; only 0 (x), 1 (y) and 2 (z) exist")]
    Axis {
        /// The node.
        index: usize,
        /// What it says.
        axis: u8,
    },
    /// A cut lies outside the box it cuts, or is not a number; it would leave a leaf without volume.
    #[error("node {index} cuts at {at}, which is not strictly between {low} and {high}")]
    CutOutside {
        /// The node.
        index: usize,
        /// Where it cuts.
        at: f32,
        /// Low end of the box along that axis.
        low: f32,
        /// High end of the box along that axis.
        high: f32,
    },
    /// The order of ranks is not one of exactly the map's regions.
    #[error("the order of ranks must name every region of the map once; {region} is missing, named again or unknown")]
    Ranks {
        /// The region in question.
        region: RegionId,
    },
    /// More than [`REGIONS_MAX`] regions.
    #[error("{count} regions are more than the {REGIONS_MAX} that one map can hold")]
    TooManyRegions {
        /// How many there are.
        count: usize,
    },
    /// More than [`LEAVES_MAX`] leaves.
    #[error("the map needs more than {LEAVES_MAX} leaves; use fewer boxes or let their faces line up")]
    TooManyLeaves,
    /// More than [`DEPTH_MAX`] cuts above one leaf.
    #[error("the map needs more than {DEPTH_MAX} cuts above one leaf; nest fewer boxes into each other")]
    TooDeep,
}

/// A node in memory. `high` and `slot` are derived, so that no query has to search for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Node {
    Cut { axis: u8, at: f32, high: u32 },
    Leaf { region: RegionId, slot: u16 },
}

/// A well-formed tree: every cut lies strictly inside its box, so every leaf has volume and every point one leaf.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    bounds: Vec<Aabb>,
    regions: Vec<RegionId>,
}

impl Tree {
    /// Reads a tree that was written down, or says what is wrong with it.
    pub(crate) fn read(pieces: &[Piece]) -> Result<Tree, MapError> {
        if pieces.len() > 2 * LEAVES_MAX - 1 {
            return Err(MapError::TooManyLeaves);
        }
        let mut nodes = Vec::with_capacity(pieces.len());
        let mut bounds = Vec::with_capacity(pieces.len());
        let mut open = vec![Side { bounds: Aabb::EVERYTHING, high_of: None, depth: 0 }];
        for (index, piece) in pieces.iter().enumerate() {
            let side = open.pop().ok_or(MapError::Trailing { index })?;
            if let Some(cut) = side.high_of
                && let Node::Cut { high, .. } = &mut nodes[cut]
            {
                *high = index as u32;
            }
            bounds.push(side.bounds);
            match *piece {
                Piece::Leaf { region } => nodes.push(Node::Leaf { region, slot: 0 }),
                Piece::Cut { axis, at } => {
                    let (low, high) = halves(index, &side.bounds, axis, at)?;
                    let depth = side.depth + 1;
                    if depth > DEPTH_MAX {
                        return Err(MapError::TooDeep);
                    }
                    nodes.push(Node::Cut { axis, at, high: 0 });
                    open.push(Side { bounds: high, high_of: Some(index), depth });
                    open.push(Side { bounds: low, high_of: None, depth });
                }
            }
        }
        if !open.is_empty() {
            return Err(MapError::Truncated { missing: open.len() });
        }
        let regions = number_regions(&mut nodes)?;
        Ok(Tree { nodes, bounds, regions })
    }

    /// The tree as a list that [`Tree::read`] takes back.
    pub(crate) fn write(&self) -> Vec<Piece> {
        self.nodes
            .iter()
            .map(|node| match *node {
                Node::Cut { axis, at, .. } => Piece::Cut { axis, at },
                Node::Leaf { region, .. } => Piece::Leaf { region },
            })
            .collect()
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The box of each node, in the order of [`Tree::nodes`].
    pub(crate) fn bounds(&self) -> &[Aabb] {
        &self.bounds
    }

    /// Every region with a leaf, sorted; a leaf's `slot` counts in this list.
    pub(crate) fn regions(&self) -> &[RegionId] {
        &self.regions
    }

    /// Each leaf's box and the slot of its region, in preorder.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (usize, &Aabb)> {
        self.nodes.iter().zip(&self.bounds).filter_map(|(node, bounds)| match node {
            Node::Leaf { slot, .. } => Some((*slot as usize, bounds)),
            Node::Cut { .. } => None,
        })
    }

    /// Who has a point. Total: what is not a number counts as high, so even a broken position has one owner.
    pub(crate) fn region_at(&self, p: Vec3) -> RegionId {
        let p = p.to_array();
        let mut index = 0;
        loop {
            match self.nodes[index] {
                Node::Leaf { region, .. } => return region,
                Node::Cut { axis, at, high } => {
                    // Bodies come in no order along the cuts, so a branch here would be guessed wrong half the time.
                    index = std::hint::select_unpredictable(p[axis as usize] < at, index + 1, high as usize);
                }
            }
        }
    }

    /// True when `found` says so of any leaf that shares a point with the closed box. A leaf has its low faces and
    /// not its high ones; a box that is inverted or not a number has no points.
    pub(crate) fn any_meeting(&self, bounds: &Aabb, mut found: impl FnMut(RegionId) -> bool) -> bool {
        let (min, max) = (bounds.min.to_array(), bounds.max.to_array());
        bounds.min.cmple(bounds.max).all() && self.any_below(0, &min, &max, &mut found)
    }

    fn any_below(
        &self,
        mut index: usize,
        min: &[f32; 3],
        max: &[f32; 3],
        found: &mut impl FnMut(RegionId) -> bool,
    ) -> bool {
        loop {
            match self.nodes[index] {
                Node::Leaf { region, .. } => return found(region),
                Node::Cut { axis, at, high } => {
                    let axis = axis as usize;
                    if max[axis] < at {
                        index += 1;
                    } else {
                        if min[axis] < at && self.any_below(index + 1, min, max, found) {
                            return true;
                        }
                        index = high as usize;
                    }
                }
            }
        }
    }
}

/// True when a closed box shares a point with a leaf, by the same rule as [`Tree::any_meeting`].
pub(crate) fn shares_point(leaf: &Aabb, bounds: &Aabb) -> bool {
    let below_top = bounds.min.cmplt(leaf.max) | leaf.max.cmpeq(Vec3::INFINITY);
    bounds.min.cmple(bounds.max).all() && below_top.all() && bounds.max.cmpge(leaf.min).all()
}

/// A side of a cut that still waits for its node.
struct Side {
    bounds: Aabb,
    high_of: Option<usize>,
    depth: usize,
}

fn halves(index: usize, whole: &Aabb, axis: u8, at: f32) -> Result<(Aabb, Aabb), MapError> {
    let a = axis as usize;
    if a > 2 {
        return Err(MapError::Axis { index, axis });
    }
    if !at.is_finite() || at <= whole.min[a] || at >= whole.max[a] {
        return Err(MapError::CutOutside { index, at, low: whole.min[a], high: whole.max[a] });
    }
    let (mut low, mut high) = (*whole, *whole);
    low.max[a] = at;
    high.min[a] = at;
    Ok((low, high))
}

fn number_regions(nodes: &mut [Node]) -> Result<Vec<RegionId>, MapError> {
    let mut regions: Vec<RegionId> = nodes
        .iter()
        .filter_map(|node| match node {
            Node::Leaf { region, .. } => Some(*region),
            Node::Cut { .. } => None,
        })
        .collect();
    regions.sort_unstable();
    regions.dedup();
    if regions.len() > REGIONS_MAX {
        return Err(MapError::TooManyRegions { count: regions.len() });
    }
    for node in nodes {
        if let Node::Leaf { region, slot } = node {
            *slot = regions.partition_point(|r| r < region) as u16;
        }
    }
    Ok(regions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(region: u16) -> Piece {
        Piece::Leaf { region: RegionId(region) }
    }

    fn cut(axis: u8, at: f32) -> Piece {
        Piece::Cut { axis, at }
    }

    #[test]
    fn a_tree_reads_what_it_writes() {
        let pieces = [cut(0, 0.0), cut(2, -3.0), leaf(7), leaf(2), leaf(7)];
        let tree = Tree::read(&pieces).unwrap();
        assert_eq!(tree.write(), pieces);
        assert_eq!(tree.regions(), [RegionId(2), RegionId(7)]);
        assert_eq!(tree.leaves().map(|(slot, _)| slot).collect::<Vec<_>>(), [1, 0, 1]);
    }

    #[test]
    fn every_way_to_be_malformed_is_named() {
        let read = |pieces: &[Piece]| Tree::read(pieces).unwrap_err();
        assert_eq!(read(&[]), MapError::Truncated { missing: 1 });
        assert_eq!(read(&[cut(0, 0.0), leaf(1)]), MapError::Truncated { missing: 1 });
        assert_eq!(read(&[leaf(1), leaf(2)]), MapError::Trailing { index: 1 });
        assert_eq!(read(&[cut(3, 0.0), leaf(1), leaf(2)]), MapError::Axis { index: 0, axis: 3 });
        for at in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(matches!(read(&[cut(0, at), leaf(1), leaf(2)]), MapError::CutOutside { index: 0, .. }));
        }
        let outside = read(&[cut(1, 1.0), cut(1, 1.0), leaf(1), leaf(2), leaf(3)]);
        assert_eq!(outside, MapError::CutOutside { index: 1, at: 1.0, low: f32::NEG_INFINITY, high: 1.0 });
    }

    #[test]
    fn size_is_bounded() {
        assert_eq!(Tree::read(&vec![leaf(0); 2 * LEAVES_MAX]).unwrap_err(), MapError::TooManyLeaves);

        let comb = |cuts: usize| {
            let mut pieces = Vec::new();
            for i in 0..cuts {
                pieces.extend([cut(0, i as f32), leaf(i as u16)]);
            }
            pieces.push(leaf(cuts as u16));
            pieces
        };
        assert!(Tree::read(&comb(DEPTH_MAX)).is_ok());
        assert_eq!(Tree::read(&comb(DEPTH_MAX + 1)).unwrap_err(), MapError::TooDeep);
    }

    #[test]
    fn the_plane_belongs_to_its_high_side() {
        let tree = Tree::read(&[cut(1, 2.0), leaf(0), leaf(1)]).unwrap();
        assert_eq!(tree.region_at(Vec3::new(0.0, 1.999, 0.0)), RegionId(0));
        assert_eq!(tree.region_at(Vec3::new(0.0, 2.0, 0.0)), RegionId(1));
        assert_eq!(tree.region_at(Vec3::NAN), RegionId(1));

        let meeting = |low: f32, high: f32| {
            let mut seen = Vec::new();
            tree.any_meeting(&Aabb::new(Vec3::splat(low), Vec3::splat(high)), |r| {
                seen.push(r.0);
                false
            });
            seen
        };
        assert_eq!(meeting(0.0, 1.9), [0]);
        assert_eq!(meeting(0.0, 2.0), [0, 1]);
        assert_eq!(meeting(2.0, 2.0), [1]);
        assert_eq!(meeting(3.0, 1.0), [0; 0], "an inverted box has no points");
        assert_eq!(meeting(f32::NAN, f32::NAN), [0; 0]);
    }
}

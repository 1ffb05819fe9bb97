//! From a layout to a tree: columns, grids, and the corner of three.

use nimbus_model::{Layout, RegionId};
use thiserror::Error;

use crate::boxes;
use crate::tree::{MapError, Piece, REGIONS_MAX, Tree};

/// Greatest number of boxes in a layout drawn by hand.
pub const BOXES_MAX: usize = 1024;

/// Why a layout cannot be cut, and what to change.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LayoutError {
    /// A count of zero.
    #[error("a layout needs at least one region: set every count to 1 or more")]
    NoRegions,
    /// More than [`REGIONS_MAX`] regions.
    #[error("the layout asks for {count} regions; lower the counts to at most {REGIONS_MAX} regions")]
    TooManyRegions {
        /// How many it asks for.
        count: u64,
    },
    /// A width that is zero, negative, infinite or not a number.
    #[error("the width along {axis} is {width}; set it to a finite number of metres above zero")]
    Width {
        /// `x`, `y` or `z`.
        axis: char,
        /// What was asked for.
        width: f32,
    },
    /// Positions of cuts are no longer distinct finite numbers.
    #[error("{count} regions of width {width} along {axis} cannot be told apart; choose a width nearer to 1 metre")]
    WidthRange {
        /// `x`, `y` or `z`.
        axis: char,
        /// What was asked for.
        width: f32,
        /// How many along that axis.
        count: u16,
    },
    /// More than [`BOXES_MAX`] boxes.
    #[error("the layout draws {count} boxes; draw at most {BOXES_MAX}")]
    TooManyBoxes {
        /// How many it draws.
        count: usize,
    },
    /// A corner of a box is infinite or not a number.
    #[error("box {index} has a corner that is not finite; give finite corners and leave the outside to `default`")]
    BoxNotFinite {
        /// Counted from zero.
        index: usize,
    },
    /// A box has no volume or its corners are swapped.
    #[error("box {index} reaches from {min} to {max} along {axis}; make `min` less than `max`")]
    BoxEmpty {
        /// Counted from zero.
        index: usize,
        /// `x`, `y` or `z`.
        axis: char,
        /// Its low end.
        min: f32,
        /// Its high end.
        max: f32,
    },
    /// The boxes cut space into more or deeper pieces than a map can hold.
    #[error(transparent)]
    Tree(#[from] MapError),
}

/// Names of the axes, for people.
pub(crate) const AXIS_NAMES: [char; 3] = ['x', 'y', 'z'];

/// The order in which equal choices between axes are made: flat worlds are cut along `x` and `z`.
pub(crate) const AXIS_ORDER: [usize; 3] = [0, 2, 1];

/// Cuts space as the layout says.
pub(crate) fn cut(layout: &Layout) -> Result<Tree, LayoutError> {
    let pieces = match layout {
        Layout::Columns { count, width } => grid([*count, 1, 1], [*width, 1.0, 1.0])?,
        Layout::Grid { count, size } => grid(*count, *size)?,
        Layout::Corner3 => vec![
            Piece::Cut { axis: 0, at: 0.0 },
            Piece::Leaf { region: RegionId(0) },
            Piece::Cut { axis: 2, at: 0.0 },
            Piece::Leaf { region: RegionId(1) },
            Piece::Leaf { region: RegionId(2) },
        ],
        Layout::Boxes { boxes, default } => boxes::cut(boxes, *default)?,
    };
    Ok(Tree::read(&pieces)?)
}

fn grid(count: [u16; 3], size: [f32; 3]) -> Result<Vec<Piece>, LayoutError> {
    let regions: u64 = count.iter().map(|&n| u64::from(n)).product();
    if regions == 0 {
        return Err(LayoutError::NoRegions);
    }
    if regions > REGIONS_MAX as u64 {
        return Err(LayoutError::TooManyRegions { count: regions });
    }
    for axis in 0..3 {
        check_cuts(AXIS_NAMES[axis], count[axis], size[axis])?;
    }
    let mut blocks = Blocks { count, size, pieces: Vec::with_capacity(2 * regions as usize) };
    blocks.halve([0; 3], count);
    Ok(blocks.pieces)
}

fn check_cuts(axis: char, count: u16, width: f32) -> Result<(), LayoutError> {
    if !width.is_finite() || width <= 0.0 {
        return Err(LayoutError::Width { axis, width });
    }
    let mut before = f32::NEG_INFINITY;
    for i in 1..count {
        let at = cut_position(i, count, width);
        if !at.is_finite() || at <= before {
            return Err(LayoutError::WidthRange { axis, width, count });
        }
        before = at;
    }
    Ok(())
}

/// The plane between block `i - 1` and block `i` along an axis. Every branch of the tree computes it the same way, so
/// that blocks across a corner touch exactly.
fn cut_position(i: u16, count: u16, width: f32) -> f32 {
    (f32::from(i) - f32::from(count) * 0.5) * width
}

struct Blocks {
    count: [u16; 3],
    size: [f32; 3],
    pieces: Vec<Piece>,
}

impl Blocks {
    /// Halves a range of blocks along the axis with most of them, down to single blocks: a balanced tree.
    fn halve(&mut self, from: [u16; 3], to: [u16; 3]) {
        let mut axis = AXIS_ORDER[0];
        for candidate in AXIS_ORDER {
            if to[candidate] - from[candidate] > to[axis] - from[axis] {
                axis = candidate;
            }
        }
        if to[axis] - from[axis] == 1 {
            let [nx, _, nz] = self.count;
            let [x, y, z] = from;
            self.pieces.push(Piece::Leaf { region: RegionId(x + nx * (z + nz * y)) });
            return;
        }
        let middle = from[axis] + (to[axis] - from[axis]) / 2;
        let at = cut_position(middle, self.count[axis], self.size[axis]);
        self.pieces.push(Piece::Cut { axis: axis as u8, at });
        let (mut low_to, mut high_from) = (to, from);
        low_to[axis] = middle;
        high_from[axis] = middle;
        self.halve(from, low_to);
        self.halve(high_from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Vec3;

    fn refusal(layout: Layout) -> LayoutError {
        cut(&layout).unwrap_err()
    }

    #[test]
    fn columns_are_numbered_from_low_x() {
        let tree = cut(&Layout::columns(4, 10.0)).unwrap();
        let at = |x: f32| tree.region_at(Vec3::new(x, 55.0, -7.0)).0;
        assert_eq!([at(-1e9), at(-10.0), at(-0.1), at(0.0), at(9.9), at(10.0), at(1e9)], [0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_grid_counts_x_then_z_then_y() {
        let tree = cut(&Layout::Grid { count: [2, 3, 2], size: [10.0, 4.0, 6.0] }).unwrap();
        for (x, y, z) in (0..2).flat_map(|x| (0..3).flat_map(move |y| (0..2).map(move |z| (x, y, z)))) {
            let p = Vec3::new(-5.0 + 10.0 * x as f32, -4.0 + 4.0 * y as f32, -3.0 + 6.0 * z as f32);
            assert_eq!(tree.region_at(p), RegionId(x + 2 * (z + 2 * y)));
        }
    }

    #[test]
    fn a_flat_grid_is_never_cut_along_y() {
        let tree = cut(&Layout::Grid { count: [32, 1, 32], size: [10.0; 3] }).unwrap();
        assert_eq!(tree.leaves().count(), 1024);
        assert!(!tree.write().iter().any(|piece| matches!(piece, Piece::Cut { axis: 1, .. })));
    }

    #[test]
    fn bad_counts_and_widths_are_refused() {
        assert_eq!(refusal(Layout::columns(0, 10.0)), LayoutError::NoRegions);
        assert_eq!(refusal(Layout::columns(1025, 10.0)), LayoutError::TooManyRegions { count: 1025 });
        let vast = Layout::Grid { count: [u16::MAX; 3], size: [1.0; 3] };
        assert_eq!(refusal(vast), LayoutError::TooManyRegions { count: 65_535 * 65_535 * 65_535 });
        for width in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(matches!(refusal(Layout::columns(2, width)), LayoutError::Width { axis: 'x', .. }));
        }
        let flat = Layout::Grid { count: [1, 1, 2], size: [1.0, 1.0, 0.0] };
        assert_eq!(refusal(flat), LayoutError::Width { axis: 'z', width: 0.0 });
        for width in [1.0e-45, 3.0e38] {
            assert!(matches!(refusal(Layout::columns(9, width)), LayoutError::WidthRange { axis: 'x', .. }));
        }
        assert!(cut(&Layout::columns(1024, 10.0)).is_ok());
    }
}

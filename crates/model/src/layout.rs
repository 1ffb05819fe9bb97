//! How a world is first cut into regions.

use serde::{Deserialize, Serialize};

use crate::{Aabb, RegionId};

/// A box given to a region by hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionBox {
    /// Who gets it.
    pub region: RegionId,
    /// What they get.
    pub bounds: Aabb,
}

/// How a world is first cut into regions. Outer regions reach to infinity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Slabs along `x`, centred on the origin.
    Columns {
        /// How many regions.
        count: u16,
        /// Width of each along `x`, metres.
        width: f32,
    },
    /// Blocks, centred on the origin: `count` per axis x, y, z, each `size` wide.
    Grid {
        /// Blocks per axis.
        count: [u16; 3],
        /// Extent of a block per axis, metres.
        size: [f32; 3],
    },
    /// Three regions that meet in one vertical edge at the origin: one half of the world, and two quarters.
    Corner3,
    /// Boxes drawn by hand; where they overlap the first wins, where none is the default region has it.
    Boxes {
        /// The boxes, first wins.
        boxes: Vec<RegionBox>,
        /// Who has the rest.
        default: RegionId,
    },
}

impl Layout {
    /// The layout for a number of servers: columns of this width.
    pub const fn columns(count: u16, width: f32) -> Layout {
        Layout::Columns { count, width }
    }
}

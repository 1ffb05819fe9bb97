//! How space is shared out between regions.
//!
//! A [`PartitionMap`] is an axis-aligned kd-tree: planes cut space into leaves, each leaf belongs to one region, and a
//! region may have several. Leaves hold their low faces and not their high ones, so every point has exactly one owner.
//! A flat world simply never cuts along `y`.

mod boxes;
mod distance;
mod even;
mod layout;
mod map;
mod neighbours;
mod ranks;
mod redraw;
mod split;
mod spread;
mod tree;

pub use layout::{BOXES_MAX, LayoutError};
pub use map::{Cut, MoveError, Part, PartitionMap};
pub use neighbours::{Contact, Neighbour};
pub use redraw::RedrawError;
pub use split::SplitError;
pub use spread::{BINS, Spread, SpreadError};
pub use tree::{DEPTH_MAX, LEAVES_MAX, MapError, REGIONS_MAX};

//! A map that is drawn anew by hand while it is in force.

use nimbus_model::{RegionBox, RegionId, Tick};
use thiserror::Error;

use crate::boxes;
use crate::layout::LayoutError;
use crate::map::PartitionMap;
use crate::ranks::Ranks;
use crate::tree::Tree;

/// Why boxes do not make the next map, and what to change.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RedrawError {
    /// The boxes are no layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A region would have no place any more. Its bodies would have no home.
    #[error("region {0} would have no place any more; leave it a box, or the rest")]
    Lost(RegionId),
}

impl PartitionMap {
    /// The next map, with these boxes in place of those there are: where they overlap the first wins, where none is
    /// `rest` has it, and a box may reach to infinity. Every region keeps a place and its rank; new ones come last.
    pub fn redraw(&self, boxes: &[RegionBox], rest: RegionId, effective: Tick) -> Result<PartitionMap, RedrawError> {
        let pieces = boxes::cut_open(boxes, rest)?;
        let tree = Tree::read(&pieces).map_err(LayoutError::from)?;
        if let Some(lost) = self.regions().iter().find(|region| tree.regions().binary_search(region).is_err()) {
            return Err(RedrawError::Lost(*lost));
        }
        let mut order = self.order();
        order.extend(tree.regions().iter().filter(|region| self.regions().binary_search(region).is_err()));
        let ranks = Ranks::read(tree.regions(), &order).map_err(LayoutError::from)?;
        Ok(PartitionMap::with_tree(self.epoch().saturating_add(1), effective, tree).ranked(ranks))
    }

    /// The boxes of every region, as [`PartitionMap::redraw`] takes them.
    pub fn drawn(&self) -> Vec<RegionBox> {
        let boxes = |region: RegionId| self.leaves(region).map(move |bounds| RegionBox { region, bounds: *bounds });
        self.regions().iter().flat_map(|region| boxes(*region)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Aabb, Layout, Vec3};

    fn rectangle(region: u16, x: [f32; 2], z: [f32; 2]) -> RegionBox {
        let (low, high) = (f32::NEG_INFINITY, f32::INFINITY);
        let bounds = Aabb::new(Vec3::new(x[0], low, z[0]), Vec3::new(x[1], high, z[1]));
        RegionBox { region: RegionId(region), bounds }
    }

    #[test]
    fn a_map_drawn_as_it_is_stays_as_it_is() {
        let map = PartitionMap::from_layout(&Layout::Grid { count: [3, 1, 2], size: [20.0; 3] }).unwrap();
        let again = map.redraw(&map.drawn(), RegionId(0), Tick(9)).unwrap();
        assert_eq!((again.epoch(), again.effective()), (2, Tick(9)));
        for x in -4..4 {
            for z in -4..4 {
                let p = Vec3::new(x as f32 * 9.7, 3.0, z as f32 * 9.7);
                assert_eq!(again.region_at(p), map.region_at(p), "{p}");
            }
        }
        assert_eq!(again.narrowest(), map.narrowest());
    }

    #[test]
    fn a_rectangle_on_top_takes_what_it_covers_and_nothing_else() {
        let map = PartitionMap::from_layout(&Layout::columns(3, 20.0)).unwrap();
        let map = map.with_ranks(&[2, 0, 1].map(RegionId), Tick(1)).unwrap();
        let mut boxes = vec![rectangle(2, [-10.0, 10.0], [0.0, 30.0])];
        boxes.extend(map.drawn());
        let next = map.redraw(&boxes, RegionId(0), Tick(60)).unwrap();
        let at = |x: f32, z: f32| next.region_at(Vec3::new(x, 0.0, z)).0;
        assert_eq!([at(0.0, 5.0), at(0.0, -5.0), at(0.0, 31.0), at(-11.0, 5.0), at(11.0, 5.0)], [2, 1, 1, 0, 2]);
        assert_eq!(next.order(), map.order(), "ranks stay");
    }

    #[test]
    fn nobody_is_left_without_a_place() {
        let map = PartitionMap::from_layout(&Layout::columns(3, 20.0)).unwrap();
        let whole = [rectangle(1, [-10.0, 10.0], [f32::NEG_INFINITY, f32::INFINITY])];
        let refused = map.redraw(&whole, RegionId(0), Tick(9)).unwrap_err();
        assert_eq!(refused, RedrawError::Lost(RegionId(2)));
        assert!(refused.to_string().contains("would have no place"));
        let nothing = [rectangle(1, [f32::NAN, 1.0], [0.0, 1.0])];
        assert!(matches!(map.redraw(&nothing, RegionId(0), Tick(9)), Err(RedrawError::Layout(_))));
        let inverted = [rectangle(1, [2.0, 1.0], [0.0, 1.0])];
        assert!(matches!(map.redraw(&inverted, RegionId(0), Tick(9)), Err(RedrawError::Layout(_))));
        let mut more = map.drawn();
        more.insert(0, rectangle(7, [0.0, 5.0], [0.0, 5.0]));
        let more = map.redraw(&more, RegionId(0), Tick(9)).unwrap();
        assert_eq!(more.order().last(), Some(&RegionId(7)), "who is new gives way last");
    }
}

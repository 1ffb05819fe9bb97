//! Random layouts, and what each of them means.

use nimbus_model::{Aabb, Layout, RegionBox, RegionId, Vec3};
use nimbus_space::PartitionMap;
use proptest::prelude::*;

/// Any layout, with coordinates on halves of a metre so that faces often coincide and all arithmetic is exact.
pub(crate) fn any_layout() -> impl Strategy<Value = Layout> {
    let half_metres = |low: i32, high: i32| (low..high).prop_map(|n| n as f32 * 0.5);
    let columns = (1_u16..12, half_metres(1, 40)).prop_map(|(count, width)| Layout::Columns { count, width });
    let grid = (prop::array::uniform3(1_u16..5), prop::array::uniform3(half_metres(1, 40)))
        .prop_map(|(count, size)| Layout::Grid { count, size });
    prop_oneof![1 => columns, 2 => grid, 1 => Just(Layout::Corner3), 4 => drawn_boxes()]
}

/// Up to ten boxes that overlap, touch and nest, of few regions so that regions have several leaves.
pub(crate) fn drawn_boxes() -> impl Strategy<Value = Layout> {
    let side = || (-12_i32..12, 1_i32..12).prop_map(|(low, width)| (low as f32, (low + width) as f32));
    let drawn = (0_u16..5, side(), side(), side()).prop_map(|(region, x, y, z)| RegionBox {
        region: RegionId(region),
        bounds: Aabb::new(Vec3::new(x.0, y.0, z.0), Vec3::new(x.1, y.1, z.1)),
    });
    (prop::collection::vec(drawn, 0..10), 0_u16..5)
        .prop_map(|(boxes, default)| Layout::Boxes { boxes, default: RegionId(default) })
}

pub(crate) fn any_map() -> impl Strategy<Value = PartitionMap> {
    any_layout().prop_map(|layout| map_of(&layout))
}

pub(crate) fn map_of(layout: &Layout) -> PartitionMap {
    PartitionMap::from_layout(layout).expect("the strategies draw layouts that can be cut")
}

/// Points near the action: half of them on half metres, where the faces are.
pub(crate) fn any_point() -> impl Strategy<Value = Vec3> {
    let coordinate = || prop_oneof![(-60_i32..60).prop_map(|n| n as f32 * 0.5), -40.0_f32..40.0];
    (coordinate(), coordinate(), coordinate()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

/// Boxes of any size, flat and single-point ones included.
pub(crate) fn any_bounds() -> impl Strategy<Value = Aabb> {
    let extent = || prop_oneof![Just(0.0_f32), (0_i32..30).prop_map(|n| n as f32 * 0.5), 0.0_f32..30.0];
    (any_point(), extent(), extent(), extent()).prop_map(|(min, x, y, z)| Aabb::new(min, min + Vec3::new(x, y, z)))
}

/// Every leaf of a map with its region.
pub(crate) fn leaves(map: &PartitionMap) -> Vec<(RegionId, Aabb)> {
    map.regions().iter().flat_map(|&region| map.leaves(region).map(move |leaf| (region, *leaf))).collect()
}

/// Who has a point, straight from the words that define the layout.
pub(crate) fn defined_owner(layout: &Layout, p: Vec3) -> RegionId {
    let block = |count: u16, size: f32, p: f32| {
        let from_low_end = (f64::from(p) + f64::from(count) * f64::from(size) / 2.0) / f64::from(size);
        (from_low_end.floor().max(0.0) as u16).min(count - 1)
    };
    match layout {
        Layout::Columns { count, width } => RegionId(block(*count, *width, p.x)),
        Layout::Grid { count: [nx, ny, nz], size } => {
            let (x, y, z) = (block(*nx, size[0], p.x), block(*ny, size[1], p.y), block(*nz, size[2], p.z));
            RegionId(x + nx * (z + nz * y))
        }
        Layout::Corner3 if p.x < 0.0 => RegionId(0),
        Layout::Corner3 if p.z < 0.0 => RegionId(1),
        Layout::Corner3 => RegionId(2),
        Layout::Boxes { boxes, default } => {
            boxes.iter().find(|drawn| drawn.bounds.holds(p)).map_or(*default, |drawn| drawn.region)
        }
    }
}

//! Every point has one owner, and it is the one the layout names.

use nimbus_model::{Aabb, Layout, RegionId, Vec3};
use proptest::prelude::*;

use crate::layouts::{any_bounds, any_layout, any_map, any_point, defined_owner, leaves, map_of};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_layout_decides_who_has_a_point(layout in any_layout(), points in prop::collection::vec(any_point(), 40)) {
        let map = map_of(&layout);
        prop_assert!(map.validate().is_ok());
        for p in points {
            prop_assert_eq!(map.region_at(p), defined_owner(&layout, p), "at {}", p);
        }
    }

    #[test]
    fn exactly_one_leaf_holds_a_point(map in any_map(), points in prop::collection::vec(any_point(), 40)) {
        let leaves = leaves(&map);
        for p in points {
            let holding: Vec<RegionId> = leaves.iter().filter(|(_, leaf)| leaf.holds(p)).map(|(r, _)| *r).collect();
            prop_assert_eq!(&holding, &[map.region_at(p)]);
            for &region in map.regions() {
                prop_assert_eq!(map.holds(region, p), holding == [region]);
            }
        }
    }

    #[test]
    fn a_box_meets_the_regions_of_the_leaves_it_reaches(
        map in any_map(),
        boxes in prop::collection::vec(any_bounds(), 20),
    ) {
        let leaves = leaves(&map);
        let mut found = vec![RegionId(77)];
        for bounds in boxes {
            let reached = |leaf: &Aabb| {
                (0..3).all(|a| bounds.min[a] < leaf.max[a] && bounds.max[a] >= leaf.min[a])
            };
            let mut expected: Vec<RegionId> =
                leaves.iter().filter(|(_, leaf)| reached(leaf)).map(|(region, _)| *region).collect();
            expected.sort();
            expected.dedup();
            map.regions_meeting(&bounds, &mut found);
            prop_assert_eq!(&found, &expected);
            for &region in map.regions() {
                prop_assert_eq!(map.meets(region, &bounds), expected.contains(&region), "{:?}", region);
            }
        }
    }

    #[test]
    fn a_single_point_meets_its_owner_only(map in any_map(), p in any_point()) {
        let mut found = Vec::new();
        map.regions_meeting(&Aabb::new(p, p), &mut found);
        prop_assert_eq!(found, [map.region_at(p)]);
    }

    #[test]
    fn no_input_panics(
        map in any_map(),
        p in prop::array::uniform3(prop::num::f32::ANY),
        q in prop::array::uniform3(prop::num::f32::ANY),
    ) {
        let (p, q) = (Vec3::from(p), Vec3::from(q));
        let owner = map.region_at(p);
        prop_assert!(map.regions().contains(&owner));
        prop_assert_eq!(map.distance(owner, p), 0.0);
        let bounds = Aabb::new(p, q);
        let mut found = Vec::new();
        map.regions_meeting(&bounds, &mut found);
        for &region in map.regions() {
            prop_assert_eq!(map.meets(region, &bounds), found.contains(&region));
            prop_assert!(map.distance(region, p) >= 0.0);
            prop_assert!(map.distance_to_boundary(region, p) >= 0.0);
        }
    }
}

#[test]
fn no_region_of_a_grid_is_left_out() {
    let map = map_of(&Layout::Grid { count: [8, 2, 8], size: [5.0; 3] });
    let expected: Vec<RegionId> = (0..128).map(RegionId).collect();
    assert_eq!(map.regions(), expected);
    let mut found = Vec::new();
    map.regions_meeting(&Aabb::EVERYTHING, &mut found);
    assert_eq!(found, expected);
}

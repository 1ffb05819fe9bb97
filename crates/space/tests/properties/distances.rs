//! Distances against brute force over leaves and against dense sampling of ownership.

use nimbus_model::{Aabb, Layout, RegionBox, RegionId, Vec3};
use nimbus_space::PartitionMap;
use proptest::prelude::*;

use crate::layouts::{any_map, any_point, drawn_boxes, leaves, map_of};

/// Distance to the nearest leaf of a region that is wanted, one leaf after another.
fn slow_distance(map: &PartitionMap, p: Vec3, wanted: impl Fn(RegionId) -> bool) -> f32 {
    let wanted_leaves = leaves(map).into_iter().filter(|(region, _)| wanted(*region));
    wanted_leaves.map(|(_, leaf)| leaf.distance(p)).fold(f32::INFINITY, f32::min)
}

fn close(a: f32, b: f32) -> bool {
    a == b || (a - b).abs() <= 1.0e-5 * (1.0 + a.abs())
}

const REACH: f32 = 6.0;
const SAMPLES: i32 = 14;

/// Distance to the nearest of many points around `p` that belong to a wanted region. Never less than the true one, and
/// at most `spacing * sqrt(3)` more while both are within reach, as long as wanted volumes are wider than the spacing.
fn sampled_distance(map: &PartitionMap, p: Vec3, wanted: impl Fn(RegionId) -> bool) -> f32 {
    let spacing = REACH / SAMPLES as f32;
    let mut nearest = f32::INFINITY;
    for x in -SAMPLES..=SAMPLES {
        for y in -SAMPLES..=SAMPLES {
            for z in -SAMPLES..=SAMPLES {
                let offset = Vec3::new(x as f32, y as f32, z as f32) * spacing;
                if offset.length() < nearest && wanted(map.region_at(p + offset)) {
                    nearest = offset.length();
                }
            }
        }
    }
    nearest
}

fn agrees_with_samples(exact: f32, sampled: f32) -> bool {
    let slack = REACH / SAMPLES as f32 * 3.0_f32.sqrt() + 1.0e-4;
    exact <= sampled + 1.0e-4 && (sampled <= exact + slack || exact + slack > REACH)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn distances_equal_those_over_all_leaves(map in any_map(), points in prop::collection::vec(any_point(), 20)) {
        for p in points {
            let owner = map.region_at(p);
            for &region in map.regions() {
                let (found, slow) = (map.distance(region, p), slow_distance(&map, p, |r| r == region));
                prop_assert!(close(found, slow), "{} to {}: {} instead of {}", p, region, found, slow);
            }
            let (found, slow) = (map.distance_to_boundary(owner, p), slow_distance(&map, p, |r| r != owner));
            prop_assert!(close(found, slow), "{} out of {}: {} instead of {}", p, owner, found, slow);
        }
    }

    #[test]
    fn outside_a_region_its_boundary_is_no_distance_away(map in any_map(), p in any_point()) {
        let owner = map.region_at(p);
        for &region in map.regions().iter().filter(|region| **region != owner) {
            prop_assert_eq!(map.distance_to_boundary(region, p), 0.0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn distances_agree_with_dense_sampling(
        layout in drawn_boxes(),
        p in prop::array::uniform3(-15.0_f32..15.0),
    ) {
        let map = map_of(&layout);
        let p = Vec3::from(p);
        let owner = map.region_at(p);
        let (exact, sampled) = (map.distance_to_boundary(owner, p), sampled_distance(&map, p, |r| r != owner));
        prop_assert!(agrees_with_samples(exact, sampled), "boundary of {}: {} against {}", owner, exact, sampled);
        for &region in map.regions() {
            let (exact, sampled) = (map.distance(region, p), sampled_distance(&map, p, |r| r == region));
            prop_assert!(agrees_with_samples(exact, sampled), "to {}: {} against {}", region, exact, sampled);
        }
    }
}

#[test]
fn faces_inside_a_region_are_not_its_boundary() {
    let drawn = |region: u16, low: [f32; 3], high: [f32; 3]| RegionBox {
        region: RegionId(region),
        bounds: Aabb::new(Vec3::from(low), Vec3::from(high)),
    };
    let angle = vec![
        drawn(1, [0.0, 0.0, 0.0], [10.0, 10.0, 10.0]),
        drawn(2, [0.0, 0.0, 10.0], [10.0, 10.0, 20.0]),
        drawn(1, [10.0, 0.0, 0.0], [30.0, 10.0, 20.0]),
    ];
    let map = map_of(&Layout::Boxes { boxes: angle, default: RegionId(0) });
    assert!(map.leaves(RegionId(1)).count() > 1);
    assert_eq!(map.distance_to_boundary(RegionId(1), Vec3::new(10.0, 5.0, 6.0)), 4.0);
    assert_eq!(map.distance_to_boundary(RegionId(1), Vec3::new(13.0, 5.0, 6.0)), 5.0);
    assert_eq!(map.distance(RegionId(2), Vec3::new(13.0, 5.0, 6.0)), 5.0);
}

//! Moving a cut changes owners between the old plane and the new one, and nowhere else.

use nimbus_model::{Layout, Tick, Vec3};
use nimbus_space::{MoveError, PartitionMap};
use proptest::prelude::*;

use crate::layouts::{any_map, any_point, leaves, map_of};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn only_points_between_the_planes_change_hands(
        map in any_map(),
        choice in any::<prop::sample::Index>(),
        by in -8.0_f32..8.0,
        points in prop::collection::vec(any_point(), 60),
    ) {
        let cuts: Vec<_> = map.cuts().collect();
        prop_assume!(!cuts.is_empty());
        let cut = cuts[choice.index(cuts.len())];
        let at = cut.at + by;
        let Ok(moved) = map.move_cut(cut.index, at, 0.0, Tick(7)) else { return Ok(()) };
        prop_assert_eq!((moved.epoch(), moved.effective()), (map.epoch() + 1, Tick(7)));
        prop_assert!(moved.validate().is_ok());
        let renamed = moved.cuts().find(|c| c.index == cut.index).unwrap();
        prop_assert_eq!((renamed.axis, renamed.at, renamed.bounds), (cut.axis, at, cut.bounds));
        for p in points {
            let between = p[cut.axis] >= cut.at.min(at) && p[cut.axis] < cut.at.max(at);
            if !(between && cut.bounds.holds(p)) {
                prop_assert_eq!(moved.region_at(p), map.region_at(p), "at {}", p);
            }
            let holding = leaves(&moved).iter().filter(|(_, leaf)| leaf.holds(p)).count();
            prop_assert_eq!(holding, 1);
        }
        let back = moved.move_cut(cut.index, cut.at, 0.0, Tick(0)).unwrap();
        prop_assert!(back.cuts().eq(map.cuts()));
    }

    #[test]
    fn no_leaf_shrinks_below_the_least_width(
        map in any_map(),
        choice in any::<prop::sample::Index>(),
        by in -8.0_f32..8.0,
        width_min in 0.0_f32..6.0,
    ) {
        let cuts: Vec<_> = map.cuts().collect();
        prop_assume!(!cuts.is_empty());
        let cut = cuts[choice.index(cuts.len())];
        let widths = |m: &PartitionMap| -> Vec<f32> {
            leaves(m).iter().map(|(_, leaf)| leaf.max[cut.axis] - leaf.min[cut.axis]).collect()
        };
        let shrinks_too_far = |m: &PartitionMap| {
            widths(&map).iter().zip(widths(m)).any(|(before, after)| after < *before && after < width_min)
        };
        let freely = map.move_cut(cut.index, cut.at + by, 0.0, Tick(1));
        match map.move_cut(cut.index, cut.at + by, width_min, Tick(1)) {
            Ok(moved) => prop_assert!(!shrinks_too_far(&moved)),
            Err(MoveError::TooThin { .. }) => prop_assert!(shrinks_too_far(&freely.unwrap())),
            Err(other) => prop_assert_eq!(Err(other), freely),
        }
    }
}

#[test]
fn cuts_of_a_grid_move_on_their_own() {
    let map = map_of(&Layout::Grid { count: [2, 1, 2], size: [10.0; 3] });
    let cut = map.cuts().find(|cut| cut.axis == 2 && cut.bounds.min.x == 0.0).unwrap();
    let moved = map.move_cut(cut.index, 3.0, 5.0, Tick(1)).unwrap();
    let owner = |x: f32| moved.region_at(Vec3::new(x, 0.0, 1.0)).0;
    assert_eq!((owner(-1.0), owner(1.0)), (2, 1));
}

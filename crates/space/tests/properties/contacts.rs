//! Neighbours are the regions whose leaves touch.

use std::collections::BTreeMap;

use nimbus_model::{Aabb, Layout, RegionBox, RegionId, Vec3};
use nimbus_space::{Contact, Neighbour, PartitionMap};
use proptest::prelude::*;

use crate::layouts::{any_map, leaves, map_of};

/// How two boxes touch, by the dimension of what they share: 2 is a face, 1 an edge, 0 a corner.
fn shared_dimension(a: &Aabb, b: &Aabb) -> Option<u8> {
    let mut dimension = 0;
    for axis in 0..3 {
        let shared = f64::from(a.max[axis].min(b.max[axis])) - f64::from(a.min[axis].max(b.min[axis]));
        if shared < 0.0 {
            return None;
        }
        dimension += u8::from(shared > 0.0);
    }
    Some(dimension)
}

fn slow_neighbours(map: &PartitionMap, region: RegionId) -> Vec<Neighbour> {
    let mut strongest: BTreeMap<RegionId, u8> = BTreeMap::new();
    let leaves = leaves(map);
    for (_, mine) in leaves.iter().filter(|(owner, _)| *owner == region) {
        for (other, theirs) in leaves.iter().filter(|(owner, _)| *owner != region) {
            if let Some(dimension) = shared_dimension(mine, theirs) {
                let noted = strongest.entry(*other).or_insert(dimension);
                *noted = dimension.max(*noted);
            }
        }
    }
    let contacts = [Contact::Corner, Contact::Edge, Contact::Face];
    strongest.into_iter().map(|(region, d)| Neighbour { region, contact: contacts[d as usize] }).collect()
}

/// How many neighbours touch by face, edge and corner.
fn census(map: &PartitionMap, region: u16) -> [usize; 3] {
    let neighbours = map.neighbours(RegionId(region));
    [Contact::Face, Contact::Edge, Contact::Corner]
        .map(|contact| neighbours.iter().filter(|neighbour| neighbour.contact == contact).count())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn neighbours_are_those_whose_leaves_touch(map in any_map()) {
        for &region in map.regions() {
            prop_assert_eq!(map.neighbours(region), slow_neighbours(&map, region));
        }
    }

    #[test]
    fn being_a_neighbour_is_mutual(map in any_map()) {
        for &region in map.regions() {
            for neighbour in map.neighbours(region) {
                let back = Neighbour { region, contact: neighbour.contact };
                prop_assert!(map.neighbours(neighbour.region).contains(&back));
            }
        }
    }
}

#[test]
fn the_middle_of_27_blocks_has_26_neighbours() {
    let map = map_of(&Layout::Grid { count: [3, 3, 3], size: [7.0, 0.3, 11.1] });
    assert_eq!(census(&map, 13), [6, 12, 8]);
    assert_eq!(census(&map, 0), [3, 3, 1]);
}

#[test]
fn the_middle_of_a_flat_grid_has_8_neighbours() {
    let map = map_of(&Layout::Grid { count: [3, 1, 3], size: [0.1, 1.0, 0.7] });
    assert_eq!(census(&map, 4), [4, 4, 0]);
    assert_eq!(census(&map, 0), [2, 1, 0]);
}

#[test]
fn columns_touch_the_next_ones_only() {
    let map = map_of(&Layout::columns(5, 20.0));
    assert_eq!(census(&map, 0), [1, 0, 0]);
    assert_eq!(census(&map, 2), [2, 0, 0]);
}

#[test]
fn the_three_of_a_corner_all_share_faces() {
    let map = map_of(&Layout::Corner3);
    for region in 0..3 {
        assert_eq!(census(&map, region), [2, 0, 0]);
    }
}

#[test]
fn the_strongest_of_several_contacts_counts() {
    let drawn = |region: u16, low: [f32; 3]| {
        let low = Vec3::from(low);
        RegionBox { region: RegionId(region), bounds: Aabb::new(low, low + 1.0) }
    };
    let corner_only = vec![drawn(1, [0.0; 3]), drawn(2, [1.0, 1.0, 1.0])];
    let mut with_face = corner_only.clone();
    with_face.push(drawn(2, [-1.0, 0.0, 0.0]));
    let contact = |boxes: Vec<RegionBox>| {
        let map = map_of(&Layout::Boxes { boxes, default: RegionId(0) });
        let neighbours = map.neighbours(RegionId(1)).to_vec();
        neighbours.iter().find(|neighbour| neighbour.region == RegionId(2)).unwrap().contact
    };
    assert_eq!(contact(corner_only), Contact::Corner);
    assert_eq!(contact(with_face), Contact::Face);
}

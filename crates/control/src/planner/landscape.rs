//! What lies where and what it costs, as far as the reports of servers tell.

use nimbus_model::{Aabb, RegionId};
use nimbus_space::{Part, PartitionMap, Spread};
use std::collections::BTreeMap;

use super::load::Gauges;

/// Places looked at on either side of the best one, in search of one that disturbs less.
const PLACES: i32 = 8;
/// Another place must disturb so many fewer bodies, as a share, to be worth a worse balance.
const CALMER: f64 = 0.8;
/// Halvings of an interval when a place is sought; enough for millimetres within kilometres.
const HALVINGS: u32 = 24;

/// One leaf with what it costs, as far as a region's cost can be told apart by its leaves.
pub(super) struct Leaf<'a> {
    pub(super) cost: f64,
    /// Its share of a server: one, unless its region has several leaves.
    pub(super) servers: f64,
    pub(super) spread: &'a [Spread; 3],
}

/// What lies in a box, as seen along one axis: for every leaf that has something there, how much of it.
pub(super) struct View<'a> {
    axis: usize,
    parts: Vec<(&'a Leaf<'a>, f64)>,
}

impl<'a> View<'a> {
    pub(super) fn new(leaves: &'a [Leaf<'a>], axis: usize, bounds: &Aabb) -> View<'a> {
        let others = || (0..3).filter(move |other| *other != axis);
        let part = |leaf: &Leaf<'_>| -> f64 {
            others().map(|axis| leaf.spread[axis].share_between(bounds.min[axis], bounds.max[axis])).product()
        };
        let parts = leaves.iter().map(|leaf| (leaf, part(leaf))).filter(|(_, part)| *part > 0.0).collect();
        View { axis, parts }
    }

    /// What lies between two places costs.
    pub(super) fn cost(&self, from: f32, to: f32) -> f64 {
        let cost = |(leaf, part): &(&Leaf<'_>, f64)| leaf.cost * part * leaf.spread[self.axis].share_between(from, to);
        self.parts.iter().map(cost).sum()
    }

    /// So many bodies lie between two places.
    pub(super) fn bodies(&self, from: f32, to: f32) -> f64 {
        let count = |(leaf, part): &(&Leaf<'_>, f64)| part * leaf.spread[self.axis].bodies_between(from, to);
        self.parts.iter().map(count).sum()
    }

    /// Where the last body lies in a direction.
    pub(super) fn end(&self, sign: f32) -> Option<f32> {
        let ends = self.parts.iter().filter_map(|(leaf, _)| leaf.spread[self.axis].range());
        ends.map(|(low, high)| sign * if sign < 0.0 { low } else { high }).reduce(f32::max).map(|end| sign * end)
    }

    /// Of places around one that are as good, the one with the fewest bodies around it.
    pub(super) fn calmest(&self, place: f32, reach_m: f32, is_as_good: impl Fn(f32) -> bool) -> f32 {
        let disturbed = |to: f32| self.bodies(to - reach_m, to + reach_m);
        let mut best = (CALMER * disturbed(place), place);
        for k in (1..=PLACES).flat_map(|k| [k, -k]) {
            let other = place + k as f32 * 0.5 * reach_m;
            if is_as_good(other) && disturbed(other) < best.0 {
                best = (disturbed(other), other);
            }
        }
        best.1
    }
}

/// The leaves in order, each with its share of what its region costs.
pub(super) fn costs_of<'a>(gauges: &'a Gauges, map: &PartitionMap) -> Option<Vec<Leaf<'a>>> {
    let parts = (0..).map_while(|index| map.part(index));
    let leaves = parts.filter_map(|part| if let Part::Leaf(region) = part { Some(region) } else { None });
    let mut seen: BTreeMap<RegionId, usize> = BTreeMap::new();
    leaves
        .map(|region| {
            let gauge = gauges.get(region)?;
            let spread = &gauge.last.spread;
            let nth = seen.entry(region).or_default();
            let bounds = *map.leaves(region).nth(*nth)?;
            *nth += 1;
            let held = |leaf: &Aabb| -> f64 {
                (0..3).map(|axis| spread[axis].share_between(leaf.min[axis], leaf.max[axis])).product()
            };
            let (count, all) = map.leaves(region).fold((0.0, 0.0), |(n, sum), leaf| (n + 1.0, sum + held(leaf)));
            let share = if all > 0.0 && count > 1.0 { held(&bounds) / all } else { 1.0 / count };
            Some(Leaf { cost: gauge.cost_us() * share, servers: 1.0 / count, spread })
        })
        .collect()
}

/// What the dearest region should cost when each has what lies in its boxes.
pub(super) fn dearest<'b>(leaves: &[Leaf<'_>], boxes: impl Iterator<Item = (RegionId, &'b Aabb)>) -> f64 {
    let mut costs: BTreeMap<RegionId, f64> = BTreeMap::new();
    for (region, bounds) in boxes {
        *costs.entry(region).or_default() += View::new(leaves, 0, bounds).cost(bounds.min.x, bounds.max.x);
    }
    costs.into_values().fold(0.0, f64::max)
}

/// The place farthest from `near` on the way to `far` for which something holds that stops holding somewhere.
pub(super) fn farthest(near: f32, far: f32, holds: impl Fn(f32) -> bool) -> f32 {
    if holds(far) {
        return far;
    }
    let (mut good, mut bad) = (near, far);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (good + bad);
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

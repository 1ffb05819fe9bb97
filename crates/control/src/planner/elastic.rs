//! How many servers share the work: a region that costs too much shares its place with an idle one, and two neighbours
//! with little to do become one.
//!
//! Moving planes comes first wherever it is enough. What cannot be cut is not cut again and again: a split that did not
//! make its region cheaper is remembered, and the region waits, longer each time.

use nimbus_model::{Aabb, RegionId, Tick};
use nimbus_space::{Part, PartitionMap, REGIONS_MAX};
use std::collections::BTreeMap;

use super::config::PlannerConfig;
use super::landscape::{Leaf, View, costs_of, farthest};
use super::load::{Gauges, LoadReport};

/// Regions that cost so much of the budget on average need one more among them, and not only other boundaries.
const FULL: f64 = 0.7;
/// Neighbours that together cost less than this share of the budget become one.
const MERGED: f64 = 0.5;
/// A side of a split must be worth this share of what is split.
const WORTH: f64 = 0.1;
/// A split that made its region cheaper by less than this share of what was expected did not help.
const HELPED: f64 = 0.25;
/// A region that could not be helped waits this many times as long as a plane that moved, and twice as long each time.
const WAITS: u64 = 8;
/// No longer than so many doublings.
const VAIN_MAX: u32 = 8;
/// Cuts are vertical: along x or z.
const AXES: [usize; 2] = [0, 2];

/// What a planner does about the number of regions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Resize {
    /// A leaf, by its node, is cut along an axis at a place, and an idle region gets what lies beyond.
    Split { index: usize, axis: usize, at: f32, idle: RegionId, parent: RegionId, expected_us: f64 },
    /// A cut between two leaves goes.
    Merge { index: usize },
}

/// A region that was split.
#[derive(Clone, Copy, Debug)]
struct Helped {
    /// What it and whoever got the rest should cost at the most, microseconds, for the split to have been of use. None once
    /// that was looked at.
    hoped_us: Option<f64>,
    with: RegionId,
    /// When the split took effect.
    at: Tick,
    /// How many splits in a row were of no use.
    vain: u32,
}

/// What a region without a place said last.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    heard: Tick,
    /// Bodies that it still had.
    bodies: u32,
    cost_us: u32,
}

/// What a planner remembers about regions that come and go.
#[derive(Clone, Debug, Default)]
pub(super) struct Elastic {
    /// Regions without a place.
    idle: BTreeMap<RegionId, Idle>,
    helped: BTreeMap<RegionId, Helped>,
}

impl Elastic {
    /// A region that has no place in the partition says what it has.
    pub(super) fn hear(&mut self, report: &LoadReport) {
        if self.idle.len() < REGIONS_MAX || self.idle.contains_key(&report.region) {
            let idle = self.idle.entry(report.region).or_default();
            if report.tick >= idle.heard {
                *idle = Idle { heard: report.tick, bodies: report.bodies, cost_us: report.cost_us };
            }
        }
    }

    /// Another partition was announced.
    pub(super) fn forget_idle(&mut self) {
        self.idle.clear();
    }

    /// Somebody else made the partition.
    pub(super) fn forget_splits(&mut self) {
        self.helped.clear();
    }

    /// What is to be done, if anything. `evens_out` says that planes are about to move.
    pub(super) fn plan(
        &mut self,
        config: &PlannerConfig,
        gauges: &Gauges,
        map: &PartitionMap,
        now: Tick,
        evens_out: bool,
    ) -> Option<Resize> {
        let budget = f64::from(config.budget_us?);
        self.judge(gauges);
        let cost = |region: &RegionId| gauges.get(*region).map_or(0.0, |gauge| gauge.cost_us());
        let total: f64 = map.regions().iter().map(cost).sum();
        let full = total > FULL * budget * map.regions().len() as f64;
        if full || !evens_out {
            let mut dear: Vec<(f64, RegionId)> = map.regions().iter().map(|region| (cost(region), *region)).collect();
            dear.retain(|(cost, _)| *cost > budget);
            dear.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
            let idle = self.free(now, config.stale_ticks);
            if let Some(idle) = idle.filter(|_| !dear.is_empty()) {
                let leaves = costs_of(gauges, map)?;
                let ready = dear.iter().filter(|(_, region)| self.may_split(*region, now, config.settle_ticks));
                return ready.clone().find_map(|(cost, region)| split(config, map, &leaves, *region, *cost, idle));
            }
        }
        // What a server costs without any body is spared by a merge.
        let (upkeep, count) = (self.upkeep_us(), map.regions().len() as f64);
        let room = total - upkeep * (count - 1.0) < MERGED * budget * count;
        if room { merge(map, MERGED * budget + upkeep, cost) } else { None }
    }

    /// Notes what was made of it.
    pub(super) fn note(&mut self, resize: &Resize, effective: Tick, gauges: &Gauges) {
        if let Resize::Split { parent, idle, expected_us, .. } = *resize {
            let cost = gauges.get(parent).map_or(0.0, |gauge| gauge.cost_us());
            let vain = self.helped.get(&parent).map_or(0, |helped| helped.vain);
            let hoped_us = Some(cost - HELPED * expected_us);
            for (region, with) in [(parent, idle), (idle, parent)] {
                self.helped.insert(region, Helped { hoped_us, with, at: effective, vain });
            }
        }
    }

    /// Looks whether splits were of use, once what came of them is known.
    fn judge(&mut self, gauges: &Gauges) {
        for (region, helped) in &mut self.helped {
            // One lump may have gone from one to the other, and is as dear there.
            let sides = [*region, helped.with].map(|side| gauges.get(side).map(|gauge| gauge.cost_us()));
            if let (Some(hoped_us), [Some(one), Some(other)]) = (helped.hoped_us, sides) {
                helped.vain = if one.max(other) <= hoped_us { 0 } else { (helped.vain + 1).min(VAIN_MAX) };
                helped.hoped_us = None;
            }
        }
    }

    fn may_split(&self, region: RegionId, now: Tick, settle_ticks: u64) -> bool {
        self.helped
            .get(&region)
            .is_none_or(|helped| helped.vain == 0 || now >= helped.at + ((WAITS * settle_ticks) << helped.vain))
    }

    /// The first region that has no place, is heard, and has nothing left.
    fn free(&self, now: Tick, stale_ticks: u64) -> Option<RegionId> {
        let is_free = |idle: &Idle| idle.bodies == 0 && now.since(idle.heard) <= stale_ticks;
        self.idle.iter().find(|(_, idle)| is_free(idle)).map(|(region, _)| *region)
    }

    /// What a server without any body costs, microseconds, as far as there is one.
    fn upkeep_us(&self) -> f64 {
        let empty = self.idle.values().filter(|idle| idle.bodies == 0).map(|idle| idle.cost_us);
        empty.min().map_or(0.0, f64::from)
    }
}

/// Where to cut a region: through the leaf that costs most, so that both sides cost about the same, as far as a bounded number of
/// bodies has to move and both sides are wide enough. Nothing when no plane would be worth it.
fn split(
    config: &PlannerConfig,
    map: &PartitionMap,
    leaves: &[Leaf<'_>],
    parent: RegionId,
    cost: f64,
    idle: RegionId,
) -> Option<Resize> {
    let parts = (0..).map_while(|index| Some((index, map.part(index)?)));
    let nodes =
        parts.filter_map(|(index, part)| if let Part::Leaf(region) = part { Some((index, region)) } else { None });
    let of_parent = nodes.zip(leaves).filter(|((_, region), _)| *region == parent);
    let ((index, _), _) = of_parent.max_by(|(_, one), (_, two)| one.cost.total_cmp(&two.cost))?;
    let bounds = map.bounds(index)?;
    let places = AXES.into_iter().filter_map(|axis| halve(config, leaves, axis, &bounds).map(|place| (axis, place)));
    let (axis, (at, moved_us)) = places.max_by(|one, two| one.1.1.total_cmp(&two.1.1))?;
    let worth = moved_us >= WORTH * cost;
    worth.then_some(Resize::Split { index, axis, at, idle, parent, expected_us: moved_us })
}

/// The place along an axis beyond which up to half of what a box costs lies, and how much that is.
fn halve(config: &PlannerConfig, leaves: &[Leaf<'_>], axis: usize, bounds: &Aabb) -> Option<(f32, f64)> {
    let view = View::new(leaves, axis, bounds);
    let (low, high) = (bounds.min[axis] + config.width_min, bounds.max[axis] - config.width_min);
    let (first, last) = (view.end(-1.0)?, view.end(1.0)?);
    let (from, to) = (last.min(high), first.max(low));
    if from <= to {
        return None;
    }
    let half = 0.5 * view.cost(bounds.min[axis], bounds.max[axis]);
    let passed = |at: f32| view.cost(at, bounds.max[axis]);
    let is_near = |at: f32| view.bodies(at, bounds.max[axis]) <= f64::from(config.bodies_max);
    let at = farthest(from, to, |at| passed(at) <= half && is_near(at));
    let slack = half * f64::from(config.start_permille) / 1e3;
    let passed_there = passed(at);
    let at = view.calmest(at, config.reach_m, |place| {
        (to..=from).contains(&place) && (passed(place) - passed_there).abs() <= slack && is_near(place)
    });
    Some((at, passed(at)))
}

/// The cut between the two leaves that cost least together, if that is little enough.
fn merge(map: &PartitionMap, most_us: f64, cost: impl Fn(&RegionId) -> f64) -> Option<Resize> {
    let pairs = map.cuts().filter_map(|cut| Some((cut.index, map.pair(cut.index)?)));
    let cheap = pairs.map(|(index, (low, high))| (cost(&low) + cost(&high), index)).filter(|(sum, _)| *sum < most_us);
    cheap.min_by(|one, two| one.0.total_cmp(&two.0)).map(|(_, index)| Resize::Merge { index })
}

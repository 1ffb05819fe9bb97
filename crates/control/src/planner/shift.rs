//! One plan: how far each plane of a partition goes.

use nimbus_model::{Aabb, RegionId};
use nimbus_space::{Part, PartitionMap, Spread};
use std::collections::BTreeMap;
use std::ops::Range;

use super::config::{Misplan, PlannerConfig};
use super::load::Gauges;

/// A plane that would move by less stays, metres.
const STEP_MIN_M: f32 = 0.1;
/// Places looked at on either side of the best one, in search of one that disturbs less.
const PLACES: i32 = 8;
/// Another place must disturb so many fewer bodies, as a share, to be worth a worse balance.
const CALMER: f64 = 0.8;
/// Bodies that lie so many times the reach beyond a plane should have followed it.
const FOLLOWED_REACHES: f32 = 4.0;
/// Halvings of an interval when a place is sought; enough for millimetres within kilometres.
const HALVINGS: u32 = 24;

/// A plane that moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) index: usize,
    pub(super) from: f32,
    pub(super) to: f32,
}

/// The planes that move, and whether any that may not move now should.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shift {
    pub(super) moves: Vec<Step>,
    pub(super) uneven: bool,
}

/// One leaf with what it costs, as far as a region's cost can be told apart by its leaves.
struct Leaf<'a> {
    bounds: Aabb,
    cost: f64,
    /// Its share of a server: one, unless its region has several leaves.
    servers: f64,
    spread: &'a [Spread; 3],
}

impl Leaf<'_> {
    /// What lies between two places along an axis costs.
    fn cost_between(&self, axis: usize, from: f32, to: f32) -> f64 {
        self.cost * self.spread[axis].share_between(from, to)
    }
}

struct Planning<'a> {
    config: &'a PlannerConfig,
    map: &'a PartitionMap,
    gains: &'a BTreeMap<usize, f64>,
    leaves: Vec<Leaf<'a>>,
    /// By node: how many leaves come before it, and the least extent that it needs along each axis.
    leaves_before: Vec<usize>,
    needs: Vec<[f32; 3]>,
    shift: Shift,
}

impl Shift {
    /// Plans for every plane, from the root down. `gains` says how much of the way each may go; zero is none. `None` when
    /// something is missing.
    pub(super) fn plan(
        config: &PlannerConfig,
        gauges: &Gauges,
        map: &PartitionMap,
        gains: &BTreeMap<usize, f64>,
    ) -> Option<Shift> {
        let parts: Vec<Part> = (0..).map_while(|index| map.part(index)).collect();
        let width_min = if config.planted == Some(Misplan::Narrow) { 0.5 } else { config.width_min };
        let mut needs = vec![[width_min; 3]; parts.len()];
        for (index, part) in parts.iter().enumerate().rev() {
            if let Part::Cut { axis, high, .. } = *part {
                let (low, high) = (needs[index + 1], needs[high]);
                needs[index] = [0, 1, 2].map(|a| if a == axis { low[a] + high[a] } else { low[a].max(high[a]) });
            }
        }
        let (mut leaves, mut leaves_before) = (Vec::new(), Vec::new());
        for part in &parts {
            leaves_before.push(leaves.len());
            if let Part::Leaf(region) = part {
                leaves.push(*region);
            }
        }
        let leaves = costs_of(&leaves, gauges, map)?;
        let count = leaves.len();
        let shift = Shift::default();
        let mut planning = Planning { config, map, gains, leaves, leaves_before, needs, shift };
        planning.visit(0, Aabb::EVERYTHING, 0..count)?;
        Some(planning.shift)
    }
}

/// The leaves in order, each with its share of what its region costs.
fn costs_of<'a>(leaves: &[RegionId], gauges: &'a Gauges, map: &PartitionMap) -> Option<Vec<Leaf<'a>>> {
    let mut seen: BTreeMap<RegionId, usize> = BTreeMap::new();
    leaves
        .iter()
        .map(|region| {
            let gauge = gauges.get(*region)?;
            let spread = &gauge.last.spread;
            let nth = seen.entry(*region).or_default();
            let bounds = *map.leaves(*region).nth(*nth)?;
            *nth += 1;
            let held = |leaf: &Aabb| -> f64 {
                (0..3).map(|axis| spread[axis].share_between(leaf.min[axis], leaf.max[axis])).product()
            };
            let (count, all) = map.leaves(*region).fold((0.0, 0.0), |(n, sum), leaf| (n + 1.0, sum + held(leaf)));
            let share = if all > 0.0 && count > 1.0 { held(&bounds) / all } else { 1.0 / count };
            Some(Leaf { bounds, cost: gauge.cost_us() * share, servers: 1.0 / count, spread })
        })
        .collect()
}

impl Planning<'_> {
    /// Plans a node whose box will be `bounds`, and everything below it.
    fn visit(&mut self, index: usize, bounds: Aabb, leaves: Range<usize>) -> Option<()> {
        let Part::Cut { axis, at, high } = self.map.part(index)? else { return Some(()) };
        let middle = self.leaves_before[high];
        let (low_leaves, high_leaves) = (leaves.start..middle, middle..leaves.end);
        let limits = (bounds.min[axis] + self.needs[index + 1][axis], bounds.max[axis] - self.needs[high][axis]);
        let wanted = self.wanted(index, axis, at, &low_leaves, &high_leaves, limits);
        let to = if limits.0 <= limits.1 { wanted.clamp(limits.0, limits.1) } else { at };
        // Its box may have moved away from it; then it has to follow.
        let is_inside = bounds.min[axis] < at && at < bounds.max[axis];
        let is_forced = !(limits.0 <= at && at <= limits.1);
        let to = if (to - at).abs() < STEP_MIN_M && !is_forced { at } else { to };
        if to == at && !is_inside {
            return None;
        }
        if to != at {
            self.shift.moves.push(Step { index, from: at, to });
            self.expect(axis, at, to, &low_leaves, &high_leaves);
        }
        let (mut below, mut above) = (bounds, bounds);
        below.max[axis] = to;
        above.min[axis] = to;
        self.visit(index + 1, below, low_leaves)?;
        self.visit(high, above, high_leaves)
    }

    /// Where a plane should go, if it were alone.
    fn wanted(
        &mut self,
        index: usize,
        axis: usize,
        at: f32,
        low: &Range<usize>,
        high: &Range<usize>,
        limits: (f32, f32),
    ) -> f32 {
        let side = |range: &Range<usize>| {
            let leaves = &self.leaves[range.clone()];
            leaves.iter().fold((0.0, 0.0), |(cost, n), leaf| (cost + leaf.cost, n + leaf.servers))
        };
        let ((low_cost, low_n), (high_cost, high_n)) = (side(low), side(high));
        let (low_mean, high_mean) = (low_cost / low_n, high_cost / high_n);
        let dearer = low_mean.max(high_mean);
        let uneven = (low_mean - high_mean).abs();
        let config = self.config;
        let stop = dearer * f64::from(config.stop_permille) / 1e3;
        let restless = config.planted == Some(Misplan::Restless);
        if dearer <= 0.0 || (uneven <= stop && !restless) {
            return at;
        }
        self.shift.uneven = true;
        let gain = self.gains.get(&index).copied().unwrap_or(0.0);
        if gain <= 0.0 {
            return at;
        }
        // So much cost has to change sides, and this much more or less would do.
        let due = uneven * gain / (1.0 / low_n + 1.0 / high_n);
        let slack = stop / (1.0 / low_n + 1.0 / high_n);
        let down = low_mean > high_mean;
        let giving = &self.leaves[if down { low.clone() } else { high.clone() }];
        let both = &self.leaves[low.start..high.end];
        let passed =
            |to: f32| -> f64 { giving.iter().map(|leaf| leaf.cost_between(axis, at.min(to), at.max(to))).sum() };
        let bodies =
            |from: f32, to: f32| -> f64 { both.iter().map(|leaf| leaf.spread[axis].bodies_between(from, to)).sum() };
        let is_near = |to: f32| bodies(at.min(to), at.max(to)) <= f64::from(config.bodies_max);
        let leaping = config.planted == Some(Misplan::Leaping);
        let sign = if down { -1.0 } else { 1.0 };
        // What already lies well beyond the plane and has not changed sides yet will, or cannot. Going on would not help.
        let beyond = at - sign * FOLLOWED_REACHES * config.reach_m;
        let (from, to) = if down { (beyond, f32::INFINITY) } else { (f32::NEG_INFINITY, beyond) };
        let due = due - giving.iter().map(|leaf| leaf.cost_between(axis, from, to)).sum::<f64>();
        // Nor would it beyond the last body.
        let ends = giving.iter().filter_map(|leaf| leaf.spread[axis].range());
        let end = ends.map(|(low, high)| sign * if down { low } else { high }).fold(sign * at, f32::max);
        let step = (end - sign * at).min(if leaping { f32::INFINITY } else { config.step_m });
        if due <= 0.0 || step <= 0.0 {
            return at;
        }
        let far = (at + sign * step).clamp(limits.0.min(at), limits.1.max(at));
        let to = farthest(at, far, |to| passed(to) <= due && (leaping || is_near(to)));
        // Of places that are as good, the one with the fewest bodies around it.
        let disturbed = |to: f32| bodies(to - config.reach_m, to + config.reach_m);
        let (passed_there, disturbed_there) = (passed(to), disturbed(to));
        let is_as_good = |place: f32| {
            (place - at) * sign > 0.0
                && (place - at).abs() <= (far - at).abs()
                && (passed(place) - passed_there).abs() <= slack
                && is_near(place)
        };
        let mut best = (CALMER * disturbed_there, to);
        for k in (1..=PLACES).flat_map(|k| [k, -k]) {
            let place = to + k as f32 * 0.5 * config.reach_m;
            if is_as_good(place) && disturbed(place) < best.0 {
                best = (disturbed(place), place);
            }
        }
        best.1
    }

    /// Counts what will change sides, so that planes further down do not shift it a second time.
    fn expect(&mut self, axis: usize, at: f32, to: f32, low: &Range<usize>, high: &Range<usize>) {
        let (giving, taking) = if to < at { (low, high) } else { (high, low) };
        let mut changing = 0.0;
        for leaf in &mut self.leaves[giving.clone()] {
            let cost = leaf.cost_between(axis, at.min(to), at.max(to));
            leaf.cost -= cost;
            changing += cost;
        }
        let beside = |leaf: &&mut Leaf<'_>| leaf.bounds.min[axis] == at || leaf.bounds.max[axis] == at;
        let mut taking: Vec<&mut Leaf<'_>> = self.leaves[taking.clone()].iter_mut().filter(beside).collect();
        let share = changing / taking.len().max(1) as f64;
        taking.iter_mut().for_each(|leaf| leaf.cost += share);
    }
}

/// The place farthest from `near` on the way to `far` for which something holds that stops holding somewhere.
fn farthest(near: f32, far: f32, holds: impl Fn(f32) -> bool) -> f32 {
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

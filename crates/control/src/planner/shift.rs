//! One plan: how far each plane of a partition goes.

use nimbus_model::Aabb;
use nimbus_space::{Cut, Part, PartitionMap};
use std::collections::BTreeMap;
use std::ops::Range;

use super::config::{Misplan, PlannerConfig};
use super::landscape::{Leaf, View, costs_of, farthest};
use super::load::Gauges;

/// A plane that would move by less stays, metres.
const STEP_MIN_M: f32 = 0.1;
/// Places are in single precision; a leaf must not end up too narrow by that. Metres.
const ROUNDING_M: f32 = 1e-2;
/// Bodies that lie so many times the reach beyond a plane should have followed it.
const FOLLOWED_REACHES: f32 = 4.0;

/// A plane that moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) index: usize,
    pub(super) from: f32,
    pub(super) to: f32,
    /// By how much its sides differ, as a share of the dearer one.
    pub(super) uneven: f64,
}

/// The planes that move, and whether any that may not move now should.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shift {
    pub(super) moves: Vec<Step>,
    pub(super) uneven: bool,
}

struct Planning<'a> {
    config: &'a PlannerConfig,
    map: &'a PartitionMap,
    held: &'a BTreeMap<usize, f64>,
    leaves: Vec<Leaf<'a>>,
    /// By node: how many leaves come before it, and the least extent that it needs along each axis.
    leaves_before: Vec<usize>,
    needs: Vec<[f32; 3]>,
    shift: Shift,
}

impl Shift {
    /// Plans for every plane, from the root down. Those that are `held` stay unless their sides differ by more than said
    /// there. `None` when something is missing.
    pub(super) fn plan(
        config: &PlannerConfig,
        gauges: &Gauges,
        map: &PartitionMap,
        held: &BTreeMap<usize, f64>,
    ) -> Option<Shift> {
        let parts: Vec<Part> = (0..).map_while(|index| map.part(index)).collect();
        let width_min = if config.planted == Some(Misplan::Narrow) { 0.5 } else { config.width_min + ROUNDING_M };
        let mut needs = vec![[width_min; 3]; parts.len()];
        for (index, part) in parts.iter().enumerate().rev() {
            if let Part::Cut { axis, high, .. } = *part {
                let (low, high) = (needs[index + 1], needs[high]);
                needs[index] = [0, 1, 2].map(|a| if a == axis { low[a] + high[a] } else { low[a].max(high[a]) });
            }
        }
        let leaves_before: Vec<usize> = parts
            .iter()
            .scan(0, |count, part| Some(std::mem::replace(count, *count + usize::from(matches!(part, Part::Leaf(_))))))
            .collect();
        let leaves = costs_of(gauges, map)?;
        let count = leaves.len();
        let shift = Shift::default();
        let mut planning = Planning { config, map, held, leaves, leaves_before, needs, shift };
        planning.visit(0, Aabb::EVERYTHING, 0..count)?;
        Some(planning.shift)
    }
}

impl Planning<'_> {
    /// Plans a node whose box will be `bounds`, and everything below it.
    fn visit(&mut self, index: usize, bounds: Aabb, leaves: Range<usize>) -> Option<()> {
        let Part::Cut { axis, at, high } = self.map.part(index)? else { return Some(()) };
        let middle = self.leaves_before[high];
        let (low_leaves, high_leaves) = (leaves.start..middle, middle..leaves.end);
        let limits = (bounds.min[axis] + self.needs[index + 1][axis], bounds.max[axis] - self.needs[high][axis]);
        let (wanted, uneven) = self.wanted(index, &bounds, &low_leaves, &high_leaves, limits);
        self.shift.uneven |= uneven > 0.0;
        let to = if limits.0 <= limits.1 { wanted.clamp(limits.0, limits.1) } else { at };
        // Its box may have moved away from it; then it has to follow.
        let is_inside = bounds.min[axis] < at && at < bounds.max[axis];
        let is_forced = !(limits.0 <= at && at <= limits.1);
        let to = if (to - at).abs() < STEP_MIN_M && !is_forced { at } else { to };
        if to == at && !is_inside {
            return None;
        }
        if to != at {
            self.shift.moves.push(Step { index, from: at, to, uneven });
        }
        let (mut below, mut above) = (bounds, bounds);
        below.max[axis] = to;
        above.min[axis] = to;
        self.visit(index + 1, below, low_leaves)?;
        self.visit(high, above, high_leaves)
    }

    /// Where a plane should go, if it were alone, and by how much its sides differ if that is too much, as a share of the
    /// dearer one. Its box will be `bounds`.
    fn wanted(
        &self,
        index: usize,
        bounds: &Aabb,
        low: &Range<usize>,
        high: &Range<usize>,
        limits: (f32, f32),
    ) -> (f32, f64) {
        let Some(cut) = self.map.cuts().find(|cut| cut.index == index) else { return (0.0, 0.0) };
        let (config, axis, at) = (self.config, cut.axis, cut.at);
        let servers = |range: &Range<usize>| self.leaves[range.clone()].iter().map(|leaf| leaf.servers).sum::<f64>();
        let (low_n, high_n) = (servers(low), servers(high));
        let view = View::new(&self.leaves, axis, bounds);
        let visitors = self.visitors(&cut, low, high);
        let low_cost = (view.cost(bounds.min[axis], at) + visitors).max(0.0);
        let high_cost = (view.cost(at, bounds.max[axis]) - visitors).max(0.0);
        let (low_mean, high_mean) = (low_cost / low_n, high_cost / high_n);
        let (dearer, uneven) = (low_mean.max(high_mean), (low_mean - high_mean).abs());
        let stop = dearer * f64::from(config.stop_permille) / 1e3;
        let restless = config.planted == Some(Misplan::Restless);
        if dearer <= 0.0 || (uneven <= stop && !restless) {
            return (at, 0.0);
        }
        // So much cost has to change sides, and this much more or less would do.
        let due = uneven / (1.0 / low_n + 1.0 / high_n);
        let slack = stop / (1.0 / low_n + 1.0 / high_n);
        let sign = if low_mean > high_mean { -1.0 } else { 1.0 };
        // Nothing is gained by going on beyond the last body.
        let end = sign * (view.end(sign).unwrap_or(at) - at);
        let leaping = config.planted == Some(Misplan::Leaping);
        let step = end.min(if leaping { f32::INFINITY } else { config.step_m });
        let uneven = uneven / dearer;
        if step <= 0.0 || self.held.get(&index).is_some_and(|limit| uneven <= *limit) {
            return (at, uneven);
        }
        let between = |to: f32| (at.min(to), at.max(to));
        let passed = |to: f32| view.cost(between(to).0, between(to).1);
        let is_near = |to: f32| leaping || view.bodies(between(to).0, between(to).1) <= f64::from(config.bodies_max);
        let far = (at + sign * step).clamp(limits.0.min(at), limits.1.max(at));
        let to = farthest(at, far, |to| passed(to) <= due && is_near(to));
        let passed_there = passed(to);
        let is_as_good = |place: f32| {
            (place - at) * sign > 0.0
                && (place - at).abs() <= (far - at).abs()
                && (passed(place) - passed_there).abs() <= slack
                && is_near(place)
        };
        (view.calmest(to, config.reach_m, is_as_good), uneven)
    }

    /// How much more the low side of a plane costs than what lies there now: visitors from the high side, less its own
    /// bodies that visit there. They stay as long as they have reason to, so a balance has to reckon with them. What lies
    /// well beyond the plane is not counted: it will follow, or cannot, and moving the plane on would not help.
    fn visitors(&self, cut: &Cut, low: &Range<usize>, high: &Range<usize>) -> f64 {
        let view = View::new(&self.leaves, cut.axis, &cut.bounds);
        let margin = FOLLOWED_REACHES * self.config.reach_m;
        let beside = (cut.at - margin, cut.at + margin);
        let there = |leaves: &Range<usize>, from: f32, to: f32| -> f64 {
            let leaves = self.leaves[leaves.clone()].iter();
            leaves.map(|leaf| leaf.cost * leaf.spread[cut.axis].share_between(from, to)).sum()
        };
        let hosted: f64 = self.leaves[low.clone()].iter().map(|leaf| leaf.cost).sum();
        let lying = view.cost(cut.bounds.min[cut.axis], cut.at);
        let far_out = there(low, beside.1, f32::INFINITY) - there(high, f32::NEG_INFINITY, beside.0);
        hosted - lying - far_out
    }
}

//! One plan: how far each plane of a partition goes.

use nimbus_model::{Aabb, RegionId, Tick};
use nimbus_space::{Cut, Part, PartitionMap};
use std::collections::BTreeMap;
use std::ops::Range;

use super::config::{Misplan, PlannerConfig};
use super::landscape::{Leaf, View, costs_of, farthest};
use super::load::Gauges;
use super::trend::Trends;

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
    /// What each leaf will have, as a box in the load of now: what lies there today will lie in the leaf.
    pub(super) shares: Vec<(RegionId, Aabb)>,
}

/// Where a plane should go.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    to: f32,
    /// By how much its sides will differ if it stays and that is too much, as a share of the dearer one.
    uneven: f64,
    /// How far the load wanders along its axis until the middle of the time that the next partition is in force, metres.
    ahead: f32,
}

struct Planning<'a> {
    config: &'a PlannerConfig,
    map: &'a PartitionMap,
    held: &'a BTreeMap<usize, f64>,
    now: Tick,
    trends: &'a mut Trends,
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
        (now, trends): (Tick, &mut Trends),
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
        let mut planning = Planning { config, map, held, now, trends, leaves, leaves_before, needs, shift };
        planning.visit(0, Aabb::EVERYTHING, Aabb::EVERYTHING, 0..count)?;
        Some(planning.shift)
    }
}

impl Planning<'_> {
    /// Plans a node whose box will be `bounds`, and everything below it. What will lie in that box lies in `load` now.
    fn visit(&mut self, index: usize, bounds: Aabb, load: Aabb, leaves: Range<usize>) -> Option<()> {
        let (axis, at, high) = match self.map.part(index)? {
            Part::Cut { axis, at, high } => (axis, at, high),
            Part::Leaf(region) => {
                self.shift.shares.push((region, load));
                return Some(());
            }
        };
        let middle = self.leaves_before[high];
        let (low_leaves, high_leaves) = (leaves.start..middle, middle..leaves.end);
        let limits = (bounds.min[axis] + self.needs[index + 1][axis], bounds.max[axis] - self.needs[high][axis]);
        let Wanted { to: wanted, uneven, ahead } = self.wanted(index, &load, &low_leaves, &high_leaves, limits);
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
        let (mut below, mut above, mut load_below, mut load_above) = (bounds, bounds, load, load);
        (below.max[axis], above.min[axis]) = (to, to);
        (load_below.max[axis], load_above.min[axis]) = (to - ahead, to - ahead);
        self.visit(index + 1, below, load_below, low_leaves)?;
        self.visit(high, above, load_above, high_leaves)
    }

    /// Where a plane should go, if it were alone. What will lie in its box lies in `load` now.
    fn wanted(
        &mut self,
        index: usize,
        load: &Aabb,
        low: &Range<usize>,
        high: &Range<usize>,
        limits: (f32, f32),
    ) -> Wanted {
        let Some(cut) = self.map.cuts().find(|cut| cut.index == index) else { return Wanted::default() };
        let (config, axis, at) = (self.config, cut.axis, cut.at);
        let servers = |range: &Range<usize>| self.leaves[range.clone()].iter().map(|leaf| leaf.servers).sum::<f64>();
        let (low_n, high_n) = (servers(low), servers(high));
        let visitors = self.visitors(&cut, low, high);
        let view = View::new(&self.leaves, axis, load);
        // What each server costs on average on either side of a place, and how much cost has to change sides there.
        let sides = |place: f32| {
            let low_mean = (view.cost(load.min[axis], place) + visitors).max(0.0) / low_n;
            let high_mean = (view.cost(place, load.max[axis]) - visitors).max(0.0) / high_n;
            (low_mean, high_mean, (low_mean - high_mean).abs() / (1.0 / low_n + 1.0 / high_n))
        };
        let passed = |from: f32, to: f32| view.cost(from.min(to), from.max(to));
        let sign_of = |low_mean: f64, high_mean: f64| if low_mean > high_mean { -1.0 } else { 1.0 };
        let (low_mean, high_mean, due) = sides(at);
        if let Some(end) = view.end(sign_of(low_mean, high_mean)) {
            self.trends.note(index, farthest(at, end, |to| passed(at, to) <= due), self.now);
        }
        let ahead = if config.looks_ahead { self.trends.ahead(index, config.life_middle_ticks()) } else { 0.0 };
        // From here on, places are those of the load now; the plane lies at `stays` if it does not move.
        let stays = at - ahead;
        let (low_mean, high_mean, due) = sides(stays);
        let (dearer, uneven) = (low_mean.max(high_mean), (low_mean - high_mean).abs());
        let stop = dearer * f64::from(config.stop_permille) / 1e3;
        let restless = config.planted == Some(Misplan::Restless);
        if dearer <= 0.0 || (uneven <= stop && !restless) {
            return Wanted { to: at, uneven: 0.0, ahead };
        }
        let slack = stop / (1.0 / low_n + 1.0 / high_n);
        let sign = sign_of(low_mean, high_mean);
        // Nothing is gained by going on beyond the last body.
        let end = sign * (view.end(sign).unwrap_or(stays) - stays);
        let leaping = config.planted == Some(Misplan::Leaping);
        let step = end.min(if leaping { f32::INFINITY } else { config.step_m });
        let uneven = uneven / dearer;
        // What turned back lately waits, unless it is the load that wanders.
        let wanders = ahead * sign >= STEP_MIN_M;
        let is_held = self.held.get(&index).is_some_and(|limit| uneven <= *limit);
        if step <= 0.0 || (is_held && !wanders) {
            return Wanted { to: at, uneven, ahead };
        }
        let is_near = |to: f32| leaping || view.bodies(stays.min(to), stays.max(to)) <= f64::from(config.bodies_max);
        let far = (at + sign * step).clamp(limits.0.min(at), limits.1.max(at)) - ahead;
        let to = farthest(stays, far, |to| passed(stays, to) <= due && is_near(to));
        let passed_there = passed(stays, to);
        let is_as_good = |place: f32| {
            (place - stays) * sign > 0.0
                && (place - stays).abs() <= (far - stays).abs()
                && (passed(stays, place) - passed_there).abs() <= slack
                && is_near(place)
        };
        Wanted { to: view.calmest(to, config.reach_m, is_as_good) + ahead, uneven, ahead }
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

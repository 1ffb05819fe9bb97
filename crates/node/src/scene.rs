//! Everything near at one tick: own bodies and known auras in one grid, and what each may reach.

use nimbus_model::{Aabb, Nid, RegionId, Shape, Vec3};
use nimbus_wire::Aura;
use std::collections::BTreeMap;

use crate::grid::Grid;
use crate::horizon::{Horizon, TOUCH_M};
use crate::node::Node;
use crate::seam::{Seam, Sleeper};

/// A cluster that comes this close to what was left out has it looked at again, with everything. Metres.
const MARGIN_M: f32 = 6.0;

/// One body of this server, or one aura.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) nid: Nid,
    pub(crate) position: Vec3,
    /// Speed of its centre, m/s.
    pub(crate) speed: f32,
    pub(crate) asleep: bool,
}

/// A body as it is judged: its box, how fast it may be soon, what drives it, and how many ticks to look ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub(crate) bounds: Aabb,
    pub(crate) speed: f32,
    pub(crate) gain: f32,
    pub(crate) look_ahead: u64,
}

/// Everything near at one tick. Rows of own bodies come first, then those of auras.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub(crate) rows: Vec<Row>,
    pub(crate) own: usize,
    awake: usize,
    /// Own bodies further than this from every boundary are left out,
    depth: f32,
    /// unless they lie in this box around what others have so deep inside.
    guests: Option<Aabb>,
    pub(crate) auras: Vec<Aura>,
    grid: Grid,
    near: Vec<Option<Near>>,
    fastest: f32,
    /// What pushes that wait will make of bodies.
    expected: BTreeMap<Nid, f32>,
    regions: Vec<RegionId>,
}

impl Scene {
    /// Takes stock. The engine's list of bodies that moved must still be with the node.
    pub(crate) fn survey(&mut self, node: &Node, whole: bool) {
        let Scene { rows, auras, .. } = self;
        node.seam.known(|nid| node.hosted.contains(nid), auras);
        let (map, region) = (&node.map, node.config.region);
        let deep = |position: Vec3, depth: f32| map.distance_to_boundary(region, position) > depth;
        // What lies deep inside matters only to what others have there, or to a cluster that reaches so far.
        let depth = node.announced_from() + 2.0 * node.seam.largest_m + MARGIN_M;
        let guests = auras.iter().filter(|aura| deep(aura.bounds.centre(), depth - MARGIN_M));
        let guests = guests.map(|aura| aura.bounds).reduce(|one, two| one.union(&two));
        let guests = guests.map(|bounds| bounds.grown(node.announced_from() + MARGIN_M));
        self.depth = if whole { f32::INFINITY } else { depth };
        self.guests = guests;
        rows.clear();
        let beside_guests = |position: Vec3| guests.is_some_and(|bounds| bounds.holds(position));
        let is_near = |position: Vec3| whole || !deep(position, depth) || beside_guests(position);
        let near = node.moved.iter().filter(|moved| is_near(moved.pose.position));
        rows.extend(near.map(|moved| Row {
            nid: moved.nid,
            position: moved.pose.position,
            speed: moved.velocity.linear.length(),
            asleep: false,
        }));
        self.awake = rows.len();
        let beside = |sleeper: &Sleeper| guests.is_some_and(|bounds| bounds.holds(sleeper.bounds.centre()));
        let near = node.seam.sleepers.iter().filter(|(_, sleeper)| whole || sleeper.edge <= depth || beside(sleeper));
        rows.extend(near.map(|(nid, sleeper)| Row {
            nid: *nid,
            position: sleeper.bounds.centre(),
            speed: 0.0,
            asleep: true,
        }));
        self.own = rows.len();
        rows.extend(auras.iter().map(|aura| Row {
            nid: aura.nid,
            position: aura.bounds.centre(),
            speed: aura.speed,
            asleep: aura.speed == 0.0,
        }));
        self.expected = node.expected_speeds();
        self.fastest = rows.iter().map(|row| row.speed).fold(0.0, f32::max);
        self.grid.build(rows.iter().map(|row| (row.position, row.speed)));
        self.near.clear();
        self.near.resize(self.own, None);
    }

    /// The row of an own body.
    pub(crate) fn row_of(&self, nid: Nid) -> Option<u32> {
        let find = |rows: &[Row]| rows.binary_search_by_key(&nid, |row| row.nid).ok();
        let at = find(&self.rows[..self.awake]);
        let at = at.or_else(|| find(&self.rows[self.awake..self.own]).map(|at| at + self.awake));
        at.map(|at| at as u32)
    }

    /// How a row of an own body is judged.
    pub(crate) fn near(&mut self, node: &Node, row: u32) -> Near {
        if let Some(near) = self.near[row as usize] {
            return near;
        }
        let Row { nid, asleep, position, speed } = self.rows[row as usize];
        let around = self.grid.speed_around(row);
        let horizon = &node.horizon;
        let near = if let Some(sleeper) = node.seam.sleepers.get(&nid).filter(|_| asleep) {
            let gain = if around > 0.0 { horizon.gravity } else { 0.0 };
            Near { bounds: sleeper.bounds, speed: around, gain, look_ahead: 0 }
        } else if let Some(body) = node.physics.view(nid) {
            let spin = match body.desc.shape {
                Shape::Ball { .. } => 0.0,
                _ => body.velocity.angular.length() * body.desc.shape.bounding_radius(),
            };
            let gain = horizon.gravity * body.desc.gravity_scale.abs() + body.drive();
            Near { bounds: body.aabb(), speed: around.max(speed + spin), gain, look_ahead: 0 }
        } else {
            Near { bounds: Aabb::around(position, Vec3::ZERO), speed: around, gain: horizon.gravity, look_ahead: 0 }
        };
        let look_ahead = horizon.look_ahead() + self.corner(node, &near.bounds) * horizon.legs;
        let expected = self.expected.get(&nid).copied().unwrap_or(0.0);
        let speed = near.speed.min(horizon.speed.max(speed)).max(expected);
        let near = Near { speed, look_ahead, ..near };
        self.near[row as usize] = Some(near);
        near
    }

    /// How many servers beyond two could have a say in what a body touches.
    fn corner(&mut self, node: &Node, bounds: &Aabb) -> u64 {
        if !node.seam.cornered {
            return 0;
        }
        node.map.regions_meeting(&bounds.grown(node.horizon.depth_m()), &mut self.regions);
        self.regions.len().saturating_sub(2) as u64
    }

    /// Calls `each` for the rows of own bodies whose box may be within `gap` of a box.
    pub(crate) fn own_within(&self, node: &Node, bounds: &Aabb, gap: f32, mut each: impl FnMut(u32)) {
        let own = self.own as u32;
        self.grid.for_each_in(&bounds.grown(gap + node.seam.largest_m), |row| {
            if row < own {
                each(row);
            }
        });
    }

    /// Calls `each` for the auras whose box may be within `gap` of a box.
    pub(crate) fn auras_within(&self, node: &Node, bounds: &Aabb, gap: f32, mut each: impl FnMut(&Aura)) {
        self.grid.for_each_in(&bounds.grown(gap + node.seam.largest_m), |row| {
            if let Some(aura) = (row as usize).checked_sub(self.own).and_then(|at| self.auras.get(at)) {
                each(aura);
            }
        });
    }

    /// True when nothing was left out.
    pub(crate) fn is_whole(&self) -> bool {
        self.depth == f32::INFINITY
    }

    /// True when a body lies so deep inside that others beside it may have been left out.
    pub(crate) fn is_at_edge(&self, node: &Node, row: u32) -> bool {
        let position = self.rows[row as usize].position;
        node.map.distance_to_boundary(node.config.region, position) > self.depth - MARGIN_M
            && !self.guests.is_some_and(|bounds| bounds.grown(-MARGIN_M).holds(position))
    }

    /// The farthest that any body of this tick may come in some ticks, metres.
    pub(crate) fn farthest(&self, horizon: &Horizon, ticks: u64) -> f32 {
        TOUCH_M + horizon.reach(self.fastest, 2.0 * horizon.gravity, ticks)
    }

    /// True when an aura and an own body may touch before the body could be among its neighbours, if not given away now
    /// but at the next chance; `more` ticks are added to both.
    pub(crate) fn may_touch(&mut self, node: &Node, aura: &Aura, row: u32, more: u64) -> bool {
        let horizon = node.horizon;
        let still = self.rows[row as usize].asleep && aura.speed == 0.0;
        let near = self.near(node, row);
        if still && near.speed == 0.0 {
            return false;
        }
        let reach = horizon.fixed_m.unwrap_or_else(|| {
            let ticks = near.look_ahead + more;
            let theirs = Seam::age(node.now, aura) + ticks;
            let gain = if aura.speed > 0.0 { horizon.gravity } else { 0.0 };
            horizon.reach(aura.speed, gain, theirs) + horizon.reach(near.speed, near.gain, ticks)
        });
        aura.bounds.gap(&near.bounds) <= TOUCH_M + reach
    }

    /// True when two own bodies may touch within some ticks.
    pub(crate) fn belong_together(&mut self, node: &Node, one: u32, two: u32, ticks: u64) -> bool {
        let (one, two) = (self.near(node, one), self.near(node, two));
        let horizon = &node.horizon;
        let reach = match horizon.fixed_m {
            Some(aura) => 2.0 * aura,
            None => horizon.reach(one.speed, one.gain, ticks) + horizon.reach(two.speed, two.gain, ticks),
        };
        one.bounds.gap(&two.bounds) <= TOUCH_M + reach
    }
}

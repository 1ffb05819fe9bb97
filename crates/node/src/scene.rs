//! Everything near at one tick: own bodies and known auras in one grid, and what each may reach.

use nimbus_model::{Aabb, Extent, Nid, Shape, Vec3};
use nimbus_wire::Aura;
use std::collections::BTreeMap;

use crate::grid::{CELL_M, Grid};
use crate::horizon::{Horizon, TOUCH_M};
use crate::node::Node;
use crate::seam::{Seam, Sleeper};

/// A cluster that comes this close to what was left out has it looked at again, with everything. Metres.
const MARGIN_M: f32 = 6.0;

/// Where nothing is faster than this, m/s, nobody looks closer at who is near whom.
const CALM_M_S: f32 = 0.5;

/// One body of this server, or one aura.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) nid: Nid,
    pub(crate) position: Vec3,
    /// Speed of its centre, m/s.
    pub(crate) speed: f32,
    /// How far its position is from every other region, metres; zero outside the own one.
    pub(crate) edge: f32,
    pub(crate) asleep: bool,
}

/// A body as it is judged: the room it takes, how fast it may be soon, and what drives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub(crate) extent: Extent,
    pub(crate) speed: f32,
    pub(crate) gain: f32,
}

/// Own bodies that are about equally fast. Few are fast; whoever looks for slow ones need not look far.
#[derive(Clone, Debug, Default)]
struct Layer {
    grid: Grid,
    /// The most that any of its bodies has.
    speed: f32,
    gain: f32,
    /// Greatest distance along an axis from the position of a body to the end of its box.
    size: f32,
}

/// Own bodies slower than so many m/s are in one layer; the fastest are in a further one,
const LAYERS: [f32; 2] = [2.0, 8.0];
/// and those not judged yet in the last.
const INNER: usize = LAYERS.len() + 1;

/// Whose distance from a box is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gap {
    /// Everybody whose box may be so near, metres.
    Within(f32),
    /// Everybody who may come so near, metres, within so many ticks.
    Soon(f32, u64),
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
    corners: Vec<Option<u64>>,
    layers: [Layer; INNER + 1],
    layer_of: Vec<u8>,
    /// By own row, the last search that came by.
    seen: Vec<u32>,
    searches: u32,
    /// What pushes that wait will make of bodies.
    expected: BTreeMap<Nid, f32>,
}

impl Scene {
    /// Takes stock. The engine's list of bodies that moved must still be with the node.
    pub(crate) fn survey(&mut self, node: &Node, whole: bool) {
        let Scene { rows, auras, .. } = self;
        node.seam.known(|nid| node.hosted.contains(nid), auras);
        let (map, region) = (&node.map, node.config.region);
        let edge = |position: Vec3| map.distance_to_boundary(region, position);
        // What lies deep inside matters only to what others have there, or to a cluster that reaches so far.
        let depth = node.announced_from() + 2.0 * node.seam.largest_m + MARGIN_M;
        let guests = auras.iter().filter(|aura| edge(aura.extent.bounds.centre()) > depth - MARGIN_M);
        let guests = guests.map(|aura| aura.extent.bounds).reduce(|one, two| one.union(&two));
        let guests = guests.map(|bounds| bounds.grown(node.announced_from() + MARGIN_M));
        self.depth = if whole { f32::INFINITY } else { depth };
        self.guests = guests;
        rows.clear();
        let inner: Vec<Aabb> = map.leaves(region).map(|leaf| leaf.grown(-depth)).collect();
        let beside_guests = |position: Vec3| guests.is_some_and(|bounds| bounds.holds(position));
        for moved in &node.moved {
            let position = moved.pose.position;
            let deep = inner.iter().any(|leaf| leaf.holds(position));
            if !whole && deep && !beside_guests(position) {
                continue;
            }
            let (edge, speed) = (edge(position), moved.velocity.linear.length());
            if whole || edge <= depth || beside_guests(position) {
                rows.push(Row { nid: moved.nid, position, speed, edge, asleep: false });
            }
        }
        self.awake = rows.len();
        let beside = |sleeper: &Sleeper| beside_guests(sleeper.extent.bounds.centre());
        let near = node.seam.sleepers.iter().filter(|(_, sleeper)| whole || sleeper.edge <= depth || beside(sleeper));
        rows.extend(near.map(|(nid, sleeper)| Row {
            nid: *nid,
            position: sleeper.extent.bounds.centre(),
            speed: 0.0,
            edge: sleeper.edge,
            asleep: true,
        }));
        self.own = rows.len();
        rows.extend(auras.iter().map(|aura| Row {
            nid: aura.nid,
            position: aura.extent.bounds.centre(),
            speed: aura.speed,
            edge: 0.0,
            asleep: aura.speed == 0.0,
        }));
        self.expected = node.expected_speeds();
        self.grid.build(rows.iter().map(|row| (row.position, row.speed)));
        self.sort(node);
    }

    /// Judges the own bodies that others must be told of, and sorts all into layers. Those further inside are judged when
    /// somebody asks for them; until then they count as fast as they can be.
    fn sort(&mut self, node: &Node) {
        self.near.clear();
        self.near.resize(self.own, None);
        self.corners.clear();
        self.corners.resize(self.own, None);
        self.layer_of.clear();
        self.seen.clear();
        self.seen.resize(self.own, 0);
        self.searches = 0;
        for layer in &mut self.layers {
            (layer.speed, layer.gain, layer.size) = (0.0, 0.0, 0.0);
        }
        let told = node.announced_from() + node.seam.largest_m;
        for row in 0..self.own as u32 {
            if self.rows[row as usize].edge > told {
                self.layer_of.push(INNER as u8);
                continue;
            }
            let near = self.near(node, row);
            let at = LAYERS.partition_point(|limit| *limit <= near.speed);
            let layer = &mut self.layers[at];
            layer.speed = layer.speed.max(near.speed);
            layer.gain = layer.gain.max(near.gain);
            let position = self.rows[row as usize].position;
            let size = (near.extent.bounds.max - position).max(position - near.extent.bounds.min).max_element();
            layer.size = layer.size.max(size);
            self.layer_of.push(at as u8);
        }
        let fastest = self.rows.iter().map(|row| row.speed).chain(self.expected.values().copied());
        let inner = &mut self.layers[INNER];
        inner.speed = fastest.fold(node.horizon.speed, f32::max);
        inner.gain = node.horizon.gravity;
        inner.size = node.seam.largest_m;
        for (at, layer) in self.layers.iter_mut().enumerate() {
            layer.grid.take(&self.grid, |row| self.layer_of.get(row as usize) == Some(&(at as u8)));
        }
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
        let near = self.judge(node, row);
        self.near[row as usize] = Some(near);
        near
    }

    /// Greatest speed near a body of some size, its own included. Whoever is near may strike it, and make it as fast.
    fn speed_around(&mut self, node: &Node, row: u32, radius: f32) -> f32 {
        let about = self.grid.speed_around(row);
        let Row { position, speed, .. } = self.rows[row as usize];
        let range = CELL_M.max(radius + node.seam.largest_m + TOUCH_M);
        if range <= CELL_M && about <= CALM_M_S.max(speed) {
            return about;
        }
        let rows = &self.rows;
        self.grid.speed_within(position, range, speed, |row| (rows[row as usize].position, rows[row as usize].speed))
    }

    fn judge(&mut self, node: &Node, row: u32) -> Near {
        let Row { nid, asleep, position, speed, .. } = self.rows[row as usize];
        let horizon = &node.horizon;
        let sleeper = if asleep { node.seam.sleepers.get(&nid) } else { None };
        let near = if let Some(sleeper) = sleeper {
            let around = self.speed_around(node, row, sleeper.extent.bounds.half().length());
            let gain = if around > 0.0 { horizon.gravity } else { 0.0 };
            Near { extent: sleeper.extent, speed: around, gain }
        } else if let Some(body) = node.physics.view(nid) {
            let around = self.speed_around(node, row, body.desc.shape.bounding_radius());
            let (extent, turning) = (body.extent(), body.velocity.angular);
            // What is round about its axis takes the same room however it turns about that.
            let spin = match body.desc.shape {
                Shape::Ball { .. } => 0.0,
                Shape::Capsule { .. } => turning.cross(extent.axis).length(),
                _ => turning.length() * body.desc.shape.bounding_radius(),
            };
            let gain = horizon.gravity * body.desc.gravity_scale.abs() + body.drive();
            Near { extent, speed: around.max(speed + spin), gain }
        } else {
            let around = self.speed_around(node, row, 0.0);
            let extent = Extent::boxed(Aabb::around(position, Vec3::ZERO));
            Near { extent, speed: around, gain: horizon.gravity }
        };
        let expected = if self.expected.is_empty() { None } else { self.expected.get(&nid).copied() };
        Near { speed: near.speed.min(horizon.speed.max(speed)).max(expected.unwrap_or(0.0)), ..near }
    }

    /// How many servers beyond two could have a say in what an own body touches.
    fn corner(&mut self, node: &Node, row: u32) -> u64 {
        if !node.seam.cornered {
            return 0;
        }
        if let Some(corner) = self.corners[row as usize] {
            return corner;
        }
        let bounds = self.near(node, row).extent.bounds;
        let mut regions = Vec::new();
        node.map.regions_meeting(&bounds.grown(node.horizon.depth_m()), &mut regions);
        let corner = regions.len().saturating_sub(2) as u64;
        self.corners[row as usize] = Some(corner);
        corner
    }

    /// Calls `each` for the rows of own bodies whose box may be within a gap of a box.
    pub(crate) fn own_within(&self, horizon: &Horizon, bounds: &Aabb, gap: Gap, mut each: impl FnMut(u32)) {
        for layer in self.layers.iter().filter(|layer| !layer.grid.is_empty()) {
            let gap = match gap {
                Gap::Within(gap) => gap,
                Gap::Soon(gap, ticks) => gap + horizon.reach(layer.speed, layer.gain, ticks),
            };
            layer.grid.for_each_in(&bounds.grown(gap + layer.size), &mut each);
        }
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
    pub(crate) fn is_at_edge(&self, row: u32) -> bool {
        let Row { position, edge, .. } = self.rows[row as usize];
        edge > self.depth - MARGIN_M && !self.guests.is_some_and(|bounds| bounds.grown(-MARGIN_M).holds(position))
    }

    /// Begins a search among own bodies; [`Scene::is_new`] tells what it has not come by.
    pub(crate) fn search(&mut self) {
        self.searches += 1;
    }

    /// True the first time that a search comes by a row.
    pub(crate) fn is_new(&mut self, row: u32) -> bool {
        let last = std::mem::replace(&mut self.seen[row as usize], self.searches);
        last != self.searches
    }

    /// How many ticks ahead an own body must be judged.
    pub(crate) fn look_ahead(&mut self, node: &Node, row: u32) -> u64 {
        node.horizon.look_ahead() + self.corner(node, row) * node.horizon.legs
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
            let ticks = self.look_ahead(node, row) + more;
            let theirs = Seam::age(node.now, aura) + ticks;
            let gain = if aura.speed > 0.0 { horizon.gravity } else { 0.0 };
            horizon.reach(aura.speed, gain, theirs) + horizon.reach(near.speed, near.gain, ticks)
        });
        aura.extent.is_within(TOUCH_M + reach, &near.extent)
    }

    /// True when two own bodies may touch within some ticks.
    pub(crate) fn belong_together(&mut self, node: &Node, one: u32, two: u32, ticks: u64) -> bool {
        let (one, two) = (self.near(node, one), self.near(node, two));
        let horizon = &node.horizon;
        let reach = match horizon.fixed_m {
            Some(aura) => 2.0 * aura,
            None => horizon.reach(one.speed, one.gain, ticks) + horizon.reach(two.speed, two.gain, ticks),
        };
        one.extent.is_within(TOUCH_M + reach, &two.extent)
    }
}

//! Everything near at one tick: own bodies and known auras in one grid, and what each may reach.

use nimbus_model::{Aabb, Extent, Nid, RegionId, Shape, Tick, Vec3, Velocity};
use nimbus_physics::BodyView;
use nimbus_wire::{Aura, StateUpdate, Strike};
use std::collections::{BTreeMap, BTreeSet};

use crate::config::Planted;
use crate::grid::{CELL_M, Grid};
use crate::horizon::{Horizon, TOUCH_M};
use crate::impacts::{self, Impacts, Within};
use crate::node::Node;
use crate::seam::{Seam, Sleeper};
use crate::strike::{Striker, Struck, speed_after};

/// A body turned by servers of so many relays is as good as anywhere: more than this are not counted.
const RELAYS_MAX: usize = 6;

/// In a strike by spin alone only a part of the striker's mass counts: at the end of a rod a quarter, at the rim of a disk
/// a third. Compounds may have all of it there.
const TIP_SHARE: f32 = 0.34;

/// Spin that adds less than this to the speed of any body, m/s, is counted as that of the largest body.
const CALM_SPIN_M_S: f32 = 0.05;

/// A cluster that comes this close to what was left out has it looked at again, with everything. Metres.
const MARGIN_M: f32 = 6.0;

/// Impacts are followed where a coefficient of restitution is above this. Below, a strike between equals hands on three
/// quarters of the speed at most, and little is left of it beyond what counts as near.
const FOLLOWED_ABOVE: f32 = 0.5;

/// Where nothing is faster than this, m/s, nobody looks closer at who is near whom.
const CALM_M_S: f32 = 0.5;

/// One body of this server, or one aura.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) nid: Nid,
    pub(crate) position: Vec3,
    /// Greatest speed of any point of it, of whatever joints hold to it, and what waiting pushes will make of it, m/s.
    pub(crate) speed: f32,
    pub(crate) strike: Strike,
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
    pub(crate) strike: Strike,
    pub(crate) sweeps: bool,
}

impl Near {
    /// What a neighbour is told of it.
    pub(crate) fn aura(&self, nid: Nid, host: RegionId, tick: Tick) -> Aura {
        let Near { extent, speed, strike, sweeps, .. } = *self;
        Aura { nid, host, tick, extent, speed, strike, sweeps, anchored: false }
    }
}

/// Bodies held together by joints. What strikes one of them moves all of them.
#[derive(Clone, Debug, Default)]
struct Linkage {
    /// Those of its members that are in the scene.
    rows: Vec<u32>,
    gain: f32,
    /// Greatest speed around any of them, once asked for.
    around: Option<f32>,
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
    /// unless they lie in this box around what others have so deep inside,
    guests: Option<Aabb>,
    /// or beside the far members of a linkage that reaches so deep inside.
    held: Vec<Aabb>,
    pub(crate) auras: Vec<Aura>,
    grid: Grid,
    near: Vec<Option<Near>>,
    corners: Vec<Option<Corner>>,
    /// Hosts of auras, sorted, each once.
    hosts: Vec<RegionId>,
    linkages: Vec<Linkage>,
    /// What runs through bodies from further away.
    impacts: Impacts,
    /// By own row, for those that joints hold.
    linkage_of: BTreeMap<u32, usize>,
    /// True when anything here or known elsewhere sweeps.
    sweeps: bool,
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
        let Scene { auras, .. } = self;
        node.seam.known(|nid| node.hosted.contains(nid), auras);
        self.hosts.clear();
        self.hosts.extend(auras.iter().map(|aura| aura.host));
        self.hosts.sort_unstable();
        self.hosts.dedup();
        self.sweeps = node.seam.sweeps;
        self.expected = node.expected_speeds();
        self.collect(node, whole, Vec::new());
        let held = if whole { Vec::new() } else { self.far_members(node) };
        if !held.is_empty() {
            self.collect(node, whole, held);
        }
        self.find_linkages(node);
        self.rows.extend(self.auras.iter().map(|aura| Row {
            nid: aura.nid,
            position: aura.extent.bounds.centre(),
            speed: aura.strike.speed + aura.strike.spin,
            strike: aura.strike,
            edge: 0.0,
            asleep: aura.strike.speed + aura.strike.spin == 0.0,
        }));
        self.grid.build(self.rows.iter().map(|row| (row.position, row.speed)));
        self.follow_impacts(node);
        self.sort(node);
    }

    /// Finds what impacts may do to bodies until all who must know of it have heard and acted, where anything bounces well.
    fn follow_impacts(&mut self, node: &Node) {
        let horizon = &node.horizon;
        let planted = node.config.planted == Some(Planted::ImpactsEndAtOnce);
        if node.seam.restitution <= FOLLOWED_ABOVE || horizon.fixed_m.is_some() || planted {
            self.impacts.clear();
            return;
        }
        let ticks = horizon.legs + horizon.look_ahead() + u64::from(self.sweeps);
        let seconds = ticks as f32 * horizon.tick_s;
        let within =
            Within { seconds, speed: horizon.speed, gain: horizon.gravity * seconds, largest_m: node.seam.largest_m };
        let bodies: Vec<impacts::Body> = (0..self.rows.len() as u32).map(|row| self.body_of(node, row)).collect();
        let linkages: Vec<&[u32]> = self.linkages.iter().map(|linkage| &linkage.rows[..]).collect();
        self.impacts.follow(&bodies, &self.grid, &linkages, within);
    }

    /// A row as impacts see it.
    fn body_of(&self, node: &Node, row: u32) -> impacts::Body {
        let Row { nid, position, speed, strike, .. } = self.rows[row as usize];
        let strike = Strike { speed: speed - strike.spin, ..strike };
        if let Some(aura) = (row as usize).checked_sub(self.own).and_then(|at| self.auras.get(at)) {
            let velocity = (aura.strike.speed == 0.0).then_some(Vec3::ZERO);
            return impacts::Body { extent: aura.extent, velocity, strike: aura.strike, linkage: None };
        }
        let linkage = self.linkage_of.get(&row).copied();
        if let Some(sleeper) = node.seam.sleepers.get(&nid) {
            let (velocity, strike) = ((speed == 0.0).then_some(Vec3::ZERO), Strike { speed, ..sleeper.strike });
            return impacts::Body { extent: sleeper.extent, velocity, strike, linkage };
        }
        let Some(body) = node.physics.view(nid) else {
            let extent = Extent::boxed(Aabb::around(position, Vec3::ZERO));
            return impacts::Body { extent, velocity: None, strike, linkage };
        };
        // Joints, and pushes that wait, take it elsewhere.
        let flies = linkage.is_none() && strike.speed <= body.velocity.linear.length();
        let velocity = flies.then_some(body.velocity.linear);
        let extent = swung(body.extent(), body.desc.shape.bounding_radius(), strike.spin * node.swing_s());
        impacts::Body { extent, velocity, strike: Strike { speed: strike.speed, ..strike_of(&body) }, linkage }
    }

    /// Makes the rows of own bodies.
    fn collect(&mut self, node: &Node, whole: bool, held: Vec<Aabb>) {
        let Scene { rows, auras, expected, .. } = self;
        let (map, region) = (&node.map, node.config.region);
        let edge = |position: Vec3| map.distance_to_boundary(region, position);
        // What lies deep inside matters only to what others have there, or to a cluster that reaches so far.
        let depth = node.announced_from() + 2.0 * node.seam.largest_m + MARGIN_M;
        let guests = auras.iter().filter(|aura| edge(aura.extent.bounds.centre()) > depth - MARGIN_M);
        let guests = guests.map(|aura| aura.extent.bounds).reduce(|one, two| one.union(&two));
        let guests = guests.map(|bounds| bounds.grown(node.announced_from() + MARGIN_M));
        rows.clear();
        let inner: Vec<Aabb> = map.leaves(region).map(|leaf| leaf.grown(-depth)).collect();
        let beside = |position: Vec3| {
            guests.is_some_and(|bounds| bounds.holds(position)) || held.iter().any(|bounds| bounds.holds(position))
        };
        let expected = |nid: Nid| if expected.is_empty() { 0.0 } else { expected.get(&nid).copied().unwrap_or(0.0) };
        for moved in &node.moved {
            let (nid, position) = (moved.nid, moved.pose.position);
            let deep = inner.iter().any(|leaf| leaf.holds(position));
            if !whole && deep && !beside(position) {
                continue;
            }
            let edge = edge(position);
            if whole || edge <= depth || beside(position) {
                let (centre, strike) = node.impact_of(moved);
                let speed = (centre + strike.spin).max(expected(nid));
                rows.push(Row { nid, position, speed, strike, edge, asleep: false });
            }
        }
        self.awake = rows.len();
        let is_near = |sleeper: &Sleeper| sleeper.edge <= depth || beside(sleeper.extent.bounds.centre());
        let near = node.seam.sleepers.iter().filter(|(_, sleeper)| whole || is_near(sleeper));
        rows.extend(near.map(|(nid, sleeper)| Row {
            nid: *nid,
            position: sleeper.extent.bounds.centre(),
            speed: expected(*nid),
            strike: sleeper.strike,
            edge: sleeper.edge,
            asleep: true,
        }));
        self.own = rows.len();
        self.depth = if whole { f32::INFINITY } else { depth };
        self.guests = guests;
        self.held = held;
    }

    /// The room around members of linkages that reach deeper inside than was looked.
    fn far_members(&self, node: &Node) -> Vec<Aabb> {
        if !node.physics.has_links() {
            return Vec::new();
        }
        let mut done: BTreeSet<Nid> = BTreeSet::new();
        let mut held = Vec::new();
        for row in &self.rows {
            if node.physics.linked(row.nid).next().is_none() || done.contains(&row.nid) {
                continue;
            }
            for member in node.physics.linkage(row.nid) {
                if done.insert(member) && self.row_of(member).is_none() {
                    let position = node.physics.view(member).map_or(row.position, |body| body.pose.position);
                    held.push(Aabb::around(position, Vec3::splat(CELL_M + 2.0 * node.seam.largest_m + TOUCH_M)));
                }
            }
        }
        held
    }

    /// Finds what joints hold together. All of a linkage count as fast as the fastest: a rope hands on a jerk within a
    /// step, however long it is.
    fn find_linkages(&mut self, node: &Node) {
        self.linkages.clear();
        self.linkage_of.clear();
        if !node.physics.has_links() {
            return;
        }
        for row in 0..self.own as u32 {
            let nid = self.rows[row as usize].nid;
            if self.linkage_of.contains_key(&row) || node.physics.linked(nid).next().is_none() {
                continue;
            }
            let mut linkage = Linkage::default();
            let mut speed: f32 = 0.0;
            for member in node.physics.linkage(nid) {
                if let Some(body) = node.physics.view(member) {
                    speed = speed.max(body.surface_speed());
                    linkage.gain = linkage.gain.max(body.drive());
                }
                if let Some(row) = self.row_of(member) {
                    speed = speed.max(self.rows[row as usize].speed);
                    linkage.rows.push(row);
                    self.linkage_of.insert(row, self.linkages.len());
                }
            }
            for row in &linkage.rows {
                let row = &mut self.rows[*row as usize];
                if !row.asleep {
                    (row.speed, row.strike.spin) = (speed, 0.0);
                }
            }
            self.linkages.push(linkage);
        }
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

    /// Greatest speed that a body of some size may have soon, its own included: what is near may strike it.
    fn speed_around(&mut self, node: &Node, row: u32, radius: f32, strike: Strike) -> f32 {
        let about = self.grid.speed_around(row);
        let Row { position, speed, strike: own, .. } = self.rows[row as usize];
        // Its own spin takes it nowhere.
        let speed = speed - own.spin;
        let range = CELL_M.max(radius + node.seam.largest_m + TOUCH_M);
        let most = 1.0 + node.seam.restitution;
        if range <= CELL_M && (about == 0.0 || most == 1.0 && about <= CALM_M_S.max(speed)) {
            return about.max(speed);
        }
        let rows = &self.rows;
        let struck_by = |row: u32| {
            let by = &rows[row as usize];
            (by.position, struck(speed, strike, by))
        };
        self.grid.speed_within(position, range, speed, most, struck_by)
    }

    /// The same for whatever joints hold to a body.
    fn speed_around_linkage(&mut self, node: &Node, at: usize) -> f32 {
        if let Some(known) = self.linkages[at].around {
            return known;
        }
        let rows = std::mem::take(&mut self.linkages[at].rows);
        let around = {
            let largest = node.seam.largest_m;
            let around = |row: &u32| {
                let strike =
                    node.physics.view(self.rows[*row as usize].nid).map_or(STRIKE_NONE, |body| strike_of(&body));
                self.speed_around(node, *row, largest, strike)
            };
            rows.iter().map(around).fold(0.0, f32::max)
        };
        let linkage = &mut self.linkages[at];
        (linkage.rows, linkage.around) = (rows, Some(around));
        around
    }

    fn judge(&mut self, node: &Node, row: u32) -> Near {
        let Row { nid, asleep, position, speed, strike, .. } = self.rows[row as usize];
        let horizon = &node.horizon;
        let linkage = if self.linkage_of.is_empty() { None } else { self.linkage_of.get(&row).copied() };
        let handed_on = linkage.map_or(0.0, |at| self.speed_around_linkage(node, at)).max(self.impacts.speed(row));
        let sleeper = if asleep { node.seam.sleepers.get(&nid) } else { None };
        let near = if let Some(sleeper) = sleeper {
            let around =
                self.speed_around(node, row, sleeper.extent.bounds.half().length(), sleeper.strike).max(handed_on);
            let gain = if around > 0.0 { horizon.gravity } else { 0.0 };
            Near { extent: sleeper.extent, speed: around, gain, strike, sweeps: sleeper.sweeps }
        } else if let Some(body) = node.physics.view(nid) {
            let strike = strike_of(&body);
            let around = self.speed_around(node, row, body.desc.shape.bounding_radius(), strike).max(handed_on);
            let drive = linkage.map_or(body.drive(), |at| self.linkages[at].gain);
            let gain = horizon.gravity * body.desc.gravity_scale.abs() + drive;
            let extent = swung(body.extent(), body.desc.shape.bounding_radius(), strike.spin * node.swing_s());
            Near { extent, speed: around, gain, strike, sweeps: body.sweeps() }
        } else {
            let around = self.speed_around(node, row, 0.0, strike).max(handed_on);
            let extent = Extent::boxed(Aabb::around(position, Vec3::ZERO));
            Near { extent, speed: around, gain: horizon.gravity, strike, sweeps: false }
        };
        // What strikes its neighbours is as fast as what joints and pushes make of it.
        let strike = Strike { speed: (speed - near.strike.spin).max(0.0), ..near.strike };
        Near { speed: near.speed.min(horizon.speed.max(speed)), strike, ..near }
    }

    /// Which servers could have a say in what an own body touches.
    fn corner(&mut self, node: &Node, row: u32) -> Corner {
        if !node.seam.cornered && self.hosts.len() < 2 {
            return Corner::default();
        }
        if let Some(corner) = self.corners[row as usize] {
            return corner;
        }
        let near = self.near(node, row);
        let corner = self.corner_at(node, &near.extent.bounds, near.speed, near.gain);
        self.corners[row as usize] = Some(corner);
        corner
    }

    /// The same for a body in a box around which nothing is faster than `speed`.
    fn corner_at(&self, node: &Node, bounds: &Aabb, speed: f32, gain: f32) -> Corner {
        let horizon = &node.horizon;
        let mut servers = Vec::new();
        node.map.regions_meeting(&bounds.grown(horizon.depth_m()), &mut servers);
        // A server may be here only through bodies that it has outside its region.
        if self.hosts.len() > 1 {
            let ticks = horizon.look_ahead() + horizon.legs;
            let own = horizon.reach(speed, gain, ticks);
            let far = horizon.depth_m() + node.seam.largest_m;
            self.auras_within(node, bounds, 2.0 * far, |aura| {
                let theirs = horizon.reach(aura.speed, horizon.gravity, Seam::age(node.now, aura) + ticks);
                let gap = (2.0 * (TOUCH_M + own + theirs) + node.seam.largest_m).min(2.0 * far);
                if aura.extent.bounds.gap(bounds) <= gap {
                    servers.push(aura.host);
                }
            });
        }
        servers.push(node.config.region);
        servers.sort_unstable();
        servers.dedup();
        let lower = servers.iter().filter(|server| node.outranks_in_any(**server, node.config.region)).count();
        let others = servers.len().saturating_sub(2).min(RELAYS_MAX) as u64;
        // While ranks change a body may be relayed by either order.
        let relays = if node.order_changes() { others } else { lower.saturating_sub(1).min(RELAYS_MAX) as u64 };
        Corner { relays, others }
    }

    /// How many ticks ahead this server would judge a body of another one, if it had it.
    pub(crate) fn look_ahead_at(&self, node: &Node, bounds: &Aabb, speed: f32) -> u64 {
        let relays = self.corner_at(node, bounds, speed, node.horizon.gravity).relays;
        node.horizon.look_ahead() + relays * node.horizon.legs + u64::from(self.sweeps)
    }

    /// Calls `each` for the rows of own bodies whose box may be within a gap of a box.
    pub(crate) fn own_within(&self, horizon: &Horizon, bounds: &Aabb, gap: Gap, mut each: impl FnMut(u32)) {
        for layer in self.layers.iter().filter(|layer| !layer.grid.is_empty()) {
            let gap = match gap {
                Gap::Within(gap) => gap,
                Gap::Soon(gap, ticks) => gap + horizon.reach(layer.speed, layer.gain, ticks + u64::from(self.sweeps)),
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

    /// Greatest speed of anything within a distance of a point, m/s.
    pub(crate) fn speed_at(&self, point: Vec3, range: f32) -> f32 {
        let of = |row: u32| (self.rows[row as usize].position, self.rows[row as usize].speed);
        self.grid.speed_within(point, range.max(CELL_M), 0.0, 1.0, of)
    }

    /// The own row whose impact may run to a row.
    pub(crate) fn striker(&self, row: u32) -> Option<u32> {
        self.impacts.striker(row).filter(|by| (*by as usize) < self.own)
    }

    /// The room around what others have deep inside.
    pub(crate) fn guests(&self) -> Option<Aabb> {
        self.guests
    }

    /// True when anything here or known elsewhere sweeps.
    pub(crate) fn sweeps(&self) -> bool {
        self.sweeps
    }

    /// True when nothing was left out.
    pub(crate) fn is_whole(&self) -> bool {
        self.depth == f32::INFINITY
    }

    /// True when a body lies so deep inside that others beside it may have been left out.
    pub(crate) fn is_at_edge(&self, row: u32) -> bool {
        let Row { position, edge, .. } = self.rows[row as usize];
        let beside_guests = self.guests.is_some_and(|bounds| bounds.grown(-MARGIN_M).holds(position));
        edge > self.depth - MARGIN_M && !beside_guests
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

    /// How many ticks ahead an own body must be judged: a leg more for every server that may pass it on.
    pub(crate) fn look_ahead(&mut self, node: &Node, row: u32) -> u64 {
        node.horizon.look_ahead() + self.corner(node, row).relays * node.horizon.legs
    }

    /// The same as any of the servers around would judge it.
    pub(crate) fn look_ahead_of_any(&mut self, node: &Node, row: u32) -> u64 {
        node.horizon.look_ahead() + self.corner(node, row).others * node.horizon.legs
    }

    /// The farthest that any row is judged ahead, ticks.
    pub(crate) fn look_ahead_max(&self, node: &Node) -> u64 {
        let others = if node.seam.cornered { RELAYS_MAX } else { self.hosts.len().saturating_sub(1).min(RELAYS_MAX) };
        let others = others.min(node.map.regions().len().saturating_sub(2)) as u64;
        node.horizon.look_ahead() + others * node.horizon.legs + u64::from(self.sweeps)
    }

    /// True when an aura and an own body may touch before the body could be among its neighbours, if not given away now
    /// but at the next chance; `more` ticks are added to both.
    pub(crate) fn may_touch(&mut self, node: &Node, aura: &Aura, row: u32, more: u64) -> bool {
        let horizon = node.horizon;
        let still = self.rows[row as usize].asleep && aura.speed == 0.0;
        let near = self.near(node, row);
        if still && near.speed == 0.0 {
            let tossed = node.config.planted == Some(Planted::SleepersTossed);
            return tossed && aura.extent.is_within(0.2, &near.extent);
        }
        let reach = horizon.fixed_m.unwrap_or_else(|| {
            let sweep = u64::from(near.sweeps || aura.sweeps);
            let ticks = self.look_ahead(node, row) + more + sweep;
            let theirs = Seam::age(node.now, aura) + ticks;
            let gain = if aura.speed > 0.0 { horizon.gravity } else { 0.0 };
            horizon.reach(aura.speed, gain, theirs) + horizon.reach(near.speed, near.gain, ticks)
        });
        aura.extent.is_within(TOUCH_M + reach, &near.extent)
    }

    /// True when two own bodies may touch within some ticks, where each may gain at least `gain` m/s2.
    pub(crate) fn belong_together(&mut self, node: &Node, one: u32, two: u32, ticks: u64, gain: f32) -> bool {
        let (one, two) = (self.near(node, one), self.near(node, two));
        let horizon = &node.horizon;
        let ticks = ticks + u64::from(one.sweeps || two.sweeps);
        let reach = match horizon.fixed_m {
            Some(aura) => 2.0 * aura,
            None => {
                horizon.reach(one.speed, one.gain.max(gain), ticks)
                    + horizon.reach(two.speed, two.gain.max(gain), ticks)
            }
        };
        one.extent.is_within(TOUCH_M + reach, &two.extent)
    }
}

/// Servers around a body.
#[derive(Clone, Copy, Debug, Default)]
struct Corner {
    /// How many servers may pass the body on before it has arrived: those of lower rank beyond the first.
    relays: u64,
    /// How many there are beyond two.
    others: u64,
}

impl Node {
    /// For how long a body is judged ahead at the most, seconds.
    fn swing_s(&self) -> f32 {
        ((3 + self.seam.corner_max) * self.horizon.legs + 1) as f32 * self.horizon.tick_s
    }

    /// How fast the centre of a body moves that was moved by the last step, and how hard it strikes.
    fn impact_of(&self, moved: &StateUpdate) -> (f32, Strike) {
        let Velocity { linear, angular } = moved.velocity;
        let calm = angular.length() * self.seam.largest_m;
        let is_calm = self.seam.restitution == 0.0 && calm <= CALM_SPIN_M_S;
        let body = if is_calm { None } else { self.physics.view(moved.nid) };
        let calm = Strike { speed: linear.length(), spin: calm, spin_mass: f32::INFINITY, ..STRIKE_NONE };
        (linear.length(), body.map_or(calm, |body| strike_of(&body)))
    }
}

/// The room a body takes once it has turned: its spin moves its surface by so much, metres, but never out of the ball
/// around it.
fn swung(extent: Extent, radius: f32, by: f32) -> Extent {
    let room = (radius - extent.bounds.half().min_element()).max(0.0);
    let by = by.min(room);
    Extent { bounds: extent.bounds.grown(by), axis: extent.axis, radius: extent.radius + by }
}

/// What an own body tells of its strike.
pub(crate) fn strike_of(body: &BodyView<'_>) -> Strike {
    let share = if matches!(body.desc.shape, Shape::Compound { .. }) { 1.0 } else { TIP_SHARE };
    let (mass, speed, restitution) = (body.striking_mass(), body.velocity.linear.length(), body.desc.restitution);
    Strike { speed, mass, restitution, spin: (body.surface_speed() - speed).max(0.0), spin_mass: share * mass }
}

/// How a body counts whose mass does not matter, because nothing bounces.
pub(crate) const STRIKE_NONE: Strike = Strike { speed: 0.0, mass: 1.0, restitution: 0.0, spin: 0.0, spin_mass: 0.0 };

/// Greatest speed of a body after something strikes it. What cannot throw it leaves it as fast as the faster of the two.
fn struck(speed: f32, own: Strike, by: &Row) -> f32 {
    let Strike { mass, restitution, spin, spin_mass, .. } = by.strike;
    let centre = (by.speed - spin).max(0.0);
    let still = Struck { speed: 0.0, mass: own.mass, restitution: own.restitution };
    let thrown = speed_after(still, Striker { speed: centre, mass, restitution });
    let by_centre = if thrown > centre {
        speed_after(Struck { speed, ..still }, Striker { speed: centre, mass, restitution })
    } else {
        centre
    };
    by_centre + speed_after(still, Striker { speed: spin, mass: spin_mass, restitution })
}

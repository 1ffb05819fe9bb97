//! Forms and places of all bodies, for questions only.
//!
//! Whoever hears of every body and owns none, such as a gateway, answers from this. Nothing moves by itself and nothing
//! touches; a body is a form, a place and a box in a search tree.

use nimbus_model::{BodyDesc, Nid, Pose, Shape, Vec3, Velocity, World};
use std::fmt;

use crate::convert;
use crate::narrow::{Placed, Ranked, cast_reach, query_moving, query_ray, query_shape, with_slack};
use crate::queries::{Filter, Nearest, RayHit, ShapeHit};
use crate::search::{self, Line, Node};
use crate::shapes::ShapeStore;

mod tree;

use tree::{Entry, Tree};

/// A mirror of a world: its statics, and bodies where somebody says they are.
///
/// Answers are those that a [`crate::PhysicsWorld`] with the same bodies at the same places gives. They are right after
/// every call; [`QueryMirror::settle`] after many changes keeps them quick.
pub struct QueryMirror {
    statics: Tree,
    bodies: Tree,
    shapes: ShapeStore,
    tried: u64,
}

impl QueryMirror {
    /// A mirror with the statics of a world, named as in any server of this era. Statics that cannot be built are left
    /// out, as servers do.
    pub fn new(world: &World, era: u16) -> QueryMirror {
        let mut mirror = QueryMirror::bare();
        for (key, (index, spawn)) in (0..).zip(world.statics()) {
            if let Ok(entry) = mirror.entry(Nid::of_world(era, index), &spawn.desc, spawn.pose) {
                mirror.statics.insert(key, entry);
            }
        }
        mirror.statics.settle();
        mirror
    }

    /// A mirror without statics.
    pub fn bare() -> QueryMirror {
        QueryMirror { statics: Tree::default(), bodies: Tree::default(), shapes: ShapeStore::default(), tried: 0 }
    }

    /// A body is there. `key` is a small number of the caller's choosing, by which the body is moved and removed; what
    /// had it before is gone. Or why such a body cannot be.
    pub fn insert(&mut self, key: u32, nid: Nid, desc: &BodyDesc, pose: Pose) -> Result<(), String> {
        let entry = self.entry(nid, desc, pose)?;
        self.bodies.insert(key, entry);
        Ok(())
    }

    /// A body is somewhere else. False when there is no such body, or when nothing can be there; it then stays.
    pub fn place(&mut self, key: u32, pose: Pose) -> bool {
        convert::is_sane(&pose, &Velocity::ZERO) && self.bodies.place(key, convert::engine_pose(&pose))
    }

    /// A body is gone. False when there was none.
    pub fn remove(&mut self, key: u32) -> bool {
        self.bodies.remove(key)
    }

    /// Puts the search tree in order after changes; does nothing when there were none. Once a tick is right.
    pub fn settle(&mut self) {
        self.bodies.settle();
    }

    /// How many bodies there are, statics left out.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// True when there is no body, statics left out.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bodies were looked at closely for all answers so far: what the answers cost.
    pub fn tried(&self) -> u64 {
        self.tried
    }

    /// The first body that a ray meets within `max` metres. `None` also for a direction that is none.
    pub fn ray_cast(&mut self, origin: Vec3, direction: Vec3, max: f32, filter: Filter) -> Option<RayHit> {
        let ray = query_ray(origin, direction, max)?;
        let line = Line::new(ray.origin, ray.dir, Vec3::ZERO);
        self.best(filter, max, |node| line.enters(node), |body, reach| body.on_ray(&ray, reach))
    }

    /// The first body that a shape meets when it moves from a pose along a direction for at most `max` metres. `None`
    /// also for a shape or direction that is none.
    pub fn shape_cast(
        &mut self,
        shape: &Shape,
        from: Pose,
        direction: Vec3,
        max: f32,
        filter: Filter,
    ) -> Option<ShapeHit> {
        let moving = query_moving(shape, from, direction)?;
        let bounds = moving.shape.compute_aabb(&moving.start);
        let line = Line::new(bounds.center(), moving.direction, bounds.half_extents());
        let max = cast_reach(max);
        self.best(filter, max, |node| line.enters(node), |body, reach| body.in_way(&moving, reach))
    }

    /// The bodies that a shape at a pose overlaps, sorted. None for a shape or pose that is none.
    pub fn overlap(&mut self, shape: &Shape, at: Pose, filter: Filter) -> Vec<Nid> {
        let Some(shape) = query_shape(shape, &at) else { return Vec::new() };
        let pose = convert::engine_pose(&at);
        let bounds = shape.compute_aabb(&pose);
        let mut nids = Vec::new();
        for tree in [filter.owned.then_some(&self.bodies), filter.statics.then_some(&self.statics)] {
            for body in tree.into_iter().flat_map(|tree| tree.within(&bounds, filter)) {
                self.tried += 1;
                nids.extend(body.overlaps(&*shape, &pose, &bounds).then_some(body.nid));
            }
        }
        nids.sort_unstable();
        nids
    }

    /// The body nearest to a place, within `max` metres.
    pub fn nearest(&mut self, place: Vec3, max: f32, filter: Filter) -> Option<Nearest> {
        if !place.is_finite() || max.is_nan() || max < 0.0 {
            return None;
        }
        let max = max.min(2.0 * convert::LIMIT);
        self.best(filter, max, |node| search::distance(node, place), |body, reach| body.near(place, reach))
    }

    fn entry(&mut self, nid: Nid, desc: &BodyDesc, pose: Pose) -> Result<Entry, String> {
        if let Some(problem) = desc.problem() {
            return Err(problem);
        }
        if !convert::is_sane(&pose, &Velocity::ZERO) {
            return Err("it is nowhere".to_owned());
        }
        Ok(Entry::new(nid, desc, self.shapes.get(&desc.shape)?, convert::engine_pose(&pose)))
    }

    /// The best answer of any body that counts.
    fn best<T: Ranked>(
        &mut self,
        filter: Filter,
        max: f32,
        bound: impl Fn(&Node) -> f32,
        answer: impl Fn(&Placed<'_>, f32) -> Option<T>,
    ) -> Option<T> {
        let mut best: Option<T> = None;
        for (wanted, tree) in [(filter.owned, &self.bodies), (filter.statics, &self.statics)] {
            if wanted {
                let reach = best.map_or(max, |best| with_slack(best.rank().0, max));
                let (found, tried) = tree.best(filter, reach, &bound, &answer);
                self.tried += tried;
                best = best.into_iter().chain(found).min_by(Ranked::order);
            }
        }
        best
    }
}

impl fmt::Debug for QueryMirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bodies, statics) = (self.bodies.len(), self.statics.len());
        write!(f, "QueryMirror({bodies} bodies, {statics} statics)")
    }
}

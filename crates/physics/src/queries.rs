//! Asking what is where. Answers do not depend on the engine's internal order: ties go to the lower id.
//!
//! No step is needed between a change and a question: bodies inserted since the last step are not in the engine's
//! search tree yet, so they are tried one by one. That makes questions slower after a large insertion, until the step.

use nimbus_model::{Groups, Nid, Pose, Shape, Vec3};
use rapier3d::geometry::Collider;
use rapier3d::parry::bounding_volume::Aabb as EngineAabb;
use rapier3d::pipeline::{QueryFilter, QueryPipeline};

use crate::narrow::{Placed, Ranked, cast_reach, query_moving, query_ray, query_shape, with_slack};
use crate::search::{self, Line};
use crate::{PhysicsWorld, convert};

/// How far beside a ray a box is still looked into, metres: more than rounding takes from a ray on the face of a box.
const RAY_MARGIN: f32 = 0.01;

/// Which bodies a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Statics count.
    pub statics: bool,
    /// Owned bodies count.
    pub owned: bool,
    /// Sensors count.
    pub sensors: bool,
    /// Only bodies that a body of these groups would touch count.
    pub groups: Groups,
    /// This body does not count; for questions a body asks about its surroundings.
    pub except: Option<Nid>,
}

impl Filter {
    /// Every solid body.
    pub const SOLIDS: Filter = Filter {
        statics: true,
        owned: true,
        sensors: false,
        groups: Groups { memberships: u32::MAX, filter: u32::MAX },
        except: None,
    };

    /// Every solid body that somebody owns.
    pub const OWNED: Filter = Filter { statics: false, ..Filter::SOLIDS };
}

impl Default for Filter {
    fn default() -> Self {
        Filter::SOLIDS
    }
}

/// Where a ray first meets a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// Which body.
    pub nid: Nid,
    /// How far along the ray, metres; zero if the ray starts inside.
    pub distance: f32,
    /// Where, in the world.
    pub point: Vec3,
    /// Outward direction of the surface there; zero if the ray starts inside.
    pub normal: Vec3,
}

/// Where a moving shape first meets a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeHit {
    /// Which body.
    pub nid: Nid,
    /// How far the shape moved, metres; zero if it overlaps at the start.
    pub distance: f32,
    /// Where they touch, in the world. At the start of an overlap, the deepest point.
    pub point: Vec3,
    /// Outward direction of the body's surface there.
    pub normal: Vec3,
}

/// The point of a body nearest to a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Which body.
    pub nid: Nid,
    /// How far away, metres; zero if the place is inside the body.
    pub distance: f32,
    /// The nearest point, in the world.
    pub point: Vec3,
}

impl PhysicsWorld {
    /// The first body that a ray meets within `max` metres. `None` also for a direction that is none.
    pub fn ray_cast(&self, origin: Vec3, direction: Vec3, max: f32, filter: Filter) -> Option<RayHit> {
        let ray = query_ray(origin, direction, max)?;
        let fresh = self.fresh_bodies(filter).filter_map(|body| body.on_ray(&ray, max));
        let line = Line::new(ray.origin, ray.dir, Vec3::splat(RAY_MARGIN));
        // Not by the engine's own search: it asks surfaces in a way that lets rays through between their triangles.
        let counts = |key: u32| self.counted(key, &filter);
        let near = self.in_tree(filter, |tree| {
            search::best(tree.bvh, max, |node| line.enters(node), counts, |body| body.on_ray(&ray, max)).0
        });
        fresh.chain(near).min_by(Ranked::order)
    }

    /// The first body that a shape meets when it moves from a pose along a direction for at most `max` metres. `None`
    /// also for a shape or direction that is none.
    pub fn shape_cast(&self, shape: &Shape, from: Pose, direction: Vec3, max: f32, filter: Filter) -> Option<ShapeHit> {
        let moving = query_moving(shape, from, direction)?;
        let max = cast_reach(max);
        let fresh = self.fresh_bodies(filter).filter_map(|body| body.in_way(&moving, max));
        let bounds = moving.shape.compute_aabb(&moving.start);
        let line = Line::new(bounds.center(), moving.direction, bounds.half_extents());
        // Not by the engine's own search: it gives every next body a shorter way, and so loses those that are met just
        // before the end of it.
        let counts = |key: u32| self.counted(key, &filter);
        let near = self.in_tree(filter, |tree| {
            search::best(tree.bvh, max, |node| line.enters(node), counts, |body| body.in_way(&moving, max)).0
        });
        fresh.chain(near).min_by(Ranked::order)
    }

    /// The bodies that a shape at a pose overlaps, sorted. None for a shape or pose that is none.
    pub fn overlap(&self, shape: &Shape, at: Pose, filter: Filter) -> Vec<Nid> {
        let mut tries = u64::MAX;
        self.overlap_within(shape, at, filter, &mut tries).unwrap_or_default()
    }

    /// The same for whoever has little time: every body that is looked at closely takes one from `tries`, and there is
    /// no answer when they do not suffice.
    pub fn overlap_within(&self, shape: &Shape, at: Pose, filter: Filter, tries: &mut u64) -> Option<Vec<Nid>> {
        let Some(shape) = query_shape(shape, &at) else { return Some(Vec::new()) };
        let pose = convert::engine_pose(&at);
        let bounds = shape.compute_aabb(&pose);
        let mut nids = Vec::new();
        // False when there is no time left for this one.
        let mut look = |body: Placed<'_>| {
            let left = tries.checked_sub(1);
            *tries = left.unwrap_or(0);
            nids.extend((left.is_some() && body.overlaps(&*shape, &pose, &bounds)).then_some(body.nid));
            left.is_some()
        };
        let mut whole = self.fresh_bodies(filter).all(&mut look);
        self.in_tree(filter, |tree| {
            let mut all = tree.intersect_aabb_conservative(bounds);
            whole = whole && all.all(|(_, collider)| self.placed(collider).is_none_or(&mut look));
            None::<()>
        });
        nids.sort_unstable();
        nids.dedup();
        whole.then_some(nids)
    }

    /// The body nearest to a place, within `max` metres.
    pub fn nearest(&self, place: Vec3, max: f32, filter: Filter) -> Option<Nearest> {
        if !place.is_finite() || max.is_nan() || max < 0.0 {
            return None;
        }
        let max = max.min(2.0 * convert::LIMIT);
        let fresh = self.fresh_bodies(filter).filter_map(|body| body.near(place, max));
        let near = self.in_tree(filter, |tree| {
            let (_, first) = tree.project_point(place, max, true)?;
            let reach = with_slack((first.point - place).length(), max);
            let around = EngineAabb::from_half_extents(place, Vec3::splat(reach));
            let all = tree.intersect_aabb_conservative(around);
            all.filter_map(|(_, collider)| self.placed(collider)?.near(place, reach)).min_by(Ranked::order)
        });
        fresh.chain(near).min_by(Ranked::order)
    }

    /// Asks the engine's search tree, with the filter applied.
    fn in_tree<T>(&self, filter: Filter, ask: impl FnOnce(&QueryPipeline<'_>) -> Option<T>) -> Option<T> {
        let admits = |_, collider: &Collider| self.admits(&filter, collider);
        let dispatcher = self.engine.narrow_phase.query_dispatcher();
        let only = QueryFilter::new().predicate(&admits);
        ask(&self.engine.broad_phase.as_query_pipeline(dispatcher, &self.engine.bodies, &self.engine.colliders, only))
    }

    /// The admitted bodies that the search tree does not know yet.
    fn fresh_bodies(&self, filter: Filter) -> impl Iterator<Item = Placed<'_>> + '_ {
        let colliders = self.fresh.iter().filter_map(|handle| self.engine.colliders.get(*handle));
        colliders.filter(move |collider| self.admits(&filter, collider)).filter_map(|collider| self.placed(collider))
    }

    /// The body of a leaf of the search tree, if it counts.
    fn counted(&self, key: u32, filter: &Filter) -> Option<Placed<'_>> {
        let (collider, _) = self.engine.colliders.get_unknown_gen(key)?;
        self.placed(collider).filter(|_| self.admits(filter, collider))
    }

    fn placed<'a>(&self, collider: &'a Collider) -> Option<Placed<'a>> {
        Some(Placed { nid: self.present_nid(collider)?, at: collider.position(), shape: collider.shape() })
    }

    fn admits(&self, filter: &Filter, collider: &Collider) -> bool {
        let body = collider.parent().and_then(|handle| self.engine.bodies.get(handle));
        let (Some(nid), Some(body)) = (self.present_nid(collider), body) else { return false };
        let kind = if body.is_fixed() { filter.statics } else { filter.owned };
        kind && filter.passes(nid, collider.is_sensor(), collider.collision_groups())
    }
}

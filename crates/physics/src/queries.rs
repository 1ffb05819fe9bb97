//! Asking what is where. Answers do not depend on the engine's internal order: ties go to the lower id.
//!
//! No step is needed between a change and a question: bodies inserted since the last step are not in the engine's
//! search tree yet, so they are tried one by one. That makes questions slower after a large insertion, until the step.

use nimbus_model::{Groups, Nid, Pose, Shape, Vec3};
use rapier3d::geometry::{Collider, Ray, ShapeCastHit};
use rapier3d::parry::bounding_volume::{Aabb as EngineAabb, BoundingVolume};
use rapier3d::parry::query::{self, ShapeCastOptions, ShapeCastStatus};
use rapier3d::parry::shape::{Shape as EngineShape, SharedShape};
use rapier3d::pipeline::{QueryFilter, QueryPipeline};

use crate::shapes::ShapeStore;
use crate::{PhysicsWorld, body, convert};

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
        let direction = direction.try_normalize()?;
        if !origin.is_finite() || max.is_nan() || max < 0.0 {
            return None;
        }
        let ray = Ray::new(origin, direction);
        let hit = |nid: Nid, collider: &Collider, reach: f32| {
            let found = collider.shape().cast_ray_and_get_normal(collider.position(), &ray, reach, true)?;
            let (distance, normal) = (found.time_of_impact, found.normal);
            Some(RayHit { nid, distance, point: origin + direction * distance, normal })
        };
        let fresh = self.fresh_colliders(filter).filter_map(|(nid, collider)| hit(nid, collider, max));
        let near = self.in_tree(filter, |tree| {
            let (_, first) = tree.cast_ray(&ray, max, true)?;
            let reach = with_slack(first, max);
            let all = tree.intersect_ray(ray, reach, true);
            all.filter_map(|(_, collider, _)| hit(self.present_nid(collider)?, collider, reach)).min_by(by_ray)
        });
        fresh.chain(near).min_by(by_ray)
    }

    /// The first body that a shape meets when it moves from a pose along a direction for at most `max` metres. `None`
    /// also for a shape or direction that is none.
    pub fn shape_cast(&self, shape: &Shape, from: Pose, direction: Vec3, max: f32, filter: Filter) -> Option<ShapeHit> {
        let direction = direction.try_normalize()?;
        let moving = query_shape(shape, &from)?;
        let start = convert::engine_pose(&from);
        let hit = |nid: Nid, collider: &Collider, reach: f32| {
            let found = cast(&*moving, &start, direction, collider, reach)?;
            let overlaps = found.status == ShapeCastStatus::PenetratingOrWithinTargetDist;
            let distance = if overlaps { 0.0 } else { found.time_of_impact };
            let point = collider.position() * found.witness2;
            Some(ShapeHit { nid, distance, point, normal: collider.position().rotation * found.normal2 })
        };
        let max = if max.is_finite() { max.max(0.0) } else { 2.0 * convert::LIMIT };
        let fresh = self.fresh_colliders(filter).filter_map(|(nid, collider)| hit(nid, collider, max));
        let near = self.in_tree(filter, |tree| {
            let (_, first) = tree.cast_shape(&start, direction, &*moving, cast_options(max))?;
            let reach = with_slack(first.time_of_impact, max);
            let swept = moving.compute_aabb(&start);
            let swept = swept.merged(&swept.translated(direction * reach));
            let all = tree.intersect_aabb_conservative(swept);
            all.filter_map(|(_, collider)| hit(self.present_nid(collider)?, collider, reach)).min_by(by_shape)
        });
        fresh.chain(near).min_by(by_shape)
    }

    /// The bodies that a shape at a pose overlaps, sorted. None for a shape or pose that is none.
    pub fn overlap(&self, shape: &Shape, at: Pose, filter: Filter) -> Vec<Nid> {
        let Some(shape) = query_shape(shape, &at) else { return Vec::new() };
        let pose = convert::engine_pose(&at);
        let fresh = self.fresh_colliders(filter).filter(|(_, collider)| {
            query::intersection_test(&pose, &*shape, collider.position(), collider.shape())
                .is_ok_and(|found| found.intersecting)
        });
        let mut nids: Vec<Nid> = fresh.map(|(nid, _)| nid).collect();
        self.in_tree(filter, |tree| {
            let all = tree.intersect_shape(pose, &*shape);
            nids.extend(all.filter_map(|(_, collider)| self.present_nid(collider)));
            None::<()>
        });
        nids.sort_unstable();
        nids.dedup();
        nids
    }

    /// The body nearest to a place, within `max` metres.
    pub fn nearest(&self, place: Vec3, max: f32, filter: Filter) -> Option<Nearest> {
        if !place.is_finite() || max.is_nan() || max < 0.0 {
            return None;
        }
        let max = max.min(2.0 * convert::LIMIT);
        let measure = |nid: Nid, collider: &Collider, reach: f32| {
            let point = collider.shape().project_point(collider.position(), place, true).point;
            let distance = (point - place).length();
            (distance <= reach).then_some(Nearest { nid, distance, point })
        };
        let fresh = self.fresh_colliders(filter).filter_map(|(nid, collider)| measure(nid, collider, max));
        let near = self.in_tree(filter, |tree| {
            let (_, first) = tree.project_point(place, max, true)?;
            let reach = with_slack((first.point - place).length(), max);
            let around = EngineAabb::from_half_extents(place, Vec3::splat(reach));
            let all = tree.intersect_aabb_conservative(around);
            all.filter_map(|(_, collider)| measure(self.present_nid(collider)?, collider, reach)).min_by(by_distance)
        });
        fresh.chain(near).min_by(by_distance)
    }

    /// Asks the engine's search tree, with the filter applied.
    fn in_tree<T>(&self, filter: Filter, ask: impl FnOnce(&QueryPipeline<'_>) -> Option<T>) -> Option<T> {
        let admits = |_, collider: &Collider| self.admits(&filter, collider).is_some();
        let dispatcher = self.engine.narrow_phase.query_dispatcher();
        let only = QueryFilter::new().predicate(&admits);
        ask(&self.engine.broad_phase.as_query_pipeline(dispatcher, &self.engine.bodies, &self.engine.colliders, only))
    }

    /// The admitted colliders that the search tree does not know yet.
    fn fresh_colliders(&self, filter: Filter) -> impl Iterator<Item = (Nid, &Collider)> + '_ {
        self.fresh.iter().filter_map(move |handle| {
            let collider = self.engine.colliders.get(*handle)?;
            Some((self.admits(&filter, collider)?, collider))
        })
    }

    fn admits(&self, filter: &Filter, collider: &Collider) -> Option<Nid> {
        let nid = self.present_nid(collider)?;
        let is_static = self.engine.bodies.get(collider.parent()?)?.is_fixed();
        let kind = if is_static { filter.statics } else { filter.owned };
        let admitted = kind
            && (filter.sensors || !collider.is_sensor())
            && filter.except != Some(nid)
            && collider.collision_groups().test(body::groups(filter.groups));
        admitted.then_some(nid)
    }
}

/// How far to look for others at the distance of the first one found: a little farther, because the engine may round
/// differently on another path.
fn with_slack(distance: f32, max: f32) -> f32 {
    (distance * (1.0 + 1e-5) + 1e-5).min(max)
}

/// The engine shape of a question, if there is one.
fn query_shape(shape: &Shape, at: &Pose) -> Option<SharedShape> {
    if shape.problem().is_some() || shape.is_surface() || !at.is_valid() {
        return None;
    }
    ShapeStore::default().get(shape).ok()
}

fn cast_options(max: f32) -> ShapeCastOptions {
    ShapeCastOptions {
        max_time_of_impact: max,
        target_distance: 0.0,
        stop_at_penetration: true,
        compute_impact_geometry_on_penetration: true,
    }
}

fn cast(
    moving: &dyn EngineShape,
    start: &rapier3d::math::Pose,
    direction: Vec3,
    collider: &Collider,
    max: f32,
) -> Option<ShapeCastHit> {
    let (at, shape) = (collider.position(), collider.shape());
    query::cast_shapes(start, direction, moving, at, Vec3::ZERO, shape, cast_options(max)).ok().flatten()
}

fn by_ray(a: &RayHit, b: &RayHit) -> std::cmp::Ordering {
    a.distance.total_cmp(&b.distance).then(a.nid.cmp(&b.nid))
}

fn by_shape(a: &ShapeHit, b: &ShapeHit) -> std::cmp::Ordering {
    a.distance.total_cmp(&b.distance).then(a.nid.cmp(&b.nid))
}

fn by_distance(a: &Nearest, b: &Nearest) -> std::cmp::Ordering {
    a.distance.total_cmp(&b.distance).then(a.nid.cmp(&b.nid))
}

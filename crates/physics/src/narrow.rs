//! One question about one body: where a ray, a moving shape or a place meets it. A world and a mirror of one ask these
//! alike, so that they answer alike.

use nimbus_model::{Nid, Pose, Shape, Vec3};
use rapier3d::geometry::{InteractionGroups, Ray};
use rapier3d::math::Pose as EnginePose;
use rapier3d::parry::bounding_volume::{Aabb as EngineAabb, BoundingVolume};
use rapier3d::parry::query::{self, ShapeCastOptions, ShapeCastStatus};
use rapier3d::parry::shape::{Shape as EngineShape, SharedShape};
use std::cmp::Ordering;

use crate::queries::{Filter, Nearest, RayHit, ShapeHit};
use crate::shapes::ShapeStore;
use crate::{body, convert, height_field, watertight};

/// A body where it is.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) nid: Nid,
    pub(crate) at: &'a EnginePose,
    pub(crate) shape: &'a dyn EngineShape,
}

/// A shape that moves along a straight line.
pub(crate) struct Moving {
    pub(crate) shape: SharedShape,
    pub(crate) start: EnginePose,
    /// Of unit length.
    pub(crate) direction: Vec3,
}

impl Placed<'_> {
    /// Where a ray of unit direction meets the body.
    pub(crate) fn on_ray(&self, ray: &Ray, reach: f32) -> Option<RayHit> {
        let on_surface = || ray.inverse_transform_by(self.at);
        let (distance, normal) = if let Some(field) = self.shape.as_heightfield() {
            let found = height_field::on_ray(field, &on_surface(), reach)?;
            (found.distance, self.at.rotation * found.normal)
        } else if let Some(mesh) = self.shape.as_trimesh() {
            let found = watertight::on_mesh(mesh, &on_surface(), reach)?;
            (found.distance, self.at.rotation * found.normal)
        } else {
            let found = self.shape.cast_ray_and_get_normal(self.at, ray, reach, true)?;
            (found.time_of_impact, found.normal)
        };
        Some(RayHit { nid: self.nid, distance, point: ray.origin + ray.dir * distance, normal })
    }

    /// Where a moving shape meets the body.
    pub(crate) fn in_way(&self, moving: &Moving, reach: f32) -> Option<ShapeHit> {
        let Moving { shape, start, direction } = moving;
        let options = cast_options(reach);
        let found = if let Some(field) = self.shape.as_heightfield() {
            let (start, direction) = (self.at.inv_mul(start), self.at.rotation.inverse() * *direction);
            height_field::in_way(field, &**shape, &start, direction, options)
        } else {
            let found = query::cast_shapes(start, *direction, &**shape, self.at, Vec3::ZERO, self.shape, options);
            found.ok().flatten()
        }?;
        let overlaps = found.status == ShapeCastStatus::PenetratingOrWithinTargetDist;
        let distance = if overlaps { 0.0 } else { found.time_of_impact };
        let (point, normal) = (self.at * found.witness2, self.at.rotation * found.normal2);
        Some(ShapeHit { nid: self.nid, distance, point, normal })
    }

    /// The point of the body that is nearest to a place.
    pub(crate) fn near(&self, place: Vec3, reach: f32) -> Option<Nearest> {
        let point = self.shape.project_point(self.at, place, true).point;
        let distance = (point - place).length();
        (distance <= reach).then_some(Nearest { nid: self.nid, distance, point })
    }

    /// True when a shape overlaps the body. Their boxes have to as well: the engine takes some shapes that are next to
    /// each other for overlapping, and the answer must not depend on how a search tree came to ask.
    pub(crate) fn overlaps(&self, shape: &dyn EngineShape, at: &EnginePose, bounds: &EngineAabb) -> bool {
        self.shape.compute_aabb(self.at).intersects(bounds)
            && query::intersection_test(at, shape, self.at, self.shape).is_ok_and(|found| found.intersecting)
    }
}

impl Filter {
    /// True when a body counts, whether it is a static or not.
    pub(crate) fn passes(&self, nid: Nid, sensor: bool, groups: InteractionGroups) -> bool {
        (self.sensors || !sensor) && self.except != Some(nid) && groups.test(body::groups(self.groups))
    }
}

/// An answer that may be better than another.
pub(crate) trait Ranked: Copy {
    /// How far away, and which body: ties go to the lower id.
    fn rank(&self) -> (f32, Nid);

    fn order(&self, other: &Self) -> Ordering {
        let (mine, theirs) = (self.rank(), other.rank());
        mine.0.total_cmp(&theirs.0).then(mine.1.cmp(&theirs.1))
    }
}

impl Ranked for RayHit {
    fn rank(&self) -> (f32, Nid) {
        (self.distance, self.nid)
    }
}

impl Ranked for ShapeHit {
    fn rank(&self) -> (f32, Nid) {
        (self.distance, self.nid)
    }
}

impl Ranked for Nearest {
    fn rank(&self) -> (f32, Nid) {
        (self.distance, self.nid)
    }
}

/// The ray of a question, if it is one.
pub(crate) fn query_ray(origin: Vec3, direction: Vec3, max: f32) -> Option<Ray> {
    let direction = direction.try_normalize()?;
    (origin.is_finite() && max >= 0.0).then(|| Ray::new(origin, direction))
}

/// The engine shape of a question, if there is one.
pub(crate) fn query_shape(shape: &Shape, at: &Pose) -> Option<SharedShape> {
    if shape.problem().is_some() || shape.is_surface() || !at.is_valid() {
        return None;
    }
    ShapeStore::default().get(shape).ok()
}

/// The moving shape of a question, if there is one.
pub(crate) fn query_moving(shape: &Shape, from: Pose, direction: Vec3) -> Option<Moving> {
    let direction = direction.try_normalize()?;
    Some(Moving { shape: query_shape(shape, &from)?, start: convert::engine_pose(&from), direction })
}

/// How far a shape is moved when somebody asks for no end of it, metres.
pub(crate) fn cast_reach(max: f32) -> f32 {
    if max.is_finite() { max.max(0.0) } else { 2.0 * convert::LIMIT }
}

fn cast_options(max: f32) -> ShapeCastOptions {
    ShapeCastOptions {
        max_time_of_impact: max,
        target_distance: 0.0,
        stop_at_penetration: true,
        compute_impact_geometry_on_penetration: true,
    }
}

/// How far to look for others at the distance of the first one found: a little farther, because the engine may round
/// differently on another path.
pub(crate) fn with_slack(distance: f32, max: f32) -> f32 {
    (distance * (1.0 + 1e-5) + 1e-5).min(max)
}

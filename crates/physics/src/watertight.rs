//! A ray against triangles, without gaps between them.
//!
//! The engine tests each triangle by itself, and rounding lets a ray that meets the edge of two of them miss both. Here
//! corners are taken to a frame in which the ray is an axis, in double precision. A corner that two triangles share then
//! has the same coordinates in both, and an edge that they share has opposite signs, or is zero in both: the ray passes
//! on one side of it, on the other, or meets both triangles, and never falls through.

use glam::DVec3;
use nimbus_model::Vec3;
use rapier3d::geometry::Ray;
use rapier3d::parry::shape::TriMesh;
use std::cell::Cell;

use crate::search::Line;

/// Where a ray meets a surface: how far along it, and the normal on the side that it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meeting {
    pub(crate) distance: f32,
    pub(crate) normal: Vec3,
}

/// A ray of unit direction, ready to be held against many triangles.
pub(crate) struct SurfaceRay {
    origin: DVec3,
    direction: DVec3,
    /// The axis along which the ray goes most, and the two others.
    axes: [usize; 3],
    shear: [f64; 3],
}

impl SurfaceRay {
    pub(crate) fn new(ray: &Ray) -> SurfaceRay {
        let (origin, direction) = (ray.origin.as_dvec3(), ray.dir.as_dvec3());
        let size = direction.abs();
        let along = if size.x >= size.y && size.x >= size.z { 0 } else { 1 + usize::from(size.z > size.y) };
        let axes = [along, (along + 1) % 3, (along + 2) % 3];
        let length = direction[along];
        let shear = [1.0 / length, direction[axes[1]] / length, direction[axes[2]] / length];
        SurfaceRay { origin, direction, axes, shear }
    }

    pub(crate) fn origin(&self) -> DVec3 {
        self.origin
    }

    pub(crate) fn direction(&self) -> DVec3 {
        self.direction
    }

    /// Where the ray meets a triangle, edges and corners included, from either side.
    pub(crate) fn meets(&self, triangle: [Vec3; 3], reach: f32) -> Option<Meeting> {
        let [a, b, c] = triangle.map(|corner| self.sheared(corner));
        let edges = [c.y * b.z - c.z * b.y, a.y * c.z - a.z * c.y, b.y * a.z - b.z * a.y];
        let (some_below, some_above) = (edges.iter().any(|edge| *edge < 0.0), edges.iter().any(|edge| *edge > 0.0));
        let area: f64 = edges.iter().sum();
        if (some_below && some_above) || area == 0.0 {
            return None;
        }
        let distance = ((edges[0] * a.x + edges[1] * b.x + edges[2] * c.x) / area) as f32;
        if !(0.0..=reach).contains(&distance) {
            return None;
        }
        let [p, q, r] = triangle.map(|corner| corner.as_dvec3());
        let normal = (q - p).cross(r - p).try_normalize()?;
        let normal = if normal.dot(self.direction) > 0.0 { -normal } else { normal };
        Some(Meeting { distance, normal: normal.as_vec3() })
    }

    /// A corner in the frame of the ray: how far along it, and where beside it.
    fn sheared(&self, corner: Vec3) -> DVec3 {
        let from = corner.as_dvec3() - self.origin;
        let along = from[self.axes[0]];
        let beside = |axis: usize| from[self.axes[axis]] - self.shear[axis] * along;
        DVec3::new(along * self.shear[0], beside(1), beside(2))
    }
}

/// Where a ray in the frame of a mesh first meets it.
pub(crate) fn on_mesh(mesh: &TriMesh, ray: &Ray, reach: f32) -> Option<Meeting> {
    let ray_on_surfaces = SurfaceRay::new(ray);
    // Boxes of the mesh fit its triangles exactly, and a triangle may be flat.
    let slack = 1e-5 * (mesh.bvh().root_aabb().half_extents().max_element() + ray.origin.abs().max_element()) + 1e-6;
    let line = Line::new(ray.origin, ray.dir, Vec3::splat(slack));
    let best: Cell<Option<Meeting>> = Cell::new(None);
    let bound = |node: &crate::search::Node, _| {
        let enters = line.enters(node);
        if enters == f32::MAX { enters } else { enters * (1.0 - 1e-5) - slack }
    };
    let limit = (reach * (1.0 + 1e-5) + slack).min(f32::MAX);
    mesh.bvh().find_best(limit, bound, |key, _| {
        let found = ray_on_surfaces.meets(mesh.triangle(key).vertices().map(|corner| corner), reach)?;
        if best.get().is_none_or(|best| found.distance < best.distance) {
            best.set(Some(found));
        }
        Some(found.distance)
    });
    best.get()
}

//! Rays and moving shapes against a height field.
//!
//! The engine walks from cell to cell in single precision, one cell at a time, and does not walk on at all when a shape
//! moves horizontally. So it loses what lies on a grid line, and what is farther away than the first cells. Here every cell
//! that the way of a box may come over is looked at, with some slack, in the order in which the way comes to them.

use glam::DVec3;
use nimbus_model::Vec3;
use rapier3d::geometry::Ray;
use rapier3d::math::Pose as EnginePose;
use rapier3d::parry::query::{self, ShapeCastHit, ShapeCastOptions};
use rapier3d::parry::shape::{HeightField, Shape as EngineShape, Triangle};
use std::ops::RangeInclusive;

use crate::watertight::{Meeting, SurfaceRay};

/// Where a ray of unit direction in the frame of the field first meets it, grid lines and borders included.
pub(crate) fn on_ray(field: &HeightField, ray: &Ray, reach: f32) -> Option<Meeting> {
    let ray = SurfaceRay::new(ray);
    let way = Way { origin: ray.origin(), direction: ray.direction(), half: DVec3::ZERO };
    let mut best: Option<Meeting> = None;
    way.over(field, reach, |corners| {
        let found = triangles(corners).into_iter().filter_map(|triangle| ray.meets(triangle, reach));
        for found in found {
            if best.is_none_or(|best| found.distance < best.distance) {
                best = Some(found);
            }
        }
        best.map(|best| best.distance)
    });
    best
}

/// Where a shape that moves along a unit direction first meets the field, all in the frame of the field.
pub(crate) fn in_way(
    field: &HeightField,
    shape: &dyn EngineShape,
    start: &EnginePose,
    direction: Vec3,
    options: ShapeCastOptions,
) -> Option<ShapeCastHit> {
    let bounds = shape.compute_aabb(start);
    let (origin, half) = (bounds.center().as_dvec3(), bounds.half_extents().as_dvec3());
    let way = Way { origin, direction: direction.as_dvec3(), half };
    let mut best: Option<ShapeCastHit> = None;
    way.over(field, options.max_time_of_impact, |corners| {
        for [a, b, c] in triangles(corners) {
            let triangle = Triangle::new(a, b, c);
            let still = EnginePose::IDENTITY;
            // The triangle first, as the engine does with meshes: the other way around it loses a hit in some 50,000.
            let found = query::cast_shapes(&still, Vec3::ZERO, &triangle, start, direction, shape, options);
            let found = found.ok().flatten().map(ShapeCastHit::swapped);
            if let Some(found) =
                found.filter(|found| best.is_none_or(|best| found.time_of_impact < best.time_of_impact))
            {
                best = Some(found);
            }
        }
        best.map(|best| best.time_of_impact)
    });
    best
}

/// The corners of a cell: the first and the second along `z` at the lower `x`, then the same at the higher `x`.
type Corners = [Vec3; 4];

/// The two halves of a cell, divided as the engine does.
fn triangles([p00, p10, p01, p11]: Corners) -> [[Vec3; 3]; 2] {
    [[p00, p10, p01], [p10, p11, p01]]
}

fn corners(field: &HeightField, row: usize, column: usize) -> Corners {
    let heights = field.heights();
    let corner = |i, j| Vec3::new(field.x_at(j), heights[(i, j)] * field.scale().y, field.z_at(i));
    [corner(row, column), corner(row + 1, column), corner(row, column + 1), corner(row + 1, column + 1)]
}

/// The way of a box along a unit direction; a ray is that of a box without extent.
struct Way {
    origin: DVec3,
    direction: DVec3,
    half: DVec3,
}

impl Way {
    /// Looks at every cell that the box may touch within `reach`. `look` says how far away the best answer is; cells that the
    /// box comes to only after that are left out.
    fn over(&self, field: &HeightField, reach: f32, mut look: impl FnMut(Corners) -> Option<f32>) {
        let (low, high) = (field.root_aabb().mins.as_dvec3(), field.root_aabb().maxs.as_dvec3());
        let slack = 1e-6 * (high - low).max_element().max(low.abs().max_element()).max(high.abs().max_element()) + 1e-9;
        let mut during = (0.0, f64::from(reach));
        for axis in 0..3 {
            during = self.within(axis, (low[axis], high[axis]), slack, during);
        }
        if during.0 > during.1 {
            return;
        }
        let cells = [field.ncols(), 0, field.nrows()];
        let size = (high - low) / DVec3::new(cells[0] as f64, 1.0, cells[2] as f64);
        // Bands of cells across the axis along which the way crosses more of them.
        let crossed = (self.direction / size).abs();
        let (along, across) = if crossed.x >= crossed.z { (0, 2) } else { (2, 0) };
        let line = |axis: usize, index: usize| low[axis] + size[axis] * index as f64;
        let indices = |axis: usize, (from, to): (f64, f64)| -> RangeInclusive<usize> {
            let index = |at: f64| (((at - low[axis]) / size[axis]).floor().max(0.0) as usize).min(cells[axis] - 1);
            index(from - slack)..=index(to + slack)
        };
        let bands = indices(along, self.extent(along, during));
        let (first, last) = (*bands.start(), *bands.end());
        let mut best = f64::INFINITY;
        for step in 0..=last - first {
            let band = if self.direction[along] < 0.0 { last - step } else { first + step };
            let over_band = self.within(along, (line(along, band), line(along, band + 1)), slack, during);
            if over_band.0 > over_band.1 {
                continue;
            }
            if over_band.0 > best {
                return;
            }
            let (lowest, highest) = self.extent(1, over_band);
            for other in indices(across, self.extent(across, over_band)) {
                let (row, column) = if along == 0 { (other, band) } else { (band, other) };
                let corners = corners(field, row, column);
                let heights = corners.map(|corner| f64::from(corner.y));
                let passes = heights.iter().all(|height| *height < lowest - slack)
                    || heights.iter().all(|height| *height > highest + slack);
                if !passes && let Some(found) = look(corners) {
                    best = best.min(f64::from(found) * (1.0 + 1e-5) + slack);
                }
            }
        }
    }

    /// When the box is between two values of an axis, within a time; the end is before the begin when it never is.
    fn within(&self, axis: usize, (low, high): (f64, f64), slack: f64, (from, to): (f64, f64)) -> (f64, f64) {
        let (origin, speed, room) = (self.origin[axis], self.direction[axis], self.half[axis] + slack);
        let (low, high) = (low - room, high + room);
        if speed == 0.0 {
            return if (low..=high).contains(&origin) { (from, to) } else { (1.0, 0.0) };
        }
        let (enters, leaves) = ((low - origin) / speed, (high - origin) / speed);
        (from.max(enters.min(leaves)), to.min(enters.max(leaves)))
    }

    /// What the box covers of an axis during a time.
    fn extent(&self, axis: usize, (from, to): (f64, f64)) -> (f64, f64) {
        let at = |time: f64| self.origin[axis] + self.direction[axis] * time;
        (at(from).min(at(to)) - self.half[axis], at(from).max(at(to)) + self.half[axis])
    }
}

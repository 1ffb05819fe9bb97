//! How far a point is from a region, and from the end of its own.
//!
//! Squares are taken in double precision: they neither overflow far out nor vanish close by, so a distance is zero
//! exactly when the point touches.

use nimbus_model::{Aabb, RegionId, Vec3};

use crate::tree::{Node, Tree};

/// Square of the distance from a point to a closed box. A coordinate that is not a number counts as inside.
pub(crate) fn to_box_squared(bounds: &Aabb, p: Vec3) -> f64 {
    let axis = |low: f32, high: f32, p: f32| {
        if p < low {
            f64::from(low) - f64::from(p)
        } else if p > high {
            f64::from(p) - f64::from(high)
        } else {
            0.0
        }
    };
    let x = axis(bounds.min.x, bounds.max.x, p.x);
    let y = axis(bounds.min.y, bounds.max.y, p.y);
    let z = axis(bounds.min.z, bounds.max.z, p.z);
    x * x + y * y + z * z
}

/// Distance from a point to the nearest of some boxes.
pub(crate) fn to_boxes(boxes: &[Aabb], p: Vec3) -> f32 {
    boxes.iter().map(|bounds| to_box_squared(bounds, p)).fold(f64::INFINITY, f64::min).sqrt() as f32
}

/// Distance from a point to the nearest leaf whose region is wanted; infinite when there is none.
pub(crate) fn to_nearest(tree: &Tree, p: Vec3, wanted: impl Fn(RegionId) -> bool) -> f32 {
    let mut search = Search { tree, p: p.to_array(), wanted, best: f64::INFINITY };
    search.visit(0, [0.0; 3], 0.0);
    search.best.sqrt() as f32
}

/// Distance from a point inside a box to its nearest face; infinite when the box has none.
pub(crate) fn to_nearest_face(bounds: &Aabb, p: Vec3) -> f32 {
    let low = p - bounds.min;
    let high = bounds.max - p;
    low.x.min(low.y).min(low.z).min(high.x).min(high.y).min(high.z)
}

struct Search<'a, W> {
    tree: &'a Tree,
    p: [f32; 3],
    wanted: W,
    /// Square of the least distance found.
    best: f64,
}

impl<W: Fn(RegionId) -> bool> Search<'_, W> {
    /// Searches a node whose box lies `offset` away along each axis, `squared` in all. The near side of a cut comes
    /// first, so that most far sides are out of reach by the time they come up.
    fn visit(&mut self, mut index: usize, offset: [f64; 3], squared: f64) {
        if squared >= self.best {
            return;
        }
        match self.tree.nodes()[index] {
            Node::Leaf { region, .. } => {
                if (self.wanted)(region) {
                    self.best = squared;
                }
            }
            Node::Cut { axis, at, high } => {
                let axis = axis as usize;
                let p = self.p[axis];
                let mut far = high as usize;
                index += 1;
                let mut beyond = f64::from(at) - f64::from(p);
                if p >= at || p.is_nan() {
                    std::mem::swap(&mut index, &mut far);
                    beyond = (-beyond).max(0.0);
                }
                self.visit(index, offset, squared);
                let mut far_offset = offset;
                far_offset[axis] = beyond;
                let [x, y, z] = far_offset;
                self.visit(far, far_offset, x * x + y * y + z * z);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_distance_is_euclidean_outside_and_zero_inside() {
        let bounds = Aabb::new(Vec3::ZERO, Vec3::splat(10.0));
        assert_eq!(to_box_squared(&bounds, Vec3::new(-3.0, 5.0, 14.0)), 25.0);
        assert_eq!(to_box_squared(&bounds, Vec3::splat(10.0)), 0.0);
        assert_eq!(to_box_squared(&bounds, Vec3::new(f32::NAN, 12.0, 0.0)), 4.0);
    }

    #[test]
    fn extreme_points_neither_overflow_nor_vanish() {
        let mut half = Aabb::EVERYTHING;
        half.max.x = 0.0;
        assert_eq!(to_box_squared(&half, Vec3::new(1.0e30, 0.0, 0.0)).sqrt() as f32, 1.0e30);
        assert!(to_box_squared(&half, Vec3::new(1.0e-30, 0.0, 0.0)) > 0.0);
        assert_eq!(to_box_squared(&half, Vec3::new(f32::NEG_INFINITY, f32::INFINITY, 0.0)), 0.0);
    }

    #[test]
    fn a_slab_ends_at_its_nearer_face() {
        let mut slab = Aabb::EVERYTHING;
        slab.min.x = -2.0;
        slab.max.x = 5.0;
        assert_eq!(to_nearest_face(&slab, Vec3::new(1.0, 900.0, -900.0)), 3.0);
        assert_eq!(to_nearest_face(&slab, Vec3::new(4.0, 0.0, 0.0)), 1.0);
        assert_eq!(to_nearest_face(&Aabb::EVERYTHING, Vec3::ZERO), f32::INFINITY);
    }
}

//! Axis-aligned boxes.

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// A box along the axes. Bounds may be infinite: the outermost regions of a world have no outer wall.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aabb {
    /// Lowest corner, metres.
    pub min: Vec3,
    /// Highest corner, metres.
    pub max: Vec3,
}

impl Aabb {
    /// All of space.
    pub const EVERYTHING: Aabb = Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY };

    /// The box between two corners.
    pub const fn new(min: Vec3, max: Vec3) -> Aabb {
        Aabb { min, max }
    }

    /// The box reaching `half` to every side of `centre`.
    pub fn around(centre: Vec3, half: Vec3) -> Aabb {
        Aabb { min: centre - half, max: centre + half }
    }

    /// True when the point lies inside; the low faces belong to the box, the high ones do not, so that boxes that
    /// tile space hold every point exactly once.
    pub fn holds(&self, point: Vec3) -> bool {
        point.cmpge(self.min).all() && point.cmplt(self.max).all()
    }

    /// True when the two boxes share at least a point of their closed extents.
    pub fn meets(&self, other: &Aabb) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// The box that holds both.
    pub fn union(&self, other: &Aabb) -> Aabb {
        Aabb { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The box grown by `margin` to every side.
    pub fn grown(&self, margin: f32) -> Aabb {
        Aabb { min: self.min - margin, max: self.max + margin }
    }

    /// Distance from a point to the box; zero inside.
    pub fn distance(&self, point: Vec3) -> f32 {
        (self.min - point).max(point - self.max).max(Vec3::ZERO).length()
    }

    /// Distance between the nearest points of two boxes; zero when they meet.
    pub fn gap(&self, other: &Aabb) -> f32 {
        (self.min - other.max).max(other.min - self.max).max(Vec3::ZERO).length()
    }

    /// How deep two boxes are in each other along the axis where they are least so; not positive when they are apart.
    pub fn depth(&self, other: &Aabb) -> f32 {
        (self.max.min(other.max) - self.min.max(other.min)).min_element()
    }

    /// The middle of a finite box.
    pub fn centre(&self) -> Vec3 {
        (self.min + self.max) * 0.5
    }

    /// Half the extent of a finite box.
    pub fn half(&self) -> Vec3 {
        (self.max - self.min) * 0.5
    }
}

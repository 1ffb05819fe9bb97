//! The room a body takes, in few numbers: enough to say how far two bodies are apart at least.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use crate::{Aabb, Pose, Shape};

/// A box along the axes and a rod with round ends; the body lies within both. Boxes alone say little of long bodies that
/// lie aslant: theirs overlap long before the bodies touch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extent {
    /// The box.
    pub bounds: Aabb,
    /// From the middle of the box, which is that of the rod, to one end of the rod's straight part.
    pub axis: Vec3,
    /// Radius of the rod.
    pub radius: f32,
}

impl Extent {
    /// The extent of anything within a box.
    pub fn boxed(bounds: Aabb) -> Extent {
        Extent { bounds, axis: Vec3::ZERO, radius: bounds.half().length() }
    }

    /// The extent of a shape at its place, `bounds` being a box around it there.
    pub fn of(shape: &Shape, pose: &Pose, bounds: Aabb) -> Extent {
        // The longest axis, how far the shape goes along it, and the farthest any of it is from that axis.
        let (along, half, aside, thinnest) = match shape {
            Shape::Ball { radius } => return Extent { bounds, axis: Vec3::ZERO, radius: *radius },
            Shape::Capsule { half_height, radius } => {
                return Extent { bounds, axis: pose.rotation * (Vec3::Y * *half_height), radius: *radius };
            }
            Shape::Cylinder { half_height, radius } => (Vec3::Y, *half_height, *radius, *radius),
            Shape::Cuboid { half } => {
                let along = half.max_position();
                let mut across = *half;
                across[along] = 0.0;
                (Vec3::AXES[along], half[along], across.length(), half.min_element())
            }
            _ => return Extent::boxed(bounds),
        };
        // The ends of the straight part lie inside the shape, so that the round ends do not stick out far.
        let inside = thinnest.min(half);
        Extent { bounds, axis: pose.rotation * (along * (half - inside)), radius: inside.hypot(aside) }
    }

    /// The same elsewhere.
    pub fn moved(&self, by: Vec3) -> Extent {
        let Aabb { min, max } = self.bounds;
        Extent { bounds: Aabb::new(min + by, max + by), ..*self }
    }

    /// The same however the body turns about the middle of its box, if none of it is further than this from there.
    pub fn in_ball(&self, radius: f32) -> Extent {
        Extent { bounds: Aabb::around(self.bounds.centre(), Vec3::splat(radius)), axis: Vec3::ZERO, radius }
    }

    /// True when two bodies may be within a distance of each other.
    pub fn is_within(&self, distance: f32, other: &Extent) -> bool {
        self.bounds.gap(&other.bounds) <= distance && {
            let reach = distance + self.radius + other.radius;
            reach >= 0.0 && self.axes_apart_squared(other) <= reach * reach
        }
    }

    /// How far any of it is from the middle at the most, metres.
    pub fn reach(&self) -> f32 {
        self.bounds.half().length().min(self.axis.length() + self.radius)
    }

    /// How far two bodies are apart at least, metres; zero where they may touch.
    pub fn gap(&self, other: &Extent) -> f32 {
        let rods = self.axes_apart_squared(other).sqrt() - self.radius - other.radius;
        self.bounds.gap(&other.bounds).max(rods).max(0.0)
    }

    /// Square of the distance between the straight parts of two rods.
    fn axes_apart_squared(&self, other: &Extent) -> f32 {
        let between = self.bounds.centre() - other.bounds.centre();
        let (one, two) = (self.axis, other.axis);
        let (one_sq, two_sq, mixed) = (one.length_squared(), two.length_squared(), one.dot(two));
        let (one_off, two_off) = (one.dot(between), two.dot(between));
        let on_one = |t: f32| if one_sq > 0.0 { ((mixed * t - one_off) / one_sq).clamp(-1.0, 1.0) } else { 0.0 };
        let on_two = |s: f32| if two_sq > 0.0 { ((mixed * s + two_off) / two_sq).clamp(-1.0, 1.0) } else { 0.0 };
        let area = one_sq * two_sq - mixed * mixed;
        let slanted = area > 1e-6 * one_sq * two_sq;
        let s = if slanted { ((mixed * two_off - one_off * two_sq) / area).clamp(-1.0, 1.0) } else { 0.0 };
        let t = on_two(s);
        (between + one * on_one(t) - two * t).length_squared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Quat, Rng};

    fn turned(rng: &mut Rng) -> Pose {
        let v = rng.point(Vec3::splat(-1.0), Vec3::splat(1.0));
        let rotation = Quat::from_scaled_axis(v * 3.0);
        Pose { position: rng.point(Vec3::splat(-2.0), Vec3::splat(2.0)), rotation }
    }

    fn shapes() -> Vec<Shape> {
        vec![
            Shape::ball(0.4),
            Shape::cuboid(0.15, 0.15, 0.5),
            Shape::cuboid(0.5, 0.5, 0.5),
            Shape::cuboid(1.0, 0.1, 0.7),
            Shape::Capsule { half_height: 0.7, radius: 0.3 },
            Shape::Cylinder { half_height: 0.1, radius: 0.6 },
            Shape::Cylinder { half_height: 0.9, radius: 0.2 },
            Shape::Cone { half_height: 0.5, radius: 0.4 },
        ]
    }

    /// Points on and in a shape.
    fn points(shape: &Shape, rng: &mut Rng) -> Vec<Vec3> {
        let bounds = shape.bounds();
        let inside = |p: Vec3| match shape {
            Shape::Ball { radius } => p.length() <= *radius,
            Shape::Capsule { half_height, radius } => {
                (p - Vec3::Y * p.y.clamp(-*half_height, *half_height)).length() <= *radius
            }
            Shape::Cylinder { radius, .. } => p.x.hypot(p.z) <= *radius,
            Shape::Cone { half_height, radius } => p.x.hypot(p.z) <= radius * (half_height - p.y) / (2.0 * half_height),
            _ => true,
        };
        let mut points: Vec<Vec3> = (0..400).map(|_| rng.point(bounds.min, bounds.max)).collect();
        points.extend((0..8).map(|i| {
            let pick = |bit: u32, axis: usize| if i >> bit & 1 == 0 { bounds.min[axis] } else { bounds.max[axis] };
            Vec3::new(pick(0, 0), pick(1, 1), pick(2, 2))
        }));
        points.retain(|p| inside(*p));
        points
    }

    #[test]
    fn holds_the_whole_shape() {
        let mut rng = Rng::new(5);
        for shape in shapes() {
            for _ in 0..20 {
                let pose = turned(&mut rng);
                let extent = Extent::of(&shape, &pose, shape.bounds_at(&pose));
                for point in points(&shape, &mut rng).into_iter().map(|p| pose.transform(p)) {
                    let there = Extent { bounds: Aabb::new(point, point), axis: Vec3::ZERO, radius: 0.0 };
                    assert!(extent.is_within(1e-4, &there), "{shape:?} reaches {point}");
                }
            }
        }
    }

    #[test]
    fn finds_the_distance_of_two_axes() {
        let mut rng = Rng::new(6);
        let end = |extent: &Extent, s: f32| extent.bounds.centre() + extent.axis * s;
        for i in 0..2_000 {
            let mut rod = || {
                let axis = rng.point(Vec3::splat(-1.0), Vec3::splat(1.0));
                let centre = rng.point(Vec3::splat(-2.0), Vec3::splat(2.0));
                Extent { bounds: Aabb::around(centre, axis.abs()), axis, radius: 0.0 }
            };
            let (one, mut two) = (rod(), rod());
            if i % 4 == 0 {
                // As good as parallel.
                two.axis = one.axis * 0.7 + Vec3::splat(1e-5 * (i % 7) as f32);
            }
            let steps = || (0..=60).map(|i| i as f32 / 30.0 - 1.0);
            let sampled = steps().flat_map(|s| steps().map(move |t| (s, t)));
            let least = sampled.map(|(s, t)| end(&one, s).distance(end(&two, t))).fold(f32::INFINITY, f32::min);
            let found = one.axes_apart_squared(&two).sqrt();
            assert!(found <= least + 1e-3 && found >= least - 0.06, "{found} against {least}, round {i}");
        }
    }

    #[test]
    fn long_bodies_aslant_are_further_apart_than_their_boxes() {
        let rod = Shape::Capsule { half_height: 0.7, radius: 0.3 };
        let aslant = Quat::from_rotation_z(std::f32::consts::FRAC_PI_4);
        let at = |x: f32| {
            let pose = Pose { position: Vec3::X * x, rotation: aslant };
            Extent::of(&rod, &pose, rod.bounds_at(&pose))
        };
        let (one, two) = (at(0.0), at(1.2));
        assert_eq!(one.bounds.gap(&two.bounds), 0.0);
        let apart = 1.2 * std::f32::consts::FRAC_1_SQRT_2 - 0.6;
        assert!(!one.is_within(apart - 0.01, &two) && one.is_within(apart + 0.01, &two));
        assert!((one.gap(&two) - apart).abs() < 1e-4, "{} instead of {apart}", one.gap(&two));
    }
}

//! The form of a body.

use glam::{Quat, Vec3};
use serde::{Deserialize, Serialize};

use crate::{Aabb, Pose};

/// The form of a body, in its own frame, metres. Round shapes stand along `y`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A sphere.
    Ball {
        /// Greater than zero.
        radius: f32,
    },
    /// A box.
    Cuboid {
        /// Half the edge lengths.
        half: Vec3,
    },
    /// A cylinder with round caps; `half_height` is that of the straight part.
    Capsule {
        /// Half the length of the straight part.
        half_height: f32,
        /// Radius of part and caps.
        radius: f32,
    },
    /// A cylinder.
    Cylinder {
        /// Half the height.
        half_height: f32,
        /// Radius.
        radius: f32,
    },
    /// A cone, tip up.
    Cone {
        /// Half the height.
        half_height: f32,
        /// Radius of the base.
        radius: f32,
    },
    /// The convex hull of some points.
    ConvexHull {
        /// At least four, not all in one plane.
        points: Vec<Vec3>,
    },
    /// Several shapes fixed to each other. Parts may not be compounds or open surfaces.
    Compound {
        /// Each part with its place in the body's frame.
        parts: Vec<(Pose, Shape)>,
    },
    /// A triangle surface; for static bodies only.
    TriMesh {
        /// Corner points.
        vertices: Vec<Vec3>,
        /// Indices of the corners of each triangle.
        triangles: Vec<[u32; 3]>,
    },
    /// A grid of heights over the `xz` plane, centred; for static bodies only.
    HeightField {
        /// Number of points along `z`.
        rows: u32,
        /// Number of points along `x`.
        columns: u32,
        /// `rows * columns` heights, row after row.
        heights: Vec<f32>,
        /// Extent along `x` and `z`, and the factor for the heights along `y`.
        scale: Vec3,
    },
}

/// Greatest number of points, triangles, heights or parts one shape may have.
pub const SHAPE_ELEMENTS_MAX: usize = 1 << 20;

/// Greatest extent of a shape, metres: what does not fit into the world is not a body.
pub const SHAPE_EXTENT_MAX: f32 = 8_000.0;

impl Shape {
    /// A sphere of this radius.
    pub const fn ball(radius: f32) -> Shape {
        Shape::Ball { radius }
    }

    /// A box with these half extents.
    pub const fn cuboid(x: f32, y: f32, z: f32) -> Shape {
        Shape::Cuboid { half: Vec3::new(x, y, z) }
    }

    /// True for shapes that only a static body may have: they have no inside, hence no mass.
    pub fn is_surface(&self) -> bool {
        matches!(self, Shape::TriMesh { .. } | Shape::HeightField { .. })
    }

    /// The box of the shape where its body is: that of its own frame, turned and moved.
    pub fn bounds_at(&self, pose: &Pose) -> Aabb {
        let local = self.bounds();
        let axes = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| (pose.rotation * (axis * local.half())).abs());
        Aabb::around(pose.transform(local.centre()), axes[0] + axes[1] + axes[2])
    }

    /// The box of the shape in its own frame.
    pub fn bounds(&self) -> Aabb {
        match self {
            Shape::Ball { radius } => Aabb::around(Vec3::ZERO, Vec3::splat(*radius)),
            Shape::Cuboid { half } => Aabb::around(Vec3::ZERO, *half),
            Shape::Capsule { half_height, radius } => {
                Aabb::around(Vec3::ZERO, Vec3::new(*radius, half_height + radius, *radius))
            }
            Shape::Cylinder { half_height, radius } | Shape::Cone { half_height, radius } => {
                Aabb::around(Vec3::ZERO, Vec3::new(*radius, *half_height, *radius))
            }
            Shape::ConvexHull { points } | Shape::TriMesh { vertices: points, .. } => bounds_of(points.iter().copied()),
            Shape::Compound { parts } => bounds_of(parts.iter().flat_map(|(pose, part)| {
                let local = part.bounds();
                corners(&local).map(|corner| pose.transform(corner))
            })),
            Shape::HeightField { heights, scale, .. } => {
                let low = heights.iter().copied().fold(f32::INFINITY, f32::min) * scale.y;
                let high = heights.iter().copied().fold(f32::NEG_INFINITY, f32::max) * scale.y;
                Aabb::new(
                    Vec3::new(-scale.x * 0.5, low.min(high), -scale.z * 0.5),
                    Vec3::new(scale.x * 0.5, high.max(low), scale.z * 0.5),
                )
            }
        }
    }

    /// How fast any point of it moves, because it turns, into room that it does not take yet, m/s. What is round about
    /// its axis takes the same room however it turns about that.
    pub fn turning_speed(&self, rotation: Quat, angular: Vec3) -> f32 {
        match self {
            Shape::Ball { .. } => 0.0,
            Shape::Capsule { half_height, .. } => angular.cross(rotation * (Vec3::Y * *half_height)).length(),
            _ => angular.length() * self.bounding_radius(),
        }
    }

    /// Radius of a sphere around the body's frame that holds the shape.
    pub fn bounding_radius(&self) -> f32 {
        match self {
            Shape::Ball { radius } => *radius,
            Shape::Capsule { half_height, radius } => half_height + radius,
            Shape::ConvexHull { points } | Shape::TriMesh { vertices: points, .. } => {
                points.iter().map(|p| p.length()).fold(0.0, f32::max)
            }
            Shape::Compound { parts } => {
                parts.iter().map(|(pose, part)| pose.position.length() + part.bounding_radius()).fold(0.0, f32::max)
            }
            Shape::Cuboid { .. } | Shape::Cylinder { .. } | Shape::Cone { .. } | Shape::HeightField { .. } => {
                let bounds = self.bounds();
                bounds.max.abs().max(bounds.min.abs()).length()
            }
        }
    }

    /// How many points, triangles, heights and parts it is made of: what its description weighs.
    pub fn elements(&self) -> usize {
        match self {
            Shape::Ball { .. }
            | Shape::Cuboid { .. }
            | Shape::Capsule { .. }
            | Shape::Cylinder { .. }
            | Shape::Cone { .. } => 1,
            Shape::ConvexHull { points } => points.len(),
            Shape::Compound { parts } => parts.iter().map(|(_, part)| 2 + part.elements()).sum(),
            Shape::TriMesh { vertices, triangles } => vertices.len() + triangles.len(),
            Shape::HeightField { heights, .. } => heights.len(),
        }
    }

    /// What is wrong with the shape, in words for the person who wrote it; `None` when nothing is.
    pub fn problem(&self) -> Option<String> {
        let size = |what: &str, value: f32| {
            let good = value.is_finite() && value > 0.0 && value <= SHAPE_EXTENT_MAX;
            (!good).then(|| format!("{what} is {value}; it must be above 0 and at most {SHAPE_EXTENT_MAX}"))
        };
        let many = |what: &str, count: usize, least: usize| {
            (count < least || count > SHAPE_ELEMENTS_MAX)
                .then(|| format!("{what} are {count}; there must be {least} to {SHAPE_ELEMENTS_MAX}"))
        };
        let placed = |points: &[Vec3]| {
            points.iter().position(|p| !p.is_finite() || p.abs().max_element() > SHAPE_EXTENT_MAX).map(|i| {
                format!("point {i} is {}; coordinates must be finite and within {SHAPE_EXTENT_MAX}", points[i])
            })
        };
        match self {
            Shape::Ball { radius } => size("radius", *radius),
            Shape::Cuboid { half } => size("half.x", half.x).or(size("half.y", half.y)).or(size("half.z", half.z)),
            Shape::Capsule { half_height, radius }
            | Shape::Cylinder { half_height, radius }
            | Shape::Cone { half_height, radius } => size("half_height", *half_height).or(size("radius", *radius)),
            Shape::ConvexHull { points } => many("points", points.len(), 4)
                .or_else(|| placed(points))
                .or_else(|| is_flat(points).then(|| "all points lie in one plane; a hull needs an inside".to_owned())),
            Shape::Compound { parts } => many("parts", parts.len(), 1).or_else(|| {
                parts.iter().enumerate().find_map(|(i, (pose, part))| {
                    if part.is_surface() || matches!(part, Shape::Compound { .. }) {
                        return Some(format!("part {i} must be a solid shape, not a compound or a surface"));
                    }
                    if !pose.is_valid() {
                        return Some(format!("part {i} has a pose that is not finite or not of unit rotation"));
                    }
                    part.problem().map(|problem| format!("part {i}: {problem}"))
                })
            }),
            Shape::TriMesh { vertices, triangles } => many("vertices", vertices.len(), 3)
                .or_else(|| many("triangles", triangles.len(), 1))
                .or_else(|| placed(vertices))
                .or_else(|| {
                    let count = vertices.len() as u32;
                    triangles.iter().enumerate().find_map(|(i, t)| {
                        let corner = t.iter().copied().find(|&corner| corner >= count);
                        match corner {
                            Some(corner) => Some(format!("triangle {i} names vertex {corner}; there are only {count}")),
                            None => (t[0] == t[1] || t[1] == t[2] || t[0] == t[2])
                                .then(|| format!("triangle {i} names a vertex twice; remove it")),
                        }
                    })
                }),
            Shape::HeightField { rows, columns, heights, scale } => {
                let cells = u64::from(*rows) * u64::from(*columns);
                if *rows < 2 || *columns < 2 || cells > SHAPE_ELEMENTS_MAX as u64 {
                    return Some(format!("rows x columns is {rows} x {columns}; both must be at least 2"));
                }
                if heights.len() as u64 != cells {
                    return Some(format!("heights are {}; rows x columns asks for {cells}", heights.len()));
                }
                if let Some(i) = heights.iter().position(|h| !h.is_finite() || h.abs() > SHAPE_EXTENT_MAX) {
                    return Some(format!("height {i} is {}; heights must be finite", heights[i]));
                }
                size("scale.x", scale.x).or(size("scale.y", scale.y)).or(size("scale.z", scale.z))
            }
        }
    }
}

fn bounds_of(points: impl Iterator<Item = Vec3>) -> Aabb {
    points.fold(Aabb::new(Vec3::INFINITY, Vec3::NEG_INFINITY), |b, p| Aabb::new(b.min.min(p), b.max.max(p)))
}

fn corners(b: &Aabb) -> [Vec3; 8] {
    let pick = |i: usize| {
        Vec3::new(
            if i & 1 == 0 { b.min.x } else { b.max.x },
            if i & 2 == 0 { b.min.y } else { b.max.y },
            if i & 4 == 0 { b.min.z } else { b.max.z },
        )
    };
    std::array::from_fn(pick)
}

fn is_flat(points: &[Vec3]) -> bool {
    let origin = points[0];
    let size = points.iter().map(|p| (*p - origin).length()).fold(0.0, f32::max);
    let far = points.iter().map(|p| *p - origin).fold(Vec3::ZERO, |a, b| if b.length() > a.length() { b } else { a });
    let normal = points
        .iter()
        .map(|p| far.cross(*p - origin))
        .fold(Vec3::ZERO, |a, b| if b.length() > a.length() { b } else { a });
    let normal = normal.normalize_or_zero();
    points.iter().all(|p| (*p - origin).dot(normal).abs() <= 1e-4 * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounding_radius_holds_the_bounds() {
        for shape in [
            Shape::ball(0.3),
            Shape::cuboid(1.0, 2.0, 3.0),
            Shape::Capsule { half_height: 1.0, radius: 0.5 },
            Shape::Cone { half_height: 1.0, radius: 0.5 },
        ] {
            assert!(shape.bounding_radius() >= shape.bounds().max.max_element(), "{shape:?}");
            assert_eq!(shape.problem(), None);
        }
    }

    #[test]
    fn broken_shapes_are_explained() {
        let flat = Shape::ConvexHull { points: vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::ONE - Vec3::Z] };
        assert!(flat.problem().unwrap().contains("plane"));
        assert!(Shape::ball(-1.0).problem().unwrap().contains("radius is -1"));
        assert!(Shape::ball(f32::NAN).problem().is_some());
        let mesh = Shape::TriMesh { vertices: vec![Vec3::ZERO, Vec3::X, Vec3::Y], triangles: vec![[0, 1, 3]] };
        assert!(mesh.problem().unwrap().contains("vertex 3"));
    }
}

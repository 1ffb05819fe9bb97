//! From a described form to an engine shape, one shared shape per distinct form.

use nimbus_model::Shape;
use rapier3d::parry::shape::{ConvexPolyhedron, SharedShape, TriMesh};
use rapier3d::parry::transformation::try_convex_hull;
use rapier3d::parry::utils::Array2;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::convert::engine_pose;

/// Below this many forms nobody looks for unused ones.
const PRUNE_AT_LEAST: usize = 256;

/// Shapes by what they look like, so that thousands of equal boxes share one.
#[derive(Default)]
pub(crate) struct ShapeStore {
    shapes: BTreeMap<Vec<u32>, SharedShape>,
    prune_at: usize,
}

impl ShapeStore {
    /// The engine shape of this form. The form must have passed [`Shape::problem`]; the error says why the engine
    /// still refuses it.
    pub(crate) fn get(&mut self, shape: &Shape) -> Result<SharedShape, String> {
        let key = key(shape);
        if let Some(shared) = self.shapes.get(&key) {
            return Ok(shared.clone());
        }
        let shared = build(shape)?;
        if self.shapes.len() >= self.prune_at.max(PRUNE_AT_LEAST) {
            self.shapes.retain(|_, shared| Arc::strong_count(&shared.0) > 1);
            self.prune_at = self.shapes.len() * 2;
        }
        self.shapes.insert(key, shared.clone());
        Ok(shared)
    }
}

/// Builds an engine shape and makes sure that its mass can be computed.
fn build(shape: &Shape) -> Result<SharedShape, String> {
    let shared = match shape {
        Shape::Ball { radius } => SharedShape::ball(*radius),
        Shape::Cuboid { half } => SharedShape::cuboid(half.x, half.y, half.z),
        Shape::Capsule { half_height, radius } => SharedShape::capsule_y(*half_height, *radius),
        Shape::Cylinder { half_height, radius } => SharedShape::cylinder(*half_height, *radius),
        Shape::Cone { half_height, radius } => SharedShape::cone(*half_height, *radius),
        Shape::ConvexHull { points } => {
            // The hull algorithm asserts in places that odd point clouds can reach; that must not end the server.
            let hull = catch_unwind(AssertUnwindSafe(|| {
                let (points, triangles) = try_convex_hull(points).map_err(|error| error.to_string())?;
                ConvexPolyhedron::from_convex_mesh(points, &triangles).ok_or_else(|| "it is degenerate".to_owned())
            }));
            SharedShape::new(hull.unwrap_or_else(|_| Err("the points are too close to degenerate".to_owned()))?)
        }
        Shape::Compound { parts } => {
            let parts: Result<Vec<_>, String> =
                parts.iter().map(|(pose, part)| Ok((engine_pose(pose), build(part)?))).collect();
            SharedShape::compound(parts?)
        }
        Shape::TriMesh { vertices, triangles } => {
            SharedShape::new(TriMesh::new(vertices.clone(), triangles.clone()).map_err(|error| error.to_string())?)
        }
        Shape::HeightField { rows, columns, heights, scale } => {
            let columns = *columns as usize;
            SharedShape::heightfield(
                Array2::from_fn(*rows as usize, columns, |row, column| heights[row * columns + column]),
                *scale,
            )
        }
    };
    if !shape.is_surface() {
        let mass = shared.mass_properties(1.0);
        let finite = mass.local_com.is_finite()
            && mass.inv_mass.is_finite()
            && mass.inv_principal_inertia.is_finite()
            && mass.principal_inertia_local_frame.is_finite();
        if !finite {
            return Err("its mass cannot be computed".to_owned());
        }
    }
    Ok(shared)
}

/// Every number of the form, after a tag that tells the variants apart.
fn key(shape: &Shape) -> Vec<u32> {
    let mut words = Vec::with_capacity(8);
    write_key(shape, &mut words);
    words
}

fn write_key(shape: &Shape, words: &mut Vec<u32>) {
    let mut floats = |tag: u32, values: &[f32]| {
        words.push(tag);
        words.extend(values.iter().map(|value| value.to_bits()));
    };
    match shape {
        Shape::Ball { radius } => floats(0, &[*radius]),
        Shape::Cuboid { half } => floats(1, &half.to_array()),
        Shape::Capsule { half_height, radius } => floats(2, &[*half_height, *radius]),
        Shape::Cylinder { half_height, radius } => floats(3, &[*half_height, *radius]),
        Shape::Cone { half_height, radius } => floats(4, &[*half_height, *radius]),
        Shape::ConvexHull { points } => {
            floats(5, &[]);
            words.push(points.len() as u32);
            words.extend(points.iter().flat_map(|p| p.to_array()).map(f32::to_bits));
        }
        Shape::Compound { parts } => {
            floats(6, &[]);
            words.push(parts.len() as u32);
            for (pose, part) in parts {
                words.extend(pose.position.to_array().iter().map(|v| v.to_bits()));
                words.extend(pose.rotation.to_array().iter().map(|v| v.to_bits()));
                write_key(part, words);
            }
        }
        Shape::TriMesh { vertices, triangles } => {
            floats(7, &[]);
            words.extend([vertices.len() as u32, triangles.len() as u32]);
            words.extend(vertices.iter().flat_map(|p| p.to_array()).map(f32::to_bits));
            words.extend(triangles.iter().flatten());
        }
        Shape::HeightField { rows, columns, heights, scale } => {
            floats(8, &scale.to_array());
            words.extend([*rows, *columns]);
            words.extend(heights.iter().map(|h| h.to_bits()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Pose, Vec3};
    use proptest::prelude::*;

    #[test]
    fn equal_forms_share_one_shape() {
        let mut store = ShapeStore::default();
        let one = store.get(&Shape::cuboid(0.5, 0.5, 0.5)).unwrap();
        let two = store.get(&Shape::cuboid(0.5, 0.5, 0.5)).unwrap();
        let other = store.get(&Shape::cuboid(0.5, 0.5, 0.6)).unwrap();
        assert!(Arc::ptr_eq(&one.0, &two.0) && !Arc::ptr_eq(&one.0, &other.0));
    }

    #[test]
    fn unused_forms_are_forgotten() {
        let mut store = ShapeStore::default();
        let kept = store.get(&Shape::ball(0.5)).unwrap();
        for i in 0..3 * PRUNE_AT_LEAST {
            store.get(&Shape::ball(1.0 + i as f32)).unwrap();
        }
        assert!(store.shapes.len() <= PRUNE_AT_LEAST, "{}", store.shapes.len());
        assert!(Arc::ptr_eq(&kept.0, &store.get(&Shape::ball(0.5)).unwrap().0));
    }

    #[test]
    fn a_heightfield_has_rows_along_z() {
        let heights = vec![0.0, 0.0, 0.0, 5.0, 5.0, 5.0];
        let field = Shape::HeightField { rows: 2, columns: 3, heights, scale: Vec3::new(20.0, 1.0, 10.0) };
        let shared = ShapeStore::default().get(&field).unwrap();
        let height = |x: f32, z: f32| {
            let ray = rapier3d::parry::query::Ray::new(Vec3::new(x, 100.0, z), Vec3::NEG_Y);
            100.0 - shared.cast_local_ray(&ray, 200.0, true).unwrap()
        };
        assert!((height(-9.0, -4.9) - 0.05).abs() < 1e-3 && (height(9.0, -4.9) - 0.05).abs() < 1e-3);
        assert!((height(-9.0, 4.9) - 4.95).abs() < 1e-3 && (height(9.0, 0.0) - 2.5).abs() < 1e-3);
        let bounds = field.bounds();
        let aabb = shared.compute_local_aabb();
        assert_eq!((bounds.min, bounds.max), (aabb.mins, aabb.maxs), "the model agrees");
    }

    #[test]
    fn a_cone_stands_tip_up_as_the_model_says() {
        let shared = ShapeStore::default().get(&Shape::Cone { half_height: 1.0, radius: 0.5 }).unwrap();
        assert!(shared.contains_local_point(Vec3::new(0.4, -0.95, 0.0)));
        assert!(!shared.contains_local_point(Vec3::new(0.4, 0.95, 0.0)));
    }

    fn points(scale: f32) -> impl Strategy<Value = Vec<Vec3>> {
        let coordinate = prop_oneof![Just(0.0), Just(1.0), -1.0..1.0_f32, -1e-6..1e-6_f32];
        let point = (coordinate.clone(), coordinate.clone(), coordinate);
        let point = point.prop_map(move |(x, y, z)| Vec3::new(x, y, z) * scale);
        proptest::collection::vec(point, 4..40)
    }

    proptest! {
        #[test]
        fn hulls_are_built_or_refused(points in prop_oneof![points(1.0), points(1e-4), points(5_000.0)]) {
            let hull = Shape::ConvexHull { points };
            if hull.problem().is_none()
                && let Ok(shared) = ShapeStore::default().get(&hull)
            {
                let aabb = shared.compute_local_aabb();
                prop_assert!(aabb.mins.is_finite() && aabb.maxs.is_finite());
                let both = Shape::Compound { parts: vec![(Pose::IDENTITY, hull), (Pose::at(Vec3::X), Shape::ball(1.0))] };
                prop_assert!(ShapeStore::default().get(&both).is_ok());
            }
        }

        #[test]
        fn meshes_are_built_or_refused(points in points(1.0), seed in any::<u64>()) {
            let count = points.len() as u64;
            let mut rng = nimbus_model::Rng::new(seed);
            let triangles = (0..20).map(|_| std::array::from_fn(|_| rng.below(count) as u32)).collect();
            let mesh = Shape::TriMesh { vertices: points, triangles };
            if mesh.problem().is_none() {
                prop_assert!(ShapeStore::default().get(&mesh).is_ok());
            }
        }
    }
}

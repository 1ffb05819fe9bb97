//! Contacts of shapes with several parts, as one patch for each direction.
//!
//! Compounds, meshes and height fields touch others with many parts at once, and many of these contacts lie in one plane.
//! The solver needs four points of a plane, so the points of all parts that push in one direction are merged into a patch.
//!
//! The engine can merge them itself, but then it keeps the impulses where no other code can put any, and a body that
//! changes worlds loses them. Here the patches are all that lasts from one step to the next, and they can be given back.

use rapier3d::geometry::{ContactData, ContactManifold};
use rapier3d::math::{Pose, Real, Vector};
use rapier3d::parry::query::details::{ContactManifoldsWorkspace, VoxelsShapeContactManifoldsWorkspace};
use rapier3d::parry::query::{DefaultQueryDispatcher, PersistentQueryDispatcher, TrackedContact, Unsupported};
use rapier3d::parry::shape::{Shape, ShapeType};

/// Cosine of the angle by which the normals of one patch may differ: about five degrees.
const SAME_DIRECTION_COS: f32 = 0.996;

/// Points nearer to each other than this share of the prediction distance are one: neighbouring triangles both find those on
/// their common edge.
const SAME_POINT: f32 = 0.25;

/// Points of one patch. The solver names them by one byte.
const POINTS_MAX: usize = 255;

/// True for a shape that touches others with several parts.
pub(crate) fn has_parts(shape: &dyn Shape) -> bool {
    shape.as_composite_shape().is_some() || shape.shape_type() == ShapeType::HeightField
}

/// Finds the patches of two shapes of which one has parts. `patches` holds those of the last time, whose impulses go on.
pub(crate) fn find(
    pos12: &Pose,
    g1: &dyn Shape,
    g2: &dyn Shape,
    prediction: Real,
    patches: &mut Vec<ContactManifold>,
) -> Result<(), Unsupported> {
    let mut parts: Vec<ContactManifold> = Vec::new();
    DefaultQueryDispatcher.contact_manifolds(pos12, g1, g2, prediction, &mut parts, &mut None)?;
    let old = std::mem::take(patches);
    parts.iter().filter(|part| !part.points.is_empty()).for_each(|part| merge(part, prediction, patches));
    hand_on(&old, prediction, patches);
    Ok(())
}

/// What tells the engine that the patches of a pair may come and go, so that it does not rely on their numbers. It holds
/// nothing; any of the engine's own would do, and this one can be named.
pub(crate) fn changing() -> ContactManifoldsWorkspace {
    VoxelsShapeContactManifoldsWorkspace::<2>::new().into()
}

/// Adds the points of a part to the patch of its direction, in the frames of the whole shapes.
fn merge(part: &ContactManifold, prediction: Real, patches: &mut Vec<ContactManifold>) {
    let (pos1, pos2) = (part.subshape_pos1(), part.subshape_pos2());
    let turn = |pose: Option<&Pose>, normal: Vector| pose.map_or(normal, |pose| pose.rotation * normal);
    let place = |pose: Option<&Pose>, point: Vector| pose.map_or(point, |pose| *pose * point);
    let normal = turn(pos1, part.local_n1);
    let at = patches.iter().position(|patch| patch.local_n1.dot(normal) >= SAME_DIRECTION_COS);
    let at = at.unwrap_or_else(|| {
        let mut patch = ContactManifold::new();
        (patch.local_n1, patch.local_n2) = (normal, turn(pos2, part.local_n2));
        (patch.subshape1, patch.subshape2) = (part.subshape1, part.subshape2);
        patches.push(patch);
        patches.len() - 1
    });
    let points = &mut patches[at].points;
    let nearest = (prediction * SAME_POINT).powi(2);
    for point in &part.points {
        let (p1, p2) = (place(pos1, point.local_p1), place(pos2, point.local_p2));
        let point = TrackedContact::new(p1, p2, point.fid1, point.fid2, point.dist);
        let same = points.iter().position(|other| (other.local_p1 - p1).length_squared() < nearest);
        let shallowest = || {
            let deep = points.iter().enumerate().max_by(|one, two| one.1.dist.total_cmp(&two.1.dist));
            deep.map(|(at, _)| at).filter(|_| points.len() >= POINTS_MAX)
        };
        match same.or_else(shallowest) {
            Some(other) if point.dist < points[other].dist => points[other] = point,
            Some(_) => {}
            None => points.push(point),
        }
    }
}

/// True for a point that has borne something.
pub(crate) fn is_loaded(data: &ContactData) -> bool {
    data.impulse != 0.0 || data.warmstart_impulse != 0.0
}

/// Gives the impulses of the old points to the nearest of the new ones, each once.
fn hand_on(old: &[ContactManifold], prediction: Real, patches: &mut [ContactManifold]) {
    for before in old {
        for loaded in before.points.iter().filter(|point| is_loaded(&point.data)) {
            let mut best = (prediction.powi(2), None);
            let along = |patch: &ContactManifold| patch.local_n1.dot(before.local_n1) >= SAME_DIRECTION_COS;
            for (i, patch) in patches.iter().enumerate().filter(|(_, patch)| along(patch)) {
                for (k, point) in patch.points.iter().enumerate().filter(|(_, point)| !is_loaded(&point.data)) {
                    let apart = (point.local_p1 - loaded.local_p1).length_squared();
                    if apart < best.0 {
                        best = (apart, Some((i, k)));
                    }
                }
            }
            if let Some((i, k)) = best.1 {
                patches[i].points[k].data = loaded.data;
            }
        }
    }
}

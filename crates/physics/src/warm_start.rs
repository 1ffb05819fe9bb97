//! Giving the engine back the contact points that bodies had before they changed worlds, with their impulses.
//!
//! The engine solves contacts starting from the impulses of the step before. A body new to it starts from none, sinks
//! in a little and is pushed out again: a stack that changes servers would twitch. It also lets two bodies bounce at a point
//! that has borne nothing yet: a pair that changes servers in the middle of an impact would bounce twice.
//!
//! The engine offers no call that writes points, but it asks a dispatcher for the points of every new pair, and shows it
//! the list of those it has. Put there, they are as good as found by the engine itself. The dispatcher is not told which
//! pair it is asked about; a filter hook, which the engine calls for the same pair just before, is.
//!
//! Out of reach is what the engine freezes while it goes on with old points: lever arms and the normal, as they lay in the
//! world when it last looked. After a move they are those of the moment, at most the engine's recycling distance from the
//! frozen ones.

use nimbus_model::{ContactPatch, ContactPoint, ContactState, Nid};
use rapier3d::geometry::{ContactData, ContactManifold, ContactManifoldData, SolverFlags};
use rapier3d::math::{Pose, Real, Vector};
use rapier3d::parry::bounding_volume::BoundingVolume;
use rapier3d::parry::query::details::{ContactManifoldsWorkspace, NormalConstraints, ShapeCastOptions};
use rapier3d::parry::query::{
    ClosestPoints, Contact, DefaultQueryDispatcher, NonlinearRigidMotion, PersistentQueryDispatcher, QueryDispatcher,
    ShapeCastHit, ShapeDistance, ShapeIntersection, TrackedContact, Unsupported,
};
use rapier3d::parry::shape::{PackedFeatureId, Shape};
use rapier3d::pipeline::{PairFilterContext, PhysicsHooks};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::contacts::Carried;
use crate::patches;

/// A point is taken for an old one if it lies at most this far from it on either body, metres: the distance from
/// which the engine sees contacts coming.
const SAME_POINT_M: f32 = 0.02;

/// How far old points may lie from the new ones to be gone on with, metres: a little more than the engine's own
/// tolerance for going on with old points.
const STILL_THE_POINT_M: f32 = 0.06;

/// How far the distance of the bodies may differ between old and new points, metres.
const STILL_THE_DISTANCE_M: f32 = 0.01;

/// Cosine of the angle by which old and new normals may differ: about one degree.
const STILL_THE_NORMAL_COS: f32 = 0.9998;

/// How far beyond the box around a shape its points may lie, metres. Points of another shape would be worse than none.
const OUTSIDE_M: f32 = 0.1;

/// What waits for the engine's first look at a pair.
#[derive(Default)]
struct Board {
    waiting: Carried,
    /// The pair the engine is about to ask for: how its bodies lie to each other, and its points in that order.
    announced: Option<(Pose, ContactState)>,
}

/// The one board that the hook and the dispatcher of a world share.
#[derive(Clone, Default)]
pub(crate) struct WarmStart {
    board: Arc<Mutex<Board>>,
    /// Whether a pair is announced: nearly always none is, and the dispatcher is called thousands of times a step.
    announced: Arc<AtomicBool>,
}

impl WarmStart {
    /// Lays the points of pairs ready for the next step.
    pub(crate) fn lay_ready(&self, points: Carried) {
        self.lock().waiting = points;
    }

    /// Forgets what the engine did not ask for.
    pub(crate) fn clear(&self) {
        *self.lock() = Board::default();
        self.announced.store(false, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PhysicsHooks for WarmStart {
    fn filter_contact_pair(&self, context: &PairFilterContext) -> Option<SolverFlags> {
        if let (Some(one), Some(two)) =
            (context.colliders.get(context.collider1), context.colliders.get(context.collider2))
        {
            let (a, b) = (Nid(one.user_data as u64), Nid(two.user_data as u64));
            let mut board = self.lock();
            if let Some(mut contact) = board.waiting.remove(&(a.min(b), a.max(b))) {
                if a > b {
                    swap_ends(&mut contact);
                }
                board.announced = Some((one.position().inv_mul(two.position()), contact));
                self.announced.store(true, Ordering::Relaxed);
            }
        }
        Some(SolverFlags::default())
    }
}

/// Turns points and normals round, as if the bodies were named in the other order.
pub(crate) fn swap_ends(contact: &mut ContactState) {
    for patch in &mut contact.patches {
        std::mem::swap(&mut patch.normal_a, &mut patch.normal_b);
        for point in &mut patch.points {
            std::mem::swap(&mut point.at_a, &mut point.at_b);
            std::mem::swap(&mut point.feature_a, &mut point.feature_b);
            point.tangent_impulse = -point.tangent_impulse;
        }
    }
}

impl WarmStart {
    /// What the pair that the engine asks about brought along.
    fn take_announced(&self, pos12: &Pose, g1: &dyn Shape, g2: &dyn Shape) -> Option<ContactState> {
        if !self.announced.load(Ordering::Relaxed) {
            return None;
        }
        self.announced.store(false, Ordering::Relaxed);
        let (place, contact) = self.lock().announced.take()?;
        // The engine also filters pairs without asking for their points; then the next pair is another one.
        (place == *pos12 && lies_on(&contact, g1, g2)).then_some(contact)
    }
}

/// True if all points lie on the shapes that they are said to be of.
fn lies_on(contact: &ContactState, g1: &dyn Shape, g2: &dyn Shape) -> bool {
    let (one, two) = (g1.compute_local_aabb().loosened(OUTSIDE_M), g2.compute_local_aabb().loosened(OUTSIDE_M));
    let mut points = contact.patches.iter().flat_map(|patch| &patch.points);
    points.all(|point| one.contains_local_point(point.at_a) && two.contains_local_point(point.at_b))
}

impl PersistentQueryDispatcher<ContactManifoldData, ContactData> for WarmStart {
    fn contact_manifolds(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
        manifolds: &mut Vec<ContactManifold>,
        workspace: &mut Option<ContactManifoldsWorkspace>,
    ) -> Result<(), Unsupported> {
        let old = self.take_announced(pos12, g1, g2);
        let with_parts = patches::has_parts(g1) || patches::has_parts(g2);
        if let Some(old) = old.as_ref().filter(|old| with_parts || !old.recycled) {
            *manifolds = old.patches.iter().map(manifold_of).collect();
            manifolds.truncate(if with_parts { usize::MAX } else { 1 });
        }
        let found = if with_parts {
            workspace.get_or_insert_with(patches::changing);
            patches::find(pos12, g1, g2, prediction, manifolds)
        } else {
            DefaultQueryDispatcher.contact_manifolds(pos12, g1, g2, prediction, manifolds, workspace)
        };
        if let Some(old) = old.filter(|old| old.recycled) {
            go_on(manifolds, pos12, &old, with_parts);
        }
        found
    }

    fn contact_manifold_convex_convex(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        normal_constraints1: Option<&dyn NormalConstraints>,
        normal_constraints2: Option<&dyn NormalConstraints>,
        prediction: Real,
        manifold: &mut ContactManifold,
    ) -> Result<(), Unsupported> {
        DefaultQueryDispatcher.contact_manifold_convex_convex(
            pos12,
            g1,
            g2,
            normal_constraints1,
            normal_constraints2,
            prediction,
            manifold,
        )
    }
}

/// Lets a pair go on as it was where the engine itself would: while two bodies hardly move against each other, it
/// goes on with the points it once found and the four of them it once picked to solve. Otherwise gives the new points
/// the impulses of the old ones; points of shapes with parts have them already.
fn go_on(manifolds: &mut [ContactManifold], pos12: &Pose, old: &ContactState, with_parts: bool) {
    let mut kept: Vec<Option<&ContactPatch>> = vec![None; manifolds.len()];
    let all = old.patches.iter().all(|patch| {
        let fits = |i: &usize| kept[*i].is_none() && goes_on(&manifolds[*i], pos12, patch);
        let at = (0..manifolds.len()).find(fits);
        at.inspect(|at| kept[*at] = Some(patch)).is_some()
    });
    if all {
        for (manifold, patch) in manifolds.iter_mut().zip(kept) {
            manifold.points.clear();
            if let Some(patch) = patch {
                (manifold.local_n1, manifold.local_n2) = (patch.normal_a, patch.normal_b);
                manifold.points.extend(patch.points.iter().map(|point| {
                    let mut contact = tracked(point);
                    contact.dist = distance(pos12, point, patch.normal_a);
                    contact
                }));
            }
        }
    } else if let ([manifold], [patch], false) = (manifolds, old.patches.as_slice(), with_parts) {
        match_points(manifold, &patch.points);
    }
}

/// True if every old point lies beside a new one and the bodies press along the same line.
fn goes_on(manifold: &ContactManifold, pos12: &Pose, old: &ContactPatch) -> bool {
    let along = manifold.local_n1.dot(old.normal_a).min(manifold.local_n2.dot(old.normal_b));
    along > STILL_THE_NORMAL_COS
        && old.points.iter().all(|point| {
            manifold.points.iter().any(|new| {
                (new.local_p1 - point.at_a).length() < STILL_THE_POINT_M
                    && (new.local_p2 - point.at_b).length() < STILL_THE_POINT_M
                    && (new.dist - distance(pos12, point, old.normal_a)).abs() < STILL_THE_DISTANCE_M
            })
        })
}

/// How far the two bodies are apart at a point, along the normal.
fn distance(pos12: &Pose, point: &ContactPoint, normal: Vector) -> f32 {
    (*pos12 * point.at_b - point.at_a).dot(normal)
}

/// Gives new points the impulses of the old ones: of the same features first, then of the nearest.
fn match_points(manifold: &mut ContactManifold, old: &[ContactPoint]) {
    let mut free = vec![true; manifold.points.len()];
    let mut rest = Vec::new();
    for point in old {
        let same = manifold
            .points
            .iter()
            .zip(&free)
            .position(|(new, free)| *free && (new.fid1.0, new.fid2.0) == (point.feature_a, point.feature_b));
        match same {
            Some(i) => {
                free[i] = false;
                write(&mut manifold.points[i].data, point);
            }
            None => rest.push(point),
        }
    }
    for point in rest {
        let mut best = (SAME_POINT_M, None);
        for (i, new) in manifold.points.iter().enumerate().filter(|(i, _)| free[*i]) {
            let one = (new.local_p1 - point.at_a).length();
            let two = (new.local_p2 - point.at_b).length();
            if one.min(two) < best.0 {
                best = (one.min(two), Some(i));
            }
        }
        if let Some(i) = best.1 {
            free[i] = false;
            write(&mut manifold.points[i].data, point);
        }
    }
}

fn write(data: &mut ContactData, point: &ContactPoint) {
    data.impulse = point.step_impulse;
    data.warmstart_impulse = point.normal_impulse;
    data.warmstart_tangent_world = point.tangent_impulse;
    data.warmstart_twist_impulse = point.twist_impulse;
}

/// A point as the engine has it.
fn tracked(point: &ContactPoint) -> TrackedContact<ContactData> {
    let features = (PackedFeatureId(point.feature_a), PackedFeatureId(point.feature_b));
    let mut contact = TrackedContact::new(point.at_a, point.at_b, features.0, features.1, point.distance);
    write(&mut contact.data, point);
    contact
}

/// A patch as the engine has it.
fn manifold_of(patch: &ContactPatch) -> ContactManifold {
    let mut manifold = ContactManifold::new();
    (manifold.local_n1, manifold.local_n2) = (patch.normal_a, patch.normal_b);
    manifold.points.extend(patch.points.iter().map(tracked));
    manifold
}

/// Writes down the points of a manifold that the engine solves.
pub(crate) fn read_solved(manifold: &ContactManifold, points: &mut Vec<ContactPoint>) {
    let solved = manifold.data.solver_contacts.iter().flat_map(|contact| contact.contact_indices());
    points.extend(solved.filter_map(|i| manifold.points.get(i as usize)).map(point_of));
}

/// Writes down the points of a manifold from which the engine finds the next ones.
pub(crate) fn read_all(manifold: &ContactManifold, with_parts: bool, points: &mut Vec<ContactPoint>) {
    let matters = |point: &&TrackedContact<ContactData>| !with_parts || patches::is_loaded(&point.data);
    points.extend(manifold.points.iter().filter(matters).map(point_of));
}

fn point_of(point: &TrackedContact<ContactData>) -> ContactPoint {
    ContactPoint {
        at_a: point.local_p1,
        at_b: point.local_p2,
        feature_a: point.fid1.0,
        feature_b: point.fid2.0,
        distance: point.dist,
        step_impulse: point.data.impulse,
        normal_impulse: point.data.warmstart_impulse,
        tangent_impulse: point.data.warmstart_tangent_world,
        twist_impulse: point.data.warmstart_twist_impulse,
    }
}

/// Everything else is the engine's own.
impl QueryDispatcher for WarmStart {
    fn intersection_test(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
    ) -> Result<ShapeIntersection, Unsupported> {
        DefaultQueryDispatcher.intersection_test(pos12, g1, g2)
    }

    fn distance(&self, pos12: &Pose, g1: &dyn Shape, g2: &dyn Shape) -> Result<ShapeDistance, Unsupported> {
        DefaultQueryDispatcher.distance(pos12, g1, g2)
    }

    fn contact(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
    ) -> Result<Option<Contact>, Unsupported> {
        DefaultQueryDispatcher.contact(pos12, g1, g2, prediction)
    }

    fn closest_points(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        max_dist: Real,
    ) -> Result<ClosestPoints, Unsupported> {
        DefaultQueryDispatcher.closest_points(pos12, g1, g2, max_dist)
    }

    fn cast_shapes(
        &self,
        pos12: &Pose,
        local_vel12: Vector,
        g1: &dyn Shape,
        g2: &dyn Shape,
        options: ShapeCastOptions,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        DefaultQueryDispatcher.cast_shapes(pos12, local_vel12, g1, g2, options)
    }

    fn cast_shapes_nonlinear(
        &self,
        motion1: &NonlinearRigidMotion,
        g1: &dyn Shape,
        motion2: &NonlinearRigidMotion,
        g2: &dyn Shape,
        start_time: Real,
        end_time: Real,
        stop_at_penetration: bool,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        DefaultQueryDispatcher.cast_shapes_nonlinear(
            motion1,
            g1,
            motion2,
            g2,
            start_time,
            end_time,
            stop_at_penetration,
        )
    }
}

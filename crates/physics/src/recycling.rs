//! Whether the engine would go on with the contact points it has.
//!
//! While two bodies have hardly moved against each other since the engine last looked for their points, it goes on with
//! those that it then picked to solve. The pair's record of that moment can only be read by writing the pair down, hence the
//! detour.

use nimbus_model::coding;
use rapier3d::geometry::{Collider, ColliderHandle, ContactManifold, ContactPair};
use rapier3d::math::{Pose, Rotation};
use rapier3d::parry::query::details::ContactManifoldsWorkspace;
use serde::Deserialize;

/// The engine looks anew when a body has turned by more than this, as a cosine.
const TURNED_COS: f32 = 0.98;

/// The engine's record of a pair, field by field as it writes it.
#[derive(Deserialize)]
struct PairRecord {
    _colliders: (ColliderHandle, ColliderHandle),
    _events: u8,
    contacts: ContactsRecord,
}

#[derive(Deserialize)]
enum ContactsRecord {
    Rigid(RigidRecord),
    Soft { _touching: bool },
}

#[derive(Deserialize)]
struct RigidRecord {
    _manifolds: Vec<ContactManifold>,
    _clusters: Vec<ContactManifold>,
    _color: u8,
    _color_bodies: [u32; 2],
    _workspace: Option<ContactManifoldsWorkspace>,
    last_look: Option<LastLook>,
}

/// How the two colliders lay when the engine last looked for points.
#[derive(Deserialize)]
struct LastLook {
    pos12: Pose,
    rotation1: Rotation,
    rotation2: Rotation,
    extent: f32,
    drift_max: f32,
}

/// True if the next step goes on with the points that the last one solved. Also where the record cannot be read: then the
/// points are taken for those to go on with, as long as they fit; a test tells.
pub(crate) fn would_recycle(pair: &ContactPair, one: &Collider, two: &Collider) -> bool {
    let Ok(record) = coding::read::<PairRecord>(&coding::write(pair)) else { return true };
    let ContactsRecord::Rigid(RigidRecord { last_look: Some(last), .. }) = record.contacts else { return false };
    let pos12 = one.position().inv_mul(two.position());
    let turned = pos12.rotation * last.pos12.rotation.inverse();
    let moved = (pos12.translation - last.pos12.translation).length();
    let drift = moved + 2.0 * glam::Vec3::new(turned.x, turned.y, turned.z).length() * last.extent;
    let cos = |before: &Rotation, now: &Rotation| 2.0 * before.dot(*now).powi(2) - 1.0;
    let rotated = cos(&last.rotation1, &one.rotation()).min(cos(&last.rotation2, &two.rotation()));
    drift <= last.drift_max && rotated > TURNED_COS
}

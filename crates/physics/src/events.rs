//! Touches that began or ended during a step.

use nimbus_model::Nid;
use rapier3d::dynamics::{RigidBodySet, SoftBodySet, SoftBodyTearEvent};
use rapier3d::geometry::{ColliderSet, CollisionEvent, CollisionEventFlags, ContactPair};
use rapier3d::pipeline::EventHandler;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

use crate::PhysicsWorld;

/// Two bodies began or ceased to touch; sensors count. One of the two may be a static.
///
/// Taking a body out ends no touch: whoever does it knows, and a body that changes servers goes on touching. Before
/// that, [`PhysicsWorld::touches`] tells what would be cut. Only a body that the world itself takes out, because its
/// state became absurd, is reported to touch nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContactEvent {
    /// The lower id.
    pub a: Nid,
    /// The higher id.
    pub b: Nid,
    /// Began, or else ended.
    pub began: bool,
}

impl PhysicsWorld {
    /// Whether steps report touches that begin and end; off at first, because most worlds have nobody who asks. It is
    /// part of a snapshot. Switch it on before bodies enter: what touched before is never reported to have begun.
    pub fn report_contacts(&mut self, wanted: bool) {
        self.reports_contacts = wanted;
    }
}

/// Takes the engine's reports during a step. The engine wants shared access, hence the lock; nobody contends for it.
#[derive(Default)]
pub(crate) struct EventCollector {
    contacts: Mutex<Vec<ContactEvent>>,
}

impl EventCollector {
    /// Moves what was collected to `out`, sorted by pair; events of one pair stay in the order they happened in.
    pub(crate) fn drain_into(&mut self, out: &mut Vec<ContactEvent>) {
        let contacts = self.contacts.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        out.append(contacts);
        out.sort_by_key(|event| (event.a, event.b));
    }
}

impl EventHandler for EventCollector {
    fn handle_collision_event(
        &self,
        _bodies: &RigidBodySet,
        colliders: &ColliderSet,
        event: CollisionEvent,
        _pair: Option<&ContactPair>,
    ) {
        let (one, two, flags, began) = match event {
            CollisionEvent::Started(one, two, flags) => (one, two, flags, true),
            CollisionEvent::Stopped(one, two, flags) => (one, two, flags, false),
        };
        if flags.contains(CollisionEventFlags::REMOVED) {
            return;
        }
        if let (Some(one), Some(two)) = (colliders.get(one), colliders.get(two)) {
            let (one, two) = (Nid(one.user_data as u64), Nid(two.user_data as u64));
            let mut contacts = self.contacts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            contacts.push(ContactEvent { a: one.min(two), b: one.max(two), began });
        }
    }

    fn handle_contact_force_event(&self, _: f32, _: &RigidBodySet, _: &ColliderSet, _: &ContactPair, _: f32) {}

    fn handle_soft_body_tear_event(&self, _: &SoftBodySet, _: &SoftBodyTearEvent) {}
}

//! The world: the engine, and beside it our own tables in the order of ids.

use nimbus_model::{Motion, Nid, World};
use rapier3d::dynamics::{ImpulseJointHandle, RigidBodyHandle};
use rapier3d::geometry::{Collider, ColliderBuilder, ColliderHandle};
use rapier3d::pipeline::PhysicsWorld as Engine;
use serde::{Deserialize, Serialize};

use crate::body::{self, Slot};
use crate::contacts::Carried;
use crate::events::EventCollector;
use crate::index::Index;
use crate::links::LinkTable;
use crate::shapes::ShapeStore;
use crate::step::StepReport;
use crate::warm_start::WarmStart;
use nimbus_model::LinkKey;

/// How many collider slots below the statics are kept for bodies.
///
/// The engine finds a pair by walking the pairs of its lower-index collider. Ground that touches thousands of bodies
/// must therefore have a higher index than they. Bodies beyond this number are only slower, not wrong; at this many a
/// server has long left real time. A slot costs about half a kilobyte.
const SLOTS_BELOW_STATICS: usize = 1 << 13;

/// Changes of joints and removals that wait for the next step. The engine keeps their traces in lists that it does not
/// save, so they are handed to it only where no snapshot can come in between.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) doomed_bodies: Vec<RigidBodyHandle>,
    pub(crate) doomed_joints: Vec<ImpulseJointHandle>,
    pub(crate) new_links: Vec<LinkKey>,
}

/// One server's physics: the statics of the world and the bodies it owns.
///
/// Call order within a tick: any number of inserts, removals, pushes and links, then one [`PhysicsWorld::step`].
/// Reading, asking and saving are possible at any time. The results depend on the order of the calls that change
/// something, so the caller must have a defined one.
pub struct PhysicsWorld {
    pub(crate) engine: Engine,
    /// By the engine's body index; `None` for bodies that wait for their removal.
    pub(crate) slots: Vec<Option<Slot>>,
    pub(crate) index: Index,
    pub(crate) statics: Index,
    pub(crate) awake: Index,
    pub(crate) links: LinkTable,
    pub(crate) pending: Pending,
    /// Colliders that the engine's search tree does not know before the next step.
    pub(crate) fresh: Vec<ColliderHandle>,
    /// Bodies that came asleep since the last step, see `quiet.rs`.
    pub(crate) dozing: Vec<RigidBodyHandle>,
    /// Touches that came with bodies since the last step, see `contacts.rs`.
    pub(crate) carried: Carried,
    /// Bodies woken by calls since the last step, for the next report.
    pub(crate) woken: Vec<Nid>,
    pub(crate) refused: Vec<(Nid, String)>,
    pub(crate) shapes: ShapeStore,
    pub(crate) events: EventCollector,
    /// Whether steps report touches, see `events.rs`.
    pub(crate) reports_contacts: bool,
    pub(crate) warm_start: WarmStart,
    pub(crate) report: StepReport,
}

impl PhysicsWorld {
    /// A world with the statics of the description, named [`Nid::of_world`], and nothing else: which of the other
    /// bodies live here is for the caller to say.
    ///
    /// Statics that cannot be built are left out and listed by [`PhysicsWorld::refused_statics`].
    pub fn new(world: &World, era: u16) -> Self {
        PhysicsWorld::with_slots(world, era, SLOTS_BELOW_STATICS)
    }

    /// A world with the statics of the description, and so many collider slots kept below them.
    pub(crate) fn with_slots(world: &World, era: u16, slots_below_statics: usize) -> Self {
        let mut engine = Engine::new();
        // A description is checked where it is read; a bad one here must still not poison every body.
        engine.gravity = if world.gravity.is_finite() { world.gravity } else { nimbus_model::Vec3::ZERO };
        engine.integration_parameters.dt = 1.0 / world.tick_hz.max(1) as f32;
        // The engine works with the lever arms of a contact's first moment until the bodies have drifted this far, 50 mm
        // by itself. A body new to a world starts with fresh ones, and a stack that changed servers would sway to a new
        // balance. At 3 mm it stays, for about a tenth of a step; docs/decisions/0006 has the figures.
        engine.integration_parameters.normalized_contact_recycle_distance = 0.003;
        // Points of shapes with several parts are merged in `patches.rs`, where their impulses can be given back.
        engine.integration_parameters.contact_clustering = false;

        let mut this = PhysicsWorld::around(engine);
        let dummies = this.reserve_low_colliders(slots_below_statics);
        for (index, spawn) in world.statics() {
            let nid = Nid::of_world(era, index);
            if let Err(error) = this.insert_static(nid, spawn) {
                this.refused.push((nid, error.to_string()));
            }
        }
        this.release_low_colliders(dummies);
        this
    }

    /// Statics of the description that could not be built, and why. Whoever loads a world should look.
    pub fn refused_statics(&self) -> &[(Nid, String)] {
        &self.refused
    }

    /// An engine with empty tables beside it.
    pub(crate) fn around(mut engine: Engine) -> Self {
        let warm_start = WarmStart::default();
        engine.narrow_phase.set_query_dispatcher(warm_start.clone());
        PhysicsWorld {
            engine,
            slots: Vec::new(),
            index: Index::default(),
            statics: Index::default(),
            awake: Index::default(),
            links: LinkTable::default(),
            pending: Pending::default(),
            fresh: Vec::new(),
            dozing: Vec::new(),
            carried: Carried::new(),
            woken: Vec::new(),
            refused: Vec::new(),
            shapes: ShapeStore::default(),
            events: EventCollector::default(),
            reports_contacts: false,
            warm_start,
            report: StepReport::default(),
        }
    }

    pub(crate) fn slot(&self, handle: RigidBodyHandle) -> Option<&Slot> {
        self.slots.get(handle.into_raw_parts().0 as usize)?.as_ref()
    }

    pub(crate) fn slot_mut(&mut self, handle: RigidBodyHandle) -> Option<&mut Slot> {
        self.slots.get_mut(handle.into_raw_parts().0 as usize)?.as_mut()
    }

    pub(crate) fn put_slot(&mut self, handle: RigidBodyHandle, slot: Slot) {
        let at = handle.into_raw_parts().0 as usize;
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, || None);
        }
        self.slots[at] = Some(slot);
    }

    pub(crate) fn handle_of_any(&self, nid: Nid) -> Option<RigidBodyHandle> {
        self.index.get(nid).or_else(|| self.statics.get(nid))
    }

    /// The body of this collider, unless it waits for its removal.
    pub(crate) fn present_nid(&self, collider: &Collider) -> Option<Nid> {
        self.slot(collider.parent()?).map(|slot| slot.nid)
    }

    /// Puts a checked body and its collider into the engine and into the slots.
    pub(crate) fn add_to_engine(
        &mut self,
        nid: Nid,
        desc: &std::sync::Arc<nimbus_model::BodyDesc>,
        motion: &Motion,
        shape: rapier3d::parry::shape::SharedShape,
    ) -> RigidBodyHandle {
        let handle = self.engine.bodies.insert(body::build_body(nid, desc, motion));
        let collider = body::build_collider(nid, desc, shape.clone());
        let collider = self.engine.colliders.insert_with_parent(collider, handle, &mut self.engine.bodies);
        self.fresh.push(collider);
        let dozing = body::sleeps(desc, motion);
        if dozing {
            self.dozing.push(handle);
        }
        self.put_slot(handle, Slot { nid, desc: desc.clone(), shape, collider, awake: false, dozing });
        handle
    }

    fn reserve_low_colliders(&mut self, slots: usize) -> Vec<ColliderHandle> {
        let dummy = ColliderBuilder::ball(1.0).build();
        (0..slots).map(|_| self.engine.colliders.insert(dummy.clone())).collect()
    }

    /// Frees the reserved slots so that the lowest is used first.
    fn release_low_colliders(&mut self, dummies: Vec<ColliderHandle>) {
        let Engine { colliders, islands, bodies, soft_bodies, .. } = &mut self.engine;
        for dummy in dummies.into_iter().rev() {
            colliders.remove(dummy, islands, bodies, soft_bodies, false);
        }
    }
}

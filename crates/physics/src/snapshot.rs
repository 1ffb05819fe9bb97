//! Saving and restoring: a restored world goes on bit by bit as the saved one would have.

use nimbus_model::coding::{self, Allowance, Broken};
use nimbus_model::{BodyDesc, LinkKey, Nid};
use rapier3d::dynamics::RigidBodyHandle;
use rapier3d::geometry::ColliderHandle;
use rapier3d::pipeline::PhysicsWorld as Engine;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::PhysicsWorld;
use crate::body::Slot;
use crate::contacts::Carried;
use crate::index::Index;
use crate::links::LinkRecord;
use crate::world::Pending;

/// Names the form: this crate's layout and the engine version whose state is inside. Change it with either.
const NAME: &[u8; 8] = b"nphys\x00\x24\x05";

/// One body beside the engine's record of it. The description is an index into the table of descriptions, because
/// thousands of bodies share a few.
#[derive(Serialize, Deserialize)]
struct SavedBody {
    nid: Nid,
    body: RigidBodyHandle,
    collider: ColliderHandle,
    desc: u32,
    awake: bool,
    dozing: bool,
}

/// Everything but the engine, and the engine as `E`: borrowed to write, owned to read.
#[derive(Serialize, Deserialize)]
struct Saved<E> {
    engine: E,
    descs: Vec<Arc<BodyDesc>>,
    slots: Vec<SavedBody>,
    index: Index,
    statics: Index,
    awake: Index,
    links: Vec<(LinkKey, LinkRecord)>,
    pending: Pending,
    fresh: Vec<ColliderHandle>,
    dozing: Vec<RigidBodyHandle>,
    carried: Carried,
    woken: Vec<Nid>,
    refused: Vec<(Nid, String)>,
    reports_contacts: bool,
}

impl Serialize for PhysicsWorld {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (descs, slots) = self.saved_bodies();
        let saved = Saved {
            engine: &self.engine,
            descs,
            slots,
            index: self.index.clone(),
            statics: self.statics.clone(),
            awake: self.awake.clone(),
            links: self.links.iter().map(|(key, record)| (key, record.clone())).collect(),
            pending: self.pending.clone(),
            fresh: self.fresh.clone(),
            dozing: self.dozing.clone(),
            carried: self.carried.clone(),
            woken: self.woken.clone(),
            refused: self.refused.clone(),
            reports_contacts: self.reports_contacts,
        };
        saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PhysicsWorld {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Saved::<Engine>::deserialize(deserializer)?;
        PhysicsWorld::from_saved(saved).ok_or_else(|| D::Error::custom("does not describe a world"))
    }
}

impl PhysicsWorld {
    /// The whole state as bytes. Equal histories give equal bytes.
    ///
    /// Takes some 10 ms for thousands of bodies, so do it off the critical path. The report of the last step is not
    /// part of the state.
    pub fn snapshot(&self) -> Vec<u8> {
        coding::write_sealed(NAME, self)
    }

    /// The world that [`PhysicsWorld::snapshot`] saved.
    ///
    /// Damage is found by a checksum before anything is read, and memory follows the length. A whole snapshot of another
    /// hand can still describe a world that nobody would want: take snapshots only from servers.
    pub fn restore(bytes: &[u8]) -> Result<Self, Broken> {
        coding::read_sealed(NAME, bytes, Allowance::SNAPSHOT)
    }

    fn saved_bodies(&self) -> (Vec<Arc<BodyDesc>>, Vec<SavedBody>) {
        let mut descs = Vec::new();
        let mut known = BTreeMap::new();
        let mut slots = Vec::with_capacity(self.statics.len() + self.index.len());
        for (nid, body) in self.statics.iter().chain(self.index.iter()) {
            let Some(slot) = self.slot(body) else { continue };
            // The address only finds what was seen before; numbers are given in the order of ids.
            let desc = *known.entry(Arc::as_ptr(&slot.desc)).or_insert_with(|| {
                descs.push(slot.desc.clone());
                descs.len() as u32 - 1
            });
            slots.push(SavedBody { nid, body, collider: slot.collider, desc, awake: slot.awake, dozing: slot.dozing });
        }
        (descs, slots)
    }

    fn from_saved(saved: Saved<Engine>) -> Option<Self> {
        let mut world = PhysicsWorld::around(saved.engine);
        for SavedBody { nid, body, collider, desc, awake, dozing } in saved.slots {
            let desc = saved.descs.get(desc as usize)?.clone();
            world.engine.bodies.get(body)?;
            let in_engine = world.engine.colliders.get(collider)?.shared_shape().clone();
            let shape = world.shapes.get(&desc.shape).unwrap_or(in_engine);
            world.put_slot(body, Slot { nid, desc, shape, collider, awake, dozing });
        }
        for index in [&saved.index, &saved.statics, &saved.awake] {
            let known = |(nid, handle)| world.slot(handle).is_some_and(|slot| slot.nid == nid);
            if !index.is_sorted() || !index.iter().all(known) {
                return None;
            }
        }
        for (key, record) in saved.links {
            world.links.insert(key, record);
        }
        world.index = saved.index;
        world.statics = saved.statics;
        world.awake = saved.awake;
        world.pending = saved.pending;
        world.fresh = saved.fresh;
        world.dozing = saved.dozing;
        world.carried = saved.carried;
        world.woken = saved.woken;
        world.refused = saved.refused;
        world.reports_contacts = saved.reports_contacts;
        Some(world)
    }
}

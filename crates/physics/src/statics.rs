//! What never moves: it comes with the world, and may be put in and taken out while the world runs.

use nimbus_model::{BodyKind, BodySpawn, Motion, Nid, Velocity};

use crate::PhysicsWorld;
use crate::convert::is_sane;
use crate::insert::InsertError;

/// Bodies this close to a static that comes or goes are woken, metres: they may hang on it, or touch it soon.
const NEAR_M: f32 = 0.1;

impl PhysicsWorld {
    /// Puts a static in, and wakes what lies where it is. Every server must do the same at the same tick.
    pub fn insert_static(&mut self, nid: Nid, spawn: &BodySpawn) -> Result<(), InsertError> {
        let desc = &spawn.desc;
        if self.handle_of_any(nid).is_some() {
            return Err(InsertError::Present { nid });
        }
        if let Some(problem) = desc.problem() {
            return Err(InsertError::Desc { nid, problem });
        }
        if desc.kind != BodyKind::Static || !is_sane(&spawn.pose, &Velocity::ZERO) {
            return Err(InsertError::Motion { nid });
        }
        let shape = self.shapes.get(&desc.shape).map_err(|problem| InsertError::Shape { nid, problem })?;
        let handle = self.add_to_engine(nid, desc, &Motion::new(spawn.pose, Velocity::ZERO), shape);
        self.statics.merge(&[(nid, handle)]);
        self.wake_near(nid);
        Ok(())
    }

    /// Takes a static out, with the joints that held bodies to it, and wakes what lay on it. False if there is none.
    ///
    /// Taking it out ends no touch: [`PhysicsWorld::touches_with_static`] tells before what will be cut.
    pub fn remove_static(&mut self, nid: Nid) -> bool {
        let Some(handle) = self.statics.get(nid) else { return false };
        self.wake_near(nid);
        for key in self.links.touching(nid).collect::<Vec<_>>() {
            self.remove_link(key);
        }
        let at = handle.into_raw_parts().0 as usize;
        if let Some(slot) = self.slots.get_mut(at).and_then(Option::take) {
            self.fresh.retain(|collider| *collider != slot.collider);
        }
        self.carried.retain(|(a, b), _| *a != nid && *b != nid);
        self.statics.drop_sorted(&[nid]);
        self.pending.doomed_bodies.push(handle);
        true
    }

    /// Every touch of a static with owned bodies, the lower id first, sorted.
    pub fn touches_with_static(&self, nid: Nid) -> Vec<(Nid, Nid)> {
        let near = self.near(nid);
        self.touches(&near).into_iter().filter(|(a, b)| *a == nid || *b == nid).collect()
    }

    /// The owned bodies whose boxes come close to that of a static, in order.
    fn near(&self, nid: Nid) -> Vec<Nid> {
        let Some(bounds) = self.view(nid).map(|body| body.aabb().grown(NEAR_M)) else { return Vec::new() };
        self.nids().filter(|other| self.view(*other).is_some_and(|body| body.aabb().meets(&bounds))).collect()
    }

    fn wake_near(&mut self, nid: Nid) {
        for other in self.near(nid) {
            self.wake(other);
        }
    }
}

//! Bodies and joints leaving the world.

use nimbus_model::Nid;

use crate::{PhysicsWorld, joints};
use nimbus_model::{Group, Link, LinkKey, Member};

impl PhysicsWorld {
    /// Takes bodies out and returns them complete, in canonical order; ids that are not owned here are ignored.
    ///
    /// The links of the returned group are all joints that held a removed body. A joint to a body that stays is cut:
    /// it is returned too, and inserting the group elsewhere with it fails unless the other end is there. Joints to
    /// statics travel well, because every server has the statics.
    ///
    /// The touches of the returned group are those among the removed bodies and with statics.
    ///
    /// From now on nobody sees the bodies here, queries included. The engine lets go of them at the start of the next
    /// step and wakes what touched them or was joined to them.
    pub fn remove(&mut self, nids: &[Nid]) -> Group {
        let gone = self.owned_of(nids);
        let links = self.links_holding(&gone).into_iter().filter_map(|key| self.take_link(key, &gone)).collect();

        let contacts = self.take_contacts(&gone);
        let mut members = Vec::with_capacity(gone.len());
        for &nid in &gone {
            let Some(handle) = self.index.get(nid) else { continue };
            let motion = self.motion_of(handle);
            let at = handle.into_raw_parts().0 as usize;
            if let Some(slot) = self.slots.get_mut(at).and_then(Option::take) {
                self.fresh.retain(|collider| *collider != slot.collider);
                self.dozing.retain(|dozing| *dozing != handle);
                members.push(Member { nid, desc: slot.desc, motion });
                self.pending.doomed_bodies.push(handle);
            }
        }
        self.index.drop_sorted(&gone);
        self.awake.drop_sorted(&gone);
        self.woken.retain(|nid| gone.binary_search(nid).is_err());
        Group { members, links, contacts }
    }

    /// What [`PhysicsWorld::remove`] would return, with nothing removed.
    pub fn group_of(&self, nids: &[Nid]) -> Group {
        let nids = self.owned_of(nids);
        let links = self.links_holding(&nids).into_iter().filter_map(|key| self.link(key)).collect();
        let member = |nid: &Nid| {
            let handle = self.index.get(*nid)?;
            Some(Member { nid: *nid, desc: self.slot(handle)?.desc.clone(), motion: self.motion_of(handle) })
        };
        Group { members: nids.iter().filter_map(member).collect(), links, contacts: self.contacts_among(&nids) }
    }

    /// Breaks a joint and returns it; both bodies wake with the next step.
    pub fn remove_link(&mut self, key: LinkKey) -> Option<Link> {
        self.take_link(key, &[])
    }

    /// The joint of this name, complete.
    pub fn link(&self, key: LinkKey) -> Option<Link> {
        let record = self.links.get(key)?;
        let impulses = self.impulses_of(record);
        Some(Link { a: key.0, b: key.1, ordinal: key.2, desc: record.desc.clone(), impulses })
    }

    /// Names of all joints, in order.
    pub fn link_keys(&self) -> impl Iterator<Item = LinkKey> + '_ {
        self.links.iter().map(|(key, _)| key)
    }

    /// How many joints hold this body.
    pub fn link_count(&self, nid: Nid) -> usize {
        self.links.touching(nid).count()
    }

    /// True when there is any joint.
    pub fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// The owned bodies that joints hold directly to this one, sorted, each once.
    pub fn linked(&self, nid: Nid) -> impl Iterator<Item = Nid> + '_ {
        self.links.partners(nid).into_iter().filter(|partner| self.index.contains(*partner))
    }

    /// This body and all owned bodies that hang on it through joints, sorted; statics do not connect. Empty if the
    /// body is not owned here.
    pub fn linkage(&self, nid: Nid) -> Vec<Nid> {
        if !self.index.contains(nid) {
            return Vec::new();
        }
        let mut all = std::collections::BTreeSet::from([nid]);
        let mut open = vec![nid];
        while let Some(next) = open.pop() {
            open.extend(self.linked(next).filter(|partner| all.insert(*partner)));
        }
        all.into_iter().collect()
    }

    /// Hands the changes that waited to the engine, in the one order that does not depend on who called what first:
    /// bodies out, joints out, joints in.
    pub(crate) fn apply_pending(&mut self) {
        let engine = &mut self.engine;
        for handle in self.pending.doomed_bodies.drain(..) {
            engine.remove_body(handle);
        }
        for joint in self.pending.doomed_joints.drain(..) {
            engine.impulse_joints.remove(joint, true);
        }
        for key in self.pending.new_links.drain(..) {
            let ends = self
                .index
                .get(key.0)
                .or_else(|| self.statics.get(key.0))
                .zip(self.index.get(key.1).or_else(|| self.statics.get(key.1)));
            if let (Some((a, b)), Some(record)) = (ends, self.links.get_mut(key)) {
                let joint = engine.impulse_joints.insert(a, b, joints::build(&record.desc), false);
                if let Some(inserted) = engine.impulse_joints.get_mut(joint, false) {
                    inserted.impulses = record.impulses;
                }
                record.joint = Some(joint);
            }
        }
    }

    /// Those of the bodies that are owned here, sorted, each once.
    fn owned_of(&self, nids: &[Nid]) -> Vec<Nid> {
        let mut owned: Vec<Nid> = nids.iter().copied().filter(|nid| self.index.contains(*nid)).collect();
        owned.sort_unstable();
        owned.dedup();
        owned
    }

    /// Names of the joints that hold any of these bodies, sorted, each once.
    fn links_holding(&self, nids: &[Nid]) -> Vec<LinkKey> {
        let mut keys: Vec<LinkKey> = nids.iter().flat_map(|nid| self.links.touching(*nid)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Takes a joint out of the table. Joints of `gone` bodies, a sorted list, leave the engine with their bodies.
    fn take_link(&mut self, key: LinkKey, gone: &[Nid]) -> Option<Link> {
        let link = self.link(key)?;
        let record = self.links.remove(key)?;
        let leaves = |nid: Nid| gone.binary_search(&nid).is_ok();
        match record.joint {
            Some(joint) if !leaves(key.0) && !leaves(key.1) => self.pending.doomed_joints.push(joint),
            Some(_) => {}
            None => self.pending.new_links.retain(|waiting| *waiting != key),
        }
        Some(link)
    }

    fn impulses_of(&self, record: &crate::links::LinkRecord) -> [f32; 6] {
        let in_engine = record.joint.and_then(|joint| self.engine.impulse_joints.get(joint));
        in_engine.map_or(record.impulses, |joint| joint.impulses)
    }
}

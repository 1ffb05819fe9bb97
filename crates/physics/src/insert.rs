//! Bodies and joints entering the world.

use nimbus_model::{BodyKind, Nid};
use rapier3d::parry::shape::SharedShape;
use thiserror::Error;

use crate::convert::is_sane;
use crate::links::LinkRecord;
use crate::{Member, PhysicsWorld};
use nimbus_model::{Group, Link, LinkKey};

/// Why a group or a link was not taken. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum InsertError {
    /// The body is already here, or is named twice.
    #[error("body {nid} is already in this world")]
    Present {
        /// Which.
        nid: Nid,
    },
    /// Statics come with the world and are not inserted.
    #[error("body {nid} is static; statics come with the world")]
    Static {
        /// Which.
        nid: Nid,
    },
    /// The description is wrong.
    #[error("body {nid}: {problem}")]
    Desc {
        /// Which.
        nid: Nid,
        /// What is wrong with it.
        problem: String,
    },
    /// The motion holds numbers that no body may have.
    #[error("body {nid} has a motion that is not finite or out of bounds")]
    Motion {
        /// Which.
        nid: Nid,
    },
    /// The engine cannot build the shape.
    #[error("body {nid} has a shape that cannot be built: {problem}")]
    Shape {
        /// Which.
        nid: Nid,
        /// What is wrong with it.
        problem: String,
    },
    /// The joint names a body that is neither in the group nor here, the same body twice, or two statics.
    #[error("joint {} - {} #{} does not hold two bodies of this world, one of them owned", key.0, key.1, key.2)]
    LinkEnds {
        /// Which.
        key: LinkKey,
    },
    /// The joint is already here, or is named twice.
    #[error("joint {} - {} #{} is already in this world", key.0, key.1, key.2)]
    LinkPresent {
        /// Which.
        key: LinkKey,
    },
    /// The joint's description or its impulses are wrong.
    #[error("joint {} - {} #{}: {problem}", key.0, key.1, key.2)]
    LinkDesc {
        /// Which.
        key: LinkKey,
        /// What is wrong with it.
        problem: String,
    },
}

impl PhysicsWorld {
    /// Takes a group in, whole or not at all. The order within the group does not matter.
    ///
    /// Members keep their motion exactly, with forces, sleep and the time they have been quiet; what is asleep stays
    /// asleep unless it touches or is joined to something awake. Joints start acting with the next step. Touches go on:
    /// they are not reported again, and the bodies press on each other as they did.
    pub fn insert(&mut self, mut group: Group) -> Result<(), InsertError> {
        group.sort();
        let shapes = self.check_members(&group.members)?;
        for (i, link) in group.links.iter().enumerate() {
            if i > 0 && group.links[i - 1].key() == link.key() {
                return Err(InsertError::LinkPresent { key: link.key() });
            }
            self.check_link(link, &group.members)?;
        }

        let mut all = Vec::with_capacity(group.members.len());
        let mut awake = Vec::with_capacity(group.members.len());
        for (member, shape) in group.members.iter().zip(shapes) {
            let handle = self.add_to_engine(member.nid, &member.desc, &member.motion, shape);
            all.push((member.nid, handle));
            if let Some(slot) = self.slot_mut(handle).filter(|slot| !slot.dozing) {
                slot.awake = true;
                awake.push((member.nid, handle));
            }
        }
        self.index.merge(&all);
        self.awake.merge(&awake);
        for link in group.links {
            self.accept_link(link);
        }
        self.accept_contacts(group.contacts, &group.members);
        Ok(())
    }

    /// Joins two bodies of this world. The joint starts acting with the next step; it wakes a body asleep only if the
    /// other is awake.
    pub fn add_link(&mut self, link: Link) -> Result<(), InsertError> {
        self.check_link(&link, &[])?;
        self.accept_link(link);
        Ok(())
    }

    fn check_members(&mut self, members: &[Member]) -> Result<Vec<SharedShape>, InsertError> {
        let mut shapes = Vec::with_capacity(members.len());
        for (i, Member { nid, desc, motion }) in members.iter().enumerate() {
            let nid = *nid;
            if self.handle_of_any(nid).is_some() || (i > 0 && members[i - 1].nid == nid) {
                return Err(InsertError::Present { nid });
            }
            if desc.kind == BodyKind::Static {
                return Err(InsertError::Static { nid });
            }
            if let Some(problem) = desc.problem() {
                return Err(InsertError::Desc { nid, problem });
            }
            if !motion.is_valid() || !is_sane(&motion.pose, &motion.velocity) {
                return Err(InsertError::Motion { nid });
            }
            shapes.push(self.shapes.get(&desc.shape).map_err(|problem| InsertError::Shape { nid, problem })?);
        }
        Ok(shapes)
    }

    /// Checks a link against this world and the sorted members about to enter it.
    fn check_link(&self, link: &Link, members: &[Member]) -> Result<(), InsertError> {
        let key = link.key();
        let arrives = |nid: Nid| members.binary_search_by_key(&nid, |member| member.nid).is_ok();
        let owned = |nid: Nid| self.index.contains(nid) || arrives(nid);
        let known = |nid: Nid| owned(nid) || self.statics.contains(nid);
        if link.a == link.b || !known(link.a) || !known(link.b) || !(owned(link.a) || owned(link.b)) {
            return Err(InsertError::LinkEnds { key });
        }
        if self.links.contains(key) {
            return Err(InsertError::LinkPresent { key });
        }
        if let Some(problem) = link.desc.problem() {
            return Err(InsertError::LinkDesc { key, problem });
        }
        if !link.impulses.iter().all(|impulse| impulse.is_finite()) {
            return Err(InsertError::LinkDesc { key, problem: "an impulse is not finite".to_owned() });
        }
        Ok(())
    }

    fn accept_link(&mut self, link: Link) {
        let key = link.key();
        self.links.insert(key, LinkRecord { desc: link.desc, impulses: link.impulses, joint: None });
        self.pending.new_links.push(key);
    }
}

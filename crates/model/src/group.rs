//! Bodies that belong together and travel together.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::{BodyDesc, JointDesc, Motion, Nid};

/// One body with everything that makes it what it is and what it is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub nid: Nid,
    /// What it is.
    pub desc: Arc<BodyDesc>,
    /// What it is doing.
    pub motion: Motion,
}

/// Names a joint: the two bodies in the order of its anchors, and a number for several joints between one pair.
pub type LinkKey = (Nid, Nid, u16);

/// A joint with the impulses it last needed, so that it holds at once when it is made again elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// First body.
    pub a: Nid,
    /// Second body; may be a static.
    pub b: Nid,
    /// Tells several joints between the same two bodies apart.
    pub ordinal: u16,
    /// What holds them.
    pub desc: JointDesc,
    /// Accumulated impulses per degree of freedom.
    pub impulses: [f32; 6],
}

impl Link {
    /// A joint that has not acted yet.
    pub const fn new(a: Nid, b: Nid, ordinal: u16, desc: JointDesc) -> Link {
        Link { a, b, ordinal, desc, impulses: [0.0; 6] }
    }

    /// The joint's name.
    pub const fn key(&self) -> LinkKey {
        (self.a, self.b, self.ordinal)
    }
}

/// A set of bodies with the joints between them (and to statics): what is inserted, removed and handed over as one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The bodies; in canonical order they are sorted by id.
    pub members: Vec<Member>,
    /// The joints; in canonical order they are sorted by (a, b, ordinal).
    pub links: Vec<Link>,
}

impl Group {
    /// A group of one body without joints.
    pub fn single(nid: Nid, desc: Arc<BodyDesc>, motion: Motion) -> Group {
        Group { members: vec![Member { nid, desc, motion }], links: Vec::new() }
    }

    /// Puts members and links into the one order in which they may enter a physics world. The engine's results depend
    /// on the order of insertion, so this order must not depend on who sent what first.
    pub fn sort(&mut self) {
        self.members.sort_by_key(|m| m.nid);
        self.links.sort_by_key(Link::key);
    }

    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

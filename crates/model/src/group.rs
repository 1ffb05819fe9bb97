//! Bodies that belong together and travel together.

use glam::Vec3;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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

/// One point at which two bodies press on each other, with what the solver needs to go on from there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContactPoint {
    /// The point in the frame of the first body.
    pub at_a: Vec3,
    /// The point in the frame of the second body.
    pub at_b: Vec3,
    /// Which corner, edge or face of the first body, in the engine's own words.
    pub feature_a: u32,
    /// Which corner, edge or face of the second body.
    pub feature_b: u32,
    /// How far the bodies were apart at the point when the engine last looked, metres; below zero when they overlapped.
    pub distance: f32,
    /// Impulse that kept the bodies apart during the last step, N s. At a point that has borne nothing yet they may bounce.
    pub step_impulse: f32,
    /// Impulse that keeps the bodies apart and from which the solver goes on, N s: that of the last part of the step.
    pub normal_impulse: f32,
    /// Friction impulse on the first body, in the world, N s.
    pub tangent_impulse: Vec3,
    /// Friction impulse about the normal, N m s.
    pub twist_impulse: f32,
}

/// Points at which two bodies press on each other in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContactPatch {
    /// Away from the first body, in its frame.
    pub normal_a: Vec3,
    /// Away from the second body, in its frame.
    pub normal_b: Vec3,
    /// Where they press, in the order of the engine.
    pub points: Vec<ContactPoint>,
}

/// Two bodies that touch. It travels with them, so that a stack stands as firmly at its new place as it did before,
/// an impact goes on where it was, and a contact that began long ago does not begin again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContactState {
    /// The lower id.
    pub a: Nid,
    /// The higher id; one of the two may be a static.
    pub b: Nid,
    /// True when the bodies had hardly moved against each other since the engine last looked for points: it would have
    /// gone on with those that it solves, and these are all that the patches hold.
    pub recycled: bool,
    /// Where they press on each other: one patch for plain shapes, one for each direction where a shape has several
    /// parts, none for sensors.
    pub patches: Vec<ContactPatch>,
}

/// A set of bodies with the joints between them (and to statics): what is inserted, removed and handed over as one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The bodies; in canonical order they are sorted by id.
    pub members: Vec<Member>,
    /// The joints; in canonical order they are sorted by (a, b, ordinal).
    pub links: Vec<Link>,
    /// The touches among the bodies and with statics; in canonical order they are sorted by (a, b), each pair once.
    pub contacts: Vec<ContactState>,
}

impl ContactState {
    /// Two bodies that touch, given in any order, of which no more is known.
    pub fn bare(one: Nid, two: Nid) -> ContactState {
        let (a, b) = (one.min(two), one.max(two));
        ContactState { a, b, recycled: false, patches: Vec::new() }
    }
}

impl Group {
    /// Bodies that touch nothing and hang on nothing.
    pub fn of(members: Vec<Member>) -> Group {
        Group { members, ..Group::default() }
    }

    /// A group of one body without joints.
    pub fn single(nid: Nid, desc: Arc<BodyDesc>, motion: Motion) -> Group {
        Group::of(vec![Member { nid, desc, motion }])
    }

    /// Puts everything into the one order in which they may enter a physics world. The engine's results depend
    /// on the order of insertion, so this order must not depend on who sent what first.
    pub fn sort(&mut self) {
        self.members.sort_by_key(|m| m.nid);
        self.links.sort_by_key(Link::key);
        self.contacts.sort_by_key(|contact| (contact.a, contact.b));
    }

    /// The parts of the group that no joint holds together, each a group of its own, in order of their first member.
    /// A touch between two parts is forgotten.
    pub fn linkages(mut self) -> Vec<Group> {
        self.sort();
        let place = |nid: Nid, members: &[Member]| members.binary_search_by_key(&nid, |m| m.nid).ok();
        let mut leader: Vec<usize> = (0..self.members.len()).collect();
        let find = |leader: &[usize], mut i: usize| {
            while leader[i] != i {
                i = leader[i];
            }
            i
        };
        for link in &self.links {
            if let (Some(a), Some(b)) = (place(link.a, &self.members), place(link.b, &self.members)) {
                let (a, b) = (find(&leader, a), find(&leader, b));
                leader[a.max(b)] = a.min(b);
            }
        }
        let mut parts: BTreeMap<usize, Group> = BTreeMap::new();
        for link in self.links {
            if let Some(i) = place(link.a, &self.members).or_else(|| place(link.b, &self.members)) {
                parts.entry(find(&leader, i)).or_default().links.push(link);
            }
        }
        for contact in self.contacts {
            let ends = [contact.a, contact.b].map(|nid| place(nid, &self.members).map(|i| find(&leader, i)));
            match ends {
                [Some(one), Some(two)] if one != two => {}
                [Some(part), _] | [None, Some(part)] => parts.entry(part).or_default().contacts.push(contact),
                [None, None] => {}
            }
        }
        for (i, member) in self.members.into_iter().enumerate() {
            parts.entry(find(&leader, i)).or_default().members.push(member);
        }
        parts.into_values().collect()
    }

    /// True when the touch of two bodies, the lower id first, travels with the group, which must be in canonical order.
    pub fn carries(&self, pair: (Nid, Nid)) -> bool {
        self.contacts.binary_search_by_key(&pair, |contact| (contact.a, contact.b)).is_ok()
    }

    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JointKind, Shape};

    #[test]
    fn a_group_falls_into_the_parts_that_joints_hold_together() {
        let desc = Arc::new(BodyDesc::dynamic(Shape::ball(1.0)));
        let member = |n| Member { nid: Nid(n), desc: desc.clone(), motion: Motion::default() };
        let joint = JointDesc::new(JointKind::Spherical, Vec3::ZERO, Vec3::ZERO);
        let link = |a, b| Link::new(Nid(a), Nid(b), 0, joint.clone());
        let touch = |a, b| ContactState::bare(Nid(a), Nid(b));
        let group = Group {
            members: [5, 1, 4, 2, 3].map(member).to_vec(),
            links: vec![link(4, 1), link(1, 5), link(2, 99)],
            contacts: vec![touch(3, 99), touch(4, 5), touch(2, 5)],
        };
        let parts = group.linkages();
        assert!(parts[0].carries((Nid(4), Nid(5))) && !parts[0].carries((Nid(2), Nid(5))));
        let ids: Vec<Vec<u64>> = parts.iter().map(|part| part.members.iter().map(|m| m.nid.0).collect()).collect();
        assert_eq!(ids, [vec![1, 4, 5], vec![2], vec![3]]);
        assert_eq!(parts.iter().map(|part| part.links.len()).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(
            parts.into_iter().map(|part| part.contacts).collect::<Vec<_>>(),
            [vec![touch(4, 5)], vec![], vec![touch(3, 99)]]
        );
    }
}

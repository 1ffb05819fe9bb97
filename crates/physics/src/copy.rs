//! All bodies as a group, without taking them out: what a checkpoint keeps.

use nimbus_model::{ContactPoint, ContactState, Group, Link, Member, Nid, Vec3};
use rapier3d::geometry::{ColliderHandle, ContactPair};

use crate::contacts::POINTS_PER_CONTACT_MAX;
use crate::{PhysicsWorld, warm_start};

/// Touches and points a body has at most in most worlds. Only room to write into: more is right too.
const TOUCHES_PER_BODY: usize = 4;
const POINTS_PER_BODY: usize = 12;

/// Every body of a world at one moment, written down as it was found. The world goes on at once, and whoever has time
/// puts it in order.
#[derive(Clone, Debug)]
pub struct Copied {
    members: Vec<Member>,
    links: Vec<Link>,
    /// Touches that came with bodies and have not been stepped yet.
    carried: Vec<ContactState>,
    touches: Vec<Touch>,
    /// The points of all touches, one after the other.
    points: Vec<ContactPoint>,
}

/// A touch with its bodies in the order in which the engine has them.
#[derive(Clone, Debug)]
struct Touch {
    bodies: (Nid, Nid),
    normals: (Vec3, Vec3),
    points: usize,
}

/// What has to be known of a collider to tell whose touch it is.
#[derive(Clone, Copy)]
struct Owner {
    collider: ColliderHandle,
    nid: Nid,
    awake: bool,
}

impl PhysicsWorld {
    /// Every body that is owned here, complete, with all joints and with the touches of whatever is awake. They stay,
    /// and nothing changes. What sleeps needs no impulses to go on from: it presses on nothing until it is woken.
    pub fn copy(&self) -> Copied {
        let mut owners: Vec<Option<Owner>> = Vec::with_capacity(self.index.len());
        let mut members = Vec::with_capacity(self.index.len());
        for (nid, handle) in self.index.iter() {
            let Some(slot) = self.slot(handle) else { continue };
            let motion = self.motion_of(handle);
            let at = slot.collider.into_raw_parts().0 as usize;
            if owners.len() <= at {
                owners.resize(at + 1, None);
            }
            owners[at] = Some(Owner { collider: slot.collider, nid, awake: !motion.sleeping });
            members.push(Member { nid, desc: slot.desc.clone(), motion });
        }
        let mut copied = Copied {
            links: self.link_keys().filter_map(|key| self.link(key)).collect(),
            carried: self.carried.values().cloned().collect(),
            touches: Vec::with_capacity(members.len() * TOUCHES_PER_BODY),
            points: Vec::with_capacity(members.len() * POINTS_PER_BODY),
            members,
        };
        let owner = |collider: ColliderHandle| {
            let found = owners.get(collider.into_raw_parts().0 as usize).copied().flatten();
            found.filter(|owner| owner.collider == collider)
        };
        for pair in self.engine.narrow_phase.contact_pairs() {
            let (one, two) = (owner(pair.collider1), owner(pair.collider2));
            if one.is_some_and(|one| one.awake) || two.is_some_and(|two| two.awake) {
                let nid = |owner: Option<Owner>, collider| owner.map(|it| it.nid).or_else(|| self.nid_of(collider));
                if let (Some(one), Some(two)) = (nid(one, pair.collider1), nid(two, pair.collider2)) {
                    copied.touch((one, two), pair);
                }
            }
        }
        copied
    }
}

impl Copied {
    fn touch(&mut self, bodies: (Nid, Nid), pair: &ContactPair) {
        if !pair.has_any_active_contact() {
            return;
        }
        let before = self.points.len();
        let normals = match pair.manifolds() {
            [manifold] => warm_start::read(manifold, &mut self.points),
            _ => (Vec3::ZERO, Vec3::ZERO),
        };
        self.points.truncate(before + POINTS_PER_CONTACT_MAX);
        self.touches.push(Touch { bodies, normals, points: self.points.len() - before });
    }

    /// The bodies as a group in canonical order.
    pub fn into_group(self) -> Group {
        let Copied { members, links, carried: mut contacts, touches, points } = self;
        let mut points = points.into_iter();
        contacts.extend(touches.into_iter().map(|Touch { bodies: (one, two), normals, points: count }| {
            let mut contact = ContactState::bare(one, two);
            (contact.normal_a, contact.normal_b) = normals;
            contact.points.extend(points.by_ref().take(count));
            if one > two {
                warm_start::swap_ends(&mut contact);
            }
            contact
        }));
        contacts.sort_by_key(|contact| (contact.a, contact.b));
        contacts.dedup_by_key(|contact| (contact.a, contact.b));
        Group { members, links, contacts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyDesc, Motion, Pose, Shape, Velocity, World};
    use std::sync::Arc;

    fn stack() -> (World, PhysicsWorld) {
        let mut world = World::new("stack");
        world.add(BodyDesc::fixed(Shape::cuboid(20.0, 0.5, 20.0)), Pose::at(Vec3::new(0.0, -0.5, 0.0)), Velocity::ZERO);
        let mut physics = PhysicsWorld::new(&world, 1);
        let desc = Arc::new(BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5)));
        for i in 0..5u8 {
            let motion = Motion::new(Pose::at(Vec3::new(0.0, 0.5 + f32::from(i), 0.0)), Velocity::ZERO);
            physics.insert(Group::single(Nid(100 + u64::from(i)), desc.clone(), motion)).unwrap();
        }
        (world, physics)
    }

    #[test]
    fn a_copy_is_what_removal_would_return_and_changes_nothing() {
        let (_, mut physics) = stack();
        (0..20).for_each(|_| _ = physics.step());
        let before = physics.state_hash();
        let copy = physics.copy().into_group();
        assert_eq!(physics.state_hash(), before, "a look changes nothing");
        assert_eq!(
            (copy.members.len(), copy.contacts.len()),
            (5, 5),
            "five boxes touch four times and the ground once"
        );
        let nids: Vec<Nid> = physics.nids().collect();
        assert_eq!(copy, physics.remove(&nids));
    }
}

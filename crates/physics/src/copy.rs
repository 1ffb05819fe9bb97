//! All bodies as a group, without taking them out: what a checkpoint keeps.

use nimbus_model::{ContactState, Group, Member};

use crate::PhysicsWorld;

impl PhysicsWorld {
    /// Every body that is owned here, complete and in canonical order, with all joints and with the touches of whatever
    /// is awake. They stay, and nothing changes. What sleeps needs no impulses to go on from: it presses on nothing until
    /// it is woken.
    pub fn copy(&self) -> Group {
        let member = |(nid, handle)| {
            let desc = self.slot(handle)?.desc.clone();
            Some(Member { nid, desc, motion: self.motion_of(handle) })
        };
        let members = self.index.iter().filter_map(member).collect();
        let links = self.link_keys().filter_map(|key| self.link(key)).collect();
        let mut contacts: Vec<ContactState> = self.carried.values().cloned().collect();
        contacts.extend(self.awake_contacts());
        contacts.sort_by_key(|contact| (contact.a, contact.b));
        contacts.dedup_by_key(|contact| (contact.a, contact.b));
        Group { members, links, contacts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyDesc, Motion, Nid, Pose, Shape, Vec3, Velocity, World};
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
        let copy = physics.copy();
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

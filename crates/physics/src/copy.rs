//! All bodies as a group, without taking them out: what a checkpoint keeps.
//!
//! Most of the time goes into reading what presses where, because that lies scattered in memory. Whether an impulse that
//! contacts begin with is of this tick or a few ticks old does not matter, because the engine begins from what it finds
//! between bodies. So it is taken down in shares, one a tick, before the tick that counts. Of each touch it holds the points
//! that the engine solves, as for bodies at rest against each other.

use nimbus_model::{ContactPatch, ContactPoint, ContactState, Group, Link, Member, Nid, Vec3};
use rapier3d::geometry::{ColliderHandle, ContactPair};

use crate::contacts::PATCHES_PER_CONTACT_MAX;
use crate::{PhysicsWorld, warm_start};

/// What presses where in a world, taken down in shares.
#[derive(Clone, Debug, Default)]
pub struct Pressure {
    shares: Vec<Share>,
}

#[derive(Clone, Debug, Default)]
struct Share {
    touches: Vec<Touch>,
    /// The patches of all touches, one after the other.
    patches: Vec<Patch>,
    /// The points of all patches, one after the other.
    points: Vec<ContactPoint>,
}

/// A touch with its bodies in the order in which the engine has them.
#[derive(Clone, Debug)]
struct Touch {
    bodies: (Nid, Nid),
    patches: usize,
}

#[derive(Clone, Debug)]
struct Patch {
    normals: (Vec3, Vec3),
    points: usize,
}

/// Every body of a world at one moment, written down as it was found. The world goes on at once, and whoever has time
/// puts it in order.
#[derive(Clone, Debug)]
pub struct Copied {
    members: Vec<Member>,
    links: Vec<Link>,
    /// Touches that came with bodies and have not been stepped yet.
    carried: Vec<ContactState>,
    pressure: Pressure,
}

impl Pressure {
    /// In how many shares it is taken down.
    pub const SHARES: usize = 8;
}

impl PhysicsWorld {
    /// Takes down the next share of what presses where, if there is one left. What sleeps is left out: it needs no impulses
    /// to go on from, and presses on nothing until it is woken.
    pub fn note_pressure(&self, pressure: &mut Pressure) {
        let share = pressure.shares.len();
        if share == Pressure::SHARES {
            return;
        }
        let number = |collider: ColliderHandle| collider.into_raw_parts().0 as usize;
        let mut noted = Share::default();
        for pair in self.engine.narrow_phase.contact_pairs() {
            if number(pair.collider1).min(number(pair.collider2)) % Pressure::SHARES == share
                && pair.has_any_active_contact()
                && let (Some(one), Some(two)) = (self.party(pair.collider1), self.party(pair.collider2))
                && (one.1 || two.1)
            {
                noted.touch((one.0, two.0), pair);
            }
        }
        pressure.shares.push(noted);
    }

    /// Takes down everything that presses at once.
    pub fn pressure(&self) -> Pressure {
        let mut pressure = Pressure::default();
        (0..Pressure::SHARES).for_each(|_| self.note_pressure(&mut pressure));
        pressure
    }

    /// Every body that is owned here, complete, with all joints and with the touches that were taken down. They stay, and
    /// nothing changes.
    pub fn copy(&self, pressure: Pressure) -> Copied {
        let member = |(nid, handle)| {
            let desc = self.slot(handle)?.desc.clone();
            Some(Member { nid, desc, motion: self.motion_of(handle) })
        };
        Copied {
            members: self.index.iter().filter_map(member).collect(),
            links: self.link_keys().filter_map(|key| self.link(key)).collect(),
            carried: self.carried.values().cloned().collect(),
            pressure,
        }
    }

    /// Whose collider it is, and whether that body is one that is awake.
    fn party(&self, collider: ColliderHandle) -> Option<(Nid, bool)> {
        let body = self.engine.colliders.get(collider)?.parent()?;
        let slot = self.slot(body)?;
        let awake = !slot.dozing && !self.statics.contains(slot.nid) && !self.engine.bodies[body].is_sleeping();
        Some((slot.nid, awake))
    }
}

impl Share {
    fn touch(&mut self, bodies: (Nid, Nid), pair: &ContactPair) {
        let first = self.patches.len();
        for manifold in pair.manifolds().iter().take(PATCHES_PER_CONTACT_MAX) {
            let before = self.points.len();
            warm_start::read_solved(manifold, &mut self.points);
            let points = self.points.len() - before;
            if points > 0 {
                self.patches.push(Patch { normals: (manifold.local_n1, manifold.local_n2), points });
            }
        }
        self.touches.push(Touch { bodies, patches: self.patches.len() - first });
    }
}

impl Copied {
    /// The bodies as a group in canonical order.
    pub fn into_group(self) -> Group {
        let Copied { members, links, carried: mut contacts, pressure } = self;
        for Share { touches, patches, points } in pressure.shares {
            let mut points = points.into_iter();
            let mut patches = patches.into_iter().map(|Patch { normals, points: count }| ContactPatch {
                normal_a: normals.0,
                normal_b: normals.1,
                points: points.by_ref().take(count).collect(),
            });
            contacts.extend(touches.into_iter().map(|Touch { bodies: (one, two), patches: count }| {
                let mut contact = ContactState { recycled: true, ..ContactState::bare(one, two) };
                contact.patches.extend(patches.by_ref().take(count));
                if one > two {
                    warm_start::swap_ends(&mut contact);
                }
                contact
            }));
        }
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
        let copy = physics.copy(physics.pressure()).into_group();
        assert_eq!(physics.state_hash(), before, "a look changes nothing");
        assert_eq!(
            (copy.members.len(), copy.contacts.len()),
            (5, 5),
            "five boxes touch four times and the ground once"
        );
        let nids: Vec<Nid> = physics.nids().collect();
        let mut removed = physics.remove(&nids);
        assert!(removed.contacts.iter().any(|contact| contact.recycled), "some boxes hardly move");
        // What hardly moves is taken down to the bit; of the rest, the points that are solved.
        for (one, two) in removed.contacts.iter_mut().zip(&copy.contacts).filter(|(one, _)| !one.recycled) {
            assert_eq!((one.a, one.b), (two.a, two.b));
            one.clone_from(two);
        }
        assert_eq!(copy, removed);
    }

    #[test]
    fn pressure_that_was_taken_down_before_is_what_a_settled_stack_goes_on_from() {
        let (world, mut physics) = stack();
        (0..12).for_each(|_| _ = physics.step());
        let mut pressure = Pressure::default();
        for _ in 0..Pressure::SHARES {
            physics.step();
            physics.note_pressure(&mut pressure);
        }
        let copy = physics.copy(pressure).into_group();
        assert_eq!(copy.contacts.iter().filter(|contact| !contact.patches.is_empty()).count(), 5);
        let mut bare = copy.clone();
        bare.contacts.clear();
        let fastest = |group: Group| {
            let mut other = PhysicsWorld::new(&world, 1);
            other.insert(group).unwrap();
            other.step();
            let speeds = other.copy(Pressure::default()).into_group().members.into_iter();
            speeds.map(|member| member.motion.velocity.linear.length()).fold(0.0, f32::max)
        };
        let (pressed, plain) = (fastest(copy), fastest(bare));
        assert!(pressed < plain / 10.0, "{pressed} m/s with it, {plain} m/s without");
    }
}

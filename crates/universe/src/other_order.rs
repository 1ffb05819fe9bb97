//! The same world with its bodies given to the engine in another order, and moved as one piece.
//!
//! The engine solves contacts one after the other, in an order that follows from the order in which it got the bodies, and
//! it rounds. A world whose first contacts depend on that order, or on the last bits of its places, is chaotic: then another
//! run on one server differs as much as a run on many servers may. Bodies that an injection adds come one after the other:
//! they are taken out of the engine and put back while they touch nothing. Moving the world as a whole rounds places in
//! another way.

use nimbus_model::{Nid, Rng, Vec3, World};

use crate::variation::shift;

/// By how much each order moves the world, metres: numbers whose sums with places round.
const SHIFT_M: Vec3 = Vec3::new(0.37, 0.0, -0.23);

/// A world in another order, and the way back to the ids of the original.
pub(crate) struct OtherOrder {
    pub(crate) world: World,
    /// By how much it was moved, metres.
    pub(crate) shift: Vec3,
    /// For each body of `world`, its index in the original.
    original: Vec<u32>,
    /// For each body of the original, its index in `world`.
    place: Vec<u32>,
}

impl OtherOrder {
    /// The `ordinal`-th other order of a world: the first is the reverse, all others are drawn.
    pub(crate) fn new(world: &World, ordinal: u64) -> OtherOrder {
        let mut original: Vec<u32> = (0..world.bodies.len() as u32).rev().collect();
        if ordinal > 0 {
            let mut rng = Rng::stream(ordinal, 0x07de);
            for i in (1..original.len()).rev() {
                original.swap(i, rng.below(i as u64 + 1) as usize);
            }
        }
        let mut place = vec![0; original.len()];
        for (i, old) in original.iter().enumerate() {
            place[*old as usize] = i as u32;
        }
        let mut other = world.clone();
        other.bodies = original.iter().map(|old| world.bodies[*old as usize].clone()).collect();
        for joint in &mut other.joints {
            (joint.a, joint.b) = (place[joint.a as usize], place[joint.b as usize]);
        }
        for push in &mut other.script {
            push.body = place[push.body as usize];
        }
        let by = SHIFT_M * (ordinal + 1) as f32;
        shift(&mut other, by);
        OtherOrder { world: other, shift: by, original, place }
    }

    /// The id that a body of this order has in the original.
    pub(crate) fn original(&self, nid: Nid) -> Nid {
        renamed(&self.original, nid)
    }

    /// The id that a body of the original has in this order.
    pub(crate) fn here(&self, nid: Nid) -> Nid {
        renamed(&self.place, nid)
    }
}

/// What a body of the description is called in the other order; any other body keeps its id.
fn renamed(indices: &[u32], nid: Nid) -> Nid {
    let index = nid.0.wrapping_sub(World::nid(1, 0).0) as usize;
    indices.get(index).map_or(nid, |index| World::nid(1, *index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyDesc, JointDesc, JointKind, Pose, ScriptedPush, Shape, Tick, Vec3, Velocity};

    #[test]
    fn joints_and_pushes_follow_their_bodies() {
        let mut world = World::new("order");
        for i in 0..5 {
            world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::at(Vec3::X * i as f32), Velocity::ZERO);
        }
        world.join(1, 3, JointDesc::new(JointKind::Fixed, Vec3::ZERO, Vec3::ZERO));
        world.script.push(ScriptedPush { tick: Tick(3), body: 4, linear: Vec3::X, angular: Vec3::ZERO });
        for ordinal in 0..4 {
            let other = OtherOrder::new(&world, ordinal);
            let moved = |index: u32| other.world.bodies[index as usize].pose.position - other.shift;
            let place = |index: u32| moved(index).x.round() as u32;
            for index in 0..5 {
                assert_eq!(other.original(World::nid(1, index)), World::nid(1, place(index)));
                assert_eq!(other.original(other.here(World::nid(1, index))), World::nid(1, index));
            }
            let joint = &other.world.joints[0];
            assert_eq!((place(joint.a), place(joint.b), place(other.world.script[0].body)), (1, 3, 4));
            assert_ne!(other.world.bodies, world.bodies, "order {ordinal}");
        }
        let injected = World::nid(1, 5);
        assert_eq!(OtherOrder::new(&world, 0).original(injected), injected, "what is injected keeps its id");
    }
}

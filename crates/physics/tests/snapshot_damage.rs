//! Damaged snapshots are refused and never panic.
#![allow(missing_docs)]

mod scene;

use nimbus_model::coding::Broken;
use nimbus_model::{Nid, Shape};
use nimbus_physics::{Group, Member, PhysicsWorld};
use proptest::prelude::*;
use std::sync::LazyLock;

static SAVED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut world = scene::mixed();
    (0..30).for_each(|_| {
        world.step();
    });
    world.snapshot()
});

#[test]
fn every_cut_is_noticed() {
    let step = SAVED.len() / 400 + 1;
    for len in (0..64).chain((0..SAVED.len()).step_by(step)) {
        assert!(PhysicsWorld::restore(&SAVED[..len]).is_err(), "cut to {len}");
    }
    let mut longer = SAVED.clone();
    longer.push(0);
    assert_eq!(PhysicsWorld::restore(&longer).err(), Some(Broken::Checksum));
    assert!(PhysicsWorld::restore(&SAVED).is_ok());
}

proptest! {
    #[test]
    fn every_flipped_bit_is_noticed(bit in 0..SAVED.len() * 8) {
        let mut bytes = SAVED.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(PhysicsWorld::restore(&bytes).is_err());
    }

    #[test]
    fn noise_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(PhysicsWorld::restore(&bytes).is_err());
    }
}

/// The engine keeps a place for every body that it had at once, and free ones take hardly a byte in a snapshot.
#[test]
fn a_server_that_lost_nearly_all_its_bodies_can_be_restored() {
    const BODIES: u64 = 20_000;
    let mut world = scene::empty();
    let ball = scene::dynamic(Shape::ball(0.1));
    let place = |i: u64| scene::at((i % 200) as f32 * 0.4 - 40.0, 5.0, (i / 200) as f32 * 0.4 - 20.0);
    let member = |i| Member { nid: scene::nid(i), desc: ball.clone(), motion: place(i) };
    world.insert(Group::of((0..BODIES).map(member).collect())).unwrap();
    world.step();
    let all_but_one: Vec<Nid> = (1..BODIES).map(scene::nid).collect();
    assert_eq!(world.remove(&all_but_one).members.len(), all_but_one.len());
    world.step();
    let bytes = world.snapshot();
    assert!(bytes.len() < 2_000_000, "{} bytes", bytes.len());
    assert_eq!(PhysicsWorld::restore(&bytes).map(|again| again.len()).ok(), Some(1));
}

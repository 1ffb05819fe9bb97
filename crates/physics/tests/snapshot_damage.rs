//! Damaged snapshots are refused and never panic.
#![allow(missing_docs)]

mod scene;

use nimbus_physics::{PhysicsWorld, RestoreError};
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
    assert_eq!(PhysicsWorld::restore(&longer).err(), Some(RestoreError::Checksum));
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

//! A group caught up in a scratch world is where it would have been.
#![allow(missing_docs)]

mod scene;

use nimbus_model::{Nid, Quat, Rng, Vec3};
use nimbus_physics::{Group, InsertError, PhysicsWorld, ScratchWorld};
use scene::{at, boxes, nid, single};

fn scratch() -> ScratchWorld {
    let mut scratch = PhysicsWorld::scratch(&scene::ground(), 0);
    scratch.report_contacts(true);
    scratch
}

/// Rain and a chain, as a group that has been under way for a while.
fn travellers(ticks: u32) -> Group {
    let mut world = scene::empty();
    world.insert(scene::rain(0, 12, &mut Rng::new(9))).expect("rain is sound");
    world.insert(scene::chain(100)).expect("the chain is sound");
    (0..ticks).for_each(|_| {
        world.step();
    });
    let all: Vec<Nid> = world.nids().collect();
    world.remove(&all)
}

fn stepped(world: &mut PhysicsWorld, group: &Group, ticks: u64) -> Group {
    world.insert(group.clone()).expect("the group is sound");
    (0..ticks).for_each(|_| {
        world.step();
    });
    let nids: Vec<Nid> = group.members.iter().map(|m| m.nid).collect();
    world.remove(&nids)
}

#[test]
fn alone_it_is_the_same_to_the_bit() {
    let mut scratch = scratch();
    for age in [0, 30, 90] {
        let group = travellers(age);
        for ticks in [0, 1, 2, 7, 60] {
            let straight = stepped(&mut scene::empty(), &group, ticks);
            let caught_up = scratch.catch_up(group.clone(), ticks, |_, _| {}).unwrap();
            assert_eq!(caught_up, straight, "age {age}, {ticks} ticks");
            assert_eq!(caught_up == group, ticks == 0);
        }
    }
}

#[test]
fn a_busy_world_elsewhere_makes_no_difference_to_the_eye() {
    let group = travellers(30);
    let mut busy = scene::empty();
    let mut far = scene::rain(5000, 60, &mut Rng::new(4));
    far.members.iter_mut().for_each(|m| m.motion.pose.position.x -= 30.0);
    busy.insert(far).unwrap();
    (0..40).for_each(|_| {
        busy.step();
    });
    let mut scratch = scratch();
    let straight = stepped(&mut busy, &group, 8);
    let caught_up = scratch.catch_up(group, 8, |_, _| {}).unwrap();
    for (one, two) in caught_up.members.iter().zip(&straight.members) {
        assert_eq!(one.nid, two.nid);
        // The engine promises no more than this; for groups that touch nothing else it has been exact so far.
        let apart = (one.motion.pose.position - two.motion.pose.position).length();
        assert!(apart < 1e-4, "{}: {apart} m", one.nid);
    }
}

#[test]
fn what_was_caught_up_before_leaves_no_trace() {
    let group = travellers(40);
    let expected = scratch().catch_up(group.clone(), 20, |_, _| {}).unwrap();
    let mut used = scratch();
    for i in 0..6 {
        let many = scene::rain(10_000, 10 + 30 * i, &mut Rng::new(i));
        used.catch_up(many, 10 + i, |_, _| {}).unwrap();
        assert!(used.catch_up(single(1, &boxes(), at(f32::NAN, 0.0, 0.0)), 3, |_, _| {}).is_err());
        assert_eq!(used.catch_up(group.clone(), 20, |_, _| {}).unwrap(), expected, "round {i}");
    }
}

#[test]
fn pushes_come_before_the_step_of_their_tick() {
    let group = single(1, &boxes(), at(0.0, 20.0, 0.0));
    let mut world = scene::empty();
    world.insert(group.clone()).unwrap();
    for tick in 0..10 {
        if tick == 4 {
            assert!(world.change_velocity(nid(1), Vec3::X, Vec3::Y));
        }
        world.step();
    }
    let mut ticks = Vec::new();
    let caught_up = scratch()
        .catch_up(group, 10, |world, tick| {
            ticks.push(tick);
            if tick == 4 {
                assert!(world.change_velocity(nid(1), Vec3::X, Vec3::Y));
            }
        })
        .unwrap();
    assert_eq!(ticks, (0..10).collect::<Vec<_>>());
    assert_eq!(caught_up, world.remove(&[nid(1)]));
    assert!(caught_up.members[0].motion.pose.rotation != Quat::IDENTITY);
}

#[test]
fn touches_and_losses_on_the_way_are_named() {
    let mut group = single(1, &boxes(), at(0.0, 0.55, 0.0));
    let mut broken = single(2, &boxes(), at(9.0, 5.0, 0.0));
    broken.members[0].motion.force = Vec3::splat(3e38);
    broken.members[0].motion.torque = Vec3::splat(3e38);
    group.members.append(&mut broken.members);
    let mut scratch = scratch();
    let caught_up = scratch.catch_up(group, 30, |_, _| {}).unwrap();
    assert_eq!(caught_up.members.iter().map(|m| m.nid).collect::<Vec<_>>(), [nid(1)]);
    assert_eq!(scratch.quarantined(), [nid(2)]);
    assert_eq!(scratch.contacts().len(), 1, "{:?}", scratch.contacts());
    let (tick, event) = scratch.contacts()[0];
    assert!(event.began && event.b == nid(1) && (1..15).contains(&tick), "{tick} {event:?}");

    let lone = travellers(0).links;
    let key = lone[0].key();
    let cut = Group { links: lone, ..Group::default() };
    assert_eq!(scratch.catch_up(cut, 5, |_, _| {}), Err(InsertError::LinkEnds { key }));
    assert!(scratch.contacts().is_empty() && scratch.quarantined().is_empty());
}

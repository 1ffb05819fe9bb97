//! What leaves one world enters another unchanged.
#![allow(missing_docs)]

mod scene;

use nimbus_model::{BodyDesc, BodyKind, JointDesc, JointKind, Nid, Quat, Shape, Vec3};
use nimbus_physics::{Group, InsertError, Link, PhysicsWorld};
use scene::{at, boxes, nid, single};
use std::sync::Arc;

fn settle(world: &mut PhysicsWorld, ticks: u32) {
    for _ in 0..ticks {
        world.step();
    }
}

/// A stack of boxes that has come to rest.
fn sleeping_stack() -> PhysicsWorld {
    let mut world = scene::empty();
    for i in 0..4 {
        world.insert(single(i, &boxes(), at(0.0, 0.5 + i as f32, 0.0))).expect("the box is sound");
    }
    settle(&mut world, 200);
    assert_eq!(world.awake_len(), 0, "the stack sleeps");
    world
}

#[test]
fn moving_bodies_keep_their_motion_and_joints_exactly() {
    let mut world = scene::mixed();
    settle(&mut world, 40);
    world.set_force(nid(1001), Vec3::new(1.0, 2.0, 3.0), Vec3::new(0.1, 0.2, 0.3));
    let all: Vec<Nid> = world.nids().collect();
    let before: Vec<_> = all.iter().map(|nid| world.motion(*nid).unwrap()).collect();
    let group = world.remove(&all);
    assert!(world.is_empty() && world.awake_len() == 0);
    assert_eq!(group.members.iter().map(|m| m.motion).collect::<Vec<_>>(), before);
    assert_eq!(group.members.iter().map(|m| m.nid).collect::<Vec<_>>(), all, "canonical order");
    assert_eq!(group.links.len(), 7);
    assert!(group.links.iter().any(|link| link.impulses != [0.0; 6]), "joints have acted");
    let forced = group.members.iter().find(|m| m.nid == nid(1001)).unwrap();
    assert_eq!(forced.motion.force, Vec3::new(1.0, 2.0, 3.0));

    let mut other = scene::empty();
    other.insert(group.clone()).unwrap();
    let again = other.remove(&all);
    assert_eq!(again, group, "in and out without a step");
    other.insert(again).unwrap();
    other.step();
    let stepped = other.remove(&all);
    assert_ne!(stepped, group);
    assert!(stepped.members.iter().all(|m| m.motion.is_valid()));
}

#[test]
fn sleeping_bodies_stay_asleep() {
    let mut world = sleeping_stack();
    let all: Vec<Nid> = world.nids().collect();
    let group = world.remove(&all);
    assert!(group.members.iter().all(|m| m.motion.sleeping));

    let mut other = scene::empty();
    other.insert(single(90, &boxes(), at(20.0, 3.0, 0.0))).unwrap();
    other.insert(group.clone()).unwrap();
    for _ in 0..100 {
        let report = other.step();
        assert!(!report.woke.iter().any(|nid| all.contains(nid)));
    }
    assert!(other.awake().all(|nid| !all.contains(&nid)));
    let after = other.remove(&all);
    assert_eq!((&after.members, &after.links), (&group.members, &group.links), "not a bit has changed");
    // The engine finds the points anew; what presses there is what pressed before.
    let points = |contact: &nimbus_physics::ContactState| {
        let patches: Vec<_> = contact.patches.iter().flat_map(|patch| patch.points.clone()).collect();
        patches.into_iter()
    };
    let pressing = |group: &Group| -> Vec<_> {
        let impulses = |contact: &nimbus_physics::ContactState| -> Vec<u32> {
            let mut all: Vec<u32> = points(contact).map(|point| point.normal_impulse.to_bits()).collect();
            all.sort_unstable();
            all
        };
        group.contacts.iter().map(|contact| (contact.a, contact.b, impulses(contact))).collect()
    };
    assert_eq!(pressing(&after), pressing(&group));
    assert!(group.contacts.len() == 4 && group.contacts.iter().all(|contact| points(contact).count() == 4));
}

#[test]
fn a_woken_sleeper_wakes_its_stack_in_the_new_world() {
    let mut world = sleeping_stack();
    let all: Vec<Nid> = world.nids().collect();
    let mut other = scene::empty();
    other.insert(world.remove(&all)).unwrap();
    other.step();
    assert!(other.push(nid(0), Vec3::new(4000.0, 0.0, 0.0), None));
    let mut woke = Vec::new();
    for _ in 0..10 {
        woke.extend(other.step().woke.iter().copied());
    }
    woke.sort_unstable();
    assert_eq!(woke, all);
}

#[test]
fn quiet_time_goes_on_after_a_move() {
    let mut world = scene::empty();
    world.insert(single(1, &boxes(), at(0.0, 0.5, 0.0))).unwrap();
    settle(&mut world, 20);
    let group = world.remove(&[nid(1)]);
    let quiet_s = group.members[0].motion.quiet_s;
    assert!(quiet_s > 0.2 && !group.members[0].motion.sleeping, "quiet but awake: {quiet_s}");
    let mut other = scene::empty();
    other.insert(group).unwrap();
    other.step();
    assert!(other.motion(nid(1)).unwrap().quiet_s > quiet_s, "the timer went on");
    settle(&mut other, 20);
    assert!(other.motion(nid(1)).unwrap().sleeping, "it sleeps as soon as it would have");
}

#[test]
fn removal_wakes_only_what_touched() {
    let mut world = sleeping_stack();
    world.insert(single(50, &boxes(), at(10.0, 0.5, 0.0))).unwrap();
    settle(&mut world, 100);
    assert_eq!(world.awake_len(), 0);
    world.remove(&[nid(0), nid(0), nid(777)]);
    let report = world.step().clone();
    assert_eq!(report.woke, [nid(1), nid(2), nid(3)], "the rest of its stack, not the box elsewhere");
    assert!(report.contacts.iter().all(|event| event.a != nid(0) && event.b != nid(0)), "removal ends no touch");
}

#[test]
fn a_cut_joint_is_returned_and_cannot_enter_alone() {
    let mut world = scene::empty();
    world.insert(scene::chain(0)).unwrap();
    world.step();
    assert_eq!(world.linkage(nid(3)), (0..7).map(nid).collect::<Vec<_>>());
    assert_eq!(world.linked(nid(0)).collect::<Vec<_>>(), [nid(1)], "the ground is no partner");
    let group = world.remove(&[nid(3)]);
    assert_eq!(group.links.iter().map(Link::key).collect::<Vec<_>>(), [(nid(2), nid(3), 0), (nid(3), nid(4), 0)]);
    assert_eq!(world.linkage(nid(0)), [nid(0), nid(1), nid(2)]);
    assert_eq!(world.linkage(nid(6)), [nid(4), nid(5), nid(6)]);
    let mut other = scene::empty();
    assert_eq!(other.insert(group.clone()), Err(InsertError::LinkEnds { key: (nid(2), nid(3), 0) }));
    assert!(other.is_empty(), "whole or not at all");
    world.insert(group).unwrap();
    assert_eq!(world.linkage(nid(6)).len(), 7);
    world.step();
}

#[test]
fn bad_groups_change_nothing() {
    let mut world = scene::mixed();
    let hash = world.state_hash();
    let saved = world.snapshot();
    let good = single(5000, &boxes(), at(0.0, 5.0, 0.0));
    let with = |change: &dyn Fn(&mut Group)| {
        let mut group = good.clone();
        group.members.push(single(5001, &boxes(), at(0.0, 9.0, 0.0)).members.remove(0));
        change(&mut group);
        group
    };
    let spherical = JointDesc::new(JointKind::Spherical, Vec3::ZERO, Vec3::Y);
    let link = |a: Nid, b: Nid| Link::new(a, b, 0, spherical.clone());
    let ground = Nid::of_world(0, 0);
    let bad: Vec<Group> = vec![
        with(&|g| g.members[1].nid = nid(0)),
        with(&|g| g.members[1].nid = ground),
        with(&|g| g.members[1].nid = nid(5000)),
        with(&|g| g.members[1].motion.pose.position.x = f32::NAN),
        with(&|g| g.members[1].motion.pose.position.x = 2e6),
        with(&|g| g.members[1].motion.pose.rotation = Quat::from_xyzw(0.0, 0.0, 0.0, 2.0)),
        with(&|g| g.members[1].motion.velocity.angular.y = f32::INFINITY),
        with(&|g| g.members[1].motion.force.z = f32::NAN),
        with(&|g| g.members[1].motion.quiet_s = f32::NAN),
        with(&|g| g.members[1].desc = scene::dynamic(Shape::ball(-1.0))),
        with(&|g| g.members[1].desc = Arc::new(BodyDesc::fixed(Shape::ball(1.0)))),
        with(&|g| g.links.push(link(nid(5000), nid(5000)))),
        with(&|g| g.links.push(link(nid(5000), nid(9999)))),
        with(&|g| g.links.extend([link(nid(5000), nid(5001)), link(nid(5000), nid(5001))])),
        with(&|g| g.links.push(link(nid(1000), nid(1001)))),
        with(&|g| g.links.push(link(ground, Nid::of_world(0, 1)))),
        with(&|g| g.links.push(Link { impulses: [f32::NAN; 6], ..link(nid(5000), nid(5001)) })),
        with(&|g| {
            let desc = JointDesc::new(JointKind::Rope { length: -1.0 }, Vec3::ZERO, Vec3::ZERO);
            g.links.push(Link::new(nid(5000), nid(5001), 0, desc));
        }),
    ];
    for (i, group) in bad.into_iter().enumerate() {
        assert!(world.insert(group).is_err(), "bad group {i}");
        assert_eq!(world.state_hash(), hash, "bad group {i}");
    }
    assert_eq!(world.snapshot(), saved);
    assert_eq!(world.insert(with(&|g| g.links.push(link(nid(5000), nid(0))))), Ok(()));
}

#[test]
fn every_property_reaches_the_engine() {
    let mut world = scene::empty();
    let mut desc = BodyDesc::dynamic(Shape::ball(0.5));
    desc.gravity_scale = 0.0;
    desc.linear_damping = 1.0;
    desc.locked.translation = [false, false, true];
    let mut motion = at(0.0, 20.0, 0.0);
    motion.velocity.linear = Vec3::new(1.0, 0.0, 0.0);
    world.insert(single(1, &Arc::new(desc), motion)).unwrap();
    assert!(world.push(nid(1), Vec3::new(0.0, 0.0, 1000.0), None));

    let mut light = BodyDesc::dynamic(Shape::ball(0.5));
    light.density = 1.0;
    light.gravity_scale = 0.0;
    let mut heavy = light.clone();
    heavy.density = 10.0;
    world.insert(single(2, &Arc::new(light), at(5.0, 20.0, 0.0))).unwrap();
    world.insert(single(3, &Arc::new(heavy), at(10.0, 20.0, 0.0))).unwrap();
    assert!(world.push(nid(2), Vec3::X, None) && world.push(nid(3), Vec3::X, None), "pushes work before a step");
    let speed = |world: &PhysicsWorld, serial| world.motion(nid(serial)).unwrap().velocity.linear;
    assert!((speed(&world, 2).x / speed(&world, 3).x - 10.0).abs() < 1e-3, "ten times the density, a tenth the speed");
    assert!((speed(&world, 2).x - 1.0 / std::f32::consts::FRAC_PI_6).abs() < 0.01);

    // A body that passes through ground because their groups do not meet, one that does not.
    let mut ghost = BodyDesc::dynamic(Shape::ball(0.5));
    ghost.groups.filter = 0;
    world.insert(single(4, &Arc::new(ghost), at(15.0, 1.0, 0.0))).unwrap();
    let mut bouncy = BodyDesc::dynamic(Shape::ball(0.5));
    bouncy.restitution = 1.0;
    world.insert(single(5, &Arc::new(bouncy), at(20.0, 3.0, 0.0))).unwrap();
    let kinematic = Arc::new(BodyDesc::new(BodyKind::Kinematic, Shape::ball(0.5)));
    let mut motion = at(25.0, 1.0, 0.0);
    motion.velocity.linear = Vec3::new(0.0, 1.0, 0.0);
    world.insert(single(6, &kinematic, motion)).unwrap();
    let mut restless = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
    restless.can_sleep = false;
    world.insert(single(7, &Arc::new(restless), at(30.0, 0.5, 0.0))).unwrap();
    let mut top_bounce = 0.0_f32;
    for tick in 0..60 {
        world.step();
        if tick > 45 {
            top_bounce = top_bounce.max(world.motion(nid(5)).unwrap().pose.position.y);
        }
    }
    let damped = world.motion(nid(1)).unwrap();
    assert_eq!((damped.pose.position.y, damped.pose.position.z), (20.0, 0.0), "no gravity, locked z");
    assert!(damped.velocity.linear.x > 0.2 && damped.velocity.linear.x < 0.5, "damped: {}", damped.velocity.linear);
    assert!(world.motion(nid(4)).unwrap().pose.position.y < -2.0, "fell through");
    assert!(top_bounce > 1.0, "bounced to {top_bounce}");
    let lifted = world.motion(nid(6)).unwrap().pose.position.y;
    assert!((lifted - 2.0).abs() < 1e-2, "kinematic follows its velocity: {lifted}");
    settle(&mut world, 200);
    assert!(!world.motion(nid(7)).unwrap().sleeping);
}

#[test]
fn joints_hold_what_they_promise() {
    let mut world = scene::empty();
    world.insert(scene::chain(0)).unwrap();
    settle(&mut world, 120);
    let kinds = scene::joint_kinds();
    for (i, kind) in kinds.iter().enumerate() {
        let (a, b) = (world.motion(nid(i as u64)).unwrap().pose, world.motion(nid(i as u64 + 1)).unwrap().pose);
        let gap = (a.transform(Vec3::new(0.5, 0.0, 0.0)) - b.transform(Vec3::new(-0.5, 0.0, 0.0))).length();
        match kind {
            JointKind::Rope { length } => assert!(gap < length + 0.05, "rope {gap}"),
            JointKind::Prismatic { .. } => assert!(gap < 0.6, "slider {gap}"),
            JointKind::Spring { .. } => assert!(gap > 1.5 && gap < 6.0, "spring {gap}"),
            _ => assert!(gap < 0.05, "{kind:?} {gap}"),
        }
    }
    let key = (nid(0), nid(1), 0);
    assert!(world.remove_link(key).is_some() && world.link(key).is_none());
    assert!(
        world
            .add_link(Link::new(
                nid(0),
                nid(6),
                3,
                JointDesc::new(JointKind::Rope { length: 9.0 }, Vec3::ZERO, Vec3::ZERO)
            ))
            .is_ok()
    );
    settle(&mut world, 60);
    assert!(world.motion(nid(1)).unwrap().pose.position.y < world.motion(nid(0)).unwrap().pose.position.y - 1.0);
}

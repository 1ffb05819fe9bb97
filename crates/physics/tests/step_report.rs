//! What a step reports.
#![allow(missing_docs)]

mod scene;

use nimbus_model::{BodyDesc, BodyKind, JointDesc, JointKind, Nid, Pose, Shape, Vec3, Velocity};
use nimbus_physics::{ContactEvent, Link};
use scene::{at, boxes, nid, single};
use std::sync::Arc;

const GROUND: Nid = Nid::of_world(0, 0);

#[test]
fn contacts_come_sorted_by_pair_and_begin_before_they_end() {
    let mut world = scene::mixed();
    let mut open = std::collections::BTreeSet::new();
    let (mut begins, mut ends) = (0, 0);
    for _ in 0..200 {
        let contacts = world.step().contacts.clone();
        assert!(contacts.is_sorted_by_key(|event| (event.a, event.b)));
        for ContactEvent { a, b, began } in contacts {
            assert!(a < b);
            if began {
                assert!(open.insert((a, b)), "{a} {b} began twice");
                begins += 1;
            } else {
                assert!(open.remove(&(a, b)), "{a} {b} ended before it began");
                ends += 1;
            }
        }
    }
    assert!(begins > 50 && ends > 10, "{begins} {ends}");
    for &(a, b) in &open {
        let owned = if world.contains(a) { a } else { b };
        assert!(world.touching(owned).contains(if owned == a { &b } else { &a }), "{a} {b} still touch");
    }
}

#[test]
fn a_landing_and_a_leap_are_one_begin_and_one_end() {
    let mut world = scene::empty();
    world.insert(single(1, &boxes(), at(0.0, 0.6, 0.0))).unwrap();
    let mut events = Vec::new();
    for tick in 0..60 {
        if tick == 40 {
            world.set_velocity(nid(1), Velocity::linear(Vec3::new(0.0, 5.0, 0.0)));
        }
        events.extend(world.step().contacts.iter().copied());
    }
    let event = |began| ContactEvent { a: GROUND, b: nid(1), began };
    assert_eq!(events, [event(true), event(false)]);
}

#[test]
fn sensors_report_and_do_not_push() {
    let mut model = scene::ground();
    let mut gate = BodyDesc::fixed(Shape::cuboid(1.0, 1.0, 1.0));
    gate.sensor = true;
    let gate = Nid::of_world(0, model.add(gate, Pose::at(Vec3::new(0.0, 5.0, 0.0)), Velocity::ZERO));
    let mut world = scene::reporting(&model);
    assert!(world.refused_statics().is_empty());
    world.insert(single(1, &boxes(), at(0.0, 8.0, 0.0))).unwrap();
    let kinematic = Arc::new(BodyDesc::new(BodyKind::Kinematic, Shape::ball(0.2)));
    let mut motion = at(0.0, 5.0, -9.0);
    motion.velocity.linear.z = 4.0;
    world.insert(single(2, &kinematic, motion)).unwrap();
    let mut events = Vec::new();
    for _ in 0..240 {
        events.extend(world.step().contacts.iter().filter(|event| event.a == gate).copied());
    }
    let of = |b, began| ContactEvent { a: gate, b, began };
    for event in [of(nid(1), true), of(nid(1), false), of(nid(2), true), of(nid(2), false)] {
        assert!(events.contains(&event), "{event:?} in {events:?}");
    }
    assert!((world.motion(nid(1)).unwrap().pose.position.y - 0.5).abs() < 0.02, "it fell right through");
}

#[test]
fn sleep_and_waking_are_reported_once_and_match_the_awake_list() {
    let mut world = scene::mixed();
    let mut awake: std::collections::BTreeSet<Nid> = world.awake().collect();
    let mut slept = 0;
    for tick in 0..400 {
        if tick == 350 {
            assert!(world.push(nid(3), Vec3::new(0.0, 900.0, 0.0), None));
        }
        let report = world.step().clone();
        for nid in &report.fell_asleep {
            assert!(awake.remove(nid), "{nid} slept already");
            slept += 1;
        }
        for nid in &report.woke {
            assert!(awake.insert(*nid), "{nid} was awake already");
        }
        assert!(world.awake().eq(awake.iter().copied()), "tick {tick}");
        let asleep = |nid: &Nid| world.motion(*nid).unwrap().sleeping;
        assert!(world.nids().filter(|nid| !asleep(nid)).eq(world.awake()), "tick {tick}");
    }
    assert!(slept > 20, "{slept}");
}

#[test]
fn absurd_bodies_are_taken_out_with_their_joints() {
    let mut world = scene::empty();
    let (a, b) = (nid(1), nid(2));
    world.insert(single(1, &boxes(), at(0.0, 10.0, 0.0))).unwrap();
    world.insert(single(2, &boxes(), at(3.0, 10.0, 0.0))).unwrap();
    world.insert(single(3, &boxes(), at(9.0, 10.0, 0.0))).unwrap();
    world.insert(single(4, &boxes(), at(9.0, 20.0, 0.0))).unwrap();
    let rope = JointDesc::new(JointKind::Rope { length: 9.0 }, Vec3::ZERO, Vec3::ZERO);
    world.add_link(Link::new(a, b, 0, rope)).unwrap();
    world.step();
    // A force this strong makes the velocity infinite within one step.
    assert!(world.set_force(a, Vec3::splat(3e38), Vec3::splat(3e38)));
    assert!(world.set_force(nid(4), Vec3::ZERO, Vec3::new(3e38, 1e38, 0.0)));
    let mut quarantined = Vec::new();
    for _ in 0..30 {
        quarantined.extend(world.step().quarantined.iter().copied());
        assert!(world.nids().all(|nid| world.motion(nid).unwrap().is_valid()));
    }
    assert!(quarantined.contains(&a), "{quarantined:?}");
    assert!(!world.contains(a) && world.link_keys().next().is_none());
    assert!(world.contains(nid(3)) && !quarantined.contains(&nid(3)), "the bystander lives");
    let fallen = world.motion(nid(3)).unwrap().pose.position;
    assert!(fallen.y < 9.5 && fallen.y > 0.0, "and goes on falling: {fallen}");
}

#[test]
fn an_absurd_body_touches_nothing_any_more() {
    let mut world = scene::empty();
    world.insert(single(1, &boxes(), at(0.0, 0.5, 0.0))).unwrap();
    world.insert(single(2, &boxes(), at(0.0, 1.5, 0.0))).unwrap();
    let mut open = std::collections::BTreeSet::new();
    for tick in 0..30 {
        if tick == 20 {
            assert_eq!(world.touches(&[nid(2)]), [(nid(1), nid(2))]);
            assert!(world.set_force(nid(2), Vec3::splat(3e38), Vec3::splat(3e38)));
        }
        for ContactEvent { a, b, began } in world.step().contacts.clone() {
            assert!(if began { open.insert((a, b)) } else { open.remove(&(a, b)) }, "{a} {b} {began}");
        }
    }
    assert!(!world.contains(nid(2)));
    assert!(open.iter().all(|(a, b)| *a != nid(2) && *b != nid(2)), "{open:?}");
}

#[test]
fn far_away_is_absurd_too() {
    let mut world = scene::empty();
    world.insert(single(1, &boxes(), at(999_999.9, 10.0, 0.0))).unwrap();
    assert!(world.set_velocity(nid(1), Velocity::linear(Vec3::new(300.0, 0.0, 0.0))));
    assert_eq!(world.step().quarantined, [nid(1)]);
    assert!(world.is_empty());
    assert!(world.step().quarantined.is_empty());
}

#[test]
fn calls_with_impossible_numbers_do_nothing() {
    let mut world = scene::empty();
    world.insert(single(1, &boxes(), at(0.0, 0.5, 0.0))).unwrap();
    world.insert(scene::paddle(2)).unwrap();
    let hash = world.state_hash();
    let nan = Vec3::new(0.0, f32::NAN, 0.0);
    assert!(!world.push(nid(1), nan, None));
    assert!(!world.push(nid(1), Vec3::X, Some(nan)));
    assert!(!world.push(nid(2), Vec3::X, None), "kinematic bodies cannot be pushed");
    assert!(!world.push(nid(99), Vec3::X, None));
    assert!(!world.change_velocity(nid(1), nan, Vec3::ZERO));
    assert!(!world.change_velocity(nid(1), Vec3::ZERO, Vec3::splat(1e9)));
    assert!(!world.set_velocity(nid(1), Velocity::linear(nan)));
    assert!(!world.set_force(nid(1), nan, Vec3::ZERO));
    assert_eq!(world.state_hash(), hash);
    assert!(world.change_velocity(nid(1), Vec3::X, Vec3::Y) && world.change_velocity(nid(1), Vec3::X, Vec3::Y));
    let velocity = world.motion(nid(1)).unwrap().velocity;
    assert_eq!((velocity.linear, velocity.angular), (Vec3::X * 2.0, Vec3::Y * 2.0));
}

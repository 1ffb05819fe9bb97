//! Touches go on where bodies arrive.
#![allow(missing_docs)]

mod scene;

use nimbus_model::{BodyDesc, Nid, Pose, Quat, Rng, Shape, Vec3, Velocity};
use nimbus_physics::{ContactEvent, ContactPatch, ContactPoint, ContactState, Group, PhysicsWorld};
use scene::{at, nid, single};
use std::collections::BTreeSet;
use std::sync::Arc;

const GROUND: Nid = Nid::of_world(0, 0);

/// Boxes that never sleep, so that every step is solved.
fn restless() -> Arc<BodyDesc> {
    Arc::new(BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5)) })
}

/// Ten boxes on each other, a little askew, after ten seconds.
fn standing_stack() -> PhysicsWorld {
    let mut world = scene::empty();
    let mut rng = Rng::new(5);
    for i in 0..10 {
        let mut motion = at(rng.between(-0.03, 0.03), 0.5 + 1.001 * i as f32, rng.between(-0.03, 0.03));
        motion.pose.rotation = Quat::from_rotation_y(rng.between(-0.1, 0.1));
        world.insert(single(i, &restless(), motion)).expect("the box is sound");
    }
    (0..600).for_each(|_| {
        world.step();
    });
    world
}

fn all(world: &PhysicsWorld) -> Vec<Nid> {
    world.nids().collect()
}

fn fastest(world: &PhysicsWorld) -> f32 {
    world.nids().filter_map(|nid| world.motion(nid)).map(|m| m.velocity.linear.length()).fold(0.0, f32::max)
}

#[test]
fn a_moved_stack_does_not_twitch() {
    let mut world = standing_stack();
    let quiet = fastest(&world);
    let group = world.remove(&all(&world));
    assert_eq!(group.contacts.len(), 10);
    let mut moved = scene::empty();
    moved.insert(group.clone()).unwrap();
    moved.step();
    let mut cold = scene::empty();
    cold.insert(Group { contacts: Vec::new(), ..group.clone() }).unwrap();
    cold.step();
    let (warm, cold) = (fastest(&moved), fastest(&cold));
    assert!(quiet < 0.005 && warm < 0.01, "{quiet} {warm}");
    assert!(cold > 0.05, "without the impulses it falls for a step: {cold}");
}

#[test]
fn impulses_fit_whichever_way_round_the_engine_holds_the_pair() {
    // Two boxes whose colliders lie in one order here and in the other there.
    let mut here = scene::empty();
    here.insert(single(1, &restless(), at(0.0, 0.5, 0.0))).unwrap();
    let mut top = at(0.1, 1.5, 0.05);
    top.pose.rotation = Quat::from_rotation_y(0.2);
    here.insert(single(2, &restless(), top)).unwrap();
    // A steady pull that only friction resists, so that the direction of the friction matters.
    assert!(here.set_force(nid(2), Vec3::new(3000.0, 0.0, 1000.0), Vec3::ZERO));
    (0..120).for_each(|_| {
        here.step();
    });
    assert!(fastest(&here) < 0.003, "{}", fastest(&here));
    let group = here.remove(&[nid(1), nid(2)]);
    let mut renamed = group.clone();
    // New names in the other order turn the order of insertion round, and with it the pair.
    let rename = |old: Nid| {
        if old == nid(1) {
            nid(12)
        } else if old == nid(2) {
            nid(11)
        } else {
            old
        }
    };
    renamed.members.iter_mut().for_each(|member| member.nid = rename(member.nid));
    for contact in &mut renamed.contacts {
        (contact.a, contact.b) = (rename(contact.a), rename(contact.b));
        if contact.a > contact.b {
            std::mem::swap(&mut contact.a, &mut contact.b);
            for patch in &mut contact.patches {
                std::mem::swap(&mut patch.normal_a, &mut patch.normal_b);
                for point in &mut patch.points {
                    std::mem::swap(&mut point.at_a, &mut point.at_b);
                    std::mem::swap(&mut point.feature_a, &mut point.feature_b);
                    point.tangent_impulse = -point.tangent_impulse;
                }
            }
        }
    }
    let first_step = |group: Group| {
        let mut there = scene::empty();
        there.insert(group).unwrap();
        there.step();
        fastest(&there)
    };
    let cold = first_step(Group { contacts: Vec::new(), ..group.clone() });
    let (straight, turned) = (first_step(group), first_step(renamed));
    assert!(straight < 0.005 && turned < 0.005, "{straight} {turned}");
    assert!(cold > 0.015, "{cold}");
}

#[test]
fn a_touch_that_goes_on_is_not_news() {
    let mut world = standing_stack();
    let group = world.remove(&all(&world));
    assert!(world.step().contacts.is_empty(), "leaving ends no touch");
    let mut other = scene::empty();
    other.insert(group).unwrap();
    for _ in 0..30 {
        assert!(other.step().contacts.is_empty(), "arriving begins none: {:?}", other.last_report().contacts);
    }
    assert!(other.set_velocity(nid(9), Velocity::linear(Vec3::new(0.0, 4.0, 0.0))));
    let mut events = Vec::new();
    for _ in 0..20 {
        events.extend(other.step().contacts.iter().copied());
    }
    assert_eq!(events, [ContactEvent { a: nid(8), b: nid(9), began: false }]);
}

#[test]
fn what_a_removal_cuts_is_known_before() {
    let mut world = standing_stack();
    let pairs = |group: &Group| group.contacts.iter().map(|c| (c.a, c.b)).collect::<Vec<_>>();
    let upper = [nid(8), nid(9)];
    let before = world.touches(&upper);
    assert_eq!(before, [(nid(7), nid(8)), (nid(8), nid(9))]);
    let group = world.remove(&upper);
    assert_eq!(pairs(&group), [(nid(8), nid(9))], "the other one is cut");
    assert_eq!(world.touches(&upper), [], "they are not here");
    assert_eq!(world.touches(&[nid(7), nid(7)]), [(nid(6), nid(7))]);

    let mut other = scene::empty();
    other.insert(group).unwrap();
    assert_eq!(other.touches(&[nid(9)]), [(nid(8), nid(9))], "before the first step, too");
    other.report_contacts(false);
    assert!(other.step().contacts.is_empty());
    assert_eq!(other.touches(&[nid(9)]), [(nid(8), nid(9))]);
}

#[test]
fn touches_beyond_what_a_body_carries_end_and_begin_anew() {
    let slab = Arc::new(BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::cuboid(5.0, 0.5, 5.0)) });
    let pebble = Arc::new(BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::cuboid(0.2, 0.2, 0.2)) });
    let mut here = scene::empty();
    here.insert(single(100, &slab, at(0.0, 0.5, 0.0))).unwrap();
    for i in 0..81_u64 {
        let place = at((i % 9) as f32 - 4.0, 1.2, (i / 9) as f32 - 4.0);
        here.insert(single(i, &pebble, place)).unwrap();
    }
    let mut open = BTreeSet::new();
    let mut follow = |events: &[ContactEvent]| {
        for ContactEvent { a, b, began } in events {
            assert!(if *began { open.insert((*a, *b)) } else { open.remove(&(*a, *b)) }, "{a} {b} {began}");
        }
        open.len()
    };
    for _ in 0..30 {
        here.step();
        follow(&here.last_report().contacts);
    }
    let before = here.touches(&all(&here));
    assert_eq!(before.len(), 82);
    let group = here.remove(&all(&here));
    assert_eq!(group.contacts.len(), 64);
    let cut: Vec<_> = before.into_iter().filter(|pair| !group.carries(*pair)).collect();
    follow(&cut.into_iter().map(|(a, b)| ContactEvent { a, b, began: false }).collect::<Vec<_>>());
    let mut scratch = PhysicsWorld::scratch(&scene::ground(), 0);
    scratch.report_contacts(true);
    let group = scratch.catch_up(group, 3, |_, _| {}).unwrap();
    let on_the_way: Vec<ContactEvent> = scratch.contacts().iter().map(|(_, event)| *event).collect();
    assert_eq!(follow(&on_the_way), 64);
    let mut there = scene::empty();
    there.insert(group).unwrap();
    there.step();
    assert_eq!(follow(&there.last_report().contacts), 82);
}

#[test]
fn a_touch_that_is_gone_on_arrival_has_ended() {
    let mut world = standing_stack();
    let mut group = world.remove(&[nid(9), nid(8)]);
    assert_eq!(group.contacts.len(), 1, "with what stays there is no touch to take along");
    group.members[1].motion.pose.position.y += 3.0;
    let mut other = scene::empty();
    other.insert(group).unwrap();
    assert_eq!(other.step().contacts, [ContactEvent { a: nid(8), b: nid(9), began: false }]);
    assert!(other.step().contacts.is_empty());
}

#[test]
fn sensors_go_on_sensing() {
    let mut model = scene::ground();
    let gate = BodyDesc { sensor: true, ..BodyDesc::fixed(Shape::cuboid(1.0, 1.0, 1.0)) };
    let gate = Nid::of_world(0, model.add(gate, Pose::at(Vec3::new(0.0, 0.5, 0.0)), Velocity::ZERO));
    let mut here = scene::reporting(&model);
    here.insert(single(1, &restless(), at(0.0, 0.5, 0.0))).unwrap();
    here.step();
    assert_eq!(here.last_report().contacts.len(), 2);
    let group = here.remove(&[nid(1)]);
    assert_eq!(group.contacts.iter().map(|contact| contact.a).collect::<Vec<_>>(), [GROUND, gate]);
    assert!(group.contacts[1].patches.is_empty());
    let mut there = scene::reporting(&model);
    there.insert(group).unwrap();
    assert!(there.step().contacts.is_empty());
}

#[test]
fn what_waits_for_the_step_is_saved_and_returned() {
    let mut world = standing_stack();
    let group = world.remove(&all(&world));
    let mut other = scene::empty();
    other.insert(group.clone()).unwrap();
    let mut again = PhysicsWorld::restore(&other.snapshot()).unwrap();
    let mut cold = scene::empty();
    cold.insert(Group { contacts: Vec::new(), ..group.clone() }).unwrap();
    for _ in 0..10 {
        assert_eq!(other.step().clone(), again.step().clone());
        cold.step();
        assert_eq!(other.state_hash(), again.state_hash());
        assert_ne!(other.state_hash(), cold.state_hash());
    }
    assert_eq!(other.snapshot(), again.snapshot());

    // Half of a group that leaves again before it was stepped takes its own touches along.
    let mut hall = scene::empty();
    hall.insert(group.clone()).unwrap();
    let lower = hall.remove(&(0..5).map(nid).collect::<Vec<_>>());
    assert_eq!(lower.contacts, group.contacts.iter().filter(|c| c.b < nid(5)).cloned().collect::<Vec<_>>());
    assert!(hall.step().contacts.is_empty(), "the touch that was cut is nobody's");
}

#[test]
fn bad_touches_are_dropped_and_good_ones_kept() {
    let mut world = standing_stack();
    let good = world.remove(&all(&world));
    let mut bad = good.clone();
    let first = good.contacts[0].patches[0].clone();
    let point = first.points[0];
    let with = |change: &dyn Fn(&mut ContactPoint)| {
        let mut changed = point;
        change(&mut changed);
        changed
    };
    bad.contacts[0].patches[0].points.extend([
        with(&|p| p.normal_impulse = f32::NAN),
        with(&|p| p.normal_impulse = -1.0),
        with(&|p| p.normal_impulse = 1e30),
        with(&|p| p.step_impulse = -1.0),
        with(&|p| p.distance = f32::NAN),
        with(&|p| p.at_a.x = f32::INFINITY),
        with(&|p| p.at_b.x = 1e9),
        with(&|p| p.tangent_impulse.y = f32::NAN),
        with(&|p| p.twist_impulse = f32::NEG_INFINITY),
    ]);
    bad.contacts[0].patches.extend([
        ContactPatch { points: Vec::new(), ..first.clone() },
        ContactPatch { normal_a: Vec3::ZERO, ..first.clone() },
        ContactPatch { normal_b: Vec3::NAN, ..first.clone() },
    ]);
    let touch = |a, b| ContactState {
        patches: vec![ContactPatch { points: vec![point], ..first.clone() }],
        ..ContactState { a, b, ..good.contacts[0].clone() }
    };
    bad.contacts.extend([
        touch(nid(3), nid(3)),
        touch(nid(4), nid(3)),
        touch(nid(3), nid(777)),
        touch(GROUND, Nid::of_world(0, 1)),
        good.contacts[3].clone(),
    ]);
    let run = |group: Group| {
        let mut world = scene::empty();
        world.insert(group).unwrap();
        (0..5).for_each(|_| {
            world.step();
        });
        world.snapshot()
    };
    assert!(run(bad) == run(good.clone()), "nothing of it got through");

    let mut flood = good.clone();
    flood.contacts = (0..10_000).map(|i| touch(nid(1), nid(2 + i % 8))).collect();
    flood.contacts[0].patches = vec![ContactPatch { points: vec![point; 10_000], ..first.clone() }; 100];
    let mut world = scene::empty();
    world.insert(flood).unwrap();
    let back = world.remove(&all(&world));
    assert!(back.contacts.len() <= 8 && back.contacts.iter().all(|contact| contact.patches.len() <= 8));
    assert!(back.contacts.iter().flat_map(|contact| &contact.patches).all(|patch| patch.points.len() <= 16));
}

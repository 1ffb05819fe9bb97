//! A mirror answers what a world of the same bodies answers.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scene;

use nimbus_model::{BodyDesc, Groups, Nid, Pose, Quat, Rng, Shape, Vec3, World};
use nimbus_physics::{Filter, Group, PhysicsWorld, QueryMirror};
use scene::{at, nid, single};
use std::sync::Arc;

/// The mirror of a world; keys are serials.
fn mirror_of(world: &PhysicsWorld) -> QueryMirror {
    let mut mirror = QueryMirror::new(&scene::ground(), 0);
    for nid in world.nids() {
        let (view, motion) = (world.view(nid).unwrap(), world.motion(nid).unwrap());
        mirror.insert(nid.serial() as u32, nid, view.desc, motion.pose).unwrap();
    }
    mirror
}

/// The mirror hears where every body is now.
fn follow(mirror: &mut QueryMirror, world: &PhysicsWorld) {
    for nid in world.nids() {
        assert!(mirror.place(nid.serial() as u32, world.motion(nid).unwrap().pose));
    }
}

fn direction(rng: &mut Rng) -> Vec3 {
    loop {
        let direction = rng.point(Vec3::NEG_ONE, Vec3::ONE);
        if direction.length() > 0.1 {
            return direction;
        }
    }
}

/// Asks both the same; counts what was met.
fn compare(mirror: &mut QueryMirror, world: &PhysicsWorld, rays: u64, seed: u64) -> [usize; 4] {
    let mut rng = Rng::new(seed);
    let mut met = [0; 4];
    for i in 0..rays {
        let (low, high) = match i % 8 {
            6 => (Vec3::new(60.0, 0.0, -9.0), Vec3::new(80.0, 9.0, 9.0)),
            7 => (Vec3::new(-80.0, 0.0, -9.0), Vec3::new(-60.0, 9.0, 9.0)),
            _ => (Vec3::new(-6.0, -0.5, -6.0), Vec3::new(6.0, 10.0, 6.0)),
        };
        let origin = rng.point(low, high);
        let mut along = direction(&mut rng);
        if i % 5 == 0 {
            along = [Vec3::X, Vec3::NEG_Y, Vec3::Z][(i / 5 % 3) as usize];
        }
        let max = [2.0, 30.0, f32::INFINITY][(i % 3) as usize];
        let except = world.nids().nth(i as usize % 50);
        let filter = [Filter::SOLIDS, Filter::OWNED, Filter { except, ..Filter::SOLIDS }][(i / 3 % 3) as usize];
        let hit = mirror.ray_cast(origin, along, max, filter);
        assert_eq!(hit, world.ray_cast(origin, along, max, filter), "ray {i} from {origin} along {along} for {max}");
        met[0] += usize::from(hit.is_some());
        if i % 4 != 0 {
            continue;
        }
        let shape = &scene::shapes()[(i / 4) as usize % 7];
        let pose = Pose::at(origin).turned(Quat::from_rotation_z(rng.between(-3.0, 3.0)));
        let hit = mirror.shape_cast(shape, pose, along, max, filter);
        assert_eq!(hit, world.shape_cast(shape, pose, along, max, filter), "cast {i} of {shape:?} from {origin}");
        met[1] += usize::from(hit.is_some());
        let all = mirror.overlap(shape, pose, filter);
        assert_eq!(all, world.overlap(shape, pose, filter), "overlap {i}");
        met[2] += all.len();
        let near = mirror.nearest(origin, max, filter);
        assert_eq!(near, world.nearest(origin, max, filter), "nearest {i}");
        met[3] += usize::from(near.is_some());
    }
    met
}

#[test]
fn a_mirror_answers_as_a_world_that_was_never_stepped_and_one_that_runs() {
    let mut world = scene::mixed();
    world.insert(scene::rain(100, 140, &mut Rng::new(8))).unwrap();
    let mut mirror = mirror_of(&world);
    let met = compare(&mut mirror, &world, 1_000, 1);
    assert!(met.iter().all(|count| *count > 100), "{met:?}");
    mirror.settle();
    compare(&mut mirror, &world, 1_000, 2);
    for step in 0..90 {
        world.step();
        follow(&mut mirror, &world);
        if step % 3 == 0 {
            mirror.settle();
        }
        if step % 30 == 7 {
            // Some leave, and others come by the same keys.
            let gone: Vec<Nid> = world.nids().filter(|nid| nid.serial() % 7 == step % 7).collect();
            world.remove(&gone);
            for nid in &gone {
                assert!(mirror.remove(nid.serial() as u32) && !mirror.remove(nid.serial() as u32));
            }
            let Group { members, .. } = scene::rain(gone[0].serial(), 1, &mut Rng::new(step));
            for member in &members {
                mirror.insert(member.nid.serial() as u32, member.nid, &member.desc, member.motion.pose).unwrap();
            }
            world.insert(Group::of(members)).unwrap();
        }
        if step % 10 == 0 {
            compare(&mut mirror, &world, 1_000, 10 + step);
        }
    }
    assert_eq!(mirror.len(), world.nids().count());
    let met = compare(&mut mirror, &world, 1_000, 3);
    assert!(met.iter().all(|count| *count > 50), "{met:?}");
}

#[test]
fn ties_and_filters_are_those_of_a_world() {
    let mut model = World::new("ties");
    model.gravity = Vec3::ZERO;
    let (mut world, mut mirror) = (PhysicsWorld::new(&model, 0), QueryMirror::new(&model, 0));
    for (key, serial) in [3, 1, 2, 5, 4].into_iter().enumerate() {
        let mut desc = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
        desc.sensor = serial == 1;
        desc.groups = Groups { memberships: 1 << serial, filter: u32::MAX };
        world.insert(single(serial, &Arc::new(desc.clone()), at(0.0, 0.0, 0.0))).unwrap();
        mirror.insert(key as u32, nid(serial), &desc, Pose::IDENTITY).unwrap();
    }
    let groups = Groups { memberships: u32::MAX, filter: (1 << 4) | (1 << 5) };
    let all = [
        (Filter::SOLIDS, Some(2)),
        (Filter { sensors: true, ..Filter::SOLIDS }, Some(1)),
        (Filter { groups, ..Filter::SOLIDS }, Some(4)),
        (Filter { except: Some(nid(2)), ..Filter::SOLIDS }, Some(3)),
        (Filter { owned: false, ..Filter::SOLIDS }, None),
    ];
    for (filter, first) in all {
        let hit = mirror.ray_cast(Vec3::X * 5.0, Vec3::NEG_X, 9.0, filter);
        assert_eq!(hit, world.ray_cast(Vec3::X * 5.0, Vec3::NEG_X, 9.0, filter));
        assert_eq!(hit.map(|hit| hit.nid), first.map(nid), "{filter:?}");
        let near = mirror.nearest(Vec3::ZERO, 1.0, filter);
        assert_eq!(near.map(|near| near.nid), first.map(nid));
    }
    assert!(mirror.tried() > 0);
}

#[test]
fn nonsense_finds_nothing_and_is_not_taken() {
    let mut mirror = mirror_of(&scene::mixed());
    let bad = Vec3::new(f32::NAN, 0.0, 0.0);
    assert_eq!(mirror.ray_cast(bad, Vec3::X, 9.0, Filter::SOLIDS), None);
    assert_eq!(mirror.ray_cast(Vec3::Y, Vec3::ZERO, 9.0, Filter::SOLIDS), None);
    assert_eq!(mirror.ray_cast(Vec3::Y, bad, 9.0, Filter::SOLIDS), None);
    assert_eq!(mirror.ray_cast(Vec3::Y, Vec3::X, f32::NAN, Filter::SOLIDS), None);
    assert_eq!(mirror.ray_cast(Vec3::Y, Vec3::X, -1.0, Filter::SOLIDS), None);
    assert_eq!(mirror.nearest(bad, 9.0, Filter::SOLIDS), None);
    assert_eq!(mirror.overlap(&Shape::ball(1.0), Pose::at(bad), Filter::SOLIDS), []);
    assert_eq!(mirror.shape_cast(&Shape::ball(f32::NAN), Pose::IDENTITY, Vec3::X, 9.0, Filter::SOLIDS), None);
    let count = mirror.len();
    let desc = BodyDesc::dynamic(Shape::ball(1.0));
    assert!(mirror.insert(9_999, nid(1), &desc, Pose::at(bad)).is_err());
    assert!(mirror.insert(9_999, nid(1), &BodyDesc::dynamic(Shape::ball(-1.0)), Pose::IDENTITY).is_err());
    assert!(!mirror.place(9_999, Pose::IDENTITY) && !mirror.place(0, Pose::at(bad)));
    assert_eq!(mirror.len(), count);
    let mut empty = QueryMirror::new(&World::new("nothing"), 0);
    assert!(empty.is_empty());
    empty.settle();
    assert_eq!(empty.ray_cast(Vec3::Y, Vec3::X, 9.0, Filter::SOLIDS), None);
}

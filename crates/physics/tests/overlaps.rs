//! Bodies that start inside each other are found, and those that only lie on each other are not.
#![allow(missing_docs)]

use nimbus_model::{BodyDesc, Groups, JointDesc, JointKind, JointSpawn, Pose, Quat, Shape, Vec3, Velocity, World};
use nimbus_physics::{DeepOverlap, deep_overlaps};

fn cube() -> BodyDesc {
    BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5))
}

fn world(bodies: &[(BodyDesc, Vec3)]) -> World {
    let mut world = World::new("test");
    for (desc, at) in bodies {
        world.add(desc.clone(), Pose::at(*at), Velocity::ZERO);
    }
    world
}

fn pairs(world: &World) -> Vec<(u32, u32)> {
    let (found, whole) = deep_overlaps(world);
    assert!(whole);
    found.iter().map(|found| (found.one, found.two)).collect()
}

#[test]
fn the_deepest_comes_first_with_its_depth() {
    let world =
        world(&[(cube(), Vec3::ZERO), (cube(), Vec3::X * 0.9), (cube(), Vec3::X * 1.5), (cube(), Vec3::X * 2.49)]);
    let (found, whole) = deep_overlaps(&world);
    assert!(whole);
    assert_eq!(pairs(&world), [(1, 2), (0, 1)], "a centimetre is not deep");
    let depths: Vec<f32> = found.iter().map(|DeepOverlap { depth, .. }| *depth).collect();
    assert!((depths[0] - 0.4).abs() < 1e-3 && (depths[1] - 0.1).abs() < 1e-3, "{depths:?}");
}

#[test]
fn what_lies_on_something_is_not_in_it() {
    let mut world = World::new("stack");
    world.add_ground(40.0, 40.0);
    for i in 0..5 {
        let turned = Pose::at(Vec3::Y * (0.5 + i as f32)).turned(Quat::from_rotation_y(0.3 * i as f32));
        world.add(cube(), turned, Velocity::ZERO);
    }
    assert_eq!(pairs(&world), []);
    world.bodies[1].pose.position.y = 0.2;
    assert_eq!(pairs(&world), [(0, 1)], "and what is sunk into the ground is");
}

#[test]
fn bodies_that_do_not_push_each_other_do_not_count() {
    let both = |one: BodyDesc, two: BodyDesc| world(&[(one, Vec3::ZERO), (two, Vec3::X * 0.3)]);
    let fixed = || BodyDesc::fixed(Shape::cuboid(0.5, 0.5, 0.5));
    assert_eq!(pairs(&both(cube(), fixed())), [(0, 1)]);
    assert_eq!(pairs(&both(fixed(), fixed())), []);
    assert_eq!(pairs(&both(cube(), BodyDesc { sensor: true, ..cube() })), []);
    let apart = Groups { memberships: 2, filter: 2 };
    assert_eq!(
        pairs(&both(
            BodyDesc { groups: Groups { memberships: 1, filter: 1 }, ..cube() },
            BodyDesc { groups: apart, ..cube() }
        )),
        []
    );
    let mut jointed = both(cube(), cube());
    let desc = JointDesc::new(JointKind::Fixed, Vec3::ZERO, Vec3::NEG_X * 0.3);
    jointed.joints.push(JointSpawn { a: 1, b: 0, desc: desc.clone() });
    assert_eq!(pairs(&jointed), []);
    jointed.joints[0].desc = JointDesc { contacts: true, ..desc };
    assert_eq!(pairs(&jointed), [(0, 1)], "unless the joint lets them collide");
}

#[test]
fn a_crowd_in_one_place_takes_no_longer_than_it_may() {
    let crowd: Vec<_> = (0..1_500).map(|i| (cube(), Vec3::X * (i as f32 * 1e-4))).collect();
    let (found, whole) = deep_overlaps(&world(&crowd));
    assert!(!whole && found.len() > 250_000, "{} found", found.len());
}

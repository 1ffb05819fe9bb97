//! Queries answer what trying every body would.
#![allow(missing_docs)]

mod scene;

use nimbus_model::{BodyDesc, Nid, Pose, Quat, Rng, Shape, Vec3, World};
use nimbus_physics::{Filter, PhysicsWorld};
use scene::{at, dynamic, nid, single};
use std::sync::Arc;

/// Balls at rest in empty space: everything about them can be computed by hand.
struct Balls {
    world: PhysicsWorld,
    places: Vec<(Nid, Vec3, f32)>,
}

fn balls(stepped: bool) -> Balls {
    let mut model = World::new("balls");
    model.gravity = Vec3::ZERO;
    let mut world = PhysicsWorld::new(&model, 0);
    let mut rng = Rng::new(9);
    let mut places: Vec<(Nid, Vec3, f32)> = Vec::new();
    for i in 0..400 {
        let place = rng.point(Vec3::splat(-10.0), Vec3::splat(10.0));
        let radius = rng.between(0.1, 0.6);
        if places.iter().all(|(_, other, size)| (*other - place).length() > radius + size + 0.05) {
            world
                .insert(single(i, &dynamic(Shape::ball(radius)), at(place.x, place.y, place.z)))
                .expect("the ball is sound");
            places.push((nid(i), place, radius));
        }
        if stepped && i == 200 {
            world.step();
        }
    }
    if stepped {
        world.step();
    }
    // Some leave again, and are no longer found.
    let gone: Vec<Nid> = places.iter().map(|place| place.0).filter(|nid| nid.serial() % 9 == 4).collect();
    world.remove(&gone);
    places.retain(|place| !gone.contains(&place.0));
    assert!(places.len() > 100);
    Balls { world, places }
}

fn ray_to_ball(origin: Vec3, direction: Vec3, centre: Vec3, radius: f32) -> Option<f32> {
    let (along, squared) = ((centre - origin).dot(direction), (centre - origin).length_squared());
    let inside = squared <= radius * radius;
    let root = along * along - squared + radius * radius;
    if inside { Some(0.0) } else { (root >= 0.0 && along > 0.0).then(|| along - root.sqrt()) }
}

#[test]
fn rays_shapes_overlaps_and_nearest_equal_brute_force() {
    for balls in [balls(false), balls(true)] {
        let Balls { world, places } = &balls;
        let mut rng = Rng::new(4);
        let mut found = [0; 4];
        for i in 0..500 {
            let origin = rng.point(Vec3::splat(-12.0), Vec3::splat(12.0));
            let direction = rng.point(Vec3::splat(-1.0), Vec3::splat(1.0)).normalize();
            let max = rng.between(1.0, 25.0);

            let hit = world.ray_cast(origin, direction * 3.0, max, Filter::SOLIDS);
            let brute = places.iter().filter_map(|(nid, at, r)| Some((ray_to_ball(origin, direction, *at, *r)?, *nid)));
            let brute = brute.filter(|(t, _)| *t <= max).min_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(hit.map(|hit| hit.nid), brute.map(|(_, nid)| nid), "ray {i}");
            if let (Some(hit), Some((distance, _))) = (hit, brute) {
                assert!((hit.distance - distance).abs() < 1e-3 && (hit.point - origin).length() <= distance + 1e-3);
                found[0] += 1;
            }

            // A ball that moves meets what a ray meets that is thicker by its radius.
            let from = Pose::at(origin).turned(Quat::from_rotation_y(0.3));
            let hit = world.shape_cast(&Shape::ball(0.3), from, direction, max, Filter::SOLIDS);
            let brute =
                places.iter().filter_map(|(nid, at, r)| Some((ray_to_ball(origin, direction, *at, r + 0.3)?, *nid)));
            let brute = brute.filter(|(t, _)| *t <= max).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            match (hit, brute) {
                (Some(hit), Some((distance, nid))) => {
                    assert!((hit.distance - distance).abs() < 1e-2, "cast {i}: {hit:?} {distance}");
                    assert!(hit.nid == nid || distance == 0.0 || (hit.distance - distance).abs() < 1e-3, "cast {i}");
                    found[1] += 1;
                }
                (None, None) => {}
                (hit, brute) => {
                    assert!(brute.is_some_and(|(t, _)| (t - max).abs() < 1e-2), "cast {i}: {hit:?} {brute:?}")
                }
            }

            let reach = rng.between(0.5, 3.0);
            let all = world.overlap(&Shape::ball(reach), Pose::at(origin), Filter::SOLIDS);
            let brute = places.iter().filter(|(_, at, r)| (*at - origin).length() <= r + reach).map(|place| place.0);
            assert_eq!(all, brute.collect::<Vec<_>>(), "overlap {i}");
            found[2] += all.len();

            let near = world.nearest(origin, 3.0, Filter::SOLIDS);
            let brute = places.iter().map(|(nid, at, r)| (((*at - origin).length() - r).max(0.0), *nid));
            let brute = brute.filter(|(d, _)| *d <= 3.0).min_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(near.map(|near| near.nid), brute.map(|(_, nid)| nid), "nearest {i}");
            if let (Some(near), Some((distance, _))) = (near, brute) {
                assert!((near.distance - distance).abs() < 1e-3);
                found[3] += 1;
            }
        }
        assert!(found.iter().all(|count| *count > 30), "{found:?}");
    }
}

#[test]
fn an_overlap_that_looks_at_too_many_bodies_is_given_up() {
    for stepped in [false, true] {
        let Balls { world, .. } = balls(stepped);
        let ask = |tries: &mut u64| world.overlap_within(&Shape::ball(5.0), Pose::IDENTITY, Filter::SOLIDS, tries);
        let mut tries = 10_000;
        let found = ask(&mut tries).expect("so many suffice");
        assert_eq!(found, world.overlap(&Shape::ball(5.0), Pose::IDENTITY, Filter::SOLIDS));
        let needed = 10_000 - tries;
        assert!(needed >= found.len() as u64 && !found.is_empty());
        let (mut enough, mut too_few) = (needed, needed - 1);
        assert_eq!((ask(&mut enough), enough), (Some(found), 0));
        assert_eq!((ask(&mut too_few), too_few), (None, 0));
    }
}

#[test]
fn ties_go_to_the_lower_id() {
    let mut model = World::new("ties");
    model.gravity = Vec3::ZERO;
    for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
        for stepped in [false, true] {
            let mut world = PhysicsWorld::new(&model, 0);
            for serial in order {
                let mut desc = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
                desc.groups.filter = 0;
                world.insert(single(serial, &Arc::new(desc), at(0.0, 0.0, 0.0))).unwrap();
            }
            if stepped {
                world.step();
            }
            let filter = Filter { groups: nimbus_model::Groups { memberships: 0, filter: u32::MAX }, ..Filter::SOLIDS };
            assert_eq!(world.ray_cast(Vec3::X * 5.0, -Vec3::X, 9.0, filter), None, "their groups meet nobody");
            world.remove(&[nid(1)]);
            for (serial, motion) in [(8, at(0.0, 4.0, 0.0)), (6, at(0.0, 4.0, 0.0)), (7, at(0.0, 4.0, 0.0))] {
                let mut desc = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
                desc.groups.memberships = 2;
                desc.groups.filter = 1;
                world.insert(single(serial, &Arc::new(desc), motion)).unwrap();
            }
            if stepped {
                world.step();
            }
            let place = Vec3::new(0.0, 4.0, 0.0);
            let from = place + Vec3::X * 5.0;
            let hit = world.ray_cast(from, -Vec3::X, 9.0, Filter::SOLIDS).unwrap();
            assert_eq!((hit.nid, hit.distance, hit.normal), (nid(6), 4.5, Vec3::X));
            let hit = world.shape_cast(&Shape::ball(0.5), Pose::at(from), -Vec3::X, 9.0, Filter::SOLIDS).unwrap();
            assert_eq!(hit.nid, nid(6));
            assert!((hit.distance - 4.0).abs() < 1e-3 && (hit.normal - Vec3::X).length() < 1e-2);
            assert_eq!(world.nearest(from, 9.0, Filter::SOLIDS).unwrap().nid, nid(6));
            assert_eq!(world.overlap(&Shape::ball(0.1), Pose::at(place), Filter::SOLIDS), [nid(6), nid(7), nid(8)]);
            let except = Filter { except: Some(nid(6)), ..Filter::SOLIDS };
            assert_eq!(world.ray_cast(from, -Vec3::X, 9.0, except).unwrap().nid, nid(7));
        }
    }
}

#[test]
fn filters_choose() {
    let mut world = scene::empty();
    let ground = Nid::of_world(0, 0);
    let mut sensor = BodyDesc::dynamic(Shape::ball(0.5));
    sensor.sensor = true;
    world.insert(single(1, &Arc::new(sensor), at(0.0, 3.0, 0.0))).unwrap();
    let down = |world: &PhysicsWorld, filter| {
        world.ray_cast(Vec3::new(0.0, 9.0, 0.0), -Vec3::Y, 100.0, filter).map(|hit| hit.nid)
    };
    for _ in 0..2 {
        assert_eq!(down(&world, Filter::SOLIDS), Some(ground));
        assert_eq!(down(&world, Filter::OWNED), None);
        assert_eq!(down(&world, Filter { sensors: true, ..Filter::OWNED }), Some(nid(1)));
        assert_eq!(down(&world, Filter { owned: false, sensors: true, ..Filter::SOLIDS }), Some(ground));
        world.step();
    }
    assert_eq!(world.view(ground).unwrap().aabb().max.y, 0.0);
}

#[test]
fn nonsense_finds_nothing() {
    let mut world = scene::mixed();
    world.step();
    let bad = Vec3::new(f32::NAN, 0.0, 0.0);
    assert_eq!(world.ray_cast(bad, Vec3::X, 9.0, Filter::SOLIDS), None);
    assert_eq!(world.ray_cast(Vec3::Y, Vec3::ZERO, 9.0, Filter::SOLIDS), None);
    assert_eq!(world.ray_cast(Vec3::Y, bad, 9.0, Filter::SOLIDS), None);
    assert_eq!(world.ray_cast(Vec3::Y, -Vec3::Y, f32::NAN, Filter::SOLIDS), None);
    assert_eq!(world.ray_cast(Vec3::Y, -Vec3::Y, -1.0, Filter::SOLIDS), None);
    assert_eq!(world.nearest(bad, 9.0, Filter::SOLIDS), None);
    assert_eq!(world.overlap(&Shape::ball(f32::NAN), Pose::IDENTITY, Filter::SOLIDS), []);
    assert_eq!(world.overlap(&Shape::ball(1.0), Pose::at(bad), Filter::SOLIDS), []);
    assert_eq!(world.shape_cast(&Shape::ball(1.0), Pose::at(bad), Vec3::X, 9.0, Filter::SOLIDS), None);
    assert_eq!(world.shape_cast(&Shape::ball(1.0), Pose::IDENTITY, bad, 9.0, Filter::SOLIDS), None);
    assert!(world.ray_cast(Vec3::new(30.0, 9.0, 30.0), -Vec3::Y, f32::INFINITY, Filter::SOLIDS).is_some());
    assert!(
        world
            .shape_cast(
                &Shape::ball(1.0),
                Pose::at(Vec3::new(30.0, 9.0, 30.0)),
                -Vec3::Y,
                f32::INFINITY,
                Filter::SOLIDS
            )
            .is_some()
    );
}

#[test]
fn views_are_in_order_and_their_boxes_tight() {
    let mut world = scene::mixed();
    for _ in 0..30 {
        world.step();
    }
    let mut seen = Vec::new();
    world.for_each_awake(|view| {
        assert_eq!(Some(view.pose), world.motion(view.nid).map(|motion| motion.pose));
        let around = view.desc.shape.bounding_radius() * 1.001 + 1e-3;
        assert!(
            view.aabb().grown(1e-3).holds(view.pose.position) || matches!(view.desc.shape, Shape::ConvexHull { .. })
        );
        let farthest = (view.aabb().max - view.pose.position).max_element();
        assert!(farthest <= around, "{:?}: {farthest} {around}", view.desc.shape);
        if let Shape::Ball { radius } = view.desc.shape {
            assert!((view.aabb().half() - Vec3::splat(radius)).length() < 1e-3);
        }
        seen.push(view.nid);
    });
    assert!(seen.is_sorted() && seen.iter().copied().eq(world.awake()));
    assert!(seen.len() > 50);
}

//! Statics that come and go while the world runs.

use nimbus_model::{BodyDesc, BodySpawn, Group, Motion, Nid, Pose, Shape, Vec3, Velocity, World};
use nimbus_physics::{Filter, PhysicsWorld};
use std::sync::Arc;

const SHELF: Nid = Nid::of_world(1, 0xF000_0001);
const BALL: Nid = Nid(77);

fn shelf(at: Vec3) -> BodySpawn {
    let desc = BodyDesc::fixed(Shape::cuboid(2.0, 0.25, 2.0));
    BodySpawn { desc: Arc::new(desc), pose: Pose::at(at), velocity: Velocity::ZERO }
}

fn with_ball(height: f32) -> PhysicsWorld {
    let mut world = World::new("shelf");
    world.add_ground(20.0, 20.0);
    let mut physics = PhysicsWorld::new(&world, 1);
    physics.report_contacts(true);
    let motion = Motion::new(Pose::at(Vec3::Y * height), Velocity::ZERO);
    let cube = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
    physics.insert(Group::single(BALL, Arc::new(cube), motion)).expect("it fits");
    physics
}

fn height(physics: &PhysicsWorld) -> f32 {
    physics.motion(BALL).expect("it is there").pose.position.y
}

fn run(physics: &mut PhysicsWorld, ticks: usize) {
    (0..ticks).for_each(|_| _ = physics.step());
}

#[test]
fn a_body_comes_to_rest_on_a_static_and_falls_when_it_goes() {
    let mut physics = with_ball(6.0);
    physics.insert_static(SHELF, &shelf(Vec3::Y * 3.0)).unwrap();
    assert!(physics.insert_static(SHELF, &shelf(Vec3::Y * 9.0)).is_err(), "there is one of that name");
    run(&mut physics, 240);
    assert!((height(&physics) - 3.75).abs() < 0.01, "{}", height(&physics));
    assert_eq!(physics.awake_len(), 0);
    assert_eq!(physics.touches_with_static(SHELF), [(BALL, SHELF)].map(|(a, b)| (a.min(b), a.max(b))));
    let down = |physics: &mut PhysicsWorld| {
        physics.ray_cast(Vec3::new(1.5, 5.0, 1.5), -Vec3::Y, 9.0, Filter::SOLIDS).map(|hit| hit.nid)
    };
    assert_eq!(down(&mut physics), Some(SHELF));
    assert!(physics.remove_static(SHELF) && !physics.remove_static(SHELF));
    assert_eq!(down(&mut physics), Some(Nid::of_world(1, 0)), "nobody sees it any more");
    assert!(physics.touches_with_static(SHELF).is_empty());
    run(&mut physics, 180);
    assert!((height(&physics) - 0.5).abs() < 0.01, "{}", height(&physics));
}

#[test]
fn a_body_asleep_where_a_static_appears_wakes() {
    let mut physics = with_ball(0.5);
    run(&mut physics, 240);
    assert_eq!(physics.awake_len(), 0);
    physics.insert_static(SHELF, &shelf(Vec3::new(0.0, 0.1, 0.0))).unwrap();
    run(&mut physics, 1);
    assert_eq!(physics.last_report().woke, [BALL]);
    run(&mut physics, 240);
    assert!(height(&physics) > 0.7, "it is lifted out: {}", height(&physics));
}

#[test]
fn a_saved_world_goes_on_with_what_came_and_went() {
    let mut physics = with_ball(6.0);
    run(&mut physics, 5);
    physics.insert_static(SHELF, &shelf(Vec3::Y * 3.0)).unwrap();
    let mut copy = PhysicsWorld::restore(&physics.snapshot()).unwrap();
    for tick in 0..200 {
        if tick == 120 {
            assert!(physics.remove_static(SHELF) && copy.remove_static(SHELF));
            copy = PhysicsWorld::restore(&copy.snapshot()).unwrap();
        }
        run(&mut physics, 1);
        run(&mut copy, 1);
        assert_eq!(physics.state_hash(), copy.state_hash(), "tick {tick}");
    }
    assert!(height(&physics) < 3.0);
}

//! A pair that changes worlds in the middle of an impact goes on as if it had stayed.
#![allow(missing_docs)]

mod scene;

use nimbus_model::{BodyDesc, Motion, Nid, Pose, Quat, Rng, Shape, Vec3, Velocity, World};
use nimbus_physics::{Group, PhysicsWorld};
use scene::single;
use std::sync::Arc;

/// How long both go on after the move, ticks.
const WATCH: usize = 25;

/// How often a run is moved, at most.
const MOVES: u32 = 25;

/// An L of two boxes and a ball beyond its end.
fn hook() -> Shape {
    Shape::Compound {
        parts: vec![
            (Pose::at(Vec3::new(0.0, -0.3, 0.0)), Shape::cuboid(0.6, 0.2, 0.3)),
            (Pose::at(Vec3::new(-0.4, 0.3, 0.0)), Shape::cuboid(0.2, 0.4, 0.3)),
            (Pose::at(Vec3::new(0.7, -0.2, 0.1)), Shape::ball(0.25)),
        ],
    }
}

fn forms() -> Vec<(&'static str, Shape)> {
    let corners = [[0.5, 0.0, 0.0], [-0.5, 0.0, 0.1], [0.0, 0.6, 0.0], [0.0, 0.0, 0.5], [0.1, -0.4, -0.4]];
    vec![
        ("ball", Shape::ball(0.5)),
        ("box", Shape::cuboid(0.5, 0.4, 0.6)),
        ("capsule", Shape::Capsule { half_height: 0.5, radius: 0.3 }),
        ("cylinder", Shape::Cylinder { half_height: 0.4, radius: 0.5 }),
        ("hull", Shape::ConvexHull { points: corners.map(Vec3::from_array).to_vec() }),
        ("compound", hook()),
    ]
}

fn turn(rng: &mut Rng) -> Quat {
    let mut part = || rng.between(-1.0, 1.0);
    Quat::from_xyzw(part(), part(), part(), part()).normalize()
}

/// Two bodies on their way to each other, far from anything else.
fn pair(seed: u64, one: &Shape, two: &Shape, restitution: f32, friction: f32) -> Group {
    let mut rng = Rng::new(seed);
    let mut group = Group::default();
    for (serial, shape, side) in [(1, one, -1.0), (2, two, 1.0)] {
        let desc = BodyDesc { restitution, friction, can_sleep: false, ..BodyDesc::dynamic(shape.clone()) };
        let place = Vec3::new(side * 1.4, rng.between(-0.15, 0.15), rng.between(-0.15, 0.15));
        let velocity = Velocity {
            linear: Vec3::new(-side * rng.between(0.5, 8.0), rng.between(-0.5, 0.5), rng.between(-0.5, 0.5)),
            angular: Vec3::new(rng.between(-4.0, 4.0), rng.between(-4.0, 4.0), rng.between(-4.0, 4.0)),
        };
        let motion = Motion::new(Pose { position: place, rotation: turn(&mut rng) }, velocity);
        group.members.extend(single(serial, &Arc::new(desc), motion).members);
    }
    group
}

fn motions(world: &PhysicsWorld) -> Vec<(Nid, Motion)> {
    world.nids().filter_map(|nid| Some((nid, world.motion(nid)?))).collect()
}

/// Takes everything out of a copy of a world and puts it into another, which has the same statics.
fn moved(world: &PhysicsWorld, model: &World) -> PhysicsWorld {
    let mut leaves = PhysicsWorld::restore(&world.snapshot()).expect("the snapshot is whole");
    let all: Vec<Nid> = leaves.nids().collect();
    let mut arrives = PhysicsWorld::new(model, 0);
    arrives.insert(leaves.remove(&all)).expect("the group is sound");
    arrives
}

/// How far a moved world went from the one that stayed: metres, m/s, and whether not a bit differs.
#[derive(Clone, Copy, Debug, Default)]
struct Apart {
    place: f32,
    speed: f32,
    runs: u32,
    inexact: u32,
}

impl Apart {
    fn add(&mut self, stays: &PhysicsWorld, model: &World) {
        let mut stays = PhysicsWorld::restore(&stays.snapshot()).expect("the snapshot is whole");
        let mut arrives = moved(&stays, model);
        let mut exact = true;
        for _ in 0..WATCH {
            stays.step();
            arrives.step();
            let (one, two) = (motions(&stays), motions(&arrives));
            assert_eq!(one.len(), two.len());
            for ((_, one), (_, two)) in one.iter().zip(&two) {
                self.place = self.place.max((one.pose.position - two.pose.position).length());
                self.speed = self.speed.max((one.velocity.linear - two.velocity.linear).length());
                exact &= one.pose == two.pose && one.velocity == two.velocity;
            }
        }
        self.runs += 1;
        self.inexact += u32::from(!exact);
    }
}

/// Lets a group live for some ticks and moves it at every tick at which two of its bodies touch, or one of them a static.
fn move_in_contact(model: &World, group: Group, ticks: u32, apart: &mut Apart) {
    let mut world = PhysicsWorld::new(model, 0);
    world.insert(group).expect("the group is sound");
    let all: Vec<Nid> = world.nids().collect();
    let mut moves = MOVES;
    for _ in 0..ticks {
        world.step();
        if moves > 0 && !world.touches(&all).is_empty() {
            apart.add(&world, model);
            moves -= 1;
        }
    }
}

fn void() -> World {
    let mut model = World::new("void");
    model.gravity = Vec3::ZERO;
    model
}

#[test]
fn a_pair_in_impact_goes_on_bit_for_bit() {
    let model = void();
    let mut failed = Vec::new();
    for (first, one) in forms() {
        for (second, two) in forms() {
            let mut apart = Apart::default();
            for (i, restitution) in [0.0, 0.3, 0.5, 0.8, 1.0].into_iter().enumerate() {
                for friction in [0.0, 0.6] {
                    let seed = 7 + 10 * i as u64 + u64::from(friction > 0.0);
                    move_in_contact(&model, pair(seed, &one, &two, restitution, friction), 60, &mut apart);
                }
            }
            assert!(apart.runs > 0, "{first} and {second} never met");
            if apart.inexact > 0 {
                failed.push(format!("{first} and {second}: {apart:?}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Ground of one kind, with its surface near height zero.
fn floor(kind: &str) -> World {
    let mut model = World::new("floor");
    match kind {
        "flat" => {
            model.add_ground(20.0, 20.0);
        }
        "mesh" => {
            let at = |i: u32| Vec3::new((i % 9) as f32 - 4.0, 0.1 * ((i * 7) % 5) as f32, (i / 9) as f32 - 4.0);
            let cell = |i: u32| [[i, i + 9, i + 1], [i + 1, i + 9, i + 10]];
            let cells = (0..8).flat_map(|row| (0..8).map(move |column| 9 * row + column));
            let shape =
                Shape::TriMesh { vertices: (0..81).map(at).collect(), triangles: cells.flat_map(cell).collect() };
            model.add(BodyDesc::fixed(shape), Pose::IDENTITY, Velocity::ZERO);
        }
        _ => {
            let heights = (0..81).map(|i| ((i * 7) % 5) as f32 * 0.1).collect();
            let shape = Shape::HeightField { rows: 9, columns: 9, heights, scale: Vec3::new(8.0, 1.0, 8.0) };
            model.add(BodyDesc::fixed(shape), Pose::IDENTITY, Velocity::ZERO);
        }
    }
    model
}

/// One body that falls.
fn dropped(seed: u64, shape: &Shape, restitution: f32) -> Group {
    let mut rng = Rng::new(seed);
    let desc = BodyDesc { restitution, friction: 0.5, can_sleep: false, ..BodyDesc::dynamic(shape.clone()) };
    let place = Vec3::new(rng.between(-1.0, 1.0), 2.0, rng.between(-1.0, 1.0));
    let velocity = Velocity::linear(Vec3::new(rng.between(-2.0, 2.0), -2.0, rng.between(-2.0, 2.0)));
    single(1, &Arc::new(desc), Motion::new(Pose { position: place, rotation: turn(&mut rng) }, velocity))
}

/// While a body hardly moves on the ground, the engine goes on with lever arms that it once found, and a move finds new ones.
/// Where a body leaves the ground and comes back, the engine begins its search in the direction it last knew, and after a
/// move it may have forgotten that. Both are below a tenth of a millimetre, but for cylinders on their edge: where those
/// touch is ill defined, and they go elsewhere for no more than another rounding.
#[test]
fn a_body_that_lands_goes_on_as_it_would_have() {
    for kind in ["flat", "mesh", "field"] {
        let model = floor(kind);
        for (name, shape) in forms() {
            let mut apart = Apart::default();
            for (i, restitution) in [0.0, 0.5, 1.0].into_iter().enumerate() {
                move_in_contact(&model, dropped(3 + i as u64, &shape, restitution), 90, &mut apart);
            }
            println!("{name} on {kind}: {apart:?}");
            assert!(apart.runs >= 25, "{name} hardly met the {kind}");
            let (place, speed) = if name == "cylinder" { (2e-2, 0.3) } else { (1e-4, 0.05) };
            assert!(apart.place < place && apart.speed < speed, "{name} on {kind}: {apart:?}");
            assert!(2 * apart.inexact <= apart.runs, "most moves change nothing: {name} on {kind}: {apart:?}");
        }
    }
}

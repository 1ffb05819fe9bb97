//! Times what a busy server does: 4,000 bodies, 50 in and 50 out a tick. Run with `--release`.
#![allow(clippy::disallowed_methods)]

use nimbus_model::{BodyDesc, Motion, Nid, Origin, Pose, Rng, Shape, Vec3, Velocity, World};
use nimbus_physics::{Group, Member, PhysicsWorld};
use std::sync::Arc;
use std::time::{Duration, Instant};

const BODIES: u64 = 4_000;
const TICKS: u64 = 200;

fn main() {
    let began = Instant::now();
    let mut model = World::new("churn");
    model.add_ground(200.0, 200.0);
    let mut world = PhysicsWorld::new(&model, 0);
    println!("new world            {:>9.3} ms", ms(began.elapsed()));

    let mut rng = Rng::new(1);
    let descs = [Shape::cuboid(0.4, 0.4, 0.4), Shape::ball(0.4), Shape::Capsule { half_height: 0.3, radius: 0.3 }];
    let descs = descs.map(|shape| Arc::new(BodyDesc { can_sleep: false, ..BodyDesc::dynamic(shape) }));
    let mut member = |serial: u64| {
        let place = rng.point(Vec3::new(-40.0, 0.5, -40.0), Vec3::new(40.0, 3.0, 40.0));
        let motion = Motion::new(Pose::at(place), Velocity::ZERO);
        Member { nid: Nid::new(Origin(1), serial), desc: descs[serial as usize % 3].clone(), motion }
    };
    let members = (0..BODIES).map(&mut member).collect();
    world.insert(Group::of(members)).expect("the bodies are sound");
    for _ in 0..120 {
        world.step();
    }

    let quiet = time(TICKS, || {
        world.step();
    });
    println!("step, no churn       {quiet:>9.3} ms");
    for (batch, name) in [(50, "50"), (200, "200")] {
        let (mut insert, mut remove, mut step) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for tick in 0..TICKS {
            let nids: Vec<Nid> = world.nids().collect();
            let gone: Vec<Nid> = (0..batch).map(|i| nids[((tick * batch + i) * 37 % BODIES) as usize]).collect();
            let start = Instant::now();
            let group = world.remove(&gone);
            remove += start.elapsed();
            let start = Instant::now();
            world.insert(group).expect("what came out goes in");
            insert += start.elapsed();
            let start = Instant::now();
            world.step();
            step += start.elapsed();
        }
        let mean = |total: Duration| ms(total) / TICKS as f64;
        println!(
            "{name:>3} in and out: step {:>9.3} ms, remove {:.3}, insert {:.3}",
            mean(step),
            mean(remove),
            mean(insert)
        );
    }

    let (mut sum, mut hash) = (Vec3::ZERO, 0);
    let views = time(TICKS, || world.for_each_awake(|view| sum += view.aabb().max));
    println!(
        "for_each_awake       {:>9.1} ns a body ({} awake)",
        views * 1e6 / world.awake_len() as f64,
        world.awake_len()
    );
    println!("state_hash           {:>9.3} ms", time(TICKS, || hash ^= world.state_hash()));
    let (mut bytes, mut restored) = (Vec::new(), 0);
    println!("snapshot             {:>9.3} ms", time(10, || bytes = world.snapshot()));
    println!("  bytes              {:>9}", bytes.len());
    println!(
        "restore              {:>9.3} ms",
        time(10, || restored += PhysicsWorld::restore(&bytes).map_or(0, |world| world.len()))
    );
    let mut scratch = PhysicsWorld::scratch(&model, 0);
    for count in [1, 10, 100] {
        let nids: Vec<Nid> = world.nids().take(count).collect();
        let group = world.remove(&nids);
        for ticks in [0, 1, 8] {
            let catch_up = time(100, || {
                restored += scratch.catch_up(group.clone(), ticks, |_, _| {}).map_or(0, |group| group.members.len());
            });
            println!("catch up {count:>3} by {ticks}    {catch_up:>9.3} ms");
        }
        world.insert(group).expect("what came out goes in");
    }
    println!("({sum} {hash:x} {restored})");
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn time(times: u64, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..times).for_each(|_| work());
    ms(start.elapsed()) / times as f64
}

//! One world, many starts: the same bodies a little elsewhere, a little slower, and facing the other way, by a seed; and
//! servers and links as slow as the world tolerates for a third of the seeds, and somewhat faster for the others.
//!
//! The whole world is moved and turned as one rigid piece relative to its regions, so whatever fits together goes on
//! fitting, and boundaries cut it elsewhere. Turned half round, low ranks have what high ranks had.

use nimbus_model::{Aabb, Pose, Quat, Rng, Vec3, World};

/// How far the world is moved along x and along z at most, metres.
const OFFSET_M: f32 = 0.5;
/// The least factor on velocities.
const SLOWEST: f32 = 0.85;

/// How a world starts for a seed, and under which conditions it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// The world.
    pub world: World,
    /// One-way latency of every link, milliseconds.
    pub latency_ms: f64,
    /// Time between two wake-ups of a server, milliseconds.
    pub frame_ms: f64,
}

/// The variation of a world for a seed.
///
/// Everything is moved by up to half a metre along x and z, turned half round about the vertical through the origin for
/// half the seeds, and slowed down by up to 15 %: velocities, spins, pushes and what injections add. Axes that are locked
/// stay what they are, because a half turn keeps them. Bodies that an injection adds are others. Latency and frame time are
/// exactly what the world tolerates for a third of the seeds, and drawn within that for the others.
pub fn vary(world: &World, seed: u64) -> Variation {
    let mut rng = Rng::stream(seed, 0x5ea3);
    let offset = Vec3::new(rng.between(-OFFSET_M, OFFSET_M), 0.0, rng.between(-OFFSET_M, OFFSET_M));
    let turned = rng.chance(0.5);
    let speed = rng.between(SLOWEST, 1.0);
    let turn = if turned { Quat::from_xyzw(0.0, 1.0, 0.0, 0.0) } else { Quat::IDENTITY };
    let way = |v: Vec3| if turned { Vec3::new(-v.x, v.y, -v.z) } else { v };
    let mut varied = world.clone();
    varied.seed = world.seed.wrapping_add(seed);
    for body in &mut varied.bodies {
        body.pose = Pose { position: way(body.pose.position), rotation: turn * body.pose.rotation };
        body.velocity.linear = way(body.velocity.linear) * speed;
        body.velocity.angular = way(body.velocity.angular) * speed;
    }
    for injection in &mut varied.injections {
        let box_of = |a: Vec3, b: Vec3| Aabb::new(a.min(b), a.max(b));
        injection.volume = box_of(way(injection.volume.min), way(injection.volume.max));
        let velocity = box_of(way(injection.velocity_min) * speed, way(injection.velocity_max) * speed);
        (injection.velocity_min, injection.velocity_max) = (velocity.min, velocity.max);
    }
    for push in &mut varied.script {
        push.linear = way(push.linear) * speed;
        push.angular = way(push.angular) * speed;
    }
    let kill_box = varied.kill_box;
    let [low, high] = [way(kill_box.min), way(kill_box.max)];
    varied.kill_box = Aabb::new(low.min(high), low.max(high));
    shift(&mut varied, offset);
    let (mut latency_ms, mut frame_ms) = (world.tolerances.latency_ms, world.tolerances.frame_ms);
    if !seed.is_multiple_of(3) {
        latency_ms *= rng.between(0.1, 1.0);
        // Servers that wake more often than there are ticks gain nothing.
        frame_ms = rng.between(frame_ms.min(1e3 * world.tick_s()), frame_ms);
    }
    Variation { world: varied, latency_ms: f64::from(latency_ms), frame_ms: f64::from(frame_ms) }
}

/// Moves everything in a world as one rigid piece; regions stay where they are.
pub(crate) fn shift(world: &mut World, by: Vec3) {
    world.bodies.iter_mut().for_each(|body| body.pose.position += by);
    let boxes = world.injections.iter_mut().map(|injection| &mut injection.volume);
    for bounds in boxes.chain([&mut world.kill_box]) {
        *bounds = Aabb::new(bounds.min + by, bounds.max + by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyDesc, Shape, Velocity};

    #[test]
    fn a_variation_moves_everything_as_one_piece() {
        let mut world = World::new("pair");
        let velocity = Velocity { linear: Vec3::new(4.0, 1.0, 0.0), angular: Vec3::Y };
        world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::at(Vec3::new(1.0, 2.0, 3.0)), velocity);
        world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::at(Vec3::new(-2.0, 5.0, 1.0)), Velocity::ZERO);
        let (mut there, mut turned) = (0, 0);
        for seed in 0..64 {
            let Variation { world: varied, latency_ms, frame_ms } = vary(&world, seed);
            assert_eq!(varied, vary(&world, seed).world);
            let at_tolerance = (latency_ms, frame_ms) == (4.0, 28.0);
            assert_eq!(at_tolerance, seed % 3 == 0);
            assert!(latency_ms <= 4.0 && (16.6..=28.0).contains(&frame_ms), "{latency_ms} {frame_ms}");
            let [a, b] = [0, 1].map(|i| varied.bodies[i].pose);
            let gap = world.bodies[0].pose.position.distance(world.bodies[1].pose.position);
            assert!((a.position.distance(b.position) - gap).abs() < 1e-4);
            let speed = varied.bodies[0].velocity.linear.length() / world.bodies[0].velocity.linear.length();
            assert!((0.84..1.001).contains(&speed), "{speed}");
            let forward = varied.bodies[0].velocity.linear.x > 0.0;
            assert_eq!(forward, a.rotation == Quat::IDENTITY);
            there += u32::from(forward);
            turned += u32::from(!forward);
        }
        assert!(there > 16 && turned > 16, "{there} as they were, {turned} turned");
    }
}

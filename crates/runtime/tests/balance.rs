//! Boundaries of an embedded cluster follow what servers measure.

#![allow(clippy::disallowed_methods, reason = "real servers take real time")]

use nimbus_model::{BodyDesc, Layout, Pose, Rng, Shape, Vec3, Velocity, World};
use nimbus_runtime::{Clock, EmbeddedCluster, EmbeddedConfig};
use std::time::Duration;

/// Long enough for a loaded machine; nothing waits that long when all is well.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many that half of what they cost is several times what passes for noise.
const BODIES: usize = 2_400;

/// A swarm that lies wholly in the second of two regions.
fn swarm() -> World {
    let mut world = World::new("swarm");
    world.gravity = Vec3::ZERO;
    world.radius_max = 0.5;
    world.layout = Layout::columns(2, 200.0);
    let mut rng = Rng::stream(3, 3);
    for i in 0..BODIES {
        let place = Vec3::new(20.0 + 3.0 * (i % 20) as f32, 3.0 * (i / 100) as f32, 3.0 * (i / 20 % 5) as f32);
        let mut any = || rng.between(-0.5, 0.5);
        let velocity = Velocity { linear: Vec3::new(any(), any(), any()), angular: Vec3::ZERO };
        world.add(BodyDesc::dynamic(Shape::ball(0.4)), Pose::at(place), velocity);
    }
    world
}

#[test]
fn a_boundary_moves_to_where_the_bodies_are() {
    let config = EmbeddedConfig { balance: true, servers: 2, ..EmbeddedConfig::new(swarm()) };
    let cluster = EmbeddedCluster::start(config).expect("there is room for two servers");
    let clock = Clock::start();
    let share = || cluster.handle().board().readings()[0].bodies;
    assert!(share() < BODIES / 4, "the first server begins without bodies");
    while share() < BODIES / 4 {
        assert!(clock.now() < PATIENCE, "the first server still has {} bodies", share());
        std::thread::sleep(Duration::from_millis(50));
    }
    let end = cluster.stop().expect("nothing is recorded");
    assert_eq!(end.died, []);
    // What is on its way may have arrived and count twice, even all that has moved; what servers own never does.
    let owned: usize = end.nodes.iter().map(|node| node.bodies).sum();
    let on_its_way: usize = end.nodes.iter().map(|node| node.in_flight).sum();
    assert!(owned <= BODIES && owned + on_its_way >= BODIES, "{owned} bodies, {on_its_way} on their way");
}

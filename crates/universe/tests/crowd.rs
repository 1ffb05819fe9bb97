//! What lies close together and does not touch is no cluster, and is shared out.

use nimbus_model::{BodyDesc, Layout, Pose, Quat, Shape, Vec3, Velocity, World};
use nimbus_node::{Node, Policy};
use nimbus_universe::{LinkModel, Universe, UniverseConfig};

/// Rods on each side of the seam.
const RODS: i32 = 10;

/// A row of rods across the seam between two servers. They lie aslant, so their boxes overlap although a quarter of a
/// metre is between them, and they drift along the seam together.
fn rods() -> World {
    let mut world = World::new("rods");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(2, 200.0);
    let rotation =
        Quat::from_rotation_y(std::f32::consts::FRAC_PI_4) * Quat::from_rotation_x(std::f32::consts::FRAC_PI_2);
    let rod = Shape::Capsule { half_height: 0.7, radius: 0.3 };
    for i in -RODS..RODS {
        let position = Vec3::X * (1.2 * (i as f32 + 0.5));
        let drift = Velocity { linear: Vec3::Z * 0.5, angular: Vec3::ZERO };
        world.add(BodyDesc::dynamic(rod.clone()), Pose { position, rotation }, drift);
    }
    world
}

#[test]
fn rods_side_by_side_are_shared_out() {
    let mut config = UniverseConfig::new("rods", 2, 3, 240);
    config.policy = Policy::Aura;
    config.link = Some(LinkModel { latency_ns: 1_000_000, ..LinkModel::default() });
    config.clients = 0;
    let mut universe = Universe::of_world(config, rods()).unwrap();
    while universe.tick().0 < 240 {
        universe.advance();
    }
    let hosted: Vec<usize> = universe.nodes().iter().map(Node::hosted_count).collect();
    // One or two lie across the seam, and those belong to the lower rank.
    assert!(hosted[1] >= RODS as usize - 2, "{hosted:?}");
    let outcome = universe.outcome();
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert_eq!(outcome.breaches, []);
}

//! Nine hundred small cubes and one large one that is rolled through them.

use std::sync::Arc;

use nimbus_model::{Aabb, BodyDesc, Pose, Rng, ScriptedPush, Shape, Tick, Vec3, Velocity, World};

use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// The state-synchronisation workload.
pub(crate) const SCENE: Scene = Scene {
    name: "cubes-901",
    about: "One large cube is rolled by a recorded player through a field of 900 small cubes.",
    build,
};

/// Index of the player's cube in the bodies of the world, so that measurements can follow it.
pub const PLAYER: u32 = 1;

/// What the recorded player did: one push a line, `tick,linear x,y,z,angular x,y,z`.
const SCRIPT: &str = include_str!("../../data/cubes-901.csv");

/// Half the edge of the player's cube, metres.
const PLAYER_HALF: f32 = 0.8;
/// Half the edge of a small cube, metres.
const CUBE_HALF: f32 = 0.2;
/// Cubes along each side of the field at full size.
const ROWS: u32 = 30;
/// Distance between cubes, metres.
const PITCH: f32 = 0.55;
/// Of ground and cubes: slippery, so that a cube once struck slides for seconds and many move at a time.
const FRICTION: f32 = 0.08;
/// Half the edge of the walled ground, metres.
const ARENA: f32 = 11.0;

fn build(params: &SceneParams) -> World {
    let mut world = World::new(SCENE.name);
    world.radius_max = 1.5;
    // Nothing here is thrown harder, and nine servers with backups have regions of 7.5 m.
    world.tolerances.speed = 20.0;
    world.kill_box = Aabb::new(Vec3::new(-100.0, -20.0, -100.0), Vec3::new(100.0, 60.0, 100.0));
    // Not narrower than two auras, however many servers share the field.
    let region = (2.0 * ARENA / f32::from(params.servers).sqrt().ceil()).max(7.5);
    world.layout = Regions::corners(params.servers, region).layout;
    world.add(
        BodyDesc { friction: FRICTION, ..BodyDesc::fixed(Shape::cuboid(ARENA + 2.0, 1.0, ARENA + 2.0)) },
        Pose::at(Vec3::NEG_Y),
        Velocity::ZERO,
    );
    let player = BodyDesc {
        density: 400.0,
        friction: 0.3,
        linear_damping: 1.0,
        angular_damping: 1.0,
        can_sleep: false,
        ..BodyDesc::dynamic(Shape::cuboid(PLAYER_HALF, PLAYER_HALF, PLAYER_HALF))
    };
    let player = world.add(player, Pose::at(Vec3::new(-ARENA + 2.0, PLAYER_HALF, -ARENA + 2.0)), Velocity::ZERO);
    debug_assert_eq!(player, PLAYER);
    add_fence(&mut world);
    add_field(&mut world, params);
    world.script = script();
    world
}

/// Walls that keep everything on the ground.
fn add_fence(world: &mut World) {
    for side in [-1.0, 1.0] {
        for along_z in [false, true] {
            let half = if along_z { Vec3::new(1.0, 3.0, ARENA + 2.0) } else { Vec3::new(ARENA + 2.0, 3.0, 1.0) };
            let out = if along_z { Vec3::X } else { Vec3::Z } * (side * (ARENA + 1.0));
            let wall =
                BodyDesc { friction: 0.1, restitution: 0.5, ..BodyDesc::fixed(Shape::cuboid(half.x, half.y, half.z)) };
            world.add(wall, Pose::at(out + Vec3::Y * 3.0), Velocity::ZERO);
        }
    }
}

/// A square field at rest; its places are shaken by a few centimetres so that seeds differ.
fn add_field(world: &mut World, params: &SceneParams) {
    let cube = BodyDesc {
        density: 400.0,
        friction: FRICTION,
        restitution: 0.3,
        ..BodyDesc::dynamic(Shape::cuboid(CUBE_HALF, CUBE_HALF, CUBE_HALF))
    };
    let cube = Arc::new(cube);
    let rows = ((ROWS as f32 * params.scale.min(1.0).sqrt()).round() as u32).max(6);
    let mut rng = Rng::stream(params.seed, 0x901);
    let first = (rows - 1) as f32 * PITCH / -2.0;
    for row in 0..rows {
        for column in 0..rows {
            let shake = Vec3::new(rng.between(-0.03, 0.03), 0.0, rng.between(-0.03, 0.03));
            let place = Vec3::new(first + column as f32 * PITCH, CUBE_HALF, first + row as f32 * PITCH);
            world.add_shared(&cube, Pose::at(place + shake), Velocity::ZERO);
        }
    }
}

fn script() -> Vec<ScriptedPush> {
    SCRIPT.lines().filter(|line| !line.starts_with('#')).filter_map(push).collect()
}

fn push(line: &str) -> Option<ScriptedPush> {
    let (tick, numbers) = line.split_once(',')?;
    let numbers: Vec<f32> = numbers.split(',').map(|n| n.trim().parse()).collect::<Result<_, _>>().ok()?;
    let [lx, ly, lz, ax, ay, az] = numbers[..] else { return None };
    Some(ScriptedPush {
        tick: Tick(tick.trim().parse().ok()?),
        body: PLAYER,
        linear: Vec3::new(lx, ly, lz),
        angular: Vec3::new(ax, ay, az),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_size_is_901_cubes_and_every_line_of_the_script_is_read() {
        let world = build(&SceneParams::on(4));
        assert_eq!(world.owned_bodies().count(), 901);
        assert_eq!(world.owned_bodies().next().unwrap().0, PLAYER);
        let lines = SCRIPT.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert_eq!(world.script.len(), lines);
        assert!(world.script.windows(2).all(|pair| pair[0].tick < pair[1].tick), "in order of tick");
        assert!(world.script.last().unwrap().tick >= Tick(30 * 60));
    }
}

//! Domino-verse: lines of dominoes that link regions together as they fall.

use std::sync::Arc;

use nimbus_model::{Aabb, BodyDesc, Pose, Quat, ScriptedPush, Shape, Tick, Vec3, Velocity, World};

use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// One push must run through every region.
pub(crate) const SCENE: Scene = Scene {
    name: "dominoes",
    about: "A straight line, a zig-zag, a fork and spirals of dominoes fall from region to region after one push each.",
    build,
};

/// Width of a region at full size, metres.
const WIDTH: f32 = 16.0;
/// Thickness along the line, height, width across it, metres.
const DOMINO: Vec3 = Vec3::new(0.16, 1.0, 0.5);
/// Distance from domino to domino, metres: less than half the height, so that a falling one strikes high.
const PITCH: f32 = 0.42;
/// Radius of every bend, metres.
const BEND: f32 = 2.0;
/// When the first domino of each line is pushed.
const PUSH: Tick = Tick(30);

fn build(params: &SceneParams) -> World {
    let width = (WIDTH * params.scale).max(6.0);
    let regions = Regions::columns(params.servers, width);
    let mut world = World::new(SCENE.name);
    world.radius_max = 1.0;
    world.kill_box = Aabb::new(Vec3::new(-3_900.0, -20.0, -200.0), Vec3::new(3_900.0, 40.0, 200.0));
    world.add_ground((regions.half.x + 20.0).max(width), 40.0);
    world.layout = regions.layout;
    let end = regions.half.x - 1.0;
    let domino = Arc::new(domino(DOMINO.z));

    straight(&mut world, &domino, end);
    zig_zag(&mut world, &domino, end);
    fork(&mut world, &domino, end);
    for seam in Regions::seams(params.servers, width) {
        spiral(&mut world, &domino, Vec3::new(seam, 0.0, 20.0), params.count(40, 16).min(60));
    }
    world.script.sort_by_key(|push| (push.tick, push.body));
    world
}

fn domino(across: f32) -> BodyDesc {
    let half = DOMINO / 2.0;
    BodyDesc { density: 700.0, friction: 0.4, ..BodyDesc::dynamic(Shape::cuboid(half.x, half.y, across / 2.0)) }
}

/// Walks over the ground and stands a domino at every step, facing the way.
struct Walk<'w> {
    world: &'w mut World,
    domino: Arc<BodyDesc>,
    at: Vec3,
    /// Turn of the way about the vertical; zero leads along x.
    heading: Quat,
    /// Way walked since the last domino.
    since: f32,
}

impl<'w> Walk<'w> {
    fn new(world: &'w mut World, domino: &Arc<BodyDesc>, at: Vec3) -> Walk<'w> {
        Walk { world, domino: Arc::clone(domino), at, heading: Quat::IDENTITY, since: PITCH }
    }

    /// Stands a domino here and has the script push its top forwards.
    fn push_first(&mut self) {
        let body = self.stand(&Arc::clone(&self.domino));
        let forwards = self.heading * Vec3::X;
        let push = ScriptedPush { tick: PUSH, body, linear: forwards * 0.9, angular: Vec3::Y.cross(forwards) * 1.8 };
        self.world.script.push(push);
    }

    fn stand(&mut self, desc: &Arc<BodyDesc>) -> u32 {
        self.since = 0.0;
        let pose = Pose::at(self.at + Vec3::Y * (DOMINO.y / 2.0)).turned(self.heading);
        self.world.add_shared(desc, pose, Velocity::ZERO)
    }

    fn ahead(&mut self, length: f32) {
        self.go(length, 0.0);
    }

    /// Follows a bend through this many radians to the left, seen from above: from x towards -z.
    fn bend(&mut self, angle: f32) {
        self.go(BEND * angle.abs(), angle);
    }

    fn go(&mut self, length: f32, angle: f32) {
        let steps = (length / 0.02).round().max(1.0);
        let turn = Quat::from_rotation_y(angle / steps);
        for _ in 0..steps as u32 {
            self.at += self.heading * Vec3::X * (length / steps);
            self.heading = (self.heading * turn).normalize();
            self.since += length / steps;
            if self.since >= PITCH - 1e-4 {
                self.stand(&Arc::clone(&self.domino));
            }
        }
    }
}

/// Across all regions.
fn straight(world: &mut World, domino: &Arc<BodyDesc>, end: f32) {
    let mut walk = Walk::new(world, domino, Vec3::new(-end, 0.0, 0.0));
    walk.push_first();
    walk.ahead(2.0 * end);
}

/// Across all regions, back, and across again.
fn zig_zag(world: &mut World, domino: &Arc<BodyDesc>, end: f32) {
    let half_turn = std::f32::consts::PI;
    let mut walk = Walk::new(world, domino, Vec3::new(-end, 0.0, 12.0));
    walk.push_first();
    walk.ahead(2.0 * end - BEND);
    walk.bend(half_turn);
    walk.ahead(2.0 * end - 2.0 * BEND);
    walk.bend(-half_turn);
    walk.ahead(2.0 * end - BEND);
}

/// A trunk whose wide last domino pushes over the first ones of two branches.
fn fork(world: &mut World, domino: &Arc<BodyDesc>, end: f32) {
    let z = -8.0;
    let trunk = end - 1.0;
    let mut walk = Walk::new(world, domino, Vec3::new(-end, 0.0, z));
    walk.push_first();
    walk.ahead(trunk);
    let left = PITCH - walk.since;
    walk.at += Vec3::X * left;
    let splitter = Arc::new(self::domino(1.1));
    walk.stand(&splitter);
    let from = walk.at.x;
    for side in [-1.0, 1.0] {
        let mut branch = Walk::new(world, domino, Vec3::new(from + PITCH, 0.0, z + side * 0.36));
        branch.stand(domino);
        branch.ahead(0.5);
        branch.bend(-side * 0.5);
        branch.ahead(2.0);
        branch.bend(side * 0.5);
        branch.ahead((end - 5.0).max(1.0));
    }
}

/// Round and round through a seam, outwards.
fn spiral(world: &mut World, domino: &Arc<BodyDesc>, middle: Vec3, dominoes: u32) {
    let mut walk = Walk::new(world, domino, Vec3::ZERO);
    let mut turned = 0.0f32;
    for i in 0..dominoes {
        // The radius grows by 1.1 m a turn, more than a domino is wide.
        let radius = 2.0 + 1.1 * turned / std::f32::consts::TAU;
        walk.heading = Quat::from_rotation_y(turned);
        walk.at = middle + walk.heading * Vec3::Z * radius;
        if i == 0 {
            walk.push_first();
        } else {
            walk.stand(domino);
        }
        turned += PITCH / radius;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cross_every_region_and_each_is_pushed_once() {
        let world = build(&SceneParams::on(4));
        assert_eq!(world.script.len(), 3 + 3, "straight, zig-zag, fork and a spiral per seam");
        for x in [-24.0, -8.0, 8.0, 24.0] {
            let here = |b: &&nimbus_model::BodySpawn| (b.pose.position.x - x).abs() < 8.0;
            let dominoes = world.bodies.iter().filter(here).count();
            assert!(dominoes > 100, "around x = {x}: {dominoes}");
        }
    }

    #[test]
    fn neighbours_in_a_line_can_reach_each_other() {
        let mut world = World::new("test");
        let domino = Arc::new(domino(0.5));
        zig_zag(&mut world, &domino, 10.0);
        for pair in world.bodies.windows(2) {
            let gap = pair[0].pose.position.distance(pair[1].pose.position);
            assert!((PITCH - 0.05..PITCH + 0.05).contains(&gap), "{gap}");
        }
    }
}

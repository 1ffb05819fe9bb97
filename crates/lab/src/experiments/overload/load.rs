//! The world of an overload: pairs that meet at the boundary, and deep inside each region a floor full of boxes that never
//! sleep. When the floor is taken away, they fall out of the world.

use nimbus_model::{Aabb, BodyDesc, Choice, Injection, Pose, Shape, Tick, Vec3};
use nimbus_wire::client::StaticSpawn;

use crate::experiment::LabError;
use crate::experiments::seam::scene::Pairs;

/// Pairs that meet at the boundary. With those inside a region, as many as a client can name to hear of their contacts.
const PAIRS: u32 = 56;
/// Share of real time at which pairs are to meet all along the overload; what comes after it is not judged.
const SHARE: f32 = 0.15;
/// Where the boxes are, metres: so far from the boundary, and so far below the pairs.
const APART: f32 = 350.0;
const BELOW: f32 = -100.0;
/// Ground for each box, square metres: so much that boxes lie apart and their cost grows with their number alone.
const BOX_AREA: f32 = 3.0;
/// Most boxes a region. Their floor still ends far from the boundary.
pub(super) const BODIES_MAX: u32 = 80_000;
/// From the outermost box to the edge of its floor.
const EDGE: f32 = 6.0;
/// Boxes begin to fall at this tick, when floors have been laid, and all within so many seconds of the world.
const BEGINS: Tick = Tick(180);
const WITHIN_S: f32 = 1.0;
/// Half the edge of a box.
const BOX_HALF: f32 = 0.3;
const SEED: u64 = 19;

/// See the description of this file.
pub(super) struct Load {
    pub(super) pairs: Pairs,
    /// When each pair meets on one server.
    pub(super) expected: Vec<u64>,
    bodies: u32,
    /// Where boxes are: on which sides of the boundary.
    sides: &'static [f32],
}

impl Load {
    /// So many boxes in each region on these sides of the boundary, and pairs that meet during an overload of so many seconds.
    pub(super) fn new(bodies: u32, sides: &'static [f32], seconds: f32) -> Result<Load, LabError> {
        let mut pairs = Pairs::new(PAIRS, seconds * 60.0 * SHARE, SEED);
        // Boxes are far from the pairs, so these meet as if they were alone.
        let expected = pairs.alone()?;
        let world = &mut pairs.world;
        world.name = "overload".to_owned();
        world.gravity = Vec3::new(0.0, -9.81, 0.0);
        world.kill_box.min.y = BELOW - 2.0;
        let boxed = BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::cuboid(BOX_HALF, BOX_HALF, BOX_HALF)) };
        for side in sides {
            let middle = Vec3::new(side * APART, BELOW + 1.0, 0.0);
            let half = Load::boxes_half(bodies);
            let room = Vec3::new(half, 0.5, half);
            world.injections.push(Injection {
                volume: Aabb::around(middle, room),
                per_second: bodies as f32 / WITHIN_S,
                start: BEGINS,
                count: bodies,
                velocity_min: Vec3::ZERO,
                velocity_max: Vec3::ZERO,
                turned: false,
                choices: vec![Choice { weight: 1, body: boxed.clone() }],
            });
        }
        Ok(Load { pairs, expected, bodies, sides })
    }

    /// Half the length of the ground on which so many boxes lie.
    fn boxes_half(bodies: u32) -> f32 {
        (bodies as f32 * BOX_AREA).sqrt() / 2.0
    }

    /// The floors, to be laid while the world runs, so that they can be taken away.
    pub(super) fn floors(&self) -> Vec<StaticSpawn> {
        let half = Load::boxes_half(self.bodies) + EDGE;
        let floor = |side: &f32| {
            let middle = Vec3::new(side * APART, BELOW - 0.5, 0.0);
            StaticSpawn::new(Shape::cuboid(half, 0.5, half), Pose::at(middle))
        };
        self.sides.iter().map(floor).collect()
    }

    /// Boxes and balls in all.
    pub(super) fn bodies(&self) -> usize {
        self.sides.len() * self.bodies as usize + self.pairs.world.bodies.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_boxes_lies_far_from_the_boundary_and_equally_close() {
        for bodies in [1_000, BODIES_MAX] {
            let half = Load::boxes_half(bodies);
            assert!(APART - half - EDGE > 90.0, "{bodies}: {half}");
            assert!((4.0 * half * half / bodies as f32 - BOX_AREA).abs() < 1e-3);
        }
    }
}

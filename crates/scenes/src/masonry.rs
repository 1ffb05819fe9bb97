//! Walls and towers that stand by themselves.
//!
//! Courses lie exactly on each other: a gap would make the whole stack drop at the start, and an overlap would push it
//! apart. Bricks side by side keep a small gap so that they do not rub.

use std::sync::Arc;

use nimbus_model::{BodyDesc, Pose, Quat, Shape, Vec3, Velocity, World};

/// Gap between bricks side by side, metres.
pub(crate) const GAP: f32 = 0.005;

/// A quarter turn about the vertical.
pub(crate) const QUARTER_TURN: Quat =
    Quat::from_xyzw(0.0, std::f32::consts::FRAC_1_SQRT_2, 0.0, std::f32::consts::FRAC_1_SQRT_2);

/// Stone that does not bounce and does not slide.
pub(crate) fn stone(shape: Shape) -> BodyDesc {
    BodyDesc { density: 600.0, friction: 0.8, ..BodyDesc::dynamic(shape) }
}

/// A wall in running bond: every second course starts with half a brick.
pub(crate) struct Wall {
    /// Middle of the wall's foot.
    pub(crate) foot: Vec3,
    /// False: the wall runs along x. True: along z.
    pub(crate) along_z: bool,
    /// Whole bricks in a course.
    pub(crate) bricks: u32,
    /// Courses on top of each other.
    pub(crate) courses: u32,
    /// Length, height and thickness of a brick, metres.
    pub(crate) brick: Vec3,
}

impl Wall {
    /// Puts the wall into the world.
    pub(crate) fn build(&self, world: &mut World) {
        let gap = Vec3::new(GAP, 0.0, 0.0);
        let whole = self.brick - gap;
        let half = Vec3::new(self.brick.x / 2.0, self.brick.y, self.brick.z) - gap;
        let [whole, half] = [whole, half].map(|size| {
            let half = size / 2.0;
            Arc::new(stone(Shape::cuboid(half.x, half.y, half.z)))
        });
        let turn = if self.along_z { QUARTER_TURN } else { Quat::IDENTITY };
        let direction = if self.along_z { Vec3::Z } else { Vec3::X };
        let mut lay = |desc: &Arc<BodyDesc>, along: f32, course: u32| {
            let height = (course as f32 + 0.5) * self.brick.y;
            let middle = self.foot + direction * along + Vec3::Y * height;
            world.add_shared(desc, Pose::at(middle).turned(turn), Velocity::ZERO);
        };
        let end = self.bricks as f32 * self.brick.x / 2.0;
        for course in 0..self.courses {
            if course % 2 == 0 {
                for i in 0..self.bricks {
                    lay(&whole, -end + (i as f32 + 0.5) * self.brick.x, course);
                }
            } else {
                lay(&half, -end + self.brick.x / 4.0, course);
                for i in 1..self.bricks {
                    lay(&whole, -end + i as f32 * self.brick.x, course);
                }
                lay(&half, end - self.brick.x / 4.0, course);
            }
        }
    }
}

/// A square tower of planks, three to a course, each course across the one below.
pub(crate) fn plank_tower(world: &mut World, foot: Vec3, courses: u32) {
    let plank = Vec3::new(1.8, 0.5, 0.6);
    let half = (plank - Vec3::new(0.0, 0.0, GAP)) / 2.0;
    let desc = Arc::new(stone(Shape::cuboid(half.x, half.y, half.z)));
    for course in 0..courses {
        let across = course % 2 == 1;
        for i in 0..3 {
            let offset = (i as f32 - 1.0) * plank.z;
            let side = if across { Vec3::X } else { Vec3::Z };
            let middle = foot + side * offset + Vec3::Y * ((course as f32 + 0.5) * plank.y);
            let turn = if across { QUARTER_TURN } else { Quat::IDENTITY };
            world.add_shared(&desc, Pose::at(middle).turned(turn), Velocity::ZERO);
        }
    }
}

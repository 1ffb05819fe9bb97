//! The scalability workload: bodies rain near the seams and in the middle of every region.

use nimbus_model::{Aabb, BodyDesc, Choice, Injection, Layout, Pose, Shape, Tick, Tolerances, Vec3, Velocity, World};

use crate::regions::Regions;
use crate::{Scene, SceneParams};

/// Workload E1 on columns.
pub(crate) const SCENE: Scene = Scene {
    name: "rain",
    about: "The scalability workload: 160 bodies a second for a minute, half of them along the seams.",
    build: |params| rain_with(params.servers, params.servers, params.seed, params.scale),
};

/// Workload E1 where regions meet in corners.
pub(crate) const CORNER_SCENE: Scene = Scene {
    name: "rain-corner",
    about: "The scalability workload on a grid: the same rain where three or four servers meet in a corner.",
    build: |params| {
        let deep = (1..=params.servers).rfind(|d| d * d <= params.servers && params.servers.is_multiple_of(*d));
        match (params.servers, deep.unwrap_or(1)) {
            (3, _) => rain_on_corner(params.seed, params.scale),
            (_, 1) => rain_with(params.servers, params.servers, params.seed, params.scale),
            (_, deep) => rain_on_grid([params.servers / deep, deep], params.seed, params.scale),
        }
    },
};

/// Rain that does not end, into a basin that nothing leaves.
pub(crate) const SHOWER: Scene = Scene {
    name: "shower",
    about: "2,000 bodies within twenty seconds, then two a second for hours, between walls: every body stays.",
    build: |params| shower(&params.clamped()),
};

/// Height of the middle of the walls of the basin, and half of it.
const WALL: f32 = 20.0;

fn shower(params: &SceneParams) -> World {
    let columns = params.servers.max(2);
    let width = REGION_WIDTH.min(WORLD_LENGTH_MAX / f32::from(columns));
    let seams: Vec<Seam> =
        Regions::seams(columns, width).into_iter().map(|x| Seam { middle: Vec3::X * x, across: Vec3::X }).collect();
    let regions = Regions::columns(columns, width);
    let mut world = World { injections: Vec::new(), ..world(&seams, &regions.middles, params) };
    let (half_x, half_z) = (width * f32::from(columns) / 2.0, REGION_WIDTH / 2.0);
    for side in [-1.0, 1.0] {
        let across = BodyDesc::fixed(Shape::cuboid(1.0, WALL, half_z + 2.0));
        world.add(across, Pose::at(Vec3::new(side * (half_x + 1.0), WALL, 0.0)), Velocity::ZERO);
        let along = BodyDesc::fixed(Shape::cuboid(half_x + 2.0, WALL, 1.0));
        world.add(along, Pose::at(Vec3::new(0.0, WALL, side * (half_z + 1.0))), Velocity::ZERO);
    }
    let mut volumes = near_seams(&seams);
    volumes.extend(inside(&regions.middles));
    let at_first = ((2_000.0 * params.scale) as u32).max(volumes.len() as u32);
    share_out(&mut world, &volumes, 100.0 * params.scale, at_first);
    share_out(&mut world, &volumes, 2.0, 20_000);
    world.layout = if params.servers == columns { regions.layout } else { Layout::columns(1, width * 2.0) };
    finish(world, SHOWER.name, SHOWER.about)
}

/// Width of a region, metres. The experiment's source does not give it.
const REGION_WIDTH: f32 = 200.0;
/// Regions get narrower when they would not fit into this length.
const WORLD_LENGTH_MAX: f32 = 5_600.0;
/// Distance from a seam to the middle of a volume near it.
const SEAM_DISTANCE: f32 = 12.0;
/// Height of the middle of every volume.
const HEIGHT: f32 = 15.0;
/// Ground beyond the outermost regions, so that rolling balls stay on it for the minute that is measured.
const MARGIN: f32 = 1_100.0;
const BODIES_PER_SECOND: f32 = 160.0;
const SECONDS: f32 = 60.0;
const TICK_HZ: u32 = 60;

/// The rain of a world with `volumes_for` columns, cut into `servers` regions.
///
/// With different numbers the injection is that of the first and the layout that of the second, so a control on one
/// server gets exactly the rain of the run it is compared with. One column has no seam; its rain is that of two.
/// Parameters outside their range are brought into it.
pub fn rain_with(volumes_for: u16, servers: u16, seed: u64, scale: f32) -> World {
    rain_on_columns(volumes_for, servers, REGION_WIDTH, seed, scale)
}

/// The same with columns of another width, metres. Less than 80 m and the volumes near seams meet those in the middle.
pub fn rain_on_columns(volumes_for: u16, servers: u16, width: f32, seed: u64, scale: f32) -> World {
    let params = SceneParams { servers, seed, scale }.clamped();
    let columns = volumes_for.clamp(2, crate::SERVERS_MAX);
    let width = width.clamp(1.0, WORLD_LENGTH_MAX / f32::from(columns));
    let seams = Regions::seams(columns, width).into_iter().map(|x| Seam { middle: Vec3::X * x, across: Vec3::X });
    let regions = Regions::columns(columns, width);
    let mut world = world(&seams.collect::<Vec<_>>(), &regions.middles, &params);
    world.layout = Layout::columns(params.servers, width * f32::from(columns) / f32::from(params.servers));
    if params.servers == columns {
        world.layout = regions.layout;
    }
    finish(world, SCENE.name, SCENE.about)
}

/// The rain of a grid of `count` regions along x and z, each 200 m square unless that is more than fits: volumes
/// lie on both sides of every face between two regions, their long axis along it.
pub fn rain_on_grid(count: [u16; 2], seed: u64, scale: f32) -> World {
    let params = SceneParams { servers: 1, seed, scale }.clamped();
    let [wide, deep] = count.map(|n| n.clamp(1, crate::SERVERS_MAX));
    let edge = REGION_WIDTH.min(WORLD_LENGTH_MAX / f32::from(wide.max(deep)));
    let low = Vec3::new(f32::from(wide), 0.0, f32::from(deep)) * edge / -2.0;
    let at = |x: f32, z: f32| low + Vec3::new(x, 0.0, z) * edge;
    let mut seams = Vec::new();
    let mut middles = Vec::new();
    for z in 0..deep {
        for x in 0..wide {
            let (x, z) = (f32::from(x), f32::from(z));
            middles.push(at(x + 0.5, z + 0.5));
            if x + 1.0 < f32::from(wide) {
                seams.push(Seam { middle: at(x + 1.0, z + 0.5), across: Vec3::X });
            }
            if z + 1.0 < f32::from(deep) {
                seams.push(Seam { middle: at(x + 0.5, z + 1.0), across: Vec3::Z });
            }
        }
    }
    let mut world = world(&seams, &middles, &params);
    world.layout = Layout::Grid { count: [wide, 1, deep], size: [edge; 3] };
    finish(world, CORNER_SCENE.name, CORNER_SCENE.about)
}

/// The rain of three regions that meet in one corner. Every region has two seams and one middle, so each gets a third.
pub fn rain_on_corner(seed: u64, scale: f32) -> World {
    let params = SceneParams { servers: 3, seed, scale }.clamped();
    let half = REGION_WIDTH / 2.0;
    let at = |x: f32, z: f32| Vec3::new(x * half, 0.0, z * half);
    let seams = [
        Seam { middle: at(0.0, -1.0), across: Vec3::X },
        Seam { middle: at(0.0, 1.0), across: Vec3::X },
        Seam { middle: at(1.0, 0.0), across: Vec3::Z },
    ];
    let mut world = world(&seams, &[at(-1.0, 0.0), at(1.0, -1.0), at(1.0, 1.0)], &params);
    world.layout = Layout::Corner3;
    finish(world, CORNER_SCENE.name, CORNER_SCENE.about)
}

/// The middle of a face between two regions, and the direction that leads across it.
struct Seam {
    middle: Vec3,
    across: Vec3,
}

fn world(seams: &[Seam], middles: &[Vec3], params: &SceneParams) -> World {
    let mut world = World::new(SCENE.name);
    world.seed = params.seed;
    world.tick_hz = TICK_HZ;
    world.tolerances = Tolerances { speed: 32.0, latency_ms: 2.0, frame_ms: 15.0 };
    world.radius_max = 1.1;
    let reach = middles.iter().fold(Vec3::ZERO, |reach, middle| reach.max(middle.abs()));
    world.add_ground(reach.x + REGION_WIDTH / 2.0 + MARGIN, reach.z + REGION_WIDTH / 2.0 + MARGIN);
    world.kill_box = Aabb::new(Vec3::new(-4_000.0, -50.0, -4_000.0), Vec3::new(4_000.0, 200.0, 4_000.0));

    let near_seams = near_seams(seams);
    let inside = inside(middles);
    let per_second = BODIES_PER_SECOND * params.scale;
    let total = (per_second * SECONDS).round() as u32;
    share_out(&mut world, &near_seams, per_second / 2.0, total / 2);
    share_out(&mut world, &inside, per_second / 2.0, total - total / 2);
    world
}

/// Volumes on both sides of every seam, long along it.
fn near_seams(seams: &[Seam]) -> Vec<Aabb> {
    let mut volumes = Vec::new();
    for seam in seams {
        let along = Vec3::new(seam.across.z, 0.0, seam.across.x);
        let half = Vec3::new(0.0, 10.0, 0.0) + seam.across * 10.0 + along * 75.0;
        for side in [-1.0, 1.0] {
            let middle = seam.middle + seam.across * (side * SEAM_DISTANCE) + Vec3::Y * HEIGHT;
            volumes.push(Aabb::around(middle, half));
        }
    }
    volumes
}

/// A volume in the middle of every region.
fn inside(middles: &[Vec3]) -> Vec<Aabb> {
    middles.iter().map(|middle| Aabb::around(*middle + Vec3::Y * HEIGHT, Vec3::splat(10.0))).collect()
}

/// Splits a rate and a count evenly over volumes. Volumes start in turn, within one period, so that their bodies do not
/// all appear in the same tick.
fn share_out(world: &mut World, volumes: &[Aabb], per_second: f32, total: u32) {
    let many = volumes.len() as u32;
    let each = per_second / many as f32;
    let period_ticks = TICK_HZ as f32 / each;
    for (i, volume) in (0..many).zip(volumes) {
        world.injections.push(Injection {
            volume: *volume,
            per_second: each,
            start: Tick((period_ticks * i as f32 / many as f32) as u64),
            count: total / many + u32::from(i < total % many),
            velocity_min: Vec3::new(-10.0, -10.0, -10.0),
            velocity_max: Vec3::new(10.0, 0.0, 10.0),
            turned: true,
            choices: drops(),
        });
    }
}

/// Ball, cuboid, capsule, equally likely. The capsule's height of 2 m counts its caps, so its straight part is 1.4 m.
fn drops() -> Vec<Choice> {
    [Shape::ball(0.3), Shape::cuboid(0.15, 0.15, 0.5), Shape::Capsule { half_height: 0.7, radius: 0.3 }]
        .map(|shape| Choice { weight: 1, body: BodyDesc::dynamic(shape) })
        .to_vec()
}

fn finish(world: World, name: &str, about: &str) -> World {
    World { name: name.to_owned(), about: about.to_owned(), ..world }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workload_is_9600_bodies_in_about_a_minute_half_of_them_near_seams() {
        for servers in [1, 2, 3, 4, 5, 8, 10] {
            let world = rain_with(servers, servers, 1, 1.0);
            let is_near = |i: &&Injection| i.volume.half().z > 50.0;
            let near: u32 = world.injections.iter().filter(is_near).map(|i| i.count).sum();
            let total: u32 = world.injections.iter().map(|i| i.count).sum();
            assert_eq!((near, total), (4_800, 9_600));
            let rate: f32 = world.injections.iter().map(|i| i.per_second).sum();
            assert!((rate - 160.0).abs() < 0.01, "{rate}");
            let last = (0..3_700).rfind(|&t| world.injections.iter().any(|i| !i.due(Tick(t), TICK_HZ).is_empty()));
            assert!(last.unwrap() < 3_600 + 20, "{last:?}");
            let made: u32 = (0..3_700)
                .flat_map(|t| world.injections.iter().map(move |i| i.due(Tick(t), TICK_HZ).len() as u32))
                .sum();
            assert_eq!(made, 9_600);
        }
    }

    #[test]
    fn a_control_has_the_same_rain_on_another_layout() {
        let run = rain_with(4, 4, 7, 0.5);
        let control = rain_with(4, 1, 7, 0.5);
        assert_eq!(control.layout, Layout::columns(1, 800.0));
        assert_eq!(run, World { layout: Layout::columns(4, 200.0), ..control });
    }

    #[test]
    fn volumes_lie_on_both_sides_of_each_seam() {
        let world = rain_with(2, 2, 1, 1.0);
        let boxes: Vec<(Vec3, Vec3)> = world.injections.iter().map(|i| (i.volume.centre(), i.volume.half())).collect();
        let long = Vec3::new(10.0, 10.0, 75.0);
        assert_eq!(boxes[0], (Vec3::new(-12.0, 15.0, 0.0), long));
        assert_eq!(boxes[1], (Vec3::new(12.0, 15.0, 0.0), long));
        assert_eq!(boxes[2], (Vec3::new(-100.0, 15.0, 0.0), Vec3::splat(10.0)));
    }

    #[test]
    fn a_corner_of_three_gives_each_region_a_third() {
        let world = rain_on_corner(1, 1.0);
        assert_eq!(world.injections.len(), 3 * 2 + 3);
        let mut shares = [0; 3];
        for injection in &world.injections {
            let (min, max) = (injection.volume.min, injection.volume.max);
            let region = |p: Vec3| if p.x < 0.0 { 0 } else { 1 + usize::from(p.z >= 0.0) };
            assert_eq!(region(min), region(max), "a volume lies in one region");
            shares[region(min)] += injection.count;
        }
        assert_eq!(shares, [3_200; 3]);
    }

    #[test]
    fn columns_of_any_width_have_volumes_within_regions() {
        for width in [100.0, 200.0] {
            let world = rain_on_columns(4, 4, width, 1, 1.0);
            let column = |x: f32| (x / width).floor() as i32;
            assert!(world.injections.iter().all(|i| column(i.volume.min.x) == column(i.volume.max.x)));
        }
    }

    #[test]
    fn a_grid_has_two_volumes_per_inner_face() {
        let world = rain_on_grid([3, 3], 1, 1.0);
        assert_eq!(world.injections.len(), 12 * 2 + 9);
        assert_eq!(world.injections.iter().map(|i| i.count).sum::<u32>(), 9_600);
    }
}

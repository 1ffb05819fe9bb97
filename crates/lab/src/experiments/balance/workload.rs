//! The world: a shower of bodies that fall past each other without gravity and vanish at the bottom. Where it falls is
//! where the load is; it stands still, wanders, and stands still again.

use nimbus_model::{Aabb, BodyDesc, Choice, Injection, Layout, Shape, Tick, Tolerances, Vec3, World};

use super::Setup;

/// Regions: four along x and two along z.
pub(super) const SERVERS: usize = 8;
/// Edges of a region of the layout that stands still, metres.
const REGION: [f32; 3] = [100.0, 100.0, 200.0];
/// The shower is this wide where it begins, metres, and a little wider where it ends.
const SHOWER_M: f32 = 80.0;
/// While it stands still it is made of so many equal parts along each axis.
const CELLS: u32 = 5;
/// Height of its fall, metres, and how fast bodies fall, m/s.
const FALL_M: f32 = 40.0;
const FALL_M_S: f32 = 5.0;
/// How fast bodies drift aside, at most, m/s.
const DRIFT_M_S: f32 = 1.5;
/// Where it starts, metres along x and z, and how fast it wanders, m/s.
const FROM: [f32; 2] = [-140.0, -40.0];
const WANDERS_M_S: [f32; 2] = [4.5, 1.5];
/// How far it goes aside and back on its way, metres, and how often, so that planes along both axes have to follow.
const ASIDE_M: f32 = 25.0;
const ASIDE_S: f32 = 30.0;

/// The middle of the shower, metres along x and z, at a second.
pub(super) fn place(setup: &Setup, second: f64) -> [f32; 2] {
    let way = (second - setup.still_s as f64).clamp(0.0, setup.wander_s as f64) as f32;
    let aside = ASIDE_M * (way / ASIDE_S * std::f32::consts::TAU).sin();
    [FROM[0] + WANDERS_M_S[0] * way, FROM[1] + WANDERS_M_S[1] * way + aside]
}

/// A shower at a place: how wide, how many bodies a second, from when and for how long.
pub(super) struct Shower {
    pub(super) middle: [f32; 2],
    pub(super) width_m: f32,
    pub(super) per_second: f32,
    pub(super) from_s: u64,
    pub(super) lasts_s: u64,
}

/// A world without gravity in which showers fall and vanish.
pub(super) fn of_showers(layout: Layout, showers: &[Shower]) -> World {
    let mut world = World::new("shower");
    world.gravity = Vec3::ZERO;
    world.radius_max = 0.5;
    world.tolerances = Tolerances { speed: 16.0, ..Tolerances::default() };
    world.layout = layout;
    world.kill_box = Aabb::new(Vec3::new(-1_000.0, 0.0, -1_000.0), Vec3::new(1_000.0, 60.0, 1_000.0));
    let hz = u64::from(world.tick_hz);
    let choice = |shape| {
        let mut body = BodyDesc::dynamic(shape);
        body.friction = 0.2;
        body.restitution = 0.6;
        Choice { weight: 1, body }
    };
    world.injections.extend(showers.iter().map(|shower| Injection {
        volume: Aabb::around(
            Vec3::new(shower.middle[0], FALL_M, shower.middle[1]),
            Vec3::new(0.5 * shower.width_m, 2.0, 0.5 * shower.width_m),
        ),
        per_second: shower.per_second,
        start: Tick(shower.from_s * hz),
        count: (shower.per_second * shower.lasts_s as f32).round() as u32,
        velocity_min: Vec3::new(-DRIFT_M_S, -1.2 * FALL_M_S, -DRIFT_M_S),
        velocity_max: Vec3::new(DRIFT_M_S, -0.8 * FALL_M_S, DRIFT_M_S),
        turned: true,
        choices: vec![choice(Shape::ball(0.4)), choice(Shape::cuboid(0.3, 0.3, 0.3))],
    }));
    world
}

/// How many bodies a second have to appear for so many to be there at a time.
pub(super) fn rate(bodies: u32) -> f32 {
    bodies as f32 * FALL_M_S / FALL_M
}

/// The world of a setup. The rate is such that about `setup.bodies` are there at a time.
pub(super) fn world(setup: &Setup) -> World {
    let rate = rate(setup.bodies);
    let (still_s, wanders_until_s) = (setup.still_s, setup.still_s + setup.wander_s);
    let mut showers = Vec::new();
    for from_s in [0, wanders_until_s] {
        // A load that stands still does not gather here and there by chance.
        let [x, z] = place(setup, from_s as f64);
        let offset = |i: u32| SHOWER_M * ((i as f32 + 0.5) / CELLS as f32 - 0.5);
        for (i, k) in (0..CELLS).flat_map(|i| (0..CELLS).map(move |k| (i, k))) {
            let middle = [x + offset(i), z + offset(k)];
            let (width_m, per_second) = (SHOWER_M / CELLS as f32, rate / (CELLS * CELLS) as f32);
            showers.push(Shower { middle, width_m, per_second, from_s, lasts_s: still_s });
        }
    }
    showers.extend((still_s..wanders_until_s).map(|second| Shower {
        middle: place(setup, second as f64),
        width_m: SHOWER_M,
        per_second: rate,
        from_s: second,
        lasts_s: 1,
    }));
    of_showers(Layout::Grid { count: [4, 1, 2], size: REGION }, &showers)
}

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

/// The world of a setup. The rate is such that about `setup.bodies` are there at a time.
pub(super) fn world(setup: &Setup) -> World {
    let mut world = World::new("shower");
    world.gravity = Vec3::ZERO;
    world.radius_max = 0.5;
    world.tolerances = Tolerances { speed: 16.0, ..Tolerances::default() };
    world.layout = Layout::Grid { count: [4, 1, 2], size: REGION };
    world.kill_box = Aabb::new(Vec3::new(-1_000.0, 0.0, -1_000.0), Vec3::new(1_000.0, 60.0, 1_000.0));
    let rate = setup.bodies as f32 * FALL_M_S / FALL_M;
    let hz = u64::from(world.tick_hz);
    let choice = |shape| {
        let mut body = BodyDesc::dynamic(shape);
        body.friction = 0.2;
        body.restitution = 0.6;
        Choice { weight: 1, body }
    };
    let shower = |middle: [f32; 2], width: f32, share: f32, from_s: u64, lasts_s: u64| Injection {
        volume: Aabb::around(Vec3::new(middle[0], FALL_M, middle[1]), Vec3::new(0.5 * width, 2.0, 0.5 * width)),
        per_second: rate * share,
        start: Tick(from_s * hz),
        count: (rate * share * lasts_s as f32).round() as u32,
        velocity_min: Vec3::new(-DRIFT_M_S, -1.2 * FALL_M_S, -DRIFT_M_S),
        velocity_max: Vec3::new(DRIFT_M_S, -0.8 * FALL_M_S, DRIFT_M_S),
        turned: true,
        choices: vec![choice(Shape::ball(0.4)), choice(Shape::cuboid(0.3, 0.3, 0.3))],
    };
    let (still_s, wanders_until_s) = (setup.still_s, setup.still_s + setup.wander_s);
    for from_s in [0, wanders_until_s] {
        // A load that stands still does not gather here and there by chance.
        let [x, z] = place(setup, from_s as f64);
        let offset = |i: u32| SHOWER_M * ((i as f32 + 0.5) / CELLS as f32 - 0.5);
        for (i, k) in (0..CELLS).flat_map(|i| (0..CELLS).map(move |k| (i, k))) {
            let middle = [x + offset(i), z + offset(k)];
            let (width, share) = (SHOWER_M / CELLS as f32, 1.0 / (CELLS * CELLS) as f32);
            world.injections.push(shower(middle, width, share, from_s, still_s));
        }
    }
    let wandering = still_s..wanders_until_s;
    world.injections.extend(wandering.map(|second| shower(place(setup, second as f64), SHOWER_M, 1.0, second, 1)));
    world
}

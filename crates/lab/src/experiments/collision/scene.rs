//! The world of a run: bodies that meet at a boundary at a planned moment.

use nimbus_model::{
    Aabb, BodyDesc, Layout, Pose, Quat, RegionBox, RegionId, Rng, ScriptedPush, Shape, Tick, Tolerances, Vec3,
    Velocity, World,
};

/// Radius of a sphere, metres: so large that one server never lets two of them pass through each other at twice 48 m/s.
pub(crate) const RADIUS: f32 = 1.6;
/// The slowest that a body ever is, m/s; chance could otherwise let it stand still.
const SPEED_MIN: f32 = 0.25;
/// Ticks from the start to the planned contact, less than one more being left to chance: time enough for servers that
/// wake rarely to have heard of each other several times.
const UNTIL_CONTACT_TICKS: u64 = 30;
/// Half extents of a cuboid, metres; it fits into a sphere.
const CUBOID: Vec3 = Vec3::new(0.7, 0.9, 1.1);
/// Distance of two cuboids' centres at about their contact, metres.
const CUBOID_CONTACT: f32 = 2.0;
/// How the bodies bounce in cases in which a bouncy one could leave faster than any came.
const DULL: f32 = 0.2;
/// Where hand-drawn regions end; beyond the kill box.
const FAR: f32 = 8_000.0;

/// What kind of collision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// Two equal spheres, head-on: the original experiment.
    HeadOn,
    /// Two cuboids, turned at random.
    Cuboids,
    /// Two spheres that pass up to one and a half radii off centre.
    Glancing,
    /// Two spheres, one of four times the mass.
    Masses,
    /// Two spheres, one of which is pushed at every tick until they meet.
    Thrust,
    /// Three spheres from three servers that meet where the three regions do, in every order of ranks.
    Corner,
}

impl Case {
    /// What reports call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Case::HeadOn => "head-on",
            Case::Cuboids => "cuboids",
            Case::Glancing => "glancing",
            Case::Masses => "mass 4:1",
            Case::Thrust => "thrust",
            Case::Corner => "corner",
        }
    }
}

/// The world of a run, and what is known of its future.
pub(crate) struct Scene {
    pub(crate) world: World,
    /// About when the bodies meet, ticks.
    pub(crate) contact: f32,
    /// The speed at which they close, m/s.
    pub(crate) closing: f32,
    /// Ticks after which they have left each other behind for sure if nothing stopped them.
    pub(crate) passed: u64,
}

/// How one body comes: where it is at the moment of contact, and how it moves until then.
struct Approach {
    at_contact: Vec3,
    direction: Vec3,
    /// Speed at the contact, m/s.
    speed: f32,
    /// What a push adds to it at every tick until then, m/s.
    push: f32,
}

/// The world of a run. `speed` is the speed of *each* body at the contact before chance takes up to 1 m/s off it.
pub(crate) fn build(case: Case, speed: f32, tolerances: Tolerances, seed: u64) -> Scene {
    let mut rng = Rng::stream(seed, 100);
    let mut world = World::new("collision");
    world.seed = seed;
    world.gravity = Vec3::ZERO;
    world.tolerances = tolerances;
    world.radius_max = RADIUS + 0.1;
    world.kill_box = Aabb::around(Vec3::ZERO, Vec3::splat(2_000.0));
    world.layout = Layout::columns(2, 200.0);
    let contact = UNTIL_CONTACT_TICKS as f32 + rng.unit();
    let mut draw_speed = || (speed - rng.unit()).max(SPEED_MIN);
    let speeds = [draw_speed(), draw_speed(), draw_speed()];

    let mut approaches = if case == Case::Corner {
        world.layout = corner(rng.below(6) as usize);
        from_three_sides(&mut rng, speeds)
    } else {
        head_on(case, &mut rng, speeds, contact * world.tick_s())
    };
    if case == Case::Thrust {
        // Speed is left for rounding: thrust never takes a body beyond the tolerance.
        let gain = rng.between(0.3, 0.9) * approaches[0].speed;
        approaches[0].speed -= 0.01;
        approaches[0].push = gain / contact.ceil();
    }
    if rng.chance(0.5) {
        approaches.reverse();
    }
    let heavy = rng.below(2) as usize;
    for (i, approach) in approaches.iter().enumerate() {
        let rotation = if case == Case::Cuboids { any_rotation(&mut rng) } else { Quat::IDENTITY };
        let mut desc = description(case);
        if case == Case::Masses && i == heavy {
            desc.density *= 4.0;
        }
        add(&mut world, desc, approach, rotation, contact);
    }
    let slowest = approaches.iter().map(|approach| approach.speed).fold(f32::INFINITY, f32::min);
    let passing_s = 4.0 * RADIUS / slowest;
    Scene {
        contact,
        closing: approaches[0].speed + approaches[1].speed,
        passed: (contact + passing_s * world.tick_hz as f32).ceil() as u64,
        world,
    }
}

fn description(case: Case) -> BodyDesc {
    let shape = match case {
        Case::Cuboids => Shape::cuboid(CUBOID.x, CUBOID.y, CUBOID.z),
        _ => Shape::ball(RADIUS),
    };
    let restitution = if matches!(case, Case::Cuboids | Case::Masses) { DULL } else { 1.0 };
    BodyDesc { friction: 0.0, restitution, can_sleep: false, ..BodyDesc::dynamic(shape) }
}

/// Along x: the first body straddles the boundary at the contact, the other one comes from the neighbour's region. The
/// first, however slow, starts with its centre in its own region, or one server would own both from the start.
fn head_on(case: Case, rng: &mut Rng, speeds: [f32; 3], until_s: f32) -> Vec<Approach> {
    let side = if rng.chance(0.5) { 1.0 } else { -1.0 };
    let (depth, apart) = if case == Case::Cuboids { (0.5, CUBOID_CONTACT) } else { (RADIUS, 2.0 * RADIUS) };
    let off = if case == Case::Glancing { 1.5 * RADIUS * rng.unit() } else { 0.0 };
    let turn = std::f32::consts::TAU * rng.unit();
    let off = Vec3::new(0.0, turn.cos(), turn.sin()) * off;
    let farthest = (0.95 * depth).min(0.9 * speeds[0] * until_s);
    let straddler = Vec3::X * side * rng.between(-0.95 * depth, farthest);
    let ahead = (apart * apart - off.length_squared()).sqrt();
    vec![
        Approach { at_contact: straddler, direction: Vec3::X * side, speed: speeds[0], push: 0.0 },
        Approach {
            at_contact: straddler + Vec3::X * (side * ahead) + off,
            direction: -Vec3::X * side,
            speed: speeds[1],
            push: 0.0,
        },
    ]
}

/// Towards the corner: one body out of each region, all of them there at about the same time.
fn from_three_sides(rng: &mut Rng, speeds: [f32; 3]) -> Vec<Approach> {
    let middle = Vec3::new(rng.between(-0.5, 0.5), 0.0, rng.between(-0.5, 0.5));
    let turn = rng.between(-0.2, 0.2);
    let third = std::f32::consts::TAU / 3.0;
    let approach = |(i, speed): (usize, f32)| {
        let angle = std::f32::consts::PI + turn + third * i as f32;
        let outwards = Vec3::new(angle.cos(), 0.0, angle.sin());
        let early = speed * rng.between(-1.0, 1.0) / 60.0;
        let at_contact = middle + outwards * (2.0 * RADIUS / 3f32.sqrt() + early);
        Approach { at_contact, direction: -outwards, speed, push: 0.0 }
    };
    speeds.into_iter().enumerate().map(approach).collect()
}

/// One half of the world and two quarters; `order` says which region has which rank.
fn corner(order: usize) -> Layout {
    const ORDERS: [[u16; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let [half, low, high] = ORDERS[order].map(RegionId);
    let part = |region, x: [f32; 2], z: [f32; 2]| RegionBox {
        region,
        bounds: Aabb::new(Vec3::new(x[0], -FAR, z[0]), Vec3::new(x[1], FAR, z[1])),
    };
    let boxes = vec![
        part(half, [-FAR, 0.0], [-FAR, FAR]),
        part(low, [0.0, FAR], [-FAR, 0.0]),
        part(high, [0.0, FAR], [0.0, FAR]),
    ];
    Layout::Boxes { boxes, default: half }
}

/// Puts a body where it must start in order to be at its place `contact` ticks later.
fn add(world: &mut World, desc: BodyDesc, approach: &Approach, rotation: Quat, contact: f32) {
    let tick_s = world.tick_s();
    let pushes = contact.ceil();
    let start_speed = approach.speed - approach.push * pushes;
    // A push comes before the step of its tick, so the k-th tick is flown with k pushes.
    let whole = contact.floor();
    let flown_whole = whole * start_speed + approach.push * whole * (whole + 1.0) / 2.0;
    let flown = (flown_whole + (contact - whole) * approach.speed) * tick_s;
    let pose = Pose::at(approach.at_contact - approach.direction * flown).turned(rotation);
    let body = world.add(desc, pose, Velocity::linear(approach.direction * start_speed));
    if approach.push > 0.0 {
        let linear = approach.direction * approach.push;
        let push = |tick| ScriptedPush { tick: Tick(tick), body, linear, angular: Vec3::ZERO };
        world.script.extend((1..=pushes as u64).map(push));
    }
}

fn any_rotation(rng: &mut Rng) -> Quat {
    loop {
        let v = [0; 4].map(|_| rng.between(-1.0, 1.0));
        let q = Quat::from_xyzw(v[0], v[1], v[2], v[3]);
        if (0.01..1.0).contains(&q.length_squared()) {
            return q.normalize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a body is after some ticks of free flight.
    fn flown(world: &World, body: usize, ticks: f32) -> Vec3 {
        let spawn = &world.bodies[body];
        spawn.pose.position + spawn.velocity.linear * ticks * world.tick_s()
    }

    #[test]
    fn two_spheres_touch_at_the_planned_moment_and_one_of_them_straddles_the_boundary() {
        for seed in 0..200 {
            for (case, speed) in
                [(Case::HeadOn, 1.0), (Case::HeadOn, 32.0), (Case::Glancing, 32.0), (Case::Masses, 32.0)]
            {
                let scene = build(case, speed, Tolerances::default(), seed);
                let places = [0, 1].map(|i| flown(&scene.world, i, scene.contact));
                assert!((places[0].distance(places[1]) - 2.0 * RADIUS).abs() < 1e-3);
                let nearest = places.map(|place| place.x.abs()).into_iter().fold(f32::INFINITY, f32::min);
                assert!(nearest < RADIUS, "{nearest}");
                let starts = [0, 1].map(|i| flown(&scene.world, i, 0.0).x);
                assert!(starts[0] * starts[1] < 0.0, "they come from two regions");
                assert!(scene.world.bodies.iter().all(|body| body.velocity.linear.length() <= speed));
            }
        }
    }

    #[test]
    fn thrust_ends_within_the_tolerance() {
        let scene = build(Case::Thrust, 32.0, Tolerances::default(), 3);
        let body = scene.world.script[0].body as usize;
        let gain: f32 = scene.world.script.iter().map(|push| push.linear.length()).sum();
        let start = scene.world.bodies[body].velocity.linear.length();
        assert!(start + gain <= 32.0 && gain > 5.0, "{start} + {gain}");
        assert_eq!(scene.world.script.len(), 31);
    }

    #[test]
    fn a_corner_has_three_regions_in_any_order_and_a_body_from_each() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..60 {
            let scene = build(Case::Corner, 32.0, Tolerances::default(), seed);
            let map = nimbus_space::PartitionMap::from_layout(&scene.world.layout).unwrap();
            let home = |i: usize| map.region_at(flown(&scene.world, i, 0.0)).0;
            let mut homes = [home(0), home(1), home(2)];
            let half = map.region_at(-Vec3::X).0;
            let low = map.region_at(Vec3::new(1.0, 0.0, -1.0)).0;
            seen.insert((half, low));
            homes.sort_unstable();
            assert_eq!(homes, [0, 1, 2]);
        }
        assert_eq!(seen.len(), 6);
    }
}

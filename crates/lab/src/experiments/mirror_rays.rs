//! How many rays a mirror of many bodies answers.

use cpu_time::ThreadTime;
use nimbus_model::{BodyDesc, Nid, Origin, Pose, Quat, Rng, Shape, Vec3, World};
use nimbus_physics::{Filter, QueryMirror};

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "mirror-rays",
    about: "Rays a second that one core answers in a gateway's mirror of 10,000 bodies, and what following them costs.",
    run,
};

/// Fewest rays a second of CPU.
const BAR: f64 = 1e6;
const BODIES: u32 = 10_000;
/// Of the walls, in which rays start, metres.
const REACH_M: f32 = 200.0;

/// How the bodies lie.
struct Setting {
    name: &'static str,
    /// Half the width of the square above which they are, metres.
    half_m: f32,
    /// Greatest height, metres.
    height_m: f32,
    /// Whether the bar is for it.
    barred: bool,
}

const SETTINGS: [Setting; 2] = [
    Setting { name: "spread over the ground", half_m: 120.0, height_m: 4.0, barred: true },
    Setting { name: "in a dense heap", half_m: 20.0, height_m: 12.0, barred: false },
];

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let rays = if options.quick { 200_000 } else { 2_000_000 };
    let mut rows = Vec::new();
    let mut slowest = f64::INFINITY;
    for (i, setting) in SETTINGS.iter().enumerate() {
        let measured = measure(setting, rays).map_err(LabError::Failed)?;
        if setting.barred {
            slowest = slowest.min(measured.rays_per_s);
        }
        rows.push(
            Row::new()
                .with("setting", setting.name)
                .with("bodies", BODIES)
                .with("rays_per_s", measured.rays_per_s.round())
                .with("still_rays_per_s", measured.still_rays_per_s.round())
                .with("hit_share", measured.hit_share)
                .with("tried_per_ray", measured.tried_per_ray)
                .with("build_ms", measured.build_ms)
                .with("follow_ms", measured.follow_ms),
        );
        progress((i + 1) as f32 / SETTINGS.len() as f32);
    }
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("rays", rays).with("bar_rays_per_s", BAR),
        rows,
        plots: Vec::new(),
        summary: Summary {
            passed: slowest >= BAR,
            sentence: format!("A core answers {slowest:.0} rays a second among {BODIES} bodies (bar {BAR:.0})."),
        },
    })
}

struct Measured {
    /// While every body moves, following left out.
    rays_per_s: f64,
    /// Before anything moved.
    still_rays_per_s: f64,
    hit_share: f64,
    tried_per_ray: f64,
    build_ms: f64,
    /// A tick in which every body moved.
    follow_ms: f64,
}

fn measure(setting: &Setting, rays: u64) -> Result<Measured, String> {
    let mut world = World::new("mirror");
    world.add_ground(REACH_M, REACH_M);
    let mut rng = Rng::new(5);
    let descs = shapes().map(BodyDesc::dynamic);
    let mut poses: Vec<Pose> = (0..BODIES).map(|_| pose(&mut rng, setting)).collect();

    let start = ThreadTime::now();
    let mut mirror = QueryMirror::new(&world, 1);
    for (key, pose) in (0..BODIES).zip(&poses) {
        mirror.insert(key, Nid::new(Origin(1), u64::from(key)), &descs[key as usize % descs.len()], *pose)?;
    }
    mirror.settle();
    let build_ms = start.elapsed().as_secs_f64() * 1e3;

    let (still_s, ..) = cast(&mut mirror, setting, rays / 4, &mut rng);
    // A second of the world, in which everything falls and drifts.
    let ticks = 60;
    let (mut follow_s, mut rays_s, mut hits, tried) = (0.0, 0.0, 0, mirror.tried());
    for _ in 0..ticks {
        for pose in &mut poses {
            pose.position += Vec3::new(rng.between(-0.1, 0.1), rng.between(-0.05, 0.05), rng.between(-0.1, 0.1));
        }
        let start = ThreadTime::now();
        for (key, pose) in (0..BODIES).zip(&poses) {
            mirror.place(key, *pose);
        }
        mirror.settle();
        follow_s += start.elapsed().as_secs_f64();
        let (seconds, met) = cast(&mut mirror, setting, rays / ticks, &mut rng);
        rays_s += seconds;
        hits += met;
    }
    let cast = (rays / ticks * ticks) as f64;
    Ok(Measured {
        rays_per_s: cast / rays_s,
        still_rays_per_s: (rays / 4) as f64 / still_s,
        hit_share: hits as f64 / cast,
        tried_per_ray: (mirror.tried() - tried) as f64 / cast,
        build_ms,
        follow_ms: follow_s / ticks as f64 * 1e3,
    })
}

/// Rays from above the ground into all directions, as a player or a robot has them. The time they took, and how many
/// met something.
fn cast(mirror: &mut QueryMirror, setting: &Setting, rays: u64, rng: &mut Rng) -> (f64, u64) {
    let half = setting.half_m;
    let rays: Vec<(Vec3, Vec3)> = (0..rays)
        .map(|_| {
            let origin = rng.point(Vec3::new(-half, 0.5, -half), Vec3::new(half, setting.height_m + 2.0, half));
            (origin, rng.point(Vec3::new(-1.0, -0.5, -1.0), Vec3::new(1.0, 0.2, 1.0)))
        })
        .collect();
    let start = ThreadTime::now();
    let mut met = 0;
    for (origin, direction) in rays {
        met += u64::from(mirror.ray_cast(origin, direction, REACH_M, Filter::SOLIDS).is_some());
    }
    (start.elapsed().as_secs_f64(), met)
}

fn pose(rng: &mut Rng, setting: &Setting) -> Pose {
    let half = setting.half_m;
    let place = rng.point(Vec3::new(-half, 0.3, -half), Vec3::new(half, setting.height_m, half));
    Pose::at(place).turned(Quat::from_scaled_axis(rng.point(Vec3::splat(-2.0), Vec3::splat(2.0))))
}

/// What a world is made of: round things, boxes, a few hulls and assemblies.
fn shapes() -> [Shape; 8] {
    let hull = [[0.4, 0.0, 0.0], [-0.4, 0.0, 0.1], [0.0, 0.5, 0.0], [0.0, 0.0, 0.4], [0.1, -0.4, -0.4]];
    let parts = vec![(Pose::at(Vec3::NEG_X * 0.3), Shape::ball(0.3)), (Pose::at(Vec3::X * 0.3), Shape::ball(0.2))];
    [
        Shape::cuboid(0.3, 0.3, 0.5),
        Shape::ball(0.3),
        Shape::Capsule { half_height: 0.4, radius: 0.3 },
        Shape::cuboid(0.5, 0.2, 0.2),
        Shape::ball(0.4),
        Shape::Cylinder { half_height: 0.3, radius: 0.3 },
        Shape::ConvexHull { points: hull.map(Vec3::from_array).to_vec() },
        Shape::Compound { parts },
    ]
}

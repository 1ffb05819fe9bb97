//! Any world that a file may describe survives writing and reading, to the bit.

use nimbus_model::{
    Aabb, BodyDesc, BodyKind, Budget, Choice, Groups, Injection, JointDesc, JointKind, Layout, LockedAxes, Motor, Pose,
    Quat, RegionBox, RegionId, ScriptedPush, Shape, Tick, Tolerances, Vec3, Velocity, World, world_file,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn vector(reach: f32) -> impl Strategy<Value = Vec3> {
    [-reach..reach, -reach..reach, -reach..reach].prop_map(Vec3::from_array)
}

fn rotation() -> impl Strategy<Value = Quat> {
    prop_oneof![
        Just(Quat::IDENTITY),
        [-1.0_f32..1.0, -1.0_f32..1.0, -1.0_f32..1.0, 0.1_f32..1.0].prop_map(|q| Quat::from_array(q).normalize()),
    ]
}

fn pose(reach: f32) -> impl Strategy<Value = Pose> {
    (vector(reach), rotation()).prop_map(|(position, rotation)| Pose { position, rotation })
}

fn solid() -> impl Strategy<Value = Shape> {
    let size = || 1e-3_f32..1.0;
    prop_oneof![
        size().prop_map(Shape::ball),
        [size(), size(), size()].prop_map(|half| Shape::Cuboid { half: Vec3::from_array(half) }),
        (size(), size()).prop_map(|(half_height, radius)| Shape::Capsule { half_height, radius }),
        (size(), size()).prop_map(|(half_height, radius)| Shape::Cylinder { half_height, radius }),
        (size(), size()).prop_map(|(half_height, radius)| Shape::Cone { half_height, radius }),
        vec(vector(1.0), 5..9)
            .prop_map(|points| Shape::ConvexHull { points })
            .prop_filter("a hull with an inside", |hull| hull.problem().is_none()),
    ]
}

fn body_shape() -> impl Strategy<Value = Shape> {
    let parts = vec((pose(1.0), solid()), 1..4).prop_map(|parts| Shape::Compound { parts });
    prop_oneof![4 => solid(), 1 => parts]
}

fn surface() -> impl Strategy<Value = Shape> {
    let mesh = (vec(vector(50.0), 5), vec(Just([0, 1, 2]).prop_shuffle(), 1..5))
        .prop_map(|(vertices, triangles)| Shape::TriMesh { vertices, triangles });
    let field =
        (2_u32..5, 2_u32..5, [1.0_f32..99.0, 0.1_f32..2.0, 1.0_f32..99.0]).prop_flat_map(|(rows, columns, scale)| {
            vec(-9.0_f32..9.0, (rows * columns) as usize).prop_map(move |heights| Shape::HeightField {
                rows,
                columns,
                heights,
                scale: Vec3::from_array(scale),
            })
        });
    prop_oneof![mesh, field]
}

fn desc(kind: BodyKind, shape: impl Strategy<Value = Shape>) -> impl Strategy<Value = BodyDesc> {
    let material = (1e-3_f32..1e6, 0.0_f32..10.0, 0.0_f32..=1.0, 0.0_f32..1e3, 0.0_f32..1e3, -100.0_f32..100.0);
    let rest = (any::<[bool; 9]>(), any::<[u32; 2]>(), any::<u64>());
    (shape, option::of(material), option::of(rest)).prop_map(move |(shape, material, rest)| {
        let mut desc = BodyDesc::new(kind, shape);
        if let Some((density, friction, restitution, linear, angular, gravity_scale)) = material {
            desc = BodyDesc { density, friction, restitution, gravity_scale, ..desc };
            (desc.linear_damping, desc.angular_damping) = (linear, angular);
        }
        if let Some(([a, b, c, d, e, f, sensor, ccd, can_sleep], [memberships, filter], user_data)) = rest {
            desc.groups = Groups { memberships, filter };
            desc.locked = LockedAxes { translation: [a, b, c], rotation: [d, e, f] };
            desc = BodyDesc { sensor, ccd, can_sleep, user_data, ..desc };
        }
        desc
    })
}

fn layout() -> impl Strategy<Value = Layout> {
    let side = || -1e3_f32..0.0;
    let region_box = (0_u16..1024, [side(), side(), side()], any::<[bool; 6]>()).prop_map(|(region, min, open)| {
        let pick = |open: bool, infinite: f32, finite: f32| if open { infinite } else { finite };
        let low = |i: usize| pick(open[i], f32::NEG_INFINITY, min[i]);
        let high = |i: usize| pick(open[i + 3], f32::INFINITY, min[i] + 50.0);
        let bounds = Aabb::new(Vec3::from_array([0, 1, 2].map(low)), Vec3::from_array([0, 1, 2].map(high)));
        RegionBox { region: RegionId(region), bounds }
    });
    prop_oneof![
        (1_u16..100, 20.0_f32..80.0).prop_map(|(count, width)| Layout::Columns { count, width }),
        ([1_u16..10, 1_u16..10, 1_u16..10], [20.0_f32..80.0, 20.0_f32..80.0, 20.0_f32..80.0])
            .prop_map(|(count, size)| Layout::Grid { count, size }),
        Just(Layout::Corner3),
        (vec(region_box, 0..5), 0_u16..1024)
            .prop_map(|(boxes, default)| Layout::Boxes { boxes, default: RegionId(default) }),
    ]
}

fn joint() -> impl Strategy<Value = JointDesc> {
    let axis = || vector(1.0).prop_filter_map("an axis", |v| v.try_normalize());
    let limits = || option::of((-3.0_f32..0.0, 0.0_f32..3.0).prop_map(|(low, high)| [low, high]));
    let motor = || {
        let motor = (-9.0_f32..9.0, 0.0_f32..1e6, 1e-6_f32..1e9);
        option::of(motor.prop_map(|(speed, factor, limit)| Motor { speed, factor, limit }))
    };
    let kind = prop_oneof![
        Just(JointKind::Fixed),
        Just(JointKind::Spherical),
        (1e-3_f32..1e3).prop_map(|length| JointKind::Rope { length }),
        (0.0_f32..9.0, 1e-3_f32..1e9, 0.0_f32..1e3).prop_map(|(rest, stiffness, damping)| JointKind::Spring {
            rest,
            stiffness,
            damping
        }),
        (axis(), limits(), motor()).prop_map(|(axis, limits, motor)| JointKind::Revolute { axis, limits, motor }),
        (axis(), limits(), motor()).prop_map(|(axis, limits, motor)| JointKind::Prismatic { axis, limits, motor }),
    ];
    (kind, pose(5.0), pose(5.0), any::<bool>()).prop_map(|(kind, anchor_a, anchor_b, contacts)| JointDesc {
        kind,
        anchor_a,
        anchor_b,
        contacts,
    })
}

fn injection() -> impl Strategy<Value = Injection> {
    let choice = (1_u32.., desc(BodyKind::Dynamic, body_shape())).prop_map(|(weight, body)| Choice { weight, body });
    let times = (1e-3_f32..1e5, 0_u64..1_000_000_000_000, prop_oneof![1_u32..1_000, Just(Injection::ENDLESS)]);
    (vector(90.0), vector(90.0), times, vector(9.0), vector(9.0), any::<bool>(), vec(choice, 1..4)).prop_map(
        |(p, q, (per_second, start, count), v, w, turned, choices)| Injection {
            volume: Aabb::new(p.min(q), p.max(q)),
            per_second,
            start: Tick(start),
            count,
            velocity_min: v.min(w),
            velocity_max: v.max(w),
            turned,
            choices,
        },
    )
}

/// Name, sentence, seed, gravity, tick rate, tolerances, size of the kill box and budget.
type Head = (String, String, u64, Vec3, u32, [f32; 3], f32, (u32, Option<u32>));

fn head() -> impl Strategy<Value = Head> {
    let tolerances = [1.0_f32..1e3, 0.0_f32..1e3, 1e-3_f32..1e3];
    let budget = (10_000_u32..10_000_000, option::of(1_u32..10_000_000));
    ("\\PC{1,64}", any::<String>(), any::<u64>(), vector(1e3), 1_u32..=1000, tolerances, 100.0_f32..4e3, budget)
}

fn world() -> impl Strategy<Value = World> {
    let moving = (desc(BodyKind::Dynamic, body_shape()), pose(99.0), vector(9.0), vector(99.0));
    let driven = (desc(BodyKind::Kinematic, body_shape()), pose(99.0), vector(9.0), vector(99.0));
    let fixed = (desc(BodyKind::Static, prop_oneof![body_shape(), surface()]), pose(99.0));
    let bodies = (vec(moving, 2..5), vec(driven, 0..2), vec(fixed, 0..3));
    let events = (
        vec((0_u32..2, 2_u32..4, joint()), 0..4),
        vec(injection(), 0..3),
        vec((0_u64..1_000, 0_u32..2, vector(9.0), vector(9.0)), 0..4),
    );
    (head(), layout(), bodies, events).prop_map(
        |(head, layout, (moving, driven, fixed), (joints, injections, script))| {
            let (name, about, seed, gravity, tick_hz, [speed, latency_ms, frame_ms], reach, budget) = head;
            let mut world = World::new(&name);
            world = World { about, seed, gravity, tick_hz, layout, injections, ..world };
            world.tolerances = Tolerances { speed, latency_ms, frame_ms };
            let (bodies, bodies_per_region) = budget;
            world.budget = Budget { bodies, bodies_per_region };
            world.kill_box = Aabb::around(Vec3::ZERO, Vec3::splat(reach));
            for (desc, pose, linear, angular) in moving.into_iter().chain(driven) {
                world.add(desc, pose, Velocity { linear, angular });
            }
            for (desc, pose) in fixed {
                world.add(desc, pose, Velocity::ZERO);
            }
            let count = world.bodies.len() as u32;
            for (a, b, desc) in joints {
                if b < count {
                    world.join(a, b, desc);
                }
            }
            world.script = script
                .into_iter()
                .map(|(tick, body, linear, angular)| ScriptedPush { tick: Tick(tick), body, linear, angular })
                .collect();
            world.script.sort_by_key(|push| push.tick);
            world
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_world_reads_back_the_same(world in world()) {
        let text = world_file::write(&world);
        match world_file::parse(&text, "written.toml") {
            Ok(read) => prop_assert_eq!(read, world),
            Err(problems) => prop_assert!(false, "{}\n{}", problems, text),
        }
    }
}

#[test]
fn a_plain_world_is_written_in_few_words() {
    let mut world = World::new("plain");
    world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::at(Vec3::new(0.0, 2.5, 0.0)), Velocity::ZERO);
    let expected = "name = \"plain\"\n\n[layout]\nkind = \"columns\"\ncount = 1\nwidth = 200.0\n\n[[bodies]]\n\
                    shape = { ball = { radius = 0.5 } }\nposition = [0.0, 2.5, 0.0]\n";
    assert_eq!(world_file::write(&world), expected);
}

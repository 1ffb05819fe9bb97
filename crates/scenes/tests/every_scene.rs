//! What every scene promises, whatever its parameters.

use std::collections::BTreeSet;

use nimbus_model::{Aabb, BodyKind, BodySpawn, JointKind, Layout, Pose, Shape, Tick, Vec3, World};
use nimbus_scenes::{Scene, SceneParams, all};

/// Overlap of the boxes of two bodies that are not joined, metres, which is still no overlap.
const TOUCH: f32 = 1e-3;

fn each(scale: f32, mut check: impl FnMut(&Scene, &SceneParams, &World)) {
    for scene in all() {
        for servers in [1, 2, 3, 4, 5, 8] {
            for seed in [1, 2, 99] {
                let params = SceneParams { servers, seed, scale };
                check(scene, &params, &scene.build(&params));
            }
        }
    }
}

#[test]
fn every_body_and_joint_is_valid_at_full_size() {
    each(1.0, |scene, params, world| assert_sound(scene.name, params, world));
}

#[test]
fn every_body_and_joint_is_valid_at_other_sizes_and_counts() {
    for scene in all() {
        for (servers, scale) in [(1, 0.05), (2, 0.1), (3, 0.25), (7, 0.5), (2, 2.0), (4, 4.0), (16, 0.5), (64, 0.05)] {
            let params = SceneParams { servers, seed: 5, scale };
            assert_sound(scene.name, &params, &scene.build(&params));
        }
    }
}

#[test]
fn there_are_exactly_as_many_regions_as_servers() {
    for scene in all() {
        for servers in 1..=64 {
            let params = SceneParams { servers, seed: 1, scale: 0.05 };
            assert_eq!(region_count(&scene.build(&params).layout), servers, "{}", scene.name);
        }
    }
}

#[test]
fn the_same_parameters_give_an_equal_world() {
    each(0.25, |scene, params, world| {
        assert_eq!(world, &scene.build(params), "{}", scene.name);
        assert_eq!(world.seed, params.seed);
        assert_eq!((world.name.as_str(), world.about.as_str()), (scene.name, scene.about));
    });
}

#[test]
fn nothing_starts_inside_something_else() {
    for scale in [0.25, 1.0, 2.0] {
        each(scale, assert_nothing_overlaps);
    }
}

fn assert_nothing_overlaps(scene: &Scene, params: &SceneParams, world: &World) {
    let joined: BTreeSet<(u32, u32)> = world.joints.iter().map(|j| (j.a.min(j.b), j.a.max(j.b))).collect();
    let is_solid = |body: &BodySpawn| !body.desc.shape.is_surface();
    let mut boxes: Vec<(u32, Aabb)> =
        (0..).zip(&world.bodies).filter(|(_, b)| is_solid(b)).map(|(i, b)| (i, solid_box(b))).collect();
    boxes.sort_by(|a, b| a.1.min.x.total_cmp(&b.1.min.x));
    let moves = |i: u32| world.bodies[i as usize].desc.kind != BodyKind::Static;
    for (n, (i, a)) in boxes.iter().enumerate() {
        for (j, b) in boxes[n + 1..].iter().take_while(|(_, b)| b.min.x < a.max.x) {
            let depth = (a.max.min(b.max) - a.min.max(b.min)).min_element();
            let pair = (*i.min(j), *i.max(j));
            assert!(
                depth <= TOUCH || !(moves(*i) || moves(*j)) || joined.contains(&pair) || apart(world, pair),
                "{} {params:?}: bodies {i} and {j} overlap by {depth} m",
                scene.name
            );
        }
    }
}

/// True when the shapes of two bodies lie apart although their boxes overlap, because they are round or turned: an
/// axis of either body, or the line between them, parts them.
fn apart(world: &World, (i, j): (u32, u32)) -> bool {
    let [a, b] = [i, j].map(|i| &world.bodies[i as usize]);
    let between = b.pose.position - a.pose.position;
    let reach = |body: &BodySpawn, axis: Vec3| reach(&body.desc.shape, body.pose.rotation.inverse() * axis);
    let axes = [Vec3::X, Vec3::Y, Vec3::Z];
    let turned = axes.map(|axis| a.pose.rotation * axis).into_iter().chain(axes.map(|axis| b.pose.rotation * axis));
    turned
        .chain([between.normalize_or_zero()])
        .map(|axis| if between.dot(axis) < 0.0 { -axis } else { axis })
        .any(|axis| between.dot(axis) >= reach(a, axis) + reach(b, -axis) - TOUCH)
}

/// How far a shape reaches from its frame along a unit vector of that frame.
fn reach(shape: &Shape, axis: Vec3) -> f32 {
    let level = (1.0 - axis.y * axis.y).max(0.0).sqrt();
    match shape {
        Shape::Ball { radius } => *radius,
        Shape::Cuboid { half } => axis.abs().dot(*half),
        Shape::Capsule { half_height, radius } => axis.y.abs() * half_height + radius,
        Shape::Cylinder { half_height, radius } | Shape::Cone { half_height, radius } => {
            axis.y.abs() * half_height + level * radius
        }
        Shape::ConvexHull { points } => points.iter().map(|p| p.dot(axis)).fold(f32::MIN, f32::max),
        Shape::Compound { parts } => parts
            .iter()
            .map(|(pose, part)| pose.position.dot(axis) + reach(part, pose.rotation.inverse() * axis))
            .fold(f32::MIN, f32::max),
        Shape::TriMesh { .. } | Shape::HeightField { .. } => shape.bounding_radius(),
    }
}

fn assert_sound(name: &str, params: &SceneParams, world: &World) {
    let context = format!("{name} {params:?}");
    assert!(world.owned_bodies().count() + world.injections.len() > 0, "{context}: nothing moves");
    assert!(world.gravity.is_finite() && world.tick_hz > 0 && world.radius_max > 0.0, "{context}");
    assert!(world.kill_box.min.is_finite() && world.kill_box.max.is_finite(), "{context}");
    assert!(world.kill_box.max.abs().max(world.kill_box.min.abs()).max_element() <= 4_000.0, "{context}: beyond 4 km");
    for (i, body) in world.bodies.iter().enumerate() {
        assert_eq!(body.desc.problem(), None, "{context}: body {i}");
        assert!(body.pose.is_valid() && body.velocity.is_valid(), "{context}: body {i}");
        if body.desc.kind != BodyKind::Static {
            assert!(world.kill_box.holds(body.pose.position), "{context}: body {i} at {}", body.pose.position);
            assert!(body.desc.shape.bounding_radius() <= world.radius_max, "{context}: body {i} is too large");
            let speed = body.velocity.linear.length();
            assert!(speed <= world.tolerances.speed, "{context}: body {i} moves at {speed} m/s");
        }
    }
    for (i, joint) in world.joints.iter().enumerate() {
        assert_eq!(joint.desc.problem(), None, "{context}: joint {i}");
        assert_ne!(joint.a, joint.b, "{context}: joint {i}");
        assert_anchors(&context, i, world);
    }
    for injection in &world.injections {
        assert!(injection.per_second > 0.0 && injection.count > 0, "{context}");
        assert!(injection.choices.iter().map(|c| c.weight).sum::<u32>() > 0, "{context}");
        for choice in &injection.choices {
            assert_eq!(choice.body.problem(), None, "{context}");
            assert!(choice.body.shape.bounding_radius() <= world.radius_max, "{context}");
        }
        let volume = injection.volume;
        assert!(volume.min.cmple(volume.max).all(), "{context}: {volume:?}");
        assert!(world.kill_box.holds(volume.min) && world.kill_box.holds(volume.max), "{context}: {volume:?}");
        let fastest = injection.velocity_min.abs().max(injection.velocity_max.abs()).length();
        assert!(fastest <= world.tolerances.speed, "{context}: injected at up to {fastest} m/s");
    }
    assert!(world.script.is_sorted_by_key(|push| push.tick), "{context}: script out of order");
    for push in &world.script {
        let body = world.bodies.get(push.body as usize).unwrap_or_else(|| panic!("{context}: pushes a missing body"));
        assert_eq!(body.desc.kind, BodyKind::Dynamic, "{context}: pushes a body that cannot move");
        assert!(push.linear.is_finite() && push.angular.is_finite(), "{context}");
    }
    assert_ids_unique(&context, world);
}

fn assert_anchors(context: &str, i: usize, world: &World) {
    let joint = &world.joints[i];
    let place = |body: u32, anchor: &Pose| world.bodies[body as usize].pose.transform(anchor.position);
    let apart = place(joint.a, &joint.desc.anchor_a).distance(place(joint.b, &joint.desc.anchor_b));
    match joint.desc.kind {
        JointKind::Rope { length } => assert!(apart <= length + 0.01, "{context}: rope {i} is {apart} m long"),
        JointKind::Spring { .. } => {}
        _ => assert!(apart <= 0.01, "{context}: anchors of joint {i} are {apart} m apart"),
    }
    let moves = |body: u32| world.bodies[body as usize].desc.kind == BodyKind::Dynamic;
    assert!(moves(joint.a) || moves(joint.b), "{context}: joint {i} holds nothing that moves");
}

fn assert_ids_unique(context: &str, world: &World) {
    let bodies = (0..world.bodies.len() as u32).map(|i| World::nid(0, i));
    let early = world.injections.iter().enumerate().flat_map(|(n, injection)| {
        (0..600).flat_map(move |t| injection.due(Tick(t), world.tick_hz)).map(move |k| world.injected_nid(0, n, k))
    });
    let mut ids: Vec<_> = bodies.chain(early).collect();
    let total = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), total, "{context}: an id appears twice");
    let last = world.injections.iter().map(|i| u64::from(i.count)).max().unwrap_or(0);
    let highest = world.bodies.len() as u64 + (last + 1) * world.injections.len() as u64;
    assert!(highest < 1 << 32, "{context}: injected bodies run out of ids");
}

/// The box of a body in the world.
fn solid_box(body: &BodySpawn) -> Aabb {
    let local = body.desc.shape.bounds();
    let half = local.half();
    let [x, y, z] = [Vec3::X * half.x, Vec3::Y * half.y, Vec3::Z * half.z].map(|v| (body.pose.rotation * v).abs());
    Aabb::around(body.pose.transform(local.centre()), x + y + z)
}

fn region_count(layout: &Layout) -> u16 {
    match layout {
        Layout::Columns { count, .. } => *count,
        Layout::Grid { count, .. } => count.iter().product(),
        Layout::Corner3 => 3,
        Layout::Boxes { boxes, default } => {
            let named: BTreeSet<u16> = boxes.iter().map(|b| b.region.0).chain([default.0]).collect();
            named.len() as u16
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]

    #[test]
    fn any_parameters_give_a_sound_world(
        scene in 0..all().len(),
        servers in 0u16..80,
        seed in proptest::prelude::any::<u64>(),
        scale in 0.0f32..0.5,
    ) {
        let params = SceneParams { servers, seed, scale };
        let world = all()[scene].build(&params);
        assert_sound(all()[scene].name, &params, &world);
        assert_eq!(region_count(&world.layout), servers.clamp(1, 64));
    }
}

//! Writes a world as a world file. What has its default value is left out, so that the result stays readable.

use glam::{Quat, Vec3};
use std::collections::BTreeSet;

use super::bodies::{AXES, KIND_WORDS};
use crate::{
    Aabb, BodyDesc, BodyKind, Budget, Groups, Injection, JointKind, JointSpawn, Layout, LockedAxes, Motor, Pose,
    ScriptedPush, Shape, Tolerances, World,
};

/// The world file of a world. [`super::parse`] reads it back as the same world, provided it is one that a world file
/// may describe: its limits kept, its rotations and axes of unit length, its script in order of tick.
pub fn write(world: &World) -> String {
    let default = World::new("");
    let mut out = Writer::default();
    out.entry("name", text(&world.name));
    out.unless("about", text(&world.about), text(&default.about));
    out.unless("seed", world.seed.to_string(), default.seed.to_string());
    out.unless("gravity", vector(world.gravity), vector(default.gravity));
    out.unless("tick_hz", world.tick_hz.to_string(), default.tick_hz.to_string());
    out.unless("radius_max", number(world.radius_max), number(default.radius_max));
    write_tolerances(&mut out, &world.tolerances);
    write_budget(&mut out, &world.budget);
    if world.kill_box != default.kill_box {
        out.header("[kill_box]");
        out.entry("min", vector(world.kill_box.min));
        out.entry("max", vector(world.kill_box.max));
    }
    write_layout(&mut out, &world.layout);
    write_bodies(&mut out, world);
    world.joints.iter().for_each(|joint| write_joint(&mut out, joint));
    world.injections.iter().for_each(|injection| write_injection(&mut out, injection));
    world.script.iter().for_each(|push| write_push(&mut out, push));
    out.text
}

/// The growing text.
#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    fn header(&mut self, header: &str) {
        self.text.push('\n');
        self.text.push_str(header);
        self.text.push('\n');
    }

    fn entry(&mut self, key: &str, value: impl AsRef<str>) {
        self.text.push_str(key);
        self.text.push_str(" = ");
        self.text.push_str(value.as_ref());
        self.text.push('\n');
    }

    /// Writes an entry unless its value reads as its default does.
    fn unless(&mut self, key: &str, value: String, default: String) {
        if value != default {
            self.entry(key, value);
        }
    }
}

fn write_tolerances(out: &mut Writer, tolerances: &Tolerances) {
    let default = Tolerances::default();
    if *tolerances != default {
        out.header("[tolerances]");
        out.unless("speed", number(tolerances.speed), number(default.speed));
        out.unless("latency_ms", number(tolerances.latency_ms), number(default.latency_ms));
        out.unless("frame_ms", number(tolerances.frame_ms), number(default.frame_ms));
    }
}

fn write_budget(out: &mut Writer, budget: &Budget) {
    let default = Budget::default();
    if *budget != default {
        out.header("[budget]");
        out.unless("bodies", budget.bodies.to_string(), default.bodies.to_string());
        if let Some(bodies) = budget.bodies_per_region {
            out.entry("bodies_per_region", bodies.to_string());
        }
    }
}

fn write_layout(out: &mut Writer, layout: &Layout) {
    out.header("[layout]");
    match layout {
        Layout::Columns { count, width } => {
            out.entry("kind", text("columns"));
            out.entry("count", count.to_string());
            out.entry("width", number(*width));
        }
        Layout::Grid { count, size } => {
            out.entry("kind", text("grid"));
            out.entry("count", list(count.iter().map(u16::to_string)));
            out.entry("size", vector(Vec3::from_array(*size)));
        }
        Layout::Corner3 => out.entry("kind", text("corner-3")),
        Layout::Boxes { boxes, default } => {
            out.entry("kind", text("boxes"));
            out.entry("default", default.0.to_string());
            let one = |b: &crate::RegionBox| format!("{{ region = {}, {} }}", b.region.0, corners(&b.bounds));
            out.entry("boxes", list(boxes.iter().map(one)));
        }
    }
}

fn write_bodies(out: &mut Writer, world: &World) {
    let joined = world.joints.iter().flat_map(|joint| [joint.a, joint.b]);
    let named: BTreeSet<u32> = joined.chain(world.script.iter().map(|push| push.body)).collect();
    for (index, body) in (0_u32..).zip(&world.bodies) {
        out.header("[[bodies]]");
        if named.contains(&index) {
            out.entry("name", body_name(index));
        }
        write_desc(out, &body.desc);
        let rest = vector(Vec3::ZERO);
        out.unless("position", vector(body.pose.position), rest.clone());
        out.unless("rotation", quaternion(body.pose.rotation), quaternion(Quat::IDENTITY));
        out.unless("velocity", vector(body.velocity.linear), rest.clone());
        out.unless("spin", vector(body.velocity.angular), rest);
    }
}

fn body_name(index: u32) -> String {
    text(&format!("body {index}"))
}

fn write_desc(out: &mut Writer, desc: &BodyDesc) {
    let default = BodyDesc::new(BodyKind::Dynamic, Shape::ball(1.0));
    let kind = |kind: BodyKind| {
        text(match kind {
            BodyKind::Dynamic => KIND_WORDS[0],
            BodyKind::Kinematic => KIND_WORDS[1],
            BodyKind::Static => KIND_WORDS[2],
        })
    };
    out.unless("kind", kind(desc.kind), kind(default.kind));
    out.entry("shape", shape(&desc.shape));
    out.unless("density", number(desc.density), number(default.density));
    out.unless("friction", number(desc.friction), number(default.friction));
    out.unless("restitution", number(desc.restitution), number(default.restitution));
    out.unless("linear_damping", number(desc.linear_damping), number(default.linear_damping));
    out.unless("angular_damping", number(desc.angular_damping), number(default.angular_damping));
    out.unless("gravity_scale", number(desc.gravity_scale), number(default.gravity_scale));
    if desc.groups != Groups::default() {
        let Groups { memberships, filter } = desc.groups;
        out.entry("groups", format!("{{ memberships = {memberships:#x}, filter = {filter:#x} }}"));
    }
    if desc.locked != LockedAxes::default() {
        let locked = desc.locked.translation.into_iter().chain(desc.locked.rotation);
        out.entry("locked", list(AXES.iter().zip(locked).filter(|(_, locked)| *locked).map(|(axis, _)| text(axis))));
    }
    out.unless("sensor", desc.sensor.to_string(), default.sensor.to_string());
    out.unless("ccd", desc.ccd.to_string(), default.ccd.to_string());
    out.unless("can_sleep", desc.can_sleep.to_string(), default.can_sleep.to_string());
    out.unless("user_data", desc.user_data.to_string(), default.user_data.to_string());
}

fn shape(shape: &Shape) -> String {
    let round = |kind: &str, half_height: f32, radius: f32| {
        format!("{{ {kind} = {{ half_height = {}, radius = {} }} }}", number(half_height), number(radius))
    };
    let points = |points: &[Vec3]| list(points.iter().map(|point| vector(*point)));
    match shape {
        Shape::Ball { radius } => format!("{{ ball = {{ radius = {} }} }}", number(*radius)),
        Shape::Cuboid { half } => format!("{{ cuboid = {{ half = {} }} }}", vector(*half)),
        Shape::Capsule { half_height, radius } => round("capsule", *half_height, *radius),
        Shape::Cylinder { half_height, radius } => round("cylinder", *half_height, *radius),
        Shape::Cone { half_height, radius } => round("cone", *half_height, *radius),
        Shape::ConvexHull { points: hull } => format!("{{ convex-hull = {{ points = {} }} }}", points(hull)),
        Shape::Compound { parts } => {
            let parts =
                list(parts.iter().map(|(pose, part)| format!("{{ shape = {}, {} }}", self::shape(part), place(pose))));
            format!("{{ compound = {{ parts = {parts} }} }}")
        }
        Shape::TriMesh { vertices, triangles } => {
            let triangles = list(triangles.iter().map(|triangle| list(triangle.iter().map(u32::to_string))));
            format!("{{ tri-mesh = {{ vertices = {}, triangles = {triangles} }} }}", points(vertices))
        }
        Shape::HeightField { rows, columns, heights, scale } => {
            let heights = list(heights.iter().map(|height| number(*height)));
            let scale = vector(*scale);
            format!(
                "{{ height-field = {{ rows = {rows}, columns = {columns}, heights = {heights}, scale = {scale} }} }}"
            )
        }
    }
}

fn write_joint(out: &mut Writer, joint: &JointSpawn) {
    out.header("[[joints]]");
    out.entry("a", body_name(joint.a));
    out.entry("b", body_name(joint.b));
    match &joint.desc.kind {
        JointKind::Fixed => out.entry("kind", text("fixed")),
        JointKind::Spherical => out.entry("kind", text("spherical")),
        JointKind::Revolute { axis, limits, motor } => {
            out.entry("kind", text("revolute"));
            write_axis(out, *axis, *limits, *motor);
        }
        JointKind::Prismatic { axis, limits, motor } => {
            out.entry("kind", text("prismatic"));
            write_axis(out, *axis, *limits, *motor);
        }
        JointKind::Rope { length } => {
            out.entry("kind", text("rope"));
            out.entry("length", number(*length));
        }
        JointKind::Spring { rest, stiffness, damping } => {
            out.entry("kind", text("spring"));
            out.entry("rest", number(*rest));
            out.entry("stiffness", number(*stiffness));
            out.entry("damping", number(*damping));
        }
    }
    let anchor = |pose: &Pose| {
        if pose.rotation == Quat::IDENTITY { vector(pose.position) } else { format!("{{ {} }}", place(pose)) }
    };
    out.unless("anchor_a", anchor(&joint.desc.anchor_a), anchor(&Pose::IDENTITY));
    out.unless("anchor_b", anchor(&joint.desc.anchor_b), anchor(&Pose::IDENTITY));
    out.unless("contacts", joint.desc.contacts.to_string(), false.to_string());
}

fn write_axis(out: &mut Writer, axis: Vec3, limits: Option<[f32; 2]>, motor: Option<Motor>) {
    out.entry("axis", vector(axis));
    if let Some(limits) = limits {
        out.entry("limits", list(limits.into_iter().map(number)));
    }
    if let Some(Motor { speed, factor, limit }) = motor {
        let (speed, factor, limit) = (number(speed), number(factor), number(limit));
        out.entry("motor", format!("{{ speed = {speed}, factor = {factor}, limit = {limit} }}"));
    }
}

fn write_injection(out: &mut Writer, injection: &Injection) {
    out.header("[[injections]]");
    out.entry("volume", format!("{{ {} }}", corners(&injection.volume)));
    out.entry("per_second", number(injection.per_second));
    out.unless("start_tick", injection.start.to_string(), 0.to_string());
    out.entry("count", injection.finite_count().map_or_else(|| text("endless"), |count| count.to_string()));
    out.unless("velocity_min", vector(injection.velocity_min), vector(Vec3::ZERO));
    out.unless("velocity_max", vector(injection.velocity_max), vector(Vec3::ZERO));
    out.unless("turned", injection.turned.to_string(), false.to_string());
    for choice in &injection.choices {
        out.header("[[injections.choices]]");
        out.unless("weight", choice.weight.to_string(), 1.to_string());
        write_desc(out, &choice.body);
    }
}

fn write_push(out: &mut Writer, push: &ScriptedPush) {
    out.header("[[script]]");
    out.entry("tick", push.tick.to_string());
    out.entry("body", body_name(push.body));
    out.unless("linear", vector(push.linear), vector(Vec3::ZERO));
    out.unless("angular", vector(push.angular), vector(Vec3::ZERO));
}

fn place(pose: &Pose) -> String {
    format!("position = {}, rotation = {}", vector(pose.position), quaternion(pose.rotation))
}

fn corners(bounds: &Aabb) -> String {
    format!("min = {}, max = {}", vector(bounds.min), vector(bounds.max))
}

fn text(value: &str) -> String {
    toml::Value::from(value).to_string()
}

/// The shortest decimal that reads back as the same number.
fn number(value: f32) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:?}") }
}

fn vector(value: Vec3) -> String {
    list(value.to_array().into_iter().map(number))
}

fn quaternion(value: Quat) -> String {
    list(value.to_array().into_iter().map(number))
}

fn list(items: impl Iterator<Item = String>) -> String {
    let mut text = String::from("[");
    for (i, item) in items.enumerate() {
        text.push_str(if i == 0 { "" } else { ", " });
        text.push_str(&item);
    }
    text.push(']');
    text
}

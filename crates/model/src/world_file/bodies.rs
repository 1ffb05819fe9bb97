//! Bodies of the world file: what they are, where they start, and how one entry makes many.

use glam::Vec3;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::lines::Entry;
use super::reader::{Node, Table, shown};
use super::shapes::{read_pose, read_shape};
use super::{BODIES_MAX, COORDINATE_MAX, NAME_MAX, SPIN_MAX};
use crate::{Aabb, BodyDesc, BodyKind, BodySpawn, Groups, LockedAxes, Pose, Velocity, nearest};

/// Keys that say what a body is; also those of a choice of an injection.
pub(super) const DESC_KEYS: &[&str] = &[
    "kind",
    "shape",
    "density",
    "friction",
    "restitution",
    "linear_damping",
    "angular_damping",
    "gravity_scale",
    "groups",
    "locked",
    "sensor",
    "ccd",
    "can_sleep",
    "user_data",
];

/// Keys that say where and how often a body starts.
pub(super) const PLACE_KEYS: &[&str] = &["name", "position", "rotation", "turn", "velocity", "spin", "repeat"];

/// Keys of the repetition of a body.
pub(super) const REPEAT_KEYS: &[&str] = &["count", "spacing"];

/// Keys of the collision groups.
pub(super) const GROUPS_KEYS: &[&str] = &["memberships", "filter"];

/// Kinds of bodies as they stand in the file, in the order of [`KINDS`].
pub(super) const KIND_WORDS: &[&str] = &["dynamic", "kinematic", "static"];
const KINDS: [BodyKind; 3] = [BodyKind::Dynamic, BodyKind::Kinematic, BodyKind::Static];

/// Names of axes a body may not use: translations first, then rotations.
pub(super) const AXES: &[&str] =
    &["translation-x", "translation-y", "translation-z", "rotation-x", "rotation-y", "rotation-z"];

/// How many names are compared with an unknown one.
const COMPARED_MAX: usize = 2_000;

/// Bounds of the world that its bodies are held against.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) radius_max: f32,
    pub(super) kill_box: Aabb,
    /// Speed above which a start or a push is refused, m/s.
    pub(super) speed_max: f32,
}

impl Rules {
    /// Refuses speeds that no deployment of this world could follow.
    pub(super) fn check_speed(&self, node: &Node<'_>, velocity: Vec3) {
        let speed = velocity.length();
        if speed > self.speed_max {
            let what =
                format!("is {speed} m/s; more than 16 times the tolerated speed ({} m/s) is refused", self.speed_max);
            node.problem(what, "slow it down, or raise tolerances.speed");
        }
    }
}

/// Bodies by name, for joints and the script.
#[derive(Default)]
pub(super) struct Names {
    named: BTreeMap<String, Named>,
}

struct Named {
    first: u32,
    count: u32,
    kind: Option<BodyKind>,
    line: usize,
}

impl Names {
    /// The index and kind of the body a node names: `"wall"`, or `"wall[3]"` for the fourth of a repeated body. The
    /// kind is missing when the body itself is broken.
    pub(super) fn find(&self, node: &Node<'_>) -> Option<(u32, Option<BodyKind>)> {
        let text = node.text(usize::MAX)?;
        let (name, copy) = match text.strip_suffix(']').and_then(|t| t.rsplit_once('[')) {
            Some((name, copy)) => (name, copy.parse::<u32>().ok()),
            None => (text, Some(0)),
        };
        let Some(named) = self.named.get(name) else {
            let compared = if node.is_full() { 0 } else { COMPARED_MAX };
            let remedy = match nearest(name, self.named.keys().take(compared).map(String::as_str)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "give a body this name, or use the name of one".to_owned(),
            };
            node.problem(format_args!("is \"{}\", but no body has this name", shown(text)), remedy);
            return None;
        };
        let last = named.count.saturating_sub(1);
        let single = name.len() == text.len();
        if single && named.count > 1 {
            node.problem(
                format_args!("is \"{name}\", of which there are {}", named.count),
                format_args!("say which: \"{name}[0]\" to \"{name}[{last}]\""),
            );
            return None;
        }
        let Some(copy) = copy.filter(|copy| *copy <= last) else {
            let remedy = format!("write \"{name}[0]\" to \"{name}[{last}]\"");
            node.problem(format_args!("is \"{}\", but there is no such copy", shown(text)), remedy);
            return None;
        };
        Some((named.first + copy, named.kind))
    }
}

/// Reads all bodies; the names and entries stand for indices of the list.
pub(super) fn read_bodies(node: &Node<'_>, rules: &Rules) -> (Vec<BodySpawn>, Names, Vec<Entry>) {
    let (mut bodies, mut names, mut entries) = (Vec::new(), Names::default(), Vec::new());
    let mut total = 0_u64;
    let Some(items) = node.items("a list of bodies", "write each body under its own [[bodies]] line") else {
        return (bodies, names, entries);
    };
    let keys = [PLACE_KEYS, DESC_KEYS].concat();
    for item in items {
        let Some(table) = item.table("a table that describes a body", &keys) else { continue };
        let first = total.min(BODIES_MAX) as u32;
        let (desc, place) = (read_desc(&table, rules), read_place(&table, rules));
        let count = place.as_ref().map_or(1, |p| p.total());
        let sum = total.saturating_add(count);
        if total <= BODIES_MAX && sum > BODIES_MAX {
            let at = table.get("repeat");
            at.as_ref().unwrap_or(&item).problem(
                format_args!("brings the world to {sum} bodies; a file may describe at most {BODIES_MAX}"),
                "lower repeat.count, remove bodies, or let an injection add them over time",
            );
        }
        total = sum;
        let name = table.get("name").and_then(|node| {
            read_name(&node, &mut names, first, count.min(BODIES_MAX) as u32, desc.as_ref().map(|d| d.kind))
        });
        entries.push(Entry { first, count: count.min(BODIES_MAX) as u32, line: item.line(), name });
        if let (Some(desc), Some(place)) = (desc, place) {
            place.check(&table, &desc, rules);
            if total <= BODIES_MAX {
                place.spawn(desc, &mut bodies);
            }
        }
    }
    (bodies, names, entries)
}

fn read_name(node: &Node<'_>, names: &mut Names, first: u32, count: u32, kind: Option<BodyKind>) -> Option<String> {
    let name = node.text(NAME_MAX)?;
    if name.is_empty() || name.contains(['[', ']']) {
        node.problem(format_args!("is \"{}\"", shown(name)), "write a name that is not empty and has no [ or ]");
        return None;
    }
    if let Some(other) = names.named.get(name) {
        node.problem(
            format_args!("is \"{name}\", as is the body on line {}", other.line),
            "give each body its own name",
        );
        return None;
    }
    names.named.insert(name.to_owned(), Named { first, count, kind, line: node.line() });
    Some(name.to_owned())
}

/// Where the bodies of one entry start.
struct Place {
    pose: Pose,
    velocity: Velocity,
    count: [u32; 3],
    spacing: Vec3,
}

impl Place {
    fn total(&self) -> u64 {
        self.count.iter().map(|&count| u64::from(count)).product()
    }

    fn position(&self, copy: [u32; 3]) -> Vec3 {
        self.pose.position + self.spacing * Vec3::from_array(copy.map(|step| step as f32))
    }

    /// Holds the place against the world: the first and the last copy are the corners of all of them.
    fn check(&self, table: &Table<'_>, desc: &BodyDesc, rules: &Rules) {
        let at = table.get("position");
        let at = at.as_ref().unwrap_or(table.node());
        let last = self.position(self.count.map(|count| count - 1));
        if last.abs().max_element() > COORDINATE_MAX {
            at.problem(
                format_args!("puts the last copy at {last}; coordinates must be within {COORDINATE_MAX}"),
                "lower repeat.count or repeat.spacing",
            );
            return;
        }
        let reach = if desc.kind == BodyKind::Static { desc.shape.bounding_radius() } else { 0.0 };
        let holds = |point: Vec3| rules.kill_box.grown(reach).holds(point);
        if let Some(outside) = [self.pose.position, last].into_iter().find(|point| !holds(*point)) {
            let what = format_args!("puts a body at {outside}, outside the kill box, where it would die at once");
            at.problem(what, "move it inside, or enlarge kill_box");
        }
        if desc.kind == BodyKind::Static {
            let Velocity { linear, angular } = self.velocity;
            for (key, _) in [("velocity", linear), ("spin", angular)].iter().filter(|(_, v)| *v != Vec3::ZERO) {
                let at = table.get(key);
                let remedy = "remove it, or write kind = \"kinematic\"";
                at.as_ref().unwrap_or(table.node()).problem("belongs to a static body, which never moves", remedy);
            }
        }
    }

    fn spawn(&self, desc: BodyDesc, bodies: &mut Vec<BodySpawn>) {
        let shared = match bodies.last() {
            Some(last) if *last.desc == desc => Arc::clone(&last.desc),
            _ => Arc::new(desc),
        };
        for z in 0..self.count[2] {
            for y in 0..self.count[1] {
                for x in 0..self.count[0] {
                    let pose = Pose { position: self.position([x, y, z]), ..self.pose };
                    bodies.push(BodySpawn { desc: Arc::clone(&shared), pose, velocity: self.velocity });
                }
            }
        }
    }
}

fn read_place(table: &Table<'_>, rules: &Rules) -> Option<Place> {
    let pose = read_pose(table, COORDINATE_MAX);
    let linear =
        table.or("velocity", Vec3::ZERO, |node| node.vector().inspect(|velocity| rules.check_speed(node, *velocity)));
    let angular = table.or("spin", Vec3::ZERO, |node| node.vector_within(SPIN_MAX, "write radians a second"));
    let (count, spacing) = table.or("repeat", ([1; 3], Vec3::ZERO), read_repeat)?;
    Some(Place { pose: pose?, velocity: Velocity { linear: linear?, angular: angular? }, count, spacing })
}

fn read_repeat(node: &Node<'_>) -> Option<([u32; 3], Vec3)> {
    let table = node.table("a table with count and spacing", REPEAT_KEYS)?;
    let remedy = format!("write 1 to {BODIES_MAX} copies along this axis; let an injection add more over time");
    let count = table.need("count", "add count = [x, y, z], the number of copies per axis").and_then(|node| {
        let count = node.exactly("copies per axis, for example [10, 1, 10]", |n| n.whole(1, BODIES_MAX, &remedy));
        count.map(|count: [u64; 3]| count.map(|copies| copies as u32))
    });
    let spacing = table.need("spacing", "add spacing = [x, y, z], the distance between copies in metres")?;
    let values = spacing.vector_within(COORDINATE_MAX, "write the distance between copies in metres")?;
    let (count, spacings) = (count?, values.to_array());
    if let Some(axis) = (0..3).find(|&axis| count[axis] > 1 && spacings[axis] == 0.0) {
        let axis = ["x", "y", "z"][axis];
        spacing
            .problem(format_args!("is 0 along {axis}; all copies would be in one place"), "write a distance in metres");
        return None;
    }
    Some((count, values))
}

/// Reads what a body is; `None` when something is wrong with it.
pub(super) fn read_desc(table: &Table<'_>, rules: &Rules) -> Option<BodyDesc> {
    let before = table.node().problem_count();
    let kind = table.or("kind", BodyKind::Dynamic, |node| node.word(KIND_WORDS).map(|i| KINDS[i]));
    let shape_node = table.need("shape", "add shape = { ball = { radius = 0.5 } } or another shape");
    let shape = shape_node.as_ref().and_then(read_shape);
    let number = |key: &str, default: f32, low: f32, high: f32, remedy: &str| {
        table.or(key, default, |node| node.within(low, high, remedy)).unwrap_or(default)
    };
    let flag = |key: &str, default: bool| table.or(key, default, |n| n.flag()).unwrap_or(default);
    let density = number("density", 1000.0, 1e-3, 1e6, "write kg per cubic metre; water has 1000");
    let friction = number("friction", 0.5, 0.0, 10.0, "write a coefficient; 0 is ice, 1 is rubber");
    let restitution = number("restitution", 0.0, 0.0, 1.0, "write 0 for no bounce up to 1 for a full one");
    let linear_damping = number("linear_damping", 0.0, 0.0, 1e3, "write the loss of speed per second");
    let angular_damping = number("angular_damping", 0.0, 0.0, 1e3, "write the loss of spin per second");
    let gravity_scale = number("gravity_scale", 1.0, -100.0, 100.0, "write a factor; 1 is the world's gravity");
    let groups = table.or("groups", Groups::default(), read_groups);
    let locked = table.or("locked", LockedAxes::default(), read_locked);
    let (sensor, ccd, can_sleep) = (flag("sensor", false), flag("ccd", false), flag("can_sleep", true));
    let user_data = table.or("user_data", 0, |node| node.whole(0, u64::MAX, "write a whole number of your own"));
    let (kind, shape) = (kind?, shape?);
    let shape_node = shape_node?;
    if shape.is_surface() && kind != BodyKind::Static {
        let what = "is a surface without an inside; only a static body may have it";
        shape_node.problem(what, "write kind = \"static\", or choose a solid shape");
    }
    let radius = shape.bounding_radius();
    if kind != BodyKind::Static && radius > rules.radius_max {
        shape_node.problem(
            format_args!("reaches {radius} m from its centre; radius_max is {}", rules.radius_max),
            format_args!("make the body smaller, or raise radius_max to {}", radius.ceil()),
        );
    }
    if table.node().problem_count() > before {
        return None;
    }
    let desc = BodyDesc {
        kind,
        shape,
        density,
        friction,
        restitution,
        linear_damping,
        angular_damping,
        gravity_scale,
        groups: groups?,
        locked: locked?,
        sensor,
        ccd,
        can_sleep,
        user_data: user_data?,
    };
    if let Some(problem) = desc.problem() {
        table.node().problem(format_args!("does not work: {problem}"), "change that value");
        return None;
    }
    Some(desc)
}

fn read_groups(node: &Node<'_>) -> Option<Groups> {
    let table = node.table("a table with memberships and filter", GROUPS_KEYS)?;
    let bits = |key: &str| {
        let remedy = "write 32 bits, for example 0b0101 or 0xffff_ffff";
        table.or(key, u64::from(u32::MAX), |node| node.whole(0, u64::from(u32::MAX), remedy)).map(|bits| bits as u32)
    };
    let (memberships, filter) = (bits("memberships"), bits("filter"));
    Some(Groups { memberships: memberships?, filter: filter? })
}

fn read_locked(node: &Node<'_>) -> Option<LockedAxes> {
    let mut locked = LockedAxes::default();
    for item in node.items("a list of axes", "write for example [\"rotation-x\", \"rotation-z\"]")? {
        match item.word(AXES) {
            Some(axis) if axis < 3 => locked.translation[axis] = true,
            Some(axis) => locked.rotation[axis - 3] = true,
            None => {}
        }
    }
    Some(locked)
}

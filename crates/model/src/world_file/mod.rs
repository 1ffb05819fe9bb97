//! The world file: a world as TOML, for people to write.
//!
//! [`parse`] turns text into a [`World`] that cannot be wrong, or into all [`Problems`] at once, each with its line and
//! a remedy. [`write()`] is its inverse. The format is described in `docs/world-file.md`.

mod bodies;
mod events;
mod joints;
mod layouts;
mod lines;
mod nesting;
mod problem;
mod reader;
mod shapes;
mod write;

pub use lines::Lines;
pub use problem::{PROBLEMS_MAX, Problem, Problems};
pub use write::write;

use toml::de::{DeTable, DeValue};

use crate::{Aabb, BUDGET_BODIES_MAX, Budget, Tolerances, World};
use bodies::{Names, Rules};
use problem::Sink;
use reader::{Node, Table};

/// Largest file that is read, bytes.
pub const FILE_BYTES_MAX: usize = 16 << 20;

/// Greatest number of bodies a file may describe, repetitions included.
pub const BODIES_MAX: u64 = 200_000;

/// Greatest number of joints.
pub const JOINTS_MAX: usize = 200_000;

/// Greatest number of injections. With [`INJECTED_MAX`] it keeps the ids of injected bodies within 32 bits.
pub const INJECTIONS_MAX: usize = 64;

/// Greatest number of bodies that all injections together may add.
pub const INJECTED_MAX: u64 = 1_000_000;

/// Greatest number of scripted pushes.
pub const PUSHES_MAX: usize = 100_000;

/// Greatest distance of anything from the origin along an axis, metres; beyond it single precision gets coarse.
pub const COORDINATE_MAX: f32 = 4_000.0;

/// Highest number of a region.
pub const REGION_MAX: u16 = 1_023;

/// A start or push faster than this many times the tolerated speed is refused.
pub const OVERSPEED: f32 = 16.0;

/// Greatest spin, rad/s per axis.
pub const SPIN_MAX: f32 = 1_000.0;

/// Latest tick at which something may be planned; five centuries at 60 Hz.
pub const TICK_MAX: u64 = 1_000_000_000_000;

/// Longest name, characters.
const NAME_MAX: usize = 64;

/// Longest sentence about a world, characters.
const ABOUT_MAX: usize = 2_000;

/// Keys of the file itself.
const WORLD_KEYS: &[&str] = &[
    "name",
    "about",
    "seed",
    "gravity",
    "tick_hz",
    "radius_max",
    "tolerances",
    "budget",
    "kill_box",
    "layout",
    "bodies",
    "joints",
    "injections",
    "script",
];

/// Keys of the tolerances.
const TOLERANCES_KEYS: &[&str] = &["speed", "latency_ms", "frame_ms"];

/// Keys of the budget.
const BUDGET_KEYS: &[&str] = &["bodies", "bodies_per_region"];

/// Keys of a box.
const BOX_KEYS: &[&str] = &["min", "max"];

/// Reads a world file. `name_for_messages` is what its messages call it, normally its path.
///
/// The whole file is checked before anything is said, so that one run shows its author every mistake.
pub fn parse(text: &str, name_for_messages: &str) -> Result<World, Problems> {
    parse_with_lines(text, name_for_messages).map(|(world, _)| world)
}

/// The same, and where in the file the parts of the world are described.
pub fn parse_with_lines(text: &str, name_for_messages: &str) -> Result<(World, Lines), Problems> {
    let sink = Sink::new(if text.len() > FILE_BYTES_MAX { "" } else { text });
    let world = read(text, &sink);
    match world {
        Some(world) if sink.is_clean() => Ok(world),
        _ => Err(sink.into_problems(name_for_messages)),
    }
}

fn read(text: &str, sink: &Sink<'_>) -> Option<(World, Lines)> {
    if text.len() > FILE_BYTES_MAX {
        let what = format!("is {} bytes; at most {FILE_BYTES_MAX} are read", text.len());
        sink.add(0, String::new(), what, "use repeat or injections instead of listing every body".to_owned());
        return None;
    }
    if let Some(at) = nesting::too_deep(text) {
        let what = format!("has brackets in brackets deeper than {}", nesting::DEPTH_MAX);
        sink.add(at, String::new(), what, "close the brackets that are left open before this one".to_owned());
        return None;
    }
    match DeTable::parse(text) {
        Ok(entries) => read_world(&Node::root(&DeValue::Table(entries.into_inner()), sink)),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let what = format!("is not valid TOML: {}", error.message().replace('\n', "; "));
            let twice = error.message().starts_with("duplicate");
            let open = "correct this line, or a bracket or quote left open before it";
            sink.add(at, String::new(), what, if twice { "remove one of the two" } else { open }.to_owned());
            None
        }
    }
}

fn read_world(root: &Node<'_>) -> Option<(World, Lines)> {
    let file = root.table("a world", WORLD_KEYS)?;
    let name = file.need("name", "add name = \"...\" at the top").and_then(|node| {
        let name = node.text(NAME_MAX)?;
        if name.is_empty() {
            node.problem("is empty", "write a short name");
        }
        Some(name.to_owned())
    });
    let mut world = World::new(name.as_deref().unwrap_or_default());
    if let Some(about) = file.get("about").and_then(|node| node.text(ABOUT_MAX).map(str::to_owned)) {
        world.about = about;
    }
    read_physics(&file, &mut world);
    let rules =
        Rules { radius_max: world.radius_max, kill_box: world.kill_box, speed_max: OVERSPEED * world.tolerances.speed };
    if let Some(layout) = file.get("layout").and_then(|node| layouts::read_layout(&node, rules.radius_max)) {
        world.layout = layout;
    }
    let mut names = Names::default();
    let mut lines = Lines { tolerances: file.get("tolerances").map(|node| node.line()), ..Lines::default() };
    if let Some(node) = file.get("bodies") {
        (world.bodies, names, lines.bodies) = bodies::read_bodies(&node, &rules);
    }
    if let Some(node) = file.get("joints") {
        (world.joints, lines.joints) = joints::read_joints(&node, &names);
    }
    if let Some(node) = file.get("injections") {
        lines.injections = Some(node.line());
        world.injections = events::read_injections(&node, &rules);
    }
    if let Some(node) = file.get("script") {
        world.script = events::read_script(&node, &names, &rules);
    }
    check_budget(&file, &world);
    Some((world, lines))
}

/// Refuses a world that makes more bodies than its budget allows.
fn check_budget(file: &Table<'_>, world: &World) {
    let Some(over) = world.over_budget() else { return };
    if let Some(node) = file.get(if over.is_by_injections() { "injections" } else { "bodies" }) {
        node.problem(over.what(), over.remedy());
    }
}

/// Reads the values that everything else is held against; a broken one leaves its default, so that the rest of the
/// file can still be checked.
fn read_physics(file: &Table<'_>, world: &mut World) {
    let seed = file.or("seed", world.seed, |node| node.whole(0, u64::MAX, "write a whole number, 0 or more"));
    let gravity = |node: &Node<'_>| node.vector_within(1_000.0, "write m/s2; Earth has [0.0, -9.81, 0.0]");
    let gravity = file.or("gravity", world.gravity, gravity);
    let tick_hz = file.or("tick_hz", world.tick_hz, |node| {
        node.whole(1, 1_000, "write ticks a second; 60 suits most worlds").map(|hz| hz as u32)
    });
    let radius_max = file.or("radius_max", world.radius_max, |node| {
        node.size(1_000.0, "write the radius in metres that no moving body exceeds")
    });
    world.seed = seed.unwrap_or(world.seed);
    world.gravity = gravity.unwrap_or(world.gravity);
    world.tick_hz = tick_hz.unwrap_or(world.tick_hz);
    world.radius_max = radius_max.unwrap_or(world.radius_max);
    let tolerances = file.or("tolerances", world.tolerances, |node| read_tolerances(node, world.tolerances));
    let kill_box = file.or("kill_box", world.kill_box, read_box);
    world.budget = file.or("budget", world.budget, |node| read_budget(node, world.budget)).unwrap_or(world.budget);
    world.tolerances = tolerances.unwrap_or(world.tolerances);
    world.kill_box = kill_box.unwrap_or(world.kill_box);
}

fn read_tolerances(node: &Node<'_>, default: Tolerances) -> Option<Tolerances> {
    let table = node.table("a table of tolerances", TOLERANCES_KEYS)?;
    let speed = table.or("speed", default.speed, |n| n.size(1_000.0, "write the greatest speed of a body in m/s"));
    let latency = |n: &Node<'_>| n.within(0.0, 1_000.0, "write the greatest one-way latency in milliseconds");
    let latency_ms = table.or("latency_ms", default.latency_ms, latency);
    let frame = |n: &Node<'_>| n.size(1_000.0, "write the greatest time between wake-ups in milliseconds");
    let frame_ms = table.or("frame_ms", default.frame_ms, frame);
    Some(Tolerances { speed: speed?, latency_ms: latency_ms?, frame_ms: frame_ms? })
}

fn read_budget(node: &Node<'_>, default: Budget) -> Option<Budget> {
    let table = node.table("a table of budgets", BUDGET_KEYS)?;
    let most = u64::from(BUDGET_BODIES_MAX);
    let bodies = |n: &Node<'_>| n.whole(1, most, "write how many bodies the world may have").map(|count| count as u32);
    let region = |n: &Node<'_>| n.whole(1, most, "write how many bodies one region may host").map(|count| count as u32);
    let bodies_per_region = table.get("bodies_per_region").map_or(Some(None), |node| region(&node).map(Some));
    Some(Budget { bodies: table.or("bodies", default.bodies, bodies)?, bodies_per_region: bodies_per_region? })
}

/// Reads a finite box of the world.
fn read_box(node: &Node<'_>) -> Option<Aabb> {
    let table = node.table("a table with min and max", BOX_KEYS)?;
    let corner = |key: &str| {
        let node = table.need(key, &format!("add {key} = [x, y, z], a corner in metres"))?;
        node.vector_within(COORDINATE_MAX, "keep it within 4 km of the origin")
    };
    let (min, max) = (corner("min"), corner("max"));
    let (min, max) = (min?, max?);
    if !min.cmple(max).all() {
        node.problem(
            format_args!("has min {min} above max {max}"),
            "write the lower corner as min, the higher one as max",
        );
        return None;
    }
    Some(Aabb::new(min, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_names_every_key_and_word() {
        let manual = include_str!("../../../../docs/world-file.md");
        let lists = [
            WORLD_KEYS,
            TOLERANCES_KEYS,
            BUDGET_KEYS,
            BOX_KEYS,
            bodies::DESC_KEYS,
            bodies::PLACE_KEYS,
            bodies::REPEAT_KEYS,
            bodies::GROUPS_KEYS,
            bodies::KIND_WORDS,
            bodies::AXES,
            shapes::SHAPES,
            shapes::PART_KEYS,
            shapes::TURN_KEYS,
            layouts::LAYOUTS,
            layouts::REGION_BOX_KEYS,
            joints::JOINTS,
            joints::JOINT_KEYS,
            joints::MOTOR_KEYS,
            joints::ANCHOR_KEYS,
            events::INJECTION_KEYS,
            events::COUNT_WORDS,
            events::PUSH_KEYS,
        ];
        let all = lists.iter().chain(&layouts::LAYOUT_KEYS).chain(&joints::JOINT_KIND_KEYS).copied().flatten();
        let named = |word: &str| {
            let forms = [format!("`{word}`"), format!("`\"{word}\"`"), format!("{word} = ")];
            forms.iter().any(|form| manual.contains(form))
        };
        let missing: Vec<_> = all.filter(|word| !named(word)).collect();
        assert!(missing.is_empty(), "docs/world-file.md does not name {missing:?}");
    }

    #[test]
    fn a_world_of_nothing_but_a_name_has_every_default() {
        assert_eq!(parse("name = \"bare\"", "bare.toml"), Ok(World::new("bare")));
    }

    #[test]
    fn copies_run_along_x_first_and_share_their_description() {
        let text = "name = \"w\"\n[[bodies]]\nname = \"b\"\nshape = { ball = { radius = 0.5 } }\nposition = [1, 2, 3]\n\
                    repeat = { count = [2, 3, 2], spacing = [10, 20, -30] }\n[[script]]\ntick = 9\nbody = \"b[3]\"\n\
                    [[script]]\ntick = 4\nbody = \"b[11]\"\n";
        let world = parse(text, "w.toml").unwrap();
        let places: Vec<[f32; 3]> = world.bodies.iter().map(|b| b.pose.position.to_array()).collect();
        assert_eq!(places[..4], [[1.0, 2.0, 3.0], [11.0, 2.0, 3.0], [1.0, 22.0, 3.0], [11.0, 22.0, 3.0]]);
        assert_eq!((places.len(), places[11]), (12, [11.0, 42.0, -27.0]));
        assert!(std::sync::Arc::ptr_eq(&world.bodies[0].desc, &world.bodies[11].desc));
        let script: Vec<_> = world.script.iter().map(|push| (push.tick.0, push.body)).collect();
        assert_eq!(script, [(4, 11), (9, 3)], "pushes are put in order of tick");
    }

    #[test]
    fn turns_and_rounded_quaternions_are_unit_rotations() {
        let body = |place: &str| {
            let text = format!("name = \"w\"\n[[bodies]]\nshape = {{ ball = {{ radius = 0.5 }} }}\n{place}\n");
            parse(&text, "w.toml").unwrap().bodies[0].pose.rotation
        };
        let turned = body("turn = { axis = [0, 3, 0], degrees = 90 }");
        let written = body("rotation = [0, 0.7071, 0, 0.7071]");
        assert!((turned * glam::Vec3::X - glam::Vec3::NEG_Z).length() < 1e-6, "{turned}");
        assert!((turned.length() - 1.0).abs() < 1e-6 && (written.length() - 1.0).abs() < 1e-6);
        assert!(turned.angle_between(written) < 1e-3);
    }
}

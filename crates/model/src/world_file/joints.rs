//! Joints of the world file.

use glam::Vec3;

use super::JOINTS_MAX;
use super::bodies::Names;
use super::reader::{Node, Table};
use super::shapes::read_pose;
use crate::{BodyKind, JointDesc, JointKind, JointSpawn, Motor, Pose, SHAPE_EXTENT_MAX};

/// Kinds of joints as they stand in the file.
pub(super) const JOINTS: &[&str] = &["fixed", "revolute", "prismatic", "spherical", "rope", "spring"];

/// Keys every joint has.
pub(super) const JOINT_KEYS: &[&str] = &["a", "b", "kind", "anchor_a", "anchor_b", "contacts"];

/// Keys of each kind of joint beside [`JOINT_KEYS`], in the order of [`JOINTS`].
pub(super) const JOINT_KIND_KEYS: [&[&str]; 6] = [
    &[],
    &["axis", "limits", "motor"],
    &["axis", "limits", "motor"],
    &[],
    &["length"],
    &["rest", "stiffness", "damping"],
];

/// Keys of a motor.
pub(super) const MOTOR_KEYS: &[&str] = &["speed", "factor", "limit"];

/// Keys of an anchor that is more than a point.
pub(super) const ANCHOR_KEYS: &[&str] = &["position", "rotation", "turn"];

/// Greatest stiffness, force, torque or length; beyond it the solver has nothing sensible to do.
const STRENGTH_MAX: f32 = 1e9;

/// Reads all joints between named bodies, with the line of each.
pub(super) fn read_joints(node: &Node<'_>, names: &Names) -> (Vec<JointSpawn>, Vec<usize>) {
    let Some(items) = node.items("a list of joints", "write each joint under its own [[joints]] line") else {
        return Default::default();
    };
    if items.len() > JOINTS_MAX {
        node.problem(format_args!("has {} joints; there may be at most {JOINTS_MAX}", items.len()), "use fewer joints");
        return Default::default();
    }
    items.filter_map(|item| Some((read_joint(&item, names)?, item.line()))).unzip()
}

fn read_joint(node: &Node<'_>, names: &Names) -> Option<JointSpawn> {
    let table = node.any_table("a table that describes a joint")?;
    let ends = read_ends(&table, names);
    let anchor = |key: &str| table.or(key, Pose::IDENTITY, read_anchor);
    let (anchor_a, anchor_b) = (anchor("anchor_a"), anchor("anchor_b"));
    let contacts = table.or("contacts", false, |n| n.flag());
    let kind = table.need("kind", "add kind = \"revolute\" or another kind of joint")?.word(JOINTS)?;
    let keys = [JOINT_KEYS, JOINT_KIND_KEYS[kind]].concat();
    table.refuse_others(&keys, &format!(" of a {} joint", JOINTS[kind]));
    let kind = read_kind(&table, kind)?;
    let (a, b) = ends?;
    let desc = JointDesc { kind, anchor_a: anchor_a?, anchor_b: anchor_b?, contacts: contacts? };
    if let Some(problem) = desc.problem() {
        node.problem(format_args!("does not work: {problem}"), "change that value");
        return None;
    }
    Some(JointSpawn { a, b, desc })
}

fn read_ends(table: &Table<'_>, names: &Names) -> Option<(u32, u32)> {
    let end = |key: &str| {
        let node = table.need(key, &format!("add {key} = \"...\", the name of a body"));
        node.and_then(|node| names.find(&node))
    };
    let (a, b) = (end("a"), end("b"));
    let ((a, kind_a), (b, kind_b)) = (a?, b?);
    if a == b {
        table.node().problem("joins a body to itself", "name another body as b");
        return None;
    }
    if let (Some(kind_a), Some(kind_b)) = (kind_a, kind_b)
        && kind_a != BodyKind::Dynamic
        && kind_b != BodyKind::Dynamic
    {
        let what = "joins two bodies of which neither is dynamic, so it would hold nothing";
        table.node().problem(what, "make one of them dynamic, or remove the joint");
        return None;
    }
    Some((a, b))
}

fn read_anchor(node: &Node<'_>) -> Option<Pose> {
    if node.is_array() {
        let remedy = "write a point near the body's centre, in metres";
        return node.vector_within(SHAPE_EXTENT_MAX, remedy).map(Pose::at);
    }
    let wanted = "a point [x, y, z] or a table with position and rotation";
    read_pose(&node.table(wanted, ANCHOR_KEYS)?, SHAPE_EXTENT_MAX)
}

fn read_kind(table: &Table<'_>, kind: usize) -> Option<JointKind> {
    let positive = |key: &str, unit: &str| {
        let node = table.need(key, &format!("add {key} in {unit}"))?;
        node.size(STRENGTH_MAX, &format!("write a positive {key} in {unit}"))
    };
    match JOINTS[kind] {
        "fixed" => Some(JointKind::Fixed),
        "spherical" => Some(JointKind::Spherical),
        "rope" => Some(JointKind::Rope { length: positive("length", "metres")? }),
        "spring" => {
            let not_negative = |key: &str, remedy: &str| {
                let node = table.need(key, &format!("add {key}"))?;
                node.within(0.0, STRENGTH_MAX, remedy)
            };
            let rest = not_negative("rest", "write the distance at rest in metres");
            let damping = not_negative("damping", "write the damping in newton seconds per metre");
            let stiffness = positive("stiffness", "newtons per metre");
            Some(JointKind::Spring { rest: rest?, stiffness: stiffness?, damping: damping? })
        }
        turning_or_sliding => {
            let (axis, limits, motor) = read_axis(table)?;
            Some(match turning_or_sliding {
                "revolute" => JointKind::Revolute { axis, limits, motor },
                _ => JointKind::Prismatic { axis, limits, motor },
            })
        }
    }
}

fn read_axis(table: &Table<'_>) -> Option<(Vec3, Option<[f32; 2]>, Option<Motor>)> {
    let axis = table.need("axis", "add axis, for example [0.0, 0.0, 1.0]").and_then(|node| node.direction());
    let limits = table.or("limits", None, |node| {
        let [low, high] = node.exactly("the lower and the upper limit, for example [-1.5, 1.5]", |n| n.number())?;
        if low > high {
            node.problem(format_args!("is from {low} to {high}"), "write the lower limit first");
            return None;
        }
        Some(Some([low, high]))
    });
    let motor = table.or("motor", None, |node| read_motor(node).map(Some));
    Some((axis?, limits?, motor?))
}

fn read_motor(node: &Node<'_>) -> Option<Motor> {
    let table = node.table("a table with speed, factor and limit", MOTOR_KEYS)?;
    let speed = table
        .need("speed", "add speed in rad/s or m/s")
        .and_then(|n| n.within(-STRENGTH_MAX, STRENGTH_MAX, "write the wanted speed in rad/s or m/s"));
    let factor = table
        .need("factor", "add factor, how hard the motor tries")
        .and_then(|n| n.within(0.0, STRENGTH_MAX, "write how hard the motor tries, 0 or more"));
    let limit = table
        .need("limit", "add limit, the greatest torque or force")
        .and_then(|n| n.size(STRENGTH_MAX, "write the greatest torque in N m or force in N"));
    Some(Motor { speed: speed?, factor: factor?, limit: limit? })
}

//! Shapes and poses of the world file.

use glam::{Quat, Vec3};

use super::COORDINATE_MAX;
use super::reader::{Node, Table};
use crate::{Pose, SHAPE_EXTENT_MAX, Shape};

/// Names of the shapes as they stand in the file.
pub(super) const SHAPES: &[&str] =
    &["ball", "cuboid", "capsule", "cylinder", "cone", "convex-hull", "compound", "tri-mesh", "height-field"];

/// Keys of a part of a compound.
pub(super) const PART_KEYS: &[&str] = &["shape", "position", "rotation", "turn"];

/// Keys of a turn.
pub(super) const TURN_KEYS: &[&str] = &["axis", "degrees"];

/// Reads `{ ball = { radius = 0.5 } }` and the like.
pub(super) fn read_shape(node: &Node<'_>) -> Option<Shape> {
    let before = node.problem_count();
    let outer = node.table("a table with the kind of shape", SHAPES)?;
    let mut kinds = SHAPES.iter().filter_map(|kind| outer.get(kind).map(|inner| (*kind, inner)));
    let Some((kind, inner)) = kinds.next() else {
        if node.problem_count() == before {
            node.problem("names no kind of shape", "write for example { ball = { radius = 0.5 } }");
        }
        return None;
    };
    if let Some((other, _)) = kinds.next() {
        node.problem(format_args!("is both {kind} and {other}"), "keep one kind, or join them in a compound");
        return None;
    }
    let shape = read_kind(kind, &inner)?;
    if node.problem_count() > before {
        return None;
    }
    if let Some(problem) = shape.problem() {
        inner.problem(format_args!("does not work: {problem}"), remedy(&shape));
        return None;
    }
    Some(shape)
}

fn read_kind(kind: &str, inner: &Node<'_>) -> Option<Shape> {
    let table = |keys: &[&str]| inner.table("a table with the measures of the shape", keys);
    let measure = |table: &Table<'_>, key: &str| {
        let node = table.need(key, &format!("add {key} in metres"))?;
        node.size(SHAPE_EXTENT_MAX, &format!("write a positive {} in metres", key.replace('_', " ")))
    };
    match kind {
        "ball" => Some(Shape::Ball { radius: measure(&table(&["radius"])?, "radius")? }),
        "cuboid" => {
            let table = table(&["half"])?;
            let node = table.need("half", "add half = [x, y, z], half the edge lengths in metres")?;
            let edge = |n: &Node<'_>| n.size(SHAPE_EXTENT_MAX, "write half of a positive edge length in metres");
            let half = node.exactly("half the edge lengths, for example [0.5, 0.5, 0.5]", edge)?;
            Some(Shape::Cuboid { half: Vec3::from_array(half) })
        }
        "capsule" | "cylinder" | "cone" => {
            let table = table(&["half_height", "radius"])?;
            let (half_height, radius) = (measure(&table, "half_height"), measure(&table, "radius"));
            let (half_height, radius) = (half_height?, radius?);
            Some(match kind {
                "capsule" => Shape::Capsule { half_height, radius },
                "cylinder" => Shape::Cylinder { half_height, radius },
                _ => Shape::Cone { half_height, radius },
            })
        }
        "convex-hull" => Some(Shape::ConvexHull { points: read_points(&table(&["points"])?, "points")? }),
        "compound" => read_compound(&table(&["parts"])?),
        "tri-mesh" => {
            let table = table(&["vertices", "triangles"])?;
            let vertices = read_points(&table, "vertices");
            let node = table.need("triangles", "add triangles = [[0, 1, 2], ...], which count vertices from 0")?;
            let corner = |n: &Node<'_>| n.whole(0, u64::from(u32::MAX), "write the number of a vertex, from 0");
            let read = |n: Node<'_>| n.exactly("three vertex numbers, for example [0, 1, 2]", corner);
            let triangles = each(&node, read)?.into_iter().map(|t: [u64; 3]| t.map(|corner| corner as u32)).collect();
            Some(Shape::TriMesh { vertices: vertices?, triangles })
        }
        _ => read_height_field(&table(&["rows", "columns", "heights", "scale"])?),
    }
}

fn read_points(table: &Table<'_>, key: &str) -> Option<Vec<Vec3>> {
    let node = table.need(key, &format!("add {key} = [[0.0, 0.0, 0.0], ...] in metres"))?;
    each(&node, |point| point.vector_within(SHAPE_EXTENT_MAX, "write a coordinate in metres, near the body's centre"))
}

fn read_height_field(table: &Table<'_>) -> Option<Shape> {
    let points = |key: &str| {
        let node = table.need(key, &format!("add {key}, the number of points along that side"))?;
        node.whole(2, 1 << 20, "write 2 or more").map(|points| points as u32)
    };
    let (rows, columns) = (points("rows"), points("columns"));
    let remedy = "write a height; scale.y is its unit in metres";
    let heights = table
        .need("heights", "add heights = [...], rows x columns numbers, row after row")
        .and_then(|node| each(&node, |height| height.within(-SHAPE_EXTENT_MAX, SHAPE_EXTENT_MAX, remedy)));
    let scale = table.need("scale", "add scale = [width along x, factor for heights, width along z]")?;
    let extent = |n: &Node<'_>| n.size(SHAPE_EXTENT_MAX, "write a positive extent in metres");
    let scale = scale.exactly("width along x, factor for heights, width along z", extent)?;
    Some(Shape::HeightField { rows: rows?, columns: columns?, heights: heights?, scale: Vec3::from_array(scale) })
}

fn read_compound(table: &Table<'_>) -> Option<Shape> {
    let node = table.need("parts", "add parts = [{ shape = { ball = { radius = 0.5 } }, position = [0, 1, 0] }]")?;
    let parts = each(&node, |part| {
        let part = part.table("a table with shape and position", PART_KEYS)?;
        let place = read_pose(&part, SHAPE_EXTENT_MAX);
        let shape = part.need("shape", "add shape = { ball = { radius = 0.5 } }")?;
        let kinds = shape.any_table("a table with the kind of shape")?;
        if let Some(kind) = kinds.keys().find(|kind| ["compound", "tri-mesh", "height-field"].contains(kind)) {
            shape.problem(format_args!("is a {kind}, which cannot be a part"), "use solid, simple shapes as parts");
            return None;
        }
        Some((place?, read_shape(&shape)?))
    })?;
    Some(Shape::Compound { parts })
}

/// Reads every item of a list, so that each broken one is reported.
fn each<T>(node: &Node<'_>, read: impl Fn(Node<'_>) -> Option<T>) -> Option<Vec<T>> {
    let items = node.items("a list", "write a list in square brackets")?;
    let mut values = Some(Vec::with_capacity(items.len()));
    for item in items {
        match (read(item), &mut values) {
            (Some(value), Some(values)) => values.push(value),
            _ => values = None,
        }
    }
    values
}

fn remedy(shape: &Shape) -> &'static str {
    match shape {
        Shape::ConvexHull { .. } => "give at least four points that do not lie in one plane",
        Shape::Compound { .. } => "give at least one part, each a solid shape",
        Shape::TriMesh { .. } => "mend vertices and triangles; triangles count vertices from 0",
        Shape::HeightField { .. } => "make heights a list of rows x columns numbers",
        _ => "write positive measures in metres",
    }
}

/// Reads `position` with either `rotation` or `turn`, no coordinate further than `reach` from zero.
pub(super) fn read_pose(table: &Table<'_>, reach: f32) -> Option<Pose> {
    let remedy = if reach == COORDINATE_MAX {
        "move it nearer to the origin; the world reaches 4 km to every side"
    } else {
        "write a point near the body's centre, in metres"
    };
    let position = table.or("position", Vec3::ZERO, |node| node.vector_within(reach, remedy));
    let turn = table.or("turn", Quat::IDENTITY, read_turn);
    let rotation = table.or("rotation", Quat::IDENTITY, |node| {
        if table.get("turn").is_some() {
            node.problem("stands beside turn", "keep one of rotation and turn");
        }
        node.quaternion()
    });
    let rotation = if table.get("turn").is_some() { turn? } else { rotation? };
    Some(Pose { position: position?, rotation })
}

fn read_turn(node: &Node<'_>) -> Option<Quat> {
    let table = node.table("a table with axis and degrees", TURN_KEYS)?;
    let axis = table.need("axis", "add axis, for example [0.0, 1.0, 0.0]").and_then(|n| n.direction());
    let degrees = table
        .need("degrees", "add degrees, for example 30")
        .and_then(|n| n.within(-3_600.0, 3_600.0, "write an angle in degrees"));
    Some(Quat::from_axis_angle(axis?, degrees?.to_radians()).normalize())
}

//! The first cut into regions, as the world file has it.

use glam::Vec3;

use super::reader::{Node, Table};
use super::{COORDINATE_MAX, REGION_MAX};
use crate::{Aabb, Layout, RegionBox, RegionId};

/// Kinds of layouts as they stand in the file.
pub(super) const LAYOUTS: &[&str] = &["columns", "grid", "corner-3", "boxes"];

/// Keys of a layout, kind by kind in the order of [`LAYOUTS`].
pub(super) const LAYOUT_KEYS: [&[&str]; 4] =
    [&["kind", "count", "width"], &["kind", "count", "size"], &["kind"], &["kind", "boxes", "default"]];

/// Keys of a box drawn by hand.
pub(super) const REGION_BOX_KEYS: &[&str] = &["region", "min", "max"];

/// Greatest number of boxes drawn by hand.
const BOXES_MAX: usize = 4_096;

/// Reads the layout of a world whose bodies are at most `radius_max` in radius.
pub(super) fn read_layout(node: &Node<'_>, radius_max: f32) -> Option<Layout> {
    let table = node.any_table("a table with the kind of layout")?;
    let kind = table.need("kind", "add kind = \"columns\", \"grid\", \"corner-3\" or \"boxes\"")?.word(LAYOUTS)?;
    table.refuse_others(LAYOUT_KEYS[kind], &format!(" of a {} layout", LAYOUTS[kind]));
    match kind {
        0 => read_columns(&table, radius_max),
        1 => read_grid(&table, radius_max),
        2 => Some(Layout::Corner3),
        _ => read_boxes(&table, radius_max),
    }
}

fn read_columns(table: &Table<'_>, radius_max: f32) -> Option<Layout> {
    let count = table.need("count", "add count, the number of regions").and_then(|node| region_count(&node));
    let node = table.need("width", "add width, the extent of a region along x in metres")?;
    let width = width(&node, count.unwrap_or(1), radius_max);
    Some(Layout::Columns { count: count?, width: width? })
}

fn read_grid(table: &Table<'_>, radius_max: f32) -> Option<Layout> {
    let count: Option<[u16; 3]> = table.need("count", "add count = [x, y, z], regions per axis").and_then(|node| {
        let count: [u16; 3] = node.exactly("regions per axis, for example [2, 1, 2]", region_count)?;
        let total: u64 = count.iter().map(|&n| u64::from(n)).product();
        if total > u64::from(REGION_MAX) + 1 {
            let most = REGION_MAX + 1;
            node.problem(format_args!("makes {total} regions; there may be at most {most}"), "lower the counts");
            return None;
        }
        Some(count)
    });
    let node = table.need("size", "add size = [x, y, z], the extent of a region in metres")?;
    let size = node.exactly("the extent of a region, for example [100.0, 100.0, 100.0]", |n| n.number())?;
    let count = count?;
    let items = node.items("a list of 3", "write three numbers")?;
    let good: Vec<_> = items.zip(count).map(|(item, count)| width(&item, count, radius_max)).collect();
    good.iter().all(Option::is_some).then_some(Layout::Grid { count, size })
}

fn region_count(node: &Node<'_>) -> Option<u16> {
    let remedy = "write how many regions there are; a region needs one server";
    node.whole(1, u64::from(REGION_MAX) + 1, remedy).map(|count| count as u16)
}

/// Reads the width of `count` regions side by side; a single one has no walls, so its width is free.
fn width(node: &Node<'_>, count: u16, radius_max: f32) -> Option<f32> {
    let width = node.size(f32::MAX, "write a positive width in metres")?;
    if count == 1 {
        return Some(width);
    }
    if !is_wide(node, width, radius_max) {
        return None;
    }
    if width * f32::from(count) > 2.0 * COORDINATE_MAX {
        let most = 2.0 * COORDINATE_MAX / f32::from(count);
        node.problem(
            format_args!("is {width}; {count} regions of this width reach beyond the world, which is 8 km wide"),
            format_args!("write at most {most}, or use fewer regions"),
        );
        return None;
    }
    Some(width)
}

/// A region narrower than two bodies' reach could not keep a body's neighbourhood to itself and its neighbours.
fn is_wide(node: &Node<'_>, width: f32, radius_max: f32) -> bool {
    let least = 4.0 * radius_max;
    if width < least {
        node.problem(
            format_args!("is {width}; a region must be at least 4 x radius_max = {least} m wide"),
            format_args!("write {least} or more, or lower radius_max if no body is that large"),
        );
    }
    width >= least
}

fn read_boxes(table: &Table<'_>, radius_max: f32) -> Option<Layout> {
    let default = table.or("default", RegionId(0), read_region);
    let node = table.need("boxes", "add boxes = [{ region = 1, min = [0, -inf, -inf], max = [inf, inf, inf] }]")?;
    let items = node.items("a list of boxes", "write boxes = [{ region = 1, min = [...], max = [...] }]")?;
    if items.len() > BOXES_MAX {
        node.problem(format_args!("has {} boxes; there may be at most {BOXES_MAX}", items.len()), "use fewer boxes");
        return None;
    }
    let read: Vec<Option<RegionBox>> = items.map(|item| read_region_box(&item, radius_max)).collect();
    Some(Layout::Boxes { boxes: read.into_iter().collect::<Option<_>>()?, default: default? })
}

fn read_region_box(node: &Node<'_>, radius_max: f32) -> Option<RegionBox> {
    let table = node.table("a table with region, min and max", REGION_BOX_KEYS)?;
    let region = table.need("region", "add region, the number of the region that gets the box");
    let region = region.and_then(|node| read_region(&node));
    let corner = |key: &str| {
        let node = table.need(key, &format!("add {key} = [x, y, z]; -inf and inf are allowed"))?;
        node.exactly("three numbers; -inf and inf are allowed", |n| n.number_or_infinite()).map(Vec3::from_array)
    };
    let (min, max) = (corner("min"), corner("max"));
    let (min, max) = (min?, max?);
    if !min.cmplt(max).all() {
        node.problem("has a min that is not below its max", "write the lower corner as min, the higher one as max");
        return None;
    }
    if !is_wide(node, (max - min).min_element(), radius_max) {
        return None;
    }
    Some(RegionBox { region: region?, bounds: Aabb::new(min, max) })
}

fn read_region(node: &Node<'_>) -> Option<RegionId> {
    node.whole(0, u64::from(REGION_MAX), "write the number of a region").map(|region| RegionId(region as u16))
}

//! A sheet as PNG, on white, at twice its size so that it is sharp on any screen.

use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform};

use super::font;
use super::sheet::{Anchor, Ink, Mark, SERIES_COLOURS, Sheet};

const SCALE: f32 = 2.0;

/// The sheet as the bytes of a PNG file.
pub(super) fn png(sheet: &Sheet) -> Vec<u8> {
    let [w, h] = sheet.size.map(|x| (x * SCALE).ceil().max(1.0) as u32);
    let mut page = Pixmap::new(w, h).expect("a sheet has a size above zero and far below the limit");
    page.fill(Color::WHITE);
    let face = font::face();
    let scale = Transform::from_scale(SCALE, SCALE);
    for mark in &sheet.marks {
        match mark {
            Mark::Line { points, ink, width, dashed } => {
                let mut path = PathBuilder::new();
                for (i, [x, y]) in points.iter().enumerate() {
                    if i == 0 { path.move_to(*x, *y) } else { path.line_to(*x, *y) }
                }
                let dash = if *dashed { StrokeDash::new(vec![6.0, 4.0], 0.0) } else { None };
                let stroke = Stroke { width: *width, dash, ..Stroke::default() };
                if let Some(path) = path.finish() {
                    page.stroke_path(&path, &paint(*ink), &stroke, scale, None);
                }
            }
            Mark::Dot { at: [x, y], radius, ink } => {
                if let Some(path) = PathBuilder::from_circle(*x, *y, *radius) {
                    page.fill_path(&path, &paint(*ink), FillRule::Winding, scale, None);
                }
            }
            Mark::Box { at: [x, y], size: [w, h], ink } => {
                if let Some(rect) = Rect::from_xywh(*x, *y, *w, *h) {
                    page.fill_rect(rect, &paint(*ink), scale, None);
                }
            }
            Mark::Words { at: [x, y], text, size, anchor, upright, ink } => {
                let Some(face) = &face else { continue };
                let Some(path) = font::outline(face, text, *size) else { continue };
                let width = font::width(Some(face), text, *size);
                let back = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => width / 2.0,
                    Anchor::End => width,
                };
                let turn = if *upright { -90.0 } else { 0.0 };
                let place = scale.pre_translate(*x, *y).pre_rotate(turn).pre_translate(-back, 0.0);
                page.fill_path(&path, &paint(*ink), FillRule::Winding, place, None);
            }
        }
    }
    page.encode_png().expect("a bitmap in memory can be encoded")
}

fn paint(ink: Ink) -> Paint<'static> {
    let [r, g, b] = match ink {
        Ink::Text => [0x22; 3],
        Ink::Grid => [0xdd; 3],
        Ink::Level => [0xb0, 0x00, 0x20],
        Ink::Reference => [0x77; 3],
        Ink::Series(i) => SERIES_COLOURS[i % SERIES_COLOURS.len()],
    };
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, 255);
    paint
}

//! Where everything in a plot goes: title, legend, axes, grid, points.

use ttf_parser::Face;

use super::axis::Axis;
use super::font;
use super::sheet::{Anchor, Ink, Mark, Sheet};
use crate::plot::{Kind, Plot, Role, Series};

const SIZE: [f32; 2] = [760.0, 440.0];
const LEFT: f32 = 72.0;
const RIGHT: f32 = 736.0;
const BOTTOM: f32 = 384.0;
const TITLE_SIZE: f32 = 16.0;
const LABEL_SIZE: f32 = 12.0;
const SMALL_SIZE: f32 = 11.0;
const LEGEND_ROW: f32 = 18.0;
/// Share of a category's width that its bars fill.
const BARS_SHARE: f32 = 0.8;
/// Least distance between two labels along the horizontal axis.
const LABEL_GAP: f32 = 8.0;

/// Lays a plot out.
pub(super) fn lay_out(plot: &Plot) -> Sheet {
    let face = font::face();
    let mut sheet = Sheet { size: SIZE, marks: Vec::new() };
    sheet.words([LEFT, 26.0], &plot.title, TITLE_SIZE, Anchor::Start, Ink::Text);
    let top = legend(&mut sheet, plot, face.as_ref()) + 12.0;
    let ys = plot.series.iter().flat_map(|s| s.points.iter().map(|p| p[1]).chain(s.spread.iter().flatten().copied()));
    let y = Axis::around(ys.chain(plot.levels.iter().map(|level| level.value)).chain([0.0]), true);
    let at_y = |value: f64| BOTTOM - y.share(value) * (BOTTOM - top);
    for (value, label) in y.ticks() {
        let height = at_y(value);
        sheet.line([LEFT, height], [RIGHT, height], Ink::Grid, 1.0, false);
        sheet.words([LEFT - 6.0, height + 4.0], &label, SMALL_SIZE, Anchor::End, Ink::Text);
    }
    match plot.kind {
        Kind::Lines => lines(&mut sheet, plot, &at_y),
        Kind::Bars => bars(&mut sheet, plot, face.as_ref(), &at_y),
    }
    for level in &plot.levels {
        let height = at_y(level.value);
        sheet.line([LEFT, height], [RIGHT, height], Ink::Level, 1.0, true);
        sheet.words([RIGHT, height - 4.0], &level.label, SMALL_SIZE, Anchor::End, Ink::Level);
    }
    sheet.line([LEFT, BOTTOM], [RIGHT, BOTTOM], Ink::Text, 1.0, false);
    sheet.line([LEFT, top], [LEFT, BOTTOM], Ink::Text, 1.0, false);
    sheet.words([(LEFT + RIGHT) / 2.0, SIZE[1] - 16.0], &plot.x_label, LABEL_SIZE, Anchor::Middle, Ink::Text);
    sheet.marks.push(Mark::Words {
        at: [20.0, (top + BOTTOM) / 2.0],
        text: plot.y_label.clone(),
        size: LABEL_SIZE,
        anchor: Anchor::Middle,
        upright: true,
        ink: Ink::Text,
    });
    sheet
}

/// One entry per series, in as many rows as they need; returns where the last row ends.
fn legend(sheet: &mut Sheet, plot: &Plot, face: Option<&Face<'_>>) -> f32 {
    let (mut x, mut y) = (LEFT, 48.0);
    for (i, series) in plot.series.iter().enumerate() {
        let width = 24.0 + font::width(face, &series.name, SMALL_SIZE) + 16.0;
        if x + width > RIGHT && x > LEFT {
            (x, y) = (LEFT, y + LEGEND_ROW);
        }
        let ink = ink(i, series);
        match plot.kind {
            Kind::Lines => sheet.line([x, y - 4.0], [x + 18.0, y - 4.0], ink, 2.0, series.role != Role::Measured),
            Kind::Bars => sheet.marks.push(Mark::Box { at: [x + 4.0, y - 9.0], size: [10.0, 10.0], ink }),
        }
        sheet.words([x + 24.0, y], &series.name, SMALL_SIZE, Anchor::Start, Ink::Text);
        x += width;
    }
    y
}

fn lines(sheet: &mut Sheet, plot: &Plot, at_y: &dyn Fn(f64) -> f32) {
    let x = Axis::around(plot.series.iter().flat_map(|s| s.points.iter().map(|p| p[0])), false);
    let at_x = |value: f64| LEFT + 12.0 + x.share(value) * (RIGHT - LEFT - 24.0);
    for (value, label) in x.ticks() {
        sheet.line([at_x(value), BOTTOM], [at_x(value), BOTTOM + 5.0], Ink::Text, 1.0, false);
        sheet.words([at_x(value), BOTTOM + 18.0], &label, SMALL_SIZE, Anchor::Middle, Ink::Text);
    }
    for (i, series) in plot.series.iter().enumerate() {
        let known = series.points.iter().filter(|p| p[0].is_finite() && p[1].is_finite());
        let points: Vec<[f32; 2]> = known.map(|p| [at_x(p[0]), at_y(p[1])]).collect();
        let ink = ink(i, series);
        sheet.marks.extend(points.iter().map(|at| Mark::Dot { at: *at, radius: 3.0, ink }));
        for (point, ends) in series.points.iter().zip(&series.spread) {
            if point[0].is_finite() && ends.iter().all(|end| end.is_finite()) {
                let [low, high] = ends.map(at_y);
                sheet.line([at_x(point[0]), low], [at_x(point[0]), high], ink, 1.0, false);
            }
        }
        if points.len() > 1 {
            sheet.marks.push(Mark::Line { points, ink, width: 2.0, dashed: series.role != Role::Measured });
        }
    }
}

fn bars(sheet: &mut Sheet, plot: &Plot, face: Option<&Face<'_>>, at_y: &dyn Fn(f64) -> f32) {
    let slot = (RIGHT - LEFT) / plot.categories.len().max(1) as f32;
    let mut free_from = LEFT - LABEL_GAP;
    for (i, label) in plot.categories.iter().enumerate() {
        let (middle, width) = (LEFT + (i as f32 + 0.5) * slot, font::width(face, label, SMALL_SIZE));
        // A label that would run into the one before it is left out.
        if middle - width / 2.0 >= free_from {
            sheet.words([middle, BOTTOM + 18.0], label, SMALL_SIZE, Anchor::Middle, Ink::Text);
            free_from = middle + width / 2.0 + LABEL_GAP;
        }
    }
    let width = slot * BARS_SHARE / plot.series.len().max(1) as f32;
    let zero = at_y(0.0);
    for (i, series) in plot.series.iter().enumerate() {
        for [category, value] in series.points.iter().filter(|p| p[0].is_finite() && p[1].is_finite()) {
            let left = LEFT + (*category as f32 + (1.0 - BARS_SHARE) / 2.0) * slot + i as f32 * width;
            let (low, high) = (zero.max(at_y(*value)), zero.min(at_y(*value)));
            sheet.marks.push(Mark::Box { at: [left, high], size: [width * 0.95, low - high], ink: ink(i, series) });
        }
    }
}

fn ink(i: usize, series: &Series) -> Ink {
    match series.role {
        Role::Measured => Ink::Series(i),
        Role::Original | Role::Reference => Ink::Reference,
        Role::Bar => Ink::Level,
    }
}

//! A sheet as SVG. Colours are style classes, so that the picture follows a light or dark page.

use std::fmt::Write;

use super::sheet::{Anchor, Ink, Mark, SERIES_COLOURS, Sheet};
use crate::escape::escape;

/// The sheet as a picture that stands for itself.
pub(super) fn svg(sheet: &Sheet, title: &str) -> String {
    let [w, h] = sheet.size;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
         role=\"img\">\n<title>{}</title>\n<style>{}</style>\n<rect class=\"paper\" width=\"{w}\" height=\"{h}\"/>\n",
        escape(title),
        style()
    );
    for mark in &sheet.marks {
        let _ = writeln!(text, "{}", element(mark));
    }
    text + "</svg>\n"
}

fn element(mark: &Mark) -> String {
    match mark {
        Mark::Line { points, ink, width, dashed } => {
            let path: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
            let dash = if *dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let (class, path) = (class(*ink), path.join(" "));
            format!("<polyline class=\"s {class}\" stroke-width=\"{width}\"{dash} points=\"{path}\"/>")
        }
        Mark::Dot { at: [x, y], radius, ink } => {
            format!("<circle class=\"f {}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>", class(*ink))
        }
        Mark::Box { at: [x, y], size: [w, h], ink } => {
            let class = class(*ink);
            format!("<rect class=\"f {class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"/>")
        }
        Mark::Words { at: [x, y], text, size, anchor, upright, ink } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let turn = if *upright { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
            format!(
                "<text class=\"f {}\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{turn}>{}</text>",
                class(*ink),
                escape(text)
            )
        }
    }
}

fn class(ink: Ink) -> String {
    match ink {
        Ink::Text => "text".to_owned(),
        Ink::Grid => "grid".to_owned(),
        Ink::Level => "level".to_owned(),
        Ink::Reference => "ref".to_owned(),
        Ink::Series(i) => format!("c{}", i % SERIES_COLOURS.len()),
    }
}

/// Every ink sets `color`; strokes and fills take it from there.
fn style() -> String {
    let mut text = ".plot{font-family:\"DejaVu Sans\",Verdana,sans-serif}.plot .paper{fill:#fff}\
        .plot .s{fill:none;stroke:currentColor}.plot .f{fill:currentColor}\
        .plot .text{color:#222}.plot .grid{color:#ddd}.plot .level{color:#b00020}.plot .ref{color:#777}"
        .to_owned();
    for (i, [r, g, b]) in SERIES_COLOURS.iter().enumerate() {
        let _ = write!(text, ".plot .c{i}{{color:#{r:02x}{g:02x}{b:02x}}}");
    }
    text + "@media(prefers-color-scheme:dark){.plot .paper{fill:#16181d}.plot .text{color:#ddd}\
        .plot .grid{color:#333}.plot .level{color:#ff6b7d}.plot .ref{color:#999}}"
}

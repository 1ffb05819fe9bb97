//! Letters as outlines, from a font that comes with the program: no machine needs one installed.

use ttf_parser::{Face, OutlineBuilder};

/// The font, or nothing if it cannot be read; then bitmaps have no words, and nothing else is lost.
pub(super) fn face() -> Option<Face<'static>> {
    Face::parse(dejavu::sans::regular(), 0).ok()
}

/// Width of a text, points.
pub(super) fn width(face: Option<&Face<'_>>, text: &str, size: f32) -> f32 {
    let Some(face) = face else { return text.chars().count() as f32 * size * 0.6 };
    let advance = |c| face.glyph_index(c).and_then(|id| face.glyph_hor_advance(id)).unwrap_or(0);
    text.chars().map(|c| f32::from(advance(c))).sum::<f32>() * size / f32::from(face.units_per_em())
}

/// The outline of a text whose baseline begins at the origin.
pub(super) fn outline(face: &Face<'_>, text: &str, size: f32) -> Option<tiny_skia::Path> {
    let scale = size / f32::from(face.units_per_em());
    let mut pen = Pen { path: tiny_skia::PathBuilder::new(), scale, x: 0.0 };
    for id in text.chars().filter_map(|c| face.glyph_index(c)) {
        face.outline_glyph(id, &mut pen);
        pen.x += f32::from(face.glyph_hor_advance(id).unwrap_or(0)) * scale;
    }
    pen.path.finish()
}

/// Carries a glyph's outline over to the page, where `y` grows downwards.
struct Pen {
    path: tiny_skia::PathBuilder,
    scale: f32,
    x: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

//! A page of marks that knows no file format.

/// What a mark is drawn with. Formats choose the colours, so that a page can be light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Words and axes.
    Text,
    /// Lines of the grid.
    Grid,
    /// A bar to be met.
    Level,
    /// Figures that are not ours.
    Reference,
    /// The series of this number.
    Series(usize),
}

/// Colours of series that people with any colour vision can tell apart, on light and on dark.
pub(super) const SERIES_COLOURS: [[u8; 3]; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
    [148, 103, 189],
    [140, 86, 75],
];

/// Where a text begins relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// One mark on the page. Positions are in points from the upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    /// A line through points.
    Line { points: Vec<[f32; 2]>, ink: Ink, width: f32, dashed: bool },
    /// A filled circle.
    Dot { at: [f32; 2], radius: f32, ink: Ink },
    /// A filled rectangle.
    Box { at: [f32; 2], size: [f32; 2], ink: Ink },
    /// Words on one line; `at` is on the baseline. Upright words read from below.
    Words { at: [f32; 2], text: String, size: f32, anchor: Anchor, upright: bool, ink: Ink },
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sheet {
    /// Width and height.
    pub(super) size: [f32; 2],
    /// What is on it, first at the bottom.
    pub(super) marks: Vec<Mark>,
}

impl Sheet {
    /// Draws a straight line.
    pub(super) fn line(&mut self, a: [f32; 2], b: [f32; 2], ink: Ink, width: f32, dashed: bool) {
        self.marks.push(Mark::Line { points: vec![a, b], ink, width, dashed });
    }

    /// Writes level words.
    pub(super) fn words(&mut self, at: [f32; 2], text: &str, size: f32, anchor: Anchor, ink: Ink) {
        self.marks.push(Mark::Words { at, text: text.to_owned(), size, anchor, upright: false, ink });
    }
}

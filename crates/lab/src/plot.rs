//! Plots as data: an experiment says what is to be seen, the report decides how it looks.

use serde::Serialize;

/// How the points of a plot are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Points joined by lines, along a numeric axis.
    Lines,
    /// Bars side by side, one group per category.
    Bars,
}

/// Where the points of a series come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Measured in this run.
    Measured,
    /// Figures of the original document; drawn dashed and grey.
    Original,
    /// Something else to find one's way by; drawn like the original document's figures.
    Reference,
    /// What has to be reached; drawn dashed and red, as levels are.
    Bar,
}

/// One named run of points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// Where the points are. In a plot of bars `x` is the number of the category.
    pub points: Vec<[f64; 2]>,
    /// Where they come from.
    pub role: Role,
    /// Lower and upper end of each point's interval, if they have one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<[f64; 2]>,
}

impl Series {
    /// Points measured in this run.
    pub fn new(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { name: name.into(), points, role: Role::Measured, spread: Vec::new() }
    }

    /// The series with the interval of each point, in their order: lower and upper end.
    pub fn with_spread(self, spread: Vec<[f64; 2]>) -> Series {
        Series { spread, ..self }
    }

    /// Points of the original document, so that a reader sees what there is to beat.
    pub fn original(points: Vec<[f64; 2]>) -> Series {
        Series { role: Role::Original, ..Series::new("original", points) }
    }

    /// Points that are neither measured nor the original document's.
    pub fn reference(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { role: Role::Reference, ..Series::new(name, points) }
    }

    /// Points that have to be reached.
    pub fn bar(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { role: Role::Bar, ..Series::new(name, points) }
    }
}

/// A value that a plot's points should reach or stay under, drawn across it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// What it is.
    pub label: String,
    /// Where it is.
    pub value: f64,
}

/// One picture of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    /// Names its files; lower case, hyphens.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// What lies along the horizontal axis, with its unit.
    pub x_label: String,
    /// What lies along the vertical axis, with its unit.
    pub y_label: String,
    /// How points are shown.
    pub kind: Kind,
    /// Names of the groups of bars, in order; empty for lines.
    pub categories: Vec<String>,
    /// The points.
    pub series: Vec<Series>,
    /// The bars that are to be met, if any.
    pub levels: Vec<Level>,
}

impl Plot {
    /// A plot of lines without points yet.
    pub fn lines(name: &'static str, title: &str, x_label: &str, y_label: &str) -> Plot {
        Plot {
            name,
            title: title.to_owned(),
            x_label: x_label.to_owned(),
            y_label: y_label.to_owned(),
            kind: Kind::Lines,
            categories: Vec::new(),
            series: Vec::new(),
            levels: Vec::new(),
        }
    }

    /// A plot of bars without points yet.
    pub fn bars(name: &'static str, title: &str, x_label: &str, y_label: &str, categories: Vec<String>) -> Plot {
        Plot { kind: Kind::Bars, categories, ..Plot::lines(name, title, x_label, y_label) }
    }

    /// The plot with one more series.
    pub fn with(mut self, series: Series) -> Plot {
        self.series.push(series);
        self
    }

    /// The plot with a line across it.
    pub fn with_level(mut self, label: impl Into<String>, value: f64) -> Plot {
        self.levels.push(Level { label: label.into(), value });
        self
    }

    /// The plot as a vector picture that stands for itself.
    pub fn to_svg(&self) -> String {
        crate::draw::svg(self)
    }

    /// The plot as a bitmap.
    pub fn to_png(&self) -> Vec<u8> {
        crate::draw::png(self)
    }
}

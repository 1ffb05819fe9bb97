//! What an experiment found: rows, a verdict and a sentence, as JSON, CSV or Markdown. Plots are part of it as data.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::fmt::Write;

use crate::plot::Plot;

/// The parameter that names what a run of this form does not judge, where its own bar has that. A reader must not take it for met.
pub(crate) const NOT_JUDGED: &str = "not_judged";

/// One row of results: names and values, in the order in which people should read them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row(Vec<(&'static str, Value)>);

impl Row {
    /// An empty row.
    pub fn new() -> Row {
        Row::default()
    }

    /// The row with one more value.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Row {
        self.0.push((name, value.into()));
        self
    }

    /// The row with a note of what is not judged, if that is so.
    pub(crate) fn not_judging(self, what: &'static str, so: bool) -> Row {
        if so { self.with(NOT_JUDGED, what) } else { self }
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The verdict.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// Whether the experiment's own bar is met.
    pub passed: bool,
    /// The result in a sentence.
    pub sentence: String,
}

/// What an experiment found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Report {
    /// Its name.
    pub experiment: &'static str,
    /// What it was run with.
    pub parameters: Row,
    /// What it measured.
    pub rows: Vec<Row>,
    /// What is to be seen of it.
    pub plots: Vec<Plot>,
    /// The verdict.
    pub summary: Summary,
}

impl Report {
    /// The report as one JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is plain data")
    }

    /// The rows as comma-separated values with a header line.
    pub fn to_csv(&self) -> String {
        let mut text = self.columns().join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<String> = self
                .columns()
                .iter()
                .map(|name| row.get(name).map_or(String::new(), |value| quoted(&cell(value))))
                .collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }

    /// The report as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n{}\n\n", self.experiment, self.summary.sentence);
        let names = self.columns();
        let _ = writeln!(text, "| {} |\n|{}", names.join(" | "), "---|".repeat(names.len()));
        for row in &self.rows {
            let cells: Vec<String> = names.iter().map(|name| row.get(name).map_or(String::new(), cell)).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        if self.parameters.iter().next().is_some() {
            let pairs: Vec<String> =
                self.parameters.iter().map(|(name, value)| format!("{name} {}", cell(value))).collect();
            let _ = writeln!(text, "\nParameters: {}.", pairs.join(", "));
        }
        text
    }

    /// Names of the columns, in the order in which they first come up. A row may lack some.
    pub(crate) fn columns(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for (name, _) in self.rows.iter().flat_map(Row::iter) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// A cell of comma-separated values: in quotes where it has a comma, a quote or a line end of its own.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// A value as people read it.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(x) if number.is_f64() && x.fract() != 0.0 => format!("{x:.4}").trim_end_matches('0').to_owned(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_with_a_comma_stays_one_cell() {
        let rows = vec![Row::new().with("breached", "speed 3, latency 1").with("said", "\"no\"")];
        let report = Report {
            experiment: "sample",
            parameters: Row::new(),
            rows,
            plots: Vec::new(),
            summary: Summary::default(),
        };
        assert_eq!(report.to_csv(), "breached,said\n\"speed 3, latency 1\",\"\"\"no\"\"\"\n");
    }

    #[test]
    fn a_report_reads_the_same_in_every_form() {
        let report = Report {
            experiment: "sample",
            parameters: Row::new().with("servers", 4),
            rows: vec![Row::new().with("what", "a").with("ratio", 0.25), Row::new().with("what", "b").with("ratio", 2)],
            plots: Vec::new(),
            summary: Summary { passed: true, sentence: "Good.".to_owned() },
        };
        assert_eq!(report.to_csv(), "what,ratio\na,0.25\nb,2\n");
        assert!(report.to_markdown().contains("| a | 0.25 |"));
        let json: Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(json["rows"][0]["ratio"], 0.25);
        assert_eq!(json["summary"]["passed"], true);
    }
}

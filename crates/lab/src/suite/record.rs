//! What is kept of an experiment that was run as one of many.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::experiment::Options;
use crate::report::{NOT_JUDGED, Summary, cell};

/// How an experiment ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its bar is met.
    Met,
    /// It ran to its end, and its bar is not met.
    NotMet,
    /// There is no result.
    #[default]
    Failed,
}

/// A picture of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Its file, in the directory of the record.
    pub file: String,
    /// What it shows.
    pub title: String,
}

/// What is kept of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub experiment: String,
    /// What it shows.
    pub about: String,
    /// What it was run with.
    pub options: Options,
    /// The commit that was measured.
    pub commit: String,
    /// When it began, seconds since 1970.
    pub started_unix_s: u64,
    /// How long it took.
    pub seconds: f64,
    /// How it ended.
    pub outcome: Outcome,
    /// What this form of it did not judge, if there is something.
    pub not_judged: Option<String>,
    /// Its result in a sentence, or why there is none.
    pub sentence: String,
    /// What it measured, as text; the first line names the columns.
    pub table: Vec<Vec<String>>,
    /// Its plots.
    pub pictures: Vec<Picture>,
}

impl Record {
    /// The record of an experiment in this directory, if there is a whole one.
    pub(super) fn read(directory: &Path, experiment: &str) -> Option<Record> {
        let text = fs::read_to_string(path(directory, experiment)).ok()?;
        serde_json::from_str(&text).ok().filter(|record: &Record| record.experiment == experiment)
    }

    /// Writes the record, whole or not at all.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let path = path(directory, &self.experiment);
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec_pretty(self)?)?;
        fs::rename(unfinished, path)
    }

    /// Takes verdict, figures and plots from a report in JSON. One without a verdict is no result.
    pub(super) fn take_from(&mut self, report: &str) {
        let report: Told = match serde_json::from_str(report) {
            Ok(report) => report,
            Err(error) => {
                self.sentence = format!("its report cannot be read: {error}");
                return;
            }
        };
        self.outcome = if report.summary.passed { Outcome::Met } else { Outcome::NotMet };
        self.sentence = report.summary.sentence;
        self.not_judged = report.parameters.get(NOT_JUDGED).map(cell);
        self.table = table(&report.rows);
        let picture =
            |plot: ToldPlot| Picture { file: format!("{}-{}.svg", self.experiment, plot.name), title: plot.title };
        self.pictures = report.plots.into_iter().map(picture).collect();
    }
}

/// What is read of a report.
#[derive(Deserialize)]
struct Told {
    parameters: serde_json::Map<String, Value>,
    rows: Vec<ToldRow>,
    plots: Vec<ToldPlot>,
    summary: Summary,
}

#[derive(Deserialize)]
struct ToldPlot {
    name: String,
    title: String,
}

/// A row with its columns in the order in which they were written.
struct ToldRow(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for ToldRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ToldRow, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = ToldRow;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a row of names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToldRow, A::Error> {
                let mut cells = Vec::new();
                while let Some(cell) = map.next_entry()? {
                    cells.push(cell);
                }
                Ok(ToldRow(cells))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn path(directory: &Path, experiment: &str) -> PathBuf {
    directory.join(format!("{experiment}.result.json"))
}

/// Rows as lines of text under the names of all columns, in the order in which those first come up.
fn table(rows: &[ToldRow]) -> Vec<Vec<String>> {
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.0) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let value =
        |row: &ToldRow, name: &String| row.0.iter().find(|(known, _)| known == name).map(|(_, value)| cell(value));
    let line = |row: &ToldRow| names.iter().map(|name| value(row, name).unwrap_or_default()).collect();
    let head = names.iter().map(|name| (*name).clone()).collect();
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

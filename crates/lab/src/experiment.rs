//! What an experiment is, and which there are.

use crate::experiments;
use crate::report::Report;

/// How an experiment is to be run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Less of everything: under a minute, for a first look.
    pub quick: bool,
    /// How long to go on, for an experiment that can go on for as long as one likes.
    pub minutes: Option<u32>,
}

/// Why an experiment gave no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LabError {
    /// There is no such experiment.
    #[error("there is no experiment `{0}`; `nimbus lab list` shows all")]
    Unknown(String),
    /// It could not be run.
    #[error("{0}")]
    Failed(String),
}

/// Is told how far an experiment has come, from 0 to 1.
pub type Progress<'a> = dyn FnMut(f32) + 'a;

/// Something that can be measured.
pub struct Experiment {
    /// What people type.
    pub name: &'static str,
    /// One sentence on what it shows.
    pub about: &'static str,
    /// Runs it.
    pub run: fn(&Options, &mut Progress<'_>) -> Result<Report, LabError>,
}

/// Every experiment.
pub fn all() -> &'static [Experiment] {
    &experiments::ALL
}

/// The experiment of this name.
pub fn find(name: &str) -> Result<&'static Experiment, LabError> {
    all().iter().find(|e| e.name == name).ok_or_else(|| LabError::Unknown(name.to_owned()))
}

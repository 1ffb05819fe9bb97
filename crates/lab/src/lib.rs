//! Experiments.
//!
//! An experiment measures something about the system and compares it with a bar. Speed is always a ratio of two things
//! measured side by side in the same run, because absolute times say more about the machine than about the code.

mod experiment;
mod experiments;
mod report;

pub use experiment::{Experiment, LabError, Options, Progress, all, find};
pub use report::{Report, Row, Summary};

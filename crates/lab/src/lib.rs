//! Experiments.
//!
//! An experiment measures something about the system and compares it with a bar. Speed is always a ratio of two things
//! measured side by side in the same run, because absolute times say more about the machine than about the code.

mod cluster_run;
mod cluster_watch;
mod draw;
mod escape;
mod experiment;
mod experiments;
mod files;
mod interval;
mod page;
mod plot;
mod regression;
mod report;
mod suite;
mod web_client;

pub use experiment::{Experiment, LabError, Options, Progress, all, find};
pub use plot::{Kind, Level, Plot, Role, Series};
pub use report::{Report, Row, Summary};
pub use suite::{Outcome, Picture, Progress as SuiteProgress, Record, Suite, duration};

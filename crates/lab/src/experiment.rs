//! What an experiment is, and which there are.

use crate::experiments;
use crate::report::Report;

/// How an experiment is to be run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Less of everything: under a minute, for a first look.
    pub quick: bool,
    /// How long to go on, for an experiment that can go on for as long as one likes.
    pub minutes: Option<u32>,
    /// How often to measure, each time from another seed, for an experiment that gives intervals.
    pub repeat: Option<u32>,
}

/// The experiment that can go on for as long as one likes.
const LASTING: &str = "soak";
/// The experiment that gives intervals.
const REPEATED: &str = "aura-scalability";
/// Most repeats: more would run for days.
const REPEAT_MAX: u32 = 1_000;

impl Options {
    /// The options as far as the experiment of this name knows them.
    pub fn for_experiment(&self, name: &str) -> Options {
        Options {
            minutes: self.minutes.filter(|_| name == LASTING),
            repeat: self.repeat.filter(|_| name == REPEATED),
            ..*self
        }
    }

    /// Refuses an option that the experiment of this name does not have.
    pub fn check_for(&self, name: &str) -> Result<(), LabError> {
        let known = self.for_experiment(name);
        let refuse = |what: &str, only: &str| {
            Err(LabError::Failed(format!("`{name}` knows no {what}; leave it out, or run `{only}`")))
        };
        if known.minutes != self.minutes {
            return refuse("--minutes", LASTING);
        }
        if known.repeat != self.repeat {
            return refuse("--repeat", REPEATED);
        }
        self.check_range()
    }

    /// Refuses a value that no experiment can be run with.
    pub fn check_range(&self) -> Result<(), LabError> {
        match self.repeat {
            Some(repeat) if !(1..=REPEAT_MAX).contains(&repeat) => {
                Err(LabError::Failed(format!("--repeat is {repeat}; it must be from 1 to {REPEAT_MAX}")))
            }
            _ => Ok(()),
        }
    }
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
    experiments::ALL
}

/// The experiment of this name.
pub fn find(name: &str) -> Result<&'static Experiment, LabError> {
    all().iter().find(|e| e.name == name).ok_or_else(|| LabError::Unknown(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_an_experiment_does_not_have_are_refused() {
        let with = |minutes, repeat| Options { quick: true, minutes, repeat };
        assert!(with(None, Some(3)).check_for("aura-scalability").is_ok());
        assert!(with(Some(3), None).check_for("soak").is_ok());
        for (options, name, part) in [
            (with(None, Some(3)), "packet-loss", "`packet-loss` knows no --repeat"),
            (with(Some(1), None), "packet-loss", "`packet-loss` knows no --minutes"),
            (with(None, Some(0)), "aura-scalability", "--repeat is 0; it must be from 1 to 1000"),
        ] {
            let said = options.check_for(name).unwrap_err().to_string();
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(with(Some(1), Some(3)).for_experiment("packet-loss"), with(None, None));
    }

    #[test]
    fn every_name_is_there_once_and_can_be_found() {
        for experiment in all() {
            assert!(std::ptr::eq(find(experiment.name).unwrap(), experiment), "{} is there twice", experiment.name);
            assert_ne!(experiment.name, "all", "that runs every experiment");
        }
    }
}

//! Every experiment in turn, with one page about all of them.
//!
//! What is finished is kept in the directory of the report, one record per experiment, so a run that was interrupted goes
//! on where it was. An experiment that fails is noted, and the next one is run.

#![allow(clippy::disallowed_methods, reason = "the page says when and for how long each experiment ran")]

mod index;
mod record;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::experiment::{Experiment, Options};
pub use index::duration;
pub use record::{Outcome, Picture, Record};

/// Runs experiments one after the other and keeps their records.
pub struct Suite<'a> {
    /// Where reports, records and the page go.
    pub directory: &'a Path,
    /// How experiments are run, each as far as it knows the options.
    pub options: Options,
    /// The commit that is measured.
    pub commit: &'a str,
    /// Names of experiments that are run although they are finished.
    pub again: &'a [String],
}

/// What happens while a suite runs.
pub enum Progress<'a> {
    /// An experiment was finished before and is not run again.
    Kept(&'a Record),
    /// One begins: its name, its number from 1, and how many there are.
    Begins(&'a str, usize, usize),
    /// One has ended.
    Ended(&'a Record),
}

impl Suite<'_> {
    /// Runs whatever is not finished. `run` runs one experiment, leaves its files in the directory and returns its report as
    /// JSON, or says why there is none. The page is written anew after each of them. Returns a record for every experiment.
    pub fn run(
        &self,
        experiments: &[Experiment],
        run: &mut dyn FnMut(&Experiment, &Options) -> Result<String, String>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> io::Result<Vec<Record>> {
        fs::create_dir_all(self.directory)?;
        let mut records = Vec::new();
        for (i, experiment) in experiments.iter().enumerate() {
            let record = match self.finished(experiment) {
                Some(record) => {
                    progress(Progress::Kept(&record));
                    record
                }
                None => {
                    progress(Progress::Begins(experiment.name, i + 1, experiments.len()));
                    let record = self.run_one(experiment, run)?;
                    progress(Progress::Ended(&record));
                    record
                }
            };
            records.push(record);
            let left: Vec<&str> = experiments[i + 1..].iter().map(|experiment| experiment.name).collect();
            fs::write(self.index(), index::html(&records, &left, self.commit))?;
        }
        Ok(records)
    }

    /// Where the page is.
    pub fn index(&self) -> PathBuf {
        self.directory.join("index.html")
    }

    /// The record of an experiment that need not be run: it ran to its end with the same options.
    fn finished(&self, experiment: &Experiment) -> Option<Record> {
        if self.again.iter().any(|name| name == experiment.name) {
            return None;
        }
        let record = Record::read(self.directory, experiment.name)?;
        let same = record.options == self.options.for_experiment(experiment.name);
        (same && record.outcome != Outcome::Failed).then_some(record)
    }

    fn run_one(
        &self,
        experiment: &Experiment,
        run: &mut dyn FnMut(&Experiment, &Options) -> Result<String, String>,
    ) -> io::Result<Record> {
        let options = self.options.for_experiment(experiment.name);
        let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let began = Instant::now();
        let report = run(experiment, &options);
        let mut record = Record {
            experiment: experiment.name.to_owned(),
            about: experiment.about.to_owned(),
            options,
            commit: self.commit.to_owned(),
            started_unix_s,
            seconds: began.elapsed().as_secs_f64(),
            ..Record::default()
        };
        match report {
            Ok(report) => record.take_from(&report),
            Err(why) => record.sentence = why,
        }
        record.write(self.directory)?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::LabError;
    use serde_json::json;

    const fn sample(name: &'static str) -> Experiment {
        Experiment { name, about: "A sample.", run: |_, _| Err(LabError::Failed("not run here".to_owned())) }
    }
    const THREE: [Experiment; 3] = [sample("first"), sample("second"), sample("third")];

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let directory = std::env::temp_dir().join(format!("nimbus-suite-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&directory);
            Scratch(directory)
        }

        fn suite<'a>(&'a self, commit: &'a str, again: &'a [String]) -> Suite<'a> {
            Suite { directory: &self.0, options: Options { quick: true, ..Options::default() }, commit, again }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn report(name: &str, passed: bool) -> String {
        let report = json!({
            "experiment": name, "parameters": if name == "third" { json!({"not_judged": "speed"}) } else { json!({}) },
            "rows": [{"what": "a <b>", "ratio": 2.5}, {"what": "c", "extra": 1}],
            "plots": [{"name": "speed", "title": "Speed & more"}],
            "summary": {"passed": passed, "sentence": format!("{name} took 3 < 4.")},
        });
        report.to_string()
    }

    /// Runs the suite and returns the names that were run and the records.
    fn run(suite: &Suite<'_>, result: fn(&str) -> Result<String, String>) -> (Vec<String>, Vec<Record>) {
        let mut ran = Vec::new();
        let mut one = |experiment: &Experiment, options: &Options| {
            assert!(options.quick);
            ran.push(experiment.name.to_owned());
            result(experiment.name)
        };
        let records = suite.run(&THREE, &mut one, &mut |_| ()).unwrap();
        (ran, records)
    }

    #[test]
    fn what_is_finished_is_not_run_again_unless_asked() {
        let scratch = Scratch::new("resume");
        let all_pass = |name: &str| Ok(report(name, name != "second"));
        let (ran, records) = run(&scratch.suite("abc", &[]), all_pass);
        assert_eq!(ran, ["first", "second", "third"]);
        assert_eq!(records[1].outcome, Outcome::NotMet, "a bar that is not met is a result");
        let (ran, kept) = run(&scratch.suite("abc", &[]), |_| Err("must not run".to_owned()));
        assert!(ran.is_empty() && kept == records);
        let again = ["second".to_owned()];
        let (ran, records) = run(&scratch.suite("abc", &again), |name| Ok(report(name, true)));
        assert_eq!(ran, ["second"]);
        assert!(records.iter().all(|record| record.outcome == Outcome::Met));
        let full = Suite { options: Options::default(), ..scratch.suite("abc", &[]) };
        let mut count = 0;
        let mut one = |experiment: &Experiment, _: &Options| {
            count += 1;
            Ok(report(experiment.name, true))
        };
        full.run(&THREE, &mut one, &mut |_| ()).unwrap();
        assert_eq!(count, 3, "a quick result is no full one");
    }

    #[test]
    fn an_interrupted_run_goes_on_where_it_was() {
        let scratch = Scratch::new("interrupted");
        let suite = scratch.suite("abc", &[]);
        suite.run(&THREE[..1], &mut |e, _| Ok(report(e.name, true)), &mut |_| ()).unwrap();
        fs::write(scratch.0.join("second.result.json"), "{ \"experiment\": \"sec").unwrap();
        let (ran, records) = run(&suite, |name| Ok(report(name, true)));
        assert_eq!(ran, ["second", "third"], "half a record is none");
        assert_eq!(records.len(), 3);
    }

    #[test]
    fn a_failing_experiment_does_not_keep_the_others_from_running() {
        let scratch = Scratch::new("failing");
        let suite = scratch.suite("abc", &[]);
        let breaks = |name: &str| if name == "first" { Err("no <port>".to_owned()) } else { Ok(report(name, true)) };
        let (ran, records) = run(&suite, breaks);
        assert_eq!(ran.len(), 3);
        assert_eq!((records[0].outcome, records[0].sentence.as_str()), (Outcome::Failed, "no <port>"));
        let page = fs::read_to_string(suite.index()).unwrap();
        assert!(page.contains("no &lt;port&gt;") && page.contains("did not run to its end"), "{page}");
        let (ran, records) = run(&suite, |name| Ok(report(name, true)));
        assert_eq!(ran, ["first"], "what failed is not finished");
        assert_eq!(records[0].outcome, Outcome::Met);
        let nonsense = |_: &str| Ok("{\"rows\": []}".to_owned());
        let again = ["third".to_owned()];
        let (_, records) = run(&scratch.suite("abc", &again), nonsense);
        assert_eq!(records[2].outcome, Outcome::Failed, "a report without a verdict is none");
    }

    #[test]
    fn the_page_tells_all_of_every_experiment() {
        let scratch = Scratch::new("page");
        let (_, mut records) = run(&scratch.suite("abc123", &[]), |name| Ok(report(name, name != "second")));
        let page = fs::read_to_string(scratch.suite("abc123", &[]).index()).unwrap();
        for part in [
            "2 of 3",
            "the bar is met; not judged: speed",
            "abc123",
            "quick",
            "first took 3 &lt; 4.",
            "<a href=\"second.html\">",
            "<img src=\"third-speed.svg\" alt=\"Speed &amp; more\"",
            "the bar is not met",
            "<td>2.5</td><td>a &lt;b&gt;</td><td></td>",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("other commit"));
        // Before the last is run, the page says what is missing, and a result of another commit is named as such.
        records.truncate(2);
        let page = index::html(&records, &["third"], "def456");
        assert!(page.contains("Not yet run: third.") && page.contains("(other commit)"), "{page}");
    }
}

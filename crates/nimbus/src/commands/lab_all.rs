//! `nimbus lab run all`: every experiment, each in a process of its own, as if it had been run by itself.
//!
//! A process of its own keeps one experiment's memory and threads out of the next one's figures, and a crash from ending
//! the whole run.

#![allow(clippy::disallowed_methods, reason = "a shell watches the process of an experiment")]

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use nimbus::lab::{Experiment, Options, Outcome, Record, Suite, SuiteProgress, all, duration, find};
use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::lab::PROGRESS_WORD;
use crate::exit::Verdict;

/// How many lines of what an experiment said are kept to explain why it failed.
const LAST_LINES: usize = 12;
/// How often a process that says nothing is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs every experiment. With a directory its results are kept there and taken up again; otherwise they are only printed.
pub(super) fn run_all(options: &Options, directory: Option<&Path>, again: &[String]) -> anyhow::Result<Verdict> {
    options.check_range()?;
    let names = names_of(again)?;
    let scratch = std::env::temp_dir().join(format!("nimbus-lab-{}", std::process::id()));
    let commit = commit();
    let suite = Suite { directory: directory.unwrap_or(&scratch), options: *options, commit: &commit, again: &names };
    let bar = ProgressBar::new(1000);
    let mut run = |experiment: &Experiment, options: &Options| {
        in_a_process(experiment.name, options, suite.directory, &bar).map_err(|error| format!("{error:#}"))
    };
    let mut progress = |progress: SuiteProgress<'_>| match progress {
        SuiteProgress::Kept(record) => {
            let other = if record.commit == commit { "" } else { ", measured at another commit: " };
            let which = if other.is_empty() { "" } else { &record.commit };
            bar.suspend(|| println!("{:18} {}; finished before{other}{which}", record.experiment, word(record)));
        }
        SuiteProgress::Begins(name, number, count) => {
            let template = format!("[{number}/{count}] {name} {{bar:40}} {{percent}} % {{elapsed}}");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style);
            }
            bar.reset();
        }
        SuiteProgress::Ended(record) => bar.suspend(|| {
            println!("{:18} {} ({})", record.experiment, word(record), duration(record.seconds));
            if record.outcome != Outcome::Met {
                println!("{:18} {}", "", record.sentence.replace('\n', "\n                   "));
            }
        }),
    };
    let cannot = || format!("cannot write the report into {}", suite.directory.display());
    let records = suite.run(all(), &mut run, &mut progress).with_context(cannot)?;
    bar.finish_and_clear();
    let met = records.iter().filter(|record| record.outcome == Outcome::Met).count();
    let seconds = records.iter().map(|record| record.seconds).sum();
    println!("\n{met} of {} bars are met, {} in all", records.len(), duration(seconds));
    if directory.is_some() {
        println!("see {}", suite.index().display());
    } else {
        fs::remove_dir_all(&scratch).with_context(|| format!("cannot remove {}", scratch.display()))?;
    }
    Ok(if met == records.len() { Verdict::Good } else { Verdict::NotMet })
}

/// The experiments that are run again although they are finished; `all` is every one.
fn names_of(again: &[String]) -> anyhow::Result<Vec<String>> {
    if again.iter().any(|name| name == "all") {
        return Ok(all().iter().map(|experiment| experiment.name.to_owned()).collect());
    }
    for name in again {
        find(name)?;
    }
    Ok(again.to_vec())
}

fn word(record: &Record) -> String {
    let word = match record.outcome {
        Outcome::Met => "passed",
        Outcome::NotMet => "the bar is not met",
        Outcome::Failed => "did not run to its end",
    };
    match &record.not_judged {
        Some(what) => format!("{word}, {what} not judged"),
        None => word.to_owned(),
    }
}

/// Runs one experiment in a process, shows how far it is, and returns its report. All it says goes into `NAME.log`.
fn in_a_process(name: &str, options: &Options, directory: &Path, bar: &ProgressBar) -> anyhow::Result<String> {
    let json = directory.join(format!("{name}.json"));
    if json.exists() {
        fs::remove_file(&json).with_context(|| format!("cannot remove {}", json.display()))?;
    }
    let path = directory.join(format!("{name}.log"));
    let mut log = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(program);
    command.args(["lab", "run", name, "--progress-lines", "--json"]).arg(&json).arg("--report").arg(directory);
    if options.quick {
        command.arg("--quick");
    }
    for (option, value) in [("--minutes", options.minutes), ("--repeat", options.repeat)] {
        command.args(value.iter().flat_map(|value| [option.to_owned(), value.to_string()]));
    }
    let mut child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(Stdio::piped()).spawn()?;
    let lines = child.stderr.take().map(lines_of).context("no standard error to read")?;
    let mut last: VecDeque<String> = VecDeque::new();
    let status = loop {
        match lines.recv_timeout(LOOK_EVERY) {
            Ok(line) => match line.strip_prefix(PROGRESS_WORD).and_then(|share| share.trim().parse::<f64>().ok()) {
                Some(share) => bar.set_position((share * 1000.0) as u64),
                None => {
                    writeln!(log, "{line}").with_context(|| format!("cannot write {}", path.display()))?;
                    last.push_back(line);
                    last.drain(..last.len().saturating_sub(LAST_LINES));
                }
            },
            // A process that it left behind may hold its standard error open; its own end is what counts.
            Err(RecvTimeoutError::Timeout) => match child.try_wait()? {
                Some(status) => break status,
                None => bar.tick(),
            },
            Err(RecvTimeoutError::Disconnected) => break child.wait()?,
        }
    };
    // 0 and 1 are a bar that is met or not; anything else is no result, even if some of it was written.
    if !matches!(status.code(), Some(0 | 1)) || !json.exists() {
        bail!("ended with {status}: {}", Vec::from(last).join("\n"));
    }
    fs::read_to_string(&json).with_context(|| format!("cannot read {}", json.display()))
}

/// Its lines, read by a thread that ends with it.
fn lines_of(stderr: ChildStderr) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// The commit of the work tree that this program was built in, as far as that can be told.
fn commit() -> String {
    let describe = |tree: PathBuf| {
        let git = Command::new("git")
            .arg("-C")
            .arg(tree)
            .args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
            .output();
        git.ok().filter(|output| output.status.success())
    };
    let output = std::env::current_exe().ok().and_then(|program| describe(program.parent()?.to_owned()));
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

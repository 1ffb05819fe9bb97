//! `nimbus lab`: experiments with a bar and a report.

use anyhow::Context;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use nimbus::lab::{Options, all, find};
use std::fs;
use std::path::{Path, PathBuf};

use super::lab_all::run_all;
use crate::exit::Verdict;

/// The name that stands for every experiment.
const ALL: &str = "all";
/// What a line of standard error begins with that tells how far an experiment is, from 0 to 1.
pub(super) const PROGRESS_WORD: &str = "progress ";

/// Measure what the system reaches
#[derive(Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the experiments
    List,
    /// Run an experiment, or all of them; exits with 1 when a bar is not met
    Run {
        /// Its name; `all` runs every one, each in a process of its own, and goes on when one fails
        name: String,
        /// Less of everything, for a first look
        #[arg(long)]
        quick: bool,
        /// Go on for so many minutes; only `soak` can
        #[arg(long)]
        minutes: Option<u32>,
        /// Measure so often, each time from another seed, and print 95 % intervals; only `aura-scalability` can
        #[arg(long)]
        repeat: Option<u32>,
        /// Write the result as JSON to a file, or - for standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Write a report (CSV, plots, Markdown and one HTML page) into this directory; with `all` also index.html, and
        /// what is finished there is not run again
        #[arg(long, value_name = "DIR")]
        report: Option<PathBuf>,
        /// With `all`: run this experiment although it is finished; can be given more than once, `all` means every one
        #[arg(long, value_name = "NAME")]
        again: Vec<String>,
        /// Tell how far it is in lines, for a program that reads them
        #[arg(long, hide = true)]
        progress_lines: bool,
    },
}

impl Lab {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        match self.action {
            Action::List => {
                for experiment in all() {
                    println!("{:16} {}", experiment.name, experiment.about);
                }
                Ok(Verdict::Good)
            }
            Action::Run { name, quick, minutes, repeat, json, report, again, progress_lines } => {
                let options = Options { quick, minutes, repeat };
                if name == ALL {
                    anyhow::ensure!(json.is_none(), "--json goes with one experiment; --report DIR has a file of each");
                    return run_all(&options, report.as_deref(), &again);
                }
                anyhow::ensure!(again.is_empty(), "--again goes with `all`; one experiment by name is always run");
                run(&name, &options, json.as_deref(), report.as_deref(), progress_lines)
            }
        }
    }
}

fn run(
    name: &str,
    options: &Options,
    json: Option<&Path>,
    directory: Option<&Path>,
    progress_lines: bool,
) -> anyhow::Result<Verdict> {
    let experiment = find(name)?;
    options.check_for(name)?;
    let bar = ProgressBar::new(1000);
    if let Ok(style) = ProgressStyle::with_template(&format!("{name} {{bar:40}} {{percent}} % {{eta}}")) {
        bar.set_style(style);
    }
    let mut told = 0;
    let report = (experiment.run)(options, &mut |share| {
        let position = (share * 1000.0) as u64;
        bar.set_position(position);
        if progress_lines && position > told {
            told = position;
            eprintln!("{PROGRESS_WORD}{share:.3}");
        }
    })?;
    bar.finish_and_clear();
    if let Some(directory) = directory {
        let cannot = || format!("cannot write the report into {}", directory.display());
        let written = report.write_to(directory).with_context(cannot)?;
        eprintln!("{} files written to {}", written.len(), directory.display());
    }
    let to_stdout = json == Some(Path::new("-"));
    match json {
        Some(_) if to_stdout => println!("{}", report.to_json()),
        Some(path) => write(path, &report.to_json())?,
        None => {}
    }
    if !to_stdout {
        println!("{}", report.to_markdown());
        println!("{}", if report.summary.passed { "passed" } else { "the bar is not met" });
    }
    Ok(if report.summary.passed { Verdict::Good } else { Verdict::NotMet })
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

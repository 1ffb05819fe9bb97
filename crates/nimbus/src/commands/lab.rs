//! `nimbus lab`: experiments with a bar and a report.

use anyhow::Context;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use nimbus::lab::{Options, all, find};
use std::fs;
use std::path::{Path, PathBuf};

use crate::exit::Verdict;

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
    /// Run an experiment; exits with 1 when its bar is not met
    Run {
        /// Its name
        name: String,
        /// Less of everything, for a first look
        #[arg(long)]
        quick: bool,
        /// Go on for so many minutes; only `soak` can
        #[arg(long)]
        minutes: Option<u32>,
        /// Write the result as JSON to a file, or - for standard output
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Write a report (CSV, plots, Markdown and one HTML page) into this directory
        #[arg(long, value_name = "DIR")]
        report: Option<PathBuf>,
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
            Action::Run { name, quick, minutes, json, report } => {
                run(&name, &Options { quick, minutes }, json.as_deref(), report.as_deref())
            }
        }
    }
}

fn run(name: &str, options: &Options, json: Option<&Path>, directory: Option<&Path>) -> anyhow::Result<Verdict> {
    let experiment = find(name)?;
    let bar = ProgressBar::new(1000);
    if let Ok(style) = ProgressStyle::with_template(&format!("{name} {{bar:40}} {{percent}} % {{eta}}")) {
        bar.set_style(style);
    }
    let report = (experiment.run)(options, &mut |share| bar.set_position((share * 1000.0) as u64))?;
    bar.finish_and_clear();
    let to_stdout = json == Some(Path::new("-"));
    match json {
        Some(_) if to_stdout => println!("{}", report.to_json()),
        Some(path) => write(path, &report.to_json())?,
        None => {}
    }
    if let Some(directory) = directory {
        let cannot = || format!("cannot write the report into {}", directory.display());
        let written = report.write_to(directory).with_context(cannot)?;
        eprintln!("{} files written to {}", written.len(), directory.display());
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

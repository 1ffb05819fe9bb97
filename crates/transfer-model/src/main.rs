//! Checks the protocol and its mutants and prints a table: `cargo run -p nimbus-transfer-model --release`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use nimbus_transfer_model::{ALWAYS, Bounds, Mutant, SAFE, SOMETIMES, TransferModel, broken};
use stateright::report::{ReportData, ReportDiscovery, Reporter};
use stateright::{Checker, Model};

/// Checks every interleaving of the transfer protocol within bounds.
#[derive(Parser)]
struct Options {
    /// Larger bounds: takes minutes and gigabytes.
    #[arg(long)]
    deep: bool,
    /// Threads to search with; mutants always take one, which makes their counterexamples the shortest there are.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print the steps of every counterexample.
    #[arg(long)]
    steps: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    println!("{:<36} {:>11} {:>6} {:>8}  verdict", "variant", "states", "depth", "time");
    let bounds = if options.deep { Bounds::deep() } else { Bounds::full() };
    let sound = bounds.into_iter().map(|bounds| check_sound(bounds, &options)).fold(true, |all, good| all & good);
    let caught = Mutant::ALL.map(|mutant| check_mutant(mutant, &options)).into_iter().all(|caught| caught);
    if sound && caught { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether the whole protocol keeps every rule and reaches something worth checking.
fn check_sound(bounds: Bounds, options: &Options) -> bool {
    let name = bounds.name;
    let mut progress = Progress { name, show: true, time: Duration::ZERO };
    let checker = TransferModel::sound(bounds).checker().threads(options.threads).spawn_bfs();
    let checker = checker.join_and_report(&mut progress);
    let found: Vec<_> = ALWAYS.into_iter().filter_map(|(rule, _)| Some((rule, checker.discovery(rule)?))).collect();
    let reached = SOMETIMES.into_iter().filter(|(rule, _)| checker.discovery(rule).is_some()).count();
    let verdict = match found.first() {
        None => format!("sound; reaches {reached} of {} situations", SOMETIMES.len()),
        Some((rule, path)) => format!("BROKEN: not \"{rule}\", in {} steps", path.clone().into_actions().len()),
    };
    print_row(name, checker.unique_state_count(), checker.max_depth(), progress.time, &verdict);
    for (_, path) in found.into_iter().filter(|_| options.steps) {
        print_steps(&path.into_actions());
    }
    reached > 0 && verdict.starts_with("sound")
}

/// Whether the planted mistake is found.
fn check_mutant(mutant: Mutant, options: &Options) -> bool {
    let mut progress = Progress { name: mutant.name(), show: false, time: Duration::ZERO };
    let checker = TransferModel::mutated(Bounds::for_mutants(), mutant).checker().spawn_bfs();
    let checker = checker.join_and_report(&mut progress);
    let found = checker.discovery(SAFE);
    let rules = found.as_ref().map(|path| broken(checker.model(), path.last_state()).join("\" nor \""));
    let actions = found.map(|path| path.into_actions()).unwrap_or_default();
    let verdict = match rules {
        Some(rules) => format!("caught in {} steps: not \"{rules}\"", actions.len()),
        None => "NOT CAUGHT".to_string(),
    };
    print_row(mutant.name(), checker.unique_state_count(), checker.max_depth(), progress.time, &verdict);
    if options.steps {
        print_steps(&actions);
    }
    !actions.is_empty()
}

fn print_row(name: &str, states: usize, depth: usize, time: Duration, verdict: &str) {
    println!("{name:<36} {states:>11} {depth:>6} {:>6.1} s  {verdict}", time.as_secs_f64());
}

fn print_steps(actions: &[impl Debug]) {
    for (number, action) in (1..).zip(actions) {
        println!("    {number}. {action:?}");
    }
}

/// Says how far a long search is, on the error stream so that the table stays a table.
struct Progress {
    name: &'static str,
    show: bool,
    time: Duration,
}

impl<M: Model> Reporter<M> for Progress {
    fn report_checking(&mut self, data: ReportData) {
        self.time = data.duration;
        let seconds = data.duration.as_secs();
        if self.show && !data.done && seconds > 0 {
            eprint!("\r{}: {} states, depth {}, {seconds} s ", self.name, data.unique_states, data.max_depth);
        } else if self.show && data.done {
            eprint!("\r{:80}\r", "");
        }
    }

    fn report_discoveries(&mut self, _: &M, _: BTreeMap<&'static str, ReportDiscovery<M>>)
    where
        M::Action: Debug + PartialEq,
        M::State: Debug + Hash + PartialEq,
    {
    }

    fn delay(&self) -> Duration {
        Duration::from_millis(100)
    }
}

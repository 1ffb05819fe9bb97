//! The commands a contributor types: `cargo xtask demo`, `cargo xtask test`, `cargo xtask tidy`.
//!
//! Each does its own set-up, so that a fresh checkout needs nothing but Rust and Node. Unix only, because steps are
//! ended by signals.

mod browser;
mod clock;
mod count;
mod demo;
mod dependencies;
mod etcd;
mod namespaces;
mod process;
mod python;
mod suite;
mod tidy;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask <command>

  demo [args...]    build the viewer, then run `nimbus demo` (release) with these arguments
  test [--quick]    set up, run every check and test, end with the counts; --quick leaves out the browser
  ci                the same as test
  tidy              only the fast checks of the repository's own rules
";

/// Exit code for bad usage, the same as that of the `nimbus` binary.
const BAD_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = workspace_root();
    let (command, rest) = match arguments.split_first() {
        None => return usage(),
        Some((command, rest)) => (command.as_str(), rest),
    };
    match (command, rest) {
        ("-h" | "--help" | "help", _) => usage(),
        ("demo", _) => demo::run(&root, rest),
        ("test" | "ci", []) => suite::run(&root, suite::Browser::Wanted),
        ("test" | "ci", [flag]) if flag == "--quick" => suite::run(&root, suite::Browser::LeftOut),
        ("test" | "ci", [flag]) if flag == "-h" || flag == "--help" => usage(),
        ("tidy", []) => tidy::run(&root),
        ("test" | "ci" | "tidy", _) => bad_usage(&format!("`{command}` does not take {rest:?}")),
        _ => bad_usage(&format!("there is no command `{command}`")),
    }
}

fn usage() -> ExitCode {
    print!("{USAGE}");
    ExitCode::SUCCESS
}

fn bad_usage(problem: &str) -> ExitCode {
    eprint!("{problem}\n\n{USAGE}");
    ExitCode::from(BAD_USAGE)
}

/// The directory above this crate, wherever the command was typed.
fn workspace_root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let here = Path::new(&here);
    here.parent().unwrap_or(here).to_path_buf()
}

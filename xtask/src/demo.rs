//! `cargo xtask demo`: the viewer is built if it has to be, then this process becomes `nimbus demo`.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{suite, web};

/// Builds the viewer and runs the demo with these arguments.
pub(crate) fn run(root: &Path, arguments: &[String]) -> ExitCode {
    if let Err(problem) = web::prepare(root) {
        eprintln!("cannot build the viewer: {problem}");
        return ExitCode::FAILURE;
    }
    // Replacing this process keeps Ctrl-C and the exit code between the terminal and the demo.
    let error = Command::new(suite::cargo())
        .args(["run", "--release", "--package", "nimbus", "--", "demo"])
        .args(arguments)
        .current_dir(root)
        .exec();
    eprintln!("cannot start cargo: {error}");
    ExitCode::FAILURE
}

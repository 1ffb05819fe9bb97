//! `cargo xtask test`: every check and every test, in the order in which they are quickest to fail.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::clock::Stopwatch;
use crate::count::{self, Tally};
use crate::{browser, dependencies, etcd, namespaces, process, python, tidy, web};

/// Whether the browser tests belong to a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Browser {
    /// Everything runs.
    Wanted,
    /// `--quick`.
    LeftOut,
}

/// Runs the steps; stops at the first that fails; ends with the counts on a line of their own.
pub(crate) fn run(root: &Path, browser: Browser) -> ExitCode {
    let watch = Stopwatch::start();
    let mut suite = Suite::default();
    let result = steps(&mut suite, root, browser);
    println!();
    for line in &suite.lines {
        println!("{line}");
    }
    println!("total {:.1} s", watch.elapsed().as_secs_f64());
    if let Err(Stopped) = result {
        println!("stopped at the first failing step");
    }
    println!("{}", suite.tally);
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The cargo that started us.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Cargo at the top of the workspace.
pub(crate) fn in_root(root: &Path) -> Command {
    let mut command = Command::new(cargo());
    command.current_dir(root);
    command
}

fn steps(suite: &mut Suite, root: &Path, browser: Browser) -> Result<(), Stopped> {
    let cargo = |arguments: &[&str]| process::run(in_root(root).args(arguments));

    suite.check("tidy", || tidy::check(root))?;
    suite.check("fmt", || cargo(&["fmt", "--all", "--check"]))?;
    suite.check("dependencies", || dependencies::check(root, &mut in_root(root)))?;
    // The binary embeds the built viewer, so the viewer comes before anything that compiles.
    let has_web = web::present(root);
    if has_web {
        suite.check("web build", || web::prepare(root))?;
    } else {
        suite.skip("web build", "there is no web/package.json");
    }
    suite.check("clippy", || cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    suite.check("doc", || {
        process::run(in_root(root).args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings"))
    })?;
    // Wherever cargo-deny is installed it looks at advisories as well.
    if process::answer(in_root(root).args(["deny", "--version"])).is_some() {
        suite.check("deny", || cargo(&["deny", "--workspace", "check"]))?;
    }
    let mut tests = in_root(root);
    tests.args(["test", "--workspace", "--no-fail-fast"]);
    let mut left_out = Vec::new();
    match etcd::path(root) {
        Ok(path) => _ = tests.env("PATH", path),
        Err(reason) => {
            suite.skip("tests with etcd", &reason);
            left_out.extend(["--skip", etcd::TESTS]);
        }
    }
    if let Err(reason) = namespaces::permitted() {
        suite.skip("tests with network namespaces", &reason);
        left_out.extend(["--skip", namespaces::TESTS]);
    }
    if let Err(reason) = python::present() {
        suite.skip("tests with Python", &reason);
        left_out.extend(["--skip", python::TESTS]);
    }
    tests.arg("--").args(left_out);
    suite.tests("rust tests", || process::run_counted(&mut tests, count::rust_line))?;
    if has_web {
        suite.check("web types", || process::run(&mut web::type_check(root)))?;
        suite.tests("web tests", || process::run_counted(web::npm(root).arg("test"), count::web_line))?;
    } else {
        suite.skip("web tests", "there is no web/package.json");
    }
    match browser {
        Browser::LeftOut => suite.skip("browser tests", "--quick"),
        Browser::Wanted if !has_web => suite.skip("browser tests", "there is no web/package.json"),
        Browser::Wanted => suite.tests("browser tests", || browser::run(root))?,
    }
    Ok(())
}

/// A step failed and has said so.
#[derive(Debug, PartialEq)]
struct Stopped;

/// What a run has done so far.
#[derive(Default)]
struct Suite {
    tally: Tally,
    lines: Vec<String>,
}

impl Suite {
    /// Runs a step that either holds or does not; a failure counts as one failed test.
    fn check(&mut self, name: &str, step: impl FnOnce() -> Result<(), String>) -> Result<(), Stopped> {
        self.timed(name, || (Tally::default(), step()))
    }

    /// Runs a step that counts tests. Passing with no test counted means the count was not understood: a failure.
    fn tests(&mut self, name: &str, step: impl FnOnce() -> (Tally, Result<(), String>)) -> Result<(), Stopped> {
        self.timed(name, || match step() {
            (tally, Ok(())) if tally.is_empty() => (tally, Err("no test was counted in its output".to_string())),
            (tally, Ok(())) if tally.failed > 0 => {
                (tally, Err("it ended with code 0 although tests failed".to_string()))
            }
            other => other,
        })
    }

    fn skip(&mut self, name: &str, reason: &str) {
        self.tally += Tally::ONE_SKIPPED;
        self.say(format!("skipped  {name}: {reason}"));
    }

    fn timed(&mut self, name: &str, step: impl FnOnce() -> (Tally, Result<(), String>)) -> Result<(), Stopped> {
        println!("\n==> {name}");
        let watch = Stopwatch::start();
        let (mut tally, result) = step();
        let seconds = watch.elapsed().as_secs_f64();
        if result.is_err() && tally.failed == 0 {
            tally.failed = 1;
        }
        self.tally += tally;
        match result {
            Ok(()) if tally.is_empty() => self.say(format!("ok       {name} ({seconds:.1} s)")),
            Ok(()) => self.say(format!("ok       {name} ({seconds:.1} s): {tally}")),
            Err(problem) => {
                self.say(format!("FAILED   {name} ({seconds:.1} s): {problem}"));
                return Err(Stopped);
            }
        }
        Ok(())
    }

    fn say(&mut self, line: String) {
        println!("{line}");
        // The closing summary needs only the first line; the rest, the tail of a log, stands above it.
        self.lines.extend(line.lines().next().map(str::to_string));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_and_skips_counted() {
        let mut suite = Suite::default();
        let three = Tally { passed: 3, failed: 0, skipped: 1 };
        assert_eq!(suite.tests("a", || (three, Ok(()))), Ok(()));
        assert_eq!(suite.check("b", || Ok(())), Ok(()));
        suite.skip("c", "not here");
        assert_eq!(suite.tally.to_string(), "3 passed, 0 failed, 2 skipped");
    }

    #[test]
    fn a_failing_step_stops_and_counts_at_least_one_failure() {
        let mut suite = Suite::default();
        assert_eq!(suite.check("a", || Err("broken".into())), Err(Stopped));
        assert_eq!(suite.tally.failed, 1);
        assert!(suite.lines[0].starts_with("FAILED   a") && suite.lines[0].ends_with("broken"), "{:?}", suite.lines);
        let two = Tally { passed: 1, failed: 2, skipped: 0 };
        assert_eq!(suite.tests("b", || (two, Err("code 101".into()))), Err(Stopped));
        assert_eq!(suite.tally, Tally { passed: 1, failed: 3, skipped: 0 });
    }

    #[test]
    fn a_test_step_that_counts_nothing_or_hides_failures_fails() {
        let mut suite = Suite::default();
        assert_eq!(suite.tests("a", || (Tally::default(), Ok(()))), Err(Stopped));
        assert_eq!(suite.tests("b", || (Tally { passed: 1, failed: 1, skipped: 0 }, Ok(()))), Err(Stopped));
    }
}

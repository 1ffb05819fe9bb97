//! Python for the tests of the client in another language: there, or why not.

use std::process::Command;

use crate::process;

/// What the names of tests that need it have in common.
pub(crate) const TESTS: &str = "with_python";

/// Whether there is a Python that runs the example.
pub(crate) fn present() -> Result<(), String> {
    attempt("python3")
}

fn attempt(program: &str) -> Result<(), String> {
    let recent = "import sys; sys.exit(0 if sys.version_info >= (3, 8) else 1)";
    match process::answer(Command::new(program).args(["-c", recent])) {
        Some(_) => Ok(()),
        None => Err(format!("they need `{program}` 3.8 or newer on PATH")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_is_missing() {
        let none = attempt("no-such-python").unwrap_err();
        assert!(none.contains("no-such-python"), "{none}");
    }
}

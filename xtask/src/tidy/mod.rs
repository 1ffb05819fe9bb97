//! The repository's own rules, each in a file of its own. Every rule names its reason where it is written down, and
//! every one has a test with a planted violation.

mod core_rules;
mod crate_header;
mod crate_order;
mod deploy_metrics;
mod doc_paths;
mod file_length;
mod file_names;
mod links;
mod manifest;
mod marks;
mod only_knows;
mod registry_hosts;
mod rust_text;
mod tree;
mod whitespace;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use tree::Tree;

/// A broken rule and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    path: String,
    /// Counted from 1; 0 when the whole file is meant.
    line: usize,
    what: String,
}

impl Problem {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Problem {
        Problem { path: path.to_string(), line, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

const CHECKS: [fn(&Tree) -> Vec<Problem>; 12] = [
    doc_paths::check,
    core_rules::check,
    only_knows::check,
    crate_order::check,
    deploy_metrics::check,
    file_length::check,
    file_names::check,
    marks::check,
    registry_hosts::check,
    crate_header::check,
    links::check,
    whitespace::check,
];

/// The command: prints every problem.
pub(crate) fn run(root: &Path) -> ExitCode {
    match check(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// The step of the test command: prints every problem, fails with their number.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let tree = Tree::read(root)?;
    let mut problems: Vec<Problem> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    problems.sort();
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => {
            println!("{} files follow the rules", tree.len());
            Ok(())
        }
        1 => Err("1 rule is broken".to_string()),
        many => Err(format!("{many} rules are broken")),
    }
}

/// Whether a line holds a word, not inside a longer word, though it may be followed by `_`, so that `tokio` finds
/// `tokio_util`.
fn finds_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open_start = word.starts_with(|c: char| !c.is_alphanumeric());
        let open_end = word.ends_with(|c: char| !c.is_alphanumeric());
        (open_start || !before.is_some_and(|c| c.is_alphanumeric() || c == '_'))
            && (open_end || !after.is_some_and(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a check over planted files and shows each problem as one line.
    pub(super) fn found(check: fn(&Tree) -> Vec<Problem>, files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn words_are_found_whole() {
        assert!(finds_word("use tokio::net;", "tokio"));
        assert!(finds_word("tokio_util::x", "tokio"));
        assert!(!finds_word("my_tokio()", "tokio"));
        assert!(!finds_word("tokios", "tokio"));
        assert!(finds_word("rand::random()", "rand::"));
        assert!(!finds_word("operand::x", "rand::"));
    }

    #[test]
    fn a_broken_rule_on_disk_fails_the_step() {
        let root = std::env::temp_dir().join(format!("nimbus-xtask-tidy-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("a.md"), "clean\n").unwrap();
        assert_eq!(check(&root), Ok(()));
        std::fs::write(root.join("a.md"), "not clean \n").unwrap();
        assert_eq!(check(&root), Err("1 rule is broken".to_string()));
        std::fs::remove_dir_all(&root).unwrap();
    }
}

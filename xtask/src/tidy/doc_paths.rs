//! A path that a document names must exist: documents that describe folders long gone mislead.

use super::tree::{Tree, is_made};
use super::{Problem, links};

/// What a path of this repository starts with.
const TOPS: [&str; 9] = ["crates/", "web/", "sdk/", "xtask/", "docs/", "examples/", "deploy/", "fuzz/", ".ci/"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(&[".md"]) {
        let covered = matches!(path, "ARCHITECTURE.md" | "README.md" | "CONTRIBUTING.md") || path.starts_with("docs/");
        if !covered {
            continue;
        }
        for (line, text) in links::prose(text) {
            for named in in_backticks(text).filter_map(repo_path) {
                if !tree.exists(named) && !is_made(named) {
                    problems.push(Problem::new(path, line, format!("names `{named}`, which does not exist")));
                }
            }
        }
    }
    problems
}

fn in_backticks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The path in a code span; nothing for commands, patterns and placeholders.
fn repo_path(span: &str) -> Option<&str> {
    let is_path = TOPS.iter().any(|top| span.starts_with(top)) && !span.contains(char::is_whitespace);
    let is_pattern = span.contains(['*', '<', '{', '\u{2026}']) || span.contains("...");
    // A line number may follow: `crates/model/src/tick.rs:12`.
    (is_path && !is_pattern).then(|| span.split(':').next().unwrap_or(span))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn a_missing_path_is_found_with_its_line() {
        let there = ("crates/model/src/tick.rs", "");
        let readme = ("README.md", "one\nsee `crates/model/src/tick.rs` and `crates/gone/src/lib.rs`\n");
        assert_eq!(
            found(check, &[there, readme]),
            ["README.md:2: names `crates/gone/src/lib.rs`, which does not exist"]
        );
        let nested = ("docs/deep/page.md", "`web/nothing.ts`");
        assert_eq!(found(check, &[nested]).len(), 1);
    }

    #[test]
    fn folders_patterns_commands_and_made_files_pass() {
        let there = ("crates/model/src/tick.rs", "");
        let text = "`crates/model/`, `crates/model/src/tick.rs:12`, `crates/<name>`, `crates/*/src`, `web/dist`, \
                    `docs/x is prose`, crates/unquoted\n```\n`crates/in/fence`\n```\n";
        assert_eq!(found(check, &[there, ("ARCHITECTURE.md", text)]), [""; 0]);
    }
}

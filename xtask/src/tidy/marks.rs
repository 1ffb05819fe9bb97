//! Unfinished work is finished or written down as an issue, not left as a mark; a test that does not run says why and
//! since when.
//!
//! The marks are spelled in two parts here, so that this file follows its own rule.

use super::tree::Tree;
use super::{Problem, finds_word};

const MARKS: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
];

const IGNORE: &str = concat!("#[", "ignore");

const COVERED: [&str; 12] =
    [".rs", ".ts", ".tsx", ".js", ".mjs", ".css", ".html", ".sh", ".py", ".toml", ".md", ".yml"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(&COVERED) {
        for (index, line) in text.lines().enumerate() {
            for mark in MARKS.iter().filter(|mark| finds_word(line, mark)) {
                problems.push(Problem::new(path, index + 1, format!("unfinished: `{mark}`")));
            }
            let ignored = line.split_once(IGNORE).filter(|_| path.ends_with(".rs"));
            if ignored.is_some_and(|(_, rest)| !has_dated_reason(rest)) {
                let what = "an ignored test needs a reason with a date: = \"why, since YYYY-MM-DD\"";
                problems.push(Problem::new(path, index + 1, what));
            }
        }
    }
    problems
}

/// True for ` = "slow, since 2026-01-31"]`.
fn has_dated_reason(rest: &str) -> bool {
    let Some(reason) = rest.trim_start().strip_prefix('=').and_then(|rest| rest.split('"').nth(1)) else {
        return false;
    };
    let is_date = |word: &&str| {
        let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        shape == "9999-99-99"
    };
    let words = reason.split(|c: char| !(c.is_alphanumeric() || c == '-'));
    let (dates, others): (Vec<&str>, Vec<&str>) = words.filter(|word| !word.is_empty()).partition(is_date);
    !dates.is_empty() && !others.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn marks_are_found_in_code_and_documents() {
        for mark in MARKS {
            assert_eq!(found(check, &[("a.rs", &format!("fine\n// {mark} later\n"))]).len(), 1, "{mark}");
        }
        assert_eq!(
            found(check, &[("a.md", &format!("{}: more", MARKS[0]))]),
            [format!("a.md:1: unfinished: `{}`", MARKS[0])]
        );
        assert_eq!(found(check, &[("a.ts", "const TODOS = 1; // XXXX\n"), ("package-lock.json", MARKS[2])]), [""; 0]);
    }

    #[test]
    fn an_ignored_test_needs_a_reason_and_a_date() {
        for (rest, problems) in [
            ("]", 1),
            (" = \"slow\"]", 1),
            (" = \"2026-01-31\"]", 1),
            (" = \"slow, since 2026-01-31\"]", 0),
            (" = \"needs etcd (2026-11-15)\"]", 0),
        ] {
            assert_eq!(found(check, &[("a.rs", &format!("{IGNORE}{rest}\nfn f() {{}}\n"))]).len(), problems, "{rest}");
        }
    }
}

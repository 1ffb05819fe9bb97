//! Reads how many tests passed out of what the test runners print.

use std::fmt;
use std::ops::AddAssign;

/// How many tests ended which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Ran and held.
    pub(crate) passed: u64,
    /// Ran and did not hold.
    pub(crate) failed: u64,
    /// Did not run.
    pub(crate) skipped: u64,
}

impl Tally {
    /// One thing that was left out.
    pub(crate) const ONE_SKIPPED: Tally = Tally { passed: 0, failed: 0, skipped: 1 };

    /// True when nothing at all was counted, which in a test step means that the count could not be read.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Tally::default()
    }

    /// Adds `number` under the word a runner uses for it; false when the word is not known.
    fn add(&mut self, number: u64, word: &str) -> bool {
        match word {
            "passed" | "pass" | "flaky" => self.passed += number,
            "failed" | "fail" | "cancelled" | "interrupted" => self.failed += number,
            "skipped" | "ignored" | "todo" | "did not run" => self.skipped += number,
            "total" | "measured" | "filtered out" => {}
            _ => return false,
        }
        true
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Counts of a line of `cargo test`; zero for lines that are not a result.
pub(crate) fn rust_line(line: &str) -> Tally {
    let line = without_colour(line);
    let Some(counts) = line.trim().strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
        return Tally::default();
    };
    let mut tally = Tally::default();
    for part in counts.1.split(';') {
        if let Some((number, word)) = number_and_word(part) {
            tally.add(number, word);
        }
    }
    tally
}

/// Counts of a line of a JavaScript runner: Vitest, Playwright, Jest or Node's own. Zero for other lines.
pub(crate) fn web_line(line: &str) -> Tally {
    let line = without_colour(line);
    let line = line.trim();
    if let Some(entry) = line.strip_prefix("# ").or_else(|| line.strip_prefix("\u{2139} ")) {
        return node_entry(entry);
    }
    let counts = line.strip_prefix("Tests:").or_else(|| line.strip_prefix("Tests ")).unwrap_or(line);
    // A trailing parenthesis holds the total or the time.
    let counts = match counts.rfind('(') {
        Some(at) if counts.ends_with(')') => &counts[..at],
        _ => counts,
    };
    let mut tally = Tally::default();
    for part in counts.split([',', '|']) {
        match number_and_word(part) {
            Some((number, word)) if tally.add(number, word) => {}
            _ => return Tally::default(),
        }
    }
    tally
}

/// Node prints one line per count, the word first: `pass 12`.
fn node_entry(entry: &str) -> Tally {
    let mut tally = Tally::default();
    if let Some((word, number)) = entry.split_once(' ')
        && matches!(word, "pass" | "fail" | "cancelled" | "skipped" | "todo")
        && let Ok(number) = number.trim().parse()
    {
        tally.add(number, word);
    }
    tally
}

fn number_and_word(part: &str) -> Option<(u64, &str)> {
    let (number, word) = part.trim().split_once(' ')?;
    Some((number.parse().ok()?, word.trim()))
}

/// The line without terminal colour sequences (escape, bracket, up to a letter).
fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut inside = false;
    for c in line.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (false, c) => plain.push(c),
            (true, c) if c.is_ascii_alphabetic() => inside = false,
            (true, _) => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally { passed, failed, skipped }
    }

    #[test]
    fn reads_cargo_results() {
        let line = "test result: ok. 41 passed; 0 failed; 2 ignored; 0 measured; 7 filtered out; finished in 0.31s";
        assert_eq!(rust_line(line), tally(41, 0, 2));
        let line = "test result: \u{1b}[31mFAILED\u{1b}[0m. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(rust_line(line), tally(3, 1, 0));
        assert_eq!(rust_line("test tick::tests::orders ... ok"), Tally::default());
        assert_eq!(rust_line("3 passed"), Tally::default());
    }

    #[test]
    fn reads_vitest_and_not_its_count_of_files() {
        assert_eq!(web_line("      Tests  1 failed | 12 passed | 2 skipped (15)"), tally(12, 1, 2));
        assert_eq!(web_line(" \u{1b}[2mTests\u{1b}[22m  \u{1b}[32m9 passed\u{1b}[39m (9)"), tally(9, 0, 0));
        assert_eq!(web_line(" Test Files  2 passed (2)"), Tally::default());
    }

    #[test]
    fn reads_playwright_jest_and_node() {
        assert_eq!(web_line("  3 passed (5.2s)"), tally(3, 0, 0));
        assert_eq!(web_line("  1 did not run"), tally(0, 0, 1));
        assert_eq!(web_line("Tests:       1 failed, 2 passed, 3 total"), tally(2, 1, 0));
        assert_eq!(web_line("Test Suites: 1 passed, 1 total"), Tally::default());
        assert_eq!(web_line("\u{2139} pass 12"), tally(12, 0, 0));
        assert_eq!(web_line("# fail 1"), tally(0, 1, 0));
        assert_eq!(web_line("# tests 13"), Tally::default());
        assert_eq!(web_line("4 passed, 1 failed, 2 skipped"), tally(4, 1, 2));
        assert_eq!(web_line("3 bodies moved"), Tally::default());
    }

    #[test]
    fn the_last_line_has_one_form() {
        assert_eq!(tally(10, 1, 2).to_string(), "10 passed, 1 failed, 2 skipped");
    }
}

//! No tabs, no carriage returns, no blanks at the end of a line: they make differences that nobody sees.

use super::Problem;
use super::tree::Tree;

const COVERED: [&str; 4] = [".rs", ".ts", ".md", ".toml"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(&COVERED) {
        // Not `lines()`, which would hide carriage returns.
        for (index, line) in text.split('\n').enumerate() {
            if line.contains('\t') {
                problems.push(Problem::new(path, index + 1, "has a tab"));
            }
            if line.trim_end() != line {
                problems.push(Problem::new(path, index + 1, "ends in white space"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn white_space_is_found() {
        assert_eq!(found(check, &[("a.rs", "x\ny \n")]), ["a.rs:2: ends in white space"]);
        assert_eq!(found(check, &[("a.toml", "\tx\n")]), ["a.toml:1: has a tab"]);
        assert_eq!(found(check, &[("a.md", "x\r\n")]), ["a.md:1: ends in white space"]);
        assert_eq!(found(check, &[("a.ts", "x\n\ny\n"), ("Makefile", "\tx \n")]), [""; 0]);
    }
}

//! A file past this length holds more than one mechanism.

use super::Problem;
use super::tree::Tree;

const LINES_MAX: usize = 800;

const SOURCES: [&str; 8] = [".rs", ".ts", ".tsx", ".js", ".mjs", ".css", ".html", ".sh"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let lengths = tree.texts(&SOURCES).map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > LINES_MAX);
    long.map(|(path, lines)| Problem::new(path, 0, format!("{lines} lines: split it by mechanism"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn length_is_limited_for_sources_and_not_for_data() {
        let (longest, too_long) = ("x\n".repeat(LINES_MAX), "x\n".repeat(LINES_MAX + 1));
        assert_eq!(found(check, &[("a.rs", &longest), ("golden.txt", &too_long)]), [""; 0]);
        assert_eq!(found(check, &[("web/a.ts", &too_long)]), ["web/a.ts: 801 lines: split it by mechanism"]);
    }
}

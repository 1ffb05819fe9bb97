//! Broken world files are refused with the line, the problem and the remedy.
//!
//! Each file under `tests/broken` marks its own mistakes: a line that ends in `#! path | problem | remedy` must be
//! reported there, with these fragments, and no other line may be.

use nimbus_model::world_file::{self, FILE_BYTES_MAX, PROBLEMS_MAX, Problem};
use std::fs;
use std::path::Path;

struct Expected<'t> {
    line: usize,
    path: &'t str,
    what: &'t str,
    remedy: &'t str,
}

impl Expected<'_> {
    fn is_met_by(&self, problem: &Problem) -> bool {
        problem.line == self.line
            && problem.path == self.path
            && problem.what.contains(self.what)
            && problem.remedy.contains(self.remedy)
    }
}

fn expectations(text: &str) -> Vec<Expected<'_>> {
    let mut expected = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        for mark in content.split("#!").skip(1) {
            let parts: Vec<&str> = mark.split(" | ").map(str::trim).collect();
            let [path, what, remedy] = parts[..] else {
                panic!("line {line} has a mark that is not three parts: {mark}")
            };
            let path = path.trim_end_matches('|').trim();
            expected.push(Expected { line, path, what, remedy });
        }
    }
    expected
}

#[test]
fn every_broken_file_is_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 14);
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let expected = expectations(&text);
        assert!(!expected.is_empty(), "{name} marks no mistake");
        let Err(problems) = world_file::parse(&text, name) else {
            wrong.push(format!("{name} is accepted"));
            continue;
        };
        for e in expected.iter().filter(|e| !problems.list.iter().any(|p| e.is_met_by(p))) {
            wrong.push(format!("{name}:{}: not reported: {} | {} | {}", e.line, e.path, e.what, e.remedy));
        }
        for p in problems.list.iter().filter(|p| !expected.iter().any(|e| e.is_met_by(p))) {
            wrong.push(format!("{name}:{}: not expected: {p}", p.line));
        }
        let in_order = problems.list.is_sorted_by_key(|p| (p.line, p.column));
        assert!(in_order, "{name}: problems come in the order of the file");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_problem_reads_as_one_line() {
    let text = "name = \"w\"\n[[bodies]]\nshape = { ball = { radius = -1 } }\n";
    let problems = world_file::parse(text, "w.toml").unwrap_err();
    assert_eq!(
        problems.to_string(),
        "w.toml:3: bodies[0].shape.ball.radius is -1; it must be above 0 — write a positive radius in metres"
    );
    assert_eq!((problems.list[0].line, problems.list[0].column), (3, 29));
}

#[test]
fn a_huge_file_is_refused_unread() {
    let text = "#".repeat(FILE_BYTES_MAX + 1);
    let problems = world_file::parse(&text, "huge.toml").unwrap_err();
    assert!(problems.list[0].what.contains("bytes; at most 16777216"), "{problems}");
    assert!(world_file::parse(&format!("name = \"w\"\n{}", &text[..FILE_BYTES_MAX - 11]), "w").is_ok());
}

#[test]
fn many_problems_are_counted_not_listed() {
    let text = format!("name = \"w\"\n{}", "[[bodies]]\n".repeat(1_000));
    let problems = world_file::parse(&text, "w.toml").unwrap_err();
    assert_eq!((problems.list.len(), problems.more), (PROBLEMS_MAX, 1_000 - PROBLEMS_MAX));
}

#[test]
fn totals_are_bounded_across_entries() {
    let half =
        "[[bodies]]\nshape = { ball = { radius = 0.5 } }\nrepeat = { count = [100, 10, 101], spacing = [1, 1, 1] }\n";
    let text = format!("name = \"w\"\n{}", half.repeat(2));
    let problems = world_file::parse(&text, "w.toml").unwrap_err();
    assert_eq!((problems.list.len(), problems.list[0].line), (1, 7), "{problems}");
    let injection = "[[injections]]\nvolume = { min = [0, 0, 0], max = [1, 1, 1] }\nper_second = 1\ncount = 600_000\n\
                     choices = [{ shape = { ball = { radius = 0.5 } } }]\n";
    let roomy = "name = \"w\"\n[budget]\nbodies = 2_000_000\n";
    assert!(world_file::parse(&format!("{roomy}{injection}"), "w").is_ok());
    let problems = world_file::parse(&format!("{roomy}{}", injection.repeat(2)), "w.toml").unwrap_err();
    assert!(problems.list[0].what.contains("1200000 bodies in all"), "{problems}");
}

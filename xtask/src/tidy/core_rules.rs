//! A core is a pure function of its inputs: no clock, thread, socket, file, environment, ambient randomness, hash
//! order, or output. Clippy bans some of these by type; this check needs no compiler and also sees what is behind a
//! feature.

use super::tree::Tree;
use super::{Problem, finds_word, rust_text};

const CORES: [&str; 11] =
    ["model", "scenes", "wire", "space", "physics", "node", "harvest", "control", "gateway", "client", "peer"];

const BANNED: [(&str, &str); 17] = [
    ("Instant::now", "time is an argument"),
    ("SystemTime", "time is an argument"),
    ("thread::", "a core is single threaded"),
    ("thread_local!", "state is passed, not ambient"),
    ("rand::", "randomness is a seed passed in: nimbus_model::Rng"),
    ("tokio", "a core does not wait"),
    ("async fn", "a core does not wait"),
    ("HashMap", "iteration order is not defined: use BTreeMap"),
    ("HashSet", "iteration order is not defined: use BTreeSet"),
    ("std::net", "bytes come in and go out through the shell"),
    ("std::fs", "bytes come in and go out through the shell"),
    ("std::env", "configuration is an argument"),
    ("println!", "a core returns what it has to say"),
    ("eprintln!", "a core returns what it has to say"),
    ("print!", "a core returns what it has to say"),
    ("eprint!", "a core returns what it has to say"),
    ("dbg!", "a core returns what it has to say"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(&[".rs"]) {
        if !is_core_source(path) {
            continue;
        }
        let code = rust_text::code_only(text);
        for (index, line) in code.lines().enumerate() {
            for (word, why) in BANNED.iter().filter(|(word, _)| finds_word(line, word)) {
                problems.push(Problem::new(path, index + 1, format!("`{word}` in a core: {why}")));
            }
        }
        for (line, used) in grouped_imports(&code) {
            for (word, why) in BANNED.iter().filter(|(word, _)| word.starts_with("std::") && finds_word(&used, word)) {
                problems.push(Problem::new(path, line, format!("`{word}` in a core: {why}")));
            }
        }
    }
    problems
}

/// True for the sources of a core; a file of tests is not one.
fn is_core_source(path: &str) -> bool {
    let Some((name, rest)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else {
        return false;
    };
    CORES.contains(&name) && !rest.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// Full paths of the imports that are written in braces, such as `use std::{fs, io}`, with the line they start on.
fn grouped_imports(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let follows_name = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let tree = code[at + 4..].split(';').next().unwrap_or_default();
        if follows_name || !tree.contains('{') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let mut paths = Vec::new();
        flatten("", tree, &mut paths);
        found.extend(paths.into_iter().map(|path| (line, path)));
    }
    found
}

fn flatten(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let mut depth = 0usize;
    let parts = tree.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    for part in parts {
        match (part.find('{'), part.rfind('}')) {
            (Some(open), Some(close)) if open < close => {
                flatten(&format!("{prefix}{}", part[..open].trim()), &part[open + 1..close], paths);
            }
            _ => paths.push(format!("{prefix}{}", part.trim())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn every_banned_word_is_found_in_a_core_and_allowed_in_a_shell() {
        for (word, _) in BANNED {
            let source = format!("fn f() {{\n    {word} x;\n}}\n");
            let problems = found(check, &[("crates/node/src/deep/inbox.rs", &source)]);
            assert!(
                problems.iter().any(|p| p.starts_with(&format!("crates/node/src/deep/inbox.rs:2: `{word}`"))),
                "{word}"
            );
            assert_eq!(found(check, &[("crates/runtime/src/clock.rs", &source)]), [""; 0]);
        }
    }

    #[test]
    fn grouped_imports_are_seen() {
        let source = "//! Doc.\n\nuse std::{\n    collections::BTreeMap,\n    fs::{self, File},\n};\n";
        let problems = found(check, &[("crates/wire/src/frame.rs", source)]);
        assert!(!problems.is_empty());
        assert!(problems.iter().all(|p| p.starts_with("crates/wire/src/frame.rs:3: `std::fs`")), "{problems:?}");
    }

    #[test]
    fn comments_strings_tests_and_longer_words_pass() {
        let source = "//! No HashMap here, nor tokio.\nconst A: &str = \"std::fs\";\nfn operand::x() {}\n\
                      #[cfg(test)]\nmod tests {\n    use std::fs;\n    fn f() { println!(\"{}\", 1); }\n}\n";
        assert_eq!(found(check, &[("crates/model/src/a.rs", source)]), [""; 0]);
        assert_eq!(found(check, &[("crates/model/src/a/tests.rs", "use std::fs;")]), [""; 0]);
    }
}

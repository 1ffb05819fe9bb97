//! Some names belong to one crate, so that what they stand for can be replaced there and nowhere else.

use super::tree::Tree;
use super::{Problem, finds_word, manifest, rust_text};

/// Names, and the crates that may use them.
const KNOWN_BY: [(&[&str], &[&str]); 4] = [
    (&["rapier3d", "parry3d"], &["physics"]),
    (&["tokio"], &["runtime", "sdk", "nimbus"]),
    (&["quinn"], &["runtime", "sdk", "nimbus"]),
    (&["axum", "etcd"], &["runtime", "nimbus"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(&[".rs", "/Cargo.toml"]) {
        let Some((crate_name, _)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/')) else {
            continue;
        };
        for (line, name, owners) in names_used(path, text) {
            if !owners.contains(&crate_name) {
                let what = format!("names `{name}`, which only {} may know", owners.join(" and "));
                problems.push(Problem::new(path, line, what));
            }
        }
    }
    problems
}

type Found = (usize, &'static str, &'static [&'static str]);

fn names_used(path: &str, text: &str) -> Vec<Found> {
    let pairs = || KNOWN_BY.iter().flat_map(|(names, owners)| names.iter().map(move |name| (*name, *owners)));
    let mut found = Vec::new();
    if path.ends_with(".rs") {
        for (index, line) in rust_text::without_comments_and_strings(text).lines().enumerate() {
            found.extend(
                pairs().filter(|(name, _)| finds_word(line, name)).map(|(name, owners)| (index + 1, name, owners)),
            );
        }
    } else {
        for dependency in manifest::dependencies(text) {
            let is_named = |name: &str| {
                let rest = dependency.package.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
            };
            found.extend(
                pairs().filter(|(name, _)| is_named(name)).map(|(name, owners)| (dependency.line, name, owners)),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn the_engine_is_known_to_physics_only() {
        let source = "use rapier3d::prelude::*;\n";
        let manifest = "[dev-dependencies]\nparry3d = \"1\"\n";
        assert_eq!(
            found(check, &[("crates/physics/src/a.rs", source), ("crates/physics/Cargo.toml", manifest)]),
            [""; 0]
        );
        assert_eq!(
            found(check, &[("crates/node/src/a.rs", source), ("crates/node/Cargo.toml", manifest)]),
            [
                "crates/node/Cargo.toml:2: names `parry3d`, which only physics may know",
                "crates/node/src/a.rs:1: names `rapier3d`, which only physics may know",
            ]
        );
    }

    #[test]
    fn the_network_is_known_to_the_shell_only() {
        let manifest = "[dependencies]\netcd-client = \"0.21\"\ntokio.workspace = true\n";
        assert_eq!(found(check, &[("crates/runtime/Cargo.toml", manifest)]), [""; 0]);
        assert_eq!(found(check, &[("crates/universe/Cargo.toml", manifest)]).len(), 2);
        assert_eq!(
            found(check, &[("crates/sdk/Cargo.toml", manifest)]).len(),
            1,
            "a client of a gateway needs no etcd"
        );
        assert_eq!(found(check, &[("crates/universe/src/lib.rs", "//! Unlike tokio.\nfn f() {}\n")]), [""; 0]);
    }
}

//! A file is named after the one mechanism it holds; these names hold anything.

use super::Problem;
use super::tree::Tree;

const EMPTY_NAMES: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "misc", "manager", "managers"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let bad = tree.paths().filter_map(|path| Some((path, path.split('/').find(|part| says_nothing(part))?)));
    bad.map(|(path, part)| Problem::new(path, 0, format!("`{part}` says nothing: name the mechanism"))).collect()
}

/// True for `utils.rs` and also for `body_manager.rs`.
fn says_nothing(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part);
    stem.rsplit(['_', '-']).next().is_some_and(|last| EMPTY_NAMES.contains(&last))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn empty_names_are_found_for_files_and_folders() {
        for path in ["crates/a/src/utils.rs", "crates/a/tests/common/mod.rs", "web/src/body_manager.ts", "misc/x.txt"] {
            assert_eq!(found(check, &[(path, "")]).len(), 1, "{path}");
        }
        assert_eq!(found(check, &[("crates/a/src/utility_curve.rs", ""), ("docs/common-ground.md", "")]), [""; 0]);
    }
}

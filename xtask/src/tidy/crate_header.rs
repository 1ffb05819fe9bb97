//! Every crate takes the workspace's lints, says in its manifest what it is for, and opens with a page about itself.

use super::tree::Tree;
use super::{Problem, manifest};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let folders = tree.crates().map(|name| format!("crates/{name}"));
    let xtask = tree.exists("xtask/Cargo.toml").then(|| "xtask".to_string());
    folders.chain(xtask).flat_map(|folder| check_crate(tree, &folder)).collect()
}

fn check_crate(tree: &Tree, folder: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let path = format!("{folder}/Cargo.toml");
    let text = tree.text(&path).unwrap_or_default();
    if manifest::value(text, "lints", "workspace") != Some("true") {
        problems.push(Problem::new(&path, 0, "does not take the workspace's lints: [lints] workspace = true"));
    }
    if manifest::value(text, "package", "description").is_none_or(str::is_empty) {
        problems.push(Problem::new(&path, 0, "has no description"));
    }
    let roots = ["lib.rs", "main.rs"].map(|name| format!("{folder}/src/{name}"));
    let present: Vec<&String> = roots.iter().filter(|root| tree.exists(root)).collect();
    if present.is_empty() {
        problems.push(Problem::new(&path, 0, "has neither src/lib.rs nor src/main.rs"));
    }
    for root in present {
        if !tree.text(root).is_some_and(|text| text.starts_with("//!")) {
            problems.push(Problem::new(root, 1, "does not start with `//!` and what the crate is for"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"x\"\ndescription = \"What it is for.\"\n[lints]\nworkspace = true\n";

    #[test]
    fn a_whole_crate_passes() {
        let files = [("crates/x/Cargo.toml", MANIFEST), ("crates/x/src/lib.rs", "//! What it is for.\n")];
        assert_eq!(found(check, &files), [""; 0]);
    }

    #[test]
    fn each_missing_part_is_found() {
        let source = ("xtask/src/main.rs", "//! Doc.\n");
        let no_lints = MANIFEST.replace("true", "false");
        assert_eq!(found(check, &[("xtask/Cargo.toml", &no_lints), source]).len(), 1);
        let no_description = MANIFEST.replace("What it is for.", "");
        assert_eq!(
            found(check, &[("xtask/Cargo.toml", &no_description), source]),
            ["xtask/Cargo.toml: has no description"]
        );
        assert_eq!(found(check, &[("xtask/Cargo.toml", MANIFEST), ("xtask/src/main.rs", "use x;\n")]).len(), 1);
        assert_eq!(found(check, &[("crates/x/Cargo.toml", MANIFEST)]).len(), 1);
    }
}

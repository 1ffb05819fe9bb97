//! The files of the repository as the checks see them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process;

/// Folders that are made, not written; the same that `.gitignore` names.
const MADE: [&str; 8] = [
    "target",
    "node_modules",
    "web/dist",
    "web/test-results",
    "sdk/typescript/dist",
    "examples/browser-game/dist",
    "reports",
    ".git",
];

/// Every file that is or could be committed, by its path from the top, with its text if it is text.
pub(super) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads what git knows or would add; without git, everything but made folders.
    pub(super) fn read(root: &Path) -> Result<Tree, String> {
        let paths = match listed_by_git(root) {
            Some(paths) => paths,
            None => walked(root)?,
        };
        let mut files = BTreeMap::new();
        for path in paths {
            match fs::read(root.join(&path)) {
                Ok(bytes) => files.insert(path, String::from_utf8(bytes).ok()),
                // Removed from disk but not yet from the index.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(format!("{path}: {error}")),
            };
        }
        Ok(Tree { files })
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|(path, text)| (path.to_string(), Some(text.to_string()))).collect() }
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Every path, in order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Every text file whose name ends in one of these, in order.
    pub(super) fn texts<'a>(&'a self, endings: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| endings.iter().any(|ending| path.ends_with(ending)))
            .filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Whether a file or folder is there.
    pub(super) fn exists(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let below = self.files.range(folder.clone()..).next();
        self.files.contains_key(path) || below.is_some_and(|(first, _)| first.starts_with(&folder))
    }

    /// Names of the folders in `crates/` that hold a manifest.
    pub(super) fn crates(&self) -> impl Iterator<Item = &str> {
        self.paths().filter_map(|path| {
            let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some(name)
        })
    }
}

/// Whether a path lies in a folder that is made by a build, so that it may be missing.
pub(super) fn is_made(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    MADE.iter()
        .any(|made| path == *made || path.starts_with(&format!("{made}/")) || path.ends_with(&format!("/{made}")))
        || path.contains("/node_modules/")
        || path.starts_with("target-")
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = process::answer(&mut git)?;
    Some(list.split('\0').filter(|path| !path.is_empty()).map(str::to_string).collect())
}

fn walked(root: &Path) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(root.join(&folder)).map_err(|error| format!("{folder}: {error}"))?;
        for entry in entries.flatten() {
            let path = format!("{folder}{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_made(&path) => folders.push(format!("{path}/")),
                Ok(kind) if kind.is_file() => paths.push(path),
                _ => {}
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_exist_but_not_beginnings_of_names() {
        let tree = Tree::of(&[("crates/model/Cargo.toml", ""), ("crates/model-old/src/lib.rs", "")]);
        assert!(tree.exists("crates/model/Cargo.toml"));
        assert!(tree.exists("crates/model") && tree.exists("crates/model/"));
        assert!(!tree.exists("crates/mod") && !tree.exists("crates/model/src"));
        assert_eq!(tree.crates().collect::<Vec<_>>(), ["model"]);
    }

    #[test]
    fn walking_leaves_out_made_folders() {
        let root = std::env::temp_dir().join(format!("nimbus-xtask-tree-{}", std::process::id()));
        for path in ["a/b.rs", "target/debug/x.rs", "web/node_modules/y.ts", "web/src/z.ts"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let mut paths = walked(&root).unwrap();
        paths.sort();
        assert_eq!(paths, ["a/b.rs", "web/src/z.ts"]);
        let tree = Tree::read(&root).unwrap();
        assert_eq!((tree.len(), tree.text("a/b.rs")), (2, Some("text")));
        fs::remove_dir_all(&root).unwrap();
    }
}

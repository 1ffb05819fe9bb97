//! What may enter the dependency tree: licences, sources and banned packages, as `deny.toml` has them.
//!
//! cargo-deny checks the same and more, but takes minutes to install. This check needs nothing but cargo, so it is never
//! left out. It does not know advisories.

use std::path::Path;
use std::process::Command;

use crate::process;

/// The one place that packages come from, as the lock file writes it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Says what is wrong with the packages of the workspace.
pub(crate) fn check(root: &Path, cargo: &mut Command) -> Result<(), String> {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    let rules = Rules::read(&read("deny.toml")?);
    let tree = cargo.args(["tree", "--locked", "--workspace", "--all-features", "--target", "all"]);
    let tree = process::answer(tree.args(["--prefix", "none", "--format", "{p}|{l}"])).ok_or("`cargo tree` failed")?;
    let mut problems = rules.problems(&tree);
    problems.extend(foreign_sources(&read("Cargo.lock")?));
    match problems.as_slice() {
        [] => Ok(()),
        problems => Err(problems.join("; ")),
    }
}

/// What `deny.toml` says about licences and packages.
struct Rules {
    licences: Vec<String>,
    banned: Vec<String>,
}

impl Rules {
    fn read(text: &str) -> Rules {
        let (mut table, mut rules) = ("", Rules { licences: Vec::new(), banned: Vec::new() });
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table = name;
            }
            let quoted = || line.split('"').nth(1).unwrap_or_default().to_string();
            match table {
                "licenses" if line.starts_with('"') => rules.licences.push(quoted()),
                // One with wrappers may be there, around them; `cargo xtask tidy` sees to who names it.
                "bans" if line.starts_with("{ crate = ") && !line.contains("wrappers") => rules.banned.push(quoted()),
                _ => {}
            }
        }
        rules
    }

    fn problems(&self, tree: &str) -> Vec<String> {
        let mut problems = Vec::new();
        if self.licences.is_empty() || self.banned.is_empty() {
            problems.push("deny.toml allows no licence or bans nothing; has its form changed?".to_string());
        }
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let (package, licence) = line.trim_end_matches(" (*)").split_once('|').unwrap_or((line, ""));
            let name = package.split(' ').next().unwrap_or(package);
            if !self.allows(licence) {
                problems.push(format!("{package} has the licence `{licence}`, which deny.toml does not allow"));
            }
            if self.banned.iter().any(|banned| banned == name) {
                problems.push(format!("{package} is banned by deny.toml"));
            }
        }
        problems.sort_unstable();
        problems.dedup();
        problems
    }

    /// True when an expression of licences can be met with allowed ones. `/` is an old way to write `OR`.
    fn allows(&self, expression: &str) -> bool {
        let words = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let mut words = words.split_whitespace().peekable();
        let allowed = self.any(&mut words);
        words.next().is_none() && allowed
    }

    fn any<'a>(&self, words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> bool {
        let mut allowed = self.every(words);
        while words.next_if_eq(&"OR").is_some() {
            allowed |= self.every(words);
        }
        allowed
    }

    fn every<'a>(&self, words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> bool {
        let mut allowed = self.one(words);
        while words.next_if_eq(&"AND").is_some() {
            allowed &= self.one(words);
        }
        allowed
    }

    fn one<'a>(&self, words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> bool {
        let Some(word) = words.next() else { return false };
        if word == "(" {
            let allowed = self.any(words);
            return words.next() == Some(")") && allowed;
        }
        let mut licence = word.to_string();
        if words.next_if_eq(&"WITH").is_some() {
            licence = format!("{licence} WITH {}", words.next().unwrap_or_default());
        }
        self.licences.contains(&licence)
    }
}

/// Packages of the lock file that come from elsewhere than the registry.
fn foreign_sources(lock: &str) -> Vec<String> {
    let mut name = "";
    let mut problems = Vec::new();
    for line in lock.lines() {
        if let Some(value) = line.strip_prefix("name = ") {
            name = value.trim_matches('"');
        } else if let Some(source) = line.strip_prefix("source = ").map(|value| value.trim_matches('"'))
            && source != REGISTRY
        {
            problems.push(format!("{name} comes from {source}"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules::read(include_str!("../../deny.toml"))
    }

    #[test]
    fn the_rules_are_those_of_the_file() {
        assert!(rules().licences.contains(&"MIT".to_string()) && rules().licences.len() > 10);
        assert!(rules().banned.contains(&"openssl".to_string()));
        assert!(!rules().banned.contains(&"rapier3d".to_string()), "allowed within its wrappers");
    }

    #[test]
    fn expressions_are_met_or_not() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(rules().allows(good), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT)", "MIT WITH something", "AND MIT"] {
            assert!(!rules().allows(bad), "{bad}");
        }
    }

    #[test]
    fn planted_packages_are_found() {
        let tree = "a v1.0.0|MIT\nb v1.0.0|GPL-3.0\n\nopenssl v0.10.0|Apache-2.0 (*)\n";
        let problems = rules().problems(tree);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("b v1.0.0") && problems[1].contains("banned"), "{problems:?}");
        let lock =
            format!("name = \"a\"\nsource = \"{REGISTRY}\"\nname = \"b\"\nsource = \"git+https://example.org/b\"\n");
        assert_eq!(foreign_sources(&lock), ["b comes from git+https://example.org/b"]);
    }
}

//! Where packages come from is the business of whoever builds: behind a mirror a host written into a file breaks the
//! build. Lock files are the exception, since their tools write them.

use super::Problem;
use super::tree::Tree;

const HOSTS: [&str; 4] = ["crates.io", "registry.npmjs.org", "pypi.org", "deb.debian.org"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(&[""]) {
        if path.ends_with(".lock") || path.ends_with("package-lock.json") {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            for host in hosts(line).filter(|host| is_registry(host)) {
                problems.push(Problem::new(path, index + 1, format!("names the package registry {host}")));
            }
        }
    }
    problems
}

/// The hosts of the addresses in a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.split("://").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-')).unwrap_or(rest.len());
        rest[..end].trim_end_matches('.')
    })
}

fn is_registry(host: &str) -> bool {
    HOSTS.iter().any(|known| host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn registries_are_found_outside_lock_files() {
        for host in HOSTS.iter().map(|host| host.to_string()).chain(["static.crates.io".to_string()]) {
            let line = format!("RUN get https:{}{host}/x\n", "//");
            assert_eq!(
                found(check, &[("deploy/Dockerfile", &line)]),
                [format!("deploy/Dockerfile:1: names the package registry {host}")]
            );
            assert_eq!(found(check, &[("Cargo.lock", &line), ("web/package-lock.json", &line)]), [""; 0]);
        }
    }

    #[test]
    fn other_hosts_and_plain_mentions_pass() {
        assert_eq!(found(check, &[("a.md", "published on crates.io; https://example.org/crates.io")]), [""; 0]);
        assert_eq!(found(check, &[("a.md", "https://notcrates.io/")]), [""; 0]);
    }
}

//! Relative links between documents must lead somewhere.

use super::Problem;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(&[".md"]) {
        for (line, text) in prose(text) {
            for target in targets(&without_code(text)) {
                if let Some(wanted) = resolve(path, &target)
                    && !tree.exists(&wanted)
                {
                    problems.push(Problem::new(path, line, format!("links to {target}, which does not exist")));
                }
            }
        }
    }
    problems
}

/// The numbered lines of a document outside fenced blocks.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

/// The line without its code spans.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// Targets of `[text](target)`, `![text](target "title")` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let defined = line.strip_prefix('[').and_then(|rest| rest.split_once("]:")).map(|(_, target)| target);
    let first_word = |target: &str| {
        let target = target.trim();
        match target.strip_prefix('<') {
            Some(rest) => rest.split('>').next().unwrap_or_default().to_string(),
            None => target.split_whitespace().next().unwrap_or_default().to_string(),
        }
    };
    inline.chain(defined).map(first_word).collect()
}

/// The path from the top that a link in `document` means; nothing for other sites and for places in the same page.
fn resolve(document: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let has_scheme = target.split('/').next().is_some_and(|start| start.contains(':'));
    if target.is_empty() || has_scheme || target.starts_with("//") {
        return None;
    }
    let mut parts: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => document.split('/').collect(),
    };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_some() => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let page = ("docs/a.md", "[ok](b.md#part)\n[dead](c.md) ![dead](../img/x.png \"title\")\n[ref]: gone.md\n");
        let there = ("docs/b.md", "");
        assert_eq!(
            found(check, &[page, there]),
            [
                "docs/a.md:2: links to c.md, which does not exist",
                "docs/a.md:2: links to ../img/x.png, which does not exist",
                "docs/a.md:3: links to gone.md, which does not exist",
            ]
        );
        assert_eq!(found(check, &[("a.md", "[out](../b.md)")]).len(), 1);
    }

    #[test]
    fn other_sites_anchors_folders_and_code_pass() {
        let text = "[a](https://example.org/x) [b](#here) [c](mailto:x@example.org) [d](src/) [e](/src/f.rs) \
                    [f](<src/f.rs>) `[g](gone.md)`\n```\n[h](gone.md)\n```\n";
        assert_eq!(found(check, &[("a.md", text), ("src/f.rs", "")]), [""; 0]);
    }
}

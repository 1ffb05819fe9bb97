//! A dashboard or an alert that asks for a figure nobody exports shows nothing, and says nothing. Every metric that the
//! files of `deploy/` name must therefore stand in the source that exports them.

use super::Problem;
use super::tree::Tree;

const EXPORTER: &str = "crates/runtime/src/metrics.rs";
const PREFIX: &str = "nimbus_";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let exported: Vec<&str> = words(tree.text(EXPORTER).unwrap_or_default()).map(|(_, word)| word).collect();
    let mut problems = Vec::new();
    for (path, text) in tree.texts(&[".json", ".yaml", ".md"]) {
        if !path.starts_with("deploy/") {
            continue;
        }
        for (line, word) in words(text).filter(|(_, word)| !exported.contains(word)) {
            problems.push(Problem::new(
                path,
                line,
                format!("names the metric `{word}`, which {EXPORTER} does not export"),
            ));
        }
    }
    problems
}

/// Words that begin like a metric of ours, with their lines.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .filter(|word| word.starts_with(PREFIX))
            .map(move |word| (index + 1, word))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    const SOURCE: (&str, &str) = (EXPORTER, "text.family(\"nimbus_node_up\", GAUGE);\n");

    #[test]
    fn a_metric_that_nobody_exports_is_found() {
        let dashboard = "{\n  \"expr\": \"sum(rate(nimbus_node_down[1m])) + nimbus_node_up\"\n}\n";
        let problems = found(check, &[SOURCE, ("deploy/grafana/dashboards/a.json", dashboard)]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("deploy/grafana/dashboards/a.json:2: names the metric `nimbus_node_down`"));
    }

    #[test]
    fn metrics_that_exist_and_files_elsewhere_pass() {
        let files = [SOURCE, ("deploy/alerts.yaml", "expr: nimbus_node_up == 0\n"), ("docs/a.md", "nimbus_other\n")];
        assert_eq!(found(check, &files), [""; 0]);
    }
}

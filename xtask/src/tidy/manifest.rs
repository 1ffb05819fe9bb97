//! As much of a `Cargo.toml` as the checks need.

/// When a dependency is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// By the product or its build script.
    Product,
    /// By tests only.
    Tests,
}

/// A dependency that a manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The package, even when it is renamed.
    pub(super) package: String,
    /// When it is used.
    pub(super) used: Use,
    /// Line of the manifest.
    pub(super) line: usize,
}

/// Every dependency of a manifest, for whatever platform.
pub(super) fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    // The table one is in: what it is for and, in `[dependencies.name]`, whose it is.
    let mut table: Option<(Use, bool)> = None;
    for (index, text) in manifest.lines().enumerate() {
        let text = text.trim();
        if let Some(header) = text.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let (used, name) = header_parts(header);
            table = used.map(|used| (used, name.is_some()));
            if let (Some(used), Some(name)) = (used, name) {
                found.push(Dependency { package: name, used, line: index + 1 });
            }
        } else if let (Some((used, has_own_table)), Some((key, value))) = (table, text.split_once('=')) {
            if text.starts_with('#') {
                continue;
            }
            if !has_own_table {
                let name = key.split('.').next().unwrap_or(key).trim().trim_matches('"');
                let package = renamed_from(value).unwrap_or(name).to_string();
                found.push(Dependency { package, used, line: index + 1 });
            } else if key.trim() == "package"
                && let Some(last) = found.last_mut()
            {
                last.package = value.trim().trim_matches('"').to_string();
            }
        }
    }
    found
}

/// The value of a key of a table, as written, without quotes.
pub(super) fn value<'a>(manifest: &'a str, table: &str, key: &str) -> Option<&'a str> {
    let mut here = "";
    for text in manifest.lines().map(str::trim) {
        if let Some(header) = text.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            here = header.trim();
        } else if let Some((name, value)) = text.split_once('=') {
            let name = name.trim();
            let is_dotted =
                here.is_empty() && name.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')) == Some(key);
            if (here == table && name == key) || is_dotted {
                return Some(value.trim().trim_matches('"'));
            }
        }
    }
    None
}

/// What a table header such as `target.'cfg(unix)'.dev-dependencies.name` is for.
fn header_parts(header: &str) -> (Option<Use>, Option<String>) {
    for (word, used) in
        [("dev-dependencies", Use::Tests), ("build-dependencies", Use::Product), ("dependencies", Use::Product)]
    {
        if let Some(at) = header.rfind(word) {
            let name = header[at + word.len()..].strip_prefix('.').map(|name| name.trim_matches('"').to_string());
            return (Some(used), name);
        }
    }
    (None, None)
}

/// The package of `{ package = "name", ... }`.
fn renamed_from(value: &str) -> Option<&str> {
    let rest = value.split_once("package")?.1.trim_start().strip_prefix('=')?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_dependencies_in_every_form() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\n\"b\" = \"1\"\n# c = \"1\"\n\
                        d = { package = \"real-d\", version = \"1\" }\n[dev-dependencies]\ne = \"1\"\n\
                        [target.'cfg(unix)'.dependencies]\nf = \"1\"\n[dependencies.g]\npath = \"../g\"\n\
                        [features]\nh = []\n";
        let found: Vec<(String, Use)> = dependencies(manifest).into_iter().map(|d| (d.package, d.used)).collect();
        let product = ["a", "b", "real-d"].map(|name| (name.to_string(), Use::Product));
        let rest = [("e", Use::Tests), ("f", Use::Product), ("g", Use::Product)];
        let expected: Vec<_> = product.into_iter().chain(rest.map(|(name, used)| (name.to_string(), used))).collect();
        assert_eq!(found, expected);
        assert_eq!(dependencies(manifest)[0].line, 4);
    }

    #[test]
    fn finds_values_in_tables_and_dotted() {
        assert_eq!(value("[lints]\nworkspace = true\n", "lints", "workspace"), Some("true"));
        assert_eq!(value("lints.workspace = true\n", "lints", "workspace"), Some("true"));
        assert_eq!(value("[package]\ndescription = \"d\"\n", "package", "description"), Some("d"));
        assert_eq!(value("[other]\nworkspace = true\n", "lints", "workspace"), None);
    }
}

//! The viewer as it was built, inside the binary.

/// Files by path, sorted.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/viewer_files.rs"));

/// Shown when the binary was built without a viewer.
const WITHOUT_VIEWER: &str = "<!doctype html><meta charset=utf-8><title>Nimbus</title>\
<body style=\"font:16px system-ui;max-width:36em;margin:4em auto\"><h1>Nimbus is running</h1>\
<p>This binary was built without the viewer. Run <code>cargo xtask demo</code>, which builds it.</p>\
<p>Meanwhile: <a href=/api/world>/api/world</a>, <a href=/metrics>/metrics</a>, <a href=/healthz>/healthz</a>.</p>";

/// One file to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    pub(crate) bytes: &'static [u8],
    pub(crate) content_type: &'static str,
    /// Whether its name changes with its content.
    pub(crate) is_immutable: bool,
}

/// The file for the path of a request, if there is one.
pub(crate) fn asset(path: &str) -> Option<Asset> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let found = FILES.binary_search_by_key(&path, |(name, _)| name).ok().map(|at| FILES[at].1);
    let bytes = found.or_else(|| (path == "index.html").then_some(WITHOUT_VIEWER.as_bytes()))?;
    Some(Asset { bytes, content_type: content_type(path), is_immutable: path.starts_with("assets/") })
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("ico") => "image/x-icon",
        Some("webp") => "image/webp",
        Some("wasm") => "application/wasm",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_first_page_and_nothing_outside() {
        let index = asset("/").expect("a first page");
        assert_eq!(index.content_type, "text/html; charset=utf-8");
        assert!(!index.is_immutable && !index.bytes.is_empty());
        assert_eq!(asset("/index.html"), Some(index));
        for path in ["/../Cargo.toml", "/assets/../index.html", "/etc/passwd", "/nothing.js"] {
            assert_eq!(asset(path), None, "{path}");
        }
    }

    #[test]
    fn every_file_of_the_viewer_is_found() {
        for (name, bytes) in FILES {
            assert_eq!(asset(&format!("/{name}")).map(|asset| asset.bytes), Some(*bytes));
        }
    }
}

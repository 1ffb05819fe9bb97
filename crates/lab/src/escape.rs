//! Text that is safe inside HTML and SVG.

/// The text with everything that has a meaning in markup spelt out.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

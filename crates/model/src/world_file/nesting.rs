//! How deep brackets lie in brackets. The TOML reader has a limit of its own, but loses count in text that is not valid,
//! and then a file of brackets ends the process by its stack.

/// Deeper than any world: a point in points in a shape in parts in a shape in a body.
pub(super) const DEPTH_MAX: usize = 64;

/// The place of the first bracket that lies too deep. Brackets in texts and comments do not count.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Some(at);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'#' => at += bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - at),
            b'"' | b'\'' => at = end_of_text(bytes, at, byte),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The last byte of a text that begins here. One in single quotes ends with its line at the latest, one in triple quotes
/// with the file.
fn end_of_text(bytes: &[u8], start: usize, quote: u8) -> usize {
    let is_long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if is_long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 1,
            b'\n' if !is_long => return at,
            _ if byte == quote && !is_long => return at,
            _ if is_long && bytes[at..].starts_with(&[quote; 3]) => return at + 2,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_where_they_are_brackets() {
        let deep = |open: &str| open.repeat(DEPTH_MAX + 1);
        assert_eq!(too_deep(&deep("[")), Some(DEPTH_MAX));
        assert!(too_deep(&deep("x = { ball position = [-2.0]\n\n[[bodies]]\nshape = ")).is_some());
        assert!(too_deep(&deep("x = { a = \"}\", b = ")).is_some(), "those in texts close nothing");
        for flat in [deep("[]"), deep("[[bodies]]\n"), deep("# [\n"), deep("a = \"[\"\n"), deep("a = '['\n")] {
            assert_eq!(too_deep(&flat), None, "{flat}");
        }
        assert_eq!(too_deep(&format!("a = \"\"\"{}\"\"\"", deep("[ \" \n"))), None);
        assert_eq!(too_deep("a = \"\\\"[\" # \" ["), None);
    }
}

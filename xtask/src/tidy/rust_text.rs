//! Rust source with everything that is not code of the product blanked out, line by line in place.

/// The source with comments, the insides of strings, and test items replaced by spaces. Line numbers stay.
pub(super) fn code_only(source: &str) -> String {
    without_tests(&without_comments_and_strings(source))
}

/// Blanks comments and the contents of string and character literals.
pub(super) fn without_comments_and_strings(source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < text.len() {
        let end = match text[at] {
            '/' if text.get(at + 1) == Some(&'/') => end_of_line(&text, at),
            '/' if text.get(at + 1) == Some(&'*') => end_of_block_comment(&text, at),
            '"' => end_of_string(&text, at),
            'r' if !follows_name(&text, at) => end_of_raw_string(&text, at).unwrap_or(at),
            '\'' => end_of_character(&text, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            out.push(text[at]);
            at += 1;
        } else {
            out.extend(text[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// Blanks every item under `#[cfg(test)]`. Expects text without comments and strings.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        let length = MARK.len() + item_length(&rest[at + MARK.len()..]);
        let (before, item) = (&rest[..at], &rest[at..at + length]);
        out.push_str(before);
        out.extend(item.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

/// Length of the item at the start of `code`: up to its `;` or its closing brace.
fn item_length(code: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

fn follows_name(text: &[char], at: usize) -> bool {
    // `b` before `r` starts a raw byte string, any other letter means that `r` ends a name.
    let before = at.checked_sub(1).map(|before| text[before]);
    before.is_some_and(|c| (c.is_alphanumeric() && c != 'b') || c == '_')
}

fn end_of_line(text: &[char], at: usize) -> usize {
    text[at..].iter().position(|&c| c == '\n').map_or(text.len(), |length| at + length)
}

fn end_of_block_comment(text: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                at += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

fn end_of_string(text: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn end_of_raw_string(text: &[char], start: usize) -> Option<usize> {
    let hashes = text[start + 1..].iter().take_while(|&&c| c == '#').count();
    let open = start + 1 + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let closes =
        |at: usize| text[at] == '"' && text[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
    let close = (open + 1..text.len()).find(|&at| closes(at));
    Some(close.map_or(text.len(), |at| at + 1 + hashes))
}

/// The end of a character literal; nothing for a lifetime.
fn end_of_character(text: &[char], at: usize) -> Option<usize> {
    match (text.get(at + 1), text.get(at + 2)) {
        (Some('\\'), Some(_)) => {
            let close = text[at + 3..].iter().take(10).position(|&c| c == '\'')?;
            Some(at + 3 + close + 1)
        }
        (Some(_), Some('\'')) => Some(at + 3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        code_only(source).split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn comments_and_strings_go_and_code_stays() {
        assert_eq!(words("a // b\nc /* d /* e */ f */ g"), ["a", "c", "g"]);
        assert_eq!(words(r#"a "b \" c" d"#), ["a", "d"]);
        assert_eq!(words(r###"a r#"b " c"# d br"e" for"x""###), ["a", "d", "b", "for"]);
        assert_eq!(words(r"a '\'' b '{' c 'x' d<'life> e"), ["a", "b", "c", "d<'life>", "e"]);
        assert_eq!(words(r"'\u{1b}' a"), ["a"]);
    }

    #[test]
    fn test_items_go_and_what_follows_stays() {
        let source = "a\n#[cfg(test)]\nmod tests {\n  fn x() { y }\n}\nb\n#[cfg(test)]\nuse z;\nc";
        assert_eq!(words(source), ["a", "b", "c"]);
        assert_eq!(code_only(source).lines().count(), source.lines().count());
    }

    #[test]
    fn unfinished_source_is_no_panic() {
        for source in ["\"", "r#\"", "/*", "'", "'\\", "\"\\", "#[cfg(test)]", "r", "'\\x"] {
            assert_eq!(code_only(source).chars().count(), source.chars().count(), "{source}");
        }
    }
}

//! Which known word a misspelt one was meant to be.

/// Longest word that is compared with others, characters.
const WORD_MAX: usize = 64;

/// The candidate with the smallest edit distance to `word`, if it is near enough to be a likely slip.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = word.chars().take(WORD_MAX + 1).count();
    if length > WORD_MAX {
        return None;
    }
    candidates
        .into_iter()
        .filter(|c| c.chars().take(WORD_MAX + 1).count() <= WORD_MAX)
        .map(|c| (edits(word, c), c))
        .filter(|&(steps, c)| steps <= 2.max(length.max(c.chars().count()) / 3))
        .min_by_key(|&(steps, _)| steps)
        .map(|(_, c)| c)
}

/// Edit distance (Levenshtein's): how many letters to insert, delete or replace, ignoring case.
pub fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (a, b, steps) in [("", "abc", 3), ("kitten", "sitting", 3), ("Radius", "radius", 0), ("flaw", "lawn", 2)] {
            assert_eq!(edits(a, b), steps, "{a} {b}");
        }
    }

    #[test]
    fn only_likely_slips_are_suggested() {
        let known = ["radius", "restitution", "friction"];
        assert_eq!(nearest("radios", known), Some("radius"));
        assert_eq!(nearest("frictoin", known), Some("friction"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"r".repeat(1_000_000), known), None);
    }
}

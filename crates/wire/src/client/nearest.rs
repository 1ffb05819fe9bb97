//! Which known word a misspelt one was meant to be.

/// Longest word that is compared with others, characters.
const WORD_MAX: usize = 64;

/// The candidate that is the fewest typing slips away from `word`, if it is near enough to be meant.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word: Vec<char> = word.chars().take(WORD_MAX + 1).collect();
    if word.len() > WORD_MAX {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (slips(&word, candidate), candidate))
        .filter(|(slips, candidate)| *slips <= 1 + word.len().min(candidate.chars().count()) / 4)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be put in, left out or changed to make one word of the other.
fn slips(from: &[char], to: &str) -> usize {
    let to: Vec<char> = to.chars().take(WORD_MAX).collect();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (i, x) in from.iter().enumerate() {
        let mut line = Vec::with_capacity(above.len());
        line.push(i + 1);
        for (j, y) in to.iter().enumerate() {
            let changed = above[j] + usize::from(!x.eq_ignore_ascii_case(y));
            line.push(changed.min(above[j + 1] + 1).min(line[j] + 1));
        }
        above = line;
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_forgiven_and_other_words_are_not() {
        let known = ["spawn", "pause", "speed", "step"];
        assert_eq!(nearest("spwan", known), Some("spawn"));
        assert_eq!(nearest("Pause", known), Some("pause"));
        assert_eq!(nearest("explode", known), None);
        assert_eq!(nearest(&"s".repeat(100_000), known), None);
        assert_eq!(nearest("", known), None);
    }
}

//! Suggestions for misspelt words.

/// Words much longer than any known one are not misspellings of it.
const MAX_WORD: usize = 32;

/// The known word that `word` probably means: one that contains it, or the nearest if it is near enough.
pub fn suggest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.len() < 3 || word.len() > MAX_WORD {
        return None;
    }
    if let Some(whole) = known.iter().find(|known| known.contains(word)) {
        return Some(whole);
    }
    let nearest = known.iter().map(|known| (distance(word, known), *known)).min()?;
    // At most one letter in three may differ, or everything would be similar to something.
    (nearest.0 * 3 <= nearest.1.len()).then_some(nearest.1)
}

/// The edit distance: how many letters must be added, dropped or changed.
pub fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, other) in right.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn what_is_near_is_meant_and_what_is_far_is_not() {
        let known = ["pre-install", "post-install", "wait"];
        assert_eq!(suggest("pre-instal", &known), Some("pre-install"));
        assert_eq!(suggest("pre_install", &known), Some("pre-install"));
        assert_eq!(suggest("post", &known), Some("post-install"));
        assert_eq!(suggest("boom", &known), None);
        assert_eq!(suggest(&"wait".repeat(1_000), &known), None);
    }
}

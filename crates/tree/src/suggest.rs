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
    let nearest = known.iter().map(|known| (edits(word, known), *known)).min()?;
    // At most one letter in three may differ, or everything would be similar to something.
    (nearest.0 * 3 <= nearest.1.len()).then_some(nearest.1)
}

/// As [`distance`], but two neighbouring letters in the wrong order are one edit, which they are for those who type.
fn edits(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![(0..=right.len()).collect::<Vec<usize>>()];
    for (line, letter) in left.iter().enumerate() {
        let mut row = vec![line + 1];
        for (column, other) in right.iter().enumerate() {
            let above = &rows[line];
            let changed = above[column] + usize::from(letter != other);
            let mut least = changed.min(row[column] + 1).min(above[column + 1] + 1);
            let is_swapped =
                line > 0 && column > 0 && left[line - 1] == *other && *letter == right[column - 1];
            if is_swapped {
                least = least.min(rows[line - 1][column - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
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
        assert_eq!(suggest("wiat", &known), Some("wait"), "two letters in the wrong order");
        assert_eq!(suggest("boom", &known), None);
        assert_eq!(suggest(&"wait".repeat(1_000), &known), None);
    }
}

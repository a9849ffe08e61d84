//! Suggestions for misspelt words: of commands, flags, keys, kinds, functions and all other names.

/// Words much longer than any known one are not misspellings of it.
const MAX_WORD: usize = 32;

/// The known word that `word` probably means, if one is near enough.
pub fn suggest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.len() < 3 {
        return None;
    }
    nearest(word, known).into_iter().next()
}

/// The known words that are near `word`, the nearest first; of equally near ones, the earlier first.
///
/// Near is what people write when they mean something else: letters too many, missing, swapped or beside the right ones on
/// the keyboard, the beginning of a word, a part of it, its consonants, its parts in another order or with other separators.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Vec<&'k str> {
    if word.is_empty() || word.len() > MAX_WORD {
        return Vec::new();
    }
    let typed = Typed::new(word);
    let mut near: Vec<(u32, &'k str)> = known
        .iter()
        .map(|known| (typed.cost_of(known), *known))
        .filter(|(cost, known)| *cost <= limit(word.chars().count().max(known.chars().count())))
        .collect();
    near.sort_by_key(|(cost, _)| *cost);
    near.dedup();
    near.into_iter().map(|(_, known)| known).collect()
}

/// The cost of a wrong, missing or additional letter. All other costs are relative to it.
const LETTER: u32 = 100;
/// A letter beside the right one on the keyboard.
const NEIGHBOUR: u32 = 70;
/// A letter that is doubled or not.
const DOUBLED: u32 = 60;
/// A separator too many or missing.
const SEPARATOR: u32 = 30;
/// Two letters in the wrong order.
const SWAPPED: u32 = 70;
/// A first letter that is wrong, which is rare, in addition to the letter itself.
const FIRST: u32 = 40;

/// How far a word may be away from one of this length: less than one letter in three, or everything would be near to
/// something.
fn limit(length: usize) -> u32 {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    match length {
        0..=2 => SWAPPED,
        _ => length.saturating_mul(30) + 25,
    }
}

/// A word as it was typed.
struct Typed {
    letters: Vec<char>,
    parts: Vec<String>,
}

impl Typed {
    fn new(word: &str) -> Self {
        let letters = folded(word);
        let parts = parts_of(&letters);
        Typed { letters, parts }
    }

    fn cost_of(&self, known: &str) -> u32 {
        let other = folded(known);
        let (typed, rest) = (&self.letters, other.len().saturating_sub(self.letters.len()) as u32);
        let mut cost = self.edits(&other);
        if typed.len() >= 2 && other.starts_with(typed) {
            cost = cost.min(40 + rest * 2);
        }
        if typed.len() >= 4 && contains(&other, typed) {
            cost = cost.min(90 + rest * 2);
        }
        if other.len() >= 4 && contains(typed, &other) {
            cost = cost.min(100 + 2 * (typed.len() - other.len()) as u32);
        }
        if typed.len() >= 3 && typed.first() == other.first() && is_abbreviation(typed, &other) {
            cost = cost.min(100 + rest * 5);
        }
        if self.parts.len() > 1 {
            let mut parts = parts_of(&other);
            parts.sort();
            if parts == self.parts {
                cost = cost.min(60);
            }
        }
        cost
    }

    /// The cheapest way to edit the typed word into another one.
    fn edits(&self, other: &[char]) -> u32 {
        let typed = &self.letters;
        let mut rows = vec![vec![0; other.len() + 1]];
        for column in 0..other.len() {
            rows[0][column + 1] = rows[0][column] + single(other, column);
        }
        for line in 0..typed.len() {
            let mut row = vec![rows[line][0] + single(typed, line)];
            for column in 0..other.len() {
                let mut least = rows[line][column] + substitution(typed[line], other[column]);
                least = least.min(row[column] + single(other, column));
                least = least.min(rows[line][column + 1] + single(typed, line));
                let is_swapped = line > 0
                    && column > 0
                    && typed[line - 1] == other[column]
                    && typed[line] == other[column - 1]
                    && typed[line] != typed[line - 1];
                if is_swapped {
                    least = least.min(rows[line - 1][column - 1] + SWAPPED);
                }
                row.push(least);
            }
            rows.push(row);
        }
        let is_other_start = match (typed.as_slice(), other) {
            ([first, ..], [other_first, ..]) if first == other_first => false,
            ([first, second, ..], [other_first, other_second, ..]) => {
                !(first == other_second && second == other_first)
            }
            _ => true,
        };
        rows[typed.len()][other.len()] + if is_other_start { FIRST } else { 0 }
    }
}

/// The cost of a letter that one of the words does not have.
fn single(word: &[char], at: usize) -> u32 {
    match word[at] {
        '-' | '.' | '/' => SEPARATOR,
        letter if at > 0 && word[at - 1] == letter => DOUBLED,
        _ => LETTER,
    }
}

fn substitution(left: char, right: char) -> u32 {
    match left == right {
        true => 0,
        false if is_beside(left, right) => NEIGHBOUR,
        false => LETTER,
    }
}

/// Whether two keys are beside each other.
fn is_beside(left: char, right: char) -> bool {
    const ROWS: [&str; 4] = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"];
    let key = |letter| ROWS.iter().enumerate().find_map(|(row, keys)| Some((row, keys.find(letter)?)));
    match (key(left), key(right)) {
        (Some((row, at)), Some((other_row, other))) => {
            row.abs_diff(other_row) <= 1 && at.abs_diff(other) <= 1
        }
        _ => false,
    }
}

/// The letters in lower case, with one separator for all.
fn folded(word: &str) -> Vec<char> {
    let fold = |letter: char| if matches!(letter, '_' | ' ') { '-' } else { letter };
    word.chars().flat_map(char::to_lowercase).map(fold).collect()
}

/// The parts between separators, sorted.
fn parts_of(letters: &[char]) -> Vec<String> {
    let mut parts: Vec<String> =
        letters.split(|letter| matches!(letter, '-' | '.')).map(|part| part.iter().collect()).collect();
    parts.sort();
    parts
}

fn contains(word: &[char], part: &[char]) -> bool {
    word.windows(part.len()).any(|window| window == part)
}

/// Whether all letters of `short` are in `long` in the same order.
fn is_abbreviation(short: &[char], long: &[char]) -> bool {
    let mut rest = long.iter();
    short.iter().all(|letter| rest.any(|other| other == letter))
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
    fn the_nearest_is_first() {
        let known = ["lint", "list", "test", "template", "install", "uninstall"];
        assert_eq!(
            nearest("lst", &known).first(),
            Some(&"list"),
            "a missing letter is nearer than a wrong one"
        );
        assert_eq!(nearest("temp", &known).first(), Some(&"template"));
        assert_eq!(nearest("tmpl", &known).first(), Some(&"template"));
        assert_eq!(nearest("instlal", &known).first(), Some(&"install"));
        assert_eq!(nearest("liat", &known).first(), Some(&"list"), "`a` is beside `s`");
        assert!(nearest("", &known).is_empty() && nearest("x", &known).is_empty());
    }

    #[test]
    fn what_is_near_is_meant_and_what_is_far_is_not() {
        let known = ["pre-install", "post-install", "wait"];
        assert_eq!(suggest("pre-instal", &known), Some("pre-install"));
        assert_eq!(suggest("pre_install", &known), Some("pre-install"));
        assert_eq!(suggest("post", &known), Some("post-install"));
        assert_eq!(suggest("wiat", &known), Some("wait"), "two letters in the wrong order");
        assert_eq!(suggest("boom", &known), None);
        assert_eq!(suggest("install-pre", &known), Some("pre-install"), "parts in another order");
        assert_eq!(suggest(&"wait".repeat(1_000), &known), None);
    }
}

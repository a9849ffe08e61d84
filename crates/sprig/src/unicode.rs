//! Go's view of characters: simple case mappings and general categories, and byte strings read as runes.

use std::sync::OnceLock;

use pintle_regex::ranges_of;

/// The replacement for bytes that are not UTF-8.
pub(crate) const REPLACEMENT: char = '\u{fffd}';

/// The first rune of `text` and its width, as Go decodes it: an invalid byte counts alone. The text must not be
/// empty.
pub(crate) fn first_rune(text: &[u8]) -> (char, usize) {
    if text[0] < 0x80 {
        return (char::from(text[0]), 1);
    }
    match bstr::decode_utf8(text) {
        (Some(rune), width) => (rune, width),
        // bstr's width would be that of the cut sequence; Go counts each byte of it.
        (None, _) => (REPLACEMENT, 1),
    }
}

/// The runes of `text`, U+FFFD for each byte that is not UTF-8.
pub(crate) fn runes(mut text: &[u8]) -> impl Iterator<Item = char> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (rune, width) = first_rune(text);
        text = &text[width..];
        Some(rune)
    })
}

/// Rewrites each rune of `text`.
pub(crate) fn map_runes(text: &[u8], mut rewrite: impl FnMut(char) -> char) -> String {
    let mut out = String::with_capacity(text.len());
    out.extend(runes(text).map(&mut rewrite));
    out
}

/// `unicode.ToUpper`: the mapping to a single character.
pub(crate) fn to_upper(rune: char) -> char {
    if rune.is_ascii() {
        return rune.to_ascii_uppercase();
    }
    let mut full = rune.to_uppercase();
    match (full.next(), full.next()) {
        (Some(upper), None) => upper,
        _ => one_character_upper(rune),
    }
}

/// The upper case of characters whose full upper case has several characters.
fn one_character_upper(rune: char) -> char {
    let code = u32::from(rune);
    // Greek letters with a subscript iota, whose full upper case is two letters. Other characters, such as
    // `ß`, have no single upper case.
    let upper = match code {
        0x1f80..=0x1faf if code & 8 == 0 => code + 8,
        0x1fb3 | 0x1fc3 | 0x1ff3 => code + 9,
        _ => code,
    };
    char::from_u32(upper).unwrap_or(rune)
}

/// `unicode.ToLower`: the mapping to a single character.
pub(crate) fn to_lower(rune: char) -> char {
    if rune.is_ascii() {
        return rune.to_ascii_lowercase();
    }
    // The only character whose lower case has two: the Turkish dotted capital I.
    if rune == '\u{130}' { 'i' } else { rune.to_lowercase().next().unwrap_or(rune) }
}

/// `unicode.ToTitle`: upper case except for digraphs, which have a title form, and Georgian, which has none.
pub(crate) fn to_title(rune: char) -> char {
    match rune {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10ff}' => rune,
        _ => to_upper(rune),
    }
}

/// A general category, with the ranges of its characters once they are needed.
struct Category {
    name: &'static str,
    ranges: OnceLock<Vec<(char, char)>>,
}

impl Category {
    const fn new(name: &'static str) -> Self {
        Category { name, ranges: OnceLock::new() }
    }

    fn contains(&self, rune: char) -> bool {
        let ranges =
            self.ranges.get_or_init(|| ranges_of(self.name).expect("the names are the constants below"));
        let at = ranges.partition_point(|&(_, last)| last < rune);
        ranges.get(at).is_some_and(|&(first, _)| first <= rune)
    }
}

static UPPER: Category = Category::new("Lu");
static LOWER: Category = Category::new("Ll");
static TITLE: Category = Category::new("Lt");
static NUMBER: Category = Category::new("N");
static PUNCTUATION: Category = Category::new("P");

/// `unicode.IsUpper`.
pub(crate) fn is_upper(rune: char) -> bool {
    if rune.is_ascii() { rune.is_ascii_uppercase() } else { UPPER.contains(rune) }
}

/// `unicode.IsLower`.
pub(crate) fn is_lower(rune: char) -> bool {
    if rune.is_ascii() { rune.is_ascii_lowercase() } else { LOWER.contains(rune) }
}

/// `unicode.IsTitle`.
pub(crate) fn is_title(rune: char) -> bool {
    !rune.is_ascii() && TITLE.contains(rune)
}

/// `unicode.IsNumber`.
pub(crate) fn is_number(rune: char) -> bool {
    if rune.is_ascii() { rune.is_ascii_digit() } else { NUMBER.contains(rune) }
}

/// `unicode.IsPunct`: unlike Rust's ASCII punctuation, symbols such as `+` do not count.
pub(crate) fn is_punctuation(rune: char) -> bool {
    match rune {
        '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~' => false,
        _ if rune.is_ascii() => rune.is_ascii_punctuation(),
        _ => PUNCTUATION.contains(rune),
    }
}

#[cfg(test)]
mod tests {
    use pintle_testkit::unicode::{compare_mapping, compare_set};

    use super::*;

    #[test]
    fn case_mappings_give_one_character() {
        assert_eq!(['ß', 'ﬁ', 'ŉ', 'ᾳ', 'é'].map(to_upper), ['ß', 'ﬁ', 'ŉ', 'ᾼ', 'É']);
        assert_eq!(['İ', 'Σ', 'ẞ'].map(to_lower), ['i', 'σ', 'ß']);
        assert_eq!(['ǆ', 'ა', 'x'].map(to_title), ['ǅ', 'ა', 'X']);
    }

    #[test]
    fn all_characters_have_the_cases_that_they_have_in_go() {
        compare_mapping("upper", to_upper);
        compare_mapping("lower", to_lower);
        compare_mapping("title", to_title);
    }

    #[test]
    fn all_characters_have_the_category_that_they_have_in_go() {
        compare_set(r"\p{Lu}", is_upper);
        compare_set(r"\p{Ll}", is_lower);
        compare_set(r"\p{Lt}", is_title);
        compare_set(r"\p{N}", is_number);
        compare_set(r"\p{P}", is_punctuation);
    }
}

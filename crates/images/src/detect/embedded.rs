//! Images inside longer strings: YAML or JSON in a string, or a template in values.

use std::ops::Range;

use crate::reference::Reference;

/// The key that precedes every embedded image.
const WORD: &str = "image";

/// Returns the byte ranges of images in a text: the values of `image` keys in YAML or JSON that can only be image
/// references.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(WORD) {
        let start = from + at;
        from = start + WORD.len();
        let is_key =
            !text[..start].ends_with(|before: char| before.is_alphanumeric() || "_-.".contains(before));
        if let Some(range) = after_key(text, from).filter(|_| is_key) {
            from = range.end;
            found.push(range);
        }
    }
    found
}

/// The reference that follows a key ending at byte `end`.
fn after_key(text: &str, end: usize) -> Option<Range<usize>> {
    let rest = text[end..].trim_start_matches(['"', '\'']).trim_start_matches(' ').strip_prefix(':')?;
    let value = rest.trim_start_matches(' ').trim_start_matches(['"', '\'']);
    let length = value.find(|c: char| c.is_whitespace() || "\"',}]".contains(c)).unwrap_or(value.len());
    let start = text.len() - value.len();
    let image = &value[..length];
    // A single word would match prose such as `image: see below`.
    let names_image = image.contains('/') || image.contains(':');
    (names_image && Reference::parse(image).is_ok()).then_some(start..start + length)
}

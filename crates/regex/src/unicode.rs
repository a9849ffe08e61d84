//! Characters by property, for those who do not match text.

use crate::syntax::{characters, property};

/// The characters that `\p{name}` matches, as ascending ranges of first and last character; `None` if Go has no such property.
#[must_use]
pub fn ranges_of(name: &str) -> Option<Vec<(char, char)>> {
    let class = characters(property(name)?);
    Some(class.ranges().iter().map(|range| (range.start(), range.end())).collect())
}

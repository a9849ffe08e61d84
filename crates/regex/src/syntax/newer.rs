//! What Go's Unicode tables have and those of regex-syntax, which are of an older version, do not have yet.

mod tables;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use tables::{CASES, CHARACTERS};

/// Characters of which Go knows more, with their category and script there: `-` if they have none.
type Row = (char, char, &'static str, &'static str);

/// The class of a general category, given that of regex-syntax.
pub(super) fn with_category(class: ClassUnicode, name: &str) -> ClassUnicode {
    // One letter stands for all categories that begin with it.
    let has = |category: &str| match name {
        "LC" => matches!(category, "Lu" | "Ll" | "Lt"),
        _ => category.starts_with(name),
    };
    replaced(class, |row| has(row.2))
}

/// The class of a script, given that of regex-syntax; `name` is in the spelling of the table.
pub(super) fn with_script(class: ClassUnicode, name: &str) -> ClassUnicode {
    replaced(class, |row| row.3 == name)
}

/// Adds the other cases of all characters of the class that have one in Go only.
pub(super) fn fold(class: &mut ClassUnicode) {
    let mut added = Vec::new();
    for range in class.ranges() {
        for &(upper, lower) in &CASES {
            let has = |character| range.start() <= character && character <= range.end();
            added.extend(has(upper).then_some(lower));
            added.extend(has(lower).then_some(upper));
        }
    }
    if !added.is_empty() {
        class.union(&ClassUnicode::new(added.into_iter().map(|one| ClassUnicodeRange::new(one, one))));
    }
}

/// Takes all characters of the table out of the class, and puts those back that have the property.
fn replaced(mut class: ClassUnicode, has: impl Fn(&Row) -> bool) -> ClassUnicode {
    let of = |rows: &mut dyn Iterator<Item = &Row>| {
        ClassUnicode::new(rows.map(|&(first, last, ..)| ClassUnicodeRange::new(first, last)))
    };
    class.difference(&of(&mut CHARACTERS.iter()));
    class.union(&of(&mut CHARACTERS.iter().filter(|row| has(row))));
    class
}

#[cfg(test)]
mod tests {
    use pintle_testkit::unicode::compare_folds;

    use crate::syntax::class::folded;

    #[test]
    fn characters_have_the_other_cases_that_they_have_in_go() {
        // Beyond the first two planes nothing has a case, which the count of the sets shows.
        let characters = ('\0'..='\u{1ffff}').map(|character| {
            let class = folded(character);
            class.ranges().iter().flat_map(|range| range.start()..=range.end()).collect::<Vec<char>>()
        });
        compare_folds(characters.filter(|others| others.len() > 1));
    }
}

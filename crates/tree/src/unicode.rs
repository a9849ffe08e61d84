//! Letters and digits as Go has them, whose categories Rust's standard library does not have: its alphabetic characters are
//! also marks, Roman numerals and letters in circles, its numeric ones also fractions and superscripts.

mod tables;

use tables::{DIGIT_ZEROS, LETTER_BOUNDS};

/// Whether Go counts `character` as a letter (`unicode.IsLetter`).
pub fn is_letter(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphabetic();
    }
    // An odd number of bounds lies before a character that is inside.
    LETTER_BOUNDS.partition_point(|&bound| bound <= u32::from(character)) % 2 == 1
}

/// Whether Go counts `character` as a digit (`unicode.IsDigit`): the decimal digits of all scripts, but no fractions,
/// superscripts or roman numerals.
pub fn is_digit(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_digit();
    }
    let code = u32::from(character);
    let following = DIGIT_ZEROS.partition_point(|&zero| zero <= code);
    following > 0 && code - DIGIT_ZEROS[following - 1] < 10
}

#[cfg(test)]
mod tests {
    use pintle_testkit::unicode::compare_set;

    use super::{is_digit, is_letter};
    use crate::quote::is_print;

    #[test]
    fn all_characters_are_letters_and_digits_where_they_are_in_go() {
        compare_set("letter", is_letter);
        compare_set("digit", is_digit);
    }

    #[test]
    fn all_characters_are_printable_where_they_are_in_go() {
        compare_set("print", is_print);
    }
}

//! Searches eight bytes at a time (SWAR).
//! `memchr` searches for at most three different bytes and is not inlined, while most searches here end after a few
//! bytes.

use memchr::memchr3_iter;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// The eight bytes from `at`, first byte lowest, if there are so many.
#[inline]
fn word(text: &[u8], at: usize) -> Option<u64> {
    let bytes = text.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().expect("the slice has eight bytes")))
}

/// The number of blanks from `at` on.
#[inline]
pub(super) fn spaces(text: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(word) = word(text, end) {
        let different = word ^ (ONES * b' ' as u64);
        if different != 0 {
            return end - at + different.trailing_zeros() as usize / 8;
        }
        end += 8;
    }
    while text.get(end) == Some(&b' ') {
        end += 1;
    }
    end - at
}

/// The offset of the first of `needles` from `from` on, or the end of the text.
#[inline]
pub(super) fn any<const N: usize>(text: &[u8], from: usize, needles: [u8; N]) -> usize {
    let mut at = from;
    while let Some(word) = word(text, at) {
        let mut found = 0;
        for needle in needles {
            let difference = word ^ (ONES * u64::from(needle));
            // The lowest marked byte is exact; higher ones may be false positives.
            found |= difference.wrapping_sub(ONES) & !difference & HIGHS;
        }
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < text.len() && !needles.contains(&text[at]) {
        at += 1;
    }
    at
}

/// Whether the text has only characters without a special meaning in YAML: no carriage returns, control characters,
/// Unicode line breaks or byte order marks, and only valid UTF-8.
pub(super) fn is_ordinary(text: &[u8]) -> bool {
    let mut foreign = 0;
    for chunk in text.chunks(64) {
        // Without branches in the inner loop, so that it is vectorized; one test per chunk is enough.
        let mut odd = 0;
        for &byte in chunk {
            odd |= u8::from(byte < 0x20) & u8::from(byte != b'\n') & u8::from(byte != b'\t');
            odd |= u8::from(byte == 0x7f);
            foreign |= byte;
        }
        if odd != 0 {
            return false;
        }
    }
    foreign < 0x80 || is_ordinary_unicode(text)
}

fn is_ordinary_unicode(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok()
        && memchr3_iter(0xc2, 0xe2, 0xef, text).all(|at| match text[at..] {
            // U+0080 to U+009F: control characters, and U+0085, which is a line break in YAML.
            [0xc2, second, ..] => second >= 0xa0,
            // U+2028 and U+2029 are line breaks too; below are the byte order mark and two code points that
            // YAML forbids.
            [0xe2, 0x80, third, ..] => third != 0xa8 && third != 0xa9,
            [0xef, 0xbb, 0xbf, ..] | [0xef, 0xbf, 0xbe | 0xbf, ..] => false,
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_agree_with_plain_loops() {
        let text: Vec<u8> = (0..200u32).map(|i| b" ab:#\n\x80\xff "[(i * i % 9) as usize]).collect();
        for from in 0..text.len() {
            let plain = text[from..].iter().position(|byte| b":\n".contains(byte));
            assert_eq!(any(&text, from, [b':', b'\n']), plain.map_or(text.len(), |length| from + length));
            let blanks = text[from..].iter().take_while(|&&byte| byte == b' ').count();
            assert_eq!(spaces(&text, from), blanks);
        }
        assert_eq!(spaces(&[b' '; 37], 2), 35);
    }

    #[test]
    fn odd_characters_are_not_ordinary() {
        assert!(is_ordinary("a: \"é’世\"\n\tb\n".as_bytes()));
        for text in ["a\r\n", "\u{7f}", "a\u{85}", "\u{2028}", "\u{feff}a", "\u{0}"] {
            assert!(!is_ordinary(text.as_bytes()), "{text:?}");
        }
        assert!(!is_ordinary(b"a\xff"));
    }
}

//! The styles in which a string can be written: plain, quoted or block.

/// What a string allows and requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Analysis {
    /// Whether there is any line break.
    pub(super) multiline: bool,
    /// Whether it can be plain, as far as syntax goes.
    pub(super) plain: bool,
    /// Whether it can be in single quotes.
    pub(super) single: bool,
    /// Whether it can be a block.
    pub(super) block: bool,
    /// Whether it has something that JSON, or the YAML reader behind it, does not preserve.
    pub(super) exotic: bool,
}

/// Bytes that can matter anywhere in a string, not only at its start.
const MATTERS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte < 0x20 || byte >= 0x7f;
        byte += 1;
    }
    table[b' ' as usize] = true;
    table[b':' as usize] = true;
    table[b'#' as usize] = true;
    table
};

/// The length of the line break at `at`, or zero.
pub(super) fn break_length(text: &[u8], at: usize) -> usize {
    match text[at..] {
        [b'\n' | b'\r', ..] => 1,
        [0xc2, 0x85, ..] => 2,
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
        _ => 0,
    }
}

/// Whether the character at `at` can be written as it is.
pub(super) fn is_printable(text: &[u8], at: usize) -> bool {
    match text[at..] {
        [b'\n' | b' '..=b'~', ..] => true,
        [0xc2, second, ..] => second >= 0xa0,
        [0xef, 0xbb, 0xbf, ..] | [0xef, 0xbf, 0xbe | 0xbf, ..] => false,
        // Characters of four bytes are not in go-yaml's table, so emojis are written as escapes, in quotes.
        [0xc3..=0xef, ..] => true,
        _ => false,
    }
}

/// Whether the text begins with a byte order mark.
pub(super) fn begins_with_mark(text: &[u8]) -> bool {
    text.starts_with(b"\xef\xbb\xbf")
}

/// Analyses a string. With `tabs`, tabs do not rule out a block.
#[inline]
pub(super) fn analyze(text: &[u8], tabs: bool) -> Analysis {
    let matters = text.iter().position(|&byte| MATTERS[usize::from(byte)]);
    let plain = !begins_with_indicator(text);
    match matters {
        None => Analysis { multiline: false, plain, single: true, block: true, exotic: false },
        Some(from) => analyze_from(text, from, plain, tabs),
    }
}

/// Whether the first characters are indicators in a block.
fn begins_with_indicator(text: &[u8]) -> bool {
    let anywhere = |first| b"#,[]{}&*!|>'\"%@`".contains(first);
    text.first().is_some_and(anywhere)
        || matches!(text, [b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..])
        || matches!(text, [b'?' | b':' | b'-'] | [b'?' | b':' | b'-', b' ' | b'\t', ..])
}

/// Like [`analyze`], from the first byte that matters.
fn analyze_from(text: &[u8], from: usize, mut plain: bool, tabs: bool) -> Analysis {
    let (mut multiline, mut single, mut block) = (false, true, true);
    let (mut foreign, mut exotic) = (false, false);
    // Where the last line break ended.
    let mut break_end = usize::MAX;
    let mut at = from;
    while at < text.len() {
        let byte = text[at];
        let mut length = 1;
        match byte {
            b' ' => {
                if at == 0 || at + 1 == text.len() {
                    plain = false;
                }
                if at + 1 == text.len() {
                    block = false;
                }
                if break_end == at {
                    plain = false;
                    single = false;
                }
            }
            b':' => {
                if matches!(text.get(at + 1), None | Some(b' ' | b'\t')) {
                    plain = false;
                }
            }
            b'#' => {
                let blank = at > 0 && matches!(text[at - 1], b' ' | b'\t' | b'\r' | b'\n' | 0);
                if blank || break_end == at {
                    plain = false;
                }
            }
            // go-yaml 2 does not count a tab as printable, so text with tabs is quoted and never a block;
            // version 3 lets blocks have them.
            b'\t' => {
                plain = false;
                single = false;
                block &= tabs;
            }
            0..0x20 | 0x7f.. => {
                length = break_length(text, at);
                if length > 0 {
                    multiline = true;
                    plain = false;
                    break_end = at + length;
                    if at > 0 && text[at - 1] == b' ' {
                        single = false;
                        block = false;
                    }
                }
                length = length.max(1);
                if byte & 0xc0 != 0x80 && !is_printable(text, at) {
                    plain = false;
                    single = false;
                    block = false;
                }
                foreign |= byte >= 0x80;
                exotic |= is_exotic(text, at);
            }
            _ => {}
        }
        at += length;
    }
    exotic |= foreign && std::str::from_utf8(text).is_err();
    Analysis { multiline, plain, single, block, exotic }
}

/// Whether the character would be changed by a YAML reader.
fn is_exotic(text: &[u8], at: usize) -> bool {
    matches!(text[at..], [0x7f, ..] | [0xc2, 0x80..0xa0, ..] | [0xef, 0xbf, 0xbe | 0xbf, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_decides_between_plain_and_quotes() {
        for text in ["a b", "a:b", "a#b", ":a", "-a", "it's", "a, b", "x[0]", "é", "\u{2019}"] {
            assert!(analyze(text.as_bytes(), false).plain, "{text}");
        }
        for text in ["a: b", "a:", "a #b", "- a", "-", "@a", " a", "a ", "---", "\"q\"", "a\tb", "😀"] {
            assert!(!analyze(text.as_bytes(), false).plain, "{text}");
        }
    }

    #[test]
    fn blocks_hold_no_trailing_blanks_and_no_odd_characters() {
        assert!(analyze(b"a\nb\n", false).block);
        assert!(analyze(b" a\n  b", false).block);
        for text in ["a \nb", "a\nb ", "a\r\nb", "a\n\tb", "a\n😀"] {
            assert!(!analyze(text.as_bytes(), false).block, "{text:?}");
        }
        assert!(analyze(b"a\n\tb", true).block);
    }

    #[test]
    fn what_json_would_change_is_exotic() {
        for text in ["\u{7f}".as_bytes(), "a\u{85}b".as_bytes(), "\u{fffe}".as_bytes(), b"\xff"] {
            assert!(analyze(text, false).exotic, "{text:?}");
        }
        assert!(!analyze("a\u{0}é\u{2028}😀".as_bytes(), false).exotic);
    }
}

//! ASN.1 DER, as far as keys and certificates need it.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const UTF8_STRING: u8 = 0x0c;
pub(super) const PRINTABLE_STRING: u8 = 0x13;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The encoding of null.
pub(super) const NULL: &[u8] = &[0x05, 0x00];

/// The context tag `[number]` of a constructed element.
pub(super) const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// The context tag `[number]` of an implicitly tagged string.
pub(super) const fn implicit(number: u8) -> u8 {
    0x80 | number
}

/// Writes one element whose content is the parts in a row.
pub(super) fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length = parts.iter().map(|part| part.len()).sum::<usize>();
    let mut out = Vec::with_capacity(length + 6);
    out.push(tag);
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let significant = &bytes[(length.leading_zeros() / 8) as usize..];
        out.push(0x80 | significant.len() as u8);
        out.extend_from_slice(significant);
    }
    for part in parts {
        out.extend_from_slice(part);
    }
    out
}

/// Writes a sequence of encoded parts.
pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(SEQUENCE, parts)
}

/// Writes a number that is not negative from its bytes, most significant first.
pub(super) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let significant = &bytes[zeros..];
    // A set top bit would be read as a minus sign.
    let padded = significant.first().is_none_or(|byte| byte & 0x80 != 0);
    element(INTEGER, &[if padded { &[0] } else { &[] }, significant])
}

/// Writes whole bytes as a bit string.
pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], bytes])
}

/// Writes an object identifier from its encoded content.
pub(super) fn object_identifier(content: &[u8]) -> Vec<u8> {
    element(OBJECT_IDENTIFIER, &[content])
}

/// One element as it was read.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    /// The tag byte.
    pub(super) tag: u8,
    /// The content.
    pub(super) content: &'a [u8],
    /// Tag, length and content.
    pub(super) whole: &'a [u8],
}

/// Reads elements in sequence; `None` means that the input is malformed.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Reader(input)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Reads the next element whatever it is.
    pub(super) fn any(&mut self) -> Option<Element<'a>> {
        let (&tag, &first) = (self.0.first()?, self.0.get(1)?);
        // Tags over 30, which take more bytes, do not occur in anything read here.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (header, length) = match first {
            0..=0x7f => (2, usize::from(first)),
            0x81..=0x84 => {
                let count = usize::from(first & 0x7f);
                let bytes = self.0.get(2..2 + count)?;
                let length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
                // DER requires the shortest form.
                if bytes[0] == 0 || length < 0x80 {
                    return None;
                }
                (2 + count, length)
            }
            _ => return None,
        };
        let whole = self.0.get(..header.checked_add(length)?)?;
        self.0 = &self.0[whole.len()..];
        Some(Element { tag, content: &whole[header..], whole })
    }

    /// Reads an element with this tag.
    pub(super) fn take(&mut self, tag: u8) -> Option<Element<'a>> {
        let mut ahead = *self;
        let element = ahead.any().filter(|element| element.tag == tag)?;
        *self = ahead;
        Some(element)
    }

    /// Reads an element with this tag if it is next; the outer `None` means that it is malformed.
    #[allow(clippy::option_option)]
    pub(super) fn optional(&mut self, tag: u8) -> Option<Option<Element<'a>>> {
        if self.0.first() == Some(&tag) { self.take(tag).map(Some) } else { Some(None) }
    }

    /// Reads the content of a sequence.
    pub(super) fn sequence(&mut self) -> Option<Reader<'a>> {
        self.take(SEQUENCE).map(|element| Reader(element.content))
    }

    /// Reads the bytes of an integer in two's complement, in its shortest form.
    pub(super) fn integer(&mut self) -> Option<&'a [u8]> {
        let bytes = self.take(INTEGER)?.content;
        let shortest = match bytes {
            [] => false,
            [0, next, ..] => next & 0x80 != 0,
            [0xff, next, ..] => next & 0x80 == 0,
            _ => true,
        };
        shortest.then_some(bytes)
    }

    /// Reads a bit string that consists of whole bytes.
    pub(super) fn bit_string(&mut self) -> Option<&'a [u8]> {
        match self.take(BIT_STRING)?.content {
            [0, bytes @ ..] => Some(bytes),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_read_as_negative() {
        assert_eq!(unsigned(&[0, 0, 0x7f]), [2, 1, 0x7f]);
        assert_eq!(unsigned(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(unsigned(&[]), [2, 1, 0]);
    }

    #[test]
    fn long_elements_survive_a_round_trip() {
        let bytes = vec![7; 70_000];
        let written = element(OCTET_STRING, &[&bytes]);
        assert_eq!(written[..5], [4, 0x83, 1, 0x11, 0x70]);
        let read = Reader::new(&written).take(OCTET_STRING).expect("just written");
        assert_eq!(read.content, bytes);
    }

    #[test]
    fn lengths_beyond_the_input_and_long_forms_of_short_lengths_are_refused() {
        for input in [&[4, 5, 0][..], &[4, 0x81, 1, 0], &[4, 0x84, 255, 255, 255, 255], &[4], &[4, 0x80]] {
            assert!(Reader::new(input).any().is_none(), "{input:?}");
        }
    }
}

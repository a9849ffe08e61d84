//! The spelling of texts in the messages of Go's time package.

/// Returns a text in quotes; bytes below the space and beyond ASCII are escaped as `\xNN`.
pub(crate) fn quote(text: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=0x7f => quoted.push(char::from(byte)),
            _ => {
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                quoted.extend(['\\', 'x', char::from(high), char::from(low)]);
            }
        }
    }
    quoted.push('"');
    quoted
}

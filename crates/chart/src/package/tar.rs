//! Writes tar archives: ustar headers, and PAX records for names and times that do not fit.

use std::io::{self, Write};

const BLOCK: usize = 512;
/// The maximum length of a ustar name and prefix.
const NAME: usize = 100;
const PREFIX: usize = 155;
/// The latest time of a ustar header, in the year 2242.
const LATEST: i64 = 0o77_777_777_777;

/// Writes regular files into an archive.
pub(crate) struct TarWriter<W> {
    stream: W,
}

impl<W: Write> TarWriter<W> {
    pub(crate) fn new(stream: W) -> Self {
        TarWriter { stream }
    }

    /// Adds a world-readable file.
    pub(crate) fn add(&mut self, name: &str, data: &[u8], modified: i64) -> io::Result<()> {
        // The octal field has no sign.
        let modified = modified.max(0);
        let split = split_name(name);
        let mut records = Vec::new();
        if modified > LATEST {
            records.extend(pax_record("mtime", &modified.to_string()));
        }
        if split.is_none() {
            records.extend(pax_record("path", name));
        }
        if !records.is_empty() {
            self.entry("", "PaxHeaders.0/long", b'x', &records, 0)?;
        }
        match split {
            Some((prefix, name)) => self.entry(prefix, name, b'0', data, modified),
            None => {
                // Readers without PAX see a shortened name; it must end between characters.
                let short =
                    name.char_indices().rfind(|(index, _)| *index <= NAME - 4).map_or(0, |(index, _)| index);
                self.entry("", &name[..short], b'0', data, modified)
            }
        }
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.stream.write_all(&[0; 2 * BLOCK])?;
        Ok(self.stream)
    }

    fn entry(&mut self, prefix: &str, name: &str, flag: u8, data: &[u8], modified: i64) -> io::Result<()> {
        let mut header = [0; BLOCK];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, name.as_bytes());
        put(100, b"0000644\0");
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, format!("{:011o}\0", data.len()).as_bytes());
        put(136, format!("{:011o}\0", modified.min(LATEST)).as_bytes());
        // The checksum is computed with blanks in its own field.
        put(148, b"        ");
        put(156, &[flag]);
        put(257, b"ustar\x0000");
        put(329, b"0000000\0");
        put(337, b"0000000\0");
        put(345, prefix.as_bytes());
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.stream.write_all(&header)?;
        self.stream.write_all(data)?;
        let padding = data.len().wrapping_neg() % BLOCK;
        self.stream.write_all(&[0; BLOCK][..padding])
    }
}

/// Splits a name at a slash into the two fields of a ustar header, if it fits.
fn split_name(name: &str) -> Option<(&str, &str)> {
    // ustar does not say which encoding a name has; PAX records are UTF-8.
    if !name.is_ascii() {
        return None;
    }
    if name.len() <= NAME {
        return Some(("", name));
    }
    name.match_indices('/')
        .map(|(slash, _)| (&name[..slash], &name[slash + 1..]))
        .find(|(prefix, rest)| prefix.len() <= PREFIX && !rest.is_empty() && rest.len() <= NAME)
}

/// A PAX record `length key=value\n`, where the length includes itself.
fn pax_record(key: &str, value: &str) -> Vec<u8> {
    let rest = key.len() + value.len() + " =\n".len();
    // The digits of the length count too, and adding them can make the length one digit longer.
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_count_themselves() {
        assert_eq!(pax_record("path", "x"), b"9 path=x\n");
        assert_eq!(pax_record("path", &"x".repeat(89)).len(), 98);
        assert!(pax_record("path", &"x".repeat(91)).starts_with(b"101 "));
    }

    #[test]
    fn long_names_are_split_at_a_slash() {
        let name = format!("{}/{}", "a".repeat(120), "b".repeat(90));
        assert_eq!(split_name(&name).map(|(prefix, rest)| (prefix.len(), rest.len())), Some((120, 90)));
        assert_eq!(split_name(&"c".repeat(101)), None);
    }
}

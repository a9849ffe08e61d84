//! Reads the subset of tar that chart archives use: ustar, GNU long names and PAX records.

use super::gunzip::Gunzip;
use crate::error::ArchiveError;

const BLOCK: usize = 512;
/// The maximum size of a long name or PAX record, as in Go (`maxSpecialFileSize`).
const MAX_SPECIAL: u64 = 1024 * 1024;

/// One entry of an archive.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    /// The size in its header.
    pub(super) size: u64,
    pub(super) modified: Option<i64>,
    mode: u64,
    flag: u8,
}

impl Entry {
    pub(super) fn is_folder(&self) -> bool {
        const FOLDER_BITS: u64 = 0o40000;
        self.flag == b'5'
            || self.mode & !0o7777 == FOLDER_BITS
            || (self.flag == 0 && self.name.ends_with(b"/"))
    }

    pub(super) fn is_global_header(&self) -> bool {
        self.flag == b'g'
    }

    /// Links, devices and folders have no content, whatever size their header states.
    fn content_size(&self) -> u64 {
        if matches!(self.flag, b'1'..=b'6') { 0 } else { self.size }
    }
}

/// What a PAX or GNU header sets for the next entry.
#[derive(Default)]
struct Override {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    modified: Option<i64>,
}

/// Reads entries sequentially.
pub(super) struct TarReader<'a> {
    stream: Gunzip<'a>,
    /// How much has been read.
    position: u64,
    /// The remaining content of the current entry, and the padding of its last block.
    content: u64,
    padding: u64,
}

impl<'a> TarReader<'a> {
    /// Reads the archive that comes out of `stream`.
    pub(super) fn new(stream: Gunzip<'a>) -> Self {
        TarReader { stream, position: 0, content: 0, padding: 0 }
    }

    /// How much of the archive has been read.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next entry, or `None` at the end of the archive.
    pub(super) fn next_entry(&mut self) -> Result<Option<Entry>, ArchiveError> {
        let mut overrides = Override::default();
        loop {
            self.skip()?;
            let Some(block) = self.header_block()? else { return Ok(None) };
            let mut entry = parse_header(&block)?;
            self.expect_content(entry.content_size());
            match entry.flag {
                b'x' => read_pax(&self.special()?, &mut overrides)?,
                b'L' => overrides.name = Some(text(&self.special()?).to_vec()),
                b'K' => {
                    self.special()?;
                }
                // Sparse files are not supported: they need a map of their holes, and no tool creates charts with
                // them.
                b'S' => return Err(ArchiveError::TarHeader),
                _ => {
                    entry.name = overrides.name.unwrap_or(entry.name);
                    entry.size = overrides.size.unwrap_or(entry.size);
                    entry.modified = overrides.modified.or(entry.modified);
                    self.expect_content(entry.content_size());
                    return Ok(Some(entry));
                }
            }
        }
    }

    /// Passes the content of the current entry to `sink` in chunks.
    pub(super) fn content(&mut self, sink: impl FnMut(&[u8])) -> Result<(), ArchiveError> {
        let length = usize::try_from(self.content).unwrap_or(usize::MAX);
        if self.take(length, sink) < length {
            return Err(self.truncated());
        }
        self.content = 0;
        Ok(())
    }

    fn take(&mut self, length: usize, sink: impl FnMut(&[u8])) -> usize {
        let taken = self.stream.take(length, sink);
        self.position += taken as u64;
        taken
    }

    fn expect_content(&mut self, size: u64) {
        self.content = size;
        // The bytes up to the next block boundary, without a branch for zero.
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    /// The content of a header that applies to another entry.
    fn special(&mut self) -> Result<Vec<u8>, ArchiveError> {
        if self.content > MAX_SPECIAL {
            return Err(ArchiveError::Damaged("archive/tar: header field too long"));
        }
        let mut content = Vec::new();
        self.content(|piece| content.extend_from_slice(piece))?;
        Ok(content)
    }

    /// Skips to the next header.
    fn skip(&mut self) -> Result<(), ArchiveError> {
        self.content(|_| ())?;
        // Go tolerates truncated padding, but not truncated content.
        self.take(self.padding as usize, |_| ());
        self.padding = 0;
        Ok(())
    }

    /// The next header; `None` at the end: two empty blocks, or end of data.
    fn header_block(&mut self) -> Result<Option<[u8; BLOCK]>, ArchiveError> {
        match self.block()? {
            Some(block) if block == [0; BLOCK] => {}
            other => return Ok(other),
        }
        match self.block()? {
            Some(block) if block != [0; BLOCK] => Err(ArchiveError::TarHeader),
            _ => Ok(None),
        }
    }

    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, ArchiveError> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        self.take(BLOCK, |piece| {
            block[filled..][..piece.len()].copy_from_slice(piece);
            filled += piece.len();
        });
        match filled {
            BLOCK => Ok(Some(block)),
            0 if self.stream.failure().is_none() => Ok(None),
            _ => Err(self.truncated()),
        }
    }

    /// The error for truncated data.
    fn truncated(&self) -> ArchiveError {
        self.stream.failure().cloned().unwrap_or(ArchiveError::Damaged("unexpected EOF"))
    }
}

fn parse_header(block: &[u8; BLOCK]) -> Result<Entry, ArchiveError> {
    let claimed = number(&block[148..156])?;
    let sum = |value: fn(u8) -> i64| -> i64 {
        let all: i64 = block.iter().map(|byte| value(*byte)).sum();
        let own: i64 = block[148..156].iter().map(|byte| value(*byte)).sum();
        all - own + 8 * i64::from(b' ')
    };
    // Some old writers summed signed bytes.
    if claimed != sum(i64::from) && claimed != sum(|byte| i64::from(byte as i8)) {
        return Err(ArchiveError::TarHeader);
    }
    let mut name = text(&block[..100]).to_vec();
    if &block[257..263] == b"ustar\0" {
        let prefix = text(&block[345..500]);
        if !prefix.is_empty() {
            name = [prefix, b"/", &name].concat();
        }
    }
    let unsigned = |field: &[u8]| number(field)?.try_into().map_err(|_| ArchiveError::TarHeader);
    Ok(Entry {
        name,
        mode: unsigned(&block[100..108])?,
        size: unsigned(&block[124..136])?,
        modified: Some(number(&block[136..148])?),
        flag: block[156],
    })
}

/// Bytes up to the first NUL.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A number in octal digits, or binary if the first bit is set (GNU base-256).
fn number(field: &[u8]) -> Result<i64, ArchiveError> {
    if field[0] & 0x80 != 0 {
        let negative = field[0] & 0x40 != 0;
        let first = if negative { -1 } else { 0 } << 6 | i64::from(field[0] & 0x3f);
        return field[1..]
            .iter()
            .try_fold(first, |number, byte| number.checked_mul(256).map(|number| number | i64::from(*byte)))
            .ok_or(ArchiveError::TarHeader);
    }
    let digits = text(field).trim_ascii();
    digits.iter().try_fold(0i64, |number, digit| match digit {
        b'0'..=b'7' => number
            .checked_mul(8)
            .map(|number| number | i64::from(digit - b'0'))
            .ok_or(ArchiveError::TarHeader),
        _ => Err(ArchiveError::TarHeader),
    })
}

/// Parses records of the form `length key=value`, each with a line feed that its length includes.
fn read_pax(mut records: &[u8], overrides: &mut Override) -> Result<(), ArchiveError> {
    while !records.is_empty() {
        let blank = records.iter().position(|byte| *byte == b' ').ok_or(ArchiveError::TarHeader)?;
        let length: usize = ascii(&records[..blank]).ok_or(ArchiveError::TarHeader)?;
        let record = records.get(blank + 1..length).and_then(|record| record.strip_suffix(b"\n"));
        let record = record.ok_or(ArchiveError::TarHeader)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or(ArchiveError::TarHeader)?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        if !is_valid_record(key, value) || is_sparse(key, value) {
            return Err(ArchiveError::TarHeader);
        }
        match key {
            b"path" if !value.is_empty() => overrides.name = Some(value.to_vec()),
            b"size" if !value.is_empty() => {
                overrides.size = Some(ascii(value).ok_or(ArchiveError::TarHeader)?);
            }
            b"mtime" if !value.is_empty() => {
                let whole = value.split(|byte| *byte == b'.').next().unwrap_or_default();
                overrides.modified = Some(ascii(whole).ok_or(ArchiveError::TarHeader)?);
            }
            _ => {}
        }
        records = &records[length..];
    }
    Ok(())
}

/// Whether Go accepts a record: names and keys hold no NUL.
fn is_valid_record(key: &[u8], value: &[u8]) -> bool {
    let checked = if matches!(key, b"path" | b"linkpath" | b"uname" | b"gname") { value } else { key };
    !key.is_empty() && !checked.contains(&0)
}

/// Whether a record makes the next entry a sparse file of a known version. They are rejected, because their packed
/// data must not be taken for their content.
fn is_sparse(key: &[u8], value: &[u8]) -> bool {
    match key {
        b"GNU.sparse.major" => matches!(value, b"0" | b"1"),
        b"GNU.sparse.map" | b"GNU.sparse.numblocks" | b"GNU.sparse.offset" => true,
        _ => false,
    }
}

fn ascii<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_octal_or_binary() {
        assert_eq!(number(b"0000644\0"), Ok(0o644));
        assert_eq!(number(b"  17 \0  "), Ok(15));
        assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 1, 2]), Ok(258));
        assert_eq!(number(&[0xff; 8]), Ok(-1));
        assert!(number(b"9\0").is_err());
        assert!(number(&[0xbf; 12]).is_err());
    }

    #[test]
    fn pax_records_with_nul_in_names_and_sparse_files_are_refused() {
        let mut overrides = Override::default();
        for bad in [
            &b"12 path=a\0b\n"[..],
            b"16 linkpath=a\0b\n",
            b"13 uname=a\0b\n",
            b"11 p\0th=ab\n",
            b"5 =a\n",
            b"22 GNU.sparse.major=1\n",
            b"22 GNU.sparse.map=4,2\n",
        ] {
            assert_eq!(read_pax(bad, &mut overrides), Err(ArchiveError::TarHeader), "{}", bad.escape_ascii());
        }
        for good in [&b"15 comment=a\0b\n"[..], b"22 GNU.sparse.major=2\n"] {
            assert_eq!(read_pax(good, &mut overrides), Ok(()), "{}", good.escape_ascii());
        }
    }

    #[test]
    fn pax_records_override_the_header() {
        let mut overrides = Override::default();
        read_pax(b"16 path=p/a b/c\n20 mtime=1350244992.023960108\n", &mut overrides)
            .expect_err("wrong length");
        read_pax(b"16 path=p/a b/c\n30 mtime=1350244992.023960108\n", &mut overrides).expect("good records");
        assert_eq!(overrides.name.as_deref(), Some(&b"p/a b/c"[..]));
        assert_eq!(overrides.modified, Some(1_350_244_992));
        assert!(read_pax(b"999 path=x\n", &mut overrides).is_err());
        assert!(read_pax(b"2 path=x\n", &mut overrides).is_err());
    }
}

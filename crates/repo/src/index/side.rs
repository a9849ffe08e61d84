//! The catalog of an index in a file beside it.
//!
//! The file is only a cache: one that is missing, damaged, of another version of this program or older than its index is
//! rebuilt from the index, and write errors are ignored. It is valid as long as the index is the file that it was made
//! from, by size, times and inode; if these differ, by the hash of its bytes.
//!
//! Layout: a magic word, the lengths and the checksum of the head and the catalog, the head (what the file was made
//! from), the catalog, and then for each chart the details of its versions, which are read one chart at a time.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest as _, Sha256};

use super::catalog::{Catalog, Cataloguer, ChartEntry, Detail, Text, VersionHead};
use super::choose::{Found, choose};
use super::{MAX_INDEX, Skipped, read};
use crate::atomic;
use crate::error::{Error, Result, refused};

/// How the name of an index cache ends, where that of the index ends with `-index.yaml`.
pub const SIDE_SUFFIX: &str = "-index.pintle";

/// The first bytes; the last of them is the version of the format.
const MAGIC: &[u8; 8] = b"PNTLIDX\x02";

/// What stands before the head: the magic word, two lengths and a checksum.
const PREFIX: usize = 8 + 4 + 4 + 16;

/// The validators of a downloaded index, for conditional requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// Where the index came from.
    pub url: String,
    /// The `ETag` header.
    pub etag: String,
    /// The `Last-Modified` header.
    pub last_modified: String,
}

/// What an index cache was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
}

impl Stamp {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Stamp {
        use std::os::unix::fs::MetadataExt as _;
        Stamp {
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Stamp {
        let since = metadata.modified().ok();
        let since =
            since.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
        let modified = (since.as_secs() as i64, i64::from(since.subsec_nanos()));
        Stamp { size: metadata.len(), modified, ..Stamp::default() }
    }
}

/// An index, ready for lookups.
#[derive(Debug)]
pub struct Cached {
    /// The charts and what there is to say about them.
    pub catalog: Catalog,
    /// Entries that were left out.
    pub skipped: Vec<Skipped>,
    /// What the server said about it, if this program fetched it.
    pub validators: Validators,
    details: Details,
}

#[derive(Debug)]
enum Details {
    /// In the catalog.
    Here,
    /// In the index cache of this index, in these chunks.
    Aside { index: PathBuf, file: Mutex<File>, chunks: Vec<Chunk> },
}

#[derive(Clone, Copy, Debug, Default)]
struct Chunk {
    offset: u64,
    length: usize,
    check: u64,
}

impl Cached {
    /// Opens an index file by its index cache, which is created if needed.
    ///
    /// # Errors
    /// Files that cannot be read and texts that are no index, in Helm's words.
    pub fn open(path: &Path) -> Result<Cached> {
        let mut file = File::open(path).map_err(refused("open", path))?;
        let stamp = Stamp::of(&file.metadata().map_err(refused("stat", path))?);
        let side = side_path(path);
        let mut hash = None;
        if let Some(opened) = open_side(path, &side, stamp, &mut || {
            let sum = hash_file(&mut file).ok()?;
            hash = Some(sum);
            Some(sum)
        }) {
            return Ok(opened);
        }
        file.seek(SeekFrom::Start(0)).map_err(refused("seek", path))?;
        let text = read_to_end(file, path)?;
        let cached = Cached::parse(&text)
            .map_err(|error| error.within(&format!("error loading {}", path.display())))?;
        let unchanged = fs::metadata(path).is_ok_and(|metadata| Stamp::of(&metadata) == stamp);
        if unchanged {
            let hash = hash.unwrap_or_else(|| Sha256::digest(&text).into());
            // Searching must work in a read-only folder too.
            let _ = atomic::write(&side, &cached.encode(stamp, hash), 0o644);
        }
        Ok(cached)
    }

    /// Opens an index by its index cache, with the index itself; `None` where the index would have to be read.
    pub(crate) fn known(path: &Path) -> Option<(Cached, File)> {
        let mut file = File::open(path).ok()?;
        let stamp = Stamp::of(&file.metadata().ok()?);
        let cached = open_side(path, &side_path(path), stamp, &mut || hash_file(&mut file).ok())?;
        file.seek(SeekFrom::Start(0)).ok()?;
        Some((cached, file))
    }

    /// Stores new validators for an index with the same bytes.
    pub(crate) fn keep_validators(&self, path: &Path, validators: &Validators) {
        if self.validators != *validators {
            let _ = rewrite_validators(&side_path(path), validators);
        }
    }

    /// Reads the text of an index.
    ///
    /// # Errors
    /// What is no index.
    pub fn parse(text: &[u8]) -> Result<Cached> {
        let mut cataloguer = Cataloguer::default();
        let skipped = read(text, &mut cataloguer)?;
        let catalog = cataloguer.finish();
        Ok(Cached { catalog, skipped, validators: Validators::default(), details: Details::Here })
    }

    /// Writes the index cache of an index that was just written as `written`. It is only a cache, so write errors are
    /// ignored.
    pub(crate) fn keep(&self, path: &Path, text: &[u8], written: &Metadata) {
        let stamp = Stamp::of(written);
        if stamp.size == text.len() as u64 {
            let hash = Sha256::digest(text).into();
            let _ = atomic::write(&side_path(path), &self.encode(stamp, hash), 0o644);
        }
    }

    /// The version of a chart that is meant.
    ///
    /// # Errors
    /// Charts that are not there, texts that are no constraint, and when nothing fits; in Helm's words.
    pub fn get(&self, chart: &str, version: &str) -> Result<Found, String> {
        let Some(at) = self.catalog.position(chart) else { return Err("no chart name found".to_owned()) };
        let entry = &self.catalog.charts[at];
        let chosen = choose(chart, &entry.versions, version)?;
        let details = self.details_at(at)?;
        let detail = details.into_iter().nth(chosen.at).ok_or("the side index is damaged")?;
        Ok(Found { version: entry.versions[chosen.at].version.clone(), detail, log: chosen.log })
    }

    /// The details of the versions of a chart, in the order of the catalog.
    pub fn details(&self, chart: &str) -> Vec<Detail> {
        self.catalog.position(chart).and_then(|at| self.details_at(at).ok()).unwrap_or_default()
    }

    /// Whether any version is at `url`.
    pub fn lists(&self, url: &str) -> bool {
        let name = pintle_chart::path::base(url.split(['?', '#']).next().unwrap_or_default());
        // A cheap filter: nearly all URLs differ in the file name. Percent-encoding can spell the same name differently.
        let may_be = |other: &str| other.contains(name) || other.contains('%') || name.contains('%');
        (0..self.catalog.charts.len()).any(|at| {
            let details = self.details_at(at).unwrap_or_default();
            let mut urls = details.iter().flat_map(|detail| &detail.urls);
            urls.any(|other| may_be(other) && crate::address::equal(url, other))
        })
    }

    fn details_at(&self, at: usize) -> Result<Vec<Detail>, String> {
        let (index, file, chunks) = match &self.details {
            Details::Here => return Ok(self.catalog.charts[at].details.clone()),
            Details::Aside { index, file, chunks } => (index, file, chunks),
        };
        let read = || {
            let chunk = chunks.get(at)?;
            let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut bytes = vec![0; chunk.length];
            file.seek(SeekFrom::Start(chunk.offset)).ok()?;
            file.read_exact(&mut bytes).ok()?;
            if check(&bytes) == chunk.check { decode_details(&bytes) } else { None }
        };
        if let Some(details) = read() {
            return Ok(details);
        }
        // The index cache is damaged: read the index instead, and delete the file so that the next command rebuilds it.
        let _ = fs::remove_file(side_path(index));
        let whole = Cached::open(index).map_err(|error| error.to_string())?;
        Ok(whole
            .catalog
            .chart(&self.catalog.charts[at].name)
            .map_or_else(Vec::new, |chart| chart.details.clone()))
    }

    fn encode(&self, stamp: Stamp, hash: [u8; 32]) -> Vec<u8> {
        let mut head = Encoder::default();
        head.stamp(stamp, hash);
        head.validators(&self.validators);
        head.number(self.skipped.len() as u64);
        for skipped in &self.skipped {
            head.text(&skipped.chart);
            head.number(skipped.invalid.is_some().into());
            for text in skipped.invalid.iter().flat_map(|(version, reason)| [version, reason]) {
                head.text(text);
            }
        }
        let mut body = Encoder::default();
        let mut details = Encoder::default();
        body.number(self.catalog.texts.len() as u64);
        for text in &self.catalog.texts {
            body.text(&text.name);
            body.text(&text.description);
            body.text(&text.keywords);
            body.number(u64::from(text.is_library));
        }
        body.number(self.catalog.charts.len() as u64);
        for chart in &self.catalog.charts {
            body.text(&chart.name);
            body.number(chart.versions.len() as u64);
            for head in &chart.versions {
                body.text(&head.version);
                body.text(&head.app_version);
                body.number(u64::from(head.text));
            }
            let begin = details.0.len();
            encode_details(&chart.details, &mut details);
            body.number(begin as u64);
            body.number((details.0.len() - begin) as u64);
            body.0.extend_from_slice(&check(&details.0[begin..]).to_le_bytes());
        }
        assembled(&head.0, &body.0, &details.0)
    }
}

fn assembled(head: &[u8], body: &[u8], details: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(PREFIX + head.len() + body.len() + details.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&seal(head, body));
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(details);
    bytes
}

/// The index cache of an index.
pub(crate) fn side_path(index: &Path) -> PathBuf {
    let name = index.file_name().unwrap_or_default().to_string_lossy();
    let front = name.strip_suffix("-index.yaml").unwrap_or(&name);
    index.with_file_name(format!("{front}{SIDE_SUFFIX}"))
}

fn open_side(
    index: &Path,
    path: &Path,
    stamp: Stamp,
    hash: &mut dyn FnMut() -> Option<[u8; 32]>,
) -> Option<Cached> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let mut prefix = [0; PREFIX];
    file.read_exact(&mut prefix).ok()?;
    if &prefix[..8] != MAGIC {
        return None;
    }
    let number = |at: usize| Some(u32::from_le_bytes(prefix[at..at + 4].try_into().ok()?) as usize);
    let (head_length, body_length) = (number(8)?, number(12)?);
    if (PREFIX + head_length + body_length) as u64 > length {
        return None;
    }
    let mut bytes = vec![0; head_length + body_length];
    file.read_exact(&mut bytes).ok()?;
    let (head, body) = bytes.split_at(head_length);
    if seal(head, body) != prefix[16..32] {
        return None;
    }
    let mut decoder = Decoder(head);
    let (made_from, made_from_hash) = decoder.stamp()?;
    if made_from != stamp {
        if made_from.size != stamp.size || hash()? != made_from_hash {
            return None;
        }
        renew(path, stamp, made_from_hash);
    }
    let validators = decoder.validators()?;
    let mut skipped = Vec::new();
    for _ in 0..decoder.number()? {
        let chart = decoder.text()?;
        let invalid = match decoder.number()? {
            0 => None,
            _ => Some((decoder.text()?, decoder.text()?)),
        };
        skipped.push(Skipped { chart, invalid });
    }
    let begin = (PREFIX + head_length + body_length) as u64;
    let (catalog, chunks) = decode_catalog(body, begin, length)?;
    let details = Details::Aside { index: index.to_owned(), file: Mutex::new(file), chunks };
    Some(Cached { catalog, skipped, validators, details })
}

/// Gives an index cache the new stamp of its index, whose bytes are the same. If that fails, the next command hashes again.
fn renew(path: &Path, stamp: Stamp, hash: [u8; 32]) {
    let _ = rewrite_head(path, |head| {
        let mut decoder = Decoder(head);
        decoder.stamp()?;
        let mut encoder = Encoder::default();
        encoder.stamp(stamp, hash);
        encoder.0.extend_from_slice(decoder.0);
        Some(encoder.0)
    });
}

fn rewrite_validators(path: &Path, validators: &Validators) -> Option<()> {
    rewrite_head(path, |head| {
        let mut decoder = Decoder(head);
        let (stamp, hash) = decoder.stamp()?;
        decoder.validators()?;
        let mut encoder = Encoder::default();
        encoder.stamp(stamp, hash);
        encoder.validators(validators);
        encoder.0.extend_from_slice(decoder.0);
        Some(encoder.0)
    })
}

/// Writes an index cache with another head. Offsets in it count from its end, so they stay valid.
fn rewrite_head(path: &Path, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Option<()> {
    let bytes = fs::read(path).ok()?;
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let (head_length, body_length) = (number(8)?, number(12)?);
    let (head, rest) = bytes.get(PREFIX..)?.split_at_checked(head_length)?;
    let (body, details) = rest.split_at_checked(body_length)?;
    // A wrong checksum: another process may be replacing the file, so it is left alone.
    if seal(head, body) != bytes[16..32] {
        return None;
    }
    atomic::write(path, &assembled(&change(head)?, body, details), 0o644).ok().map(drop)
}

fn decode_catalog(body: &[u8], begin: u64, length: u64) -> Option<(Catalog, Vec<Chunk>)> {
    let mut decoder = Decoder(body);
    let mut catalog = Catalog::default();
    for _ in 0..decoder.number()? {
        let (name, description) = (decoder.text()?, decoder.text()?);
        let (keywords, is_library) = (decoder.text()?, decoder.number()? != 0);
        catalog.texts.push(Text { name, description, keywords, is_library });
    }
    let mut chunks = Vec::new();
    for _ in 0..decoder.number()? {
        let name = decoder.text()?;
        let count = usize::try_from(decoder.number()?).ok()?;
        let mut versions = Vec::with_capacity(count.min(body.len()));
        for _ in 0..count {
            let (version, app_version) = (decoder.text()?, decoder.text()?);
            let text = u32::try_from(decoder.number()?).ok()?;
            if text as usize >= catalog.texts.len() {
                return None;
            }
            versions.push(VersionHead { version, app_version, text });
        }
        let (offset, size) = (begin.checked_add(decoder.number()?)?, decoder.number()?);
        if offset.checked_add(size)? > length {
            return None;
        }
        let check = u64::from_le_bytes(decoder.take(8)?.try_into().ok()?);
        chunks.push(Chunk { offset, length: usize::try_from(size).ok()?, check });
        catalog.charts.push(ChartEntry { name, versions, details: Vec::new() });
    }
    Some((catalog, chunks))
}

fn encode_details(details: &[Detail], encoder: &mut Encoder) {
    encoder.number(details.len() as u64);
    for detail in details {
        encoder.number(detail.urls.len() as u64);
        detail.urls.iter().for_each(|url| encoder.text(url));
        encoder.text(&detail.digest);
        encoder.text(&detail.created);
        encoder.number(u64::from(detail.deprecated));
    }
}

fn decode_details(bytes: &[u8]) -> Option<Vec<Detail>> {
    let mut decoder = Decoder(bytes);
    let mut details = Vec::new();
    for _ in 0..decoder.number()? {
        let mut urls = Vec::new();
        for _ in 0..decoder.number()? {
            urls.push(decoder.text()?);
        }
        let (digest, created) = (decoder.text()?, decoder.text()?);
        details.push(Detail { urls, digest, created, deprecated: decoder.number()? == 1 });
    }
    Some(details)
}

/// Reads an index file.
///
/// # Errors
/// When it cannot be read, or is larger than [`MAX_INDEX`].
pub(super) fn read_to_end(file: File, path: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(MAX_INDEX + 1).read_to_end(&mut text).map_err(refused("read", path))?;
    if text.len() as u64 > MAX_INDEX {
        let limit = MAX_INDEX >> 20;
        return Err(Error::Index(format!("{} is larger than {limit} MiB", path.display())));
    }
    Ok(text)
}

fn hash_file(file: &mut File) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn seal(head: &[u8], body: &[u8]) -> [u8; 16] {
    let sum = Sha256::new().chain_update(head).chain_update(body).finalize();
    let mut short = [0; 16];
    short.copy_from_slice(&sum[..16]);
    short
}

fn check(bytes: &[u8]) -> u64 {
    let sum = Sha256::digest(bytes);
    sum.iter().take(8).fold(0, |check, byte| check << 8 | u64::from(*byte))
}

#[derive(Default)]
struct Encoder(Vec<u8>);

impl Encoder {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn validators(&mut self, validators: &Validators) {
        for text in [&validators.url, &validators.etag, &validators.last_modified] {
            self.text(text);
        }
    }

    /// Always has the same length, so that it can be replaced.
    fn stamp(&mut self, stamp: Stamp, hash: [u8; 32]) {
        let Stamp { size, modified, changed, inode } = stamp;
        for number in [size, inode] {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
        for number in [modified.0, modified.1, changed.0, changed.1] {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
        self.0.extend_from_slice(&hash);
    }
}

struct Decoder<'b>(&'b [u8]);

impl<'b> Decoder<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    fn validators(&mut self) -> Option<Validators> {
        Some(Validators { url: self.text()?, etag: self.text()?, last_modified: self.text()? })
    }

    fn stamp(&mut self) -> Option<(Stamp, [u8; 32])> {
        let mut unsigned = || Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?));
        let (size, inode) = (unsigned()?, unsigned()?);
        let mut signed = || unsigned().map(|number| number as i64);
        let modified = (signed()?, signed()?);
        let changed = (signed()?, signed()?);
        let hash = self.take(32)?.try_into().ok()?;
        Some((Stamp { size, modified, changed, inode }, hash))
    }
}

//! The content cache: charts by the digest of their bytes, in files that Helm shares.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pintle_registry::{Digest, MANIFEST_LIMIT};
use sha2::{Digest as _, Sha256};

use crate::atomic;
use crate::error::{Error, Result, refused};

/// What is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An archive.
    Chart,
    /// A provenance file, under the digest of its archive.
    Provenance,
    /// A manifest of a registry, which names the digest of an archive; Helm has none of these.
    Manifest,
}

impl Kind {
    fn suffix(self) -> &'static str {
        match self {
            Kind::Chart => ".chart",
            Kind::Provenance => ".prov",
            Kind::Manifest => ".manifest",
        }
    }
}

/// The cache in a folder.
#[derive(Clone, Debug)]
pub struct ContentCache {
    root: PathBuf,
}

impl ContentCache {
    /// The cache in this folder, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> ContentCache {
        ContentCache { root: root.into() }
    }

    /// Where something is, or would be.
    pub fn path(&self, digest: &str, kind: Kind) -> PathBuf {
        let front = digest.get(..2).unwrap_or_default();
        self.root.join(front).join(format!("{digest}{}", kind.suffix()))
    }

    /// The archive of a digest, if it is cached and its content has that digest. Helm does not verify it.
    pub fn chart(&self, digest: &str) -> Option<PathBuf> {
        let path = self.path(digest, Kind::Chart);
        let metadata = fs::metadata(&path).ok()?;
        if !metadata.is_file() || metadata.len() == 0 {
            return None;
        }
        (hash_file(&path).ok()? == digest).then_some(path)
    }

    /// The manifest of a digest, if it is cached and its content has that digest.
    pub fn manifest(&self, digest: &Digest) -> Option<Vec<u8>> {
        let path = self.path(digest.hex(), Kind::Manifest);
        let is_small = fs::metadata(&path).ok()?.len() <= MANIFEST_LIMIT as u64;
        let bytes = is_small.then(|| fs::read(&path).ok()).flatten()?;
        (Digest::of(&bytes) == *digest).then_some(bytes)
    }

    /// A temporary file for [`ContentCache::keep`].
    ///
    /// # Errors
    /// When the folder cannot be made or written to.
    pub fn incoming(&self) -> Result<tempfile::NamedTempFile> {
        atomic::folder(&self.root).map_err(|error| Error::Cache(error.to_string()))?;
        atomic::beside(&self.root.join("x")).map_err(refused("open", &self.root))
    }

    /// Checks that the path of a digest's archive can be accessed; the archive may be missing.
    ///
    /// # Errors
    /// When a part of the path is not a folder, or permission is denied.
    pub(crate) fn check(&self, digest: &str) -> Result<()> {
        let path = self.path(digest, Kind::Chart);
        match fs::metadata(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused("stat", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Moves a file into the cache.
    ///
    /// # Errors
    /// Those of writing.
    pub fn keep(&self, file: tempfile::NamedTempFile, digest: &str, kind: Kind) -> Result<PathBuf> {
        let path = self.path(digest, kind);
        let folder = path.parent().unwrap_or(&self.root);
        atomic::folder(folder).map_err(|error| Error::Cache(error.to_string()))?;
        atomic::persist(file, &path, 0o644).map_err(refused("rename", &path))?;
        Ok(path)
    }

    /// Everything that is cached, by digest. Other files are skipped.
    pub fn entries(&self) -> Vec<CacheEntry> {
        let folders = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let files = folders.filter_map(|folder| fs::read_dir(folder.path()).ok()).flatten().flatten();
        let mut entries: Vec<CacheEntry> = files.filter_map(|file| CacheEntry::of(&file.path())).collect();
        entries.sort_by(|left, right| left.path.cmp(&right.path));
        entries
    }
}

/// One file of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEntry {
    /// The digest that it is kept by, in hexadecimal digits.
    pub digest: String,
    /// What it is.
    pub kind: Kind,
    /// Its length in bytes.
    pub size: u64,
    /// When it was written.
    pub modified: SystemTime,
    /// The file.
    pub path: PathBuf,
}

impl CacheEntry {
    fn of(path: &Path) -> Option<CacheEntry> {
        let name = path.file_name()?.to_str()?;
        let kinds = [Kind::Chart, Kind::Provenance, Kind::Manifest];
        let (digest, kind) =
            kinds.into_iter().find_map(|kind| Some((name.strip_suffix(kind.suffix())?, kind)))?;
        let metadata = fs::metadata(path).ok()?;
        if declared(digest) != Ok(Some(digest.to_owned())) || !metadata.is_file() {
            return None;
        }
        let modified = metadata.modified().ok()?;
        let (digest, path) = (digest.to_owned(), path.to_owned());
        Some(CacheEntry { digest, kind, size: metadata.len(), modified, path })
    }

    /// Removes it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn remove(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(refused("remove", &self.path)(error))
            }
            _ => Ok(()),
        }
    }
}

/// The digest that an index declares: 64 hexadecimal digits, with or without `sha256:` before them.
///
/// # Errors
/// Why it cannot be compared with anything.
pub(crate) fn declared(text: &str) -> Result<Option<String>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let hex = match text.split_once(':') {
        Some(("sha256", hex)) => hex,
        Some((algorithm, _)) => return Err(format!("its algorithm is {algorithm}, not sha256")),
        None => text,
    };
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("it does not have 64 hexadecimal digits".to_owned());
    }
    Ok(Some(hex.to_ascii_lowercase()))
}

/// The digest of a file.
pub(crate) fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes and hashes at once.
pub(crate) struct Hashing<'w> {
    pub(crate) sink: &'w mut (dyn io::Write + Send),
    pub(crate) hasher: Sha256,
}

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.write_all(bytes)?;
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Compares what came with what was declared.
pub(crate) fn compare(url: &str, expected: Option<&str>, found: &str) -> Result<()> {
    match expected {
        Some(expected) if expected != found => Err(Error::Digest {
            url: pintle_tree::redact::redacted(url).into_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sha256_in_full_can_be_compared() {
        let hex = "AB".repeat(32);
        assert_eq!(declared(&hex), Ok(Some("ab".repeat(32))));
        assert_eq!(declared(&format!("sha256:{hex}")), Ok(Some("ab".repeat(32))));
        assert_eq!(declared(""), Ok(None));
        assert_eq!(declared("md5:00"), Err("its algorithm is md5, not sha256".to_owned()));
        assert_eq!(declared("xyz"), Err("it does not have 64 hexadecimal digits".to_owned()));
    }

    #[test]
    fn what_does_not_have_its_digest_is_not_in_the_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = ContentCache::new(folder.path());
        let digest = "00".repeat(32);
        let file = cache.incoming().expect("a file");
        fs::write(file.path(), b"other bytes").expect("it is written");
        let path = cache.keep(file, &digest, Kind::Chart).expect("it is kept");
        assert!(path.ends_with(format!("00/{digest}.chart")));
        assert_eq!(cache.chart(&digest), None);
    }
}

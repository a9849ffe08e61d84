//! Archives and their provenance files, from the content cache or from where they are.

use std::io::Write;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::content::{ContentCache, Hashing, Kind, hex};
use crate::error::{Result, refused};
use crate::get::Request;
use crate::resolve::{Fetched, Resolved, Resolver};

/// The largest archive that is fetched.
pub const MAX_ARCHIVE: u64 = 1 << 30;

/// The `Accept` header.
const ACCEPT: &str = "application/gzip,application/octet-stream";

impl Resolver<'_> {
    /// Brings an archive into the content cache, unless it is there.
    ///
    /// # Errors
    /// When it cannot be fetched or kept, or is not what the index declares.
    pub fn fetch(&self, resolved: &Resolved) -> Result<Fetched> {
        let cache = ContentCache::new(&self.folders.content_cache);
        let fetched = |path, digest| Fetched { path, digest, source: resolved.source.clone() };
        if let Some(digest) = &resolved.digest {
            if resolved.by_name {
                cache.check(digest)?;
            }
            if let Some(path) = cache.chart(digest) {
                return Ok(fetched(path, digest.clone()));
            }
        }
        if let Some(oci) = &resolved.oci
            && let Some(digest) = self.cached_oci(resolved, oci)?
        {
            return Ok(fetched(cache.path(&digest, Kind::Chart), digest));
        }
        let mut file = match cache.incoming() {
            Ok(file) => file,
            Err(error) => {
                // Like Helm, fetch first: what is wrong with the chart is reported before what is wrong with the cache.
                self.download(resolved, &mut std::io::sink())?;
                return Err(error);
            }
        };
        let digest = self.download(resolved, file.as_file_mut())?;
        let path = cache.keep(file, &digest, Kind::Chart)?;
        Ok(fetched(path, digest))
    }

    /// The archive in the content cache with its SHA-256, if it is there.
    ///
    /// # Errors
    /// When the registry cannot be asked for the digest, or the digest differs from the one in the index.
    pub(crate) fn cached(&self, resolved: &Resolved) -> Result<Option<(PathBuf, String)>> {
        let digest = match (&resolved.digest, &resolved.oci) {
            (Some(digest), _) => Some(digest.clone()),
            (None, Some(oci)) => self.cached_oci(resolved, oci)?,
            (None, None) => None,
        };
        let cache = ContentCache::new(&self.folders.content_cache);
        Ok(digest.and_then(|digest| Some((cache.chart(&digest)?, digest))))
    }

    /// Writes an archive from where it is to `sink`, and gives its SHA-256.
    pub(crate) fn download(&self, resolved: &Resolved, sink: &mut (dyn Write + Send)) -> Result<String> {
        if let Some(oci) = &resolved.oci {
            return self.download_oci(resolved, oci, sink);
        }
        let mut hashing = Hashing { sink, hasher: Sha256::new() };
        self.getter.get(&request(resolved, &resolved.source.url), &mut hashing)?;
        let digest = hex(&hashing.hasher.finalize());
        if !self.skip_digest {
            self.getter.check_digest(&resolved.source.url, resolved.digest.as_deref(), &digest)?;
        }
        Ok(digest)
    }

    /// The provenance file of an archive that is in the content cache, which is fetched unless it is there too.
    ///
    /// # Errors
    /// When it cannot be fetched or kept.
    pub fn cached_provenance(&self, resolved: &Resolved, digest: &str) -> Result<PathBuf> {
        let cache = ContentCache::new(&self.folders.content_cache);
        let path = cache.path(digest, Kind::Provenance);
        if std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() > 0) {
            return Ok(path);
        }
        let text = self.provenance(resolved)?;
        let mut file = cache.incoming()?;
        file.write_all(&text).map_err(refused("write", &path))?;
        cache.keep(file, digest, Kind::Provenance)
    }

    /// Fetches the provenance file that stands beside an archive, with the same credentials.
    ///
    /// # Errors
    /// When it cannot be fetched.
    pub fn provenance(&self, resolved: &Resolved) -> Result<Vec<u8>> {
        if let Some(oci) = &resolved.oci {
            return self.provenance_oci(resolved, oci);
        }
        let url = provenance_url(resolved);
        let request = Request { limit: 16 << 20, ..request(resolved, &url) };
        self.getter.get_bytes(&request).map(|(_, text)| text)
    }
}

/// Where the provenance file of an archive is.
pub fn provenance_url(resolved: &Resolved) -> String {
    format!("{}.prov", resolved.source.url)
}

fn request<'r>(resolved: &'r Resolved, url: &'r str) -> Request<'r> {
    Request {
        url,
        home: &resolved.home,
        access: resolved.access.clone(),
        accept: ACCEPT,
        known: None,
        compressed: false,
        limit: MAX_ARCHIVE,
    }
}

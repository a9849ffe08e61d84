//! Files with values from web servers and registries. Each is pinned to a digest, so a cached file never becomes stale, and a
//! server cannot change the values of a release.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle::registry::{Client, ImageName, Settings};
use pintle::repo::{Getter, Proxies, Request};
use sha2::{Digest as _, Sha256};

use crate::address::AddressRules;
use crate::charts::describe_error;
use crate::error::{Error, Result};
use crate::recent::Recent;
use crate::request::{ValuesReference, hex};
use crate::values::describe;

/// The largest file.
const MAX_FILE: u64 = 4 << 20;
/// How much is kept in memory.
const MAX_KEPT: usize = 16 << 20;
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Fetches and keeps files with values.
pub struct ValueFiles {
    proxies: Proxies,
    addresses: AddressRules,
    kept: Mutex<Recent<Vec<u8>>>,
}

impl ValueFiles {
    /// Fetches through these proxies, from addresses that the rules allow.
    pub fn new(proxies: Proxies, addresses: AddressRules) -> ValueFiles {
        ValueFiles { proxies, addresses, kept: Mutex::new(Recent::new(MAX_KEPT)) }
    }

    /// Returns the file of a reference that has a URL and a digest.
    pub(crate) async fn get(&self, reference: &ValuesReference) -> Result<Vec<u8>> {
        let digest = reference.digest.clone().unwrap_or_default().to_ascii_lowercase();
        let url = reference.url.clone().unwrap_or_default();
        // The digest of an artifact is that of its manifest, so the name of the file counts, too. So does the URL: whoever knows
        // only the digest of someone else's file must not get it.
        let known = format!("{digest} {} {url}", reference.key());
        if let Some(bytes) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&known) {
            return Ok(bytes.clone());
        }
        let failed =
            |text: String| Error::Values(format!("{}: {}", describe(reference), describe_error(&text)));
        let bytes = match url.strip_prefix("oci://") {
            Some(name) => self.artifact(name, &digest, reference.key()).await,
            None => self.download(url.clone(), &digest).await,
        };
        let bytes = bytes.map_err(failed)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(known, bytes.clone(), bytes.len());
        Ok(bytes)
    }

    async fn download(&self, url: String, digest: &str) -> std::result::Result<Vec<u8>, String> {
        let (proxies, addresses) = (self.proxies.clone(), self.addresses.check());
        let fetch = move || {
            let getter =
                Getter::new(proxies, TIMEOUT, concat!("pintle-controller/", env!("CARGO_PKG_VERSION")));
            let getter = getter.with_addresses(addresses);
            let request = Request { url: &url, home: &url, limit: MAX_FILE, ..Request::default() };
            let mut bytes = Vec::new();
            getter.get(&request, &mut bytes).map(|_| bytes).map_err(|error| error.to_string())
        };
        let bytes = tokio::task::spawn_blocking(fetch).await.map_err(|error| error.to_string())??;
        let found = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
        match found == digest {
            true => Ok(bytes),
            // The digest that was found is not shown: with it, the next request would get the content.
            false => Err(format!("its digest is not {digest}")),
        }
    }

    async fn artifact(&self, name: &str, digest: &str, file: &str) -> std::result::Result<Vec<u8>, String> {
        // A tag is informative only; the digest decides.
        let repository = name.split('@').next().unwrap_or(name);
        let name: ImageName = format!("{repository}@{digest}").parse().map_err(text)?;
        let settings = Settings {
            proxies: self.proxies.clone(),
            addresses: Some(self.addresses.check()),
            ..Settings::default()
        };
        let client = Arc::new(Client::new(settings).map_err(text)?);
        // A registry that sends a little now and then would otherwise take as long as it likes.
        let read = tokio::time::timeout(TIMEOUT, client.artifact_file(&name, file, MAX_FILE)).await;
        let bytes =
            read.map_err(|_| format!("the registry takes more than {} seconds", TIMEOUT.as_secs()))?;
        Ok(bytes.map_err(text)?.to_vec())
    }
}

fn text(error: pintle::registry::Error) -> String {
    error.to_string()
}

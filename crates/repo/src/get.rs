//! Fetching over HTTP, by the rules of Helm's getter and with its texts.
//!
//! Credentials go to the server of the repository and to nobody else unless the user says so, also when that server
//! redirects elsewhere. The bytes stream into what the caller gives, up to a limit.

mod answer;
mod key_pair;
mod redirect;
mod tls;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pintle_registry::address::AddressCheck;
use pintle_registry::{Proxies, Transport};
use pintle_tree::redact::redacted;

use crate::chartmuseum::AccessToken;
use crate::config::Entry;
use crate::content::compare;
use crate::error::{Error, Result};
use crate::index::{Cached, Validators};
use crate::index_table::IndexTable;
use crate::oci::Registries;
use crate::repository::index_of;

pub use key_pair::key_pair_problem;
pub(crate) use redirect::{basic, uri};

/// How to reach a server: our identity and the trusted certificates.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// The user to log in as.
    pub username: String,
    /// The password.
    pub password: String,
    /// The client certificate.
    pub cert_file: String,
    /// Its key.
    pub key_file: String,
    /// The authorities to trust instead of the system's.
    pub ca_file: String,
    /// Whether to skip certificate verification.
    pub insecure_skip_tls_verify: bool,
    /// Whether other hosts get the credentials too.
    pub pass_credentials_all: bool,
    /// A token, which is used if there is no user with a password.
    pub token: Option<AccessToken>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Passwords must not appear in debug output.
        f.debug_struct("Access").field("username", &self.username).finish_non_exhaustive()
    }
}

/// One request.
#[derive(Clone, Debug, Default)]
pub struct Request<'r> {
    /// What to fetch.
    pub url: &'r str,
    /// The URL that the credentials belong to.
    pub home: &'r str,
    /// How to reach the server.
    pub access: Access,
    /// The `Accept` header, if any.
    pub accept: &'r str,
    /// The validators of the cached copy, for a conditional request.
    pub known: Option<&'r Validators>,
    /// Whether the answer may be compressed on its way.
    pub compressed: bool,
    /// The most that is taken, in bytes.
    pub limit: u64,
}

/// A response without its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Whether the cached copy is still current (304 Not Modified); then there was no body.
    pub unchanged: bool,
    /// The validators for the next request.
    pub validators: Validators,
}

/// Called with the size of each chunk of one download, in bytes; dropped at its end.
pub type Meter = Box<dyn FnMut(u64) + Send>;

/// Makes a meter for a download, by its name and its size in bytes if that is known.
pub type DownloadProgress = Arc<dyn Fn(&str, Option<u64>) -> Meter + Send + Sync>;

/// Called with the error about an archive that is not what the index declares.
pub type StaleDigest = Arc<dyn Fn(&Error) + Send + Sync>;

/// Fetches URLs with schemes other than HTTP.
pub trait SchemeGetter: Send + Sync {
    /// Whether it handles a scheme.
    fn knows(&self, scheme: &str) -> bool;

    /// Fetches.
    ///
    /// # Errors
    /// Why the request failed.
    fn get(&self, request: &Request<'_>) -> Result<Vec<u8>>;
}

/// Fetches over HTTP, and by other schemes if it was given a getter for these. Blocks; must not be called on an async thread.
pub struct Getter {
    proxies: Proxies,
    pub(crate) timeout: Duration,
    pub(crate) agent: String,
    transports: Mutex<BTreeMap<String, Arc<Transport>>>,
    registries: Option<Registries>,
    progress: Option<DownloadProgress>,
    schemes: Option<Box<dyn SchemeGetter>>,
    stale_digest: Option<StaleDigest>,
    addresses: Option<AddressCheck>,
    trusts_subdomains: bool,
    max_bytes: u64,
    /// Indexes that are kept in memory, and whether the server is asked for them in any case.
    indexes: Option<(Arc<IndexTable>, bool)>,
}

impl Getter {
    /// A getter. `timeout` is for the whole of a request with its answer; none if it is zero.
    pub fn new(proxies: Proxies, timeout: Duration, agent: impl Into<String>) -> Getter {
        Getter {
            proxies,
            timeout,
            agent: agent.into(),
            transports: Mutex::default(),
            registries: None,
            progress: None,
            schemes: None,
            stale_digest: None,
            addresses: None,
            trusts_subdomains: false,
            max_bytes: u64::MAX,
            indexes: None,
        }
    }

    /// The same getter, for a process that resolves many references: indexes of repositories that are named by their URLs are
    /// kept in memory. With `fresh`, their servers are asked in any case.
    #[must_use]
    pub fn with_indexes(self, indexes: Arc<IndexTable>, fresh: bool) -> Getter {
        Getter { indexes: Some((indexes, fresh)), ..self }
    }

    /// The index of a repository that is named by its URL.
    pub(crate) fn index_of(&self, entry: &Entry) -> Result<Arc<Cached>> {
        match &self.indexes {
            Some((indexes, fresh)) => indexes.get(self, entry, *fresh),
            None => index_of(self, entry).map(Arc::new),
        }
    }

    /// The same getter, for which an archive that is not what the index declares is a warning, as it is no error in Helm.
    #[must_use]
    pub fn with_stale_digests(self, warn: Option<StaleDigest>) -> Getter {
        Getter { stale_digest: warn, ..self }
    }

    /// Compares the digest of an archive with the declared one.
    ///
    /// # Errors
    /// When they differ, unless that is only a warning.
    pub(crate) fn check_digest(&self, url: &str, expected: Option<&str>, found: &str) -> Result<()> {
        match (compare(url, expected, found), &self.stale_digest) {
            (Err(error), Some(warn)) => {
                warn(&error);
                Ok(())
            }
            (outcome, _) => outcome,
        }
    }

    /// The same getter, which takes no more than this of any server, also if a request allows more.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: u64) -> Getter {
        Getter { max_bytes, ..self }
    }

    /// The most that is taken of the answer to a request.
    pub(crate) fn limit(&self, limit: u64) -> u64 {
        limit.min(self.max_bytes)
    }

    /// The same getter, which sends credentials to subdomains, too, if a server redirects there. Go's client does, and so
    /// Helm.
    #[must_use]
    pub fn with_subdomains(self, trusts_subdomains: bool) -> Getter {
        Getter { trusts_subdomains, ..self }
    }

    /// The same getter, which connects only to addresses that pass the check, also after redirects. The registries have
    /// settings of their own.
    #[must_use]
    pub fn with_addresses(self, addresses: AddressCheck) -> Getter {
        Getter { addresses: Some(addresses), ..self }
    }

    /// The same getter, which fetches charts from registries too.
    #[must_use]
    pub fn with_registries(self, registries: Registries) -> Getter {
        Getter { registries: Some(registries), ..self }
    }

    /// The same getter, which reports the progress of its downloads.
    #[must_use]
    pub fn with_progress(self, progress: Option<DownloadProgress>) -> Getter {
        Getter { progress, ..self }
    }

    /// A meter for a download; a no-op if no progress is wanted.
    pub(crate) fn meter(&self, name: &str, size: Option<u64>) -> Meter {
        match &self.progress {
            Some(progress) => progress(name, size),
            None => Box::new(|_| {}),
        }
    }

    /// The same getter, which asks another one for schemes that are neither HTTP nor those of registries.
    #[must_use]
    pub fn with_schemes(self, schemes: impl SchemeGetter + 'static) -> Getter {
        Getter { schemes: Some(Box::new(schemes)), ..self }
    }

    /// The getter for a scheme that is neither HTTP nor that of registries.
    fn other(&self, scheme: &str) -> Option<&dyn SchemeGetter> {
        let is_own = matches!(scheme, "" | "http" | "https" | "oci");
        self.schemes.as_deref().filter(|schemes| !is_own && schemes.knows(scheme))
    }

    /// Whether another getter is asked for a scheme.
    pub fn knows_scheme(&self, scheme: &str) -> bool {
        self.other(scheme).is_some()
    }

    /// Whether another getter is asked for a URL.
    pub(crate) fn is_of_plugin(&self, url: &str) -> bool {
        url.split_once(':').is_some_and(|(scheme, _)| self.knows_scheme(&scheme.to_ascii_lowercase()))
    }

    /// The registries that charts come from, if any.
    pub fn registries(&self) -> Option<&Registries> {
        self.registries.as_ref()
    }

    /// Fetches into `sink`.
    ///
    /// # Errors
    /// Why the request failed, with Helm's text. Some bytes may have been written by then.
    pub fn get(&self, request: &Request<'_>, sink: &mut dyn Write) -> Result<Response> {
        let scheme = request.url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
        if let Some(other) = self.other(&scheme) {
            let bytes = other.get(request)?;
            if bytes.len() as u64 > request.limit {
                return Err(Error::Fetch(format!(
                    "{} is larger than {} bytes",
                    redacted(request.url),
                    request.limit
                )));
            }
            sink.write_all(&bytes).map_err(|error| Error::Fetch(error.to_string()))?;
            return Ok(Response::default());
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Fetch(format!("cannot start: {error}")))?;
        let outcome = runtime.block_on(self.exchange(request, sink));
        // A DNS lookup in progress cannot be cancelled, so do not wait for it.
        runtime.shutdown_background();
        outcome
    }

    /// Fetches into memory.
    ///
    /// # Errors
    /// As [`Getter::get`].
    pub fn get_bytes(&self, request: &Request<'_>) -> Result<(Response, Vec<u8>)> {
        let mut bytes = Vec::new();
        let response = self.get(request, &mut bytes)?;
        Ok((response, bytes))
    }

    async fn exchange(&self, request: &Request<'_>, sink: &mut dyn Write) -> Result<Response> {
        if self.timeout.is_zero() {
            let mut answer = self.follow(request).await?;
            return self.receive(request, &mut answer, sink).await;
        }
        let ends = tokio::time::Instant::now() + self.timeout;
        let late = |url: &str, where_: &str| {
            Error::Fetch(format!(
                "Get {}: context deadline exceeded ({where_})",
                pintle_tree::quote::quote(redacted(url).as_bytes())
            ))
        };
        let answer = tokio::time::timeout_at(ends, self.follow(request)).await;
        let mut answer =
            answer.map_err(|_| late(request.url, "Client.Timeout exceeded while awaiting headers"))??;
        match tokio::time::timeout_at(ends, self.receive(request, &mut answer, sink)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Fetch(
                "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
                    .to_owned(),
            )),
        }
    }
}

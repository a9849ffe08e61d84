//! Schemas that charts refer to by URL: fetched as Helm does, and cached, so that a chart can be rendered offline.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pintle::SchemaLoader;
use pintle::provenance::sha256;
use pintle::repo::{Error, Getter, Request};

use crate::connect;
use crate::env::Home;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::remote;

/// The timeout for fetching a schema, as in Helm.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How long a schema is used without asking for it again.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// The largest schema.
const LIMIT: u64 = 16 << 20;

/// Fetches schemas with the settings of this run.
pub(crate) fn loader(invocation: &Invocation<'_>) -> SchemaLoader {
    let proxies = remote::proxies(connect::proxies(invocation.environment));
    let agent = remote::agent(invocation.personality);
    // Helm has no cache and fetches schemas each time.
    let cache = (invocation.personality == Personality::Pintle)
        .then(|| PathBuf::from(invocation.environment.home(Home::Cache, "schemas")));
    SchemaLoader::new(move |url| {
        let getter = Getter::new(proxies.clone(), TIMEOUT, agent.clone());
        // Operations may run on threads of the async runtime, which must not block on requests.
        std::thread::scope(|scope| {
            let fetch = scope.spawn(|| match &cache {
                Some(cache) => cached(&getter, url, cache),
                None => fetch(&getter, url),
            });
            fetch.join().unwrap_or_else(|_| Err(format!("HTTP request failed for {url}")))
        })
    })
}

/// A schema from the cache if it is fresh, else from its server, else from the cache whatever its age.
fn cached(getter: &Getter, url: &str, cache: &Path) -> Result<Vec<u8>, String> {
    let path = cache.join(format!("{}.json", sha256(url.as_bytes())));
    let kept = std::fs::read(&path).ok();
    let age = std::fs::metadata(&path).and_then(|found| found.modified()).ok();
    let is_fresh = age.and_then(|time| time.elapsed().ok()).is_some_and(|age| age < FRESH);
    match (kept, is_fresh) {
        (Some(kept), true) => Ok(kept),
        (kept, _) => match fetch(getter, url) {
            Ok(text) => {
                // A cache that cannot be written is ignored.
                let _ =
                    std::fs::create_dir_all(cache).and_then(|()| pintle::chart::write_atomic(&path, &text));
                Ok(text)
            }
            Err(reason) => kept.ok_or(reason),
        },
    }
}

fn fetch(getter: &Getter, url: &str) -> Result<Vec<u8>, String> {
    let request = Request { url, home: url, limit: LIMIT, ..Request::default() };
    getter.get_bytes(&request).map(|(_, text)| text).map_err(|error| reason(url, &error))
}

/// Why a schema cannot be had, in Helm's words.
fn reason(url: &str, error: &Error) -> String {
    let text = error.to_string();
    let status = text.strip_prefix(&format!("failed to fetch {url} : "));
    match status.and_then(|line| line.split_once(' ')) {
        Some((code, words)) => format!("HTTP request to {url} returned status {code} ({words})"),
        None => format!("HTTP request failed for {url}: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_helms() {
        let reason_of = |text: &str| reason("http://h/x", &Error::Fetch(text.to_owned()));
        assert_eq!(
            reason_of("failed to fetch http://h/x : 404 Not Found"),
            "HTTP request to http://h/x returned status 404 (Not Found)"
        );
        assert_eq!(
            reason_of("Get \"http://h/x\": EOF"),
            "HTTP request failed for http://h/x: Get \"http://h/x\": EOF"
        );
    }
}

//! Repositories on the network and their indexes in the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use crate::address::{Address, resolve_reference};
use crate::atomic;
use crate::config::Entry;
use crate::error::{Error, Result, refused};
use crate::get::{Access, Getter, Request};
use crate::index::{Cached, MAX_INDEX, SIDE_SUFFIX, Skipped, Validators};

/// How many indexes are fetched at once.
const AT_ONCE: usize = 16;

impl From<&Entry> for Access {
    fn from(entry: &Entry) -> Access {
        Access {
            username: entry.username.clone(),
            password: entry.password.clone(),
            cert_file: entry.cert_file.clone(),
            key_file: entry.key_file.clone(),
            ca_file: entry.ca_file.clone(),
            insecure_skip_tls_verify: entry.insecure_skip_tls_verify,
            pass_credentials_all: entry.pass_credentials_all,
        }
    }
}

/// The cached index of a repository.
pub fn index_path(cache: &Path, name: &str) -> PathBuf {
    cache.join(format!("{}index.yaml", prefix(name)))
}

/// The names of the charts of a repository, one per line.
pub fn charts_path(cache: &Path, name: &str) -> PathBuf {
    cache.join(format!("{}charts.txt", prefix(name)))
}

fn prefix(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}-") }
}

/// Checks that there is a way to fetch from a URL.
///
/// # Errors
/// Texts that are no URL, and schemes that nobody handles.
pub fn check_scheme(getter: &Getter, url: &str) -> Result<()> {
    let address =
        Address::parse(url).map_err(|_| Error::Input(format!("invalid chart URL format: {url}")))?;
    match address.scheme.as_str() {
        "http" | "https" | "oci" => Ok(()),
        other if getter.knows_scheme(other) => Ok(()),
        other => Err(Error::Input(format!("could not find protocol handler for: {other}"))),
    }
}

/// Fetches the index of a repository and keeps it in the cache, with its side file. Gives back what was left out of it.
///
/// # Errors
/// When it cannot be fetched, is no index or cannot be kept; then what was there before is still there.
pub fn download_index(getter: &Getter, entry: &Entry, cache: &Path) -> Result<Vec<Skipped>> {
    let path = index_path(cache, &entry.name);
    let known = path.exists().then(|| Cached::open(&path).ok()).flatten();
    let known = known.filter(|known| !known.validators.url.is_empty());
    let (text, validators) = match fetch_index(getter, entry, known.as_ref().map(|known| &known.validators))?
    {
        Fetched::Unchanged => {
            let known = known.ok_or_else(|| Error::Fetch("304 Not Modified".to_owned()))?;
            let _ = write_charts(cache, &entry.name, &known);
            return Ok(known.skipped);
        }
        Fetched::Index(text, validators) => (text, validators),
    };
    drop(known);
    let mut index = Cached::parse(&text)?;
    index.validators = validators;
    atomic::folder(cache).map_err(refused("mkdir", cache))?;
    // What completion reads; it is done without when it cannot be written.
    let _ = write_charts(cache, &entry.name, &index);
    atomic::write(&path, &text, 0o644).map_err(refused("open", &path))?;
    index.keep(&path, &text);
    Ok(index.skipped)
}

fn write_charts(cache: &Path, name: &str, index: &Cached) -> std::io::Result<()> {
    let charts: String = index.catalog.charts.iter().map(|chart| format!("{}\n", chart.name)).collect();
    let path = charts_path(cache, name);
    match fs::read(&path) {
        Ok(there) if there == charts.as_bytes() => Ok(()),
        _ => atomic::write(&path, charts.as_bytes(), 0o644),
    }
}

enum Fetched {
    Unchanged,
    Index(Vec<u8>, Validators),
}

fn fetch_index(getter: &Getter, entry: &Entry, known: Option<&Validators>) -> Result<Fetched> {
    let url = resolve_reference(&entry.url, "index.yaml").map_err(Error::Fetch)?;
    let request = Request {
        url: &url,
        home: &entry.url,
        access: Access::from(entry),
        accept: "",
        known,
        compressed: true,
        limit: MAX_INDEX,
    };
    let (response, text) = getter.get_bytes(&request)?;
    if response.unchanged {
        return Ok(Fetched::Unchanged);
    }
    Ok(Fetched::Index(text, response.validators))
}

/// Fetches the index of a repository that has no name, and keeps nothing.
///
/// # Errors
/// When it cannot be fetched or is no index.
pub fn index_of(getter: &Getter, entry: &Entry) -> Result<Cached> {
    match fetch_index(getter, entry, None)? {
        Fetched::Index(text, _) => Cached::parse(&text),
        Fetched::Unchanged => Err(Error::Fetch("304 Not Modified".to_owned())),
    }
}

/// Fetches the indexes of several repositories side by side; `done` hears of each as it comes in.
pub fn update(
    getter: &Getter,
    entries: &[Entry],
    cache: &Path,
    mut done: impl FnMut(&Entry, Result<Vec<Skipped>>),
) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..entries.len().min(AT_ONCE) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(entry) = entries.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if sender.send((entry, download_index(getter, entry, cache))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (entry, outcome) in receiver {
            done(entry, outcome);
        }
    });
}

/// Removes what is cached of a repository.
///
/// # Errors
/// When the index cannot be removed.
pub fn remove_cache(cache: &Path, name: &str) -> Result<()> {
    let _ = fs::remove_file(charts_path(cache, name));
    let _ = fs::remove_file(cache.join(format!("{name}{SIDE_SUFFIX}")));
    let path = index_path(cache, name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(refused("remove", &path)(error)),
        _ => Ok(()),
    }
}

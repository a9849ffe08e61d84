//! Repositories on the network and their indexes in the cache.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write};
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
            token: None,
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
/// When the URL is invalid, or its scheme has no getter.
pub fn check_scheme(getter: &Getter, url: &str) -> Result<()> {
    let address =
        Address::parse(url).map_err(|_| Error::Input(format!("invalid chart URL format: {url}")))?;
    match address.scheme.as_str() {
        "http" | "https" | "oci" => Ok(()),
        other if getter.knows_scheme(other) => Ok(()),
        other => Err(Error::Input(format!("could not find protocol handler for: {other}"))),
    }
}

/// Fetches the index of a repository into the cache, with its index cache. Returns the skipped entries.
///
/// # Errors
/// When it cannot be fetched, is no index or cannot be written; then the cached index is unchanged.
pub fn download_index(getter: &Getter, entry: &Entry, cache: &Path) -> Result<Vec<Skipped>> {
    let path = index_path(cache, &entry.name);
    let (known, file) = Cached::known(&path).unzip();
    let mut sink = Comparing::new(file);
    let validators = fetch_index(getter, entry, known.as_ref().map(|known| &known.validators), &mut sink)?;
    let (text, validators) = match (validators, known) {
        (None, Some(known)) => return unchanged(cache, &entry.name, known),
        (None, None) => return Err(Error::Fetch("304 Not Modified".to_owned())),
        (Some(validators), known) => match (sink.finish(), known) {
            // The server sent the index that is already cached.
            (None, Some(known)) => {
                known.keep_validators(&path, &validators);
                return unchanged(cache, &entry.name, known);
            }
            (text, _) => (text.unwrap_or_default(), validators),
        },
    };
    let mut index = Cached::parse(&text)?;
    index.validators = validators;
    // If the folder cannot be created, writing the index fails too, with an error that names the file.
    let _ = atomic::folder(cache);
    // Only for shell completion, so errors are ignored.
    let _ = write_charts(cache, &entry.name, &index);
    let written = atomic::write(&path, &text, 0o644).map_err(refused("open", &path))?;
    index.keep(&path, &text, &written);
    Ok(index.skipped)
}

fn unchanged(cache: &Path, name: &str, known: Cached) -> Result<Vec<Skipped>> {
    let _ = write_charts(cache, name, &known);
    Ok(known.skipped)
}

/// Compares what is written with a file, and holds it in memory only if it differs: most indexes that are fetched again are
/// the same, and many processes may fetch them at once.
struct Comparing {
    file: Option<BufReader<File>>,
    /// How many bytes were equal so far.
    equal: u64,
    chunk: Vec<u8>,
    text: Vec<u8>,
}

impl Comparing {
    fn new(file: Option<File>) -> Comparing {
        let file = file.map(|file| BufReader::with_capacity(64 << 10, file));
        Comparing { file, equal: 0, chunk: Vec::new(), text: Vec::new() }
    }

    /// What was written, or `None` if it equals the file.
    fn finish(mut self) -> Option<Vec<u8>> {
        let is_same = self.file.as_mut().is_some_and(|file| file.fill_buf().is_ok_and(<[u8]>::is_empty));
        if is_same {
            return None;
        }
        // If the equal part cannot be read again, the index is incomplete, which parsing it reports.
        let _ = self.differ();
        Some(self.text)
    }

    /// Switches to holding everything in memory, starting with the part that was equal.
    fn differ(&mut self) -> io::Result<()> {
        if let Some(mut file) = self.file.take() {
            file.seek(SeekFrom::Start(0))?;
            file.take(self.equal).read_to_end(&mut self.text)?;
        }
        Ok(())
    }
}

impl Write for Comparing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            self.chunk.resize(bytes.len(), 0);
            if file.read_exact(&mut self.chunk).is_ok() && self.chunk == bytes {
                self.equal += bytes.len() as u64;
                return Ok(bytes.len());
            }
            self.differ()?;
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_charts(cache: &Path, name: &str, index: &Cached) -> std::io::Result<()> {
    let charts: String = index.catalog.charts.iter().map(|chart| format!("{}\n", chart.name)).collect();
    let path = charts_path(cache, name);
    match fs::read(&path) {
        Ok(there) if there == charts.as_bytes() => Ok(()),
        _ => atomic::write(&path, charts.as_bytes(), 0o644).map(drop),
    }
}

/// Fetches an index into `sink`, and returns its validators; `None` if the server says that `known` is still current.
pub(crate) fn fetch_index(
    getter: &Getter,
    entry: &Entry,
    known: Option<&Validators>,
    sink: &mut dyn Write,
) -> Result<Option<Validators>> {
    let url = resolve_reference(&entry.url, "index.yaml").map_err(Error::Fetch)?;
    if url.starts_with("oci://") {
        // Registries have no index; the error text is that of Helm's registry library.
        let text = "failed to perform \"FetchReference\" on source: invalid reference".to_owned();
        let hint = "registries have no index: charts there are named by oci://HOST/PATH/CHART".to_owned();
        return Err(Error::Registry { text, hint: Some(hint), denied: false });
    }
    let request = Request {
        url: &url,
        home: &entry.url,
        access: Access::from(entry),
        accept: "",
        known: known.filter(|known| !known.url.is_empty()),
        compressed: true,
        limit: MAX_INDEX,
    };
    let response = getter.get(&request, sink)?;
    Ok((!response.unchanged).then_some(response.validators))
}

/// Fetches the index of a repository without a name, and caches nothing.
///
/// # Errors
/// When it cannot be fetched or is no index.
pub fn index_of(getter: &Getter, entry: &Entry) -> Result<Cached> {
    let mut text = Vec::new();
    match fetch_index(getter, entry, None, &mut text)? {
        Some(_) => Cached::parse(&text),
        None => Err(Error::Fetch("304 Not Modified".to_owned())),
    }
}

/// Fetches the indexes of several repositories concurrently; `done` is called for each as it completes.
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
    let removed = match fs::metadata(&path) {
        Ok(found) if found.is_dir() => fs::remove_dir(&path),
        Ok(_) => fs::remove_file(&path),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let front = format!("can't remove index file {}", path.display());
            return Err(refused("stat", &path)(error).within(&front));
        }
    };
    match removed {
        // Another program may have removed it in the meantime.
        Err(error) if error.kind() != ErrorKind::NotFound => Err(refused("remove", &path)(error)),
        _ => Ok(()),
    }
}

//! Repositories that have a name: `repo add`, `remove`, `update`, `list` and `index`.

use std::io::ErrorKind;
use std::path::PathBuf;

use pintle_chart::metadata::Timestamp;
use pintle_repo::index::{self, IndexDocument};
use pintle_repo::repository::{check_scheme, download_index, remove_cache, update};
use pintle_repo::{Entry, Locked, Repositories, unreachable_repository};

use crate::error::RemoteError;
use crate::progress::{Progress, RemoteEvent};
use crate::remote::off_thread;
use crate::{Remote, Reporter, Result};

/// Repositories that were shut down, with their successors.
const GONE: [(&str, &str); 2] = [
    ("//kubernetes-charts.storage.googleapis.com", "https://charts.helm.sh/stable"),
    ("//kubernetes-charts-incubator.storage.googleapis.com", "https://charts.helm.sh/incubator"),
];

/// A repository to add.
#[derive(Clone, Debug, Default)]
pub struct AddRepositoryRequest {
    /// Its name, its URL, and how to reach it.
    pub entry: Entry,
    /// Whether it replaces a repository of the same name that has other settings.
    pub replace: bool,
    /// Whether a repository that is known to be gone may be added.
    pub allow_gone: bool,
    /// Whether a user without a password is refused, so that the caller can ask for it.
    pub needs_password: bool,
}

/// Downloads the index of a repository and adds the repository. Returns whether it was not there with the same settings before.
///
/// # Errors
/// When the name is taken or invalid, the index cannot be fetched, or the files cannot be written.
pub async fn add_repository(
    remote: &Remote,
    request: &AddRepositoryRequest,
    reporter: &mut dyn Reporter,
) -> Result<bool> {
    let (remote, request) = (remote.clone(), request.clone());
    off_thread(reporter, move |reporter| Ok(add(&remote, request, reporter)?)).await
}

fn add(
    remote: &Remote,
    request: AddRepositoryRequest,
    reporter: &mut dyn Reporter,
) -> Result<bool, RemoteError> {
    let AddRepositoryRequest { entry, replace, allow_gone, needs_password } = request;
    let gone = GONE.iter().find(|(gone, _)| entry.url.contains(gone));
    if let Some((_, successor)) = gone.filter(|_| !allow_gone) {
        return Err(RemoteError::RepositoryGone { url: entry.url, successor });
    }
    let lock = Locked::open(remote.config())?;
    let mut repositories = lock.read()?;
    if needs_password && !entry.username.is_empty() && entry.password.is_empty() {
        return Err(RemoteError::PasswordNeeded { name: entry.name });
    }
    if entry.name.contains('/') {
        return Err(RemoteError::RepositoryName { name: entry.name });
    }
    match repositories.get(&entry.name).filter(|_| !replace) {
        Some(there) if *there == entry => return Ok(false),
        Some(_) => return Err(RemoteError::RepositoryExists { name: entry.name }),
        None => {}
    }
    check_scheme(&remote.getter, &entry.url)?;
    let skipped = download_index(&remote.getter, &entry, &remote.paths.repository_cache)
        .map_err(|error| unreachable_repository(&entry.url, error))?;
    skipped.iter().for_each(|skipped| reporter.log(skipped.log_line(&entry.url)));
    repositories.update(entry);
    lock.write(&repositories)?;
    Ok(true)
}

/// The repositories that were added. What is wrong with the file is ignored, as in Helm.
pub async fn repositories(remote: &Remote, reporter: &mut dyn Reporter) -> Result<Vec<Entry>> {
    let path = remote.config().clone();
    off_thread(reporter, move |_| Ok(Repositories::load_partly(&path).entries)).await
}

/// Removes repositories and their cached indexes, one after the other; each is reported.
///
/// # Errors
/// The first name that no repository has, and files that cannot be written or removed.
pub async fn remove_repositories(
    remote: &Remote,
    names: &[String],
    reporter: &mut dyn Reporter,
) -> Result<()> {
    let (remote, names) = (remote.clone(), names.to_vec());
    off_thread(reporter, move |reporter| Ok(remove(&remote, names, reporter)?)).await
}

fn remove(remote: &Remote, names: Vec<String>, reporter: &mut dyn Reporter) -> Result<(), RemoteError> {
    // Without a repository file there is nothing to lock.
    if Repositories::load_partly(remote.config()).entries.is_empty() {
        return Err(RemoteError::NoRepositories);
    }
    let lock = Locked::open(remote.config())?;
    let mut repositories = lock.read_partly();
    for name in names {
        if !repositories.remove(&name) {
            return Err(RemoteError::NoSuchRepository { name });
        }
        lock.write(&repositories)?;
        remove_cache(&remote.paths.repository_cache, &name)?;
        reporter.report(Progress::Remote(RemoteEvent::RepositoryRemoved { name }));
    }
    Ok(())
}

/// Updates the cached indexes of all repositories, or of those with these names, concurrently; each is reported.
///
/// # Errors
/// A name that no repository has, and after the others were updated, indexes that could not be fetched.
pub async fn update_repositories(
    remote: &Remote,
    names: &[String],
    reporter: &mut dyn Reporter,
) -> Result<()> {
    let (remote, names) = (remote.clone(), names.to_vec());
    off_thread(reporter, move |reporter| Ok(refresh(&remote, &names, reporter)?)).await
}

fn refresh(remote: &Remote, names: &[String], reporter: &mut dyn Reporter) -> Result<(), RemoteError> {
    let path = remote.config();
    let repositories = Repositories::load(path)
        .map_err(|error| error.within(&format!("failed loading file: {}", path.display())))?;
    let entries = repositories.unwrap_or_default().entries;
    if entries.is_empty() {
        return Err(RemoteError::NothingToUpdate);
    }
    if let Some(name) = names.iter().find(|name| entries.iter().all(|entry| entry.name != **name)) {
        return Err(RemoteError::NoMatchingRepository { name: name.clone() });
    }
    let is_selected = |entry: &Entry| names.is_empty() || names.contains(&entry.name);
    let selected: Vec<Entry> = entries.into_iter().filter(is_selected).collect();
    for entry in &selected {
        check_scheme(&remote.getter, &entry.url)?;
    }
    reporter.report(Progress::Remote(RemoteEvent::UpdatingRepositories));
    let mut failed = Vec::new();
    update(&remote.getter, &selected, &remote.paths.repository_cache, |entry, outcome| {
        let Entry { name, url, .. } = entry.clone();
        match outcome {
            Ok(skipped) => {
                skipped.iter().for_each(|skipped| reporter.log(skipped.log_line(&url)));
                reporter.report(Progress::Remote(RemoteEvent::RepositoryUpdated { name }));
            }
            Err(error) => {
                failed.push(url.clone());
                reporter.report(Progress::Remote(RemoteEvent::RepositoryNotUpdated { name, url, error }));
            }
        }
    });
    if failed.is_empty() { Ok(()) } else { Err(RemoteError::UpdatesFailed { urls: failed }) }
}

/// A folder of archives to index.
#[derive(Clone, Debug, Default)]
pub struct IndexRequest {
    /// The folder. The index is written to `index.yaml` in it.
    pub folder: PathBuf,
    /// Where the archives will be; empty for URLs that are relative to the index.
    pub url: String,
    /// An index whose other charts are listed too. One that does not exist is written without charts.
    pub merge: Option<PathBuf>,
    /// Whether to write JSON.
    pub json: bool,
    /// The time of the index.
    pub now: Timestamp,
}

/// Generates the index of a folder of archives.
///
/// # Errors
/// When archives or the other index cannot be read, or the index cannot be written.
pub async fn index_directory(request: &IndexRequest, reporter: &mut dyn Reporter) -> Result<()> {
    let request = request.clone();
    off_thread(reporter, move |reporter| Ok(write_index(&request, reporter)?)).await
}

fn write_index(request: &IndexRequest, reporter: &mut dyn Reporter) -> Result<(), RemoteError> {
    let IndexRequest { folder, url, merge, json, now } = request;
    let mut document = index::index_directory(folder, url, *now)?;
    if let Some(path) = merge {
        let is_missing = path.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let other = if is_missing {
            let empty = IndexDocument { generated: *now, ..IndexDocument::default() };
            // Helm ignores errors when it writes this file.
            let _ = empty.write(path, *json);
            empty
        } else {
            let loaded = IndexDocument::load(path).map_err(|error| error.within("merge failed"))?;
            let (other, skipped) = loaded;
            let source = path.display().to_string();
            skipped.iter().for_each(|skipped| reporter.log(skipped.log_line(&source)));
            other
        };
        document.merge(other).into_iter().for_each(|line| reporter.log(line));
    }
    document.sort();
    Ok(document.write(&folder.join("index.yaml"), *json)?)
}

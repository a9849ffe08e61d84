//! Uploads charts to repositories that have the API of ChartMuseum.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pintle_chart::{FileError, MAX_TEXT, read_limited};
use pintle_repo::{Access, AccessToken, Entry, Repositories, Upload, UploadAnswer, UploadBody, address};
use pintle_tree::redact::redacted;

use super::verify::beside;
use crate::error::RemoteError;
use crate::progress::{Progress, RemoteEvent};
use crate::remote::off_thread;
use crate::report::forward_log;
use crate::{Remote, Reporter, Result};

/// A chart to upload.
#[derive(Clone, Debug, Default)]
pub struct UploadRequest {
    /// The archive.
    pub archive: PathBuf,
    /// The URL of the repository.
    pub url: String,
    /// The name or URL of the repository, as messages show it; empty for the URL.
    pub shown: String,
    /// How to reach the server. What is empty comes from the repository that was added with this URL.
    pub access: Access,
    /// A token, which is used if there is no user with a password.
    pub token: AccessToken,
    /// The path prefix of the API on the host; empty to ask the server.
    pub context_path: String,
    /// Whether a version that exists is replaced.
    pub force: bool,
    /// Whether the archive is sent alone, and as a form, as the plugin `cm-push` does. Otherwise the provenance file beside
    /// it is sent along.
    pub alone: bool,
}

/// A chart that was sent to a repository.
#[derive(Clone, Debug)]
pub struct Uploaded {
    /// The name of the archive.
    pub file_name: String,
    /// The repository, as messages show it.
    pub shown: String,
    /// What the server said.
    pub answer: UploadAnswer,
}

/// Uploads the archive of a chart to a repository. What the server answers is no error of this operation.
///
/// # Errors
/// When the file is not a chart, or the server does not answer.
pub async fn upload_chart(
    remote: &Remote,
    request: &UploadRequest,
    reporter: &mut dyn Reporter,
) -> Result<Uploaded> {
    let (remote, request) = (remote.clone(), request.clone());
    off_thread(reporter, move |reporter| upload(&remote, &request, reporter)).await
}

fn upload(remote: &Remote, request: &UploadRequest, reporter: &mut dyn Reporter) -> Result<Uploaded> {
    let access = access_of(remote, &request.url, request.access.clone())?;
    let body = if request.alone {
        UploadBody::Form { provenance: None }
    } else {
        let path = beside(&request.archive);
        match read_limited(&path, MAX_TEXT) {
            Ok(provenance) => UploadBody::Form { provenance: Some(provenance) },
            Err(error) if error.kind() == ErrorKind::NotFound => UploadBody::Raw,
            Err(source) => return Err(crate::Error::File { action: "read", path, source }),
        }
    };
    let file_name = archive_name(&request.archive, reporter)?;
    let shown = if request.shown.is_empty() { &request.url } else { &request.shown };
    let shown = redacted(shown).into_owned();
    reporter
        .report(Progress::Remote(RemoteEvent::Uploading { file_name: file_name.clone(), to: shown.clone() }));
    let answer = remote.getter.upload(&Upload {
        repository: &request.url,
        access,
        token: request.token.clone(),
        context_path: Some(request.context_path.as_str()).filter(|path| !path.is_empty()),
        archive: &request.archive,
        file_name: &file_name,
        body,
        force: request.force,
    })?;
    Ok(Uploaded { file_name, shown, answer })
}

/// The name that the archive of a chart should have.
///
/// # Errors
/// Files that are no charts.
pub fn archive_name(archive: &Path, reporter: &mut dyn Reporter) -> Result<String> {
    let chart = forward_log(reporter, |log| Ok(pintle_chart::load(archive, log)?))?;
    Ok(format!("{}-{}.tgz", chart.metadata.name, chart.metadata.version))
}

/// The metadata of an archive that is to be uploaded.
///
/// # Errors
/// When it does not exist, or is no file.
pub fn archive_metadata(archive: &Path) -> Result<Metadata> {
    let found = std::fs::metadata(archive).map_err(|error| match error.kind() {
        ErrorKind::NotFound => RemoteError::NoArchive { path: archive.to_owned() },
        _ => RemoteError::Unreadable(FileError::new("stat", archive, error)),
    })?;
    if found.is_dir() { Err(RemoteError::ArchiveIsFolder.into()) } else { Ok(found) }
}

/// Takes what is not set from the repository that was added with a URL.
///
/// # Errors
/// When the list of repositories cannot be read.
pub fn access_of(remote: &Remote, url: &str, access: Access) -> Result<Access> {
    let found = find_repository(remote, |entry| address::equal(&entry.url, url))?;
    Ok(match found {
        Some(entry) => with_entry(access, &entry),
        None => access,
    })
}

/// The first of the repositories that were added for which a condition holds.
///
/// # Errors
/// When the list of repositories cannot be read.
pub fn find_repository(remote: &Remote, is_it: impl Fn(&Entry) -> bool) -> Result<Option<Entry>> {
    let repositories = Repositories::load(remote.config())?.unwrap_or_default();
    Ok(repositories.entries.into_iter().find(is_it))
}

/// Takes what is not set from a repository.
pub fn with_entry(mut access: Access, entry: &Entry) -> Access {
    let fill = |given: &mut String, stored: &String| {
        if given.is_empty() {
            given.clone_from(stored);
        }
    };
    if access.username.is_empty() && access.password.is_empty() {
        access.username.clone_from(&entry.username);
    }
    fill(&mut access.password, &entry.password);
    fill(&mut access.username, &entry.username);
    fill(&mut access.cert_file, &entry.cert_file);
    fill(&mut access.key_file, &entry.key_file);
    fill(&mut access.ca_file, &entry.ca_file);
    access.insecure_skip_tls_verify |= entry.insecure_skip_tls_verify;
    access
}

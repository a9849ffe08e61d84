//! Uploads of charts to repositories that have the API of ChartMuseum, for `push` and `cm-push`.

use std::path::Path;

use pintle::repo::{Access, AccessToken, Entry, Getter, Repositories, Upload, UploadAnswer, UploadBody};

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::remote;

/// Where a chart goes, and with which credentials.
pub(crate) struct Destination {
    /// The name or URL of the repository, as messages show it.
    pub(crate) shown: String,
    /// The URL of the repository.
    pub(crate) url: String,
    pub(crate) access: Access,
    pub(crate) token: AccessToken,
    /// The path prefix of the API on the host; empty to ask the server.
    pub(crate) context_path: String,
    /// Whether a version that exists is replaced.
    pub(crate) force: bool,
}

/// The configured repository that has a name or a URL.
pub(crate) fn configured(
    invocation: &Invocation<'_>,
    is_it: impl Fn(&Entry) -> bool,
) -> Result<Option<Entry>, Failure> {
    let folders = remote::folders(&invocation.flags, invocation.environment);
    let repositories = Repositories::load(&folders.repository_config)?.unwrap_or_default();
    Ok(repositories.entries.into_iter().find(is_it))
}

/// Takes what the flags do not set from the repository's configuration.
pub(crate) fn with_entry(mut access: Access, entry: &Entry) -> Access {
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

/// Loads an archive, announces the upload, and uploads it. Returns the name of the archive.
pub(crate) fn upload(
    invocation: &mut Invocation<'_>,
    getter: &Getter,
    archive: &Path,
    body: UploadBody,
    to: &Destination,
) -> Result<(String, UploadAnswer), Failure> {
    let file_name = file_name(invocation, archive)?;
    invocation.ui.print(&format!("Pushing {file_name} to {}...\n", to.shown))?;
    invocation.ui.flush()?;
    let answer = getter.upload(&Upload {
        repository: &to.url,
        access: to.access.clone(),
        token: to.token.clone(),
        context_path: Some(to.context_path.as_str()).filter(|path| !path.is_empty()),
        archive,
        file_name: &file_name,
        body,
        force: to.force,
    })?;
    Ok((file_name, answer))
}

/// The name that the archive of a chart should have.
///
/// # Errors
///
/// Files that are no charts.
pub(crate) fn file_name(invocation: &mut Invocation<'_>, archive: &Path) -> Result<String, Failure> {
    let mut log = Vec::new();
    let chart = pintle::chart::load(archive, &mut log);
    for line in &log {
        invocation.ui.log(line);
    }
    let chart = chart.map_err(pintle::Error::from)?;
    Ok(format!("{}-{}.tgz", chart.metadata.name, chart.metadata.version))
}

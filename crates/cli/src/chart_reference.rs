//! Where a chart is: from what was typed to a path, or to a clear word about what cannot be fetched yet.

use std::io::ErrorKind;

use pintle_tree::quote::quote;
use pintle_tree::redact::redacted;

use crate::failure::{Class, Failure, reason};

/// What to do about a chart that is not where it was looked for.
const PATHS: &str = "give the path of a folder or an archive";

/// Finds the chart that `reference` means: a path that exists.
///
/// # Errors
///
/// Paths that do not exist, and references to repositories, registries and URLs, which cannot be fetched yet.
pub(crate) fn locate(reference: &str) -> Result<String, Failure> {
    let reference = reference.trim();
    let shown = redacted(reference);
    let missing = match std::fs::metadata(reference) {
        Ok(_) => return Ok(absolute(reference)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {
            format!("there is no chart at `{shown}`")
        }
        Err(error) => format!("cannot look at `{shown}`: {}", reason(&error)),
    };
    if reference.starts_with(['/', '.']) {
        let text = format!("path {} not found", quote(reference.as_bytes()));
        return Err(Failure::new(Class::BadInput, text).in_our_words(missing).hint(PATHS));
    }
    if reference.contains("://") || reference.contains('/') {
        return Err(Failure::not_built(
            format!("{missing}, and charts in repositories, registries and at URLs are not supported yet"),
            "fetch it by other means, as with `helm pull`, and give its path",
        ));
    }
    let text = format!("non-absolute URLs should be in form of repo_name/path_to_chart, got: {reference}");
    Err(Failure::new(Class::BadInput, text).in_our_words(missing).hint(PATHS))
}

/// A path from the root, cleaned, without following links: errors show it.
pub(crate) fn absolute(path: &str) -> String {
    if path.starts_with('/') {
        return crate::path::clean(path);
    }
    match std::env::current_dir() {
        Ok(folder) => crate::path::join(&[&folder.to_string_lossy(), path]),
        Err(_) => path.to_owned(),
    }
}

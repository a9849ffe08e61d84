//! Where a chart is: from what was typed to a path, or to a clear word about what cannot be fetched yet.

use pintle_tree::quote::quote;

use crate::failure::{Class, Failure};

/// Finds the chart that `reference` means: a path that exists.
///
/// # Errors
///
/// Paths that do not exist, and references to repositories, registries and URLs, which cannot be fetched yet.
pub(crate) fn locate(reference: &str) -> Result<String, Failure> {
    let reference = reference.trim();
    if std::fs::metadata(reference).is_ok() {
        return Ok(absolute(reference));
    }
    if reference.starts_with(['/', '.']) {
        return Err(Failure::new(Class::BadInput, format!("path {} not found", quote(reference.as_bytes())))
            .in_our_words(format!("there is no chart at `{reference}`")));
    }
    if reference.contains("://") || reference.contains('/') {
        return Err(Failure::not_built(
            format!(
                "there is no chart at `{reference}`, and charts in repositories, registries and at URLs are not \
                 supported yet"
            ),
            "pull it first and give its path",
        ));
    }
    let text = format!("non-absolute URLs should be in form of repo_name/path_to_chart, got: {reference}");
    Err(Failure::new(Class::BadInput, text)
        .in_our_words(format!("there is no chart at `{reference}`"))
        .hint("give the path of a folder or an archive"))
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

//! From flags to the parts of requests that several operations share.

use pintle::render::KubeVersion;
use pintle::values::Overrides;

use crate::failure::Failure;
use crate::flag::parsed::Parsed;
use crate::invocation::Invocation;

/// The values that flags give.
///
/// # Errors
///
/// Values at URLs, which cannot be fetched yet.
pub(crate) fn overrides(flags: &Parsed) -> Result<Overrides, Failure> {
    let files = flags.list("values");
    if let Some(url) = files.iter().find(|name| has_scheme(name)) {
        return Err(Failure::not_built(
            format!("cannot fetch `{url}`: values at URLs are not supported yet"),
            "fetch the file first and give its path",
        ));
    }
    Ok(Overrides {
        files: files.to_vec(),
        set_json: flags.list("set-json").to_vec(),
        set: flags.list("set").to_vec(),
        set_string: flags.list("set-string").to_vec(),
        set_file: flags.list("set-file").to_vec(),
        set_literal: flags.list("set-literal").to_vec(),
    })
}

/// Whether a name is a URL: `scheme://…`.
fn has_scheme(name: &str) -> bool {
    name.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// The Kubernetes version that `--kube-version` gives.
///
/// # Errors
///
/// A text that is no version.
pub(crate) fn kube_version(invocation: &Invocation<'_>) -> Result<Option<KubeVersion>, Failure> {
    let text = invocation.flags.text("kube-version");
    if text.is_empty() {
        return Ok(None);
    }
    KubeVersion::parse(text)
        .map(Some)
        .map_err(|reason| Failure::usage(format!("invalid kube version '{text}': {reason}")))
}

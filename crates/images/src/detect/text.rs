//! Images that are a single string, and how the parts of an image are joined into one.

use pintle_tree::Str;

use super::{Context, Search, embedded};
use crate::reference::{Reference, ReferenceErrorKind, is_host, is_valid_digest};
use crate::shape::{Finding, Issue, Part, Role, Shape};
use crate::value_path::ValuePath;

/// File extensions of pictures, which charts also call `image`.
const PICTURES: [&str; 6] = [".png", ".jpg", ".jpeg", ".gif", ".svg", ".ico"];

/// Hosts of source repositories, where `repository` is not an image repository.
const CODE_HOSTS: [&str; 3] = ["github.com", "gitlab.com", "bitbucket.org"];

impl<'s> Search<'s> {
    /// Detects the image that a string is, or the images embedded in it. Strings under image keys of a map were
    /// already consumed with the map.
    pub(super) fn text(&mut self, text: &Str, path: &ValuePath, context: Context<'s>) {
        let Some(text) = text.as_str() else { return };
        let names_image = context.image_key && text.contains(['/', ':']) && may_be_image(text);
        if names_image && !text.contains('\n') {
            let parts = vec![Part { role: Role::Whole, path: path.clone(), text: text.to_owned() }];
            return self.add(context, path, Shape::String, parts, Vec::new());
        }
        for range in embedded::find(text) {
            let image = &text[range.clone()];
            let parts = vec![Part { role: Role::Whole, path: path.clone(), text: image.to_owned() }];
            self.add(context, path, Shape::Embedded(range), parts, Vec::new());
        }
    }
}

/// Whether a string under an image key can be an image, including malformed ones that deserve a report.
pub(super) fn may_be_image(text: &str) -> bool {
    !text.is_empty()
        && !text.contains('\n')
        && (!text.contains(char::is_whitespace) || text.contains("{{"))
        && !text.contains("://")
        && !PICTURES.iter().any(|ending| text.ends_with(ending))
}

/// Whether a repository holds source code rather than images.
pub(super) fn is_source_code(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or(text);
    text.contains("://") || text.ends_with(".git") || text.starts_with("git@") || CODE_HOSTS.contains(&host)
}

/// Whether a string has a tag or digest of its own.
pub(super) fn has_suffix(text: &str) -> bool {
    Reference::parse_loosely(text).is_ok_and(|image| image.tag().is_some() || image.digest().is_some())
}

/// Whether a string starts with a registry host.
pub(super) fn has_registry(text: &str) -> bool {
    text.split_once('/').is_some_and(|(first, _)| is_host(first))
}

/// Joins the parts of an image as most charts do.
pub(super) fn compose(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts.iter().filter(|part| !part.text.is_empty()) {
        match part.role {
            Role::Whole => text.push_str(&part.text),
            Role::Registry | Role::Repository | Role::Name => {
                if !text.is_empty() && !text.ends_with('/') {
                    text.push('/');
                }
                text.push_str(&part.text);
            }
            Role::Tag if is_valid_digest(&part.text) => text.push_str(&format!("@{}", part.text)),
            Role::Tag => text.push_str(&format!(":{}", part.text)),
            Role::Digest => match part.text.split_once(':') {
                Some(_) => text.push_str(&format!("@{}", part.text)),
                None => text.push_str(&format!("@sha256:{}", part.text)),
            },
        }
    }
    text
}

/// Parses the joined text as a reference and records issues.
pub(super) fn parse_reference(finding: &mut Finding) {
    match Reference::parse(&finding.written) {
        Ok(reference) => {
            let both = reference.tag().is_some() && reference.digest().is_some();
            if both && finding.part(Role::Whole).is_some() {
                finding.issues.push(Issue::TagAndDigest);
            }
            finding.reference = Some(reference);
        }
        Err(error) => {
            let issue = match error.kind {
                ReferenceErrorKind::Template => Issue::Template,
                kind => Issue::Unparsable(kind),
            };
            // Upper-case paths become valid at destinations whose rules lower-case them (ECR).
            finding.reference = Reference::parse_loosely(&finding.written).ok();
            finding.issues.push(issue);
        }
    }
}

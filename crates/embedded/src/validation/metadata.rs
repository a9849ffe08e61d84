//! Validation of metadata: names, labels, annotations, finalizers, owner references.

use pintle_tree::Node;

use super::{ErrorList, FieldPath, entries, items, names};
use crate::fields::{at, is_true, list, text};
use crate::schema::Kind;

/// The limit of all annotations together (`TotalAnnotationSizeLimitB`).
const MAX_ANNOTATION_BYTES: usize = 256 << 10;

pub(super) fn validate(kind: Kind<'_>, object: &Node, errors: &mut ErrorList) {
    let field = FieldPath::root("metadata");
    let meta = at(object, &["metadata"]).cloned().unwrap_or_default();
    let beginning = text(&meta, &["generateName"]);
    if !beginning.is_empty() {
        let child_path = field.child("generateName");
        errors.add_all(&child_path, beginning, name_errors(kind, &with_generated_suffix(beginning)));
    }
    let name = text(&meta, &["name"]);
    if name.is_empty() {
        errors.required(&field.child("name"), "name or generateName is required");
    } else {
        errors.add_all(&field.child("name"), name, name_errors(kind, name));
    }
    super::labels(&meta, "labels", &field, errors);
    annotations(&meta, &field, errors);
    owners(&meta, &field, errors);
    finalizers(&meta, &field, errors);
}

/// Validates the metadata of an update. The server runs several checks in a row, each of which reports everything
/// again.
pub(super) fn validate_update(kind: Kind<'_>, object: &Node, errors: &mut ErrorList) {
    let mut once = ErrorList::new(kind.minor);
    validate(kind, object, &mut once);
    let finalizers: Vec<_> =
        once.causes.iter().filter(|cause| cause.field.starts_with("metadata.finalizers")).cloned().collect();
    once.causes.retain(|cause| !cause.field.starts_with("metadata.finalizers"));
    // Servers of kinds with rules of their own compare the metadata once more.
    let is_apart = kind.has_server_of_its_own();
    let (times, fewer) = if is_apart { (3, 1) } else { (4, 2) };
    (0..times).for_each(|_| errors.causes.extend(once.causes.iter().cloned()));
    (0..fewer).for_each(|_| errors.causes.extend(finalizers.iter().cloned()));
}

/// Replaces a trailing dash of `generateName` by a letter, as the server does to validate the prefix of a name.
fn with_generated_suffix(beginning: &str) -> String {
    match beginning.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            // `maskTrailingDash` of the server also cuts off the letter before the dash.
            let kept = rest.char_indices().last().map_or(0, |(at, _)| at);
            format!("{}a", &rest[..kept])
        }
        _ => beginning.to_owned(),
    }
}

fn name_errors(kind: Kind<'_>, name: &str) -> Vec<String> {
    if kind.custom {
        return names::subdomain(name);
    }
    let old = kind.minor < 36;
    let (group, kind) = super::group_and_kind(kind);
    match (group, kind) {
        // Names of Services may begin with a digit since 1.36.
        ("", "Service") if old => names::dns1035_label(name),
        ("", "Namespace" | "Service") => {
            if kind == "Namespace" && name.contains('.') {
                return vec!["must not contain dots".to_owned()];
            }
            names::label(name)
        }
        ("rbac.authorization.k8s.io", _) | ("apiregistration.k8s.io", _) | ("certificates.k8s.io", _) => {
            names::path_segment(name)
        }
        // 63 less the 11 characters that the controller appends to the names of jobs.
        ("batch", "CronJob") if name.len() > 52 => vec!["must be no more than 52 characters".to_owned()],
        ("apps", "StatefulSet") => names::subdomain(name),
        ("", "Event") | ("events.k8s.io", _) => names::subdomain(name),
        _ => names::subdomain(name),
    }
}

fn annotations(meta: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let field = field.child("annotations");
    let mut size = 0;
    for (key, value) in entries(meta, "annotations") {
        let key = key.to_str_lossy();
        // Annotation keys are validated in lower case, as the server does.
        errors.add_all(&field, &key, names::qualified(&key.to_lowercase()));
        size += key.len() + value.as_text().map_or(0, |text| text.len());
    }
    if size > MAX_ANNOTATION_BYTES {
        errors.too_long(&field, MAX_ANNOTATION_BYTES);
    }
}

fn owners(meta: &Node, field: &FieldPath, errors: &mut ErrorList) {
    let field = field.child("ownerReferences");
    let mut controller: Option<String> = None;
    for (index, owner) in items(meta, "ownerReferences", &FieldPath::root("metadata")) {
        // Until 1.36, errors did not say which owner they are about.
        let own = if errors.minor < 37 { field.clone() } else { index };
        let version = text(owner, &["apiVersion"]);
        let parts: Vec<&str> = version.split('/').collect();
        if version.is_empty() || parts.len() > 2 || parts.last().is_none_or(|part| part.is_empty()) {
            let child_path = own.child("apiVersion");
            match errors.minor {
                ..37 => errors.invalid(&child_path, version, "version must not be empty"),
                _ if version.is_empty() => errors.required(&child_path, "must not be empty"),
                _ => errors.invalid(&child_path, version, "must be <group>/<version> or <version>"),
            }
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, &[name]).is_empty() {
                match errors.minor {
                    ..37 => errors.invalid(&own.child(name), "", "must not be empty"),
                    _ => errors.required(&own.child(name), "must not be empty"),
                }
            }
        }
        if version == "v1" && text(owner, &["kind"]) == "Event" {
            errors.invalid_formatted(
                &own,
                &format_owner(owner),
                "/v1, Kind=Event is disallowed from being an owner",
            );
        }
        if is_true(owner, &["controller"]) {
            let own = format!("{}/{}", text(owner, &["kind"]), text(owner, &["name"]));
            match &controller {
                Some(first) => {
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {own}"
                    );
                    let all: Vec<String> =
                        list(meta, &["ownerReferences"]).iter().map(format_owner).collect();
                    errors.invalid_formatted(&field, &format!("[{}]", all.join(",")), &detail);
                }
                None => controller = Some(own),
            }
        }
    }
}

/// An owner reference as the server shows it.
fn format_owner(owner: &Node) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let present: Vec<(&str, &str)> =
        fields.into_iter().filter(|name| at(owner, &[name]).is_some()).map(|name| (name, name)).collect();
    super::format_struct(owner, &present)
}

fn finalizers(meta: &Node, field: &FieldPath, errors: &mut ErrorList) {
    const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    for (index, name) in items(meta, "finalizers", field) {
        let name = name.as_str().unwrap_or_default();
        let found = names::qualified(name);
        let is_bare = found.is_empty() && !name.contains('/') && !STANDARD.contains(&name);
        errors.add_all(&field.child("finalizers"), name, found);
        if is_bare {
            errors.invalid(
                &index,
                name,
                "name is neither a standard finalizer name nor is it fully qualified",
            );
        }
    }
}

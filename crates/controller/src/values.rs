//! Puts the values of a request together: objects in the order they are listed, then the values of the request, then what
//! goes to a path, which wins. The order is that of Flux.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle::cluster::{Cluster, Resource};
use pintle::objects::Object;
use pintle_tree::redact::redacted;
use pintle_tree::{Map, Node, json, merge, set};

use crate::error::{Error, Result};
use crate::memory::StageLimits;
use crate::request::{ArchiveKind, HelmRequest, ValuesReference};
use crate::settled::{MISSING, Source, state};
use crate::value_files::ValueFiles;

/// The most that all sources of values may have together, in bytes.
const MAX_SOURCES: usize = 32 << 20;

/// Returns the values of a request. The objects are read with the rights of `cluster`, and added to `read_objects`.
///
/// # Errors
/// When an object or a key is missing, or a value cannot be parsed.
pub(crate) async fn compose(
    cluster: &Cluster,
    files: &ValueFiles,
    request: &HelmRequest,
    limits: StageLimits,
    read_objects: &mut Vec<Source>,
) -> Result<Map<Node>> {
    let mut sources = Vec::new();
    let mut total = 0;
    for reference in &request.spec.values_from {
        let found = match reference.object_kind() {
            Some(kind) => read(cluster, request.namespace(), reference, kind, read_objects).await?,
            None => Some(files.get(reference).await?),
        };
        let Some(bytes) = found else { continue };
        total = add_size(total, bytes.len())?;
        check_memory(total, limits)?;
        sources.push((reference.clone(), bytes));
    }
    let inline = serde_json::to_vec(&request.spec.values);
    let inline = inline.map_err(|error| Error::Values(format!("spec.values: {error}")))?;
    check_memory(total.saturating_add(inline.len()), limits)?;
    // Megabytes of YAML take a while, in which other requests go on.
    let merged = tokio::task::spawn_blocking(move || merge_all(&sources, &inline)).await;
    merged.unwrap_or_else(|_| Err(Error::Values("the values cannot be read".to_owned())))
}

/// Adds the size of a source to that of the others.
fn add_size(total: usize, size: usize) -> Result<usize> {
    match total.saturating_add(size) {
        total if total <= MAX_SOURCES => Ok(total),
        _ => {
            Err(Error::Values(format!("valuesFrom: the values have more than {MAX_SOURCES} bytes together")))
        }
    }
}

fn check_memory(total: usize, limits: StageLimits) -> Result<()> {
    match total as u64 <= limits.values() {
        true => Ok(()),
        false => Err(Error::Memory { stage: "values", share: limits.0 }),
    }
}

/// Merges sources in their order, then the values of the request, then what goes to a path.
fn merge_all(sources: &[(ValuesReference, Vec<u8>)], inline: &[u8]) -> Result<Map<Node>> {
    let has_path =
        |reference: &ValuesReference| reference.target_path.as_deref().is_some_and(|path| !path.is_empty());
    let mut values = Map::new();
    for (reference, bytes) in sources.iter().filter(|(reference, _)| !has_path(reference)) {
        let read = pintle_yaml::read_values(bytes);
        let read = read.map_err(|error| Error::Values(format!("{}: {error}", describe(reference))))?;
        values = merge::merge(values, read);
    }
    let inline = json::read_map(inline).map_err(|error| Error::Values(format!("spec.values: {error}")))?;
    values = merge::merge(values, inline);
    for (reference, bytes) in sources.iter().filter(|(reference, _)| has_path(reference)) {
        assign(reference, bytes, &mut values)?;
    }
    Ok(values)
}

/// The value that a reference names; `None` when its object is optional and missing.
async fn read(
    cluster: &Cluster,
    namespace: &str,
    reference: &ValuesReference,
    kind: ArchiveKind,
    read_objects: &mut Vec<Source>,
) -> Result<Option<Vec<u8>>> {
    let found = cluster.get_by_name(&resource(kind), namespace, &reference.name).await;
    let found = found.map_err(|error| Error::Values(format!("{}: {error}", describe(reference))))?;
    read_objects.push(Source {
        kind,
        name: reference.name.clone(),
        state: found.as_ref().map_or(MISSING, |object| state(object.uid(), object.resource_version())),
    });
    let Some(object) = found else {
        return match reference.optional {
            true => Ok(None),
            false => Err(Error::Values(format!(
                "{} does not exist in namespace {namespace}; create it, or set optional: true",
                describe(reference)
            ))),
        };
    };
    let key = reference.key();
    // As in Flux, `optional` allows a missing object but not a missing key, which is more likely a typo.
    match data(&object, kind, key)? {
        Some(bytes) => Ok(Some(bytes)),
        None => Err(Error::Values(format!("{} has no key `{key}`", describe(reference)))),
    }
}

/// The bytes of a key of a ConfigMap or Secret.
pub(crate) fn data(object: &Object, kind: ArchiveKind, key: &str) -> Result<Option<Vec<u8>>> {
    let decode = |text: &str| {
        let bytes = STANDARD.decode(text);
        bytes.map_err(|error| Error::Values(format!("{} {}: {key}: {error}", kind.as_str(), object.name())))
    };
    let at = |field: &str| object.at(&[field]).and_then(|data| data.get(key)).and_then(Node::as_str);
    match kind {
        ArchiveKind::Secret => at("data").map(decode).transpose(),
        ArchiveKind::ConfigMap => match at("data") {
            Some(text) => Ok(Some(text.as_bytes().to_vec())),
            None => at("binaryData").map(decode).transpose(),
        },
    }
}

/// The resource of a kind.
pub(crate) fn resource(kind: ArchiveKind) -> Resource {
    match kind {
        ArchiveKind::ConfigMap => Resource::new("", "v1", "ConfigMap", "configmaps"),
        ArchiveKind::Secret => Resource::new("", "v1", "Secret", "secrets"),
    }
}

fn assign(reference: &ValuesReference, bytes: &[u8], values: &mut Map<Node>) -> Result<()> {
    let path = reference.target_path.as_deref().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let done = match reference.literal {
        true => set::assign_literal(format!("{path}={text}"), values),
        false => set::assign(format!("{path}={text}"), values),
    };
    // The value may be a secret, so the error does not show it.
    done.map_err(|_| Error::Values(format!("{}: the value cannot be set at {path}", describe(reference))))
}

pub(crate) fn describe(reference: &ValuesReference) -> String {
    match (reference.object_kind(), reference.url.as_deref()) {
        (Some(kind), _) => format!("valuesFrom {} {}", kind.as_str(), reference.name),
        (None, url) => format!("valuesFrom {}", redacted(url.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sources_of_values_together_have_a_limit() {
        let total = add_size(0, MAX_SOURCES - 10).expect("it fits");
        assert!(add_size(total, 10).is_ok());
        let error = add_size(total, 11).expect_err("it is too much").to_string();
        assert!(error.contains("bytes together"), "{error}");
    }
}

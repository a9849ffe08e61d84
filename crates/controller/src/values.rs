//! Puts the values of a request together: objects in the order they are listed, then the values of the request, then what
//! goes to a path, which wins. The order is that of Flux.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle::cluster::{Cluster, Resource};
use pintle::objects::Object;
use pintle_tree::redact::redacted;
use pintle_tree::{Map, Node, json, merge, set};

use crate::error::{Error, Result};
use crate::request::{ArchiveKind, HelmRequest, ValuesReference};
use crate::value_files::ValueFiles;

/// Returns the values of a request. The objects are read with the rights of `cluster`.
///
/// # Errors
/// When an object or a key is missing, or a value cannot be parsed.
pub(crate) async fn compose(
    cluster: &Cluster,
    files: &ValueFiles,
    request: &HelmRequest,
) -> Result<Map<Node>> {
    let mut values = Map::new();
    let mut to_paths = Vec::new();
    for reference in &request.spec.values_from {
        let found = match reference.object_kind() {
            Some(kind) => read(cluster, request.namespace(), reference, kind).await?,
            None => Some(files.get(reference).await?),
        };
        let Some(bytes) = found else { continue };
        if reference.target_path.as_deref().is_none_or(str::is_empty) {
            let read = pintle_yaml::read_values(&bytes);
            let read = read.map_err(|error| Error::Values(format!("{}: {error}", describe(reference))))?;
            values = merge::merge(values, read);
        } else {
            to_paths.push((reference, bytes));
        }
    }
    values = merge::merge(values, inline(request)?);
    for (reference, bytes) in to_paths {
        assign(reference, &bytes, &mut values)?;
    }
    Ok(values)
}

/// The values in the request itself.
fn inline(request: &HelmRequest) -> Result<Map<Node>> {
    if request.spec.values.is_empty() {
        return Ok(Map::new());
    }
    let text = serde_json::to_vec(&request.spec.values);
    let text = text.map_err(|error| Error::Values(format!("spec.values: {error}")))?;
    json::read_map(&text).map_err(|error| Error::Values(format!("spec.values: {error}")))
}

/// The value that a reference names; `None` when its object is optional and missing.
async fn read(
    cluster: &Cluster,
    namespace: &str,
    reference: &ValuesReference,
    kind: ArchiveKind,
) -> Result<Option<Vec<u8>>> {
    let found = cluster.get_by_name(&resource(kind), namespace, &reference.name).await;
    let found = found.map_err(|error| Error::Values(format!("{}: {error}", describe(reference))))?;
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

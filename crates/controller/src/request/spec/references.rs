//! What a request refers to besides its chart: other requests and objects, values, another cluster.

use serde::{Deserialize, Serialize};

use super::is_false;
use super::source::ArchiveKind;

/// Something that must be ready.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// The API version; `helm.sh/v3` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The kind; `HelmRequest` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name.
    pub name: String,
    /// The namespace; that of the request by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// A CEL expression over `self`, the request, and `dep`, the dependency, that decides instead of the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_expr: Option<String>,
}

/// When the objects of a kind are ready, in CEL with the fields of an object as variables.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheckExpr {
    /// The API version of the kind; only its group is compared.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// True while an object is not ready yet; evaluated first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_progress: Option<String>,
    /// True when an object has failed; evaluated second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// True when an object is ready.
    pub current: String,
}

/// Where values come from: a key of an object, or a file at a URL.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValuesReference {
    /// The kind of the source.
    pub kind: ValuesKind,
    /// The name of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The URL of the file, `https://…`, or of an artifact in a registry, `oci://…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The digest of the file, or of the manifest of the artifact, such as `sha256:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The key, or the name of the file in an artifact; `values.yaml` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_key: Option<String>,
    /// The path at which the value is set; without one, the value is a map that is merged into the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_path: Option<String>,
    /// Whether the object may be missing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    /// Whether the value at `targetPath` is not parsed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub literal: bool,
}

/// The kinds of sources of values.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum ValuesKind {
    /// A ConfigMap.
    #[default]
    ConfigMap,
    /// A Secret.
    Secret,
    /// A file on a web server or in a registry.
    #[serde(rename = "URL")]
    Url,
}

impl ValuesReference {
    /// The kind of the object that holds the values; `None` for a URL.
    pub fn object_kind(&self) -> Option<ArchiveKind> {
        match self.kind {
            ValuesKind::ConfigMap => Some(ArchiveKind::ConfigMap),
            ValuesKind::Secret => Some(ArchiveKind::Secret),
            ValuesKind::Url => None,
        }
    }

    /// The key or file name.
    pub fn key(&self) -> &str {
        self.values_key.as_deref().filter(|key| !key.is_empty()).unwrap_or("values.yaml")
    }

    pub(super) fn validate(&self) -> Result<(), String> {
        match self.kind {
            ValuesKind::Url => {
                let url = self.url.as_deref().unwrap_or_default();
                if !["https://", "http://", "oci://"].iter().any(|scheme| url.starts_with(scheme)) {
                    return Err("url must begin with https://, http:// or oci://".to_owned());
                }
                let hex = self.digest.as_deref().unwrap_or_default().strip_prefix("sha256:");
                let is_digest =
                    |hex: &str| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
                match hex.is_some_and(is_digest) {
                    true => Ok(()),
                    false => Err("a url needs a digest, sha256: and 64 hexadecimal digits".to_owned()),
                }
            }
            _ if self.name.is_empty() => Err("name must be set".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The cluster of a release.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfig {
    /// The Secret with a kubeconfig.
    pub secret_ref: SecretKeyReference,
}

/// A key of a Secret in the namespace of the request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct SecretKeyReference {
    /// The name of the Secret.
    pub name: String,
    /// The key; the first that is there of a few usual ones by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

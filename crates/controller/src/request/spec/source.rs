//! Where the chart comes from.

use serde::{Deserialize, Serialize};

use super::is_false;
use super::references::SecretKeyReference;

/// Where a chart comes from: one of `repository` with `name`, `url` and `archive`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChartSource {
    /// The URL of a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The name of the chart in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL of an archive or of a chart in a registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// An object that holds an archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<Archive>,
    /// The version or range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The Secret with user name and password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<LocalReference>,
    /// How the signature of the chart is verified; it is not if this is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verification>,
    /// Whether certificates are not verified.
    #[serde(rename = "insecureSkipTLSVerify", skip_serializing_if = "is_false")]
    pub insecure_skip_tls_verify: bool,
    /// Whether a registry is reached without TLS.
    #[serde(rename = "plainHTTP", skip_serializing_if = "is_false")]
    pub plain_http: bool,
}

impl ChartSource {
    /// Whether the chart is in a registry.
    pub fn is_oci(&self) -> bool {
        [&self.url, &self.repository].into_iter().flatten().any(|url| url.starts_with("oci://"))
    }

    pub(super) fn validate(&self) -> Result<(), String> {
        let sources = [self.repository.is_some(), self.url.is_some(), self.archive.is_some()];
        if sources.into_iter().filter(|set| *set).count() != 1 {
            return Err("spec.chart: set exactly one of repository, url and archive".to_owned());
        }
        if self.repository.is_some() != self.name.is_some() {
            return Err("spec.chart: set repository and name together".to_owned());
        }
        for (field, url) in [("repository", &self.repository), ("url", &self.url)] {
            let is_remote =
                |url: &String| ["https://", "http://", "oci://"].iter().any(|scheme| url.starts_with(scheme));
            if url.as_ref().is_some_and(|url| !is_remote(url)) {
                return Err(format!("spec.chart.{field}: it must begin with https://, http:// or oci://"));
            }
        }
        match &self.verify {
            Some(_) if self.archive.is_some() => {
                Err("spec.chart.verify: an archive in an object has no signature".to_owned())
            }
            Some(verify) if verify.provider == VerificationProvider::Cosign && !self.is_oci() => {
                Err("spec.chart.verify: cosign signs charts in registries only; use provider pgp".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// How the signature of a chart is verified.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// What made the signature.
    pub provider: VerificationProvider,
    /// The Secret with the public key: an OpenPGP keyring or a PEM file of cosign.
    pub secret_ref: SecretKeyReference,
}

/// What made the signature of a chart.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerificationProvider {
    /// A provenance file, as `helm package --sign` writes it.
    #[default]
    Pgp,
    /// cosign with a key.
    Cosign,
}

/// An archive in a ConfigMap or Secret.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Archive {
    /// The kind of the object.
    pub kind: ArchiveKind,
    /// The name of the object.
    pub name: String,
    /// The key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The kinds of objects that hold data.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ArchiveKind {
    /// A ConfigMap.
    #[default]
    ConfigMap,
    /// A Secret.
    Secret,
}

impl ArchiveKind {
    /// The name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            ArchiveKind::ConfigMap => "ConfigMap",
            ArchiveKind::Secret => "Secret",
        }
    }
}

/// An object in the namespace of the request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct LocalReference {
    /// Its name.
    pub name: String,
}

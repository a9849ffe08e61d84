//! `HelmRequest`: the custom resource that the controller reconciles.
//!
//! The schema is written by hand in `deploy/crds/helm-request.yaml`, like those of the other kinds; a test compares its
//! fields with these types.

mod decode;
mod spec;
mod status;

use std::borrow::Cow;
use std::time::Duration;

use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) use decode::{RequestHead, Undecodable, metadata};
pub use spec::*;
pub use status::{
    Condition, DriftedObject, HelmRequestStatus, HistoryEntry, InventoryEntry, LastError, Phase,
};

/// The finalizer that keeps a request until its release is uninstalled.
pub const FINALIZER: &str = "helm.sh/request";
/// Asks for a reconciliation now; any value that differs from the last one handled.
pub const RECONCILE_ANNOTATION: &str = "helm.sh/reconcile-requested-at";
/// Asks for one upgrade even if nothing changed; takes the value of [`RECONCILE_ANNOTATION`].
pub const FORCE_ANNOTATION: &str = "helm.sh/force-requested-at";
/// Asks to forget failures; takes the value of [`RECONCILE_ANNOTATION`].
pub const RESET_ANNOTATION: &str = "helm.sh/reset-requested-at";
/// Approves the plan with this digest.
pub const APPROVE_ANNOTATION: &str = "helm.sh/approve";
/// With the value `orphan`, a deleted request goes away at once and leaves its release as it is.
pub const DELETION_POLICY_ANNOTATION: &str = "helm.sh/deletion-policy";
/// The value of [`DELETION_POLICY_ANNOTATION`] that leaves the release as it is.
pub const ORPHAN: &str = "orphan";
/// The label of ConfigMaps and Secrets whose changes are noticed at once.
pub const WATCH_LABEL: &str = "helm.sh/watch";

/// Helm's limit for names of releases.
const MAX_RELEASE_NAME: usize = 53;
/// How much of a name that is too long stays in front of its hash, as in Flux.
const SHORTENED_NAME: usize = 40;

/// A request for a release.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct HelmRequest {
    /// The metadata, without `managedFields`.
    #[serde(deserialize_with = "decode::metadata")]
    pub metadata: ObjectMeta,
    /// What is requested.
    pub spec: HelmRequestSpec,
    /// What the controller found and did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<HelmRequestStatus>,
}

impl kube::Resource for HelmRequest {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "HelmRequest".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        pintle::cluster::crds::GROUP.into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        pintle::cluster::crds::VERSION.into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "helmrequests".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl HelmRequest {
    /// The name of the request.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The namespace of the request.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The uid of the request.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The generation of the spec.
    pub fn generation(&self) -> i64 {
        self.metadata.generation.unwrap_or_default()
    }

    /// An annotation; empty when it is not set.
    pub fn annotation(&self, key: &str) -> &str {
        self.metadata.annotations.as_ref().and_then(|all| all.get(key)).map_or("", String::as_str)
    }

    /// The name of the release. Without one in the spec it is made from the name of the request as Flux does it, so that
    /// releases keep their names when a HelmRelease becomes a HelmRequest.
    pub fn release_name(&self) -> String {
        if let Some(name) = self.spec.release_name.as_deref().filter(|name| !name.is_empty()) {
            return name.to_owned();
        }
        let name = match self.spec.target_namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
            Some(namespace) => format!("{namespace}-{}", self.name()),
            None => self.name().to_owned(),
        };
        if name.len() <= MAX_RELEASE_NAME {
            return name;
        }
        let digest = hex(&Sha256::digest(name.as_bytes()));
        format!("{}-{}", &name[..SHORTENED_NAME], &digest[..12])
    }

    /// The namespace of the release.
    pub fn release_namespace(&self) -> &str {
        match self.spec.target_namespace.as_deref() {
            None | Some("") => self.namespace(),
            Some(namespace) => namespace,
        }
    }

    /// The namespace of the records of the release.
    pub fn storage_namespace(&self) -> &str {
        match self.spec.storage_namespace.as_deref() {
            None | Some("") => self.release_namespace(),
            Some(namespace) => namespace,
        }
    }

    /// Whether the value of an annotation was not handled yet. Force and reset only apply while
    /// [`RECONCILE_ANNOTATION`] has the same value, so that a value left behind has no effect.
    pub fn is_requested(&self, annotation: &str, handled: &str) -> bool {
        let token = self.annotation(annotation);
        !token.is_empty() && token != handled && token == self.annotation(RECONCILE_ANNOTATION)
    }

    /// Whether the request is to be deleted.
    pub fn is_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether our finalizer is set.
    pub fn has_finalizer(&self) -> bool {
        self.metadata.finalizers.as_ref().is_some_and(|all| all.iter().any(|name| name == FINALIZER))
    }
}

/// Parses a duration as Go writes it.
///
/// # Errors
/// Which field is wrong.
pub fn duration(field: &str, text: &str) -> Result<Duration, String> {
    let parsed = pintle_time::Duration::parse(text).map_err(|error| format!("{field}: {error}"))?;
    match u64::try_from(parsed.nanoseconds()) {
        Ok(nanoseconds) => Ok(Duration::from_nanos(nanoseconds)),
        Err(_) => Err(format!("{field}: {text} is negative")),
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> HelmRequest {
        let mut request = HelmRequest::default();
        request.metadata.name = Some(name.to_owned());
        request.metadata.namespace = Some("apps".to_owned());
        request
    }

    #[test]
    fn a_release_is_named_as_in_flux() {
        let mut request = named("web");
        assert_eq!((request.release_name().as_str(), request.release_namespace()), ("web", "apps"));
        request.spec.target_namespace = Some("prod".to_owned());
        assert_eq!((request.release_name().as_str(), request.release_namespace()), ("prod-web", "prod"));
        request.spec.release_name = Some("front".to_owned());
        assert_eq!(request.release_name(), "front");
    }

    #[test]
    fn a_long_name_is_cut_and_stays_unique() {
        let (one, other) = (named(&"a".repeat(60)), named(&"a".repeat(61)));
        assert_eq!(one.release_name().len(), MAX_RELEASE_NAME);
        assert_ne!(one.release_name(), other.release_name());
    }

    #[test]
    fn force_counts_only_with_the_same_token_in_the_request_to_reconcile() {
        let mut request = named("web");
        let annotations = request.metadata.annotations.get_or_insert_default();
        annotations.insert(FORCE_ANNOTATION.to_owned(), "1".to_owned());
        assert!(!request.is_requested(FORCE_ANNOTATION, ""));
        let annotations = request.metadata.annotations.get_or_insert_default();
        annotations.insert(RECONCILE_ANNOTATION.to_owned(), "1".to_owned());
        assert!(request.is_requested(FORCE_ANNOTATION, ""));
        assert!(!request.is_requested(FORCE_ANNOTATION, "1"));
    }

    #[test]
    fn durations_are_those_of_go() {
        assert_eq!(duration("interval", "1m30s"), Ok(Duration::from_secs(90)));
        assert!(duration("interval", "-1s").is_err_and(|error| error.contains("negative")));
        assert!(duration("timeout", "soon").is_err_and(|error| error.starts_with("timeout: ")));
    }

    /// The fields of a JSON object, with those of nested objects.
    fn paths(value: &serde_json::Value, at: &str, into: &mut Vec<String>) {
        for (key, value) in value.as_object().into_iter().flatten() {
            let path = format!("{at}.{key}");
            paths(value, &path, into);
            into.push(path);
        }
    }

    /// The fields of the schema.
    fn schema() -> serde_json::Value {
        let text = pintle::cluster::crds::HELM_REQUEST.as_bytes();
        let objects = pintle::objects::Object::read_manifest(text, "").expect("our own file");
        let json: serde_json::Value = serde_json::from_slice(&objects[0].to_json()).expect("JSON");
        json["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].clone()
    }

    /// What `kubectl explain` shows.
    #[test]
    fn every_field_of_the_schema_has_a_description() {
        fn check(properties: &serde_json::Value, at: &str) {
            for (key, field) in properties.as_object().into_iter().flatten() {
                let path = format!("{at}.{key}");
                assert!(field["description"].is_string(), "{path} has no description");
                check(&field["properties"], &path);
                check(&field["items"]["properties"], &path);
            }
        }
        let schema = schema();
        for part in ["spec", "status"] {
            assert!(schema[part]["description"].is_string());
            check(&schema[part]["properties"], part);
        }
    }

    #[test]
    fn the_schema_has_every_field_of_the_types() {
        let schema = schema();
        for (part, value) in [
            ("spec", serde_json::to_value(HelmRequestSpec::with_every_field()).expect("serializes")),
            ("status", serde_json::to_value(HelmRequestStatus::with_every_field()).expect("serializes")),
        ] {
            let mut found = Vec::new();
            paths(&value, "", &mut found);
            assert!(found.len() > 15, "{found:?}");
            for path in found.iter().filter(|path| !path.starts_with(".values.")) {
                let known = path.split('.').skip(1).try_fold(&schema[part], |schema, key| {
                    let schema = if schema["items"].is_object() { &schema["items"] } else { schema };
                    schema["properties"].get(key).or_else(|| schema.get("additionalProperties"))
                });
                assert!(known.is_some(), "{part}{path} is not in the schema");
            }
        }
    }
}

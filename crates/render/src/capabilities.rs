//! `.Capabilities`: the cluster's version and API versions, discovered or assumed.

use std::any::Any;
use std::sync::Arc;

use pintle_gotmpl::{CallError, CallResult, Encoded, Kind, List, ListType, Method, Object, Type, Value};

/// The version of a Kubernetes cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// The whole version with a leading `v`, as in `v1.33.4-gke.1245000`.
    pub version: String,
    /// The version without suffixes, which constraints are checked against.
    pub normalized: String,
    /// The major version.
    pub major: String,
    /// The minor version, which clusters may give as `27+`.
    pub minor: String,
}

impl KubeVersion {
    /// Returns the version `vMAJOR.MINOR.0`.
    pub fn new(major: u64, minor: u64) -> Self {
        let version = format!("v{major}.{minor}.0");
        KubeVersion {
            normalized: version.clone(),
            version,
            major: major.to_string(),
            minor: minor.to_string(),
        }
    }

    /// Parses `--kube-version`.
    ///
    /// # Errors
    /// Kubernetes' text for what is wrong with the version.
    pub fn parse(text: &str) -> Result<Self, String> {
        let components = numeric_components(text);
        if components.is_empty() {
            return Err(format!("could not parse {} as version", quoted(text)));
        }
        // Kubernetes wants at least major and minor; `--kube-version 1` is refused.
        if components.len() < 2 {
            return Err(format!("illegal version string {}", quoted(text)));
        }
        // Only the major version is looked at: `1.030` is accepted.
        if let [major, ..] = components.as_slice()
            && major.len() > 1
            && major.starts_with('0')
        {
            let (major, text) = (quoted(major), quoted(text));
            return Err(format!("illegal zero-prefixed version component {major} in {text}"));
        }
        let numbers =
            components.iter().map(|part| component_number(part, text)).collect::<Result<Vec<_>, _>>()?;
        // The suffix stays in `Version`: charts test it for a vendor, as in `-gke.`.
        let version = if text.starts_with('v') { text.to_owned() } else { format!("v{text}") };
        let dotted: Vec<String> = numbers.iter().map(u64::to_string).collect();
        Ok(KubeVersion {
            version,
            normalized: format!("v{}", dotted.join(".")),
            major: dotted[0].clone(),
            minor: dotted[1].clone(),
        })
    }
}

fn component_number(component: &str, version: &str) -> Result<u64, String> {
    component.parse().map_err(|_| {
        let (component, version) = (quoted(component), quoted(version));
        format!(
            "illegal non-numeric version component {component} in {version}: strconv.ParseUint: parsing {component}: value out of range"
        )
    })
}

fn quoted(text: &str) -> String {
    pintle_tree::quote::quote(text.as_bytes())
}

/// The leading dotted numbers of a version.
fn numeric_components(text: &str) -> Vec<&str> {
    let text = text.trim_start();
    let text = text.strip_prefix('v').unwrap_or(text);
    let length = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    text[..length].split('.').take_while(|part| !part.is_empty()).collect()
}

/// What templates can find out about the cluster.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// The API versions, as `apps/v1`, and from a live cluster also `apps/v1/Deployment`.
    pub api_versions: Arc<[String]>,
    /// The Helm version that charts see.
    pub helm_version: String,
}

/// The Helm version whose behaviour this program follows.
pub const HELM_VERSION: &str = "v4.3.1";
const GO_VERSION: &str = "go1.27.2";
// Helm's client-go 0.37, with a major version of 1.
const CLIENT_VERSION: &str = "v1.37";

impl Default for Capabilities {
    /// The capabilities without a cluster: Kubernetes 1.37 with its built-in API groups.
    fn default() -> Self {
        Capabilities {
            kube_version: KubeVersion::new(1, 37),
            api_versions: DEFAULT_API_VERSIONS.iter().map(|version| (*version).to_owned()).collect(),
            helm_version: HELM_VERSION.to_owned(),
        }
    }
}

/// The API versions that Helm 4.3.1 assumes without a cluster, in its order.
const DEFAULT_API_VERSIONS: &[&str] = &[
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "lifecycle.k8s.io/v1alpha1",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1",
    "storagemigration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];

impl Capabilities {
    /// Adds API versions (`--api-versions`).
    pub fn with_api_versions(mut self, more: &[String]) -> Self {
        if !more.is_empty() {
            self.api_versions = self.api_versions.iter().chain(more).cloned().collect();
        }
        self
    }

    /// The value under `.Capabilities`.
    pub(crate) fn to_value(&self) -> Value {
        Value::object(self.clone())
    }

    fn helm_build(&self) -> HelmBuild {
        HelmBuild { version: self.helm_version.clone() }
    }
}

impl Object for Capabilities {
    fn type_name(&self) -> &'static str {
        "*common.Capabilities"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "KubeVersion" => Some(Value::object(self.kube_version.clone())),
            "APIVersions" => Some(Value::object(ApiVersions(Arc::clone(&self.api_versions)))),
            "HelmVersion" => Some(Value::object(self.helm_build())),
            _ => None,
        }
    }

    fn methods(&self) -> &'static [Method] {
        // Go's method returns a new pointer with the same content, which templates cannot tell apart.
        &[Method { name: "Copy", params: &[], variadic: None, result: Type::Object("*common.Capabilities") }]
    }

    fn call(&self, _method: &str, _arguments: &[Value]) -> CallResult {
        Ok(self.to_value())
    }

    fn print(&self) -> String {
        let versions = ApiVersions(Arc::clone(&self.api_versions)).print();
        format!("&{{{} {versions} {}}}", self.kube_version.print(), self.helm_build().print())
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(
            ["KubeVersion", "APIVersions", "HelmVersion"]
                .map(|name| (name, self.field(name).unwrap_or_default()))
                .into(),
        )
    }
}

impl Object for KubeVersion {
    fn type_name(&self) -> &'static str {
        "common.KubeVersion"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "Version" => Some(self.version.as_str().into()),
            "Major" => Some(self.major.as_str().into()),
            "Minor" => Some(self.minor.as_str().into()),
            _ => None,
        }
    }

    fn methods(&self) -> &'static [Method] {
        &[
            Method { name: "GitVersion", params: &[], variadic: None, result: Type::Str },
            Method { name: "String", params: &[], variadic: None, result: Type::Str },
        ]
    }

    fn call(&self, method: &str, _arguments: &[Value]) -> CallResult {
        match method {
            "GitVersion" => Ok(self.version.as_str().into()),
            "String" => Ok(self.normalized.as_str().into()),
            _ => Err(CallError::new(format!("no method {method}"))),
        }
    }

    /// In Go, `String()` has a pointer receiver, so `%v` of the struct prints its fields.
    fn print(&self) -> String {
        format!("{{{} {} {} {}}}", self.version, self.normalized, self.major, self.minor)
    }

    fn print_addressed(&self) -> String {
        self.normalized.clone()
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(
            ["Version", "Major", "Minor"].map(|name| (name, self.field(name).unwrap_or_default())).into(),
        )
    }
}

/// `.Capabilities.APIVersions`, a list of strings with a method.
#[derive(Clone, Debug)]
struct ApiVersions(Arc<[String]>);

impl Object for ApiVersions {
    fn type_name(&self) -> &'static str {
        "common.VersionSet"
    }

    fn kind(&self) -> Kind {
        Kind::Slice
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        &[Method { name: "Has", params: &[Type::Str], variadic: None, result: Type::Bool }]
    }

    fn call(&self, _method: &str, arguments: &[Value]) -> CallResult {
        // Exact comparison: Helm does no wildcard or version matching here.
        let wanted = arguments.first().and_then(Value::as_text);
        Ok(Value::Bool(wanted.is_some_and(|wanted| self.0.iter().any(|version| *wanted == version.as_str()))))
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        self.0
            .iter()
            .enumerate()
            .map(|(index, version)| (Value::int(index as i64), version.as_str().into()))
            .collect()
    }

    fn is_true(&self) -> bool {
        !self.0.is_empty()
    }

    fn print(&self) -> String {
        format!("[{}]", self.0.join(" "))
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::List(List::of(
            ListType::Str,
            self.entries().into_iter().map(|(_, value)| value).collect(),
        )))
    }
}

/// `.Capabilities.HelmVersion`.
#[derive(Clone, Debug)]
struct HelmBuild {
    version: String,
}

impl HelmBuild {
    /// The fields with their names in Go and in JSON. Commit and tree state are empty, as in a plain build.
    fn fields(&self) -> [(&'static str, &'static str, &str); 5] {
        [
            ("Version", "version", &self.version),
            ("GitCommit", "git_commit", ""),
            ("GitTreeState", "git_tree_state", ""),
            ("GoVersion", "go_version", GO_VERSION),
            ("KubeClientVersion", "kube_client_version", CLIENT_VERSION),
        ]
    }
}

impl Object for HelmBuild {
    fn type_name(&self) -> &'static str {
        "version.BuildInfo"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields().into_iter().find(|field| field.0 == name).map(|field| field.2.into())
    }

    fn print(&self) -> String {
        format!("{{{}}}", self.fields().map(|field| field.2.to_owned()).join(" "))
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        // The fields of Go's `BuildInfo` that can be empty are `omitempty`.
        let fields = self.fields().into_iter().filter(|field| !field.2.is_empty());
        Encoded::Fields(fields.map(|(_, json, value)| (json, value.into())).collect())
    }

    fn all_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        Some(self.fields().into_iter().map(|(name, _, value)| (name, value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_cluster_the_version_and_apis_are_those_of_kubernetes_1_37() {
        let capabilities = Capabilities::default();
        assert_eq!(capabilities.kube_version.version, "v1.37.0");
        assert_eq!(capabilities.api_versions.len(), 57);
        let at = |version: &str| capabilities.api_versions.iter().position(|entry| entry == version);
        assert_eq!(at("lifecycle.k8s.io/v1alpha1"), Some(32));
        assert_eq!(at("scheduling.k8s.io/v1alpha3"), Some(47));
        assert_eq!(at("storagemigration.k8s.io/v1"), Some(53));
        assert_eq!(at("scheduling.k8s.io/v1alpha2"), None);
    }

    #[test]
    fn a_vendor_suffix_stays_in_the_version_but_not_in_what_is_compared() {
        let version = KubeVersion::parse("v1.33.4-gke.1245000").unwrap();
        assert_eq!(version.version, "v1.33.4-gke.1245000");
        assert_eq!(version.normalized, "v1.33.4");
        assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "33"));
        assert_eq!(KubeVersion::parse("1.22").unwrap().version, "v1.22");
    }

    #[test]
    fn a_version_without_two_numbers_is_refused() {
        assert_eq!(KubeVersion::parse("abc").unwrap_err(), "could not parse \"abc\" as version");
        assert_eq!(KubeVersion::parse("1.x").unwrap_err(), "illegal version string \"1.x\"");
        assert_eq!(KubeVersion::parse("v1.02").unwrap().normalized, "v1.2");
        let problem = KubeVersion::parse("01.30").unwrap_err();
        assert_eq!(problem, "illegal zero-prefixed version component \"01\" in \"01.30\"");
    }
}

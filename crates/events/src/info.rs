//! What the context contains about charts, releases and clusters: plain data from the emitter's caller.

use pintle_objects::Object;
use pintle_tree::Str;

/// The contents of Chart.yaml. Read-only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartInfo {
    /// The `apiVersion` of Chart.yaml.
    pub api_version: String,
    /// The name.
    pub name: String,
    /// The version of the chart.
    pub version: String,
    /// A one-line description.
    pub description: String,
    /// Search keywords.
    pub keywords: Vec<String>,
    /// The URL of the project.
    pub home: String,
    /// URLs of the source code.
    pub sources: Vec<String>,
    /// The maintainers.
    pub maintainers: Vec<Maintainer>,
    /// The URL of an icon.
    pub icon: String,
    /// The app version.
    pub app_version: String,
    /// The required Kubernetes versions.
    pub kubernetes_versions: String,
}

/// A maintainer of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintainer {
    /// The name.
    pub name: String,
    /// The email address.
    pub email: String,
    /// A URL.
    pub url: String,
}

/// The release. Read-only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseInfo {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The number of the version that is being deployed.
    pub number: u64,
    /// Whether this is an install.
    pub is_install: bool,
    /// Whether this is an upgrade or rollback.
    pub is_upgrade: bool,
}

/// The capabilities of the cluster. Read-only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapabilityInfo {
    /// The Helm version that we are compatible with.
    pub helm_version: String,
    /// The version of Kubernetes.
    pub kubernetes_version: String,
    /// The served API versions, with and without kinds.
    pub api_versions: Vec<String>,
}

/// The status of an object that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadinessInfo {
    /// The API version of the object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty if it is cluster-scoped.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its status, as kstatus names it.
    pub state: String,
    /// What it waits for, or why it failed.
    pub message: String,
    /// Whether it is ready.
    pub ready: bool,
}

/// A file of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path inside the chart.
    pub name: String,
    /// The content.
    pub data: Str,
}

/// A dependency of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    /// The name.
    pub name: String,
    /// The version constraint.
    pub version: String,
    /// The repository URL.
    pub repository: String,
    /// The alias, if it has one.
    pub alias: String,
}

/// A rendered object, or one that a handler added.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedObject {
    /// Its template, with the path of its chart; `None` if a handler added it.
    pub template: Option<String>,
    /// The object.
    pub object: Object,
}

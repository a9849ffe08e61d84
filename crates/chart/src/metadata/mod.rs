//! Chart.yaml, in all API versions.

mod draft;
mod lock;
mod oci;
mod v3;
mod validate;
mod write;

use std::collections::BTreeMap;

use pintle_tree::Node;

pub use draft::{Draft, METADATA};
pub use pintle_time::Timestamp;

/// The first API version, with dependencies in requirements.yaml.
pub const V1: &str = "v1";
/// The second API version, with dependencies in Chart.yaml.
pub const V2: &str = "v2";
/// The API version that Helm 4 reserves for experiments; its fields are those of `v2`.
pub const V3: &str = "v3";
/// The API version of the Helm 3 proposal, shaped like a Kubernetes object.
pub const OBJECT_V3: &str = "helm.sh/v3";

/// The content of Chart.yaml, common to all API versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// `v1`, `v2` or `helm.sh/v3`.
    pub api_version: String,
    /// The name of the chart.
    pub name: String,
    /// The version of the chart.
    pub version: String,
    /// The version of the application.
    pub app_version: String,
    /// A one-line description.
    pub description: String,
    /// The constraint on the Kubernetes version.
    pub kube_version: String,
    /// `application`, `library` or empty.
    pub kind: String,
    /// The project's home page.
    pub home: String,
    /// Source code URLs.
    pub sources: Vec<String>,
    /// Search keywords.
    pub keywords: Vec<String>,
    /// The maintainers.
    pub maintainers: Vec<Maintainer>,
    /// The URL of an icon.
    pub icon: String,
    /// The chart-level condition (historic).
    pub condition: String,
    /// The chart-level tags (historic).
    pub tags: String,
    /// Whether the chart is deprecated.
    pub deprecated: bool,
    /// Annotations, for other tools.
    pub annotations: BTreeMap<String, String>,
    /// The dependencies.
    pub dependencies: Vec<Dependency>,
    /// Whether there is a `dependencies:` list, even an empty one. Only the dependency commands distinguish this.
    pub declares_dependencies: bool,
    /// The requested library charts (`libraries:` of requirements.yaml).
    pub libraries: Vec<Dependency>,
}

/// A maintainer of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maintainer {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// A URL.
    pub url: String,
}

/// An entry of `dependencies:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    /// The name of the chart.
    pub name: String,
    /// The version constraint.
    pub version: String,
    /// The repository URL.
    pub repository: String,
    /// Comma-separated value paths of booleans that enable or disable the chart.
    pub condition: String,
    /// Tags that enable or disable the chart.
    pub tags: Vec<String>,
    /// Whether the chart is enabled; set during dependency processing.
    pub enabled: bool,
    /// The `import-values` entries.
    pub import_values: Vec<Node>,
    /// The alias of the chart.
    pub alias: String,
}

/// The content of Chart.lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// When the lock was written, as spelled in the file.
    pub generated: String,
    /// The digest of the dependencies.
    pub digest: String,
    /// The locked versions.
    pub dependencies: Vec<Dependency>,
}

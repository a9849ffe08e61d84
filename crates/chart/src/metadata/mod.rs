//! What Chart.yaml says, in all its generations.

mod draft;
mod lock;
mod time;
mod v3;
mod validate;
mod write;

use std::collections::BTreeMap;

use pintle_tree::Node;

pub use draft::{Draft, METADATA};
pub use time::Timestamp;

/// The first API version, with dependencies in requirements.yaml.
pub const V1: &str = "v1";
/// The second API version, with dependencies in Chart.yaml.
pub const V2: &str = "v2";
/// The API version that Helm 4 keeps for experiments; its fields are those of `v2`.
pub const V3: &str = "v3";
/// The API version of the Helm 3 proposal, shaped as a Kubernetes object.
pub const OBJECT_V3: &str = "helm.sh/v3";

/// The contents of Chart.yaml, the same for all API versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// `v1`, `v2` or `helm.sh/v3`.
    pub api_version: String,
    /// The name of the chart.
    pub name: String,
    /// The version of the chart.
    pub version: String,
    /// The version of the application inside.
    pub app_version: String,
    /// One sentence about the chart.
    pub description: String,
    /// The constraint on the Kubernetes version.
    pub kube_version: String,
    /// `application`, `library` or empty.
    pub kind: String,
    /// The page of the project.
    pub home: String,
    /// Where the source is.
    pub sources: Vec<String>,
    /// Words to search by.
    pub keywords: Vec<String>,
    /// Who keeps the chart.
    pub maintainers: Vec<Maintainer>,
    /// The URL of an icon.
    pub icon: String,
    /// The chart-level condition (historic).
    pub condition: String,
    /// The chart-level tags (historic).
    pub tags: String,
    /// Whether the chart should no longer be used.
    pub deprecated: bool,
    /// Notes for other programs.
    pub annotations: BTreeMap<String, String>,
    /// The charts this one depends on.
    pub dependencies: Vec<Dependency>,
    /// Whether there is a `dependencies:` list at all, be it empty. Only the dependency commands tell the difference.
    pub declares_dependencies: bool,
    /// The library charts this one asks for (`libraries:` of requirements.yaml).
    pub libraries: Vec<Dependency>,
}

/// Someone who keeps a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maintainer {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// A page.
    pub url: String,
}

/// One entry under `dependencies:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    /// The name of the chart.
    pub name: String,
    /// The range of versions.
    pub version: String,
    /// Where the chart comes from.
    pub repository: String,
    /// Paths of booleans that switch the chart on or off.
    pub condition: String,
    /// Tags that switch the chart on or off.
    pub tags: Vec<String>,
    /// Whether the chart is switched on, decided while dependencies are processed.
    pub enabled: bool,
    /// What is imported from the chart's values.
    pub import_values: Vec<Node>,
    /// The name the chart gets here.
    pub alias: String,
}

/// The contents of Chart.lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// When the lock was written, as the file spells it.
    pub generated: String,
    /// The digest of what was locked.
    pub digest: String,
    /// The exact versions.
    pub dependencies: Vec<Dependency>,
}

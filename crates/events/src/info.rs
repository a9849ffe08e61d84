//! What the context tells about charts, releases and clusters: plain data, brought by who emits.

use pintle_objects::Object;
use pintle_tree::Str;

/// What Chart.yaml says. Never changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartInfo {
    /// The version of Chart.yaml's form.
    pub api_version: String,
    /// The name.
    pub name: String,
    /// The version of the chart.
    pub version: String,
    /// What the chart is.
    pub description: String,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// The address of the project.
    pub home: String,
    /// Addresses of the source.
    pub sources: Vec<String>,
    /// Who takes care of it.
    pub maintainers: Vec<Maintainer>,
    /// The address of a picture.
    pub icon: String,
    /// The version of what the chart installs.
    pub app_version: String,
    /// The versions of Kubernetes that it needs.
    pub kubernetes_versions: String,
}

/// Someone who takes care of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintainer {
    /// The name.
    pub name: String,
    /// The mail address.
    pub email: String,
    /// The address of a page.
    pub url: String,
}

/// What is known about the release. Never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseInfo {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The number of the version that is being made.
    pub number: u64,
    /// Whether it is the first version.
    pub is_install: bool,
    /// Whether it follows another version.
    pub is_upgrade: bool,
}

/// What is known about the cluster. Never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapabilityInfo {
    /// The version of Helm that we behave like.
    pub helm_version: String,
    /// The version of Kubernetes.
    pub kubernetes_version: String,
    /// The API versions, and API versions with kinds, that the cluster serves.
    pub api_versions: Vec<String>,
}

/// What an object that is waited for has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadinessInfo {
    /// The API version of the object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// One word for its state.
    pub state: String,
    /// Why it is not ready yet, or what happened.
    pub message: String,
    /// Whether it is what it should be.
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

/// A chart that another one needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    /// The name.
    pub name: String,
    /// The versions that will do.
    pub version: String,
    /// Where it is found.
    pub repository: String,
    /// The name under which it is used, if another.
    pub alias: String,
}

/// An object that came out of rendering, or that a handler has added.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedObject {
    /// The template it comes from, with the path of its chart; none if a handler has added it.
    pub template: Option<String>,
    /// The object.
    pub object: Object,
}

//! What is deployed: a chart with values, or objects.

use std::fmt;

use pintle_tree::{Map, Node, ValuePath};

use crate::{Place, SourceObject};

/// The identity of an app, by which two commits are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppId {
    /// The cluster; empty if there is only one.
    pub cluster: String,
    /// The kind of the object that describes it, such as `HelmRelease`.
    pub kind: String,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for AppId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(formatter, "{}/", self.namespace)?;
        }
        formatter.write_str(&self.name)?;
        match self.cluster.as_str() {
            "" => Ok(()),
            cluster => write!(formatter, " in {cluster}"),
        }
    }
}

/// An app.
#[derive(Clone, Debug)]
pub struct App {
    /// Its identity.
    pub id: AppId,
    /// Where it is described.
    pub place: Place,
    /// What it deploys.
    pub content: Content,
    /// Whether its controller is told to leave it alone.
    pub is_suspended: bool,
    /// Apps that come before it, by their identities' texts.
    pub depends_on: Vec<String>,
    /// The order within Argo CD.
    pub wave: i64,
}

/// What an app deploys.
#[derive(Clone, Debug)]
pub enum Content {
    /// A chart.
    Chart(Box<ChartApp>),
    /// Objects.
    Objects(Vec<SourceObject>),
    /// Nothing that could be found out; the text says why.
    Unknown(String),
}

/// Where a chart comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChartSource {
    /// A folder of the repository.
    Folder(String),
    /// A repository with an index.
    Http {
        /// Its address.
        url: String,
        /// The name of the chart.
        name: String,
        /// The version or the range of versions; empty for the newest.
        version: String,
    },
    /// A registry.
    Oci {
        /// The address of the chart.
        url: String,
        /// The version, the range of versions or the tag; empty for the newest.
        version: String,
        /// The digest, which wins over the version.
        digest: String,
    },
    /// A folder of another git repository.
    Git {
        /// Its address.
        url: String,
        /// The branch, tag or commit.
        reference: String,
        /// The folder.
        path: String,
    },
}

impl fmt::Display for ChartSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChartSource::Folder(path) => write!(formatter, "./{path}"),
            ChartSource::Http { url, name, version } => write!(formatter, "{name} {version} of {url}"),
            ChartSource::Oci { url, version, digest } if digest.is_empty() => {
                write!(formatter, "{url} {version}")
            }
            ChartSource::Oci { url, digest, .. } => write!(formatter, "{url}@{digest}"),
            ChartSource::Git { url, reference, path } => write!(formatter, "{path} of {url} at {reference}"),
        }
    }
}

/// The kind of a layer of values, in the words of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    /// In the object that describes the app.
    Inline,
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
    /// A file of the repository.
    File,
    /// A single value that goes to a path.
    Parameter,
}

impl LayerKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            LayerKind::Inline => "inline",
            LayerKind::ConfigMap => "ConfigMap",
            LayerKind::Secret => "Secret",
            LayerKind::File => "file",
            LayerKind::Parameter => "parameter",
        }
    }
}

/// The data of a layer.
#[derive(Clone, Debug)]
pub enum LayerData {
    /// Values.
    Tree(Map<Node>),
    /// One value, in the grammar of `--set`, or as it is.
    Set {
        /// The path.
        path: String,
        /// The value.
        value: String,
        /// Whether commas and other characters of the grammar are part of the value.
        literal: bool,
        /// Whether the value is a string whatever it looks like.
        string: bool,
    },
}

/// A layer of values. Later ones take precedence.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The kind.
    pub kind: LayerKind,
    /// What reports call it: a file, or the name of an object.
    pub name: String,
    /// The values.
    pub data: LayerData,
    /// Where values are: the object that holds them, and the path of the values in it.
    pub object: Option<(Box<SourceObject>, ValuePath)>,
    /// The text in which lines count, with the place of its first line; for files, and for values in ConfigMaps.
    pub text: Option<(Place, Vec<u8>)>,
}

impl Layer {
    /// Where the value at a path is set.
    pub fn place(&self, path: &ValuePath) -> Option<Place> {
        if let Some((place, text)) = &self.text {
            let outline = pintle_yaml::outline::Outline::read_first(text).ok()?;
            let line = nearest(path, |path| outline.line_of(path)).unwrap_or(1);
            return Some(Place { file: place.file.clone(), line: place.line + line - 1 });
        }
        let (object, prefix) = self.object.as_ref()?;
        let mut full = prefix.clone();
        if matches!(self.data, LayerData::Tree(_)) {
            for segment in path.segments() {
                full = full.with(segment.clone());
            }
        }
        object.place(&full)
    }
}

/// What a function returns for a path or the nearest path above it.
pub(crate) fn nearest<T>(path: &ValuePath, find: impl Fn(&ValuePath) -> Option<T>) -> Option<T> {
    let mut path = Some(path.clone());
    while let Some(at) = path {
        if let Some(found) = find(&at) {
            return Some(found);
        }
        path = at.parent();
    }
    None
}

/// A chart with its values.
#[derive(Clone, Debug)]
pub struct ChartApp {
    /// Where the chart comes from.
    pub chart: ChartSource,
    /// Where its version is set.
    pub version_place: Option<Place>,
    /// The name of the release.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// The layers of values.
    pub layers: Vec<Layer>,
    /// Files that replace the chart's values.yaml, relative to the source of the chart.
    pub default_files: Vec<String>,
    /// Whether those of them that do not exist are left out.
    pub ignores_missing: bool,
    /// Whether CRDs below `crds/` are left out.
    pub skip_crds: bool,
    /// Whether test hooks are left out.
    pub skip_tests: bool,
    /// Whether `values.schema.json` is not used.
    pub skip_schema: bool,
    /// The Kubernetes version to render for; empty for that of the cluster.
    pub kube_version: String,
    /// API versions in addition to the built-in ones.
    pub api_versions: Vec<String>,
    /// Changes of what is rendered.
    pub post: Vec<PostRender>,
}

/// A change of what is rendered, in the form of a kustomization.
#[derive(Clone, Debug)]
pub struct PostRender {
    /// The kustomization: patches, images.
    pub kustomization: Map<Node>,
    /// Where it is.
    pub place: Option<Place>,
}

//! A chart in memory: metadata, templates, default values, files and subcharts.

use std::sync::Arc;

use pintle_tree::{Map, Node};

use crate::metadata::{Lock, Metadata};

/// A file of a chart, named by its slash-separated path inside the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The path inside the chart, as in `templates/service.yaml`.
    pub name: String,
    /// The content. Shared, because a file is often held under more than one heading.
    pub data: Arc<[u8]>,
    /// When the file was last changed, in seconds since 1970, where the source tells.
    pub modified: Option<i64>,
}

impl File {
    /// Returns a file without a time.
    pub fn new(name: impl Into<String>, data: impl Into<Arc<[u8]>>) -> Self {
        File { name: name.into(), data: data.into(), modified: None }
    }
}

/// A chart: what a folder or an archive is read into. It can be sent to other threads and rendered many times.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What Chart.yaml says.
    pub metadata: Metadata,
    /// What Chart.lock or requirements.lock says.
    pub lock: Option<Lock>,
    /// Everything below `templates/`.
    pub templates: Vec<File>,
    /// The default values of values.yaml.
    pub values: Map<Node>,
    /// The text of values.schema.json.
    pub schema: Option<Arc<[u8]>>,
    /// The text of values.schema.yaml.
    pub schema_yaml: Option<Arc<[u8]>>,
    /// All files that have no other heading: README, crds/, ext/ and the rest, as `.Files` shows them.
    pub files: Vec<File>,
    /// Every file as it was read, for commands that show or pack the original text.
    pub raw: Vec<File>,
    /// The charts below `charts/`.
    pub subcharts: Vec<Chart>,
    /// The library charts below `library/`, whose `define`s serve this chart and its subcharts.
    pub libraries: Vec<Chart>,
}

impl Chart {
    /// The name of the chart.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }
}

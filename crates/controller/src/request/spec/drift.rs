//! Drift: what happens when others change objects of a release.

use serde::{Deserialize, Serialize};

/// Detection and correction of drift.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct DriftDetection {
    /// Whether changes are reported or undone.
    pub mode: DriftMode,
    /// Changes that are ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<DriftIgnore>,
}

/// What happens when others change objects of a release.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftMode {
    /// Nothing.
    #[default]
    Disabled,
    /// They are reported.
    Warn,
    /// They are reported and undone.
    Enabled,
}

/// Fields that others may change.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct DriftIgnore {
    /// JSON pointers; an empty one is the whole object.
    pub paths: Vec<String>,
    /// Which objects; all if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

impl DriftIgnore {
    pub(super) fn validate(&self) -> Result<(), String> {
        if let Some(path) = self.paths.iter().find(|path| !path.is_empty() && !path.starts_with('/')) {
            return Err(format!("`{path}` is no JSON pointer; it must be empty or begin with `/`"));
        }
        self.target.as_ref().map_or(Ok(()), |target| target.selector().map(drop))
    }
}

/// Selects objects as kustomize does: by regular expressions, which match a whole name, and by selectors. Fields that are
/// not set match everything.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Target {
    /// The API group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The API version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// A selector of labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// A selector of annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotation_selector: Option<String>,
}

impl Target {
    /// The selector of the library.
    ///
    /// # Errors
    /// Which expression is wrong.
    pub(crate) fn selector(&self) -> Result<pintle::ObjectSelector, String> {
        pintle::ObjectSelector::new(&pintle::ObjectPatterns {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            labels: self.label_selector.clone(),
            annotations: self.annotation_selector.clone(),
        })
        .map_err(|error| format!("target: {error}"))
    }
}

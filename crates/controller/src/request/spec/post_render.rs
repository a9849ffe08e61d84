//! Changes to rendered objects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::drift::Target;

/// Labels and annotations that every object of the release gets.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct CommonMetadata {
    /// The labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A change to the rendered objects: first patches, then images, as kustomize does it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct PostRenderer {
    /// Patches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// Images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// A patch in YAML: a strategic merge patch, or a list of operations (JSON 6902).
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct Patch {
    /// The patch.
    pub patch: String,
    /// Which objects; without it, the one that a strategic merge patch names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// An image that is replaced.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Image {
    /// The name without tag and digest.
    pub name: String,
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_name: Option<String>,
    /// The new tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_tag: Option<String>,
    /// The new digest, which takes precedence over a tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl PostRenderer {
    pub(super) fn validate(&self) -> Result<(), String> {
        crate::post_render::compile(self).map(drop)
    }
}

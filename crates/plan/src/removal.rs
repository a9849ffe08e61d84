//! What uninstalling deletes: which objects of a manifest, in which order, and which are kept.

use pintle_objects::{Manifest, Object, ObjectError, Order, sort, split};

use crate::plan::RESOURCE_POLICY;

/// What happens to the objects of a manifest when its release is uninstalled.
#[derive(Clone, Debug, Default)]
pub struct Removal {
    /// The objects to delete, in order. Neighbours of one kind can be deleted concurrently. An object without a name, whose
    /// name the server generated, cannot be found any more.
    pub delete: Vec<Object>,
    /// The objects that are kept because of their resource policy.
    pub keep: Vec<RetainedObject>,
}

/// An object that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedObject {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// Why the objects to delete cannot be determined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemovalError {
    /// The manifest cannot be sorted.
    #[error("corrupted release record. You must manually delete the resources")]
    Corrupted(#[source] Box<pintle_objects::Error>),
    /// A document of the manifest is not an object.
    #[error("unable to build kubernetes objects for delete")]
    Object(#[from] ObjectError),
}

/// The effect of a document's `helm.sh/resource-policy`.
enum Policy {
    Delete,
    Keep,
    /// An unknown policy: Helm neither deletes such an object nor lists it as kept.
    Neither,
}

/// Determines what happens to the objects of a stored manifest when its release is uninstalled.
///
/// # Errors
/// When the manifest cannot be read.
pub fn removal(manifest: &str) -> Result<Removal, RemovalError> {
    // Each document counts as a file, numbered as in Helm, because objects of one kind stay in the order of the
    // files.
    let documents: Vec<(String, &[u8])> = split(manifest.as_bytes())
        .enumerate()
        .map(|(index, document)| (format!("manifest-{index}"), document))
        .collect();
    let sorted =
        sort(&documents, Order::Uninstall).map_err(|error| RemovalError::Corrupted(Box::new(error)))?;
    let mut removal = Removal::default();
    for manifest in &sorted.manifests {
        match policy(manifest) {
            Policy::Delete => {
                removal.delete.extend(Object::read_manifest(manifest.content, "")?);
            }
            Policy::Keep => removal.keep.push(RetainedObject {
                kind: manifest.head.kind.to_string(),
                name: manifest
                    .head
                    .metadata
                    .as_ref()
                    .map(|metadata| metadata.name.to_string())
                    .unwrap_or_default(),
            }),
            Policy::Neither => {}
        }
    }
    Ok(removal)
}

/// Reads the word as Helm's `filterManifestsToKeep`, which trims and ignores case, unlike the check of live objects.
fn policy(manifest: &Manifest<'_>) -> Policy {
    let word = manifest.head.metadata.as_ref().and_then(|metadata| metadata.annotations.get(RESOURCE_POLICY));
    match word.map(|word| word.to_str_lossy().trim().to_lowercase()) {
        None => Policy::Delete,
        Some(word) if word == "keep" => Policy::Keep,
        Some(_) => Policy::Neither,
    }
}

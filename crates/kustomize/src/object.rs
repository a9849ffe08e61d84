//! Built objects and where they came from.

use std::sync::Arc;

use pintle_tree::{Node, ValuePath};

/// A file that something came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path in the repository; of a remote base, its address and the path.
    pub file: Arc<str>,
    /// The line, counted from one.
    pub line: usize,
}

/// What changed an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// `patches`, `patchesStrategicMerge` or `patchesJson6902`.
    Patch,
    /// `images`.
    Image,
    /// `replicas`.
    Replicas,
    /// `namespace`.
    Namespace,
    /// `namePrefix` or `nameSuffix`.
    Name,
    /// `labels` or `commonLabels`.
    Label,
    /// `commonAnnotations`.
    Annotation,
    /// `replacements`.
    Replacement,
    /// A generator with the behavior `merge` or `replace`.
    Generator,
    /// The name of another object changed to which this one refers.
    Reference,
    /// The hash of a generated ConfigMap or Secret, at the end of its name.
    Hash,
    /// `buildMetadata`.
    Metadata,
}

/// A change of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The field, as it is after this change. Lists are by index; later changes may have moved the item.
    pub path: ValuePath,
    /// What changed it.
    pub kind: ChangeKind,
    /// Where that is written.
    pub place: Place,
}

/// An object of the output.
#[derive(Clone, Debug)]
pub struct Object {
    /// The object.
    pub node: Node,
    /// Where the object begins: its document in a file, or the entry of a generator or chart.
    pub origin: Place,
    /// The document as it was read, for [`Object::line_of`].
    pub(crate) source: Option<Arc<crate::source::Document>>,
    /// What changed it, in order.
    pub changes: Vec<Change>,
}

impl Object {
    /// The place that decided the value of a field: the last change of it, of a field around it or below it, else its line
    /// in the file that the object came from.
    pub fn origin_of(&self, path: &ValuePath) -> Place {
        let concerns = |change: &&Change| path.is_within(&change.path) || change.path.is_within(path);
        match self.changes.iter().rev().find(concerns) {
            Some(change) => change.place.clone(),
            None => self.line_of(path),
        }
    }

    /// The line of a field in the file that the object came from; of a field that is not there, that of the nearest one
    /// around it.
    pub fn line_of(&self, path: &ValuePath) -> Place {
        let line = self.source.as_ref().map(|source| source.line_of(path));
        Place { file: self.origin.file.clone(), line: line.unwrap_or(self.origin.line) }
    }
}

/// The outcome of a build.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// The objects, in the order in which `kustomize build` prints them.
    pub objects: Vec<Object>,
    /// The paths that were asked for, sorted, those without a file included: only changes there can change the build.
    pub files: Vec<String>,
    /// What kustomize warns of: deprecated fields.
    pub warnings: Vec<String>,
}

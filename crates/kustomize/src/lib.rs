//! Builds kustomizations as `kustomize build` 5.8 does, and says where every field came from.
//!
//! Files come through the trait [`Files`], so that a repository can be built as it was at some commit; charts of
//! `helmCharts` and remote bases come through [`HelmCharts`] and [`Remote`]. This crate reads no file system, runs no
//! program and reaches no address. What kustomize can do and this crate refuses (`vars`, plugins, functions) is an error
//! that names it ([`Error::refused_feature`]).
//!
//! [`build`] builds a folder. [`build_with`] builds a folder with a kustomization that is not the file there, such as
//! one that Flux makes from the file and its own fields. [`transform`] applies a kustomization to objects.
//!
//! ```
//! use pintle_kustomize::{MemoryFiles, Options, build};
//!
//! let files: MemoryFiles = [
//!     ("app/kustomization.yaml", "resources: [map.yaml]\nnamespace: blue\n"),
//!     ("app/map.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n"),
//! ]
//! .into_iter()
//! .collect();
//! let build = build(&files, "app", &Options::default())?;
//! assert_eq!(
//!     String::from_utf8_lossy(&build.to_yaml()?),
//!     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: blue\n"
//! );
//! let namespace = build.objects[0].origin_of(&"metadata.namespace".parse().unwrap());
//! assert_eq!((&*namespace.file, namespace.line), ("app/kustomization.yaml", 2));
//! # Ok::<(), pintle_kustomize::Error>(())
//! ```

mod error;
mod files;
mod object;
mod options;
mod source;

pub use error::Error;
pub use files::{Entry, Files, MemoryFiles};
pub use object::{Build, Change, ChangeKind, Object, Place};
pub use options::{HelmChart, HelmCharts, Limits, LoadRestrictions, Options, Remote, RemoteBase};

use pintle_tree::Node;

/// The names that a kustomization file may have.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Builds the kustomization in a folder, as `kustomize build` does.
///
/// # Errors
/// What kustomize does not build, what this crate refuses, and builds that exceed the limits.
pub fn build(files: &dyn Files, folder: &str, options: &Options<'_>) -> Result<Build, Error> {
    let _ = (files, folder, options);
    Err(Error::new("building is not written yet"))
}

/// Builds a folder with a kustomization in memory in place of the file there, if there is one. Its paths are relative to the
/// folder; `file` names it in errors and origins.
///
/// # Errors
/// As [`build`].
pub fn build_with(
    files: &dyn Files,
    folder: &str,
    file: &str,
    kustomization: &[u8],
    options: &Options<'_>,
) -> Result<Build, Error> {
    let _ = (files, folder, file, kustomization, options);
    Err(Error::new("building is not written yet"))
}

/// Applies a kustomization without files to objects, as if they were its resources. Origins and changes of the objects
/// are kept.
///
/// # Errors
/// As [`build`].
pub fn transform(
    objects: Vec<Object>,
    file: &str,
    kustomization: &[u8],
    options: &Options<'_>,
) -> Result<Build, Error> {
    let _ = (objects, file, kustomization, options);
    Err(Error::new("building is not written yet"))
}

/// The objects of a manifest, for [`transform`]: a stream of YAML documents, in which lists of objects are expanded.
///
/// # Errors
/// When the text is not YAML, or a document is no object.
pub fn read_objects(file: &str, text: &[u8]) -> Result<Vec<Object>, Error> {
    let _ = (file, text);
    Err(Error::new("building is not written yet"))
}

/// The file name, content and parsed form of the kustomization in a folder; `None` if it has none.
///
/// # Errors
/// When there are several, or it cannot be read.
pub fn find_kustomization(files: &dyn Files, folder: &str) -> Result<Option<(String, Node)>, Error> {
    let _ = (files, folder);
    Err(Error::new("building is not written yet"))
}

impl Build {
    /// The objects as `kustomize build` prints them.
    ///
    /// # Errors
    /// A number that YAML cannot represent.
    pub fn to_yaml(&self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        for object in &self.objects {
            if !out.is_empty() {
                out.extend_from_slice(b"---\n");
            }
            pintle_yaml::write_to(&object.node, &mut out).map_err(|error| {
                Error::new(error.to_string()).at(&object.origin.file, Some(object.origin.line))
            })?;
        }
        Ok(out)
    }
}

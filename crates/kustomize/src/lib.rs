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

mod build;
mod config;
mod context;
mod crds;
mod difference;
mod error;
mod fields;
mod files;
mod generators;
mod id;
mod json_patch;
mod kustomization;
mod merge;
mod names;
mod object;
mod options;
mod patches;
mod replacements;
mod resource;
mod schema;
mod select;
mod source;
mod stream;
mod transformers;
mod value;

pub use error::Error;
pub use files::{Entry, Files, MemoryFiles};
pub use object::{Build, Change, ChangeKind, Object, Place};
pub use options::{HelmChart, HelmCharts, Limits, LoadRestrictions, Options, Order, Remote, RemoteBase};

use std::sync::Arc;

use pintle_tree::Node;

use context::{Context, Location};
use kustomization::Kustomization;
use resource::Resource;

/// The names that a kustomization file may have.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Builds the kustomization in a folder, as `kustomize build` does.
///
/// # Errors
/// What kustomize does not build, what this crate refuses, and builds that exceed the limits.
pub fn build(files: &dyn Files, folder: &str, options: &Options<'_>) -> Result<Build, Error> {
    let location = Location::root(files, clean(folder)?);
    build::build(Context::new(options), &location, None, Vec::new())
}

/// Builds a folder with a kustomization in memory in place of the file there, if there is one. Its paths are relative to the
/// folder; `file` names it in errors and origins.
///
/// # Errors
/// As [`build()`].
pub fn build_with(
    files: &dyn Files,
    folder: &str,
    file: &str,
    kustomization: &[u8],
    options: &Options<'_>,
) -> Result<Build, Error> {
    let kustomization = Kustomization::parse(&Arc::from(file), &Arc::from(kustomization))?;
    let location = Location::root(files, clean(folder)?);
    build::build(Context::new(options), &location, Some(kustomization), Vec::new())
}

/// Applies a kustomization without files to objects, as if they were its resources. Origins and changes of the objects
/// are kept, and so is their order.
///
/// # Errors
/// As [`build()`].
pub fn transform(
    objects: Vec<Object>,
    file: &str,
    kustomization: &[u8],
    options: &Options<'_>,
) -> Result<Build, Error> {
    let kustomization = Kustomization::parse(&Arc::from(file), &Arc::from(kustomization))?;
    let files = MemoryFiles::default();
    let location = Location::root(&files, String::new());
    let resources = objects.into_iter().map(build::resource_of).collect();
    let options = Options { order: Order::AsNamed, ..*options };
    build::build(Context::new(&options), &location, Some(kustomization), resources)
}

/// The objects of a manifest, for [`transform`]: a stream of YAML documents, in which lists of objects are expanded.
///
/// # Errors
/// When the text is not YAML, or a document is no object.
pub fn read_objects(file: &str, text: &[u8]) -> Result<Vec<Object>, Error> {
    let resources = stream::read_objects(&Arc::from(file), &Arc::from(text), source::Position::Whole);
    resources?.into_iter().map(Resource::finish).collect()
}

/// A kustomization file.
#[derive(Clone, Debug)]
pub struct KustomizationFile {
    /// Its path.
    pub path: String,
    /// Its content.
    pub text: Arc<[u8]>,
    /// What is in it.
    pub node: Node,
}

/// The kustomization file of a folder; `None` if it has none.
///
/// # Errors
/// When there are several, or it cannot be read.
pub fn find_kustomization(files: &dyn Files, folder: &str) -> Result<Option<KustomizationFile>, Error> {
    let options = Options::default();
    let found = build::find_file(&Context::new(&options), &Location::root(files, clean(folder)?))?;
    let Some(found) = found else { return Ok(None) };
    let node = pintle_yaml::read_exact(&found.text)
        .map_err(|error| Error::new(error.to_string()).at(&found.file, error.line()))?;
    Ok(Some(KustomizationFile { path: found.file.to_string(), text: found.text, node }))
}

/// A folder as paths are written here.
fn clean(folder: &str) -> Result<String, Error> {
    files::join("", folder).ok_or_else(|| context::leaves(folder))
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

//! What a build may do, and the parts that the caller supplies.

use std::sync::Arc;

use pintle_tree::Node;

use crate::files::Files;

/// Which files a kustomization may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadRestrictions {
    /// Only files in or below its folder, as kustomize by default. Other kustomizations may be anywhere.
    #[default]
    RootOnly,
    /// All files of the repository, as Flux does.
    None,
}

/// The order of the objects, unless the kustomization has `sortOptions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By kind, as `kustomize build`.
    #[default]
    ByKind,
    /// As they are named, as Flux.
    AsNamed,
}

/// The bounds of one build. A build that exceeds one fails with an error that names it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep kustomizations may be nested.
    pub depth: usize,
    /// How many kustomizations may be built; one that is used twice counts twice.
    pub kustomizations: usize,
    /// How many objects there may be at any time.
    pub objects: usize,
    /// The size of one file, in bytes.
    pub file_size: usize,
    /// The size of one object, in bytes.
    pub object_size: usize,
    /// The size of all files together, in bytes; one that is read twice counts twice.
    pub total_size: usize,
    /// Steps of work: an object that one transformer looks at is a step, an object that it changes as many as its size in
    /// kilobytes.
    pub work: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            depth: 100,
            kustomizations: 10_000,
            objects: 100_000,
            file_size: 32 << 20,
            object_size: 32 << 20,
            total_size: 512 << 20,
            work: 5_000_000,
        }
    }
}

/// An entry of `helmCharts` that is to be rendered.
#[derive(Clone, Debug)]
pub struct HelmChart {
    /// The folder of the kustomization. Paths in the entry are relative to it.
    pub folder: String,
    /// The kustomization file.
    pub file: String,
    /// The line of the entry in it.
    pub line: Option<usize>,
    /// The entry: `name`, `repo`, `version`, `valuesInline` ….
    pub entry: Node,
    /// `helmGlobals`, or nil.
    pub globals: Node,
    /// The namespace of the release: that of the entry, else that of the kustomization or of those that include it.
    pub namespace: Option<String>,
}

/// Renders charts for `helmCharts`.
pub trait HelmCharts {
    /// The manifests of a chart, as `helm template` prints them.
    ///
    /// # Errors
    /// Why the chart cannot be rendered.
    fn render(&self, chart: &HelmChart) -> Result<Vec<u8>, String>;
}

/// A remote base that is at hand.
#[derive(Clone)]
pub struct RemoteBase {
    /// The files of its repository. Nothing outside is read for it.
    pub files: Arc<dyn Files + Send + Sync>,
    /// The folder to build, or a file with objects.
    pub path: String,
}

/// Finds remote bases without asking a server.
pub trait Remote {
    /// The base that an address names; `None` if it is not at hand.
    ///
    /// # Errors
    /// Why the base cannot be used.
    fn find(&self, address: &str) -> Result<Option<RemoteBase>, String>;
}

/// What a build may do.
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// Which files may be named.
    pub load_restrictions: LoadRestrictions,
    /// The order of the objects.
    pub order: Order,
    /// What renders `helmCharts`; without it they are an error.
    pub helm: Option<&'o dyn HelmCharts>,
    /// Where remote bases are found; without it they are an error.
    pub remote: Option<&'o dyn Remote>,
    /// The bounds.
    pub limits: Limits,
}

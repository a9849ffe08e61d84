//! Where a chart comes from, in every request that takes one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_chart::Chart;
use pintle_release::ChartSource;

#[cfg(feature = "registry")]
use crate::Remote;
#[cfg(feature = "registry")]
use crate::cosign::CosignTrust;

/// Where a chart comes from.
///
/// ```
/// use pintle::ChartRef;
/// use pintle::ops::InstallRequest;
///
/// let request = InstallRequest { chart: "./web".into(), name: "demo".into(), ..InstallRequest::default() };
/// assert!(matches!(request.chart, ChartRef::Path(_)));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ChartRef {
    /// A folder or an archive.
    Path(PathBuf),
    /// A folder or an archive that [`locate_chart`](crate::ops::locate_chart) has found.
    Located(LocatedChart),
    /// A chart in memory, which saves reading it again for each of many releases.
    Loaded {
        /// The chart.
        chart: Arc<Chart>,
        /// Where it came from, for the record.
        source: Option<ChartSource>,
    },
    /// A chart that is looked up in repositories or registries, and fetched.
    #[cfg(feature = "registry")]
    Reference(Box<ChartReference>),
}

impl Default for ChartRef {
    fn default() -> Self {
        ChartRef::Path(PathBuf::new())
    }
}

impl From<PathBuf> for ChartRef {
    fn from(path: PathBuf) -> Self {
        ChartRef::Path(path)
    }
}

impl From<&Path> for ChartRef {
    fn from(path: &Path) -> Self {
        ChartRef::Path(path.to_owned())
    }
}

impl From<String> for ChartRef {
    fn from(path: String) -> Self {
        ChartRef::Path(path.into())
    }
}

impl From<&str> for ChartRef {
    fn from(path: &str) -> Self {
        ChartRef::Path(path.into())
    }
}

impl From<LocatedChart> for ChartRef {
    fn from(chart: LocatedChart) -> Self {
        ChartRef::Located(chart)
    }
}

#[cfg(feature = "registry")]
impl From<ChartReference> for ChartRef {
    fn from(reference: ChartReference) -> Self {
        ChartRef::Reference(Box::new(reference))
    }
}

impl ChartRef {
    /// The folder or archive, if it is known by its path.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ChartRef::Path(path) | ChartRef::Located(LocatedChart { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// Where the chart came from, for the record; unknown for references until they are located.
    #[cfg(feature = "cluster")]
    pub(crate) fn source(&self) -> Option<&ChartSource> {
        match self {
            ChartRef::Located(LocatedChart { source, .. }) | ChartRef::Loaded { source, .. } => {
                source.as_ref()
            }
            _ => None,
        }
    }
}

/// A chart on this machine.
#[derive(Clone, Debug, Default)]
pub struct LocatedChart {
    /// The folder or archive.
    pub path: PathBuf,
    /// Where it was fetched from, for the record.
    pub source: Option<ChartSource>,
}

/// What the user typed, and how it is looked up.
#[cfg(feature = "registry")]
#[derive(Clone, Debug)]
pub struct ChartReference {
    /// How repositories and registries are reached.
    pub remote: Remote,
    /// The reference, the version, and the credentials. A reference that is a path which exists means this path.
    pub query: pintle_repo::ChartQuery,
    /// The folder that relative paths start from.
    pub folder: PathBuf,
    /// What is verified before the chart is used.
    pub verify: Verify,
}

/// What is verified before a chart is used.
#[cfg(feature = "registry")]
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Verify {
    /// Nothing but digests.
    #[default]
    Never,
    /// The provenance file of the archive.
    Provenance(KeyringFile),
    /// The signature of cosign, for charts in registries.
    Cosign(Arc<CosignTrust>),
}

/// The keys that provenance files are verified with.
#[cfg(feature = "registry")]
#[derive(Clone, Debug, Default)]
pub struct KeyringFile {
    /// The file, which is read when it is needed.
    pub path: PathBuf,
    /// The time at which keys must be valid, in Unix seconds.
    pub now: u64,
}

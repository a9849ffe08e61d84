//! The embedded cluster: a Kubernetes API in this process behind the ordinary client, so that every operation runs on
//! it as on a real cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pintle_cluster::Cluster;
pub use pintle_embedded::schema::ApiCatalog;
pub use pintle_embedded::store::FILE_THREAD;
use pintle_embedded::store::{FileError, HistoryWindow, Store};
pub use pintle_embedded::{Api, Pace, serve};
use pintle_embedded::{Options, SystemClock};

use crate::{Error, Result};

/// How long to wait for the lock on a file that another process has open.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Options of an embedded cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// The file that stores the cluster. Without one, the state is kept in memory and lost at exit.
    pub file: Option<PathBuf>,
    /// The Kubernetes version to emulate, such as `1.37`; the newest supported one if empty.
    pub kube_version: String,
    /// How fast simulated workloads become ready.
    pub pace: Pace,
    /// Seed of generated names and uids. The same seed and requests give the same names.
    pub seed: u64,
}

impl Embedded {
    /// Opens the cluster.
    ///
    /// # Errors
    /// When the file cannot be opened, or the Kubernetes version is not supported.
    pub async fn open(&self) -> Result<Api> {
        let refused = |why: String| Error::Embedded { why };
        let catalog = match self.kube_version.as_str() {
            "" => ApiCatalog::newest(),
            version => ApiCatalog::for_version(version).map_err(|error| refused(error.to_string()))?,
        };
        let store = match &self.file {
            Some(path) => open_file(path).await?,
            None => Store::in_memory(HistoryWindow::default()),
        };
        let options = Options { catalog, store, clock: Arc::new(SystemClock), seed: self.seed };
        let api = Api::start_with_controllers(options, self.pace).await;
        api.map_err(|status| refused(status.message))
    }
}

/// Opens a file, waiting for its lock. Most commands hold it for milliseconds, so parallel commands simply take
/// turns.
async fn open_file(path: &Path) -> Result<Store> {
    let limit = Instant::now() + LOCK_TIMEOUT;
    loop {
        match Store::in_file(path, HistoryWindow::default()) {
            Ok(store) => return Ok(store),
            Err(FileError::InUse(_)) if Instant::now() < limit => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(FileError::InUse(file)) => return Err(Error::EmbeddedInUse { file }),
            Err(error @ FileError::Damaged { .. }) => {
                return Err(Error::EmbeddedCorrupt { why: error.to_string() });
            }
            Err(error) => return Err(Error::Embedded { why: error.to_string() }),
        }
    }
}

/// Returns a client for the embedded API. Must be called within a Tokio runtime.
pub fn cluster(api: &Api, namespace: &str) -> Cluster {
    let api = api.clone();
    Cluster::from_service_fn(
        move |request| {
            let api = api.clone();
            async move { api.handle(request).await }
        },
        namespace,
    )
}

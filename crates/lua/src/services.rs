//! Ports to the outside world, implemented by the caller.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle_events::{ChartPath, Event};
use pintle_tree::Node;

use crate::limits::Cancelled;

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For chart authors.
    Debug,
    /// For everyone.
    Info,
    /// Something may be wrong.
    Warn,
    /// Something is wrong.
    Error,
}

/// Receives logs and changes of scripts.
pub trait Listener: Send + Sync {
    /// A script logged a line.
    fn log(&self, chart: &ChartPath, level: Level, text: &str);

    /// Whether to call [`changed`](Self::changed), which costs time.
    fn wants_changes(&self) -> bool {
        false
    }

    /// A handler changed these parts of the context; `location` is the file and line of its definition.
    fn changed(&self, chart: &ChartPath, event: Event, location: &str, paths: &[String]) {
        let _ = (chart, event, location, paths);
    }
}

/// A request of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// The URL, with scheme `http` or `https`.
    pub url: String,
    /// Headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The request body.
    pub body: Vec<u8>,
    /// The timeout of the whole exchange.
    pub timeout: Duration,
    /// The maximum response size, in bytes.
    pub max_bytes: usize,
}

/// The response to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchResponse {
    /// The status code.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The response body.
    pub body: Vec<u8>,
}

/// Sends HTTP requests for scripts with the `network` permission.
///
/// Implementations must check the addresses that a name resolves to and reject those that are not
/// [`is_public`](crate::is_public) unless the user allowed them; must apply the same rule to redirects; must respect
/// `timeout` and `max_bytes`; and must return soon after `cancelled` returns true.
pub trait Fetch: Send + Sync {
    /// Sends a request.
    ///
    /// # Errors
    /// The reason as text.
    fn fetch(&self, request: &FetchRequest, cancelled: &Cancelled) -> Result<FetchResponse, String>;
}

/// Read-only access to the cluster for scripts.
pub trait ClusterReader: Send + Sync {
    /// Whether the cluster serves a kind.
    ///
    /// # Errors
    /// The reason as text.
    fn has_kind(&self, api_version: &str, kind: &str) -> Result<bool, String>;

    /// Reads an object; `None` if it does not exist. An empty namespace means that of the release, or none for
    /// cluster-scoped objects.
    ///
    /// # Errors
    /// The reason as text.
    fn read(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Node>, String>;

    /// The storage classes of the cluster.
    ///
    /// # Errors
    /// The reason as text.
    fn storage_classes(&self) -> Result<Vec<Node>, String>;
}

/// The operating system, for scripts with the `os` permission.
pub trait System: Send + Sync {
    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// Seconds since the Unix epoch.
    fn now(&self) -> f64;
}

/// Everything that scripts may access. Using a service that is `None` is an error.
#[derive(Clone)]
pub struct Services {
    /// Receives logs and changes.
    pub listener: Option<Arc<dyn Listener>>,
    /// The cluster.
    pub cluster: Option<Arc<dyn ClusterReader>>,
    /// The network, for charts with the permission `network`.
    pub network: Option<Arc<dyn Fetch>>,
    /// The folder for charts with the `filesystem` permission.
    pub folder: Option<PathBuf>,
    /// The system, for charts with the `os` permission.
    pub system: Option<Arc<dyn System>>,
    /// Returns whether the operation was cancelled. Called often, so it must be fast.
    pub cancelled: Cancelled,
}

impl Default for Services {
    fn default() -> Self {
        Services {
            listener: None,
            cluster: None,
            network: None,
            folder: None,
            system: None,
            cancelled: Arc::new(|| false),
        }
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Services")
            .field("listener", &self.listener.is_some())
            .field("cluster", &self.cluster.is_some())
            .field("network", &self.network.is_some())
            .field("folder", &self.folder)
            .field("system", &self.system.is_some())
            .finish_non_exhaustive()
    }
}

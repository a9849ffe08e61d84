//! What scripts may reach outside of their state: ports that the edge of the program implements.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle_events::{ChartPath, Event};
use pintle_tree::Node;

use crate::limits::Cancelled;

/// How much a line of a script's log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For authors of charts.
    Debug,
    /// For everyone.
    Info,
    /// Something may be wrong.
    Warn,
    /// Something is wrong.
    Error,
}

/// Hears what scripts say and do.
pub trait Listener: Send + Sync {
    /// A script wrote a line to its log.
    fn log(&self, chart: &ChartPath, level: Level, text: &str);

    /// Whether it wants to know what handlers change.
    fn wants_changes(&self) -> bool {
        false
    }

    /// A handler, written at `place`, has changed these parts of the context.
    fn changed(&self, chart: &ChartPath, event: Event, place: &str, paths: &[String]) {
        let _ = (chart, event, place, paths);
    }
}

/// A request of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// The address, with the scheme `http` or `https`.
    pub url: String,
    /// Headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// What to send.
    pub body: Vec<u8>,
    /// How long the whole exchange may take.
    pub timeout: Duration,
    /// The longest answer that may be read, in bytes.
    pub max_bytes: usize,
}

/// The answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchResponse {
    /// The status.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// What was sent.
    pub body: Vec<u8>,
}

/// Sends requests for scripts that may use the network.
///
/// Whoever implements it must look at the addresses that a name resolves to and refuse those that are not
/// [`is_public`](crate::is_public), unless the user allowed them; must follow redirects by the same rule or not at all;
/// must hold to the request's `timeout` and `max_bytes`; and must end soon after `cancelled` says so.
pub trait Fetch: Send + Sync {
    /// Sends a request.
    ///
    /// # Errors
    /// Why there is no answer, in words.
    fn fetch(&self, request: &FetchRequest, cancelled: &Cancelled) -> Result<FetchResponse, String>;
}

/// Looks into the cluster for scripts. Nothing can be changed through it.
pub trait ClusterReader: Send + Sync {
    /// Whether the cluster knows a kind.
    ///
    /// # Errors
    /// Why that cannot be told, in words.
    fn has_kind(&self, api_version: &str, kind: &str) -> Result<bool, String>;

    /// Reads one object; none if it is not there. An empty namespace means that of the release, or no namespace for
    /// objects that have none.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
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
    /// Why they cannot be listed, in words.
    fn storage_classes(&self) -> Result<Vec<Node>, String>;
}

/// The system under the program, for scripts that may ask it.
pub trait System: Send + Sync {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// The seconds since 1970.
    fn now(&self) -> f64;
}

/// Everything that scripts may reach. Without a service, what needs it is an error that says so.
#[derive(Clone)]
pub struct Services {
    /// Who hears what scripts say.
    pub listener: Option<Arc<dyn Listener>>,
    /// The cluster.
    pub cluster: Option<Arc<dyn ClusterReader>>,
    /// The network, for charts with the permission `network`.
    pub network: Option<Arc<dyn Fetch>>,
    /// The folder that charts with the permission `filesystem` may read and write.
    pub folder: Option<PathBuf>,
    /// The system, for charts with the permission `os`.
    pub system: Option<Arc<dyn System>>,
    /// Tells whether the user has had enough. It is asked often, and must answer quickly.
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

//! Sessions with the scripts of a chart, and what these may read in the cluster.

use std::sync::Arc;
use std::time::Duration;

use pintle_chart::Chart;
use pintle_cluster::Cluster;
use pintle_events::Event;
use pintle_lua::{ClusterReader, Permission};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};
use tokio::runtime::Handle;

use crate::lifecycle::secrets::{self, SecretAccess};
use crate::lifecycle::{record_extras, spawn_blocking};
use crate::{Cancel, Result, Session};

/// What the scripts of a chart need to know about the operation.
pub(crate) struct ScriptContext<'a> {
    /// The name of the release.
    pub(crate) release: &'a str,
    /// The namespace of the release.
    pub(crate) namespace: &'a str,
    /// Whether consent given now also applies to later operations on the release.
    pub(crate) remember: bool,
    /// How long handlers may postpone readiness.
    pub(crate) wait: Duration,
}

impl Session {
    /// Returns the session with the handlers of a chart's scripts.
    ///
    /// # Errors
    /// When a permission is not granted or a script cannot be loaded.
    pub(crate) async fn with_chart_scripts(
        &self,
        chart: &Chart,
        context: ScriptContext<'_>,
    ) -> Result<Session> {
        if !self.events.runs_scripts_of(chart) {
            return Ok(Session { events: self.events.program().clone(), ..self.clone() });
        }
        let (events, chart, remember, wait) =
            (self.events.clone(), chart.clone(), context.remember, context.wait);
        let (cluster, cancel) = (self.cluster.clone(), self.cancel.clone());
        let (release, namespace) = (context.release.to_owned(), context.namespace.to_owned());
        let handle = Handle::current();
        let load = move || {
            events.load_scripts(&chart, remember, |scripting, granted| {
                let guard =
                    SecretAccess { release, namespace, network: granted.contains(Permission::Network) };
                let stop = cancel.clone();
                scripting.limits.wait = wait;
                scripting.services.cancelled = Arc::new(move || stop.is_cancelled());
                scripting.services.cluster = Some(Arc::new(LiveCluster { cluster, handle, cancel, guard }));
            })
        };
        let events = spawn_blocking(Event::ChartLoaded, load).await?;
        Ok(Session { events, ..self.clone() })
    }

    /// Returns the session with the scripts of the chart that is stored in a version. Anyone who can write the record
    /// can put scripts there, so consent is asked for as for any chart.
    ///
    /// # Errors
    /// As [`Session::with_chart_scripts`].
    pub(crate) async fn with_stored_scripts(
        &self,
        version: &ReleaseVersion,
        wait: Duration,
    ) -> Result<Session> {
        let (release, namespace) = (version.name.as_str(), version.namespace.as_str());
        let context = ScriptContext { release, namespace, remember: true, wait };
        self.with_chart_scripts(&record_extras::chart(&version.chart), context).await
    }
}

/// Limit for each request of a script to the cluster.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Cluster access for scripts. Handlers run on blocking threads, where `block_on` is allowed.
struct LiveCluster {
    cluster: Cluster,
    handle: Handle,
    cancel: Cancel,
    guard: SecretAccess,
}

impl LiveCluster {
    /// Waits for an answer until the limit or until the operation is cancelled.
    fn wait<T>(&self, answer: impl Future<Output = T>) -> std::result::Result<T, String> {
        self.handle.block_on(async {
            tokio::select! {
                answer = tokio::time::timeout(ANSWER_TIMEOUT, answer) => {
                    answer.map_err(|_| format!("the cluster gave no answer within {ANSWER_TIMEOUT:?}"))
                }
                () = self.cancel.cancelled() => Err("the operation was cancelled".to_owned()),
            }
        })
    }

    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Map<Node>, String> {
        self.wait(self.cluster.lookup(api_version, kind, namespace, name))?.map_err(|error| error.to_string())
    }
}

impl ClusterReader for LiveCluster {
    fn has_kind(&self, api_version: &str, kind: &str) -> std::result::Result<bool, String> {
        match self.wait(self.cluster.resource(api_version, kind))? {
            Ok(_) => Ok(true),
            Err(pintle_cluster::Error::NoSuchKind { .. }) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn read(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Option<Node>, String> {
        if name.is_empty() {
            return Err("the name of the object is missing".to_owned());
        }
        let namespace = if namespace.is_empty() { &self.guard.namespace } else { namespace };
        let found = self.lookup(api_version, kind, namespace, name)?;
        if found.is_empty() {
            return Ok(None);
        }
        if let Some(guarded) = secrets::protected_kind(api_version, kind) {
            self.guard.check_for_script(guarded, &found)?;
        }
        Ok(Some(Node::Map(found)))
    }

    fn storage_classes(&self) -> std::result::Result<Vec<Node>, String> {
        let mut found = self.lookup("storage.k8s.io/v1", "StorageClass", "", "")?;
        match found.remove("items") {
            Some(Node::List(classes)) => Ok(classes),
            _ => Ok(Vec::new()),
        }
    }
}

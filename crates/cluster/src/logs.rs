//! Container logs: complete, the last lines, or followed while a hook runs.

mod live;

pub use live::HookLogs;

use bytes::Bytes;
use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use crate::api_path;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::read::ListParams;
use crate::request::{Accept, Lines, Request};
use crate::wait::is_controlled_by;

/// Identifies the log of a container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogSource {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
}

impl LogSource {
    /// Returns the source for a container of a pod.
    pub fn new(namespace: &str, pod: &str, container: &str) -> Self {
        LogSource { namespace: namespace.to_owned(), pod: pod.to_owned(), container: container.to_owned() }
    }
}

/// Which part of a log to read, as in `PodLogOptions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogRange {
    /// Whether to follow the log until the container ends.
    pub follow: bool,
    /// Read only this many of the last lines (`tailLines`).
    pub last_lines: Option<u32>,
    /// Read the log of the previous run.
    pub previous: bool,
}

/// Why the logs of a hook are not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The pods cannot be found.
    #[error("failed to get pod list: {0}")]
    Pods(#[source] Error),
    /// The log of one container cannot be read.
    #[error("failed to stream pod logs for pod: {}, container: {}", .container.pod, .container.container)]
    Log {
        /// The container.
        container: LogSource,
        /// What went wrong.
        #[source]
        cause: Error,
    },
}

/// Receives the lines of a container.
pub type LogSink<'s> = &'s mut (dyn FnMut(&LogSource, &[u8]) + Send);

fn log_request(source: &LogSource, range: LogRange) -> Result<Request> {
    let mut path = api_path::object(&pods(), &source.namespace, &source.pod)?;
    path.push_str("/log");
    api_path::parameter(&mut path, "container", &source.container);
    if range.follow {
        api_path::parameter(&mut path, "follow", "true");
    }
    if let Some(lines) = range.last_lines {
        api_path::parameter(&mut path, "tailLines", &lines.to_string());
    }
    if range.previous {
        api_path::parameter(&mut path, "previous", "true");
    }
    Ok(Request::get(path).accept(Accept::Any))
}

/// Opens a log. Read it by line with [`Lines::next`] or as it comes with [`Lines::chunk`].
///
/// # Errors
/// When the server rejects the request, for instance because the container has not started.
pub async fn open(cluster: &Cluster, source: &LogSource, range: LogRange) -> Result<Lines> {
    cluster.lines(&log_request(source, range)?).await
}

/// Reads a complete log.
///
/// # Errors
/// When the server rejects the request, for instance because the container has not started.
pub async fn read_all(cluster: &Cluster, source: &LogSource) -> Result<Bytes> {
    let response = cluster.send(&log_request(source, LogRange::default())?).await?;
    Ok(response.body)
}

/// Reads the last lines of a container's current run, or of its previous run when the current one has none. Control
/// characters are removed, since the lines go to a terminal.
///
/// # Errors
/// When the server rejects both requests.
pub async fn tail(cluster: &Cluster, source: &LogSource, lines: u32) -> Result<Vec<String>> {
    let range = LogRange { last_lines: Some(lines), ..LogRange::default() };
    let response = match cluster.send(&log_request(source, range)?).await {
        Ok(response) => response,
        // A container that waits for its next restart has no current log; the reason of the crash is in the previous
        // one.
        Err(_) => cluster.send(&log_request(source, LogRange { previous: true, ..range })?).await?,
    };
    Ok(String::from_utf8_lossy(&response.body).lines().map(printable).collect())
}

fn printable(line: &str) -> String {
    line.chars().filter(|char| *char == '\t' || !char.is_control()).collect()
}

fn pods() -> Resource {
    Resource::new("", "v1", "Pod", "pods")
}

/// The container names of a pod, init containers first, each in the order of the manifest.
pub fn containers(pod: &Object) -> Vec<String> {
    let mut names = container_names(pod, "initContainers");
    names.extend(container_names(pod, "containers"));
    names
}

fn container_names(pod: &Object, field: &str) -> Vec<String> {
    let list = pod.at(&["spec", field]).and_then(Node::as_list).unwrap_or_default();
    list.iter().filter_map(|container| container.get("name")?.as_str()).map(str::to_owned).collect()
}

/// The list parameters that select the pods of a hook.
fn pod_list_params(hook: &ObjectId) -> Option<ListParams> {
    match (hook.group.as_str(), hook.kind.as_str()) {
        ("batch", "Job") => Some(ListParams::labels(format!("job-name={}", hook.name))),
        ("", "Pod") => {
            Some(ListParams { fields: format!("metadata.name={}", hook.name), ..ListParams::default() })
        }
        _ => None,
    }
}

/// The pods of a hook by creation time; none for kinds without pods. Pods left over from an earlier job of the same
/// name are excluded.
///
/// # Errors
/// When the server rejects the request or does not answer.
pub async fn hook_pods(cluster: &Cluster, hook: &ObjectId) -> Result<Vec<Object>> {
    let Some(selection) = pod_list_params(hook) else { return Ok(Vec::new()) };
    let mut found = cluster.list(&pods(), &hook.namespace, &selection).await?;
    if hook.kind == "Job" {
        // Kubernetes 1.27 introduced the prefixed label. It still sets the old one, which Helm selects by.
        if found.is_empty() {
            let newer = ListParams::labels(format!("batch.kubernetes.io/job-name={}", hook.name));
            found = cluster.list(&pods(), &hook.namespace, &newer).await?;
        }
        if let Some(job) = cluster.get(hook).await? {
            found.retain(|pod| is_controlled_by(pod, &job));
        }
    }
    found.sort_by(|a, b| creation(a).cmp(&creation(b)));
    Ok(found)
}

fn creation(pod: &Object) -> (&str, &str) {
    (pod.text(&["metadata", "creationTimestamp"]), pod.name())
}

/// Sends the complete logs of all pods of a finished hook to `sink`, init containers included. Containers whose log
/// is not available are skipped, and their errors returned.
///
/// # Errors
/// When the pods cannot be found.
pub async fn hook_logs(
    cluster: &Cluster,
    hook: &ObjectId,
    sink: LogSink<'_>,
) -> Result<Vec<LogError>, LogError> {
    let mut failed = Vec::new();
    for pod in hook_pods(cluster, hook).await.map_err(LogError::Pods)? {
        for container in containers(&pod) {
            let source = LogSource::new(pod.namespace(), pod.name(), &container);
            failed.extend(copy(cluster, &source, sink).await.err());
        }
    }
    Ok(failed)
}

/// Sends the logs of a hook exactly as Helm does: all pods that match the label, by name, without init containers,
/// and stopping at the first error with Helm's message.
///
/// # Errors
/// When the pods cannot be found or a log cannot be read.
pub async fn hook_logs_as_helm(
    cluster: &Cluster,
    hook: &ObjectId,
    sink: LogSink<'_>,
) -> Result<(), LogError> {
    let Some(selection) = pod_list_params(hook) else { return Ok(()) };
    for pod in cluster.list(&pods(), &hook.namespace, &selection).await.map_err(LogError::Pods)? {
        for container in container_names(&pod, "containers") {
            copy(cluster, &LogSource::new(&hook.namespace, pod.name(), &container), sink).await?;
        }
    }
    Ok(())
}

async fn copy(cluster: &Cluster, source: &LogSource, sink: LogSink<'_>) -> Result<(), LogError> {
    let failed = |cause| LogError::Log { container: source.clone(), cause };
    let mut log = open(cluster, source, LogRange::default()).await.map_err(failed)?;
    while let Some(chunk) = log.chunk().await.map_err(failed)? {
        sink(source, &chunk);
    }
    Ok(())
}

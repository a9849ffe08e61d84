//! Logs of containers: whole, their last lines, and live while a hook runs.

mod live;

pub use live::HookLogs;

use bytes::Bytes;
use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use crate::address;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::read::ListParams;
use crate::request::{Accept, Lines, Request};
use crate::wait::is_controlled_by;

/// Whose log it is.
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
    /// Names a container of a pod.
    pub fn new(namespace: &str, pod: &str, container: &str) -> Self {
        LogSource { namespace: namespace.to_owned(), pod: pod.to_owned(), container: container.to_owned() }
    }
}

/// Which part of a log is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogRange {
    /// Whether to go on until the container ends.
    pub follow: bool,
    /// Only this many of the last lines.
    pub last_lines: Option<u32>,
    /// The log of the run before the present one.
    pub previous: bool,
}

/// Why the logs of a hook cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The pods cannot be found.
    #[error("failed to get pod list: {0}")]
    Pods(#[source] Error),
    /// The log of one container cannot be read.
    #[error("failed to stream pod logs for pod: {}, container: {}", .whose.pod, .whose.container)]
    Log {
        /// The container.
        whose: LogSource,
        /// What went wrong.
        #[source]
        cause: Error,
    },
}

/// Hears what containers write.
pub type LogSink<'s> = &'s mut (dyn FnMut(&LogSource, &[u8]) + Send);

fn log_request(source: &LogSource, range: LogRange) -> Result<Request> {
    let mut path = address::object(&pods(), &source.namespace, &source.pod)?;
    path.push_str("/log");
    address::parameter(&mut path, "container", &source.container);
    if range.follow {
        address::parameter(&mut path, "follow", "true");
    }
    if let Some(lines) = range.last_lines {
        address::parameter(&mut path, "tailLines", &lines.to_string());
    }
    if range.previous {
        address::parameter(&mut path, "previous", "true");
    }
    Ok(Request::read(path).accept(Accept::Any))
}

/// Opens a log. Read it by line with [`Lines::next`] or as it comes with [`Lines::chunk`].
///
/// # Errors
/// When the server refuses, for instance because the container has not started.
pub async fn open(cluster: &Cluster, source: &LogSource, range: LogRange) -> Result<Lines> {
    cluster.lines(&log_request(source, range)?).await
}

/// Reads a whole log.
///
/// # Errors
/// When the server refuses, for instance because the container has not started.
pub async fn whole(cluster: &Cluster, source: &LogSource) -> Result<Bytes> {
    let response = cluster.send(&log_request(source, LogRange::default())?).await?;
    Ok(response.body)
}

/// Reads the last lines of a container's present run, or of the one before when it has none. What would steer a
/// terminal is taken out.
///
/// # Errors
/// When the server refuses both.
pub async fn tail(cluster: &Cluster, source: &LogSource, lines: u32) -> Result<Vec<String>> {
    let range = LogRange { last_lines: Some(lines), ..LogRange::default() };
    let response = match cluster.send(&log_request(source, range)?).await {
        Ok(response) => response,
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

/// The containers of a pod: those that prepare it first, then the others, each in the order of the manifest.
pub fn containers(pod: &Object) -> Vec<String> {
    let mut names = container_names(pod, "initContainers");
    names.extend(container_names(pod, "containers"));
    names
}

fn container_names(pod: &Object, field: &str) -> Vec<String> {
    let list = pod.at(&["spec", field]).and_then(Node::as_list).unwrap_or_default();
    list.iter().filter_map(|container| container.get("name")?.as_str()).map(str::to_owned).collect()
}

/// How the pods of a hook are found among others.
fn pod_list_params(hook: &ObjectId) -> Option<ListParams> {
    match (hook.group.as_str(), hook.kind.as_str()) {
        ("batch", "Job") => Some(ListParams::labels(format!("job-name={}", hook.name))),
        ("", "Pod") => {
            Some(ListParams { fields: format!("metadata.name={}", hook.name), ..ListParams::default() })
        }
        _ => None,
    }
}

/// The pods of a hook in the order of their creation; none for kinds that have no pods. Pods that an earlier job of the
/// same name has left behind do not count.
///
/// # Errors
/// When the server refuses or does not answer.
pub async fn pods_of_hook(cluster: &Cluster, hook: &ObjectId) -> Result<Vec<Object>> {
    if cluster.is_noop() {
        return Ok(Vec::new());
    }
    let Some(selection) = pod_list_params(hook) else { return Ok(Vec::new()) };
    let mut found = cluster.list(&pods(), &hook.namespace, &selection).await?;
    if hook.kind == "Job" {
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

/// Passes on the whole logs of all pods of a hook that has ended, init containers included. A container whose log
/// cannot be had is left out; the errors come back.
///
/// # Errors
/// When the pods cannot be found.
pub async fn of_hook(
    cluster: &Cluster,
    hook: &ObjectId,
    sink: LogSink<'_>,
) -> Result<Vec<LogError>, LogError> {
    let mut failed = Vec::new();
    for pod in pods_of_hook(cluster, hook).await.map_err(LogError::Pods)? {
        for container in containers(&pod) {
            let source = LogSource::new(pod.namespace(), pod.name(), &container);
            failed.extend(copy(cluster, &source, sink).await.err());
        }
    }
    Ok(failed)
}

/// Passes on the logs of a hook exactly as Helm does: all pods that have the label, in the order of their names, no
/// init containers, and an end at the first failure with Helm's words.
///
/// # Errors
/// When the pods cannot be found or a log cannot be read.
pub async fn of_hook_as_helm(cluster: &Cluster, hook: &ObjectId, sink: LogSink<'_>) -> Result<(), LogError> {
    let Some(selection) = pod_list_params(hook) else { return Ok(()) };
    for pod in cluster.list(&pods(), &hook.namespace, &selection).await.map_err(LogError::Pods)? {
        for container in container_names(&pod, "containers") {
            copy(cluster, &LogSource::new(&hook.namespace, pod.name(), &container), sink).await?;
        }
    }
    Ok(())
}

async fn copy(cluster: &Cluster, source: &LogSource, sink: LogSink<'_>) -> Result<(), LogError> {
    let failed = |cause| LogError::Log { whose: source.clone(), cause };
    let mut log = open(cluster, source, LogRange::default()).await.map_err(failed)?;
    while let Some(chunk) = log.chunk().await.map_err(failed)? {
        sink(source, &chunk);
    }
    Ok(())
}

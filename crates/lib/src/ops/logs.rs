//! `logs`: the logs of the pods of a release.

use futures::{FutureExt as _, StreamExt as _, stream};
use pintle_cluster::Cluster;
use pintle_cluster::logs::{LogRange, LogSink, LogSource, containers, open};
use pintle_cluster::wait::newest_pods;
use pintle_objects::ObjectId;
use pintle_release::VersionRef;
use tokio::sync::mpsc::{Sender, channel};

use super::get::content;
use super::status::read_recorded;
use crate::{Error, Result, Session};

/// How many containers are followed at once. Each takes a connection.
const MAX_CONTAINERS: usize = 64;
/// How many chunks may wait to be written, before reading stops.
const MAX_WAITING_CHUNKS: usize = 64;

/// Which logs to read.
#[derive(Clone, Debug, Default)]
pub struct LogsRequest {
    /// The namespace of the release.
    pub namespace: String,
    /// The name of the release.
    pub name: String,
    /// The object whose pods are read, which may be a hook; `None` for all objects of the release, without its hooks.
    pub object: Option<ObjectId>,
    /// The container; `None` for all.
    pub container: Option<String>,
    /// Which part of each log is read. With `follow`, until the containers end or the session is cancelled.
    pub range: LogRange,
}

/// Reads the logs of a release's pods, containers in parallel, and passes each chunk to `sink`. Chunks are not aligned
/// to lines; [`LogWriters`](crate::LogWriters) gives each container a writer of its own.
///
/// Returns the containers whose log could not be read, each with the reason.
///
/// ```
/// use std::sync::Arc;
///
/// use pintle::LogWriters;
/// use pintle::ops::{CreateRequest, InstallRequest, LogsRequest, create, install, logs};
/// # use pintle::release::MemoryStore;
/// # use pintle::{Session, Silent, embedded};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let chart = create(&Session::offline(), &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
/// # let api = embedded::Embedded::default().open().await?;
/// # let session = Session::new(embedded::cluster(&api, "default"), Arc::new(MemoryStore::new()));
/// # let (name, namespace) = ("demo".to_owned(), "default".to_owned());
/// # let request = InstallRequest { chart: chart.into(), name, namespace, ..InstallRequest::default() };
/// # install(&session, &request, &mut Silent).await?;
/// let mut writers = LogWriters::new(|_namespace, _pod, _container| Box::new(std::io::stderr()));
/// let (namespace, name) = ("default".to_owned(), "demo".to_owned());
/// let request = LogsRequest { namespace, name, ..LogsRequest::default() };
/// let unread = logs(&session, &request, &mut |source, bytes| writers.write(source, bytes)).await?;
/// for (source, reason) in unread {
///     eprintln!("{}/{}: {reason}", source.pod, source.container);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When there is no such release, it has no such object, or it has too many containers to follow.
pub async fn logs(
    session: &Session,
    request: &LogsRequest,
    sink: LogSink<'_>,
) -> Result<Vec<(LogSource, String)>> {
    let sources = sources(session, request).await?;
    if request.range.follow && sources.len() > MAX_CONTAINERS {
        let count = sources.len();
        return Err(Error::Input(format!(
            "{count} containers are too many to follow; at most {MAX_CONTAINERS} can be, so choose an object or a container"
        )));
    }
    let (sender, mut chunks) = channel(MAX_WAITING_CHUNKS);
    let reads: Vec<_> = sources
        .into_iter()
        .map(|source| read(&session.cluster, source, request.range, sender.clone()).boxed())
        .collect();
    drop(sender);
    let mut reads = stream::iter(reads).buffer_unordered(MAX_CONTAINERS);
    let mut unread = Vec::new();
    loop {
        tokio::select! {
            received = chunks.recv() => match received {
                Some((source, bytes)) => sink(&source, &bytes),
                // Every read has ended and dropped its sender.
                None => break,
            },
            Some(failed) = reads.next() => unread.extend(failed),
            () = session.cancel.cancelled() => break,
        }
    }
    unread.sort();
    Ok(unread)
}

/// The containers whose logs are read.
async fn sources(session: &Session, request: &LogsRequest) -> Result<Vec<LogSource>> {
    let version = content(session, &request.namespace, &request.name, &VersionRef::Current).await?;
    let mut manifest = version.manifest.clone();
    for hook in version.hooks.iter().filter(|_| request.object.is_some()) {
        manifest.push_str("\n---\n");
        manifest.push_str(&hook.manifest);
    }
    let recorded = read_recorded(&session.cluster, &manifest, &request.namespace).await?;
    let mut sources = Vec::new();
    let mut is_found = false;
    for (object, _) in recorded {
        let id = object.id();
        if request
            .object
            .as_ref()
            .is_some_and(|wanted| wanted.clone().unversioned() != id.clone().unversioned())
        {
            continue;
        }
        is_found = true;
        let Some(live) = session.cluster.get(&id).await? else { continue };
        for pod in newest_pods(&session.cluster, &live).await? {
            let names = containers(&pod).into_iter();
            let names = names.filter(|name| request.container.as_ref().is_none_or(|wanted| wanted == name));
            sources.extend(names.map(|name| LogSource::new(pod.namespace(), pod.name(), &name)));
        }
    }
    match &request.object {
        Some(wanted) if !is_found => {
            Err(Error::Input(format!("release {} has no object {wanted}", request.name)))
        }
        _ => Ok(sources),
    }
}

async fn read(
    cluster: &Cluster,
    source: LogSource,
    range: LogRange,
    chunks: Sender<(LogSource, Vec<u8>)>,
) -> Option<(LogSource, String)> {
    let mut log = match open(cluster, &source, range).await {
        Ok(log) => log,
        Err(error) => return Some((source, error.to_string())),
    };
    loop {
        match log.chunk().await {
            Ok(Some(bytes)) => {
                // The receiver is dropped only when the operation is.
                let _ = chunks.send((source.clone(), bytes.to_vec())).await;
            }
            Ok(None) => return None,
            Err(error) => return Some((source, error.to_string())),
        }
    }
}

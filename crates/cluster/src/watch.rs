//! Watch requests.

use std::time::Duration;

use futures::{Stream, stream};
use pintle_objects::Object;
use pintle_tree::Node;

use crate::api_path;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{ApiStatus, Error, Result};
use crate::read::ListParams;
use crate::request::{Accept, Lines, Request};

/// How long the server keeps a watch open (`timeoutSeconds`); the caller then opens it again.
const WATCH_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a watch may be idle. The server closes it before that, so silence beyond it means a dead connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(330);

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The object is new, or existed when the watch began.
    Added(Object),
    /// The object changed.
    Modified(Object),
    /// The object was deleted; this is its last state.
    Deleted(Object),
    /// No change up to this `resourceVersion`.
    Bookmark(String),
}

/// An open watch.
pub struct WatchStream {
    lines: Lines,
}

impl WatchStream {
    /// Returns the next event; `None` when the server closed the watch, which is normal.
    ///
    /// # Errors
    /// When the connection breaks, or the initial `resourceVersion` has expired ([`Error::is_expired`]).
    pub async fn next(&mut self) -> Result<Option<WatchEvent>> {
        loop {
            let line = match tokio::time::timeout(IDLE_TIMEOUT, self.lines.next()).await {
                Ok(line) => line?,
                Err(_) => return Err(self.lines.transport_error("i/o timeout")),
            };
            let Some(line) = line else { return Ok(None) };
            if line.is_empty() {
                continue;
            }
            let mut event =
                Object::read_json(&line).map_err(|error| Error::invalid_response("watch", error))?;
            let object = match event.body_mut().remove("object") {
                Some(Node::Map(body)) => Object::new(body),
                _ => continue,
            };
            return match event.text(&["type"]) {
                "ADDED" => Ok(Some(WatchEvent::Added(object))),
                "MODIFIED" => Ok(Some(WatchEvent::Modified(object))),
                "DELETED" => Ok(Some(WatchEvent::Deleted(object))),
                "BOOKMARK" => Ok(Some(WatchEvent::Bookmark(object.resource_version().to_owned()))),
                "ERROR" => Err(Error::Api(Box::new(ApiStatus::from_object(500, &object)))),
                _ => continue,
            };
        }
    }

    /// Converts to a stream of events, which ends with the first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<WatchEvent>> + Send {
        stream::unfold(Some(self), |stream| async move {
            let mut stream = stream?;
            match stream.next().await {
                Ok(Some(event)) => Some((Ok(event), Some(stream))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
    }
}

impl Cluster {
    /// Watches matching objects from a `resourceVersion` on. An empty one starts with an event for each existing
    /// object.
    ///
    /// # Errors
    /// When the watch cannot be opened.
    pub async fn watch(
        &self,
        resource: &Resource,
        namespace: &str,
        selection: &ListParams,
        resource_version: &str,
    ) -> Result<WatchStream> {
        let mut path = api_path::collection(resource, namespace)?;
        path.push_str("?watch=true&allowWatchBookmarks=true");
        api_path::parameter(&mut path, "timeoutSeconds", &WATCH_TIMEOUT.as_secs().to_string());
        selection.append_query(&mut path);
        if !resource_version.is_empty() {
            api_path::parameter(&mut path, "resourceVersion", resource_version);
        }
        let accept = if selection.metadata_only { Accept::WatchedMetadata } else { Accept::Json };
        Ok(WatchStream { lines: self.lines(&Request::get(path).accept(accept)).await? })
    }
}

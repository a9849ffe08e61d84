//! What scripts read in the cluster.

use std::time::Duration;

use pintle_cluster::{Cluster, Error};
use pintle_lua::ClusterReader;
use pintle_tree::{Map, Node};
use tokio::runtime::Handle;

use crate::Cancel;
use crate::lifecycle::secrets::{self, SecretAccess};

/// Limit for each request of a script to the cluster.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Read access to a cluster for scripts, which run on threads where blocking is allowed.
pub struct ScriptCluster {
    cluster: Cluster,
    handle: Handle,
    /// The namespace of objects for which a script names none.
    namespace: String,
    cancel: Cancel,
    guard: Option<SecretAccess>,
}

impl ScriptCluster {
    /// A cluster for scripts that may read whatever the user may. `handle` is that of a runtime with threads of its own.
    pub fn new(cluster: Cluster, handle: Handle, namespace: String) -> ScriptCluster {
        ScriptCluster { cluster, handle, namespace, cancel: Cancel::default(), guard: None }
    }

    /// A cluster for the scripts of a chart, until the operation is cancelled.
    pub(super) fn for_chart(
        cluster: Cluster,
        handle: Handle,
        cancel: Cancel,
        guard: SecretAccess,
    ) -> ScriptCluster {
        let namespace = guard.namespace.clone();
        ScriptCluster { cluster, handle, namespace, cancel, guard: Some(guard) }
    }

    /// Waits for an answer until the limit or until the operation is cancelled.
    fn wait<T>(&self, answer: impl Future<Output = T>) -> Result<T, String> {
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
    ) -> Result<Map<Node>, String> {
        self.wait(self.cluster.lookup(api_version, kind, namespace, name))?.map_err(|error| error.to_string())
    }
}

impl ClusterReader for ScriptCluster {
    fn has_kind(&self, api_version: &str, kind: &str) -> Result<bool, String> {
        match self.wait(self.cluster.resource(api_version, kind))? {
            Ok(_) => Ok(true),
            Err(Error::NoSuchKind { .. }) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn read(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Node>, String> {
        if name.is_empty() {
            return Err("the name of the object is missing".to_owned());
        }
        let namespace = if namespace.is_empty() { &self.namespace } else { namespace };
        let found = self.lookup(api_version, kind, namespace, name)?;
        if found.is_empty() {
            return Ok(None);
        }
        if let (Some(guard), Some(kind)) = (&self.guard, secrets::protected_kind(api_version, kind)) {
            guard.check_for_script(kind, &found)?;
        }
        Ok(Some(Node::Map(found)))
    }

    fn storage_classes(&self) -> Result<Vec<Node>, String> {
        match self.lookup("storage.k8s.io/v1", "StorageClass", "", "")?.remove("items") {
            Some(Node::List(classes)) => Ok(classes),
            _ => Ok(Vec::new()),
        }
    }
}

//! The cluster for plugins in Lua; it connects on the first request of a plugin.

use std::sync::OnceLock;

use pintle::ScriptCluster;
use pintle::cluster::{Cluster, Settings};
use pintle::lua::ClusterReader;
use pintle_tree::Node;
use tokio::runtime::Runtime;

use crate::connect;
use crate::env::Environment;
use crate::flag::parsed::Parsed;
use crate::kubeconfig;

/// The cluster of the flags and the environment.
pub(crate) struct PluginCluster {
    settings: Settings,
    /// With the runtime that sends its requests.
    connected: OnceLock<Result<(Runtime, ScriptCluster), String>>,
}

impl PluginCluster {
    /// The cluster of some flags. Nothing is read or sent yet.
    pub(crate) fn new(flags: &Parsed, environment: &Environment) -> PluginCluster {
        let namespace = kubeconfig::namespace(flags, environment);
        PluginCluster {
            settings: connect::settings(flags, environment, namespace),
            connected: OnceLock::new(),
        }
    }

    fn connected(&self) -> Result<&ScriptCluster, String> {
        let connected = self.connected.get_or_init(|| {
            let runtime = connect::runtime().map_err(|failure| failure.text.clone())?;
            let cluster =
                runtime.block_on(Cluster::connect(&self.settings)).map_err(|error| error.to_string())?;
            let namespace = self.settings.namespace.clone();
            let cluster = ScriptCluster::new(cluster, runtime.handle().clone(), namespace);
            Ok((runtime, cluster))
        });
        connected.as_ref().map(|(_, cluster)| cluster).map_err(String::clone)
    }
}

impl ClusterReader for PluginCluster {
    fn has_kind(&self, api_version: &str, kind: &str) -> Result<bool, String> {
        self.connected()?.has_kind(api_version, kind)
    }

    fn read(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Node>, String> {
        self.connected()?.read(api_version, kind, namespace, name)
    }

    fn storage_classes(&self) -> Result<Vec<Node>, String> {
        self.connected()?.storage_classes()
    }
}

//! The merge keys of built-in kinds, from the cluster's own OpenAPI documents; only client-side apply needs them.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_objects::Object;
use pintle_plan::patch::MergeKeys;
use pintle_tree::Node;
use tokio::sync::Mutex;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::request::Request;

/// The documents that were read so far.
#[derive(Default)]
pub(crate) struct Schemas {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Where the document of each group and version is; the address has the document's hash in it.
    addresses: Option<BTreeMap<String, String>>,
    keys: BTreeMap<String, Arc<MergeKeys>>,
}

impl Cluster {
    /// The merge keys of all kinds of a group and version. Each document is fetched once.
    ///
    /// # Errors
    /// When the server has no such document or does not answer.
    pub async fn merge_keys(&self, api_version: &str) -> Result<Arc<MergeKeys>> {
        let mut known = self.schemas().known.lock().await;
        if let Some(keys) = known.keys.get(api_version) {
            return Ok(keys.clone());
        }
        if known.addresses.is_none() {
            known.addresses = Some(self.document_addresses().await?);
        }
        let path = match api_version.contains('/') {
            true => format!("apis/{api_version}"),
            false => format!("api/{api_version}"),
        };
        let address = known.addresses.as_ref().and_then(|addresses| addresses.get(&path));
        // A server without index may still have the document.
        let address = address.cloned().unwrap_or_else(|| format!("/openapi/v3/{path}"));
        let response = self.send(&Request::read(address)).await?;
        let keys = MergeKeys::read(&response.body).map_err(|error| Error::Answer {
            request: format!("/openapi/v3/{path}"),
            source: Box::new(error),
        })?;
        let keys = Arc::new(keys);
        known.keys.insert(api_version.to_owned(), keys.clone());
        Ok(keys)
    }

    async fn document_addresses(&self) -> Result<BTreeMap<String, String>> {
        let response = self.send(&Request::read("/openapi/v3")).await?;
        let index = Object::read_json(&response.body).map_err(|error| Error::answer("/openapi/v3", error))?;
        let Some(paths) = index.at(&["paths"]).and_then(Node::as_map) else { return Ok(BTreeMap::new()) };
        let address = |node: &Node| node.get("serverRelativeURL").and_then(Node::as_str).map(str::to_owned);
        Ok(paths
            .iter()
            .filter_map(|(path, node)| Some((path.to_str_lossy().into_owned(), address(node)?)))
            .filter(|(_, address)| address.starts_with('/'))
            .collect())
    }
}

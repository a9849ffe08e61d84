//! The patch merge keys of built-in kinds, from the cluster's OpenAPI v3 documents. Only client-side apply needs
//! them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_objects::Object;
use pintle_plan::patch::MergeKeys;
use pintle_tree::Node;
use tokio::sync::OnceCell;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::request::Request;

/// The documents that were read so far.
#[derive(Default)]
pub(crate) struct Schemas {
    /// The URL of the document of each group version; it contains the document's hash.
    addresses: OnceCell<BTreeMap<String, String>>,
    keys: Mutex<BTreeMap<String, Arc<OnceCell<Arc<MergeKeys>>>>>,
}

impl Cluster {
    /// Returns the merge keys of all kinds of a group version. Each document is fetched once, even with concurrent
    /// callers.
    ///
    /// # Errors
    /// When the server has no such document or does not answer.
    pub async fn merge_keys(&self, api_version: &str) -> Result<Arc<MergeKeys>> {
        let cell = {
            let mut keys = self.schemas().keys.lock().unwrap_or_else(PoisonError::into_inner);
            keys.entry(api_version.to_owned()).or_default().clone()
        };
        cell.get_or_try_init(|| self.read_merge_keys(api_version)).await.cloned()
    }

    async fn read_merge_keys(&self, api_version: &str) -> Result<Arc<MergeKeys>> {
        let addresses = self.schemas().addresses.get_or_try_init(|| self.document_addresses()).await?;
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let path = format!("{root}/{api_version}");
        // A server without an index may still serve the document.
        let address = addresses.get(&path).cloned().unwrap_or_else(|| format!("/openapi/v3/{path}"));
        let response = self.send(&Request::get(address)).await?;
        let keys = MergeKeys::parse(&response.body).map_err(|error| Error::InvalidResponse {
            request: format!("/openapi/v3/{path}"),
            source: Box::new(error),
        })?;
        Ok(Arc::new(keys))
    }

    async fn document_addresses(&self) -> Result<BTreeMap<String, String>> {
        let response = self.send(&Request::get("/openapi/v3")).await?;
        let index = Object::read_json(&response.body)
            .map_err(|error| Error::invalid_response("/openapi/v3", error))?;
        let Some(paths) = index.at(&["paths"]).and_then(Node::as_map) else { return Ok(BTreeMap::new()) };
        let address = |node: &Node| node.get("serverRelativeURL").and_then(Node::as_str).map(str::to_owned);
        Ok(paths
            .iter()
            .filter_map(|(path, node)| Some((path.to_str_lossy().into_owned(), address(node)?)))
            .filter(|(_, address)| address.starts_with('/'))
            .collect())
    }
}

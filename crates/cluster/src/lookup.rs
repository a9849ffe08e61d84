//! The template function `lookup`.

use pintle_objects::Object;
use pintle_tree::{Map, Node};

use crate::api_path;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::request::Request;

impl Cluster {
    /// Returns one object, or a list when `name` is empty. What does not exist is an empty map.
    ///
    /// # Errors
    /// When the server does not know the API version, refuses or does not answer.
    pub async fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Map<Node>> {
        if self.discards_writes() {
            return Box::pin(self.upstream().lookup(api_version, kind, namespace, name)).await;
        }
        let mut path = match self.resource(api_version, kind).await {
            Ok(resource) => {
                api_path::collection(&resource, if resource.namespaced { namespace } else { "" })?
            }
            Err(Error::NoSuchKind { .. }) if api_version.is_empty() => {
                return Err(unknown_version(api_version, kind, "groupVersion shouldn't be empty"));
            }
            // For a kind that is missing in a served group version Helm requests the API root, and returns that response
            // to the chart.
            Err(Error::NoSuchKind { .. }) if self.serves(api_version).await? => "/api".to_owned(),
            Err(Error::NoSuchKind { .. }) => {
                let why = "the server could not find the requested resource";
                return Err(unknown_version(api_version, kind, why));
            }
            Err(error) => return Err(error),
        };
        if !name.is_empty() {
            api_path::check("resource name", name)?;
            path.push('/');
            api_path::escape(name, &mut path);
        }
        let response = match self.send(&Request::get(path)).await {
            Ok(response) => response,
            Err(error) if error.is_not_found() => return Ok(Map::new()),
            Err(error) => return Err(error),
        };
        let found =
            Object::read_json(&response.body).map_err(|error| Error::invalid_response("lookup", error))?;
        let found = found.into_body();
        Ok(if name.is_empty() { as_list(found, api_version, kind) } else { found })
    }
}

/// Ensures that a list has `items`, and sets the kind of its members, which the server leaves out.
fn as_list(mut found: Map<Node>, api_version: &str, kind: &str) -> Map<Node> {
    let items = found.entry_or_insert_with(&"items".into(), || Node::List(Vec::new()));
    match items {
        Node::List(items) => {
            for body in items.iter_mut().filter_map(Node::as_map_mut) {
                body.entry_or_insert_with(&"apiVersion".into(), || api_version.into());
                body.entry_or_insert_with(&"kind".into(), || kind.into());
            }
        }
        other => *other = Node::List(Vec::new()),
    }
    found
}

fn unknown_version(api_version: &str, kind: &str, reason: &'static str) -> Error {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let [group, version, kind] = [group, version, kind].map(str::to_owned);
    Error::UnservedVersion { group, version, kind, reason }
}

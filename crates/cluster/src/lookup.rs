//! What the template function `lookup` sees of the cluster.

use pintle_objects::Object;
use pintle_tree::{Map, Node};

use crate::address;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::request::Request;

impl Cluster {
    /// Looks up one object, or a list when `name` is empty. What is not there is an empty map.
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
        let resource = match self.resource(api_version, kind).await {
            Ok(resource) => resource,
            // A kind that is missing in a version that is served is not there; a version that is not served is wrong.
            Err(Error::NoSuchKind { .. }) if self.serves(api_version).await? => return Ok(Map::new()),
            Err(Error::NoSuchKind { .. }) => return Err(unknown_version(api_version, kind)),
            Err(error) => return Err(error),
        };
        let namespace = if resource.namespaced { namespace } else { "" };
        let mut path = address::collection(&resource, namespace)?;
        if !name.is_empty() {
            address::check("resource name", name)?;
            path.push('/');
            address::escape(name, &mut path);
        }
        let response = match self.send(&Request::read(path)).await {
            Ok(response) => response,
            Err(error) if error.is_not_found() => return Ok(Map::new()),
            Err(error) => return Err(error),
        };
        let found = Object::read_json(&response.body).map_err(|error| Error::answer("lookup", error))?;
        Ok(with_kinds(found.into_body(), api_version, kind))
    }
}

/// Gives the members of a list the kind that the server leaves out.
fn with_kinds(mut found: Map<Node>, api_version: &str, kind: &str) -> Map<Node> {
    if let Some(Node::List(items)) = found.get_mut("items") {
        for item in items {
            if let Node::Map(body) = item {
                body.entry_or_insert_with(&"apiVersion".into(), || api_version.into());
                body.entry_or_insert_with(&"kind".into(), || kind.into());
            }
        }
    }
    found
}

fn unknown_version(api_version: &str, kind: &str) -> Error {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let place = format!("{group}/{version}, Kind={kind}");
    let why = "the server could not find the requested resource";
    Error::Name(format!("unable to get apiresource from unstructured: {place}: {why}"))
}

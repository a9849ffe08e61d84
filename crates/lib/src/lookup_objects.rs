//! Objects that `lookup` finds without working on a cluster.

use std::sync::Arc;

#[cfg(feature = "cluster")]
use base64::Engine as _;
#[cfg(feature = "cluster")]
use base64::engine::general_purpose::STANDARD;
#[cfg(feature = "cluster")]
use pintle_cluster::Cluster;
use pintle_objects::Object;
use pintle_render::{Lookup, Release};
use pintle_tree::{Map, Node};
#[cfg(feature = "cluster")]
use tokio::runtime::Handle;

use crate::Result;
use crate::lifecycle::Lifecycle;
#[cfg(feature = "cluster")]
use crate::live::GuardedLookup;

/// Objects from manifests, which templates see through `lookup` as if they were in the cluster, and clusters that are asked
/// for what is not among them.
#[derive(Clone, Default)]
pub struct LookupObjects {
    objects: Arc<Vec<Object>>,
    #[cfg(feature = "cluster")]
    clusters: Vec<(Cluster, Handle)>,
}

impl std::fmt::Debug for LookupObjects {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LookupObjects").field("objects", &self.objects.len()).finish_non_exhaustive()
    }
}

impl LookupObjects {
    /// Reads manifests, one after the other.
    ///
    /// # Errors
    /// The first document that is not an object.
    pub fn read<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> Result<Self> {
        let mut objects = Vec::new();
        for text in texts {
            objects.extend(Object::read_manifest(text, "")?);
        }
        Ok(LookupObjects {
            objects: Arc::new(objects),
            #[cfg(feature = "cluster")]
            clusters: Vec::new(),
        })
    }

    /// The same objects, and those of a cluster. It is read only, with the rights of its connection, on the runtime of
    /// `handle`; rendering must not happen on a thread of that runtime.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn with_cluster(mut self, cluster: Cluster, handle: Handle) -> Self {
        self.clusters.push((cluster, handle));
        self
    }

    /// The same, and the objects that a chart has rendered, as if it were installed.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn with_rendered(mut self, text: &[u8]) -> Self {
        Arc::make_mut(&mut self.objects).extend(Object::read_readable(text).into_iter().map(as_stored));
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        #[cfg(feature = "cluster")]
        if !self.clusters.is_empty() {
            return false;
        }
        self.objects.is_empty()
    }

    /// The port for templates of a release; `None` if nothing can be found. Scripts of charts see no more of a cluster than
    /// in an installation.
    pub(crate) fn port(
        &self,
        release: &Release,
        events: &Lifecycle,
    ) -> Option<Arc<dyn Lookup + Send + Sync>> {
        if self.is_empty() {
            return None;
        }
        #[cfg(feature = "cluster")]
        let clusters = self.clusters.iter().map(|(cluster, handle)| {
            GuardedLookup::new(cluster.clone(), handle.clone(), release, events.may_use_network())
        });
        #[cfg(not(feature = "cluster"))]
        let _ = (release, events);
        Some(Arc::new(Port {
            objects: Arc::clone(&self.objects),
            #[cfg(feature = "cluster")]
            clusters: clusters.collect(),
        }))
    }
}

/// What a server makes of an object that is created: the texts of a Secret are encoded.
#[cfg(feature = "cluster")]
fn as_stored(mut object: Object) -> Object {
    if object.kind() != "Secret" {
        return object;
    }
    let body = object.body_mut();
    let Some(Node::Map(texts)) = body.remove("stringData") else { return object };
    let data = body.entry_or_insert_with(&"data".into(), Node::empty_map);
    if let Some(data) = data.as_map_mut() {
        for (key, value) in texts.iter() {
            let text = value.as_str().unwrap_or_default();
            data.insert(key.clone(), Node::from(STANDARD.encode(text)));
        }
    }
    object
}

/// Objects first, then clusters.
struct Port {
    objects: Arc<Vec<Object>>,
    #[cfg(feature = "cluster")]
    clusters: Vec<GuardedLookup>,
}

impl Lookup for Port {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Map<Node>, String> {
        let is_meant = |object: &&Object| {
            // Without a namespace an object is one of the cluster, or of whichever namespace is asked for.
            let is_there =
                namespace.is_empty() || matches!(object.namespace(), "") || object.namespace() == namespace;
            object.api_version() == api_version && object.kind() == kind && is_there
        };
        let mut found = self.objects.iter().filter(is_meant);
        if !name.is_empty() {
            if let Some(object) = found.find(|object| object.name() == name) {
                return Ok(object.body().clone());
            }
            return self.in_clusters(api_version, kind, namespace, name);
        }
        let mut items: Vec<Node> = found.map(|object| Node::Map(object.body().clone())).collect();
        if let Some(Node::List(more)) = self.in_clusters(api_version, kind, namespace, "")?.remove("items") {
            items.extend(more);
        }
        Ok([
            ("apiVersion".into(), Node::from(api_version)),
            ("kind".into(), Node::from(format!("{kind}List"))),
            ("items".into(), Node::List(items)),
        ]
        .into_iter()
        .collect())
    }
}

impl Port {
    #[cfg(feature = "cluster")]
    fn in_clusters(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Map<Node>, String> {
        for cluster in &self.clusters {
            let found = cluster.lookup(api_version, kind, namespace, name)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Map::new())
    }

    #[cfg(not(feature = "cluster"))]
    fn in_clusters(
        &self,
        _api_version: &str,
        _kind: &str,
        _namespace: &str,
        _name: &str,
    ) -> Result<Map<Node>, String> {
        Ok(Map::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_by_kind_namespace_and_name() {
        let text = b"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: shop}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n";
        let objects = LookupObjects::read([text.as_slice()]).expect("good objects");
        let release = Release { name: "a".into(), namespace: "b".into(), revision: 1, is_upgrade: false };
        let port = objects.port(&release, &Lifecycle::default()).expect("objects");
        let find =
            |namespace: &str, name: &str| port.lookup("v1", "Secret", namespace, name).expect("no error");
        assert!(
            !find("shop", "a").is_empty() && find("other", "a").is_empty() && !find("other", "b").is_empty()
        );
        let count = |namespace: &str| match find(namespace, "").get("items") {
            Some(Node::List(items)) => items.len(),
            _ => 0,
        };
        assert_eq!((count("shop"), count("other"), count("")), (2, 1, 2));
        assert!(port.lookup("v1", "ConfigMap", "", "a").expect("no error").is_empty());
        assert!(LookupObjects::read([b"a: [".as_slice()]).is_err());
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn what_a_chart_rendered_is_found_as_a_server_stores_it() {
        let text = b"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {key: text}\n";
        let objects = LookupObjects::default().with_rendered(text);
        let release = Release { name: "a".into(), namespace: "b".into(), revision: 1, is_upgrade: false };
        let port = objects.port(&release, &Lifecycle::default()).expect("objects");
        let secret = port.lookup("v1", "Secret", "b", "a").expect("no error");
        assert_eq!(
            secret.get("data").and_then(|data| data.get("key")).and_then(Node::as_str),
            Some("dGV4dA==")
        );
        assert!(secret.get("stringData").is_none());
    }
}

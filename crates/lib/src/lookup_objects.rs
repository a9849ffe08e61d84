//! Objects that `lookup` finds without a cluster.

use std::sync::Arc;

use pintle_objects::Object;
use pintle_render::Lookup;
use pintle_tree::{Map, Node};

use crate::Result;

/// Objects from manifests, which templates see through `lookup` as if they were in the cluster.
#[derive(Clone, Debug, Default)]
pub struct LookupObjects(Arc<Vec<Object>>);

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
        Ok(LookupObjects(Arc::new(objects)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Lookup for LookupObjects {
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
        let mut found = self.0.iter().filter(is_meant);
        if !name.is_empty() {
            let object = found.find(|object| object.name() == name);
            return Ok(object.map(|object| object.body().clone()).unwrap_or_default());
        }
        let items: Vec<Node> = found.map(|object| Node::Map(object.body().clone())).collect();
        Ok([
            ("apiVersion".into(), Node::from(api_version)),
            ("kind".into(), Node::from(format!("{kind}List"))),
            ("items".into(), Node::List(items)),
        ]
        .into_iter()
        .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_by_kind_namespace_and_name() {
        let text = b"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: shop}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n";
        let objects = LookupObjects::read([text.as_slice()]).expect("good objects");
        let find =
            |namespace: &str, name: &str| objects.lookup("v1", "Secret", namespace, name).expect("no error");
        assert!(
            !find("shop", "a").is_empty() && find("other", "a").is_empty() && !find("other", "b").is_empty()
        );
        let count = |namespace: &str| match find(namespace, "").get("items") {
            Some(Node::List(items)) => items.len(),
            _ => 0,
        };
        assert_eq!((count("shop"), count("other"), count("")), (2, 1, 2));
        assert!(objects.lookup("v1", "ConfigMap", "", "a").expect("no error").is_empty());
        assert!(LookupObjects::read([b"a: [".as_slice()]).is_err());
    }
}

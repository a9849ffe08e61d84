//! The built-in kinds, from the tables of the embedded cluster.

use pintle_check::{Catalog, Gvk};
use pintle_embedded::schema::{ApiCatalog, Resource};
use pintle_tree::{Node, Str};

/// The kinds of one Kubernetes version.
pub(super) struct Kinds(pub(super) &'static ApiCatalog);

impl Catalog for Kinds {
    fn version(&self) -> String {
        self.0.version().to_string()
    }

    fn kinds(&self) -> Vec<Gvk> {
        let defined = self.0.resources().iter().filter(|resource| !resource.definition.is_empty());
        let text = |text: &Str| text.to_str_lossy().into_owned();
        let gvk = |resource: &Resource| Gvk {
            group: text(&resource.group),
            version: text(&resource.version),
            kind: text(&resource.kind),
        };
        defined.map(gvk).collect()
    }

    fn definition_of(&self, kind: &Gvk) -> Option<String> {
        let resource = self.0.kind(&kind.group, &kind.version, &kind.kind)?;
        (!resource.definition.is_empty()).then(|| resource.definition.to_string())
    }

    fn definition(&self, name: &str) -> Option<Node> {
        self.0.definitions().source(&Str::from(name))
    }

    fn refusals(&self, object: &Node) -> Vec<(String, String)> {
        let causes = pintle_embedded::validate_new_object(self.0, object).into_iter();
        causes.map(|cause| (cause.field, cause.message)).collect()
    }

    fn serves_group(&self, group: &str) -> bool {
        self.0.groups().iter().any(|known| known.name == *group)
    }
}

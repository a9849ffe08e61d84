//! Nodes of YAML documents in the order in which they are written, with the types of go-yaml 3.

use pintle_yaml::commented::{Document, Kind};

/// A node of a document.
#[derive(Clone, Copy)]
pub(super) struct NodeRef<'d> {
    document: &'d Document,
    number: usize,
}

impl<'d> NodeRef<'d> {
    pub(super) fn root(document: &'d Document) -> Self {
        NodeRef { document, number: document.root() }.followed()
    }

    /// The node itself, or the one that an alias stands for.
    fn followed(self) -> Self {
        match self.document.node(self.number).kind {
            Kind::Alias(number) => NodeRef { number, ..self },
            _ => self,
        }
    }

    fn node(self) -> &'d pintle_yaml::commented::Node {
        self.document.node(self.number)
    }

    pub(super) fn kind(self) -> Kind {
        self.node().kind
    }

    pub(super) fn tag(self) -> &'d str {
        &self.node().tag
    }

    pub(super) fn value(self) -> &'d str {
        &self.node().value
    }

    pub(super) fn head_comment(self) -> &'d str {
        &self.node().head_comment
    }

    pub(super) fn line_comment(self) -> &'d str {
        &self.node().line_comment
    }

    pub(super) fn is_nil(self) -> bool {
        self.kind() == Kind::Scalar && self.tag() == "!!null"
    }

    /// The items of a list; of a map, keys and values in turn.
    pub(super) fn children(self) -> impl ExactSizeIterator<Item = NodeRef<'d>> {
        self.node().children.iter().map(move |number| NodeRef { number: *number, ..self }.followed())
    }

    /// The entries of a map.
    pub(super) fn entries(self) -> Vec<(NodeRef<'d>, NodeRef<'d>)> {
        if self.kind() != Kind::Mapping {
            return Vec::new();
        }
        let children: Vec<NodeRef<'d>> = self.children().collect();
        children.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
    }

    pub(super) fn get(self, key: &str) -> Option<NodeRef<'d>> {
        self.entries().into_iter().find(|(found, _)| found.value() == key).map(|(_, value)| value)
    }

    /// `apiVersion/kind/namespace/name`, if this is a Kubernetes object.
    pub(super) fn object_name(self) -> Option<String> {
        let text = |node: NodeRef<'d>| node.value().to_owned();
        let metadata = self.get("metadata")?;
        let mut parts = vec![text(self.get("apiVersion")?), text(self.get("kind")?)];
        parts.extend(metadata.get("namespace").map(text));
        parts.push(text(metadata.get("name")?));
        Some(parts.join("/"))
    }

    /// What entries of lists are matched by: equal values, whatever the type of scalars inside of them.
    pub(super) fn is_same(self, other: NodeRef<'_>) -> bool {
        match (self.kind(), other.kind()) {
            (Kind::Scalar, Kind::Scalar) => self.tag() == other.tag() && self.value() == other.value(),
            _ => self.has_same_content(other),
        }
    }

    fn has_same_content(self, other: NodeRef<'_>) -> bool {
        match (self.kind(), other.kind()) {
            (Kind::Scalar, Kind::Scalar) => self.value() == other.value(),
            (Kind::Sequence, Kind::Sequence) => {
                self.children().len() == other.children().len()
                    && self
                        .children()
                        .zip(other.children())
                        .all(|(one, other)| pintle_tree::with_stack(|| one.has_same_content(other)))
            }
            (Kind::Mapping, Kind::Mapping) => {
                let (one, two) = (self.entries(), other.entries());
                one.len() == two.len()
                    && one.iter().all(|(key, value)| {
                        let counterpart = two.iter().find(|(found, _)| found.value() == key.value());
                        counterpart.is_some_and(|(_, found)| {
                            pintle_tree::with_stack(|| value.has_same_content(*found))
                        })
                    })
            }
            _ => false,
        }
    }

    /// The name of the type in messages.
    pub(super) fn type_name(self) -> &'d str {
        match (self.kind(), self.tag()) {
            (Kind::Mapping, _) => "map",
            (Kind::Sequence, _) => "list",
            (_, "!!str") => "string",
            (_, "!!null") => "<nil>",
            (_, tag) => tag.trim_start_matches('!'),
        }
    }
}

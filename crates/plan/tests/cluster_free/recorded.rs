//! The recorded cases.

use pintle_objects::Object;
use pintle_tree::{Map, Node, json};

/// One recorded case.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) how: String,
    pub(crate) original: Object,
    pub(crate) modified: Object,
    pub(crate) current: Object,
    pub(crate) patch: Node,
    pub(crate) applied: Option<Node>,
    pub(crate) error: Option<String>,
}

/// Reads a file of recorded cases.
pub(crate) fn cases(file: &[u8]) -> Vec<Case> {
    let Ok(Node::List(list)) = json::read_exact(file) else { panic!("the cases are no list") };
    let read = |node: &Node| {
        let word = |key| node.get(key).and_then(Node::as_str).map(str::to_owned);
        let object = |key| Object::new(node.get(key).and_then(Node::as_map).cloned().unwrap_or_default());
        Case {
            name: word("name").expect("a case has a name"),
            how: word("how").unwrap_or_default(),
            original: object("original"),
            modified: object("modified"),
            current: object("current"),
            patch: node.get("patch").cloned().unwrap_or_default(),
            applied: node.get("applied").cloned(),
            error: word("error"),
        }
    };
    list.iter().map(read).collect()
}

/// The types of an OpenAPI document by name.
pub(crate) fn openapi(file: &[u8]) -> Map<Node> {
    let document = json::read_exact(file).expect("the document is JSON");
    let schemas = document.get("components").and_then(|node| node.get("schemas")).and_then(Node::as_map);
    schemas.expect("the document has types").clone()
}

/// A node as JSON text.
pub(crate) fn text(node: &Node) -> String {
    String::from_utf8(json::write_raw(node).expect("the node is JSON")).expect("JSON is UTF-8")
}

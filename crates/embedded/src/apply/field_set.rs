//! Sets of fields: the content of `fieldsV1`, and the set operations on it (`fieldpath.Set` of
//! structured-merge-diff).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pintle_tree::{Map, Node, Str, json, quote, with_stack};

/// Fields deeper than this are owned together with their ancestor at this depth. Sets are dropped and cloned
/// recursively, so the depth must be limited; real objects are far less deep.
pub(super) const MAX_DEPTH: usize = 200;

/// A value in the key of a list element.
///
/// Integers are equal however they are written, so that `80` and `80.0` are the same port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar {
    /// A whole number.
    Int(i64),
    /// Any other number, as JSON.
    Float(String),
    /// Text.
    Text(Str),
    /// A boolean.
    Bool(bool),
    /// Null, or an unexpected list or map, as JSON.
    Other(String),
}

impl Scalar {
    /// The value of a node.
    pub fn from_node(node: &Node) -> Scalar {
        match node {
            Node::Int(value) => Scalar::Int(*value),
            // Below 2^53 a float is exactly the integer that it prints as.
            Node::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Scalar::Int(*value as i64),
            Node::Str(text) => Scalar::Text(text.clone()),
            Node::Bool(value) => Scalar::Bool(*value),
            Node::Float(_) => Scalar::Float(text_of(node)),
            _ => Scalar::Other(text_of(node)),
        }
    }

    fn node(&self) -> Node {
        match self {
            Scalar::Int(value) => Node::Int(*value),
            Scalar::Text(text) => Node::Str(text.clone()),
            Scalar::Bool(value) => Node::Bool(*value),
            Scalar::Float(text) | Scalar::Other(text) => {
                json::read_exact(text.as_bytes()).unwrap_or_default()
            }
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(value) => write!(out, "{value}"),
            Scalar::Float(text) | Scalar::Other(text) => out.write_str(text),
            Scalar::Text(text) => out.write_str(&quote::quote(text)),
            Scalar::Bool(value) => write!(out, "{value}"),
        }
    }
}

/// One element of the path to a field (`fieldpath.PathElement`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// `f:`: a field of a map.
    Field(Str),
    /// `k:`: a list element by the values of its key fields, which are sorted by name.
    Key(Vec<(Str, Scalar)>),
    /// `v:`: a list element by its value.
    Value(Scalar),
    /// `i:`: a list element by its index.
    Index(i64),
}

impl PathElement {
    /// Parses an element of `fieldsV1`; `None` for kinds of elements that only later versions of Kubernetes know.
    fn read(text: &[u8]) -> Result<Option<PathElement>, FieldSetError> {
        let bad = || FieldSetError::PathElement(String::from_utf8_lossy(text).into_owned());
        Ok(Some(match text {
            [b'f', b':', name @ ..] => PathElement::Field(Str::from(name)),
            [b'v', b':', value @ ..] => {
                PathElement::Value(Scalar::from_node(&json::read_exact(value).map_err(|_| bad())?))
            }
            [b'k', b':', keys @ ..] => match json::read_exact(keys) {
                Ok(Node::Map(keys)) => PathElement::Key(
                    keys.iter().map(|(name, value)| (name.clone(), Scalar::from_node(value))).collect(),
                ),
                _ => return Err(bad()),
            },
            [b'i', b':', index @ ..] => {
                let index = std::str::from_utf8(index).ok().and_then(|index| index.parse().ok());
                PathElement::Index(index.ok_or_else(bad)?)
            }
            [_, b':', ..] => return Ok(None),
            _ => return Err(bad()),
        }))
    }

    fn write(&self) -> Str {
        match self {
            PathElement::Field(name) => Str::from([b"f:", name.as_bytes()].concat()),
            PathElement::Key(keys) => {
                let keys: Map<Node> = keys.iter().map(|(name, value)| (name.clone(), value.node())).collect();
                Str::from(format!("k:{}", text_of(&Node::Map(keys))))
            }
            PathElement::Value(value) => Str::from(format!("v:{}", text_of(&value.node()))),
            PathElement::Index(index) => Str::from(format!("i:{index}")),
        }
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(out, ".{name}"),
            PathElement::Key(keys) => {
                let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(out, "[{}]", keys.join(","))
            }
            PathElement::Value(value) => write!(out, "[={value}]"),
            PathElement::Index(index) => write!(out, "[{index}]"),
        }
    }
}

/// Why a `fieldsV1` cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldSetError {
    /// A key is not a path element.
    #[error("parsing key as path element: {0}")]
    PathElement(String),
}

/// A set of fields. Membership of a field says nothing about its ancestors or descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<PathElement>,
    children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// Returns the set of the given paths through maps, such as `["metadata", "name"]`.
    pub fn from_paths(paths: &[&[&str]]) -> FieldSet {
        let mut set = FieldSet::default();
        for path in paths {
            let path: Vec<PathElement> =
                path.iter().map(|name| PathElement::Field(Str::from(*name))).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a field. The empty path is ignored: the object as a whole cannot be owned.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(FieldSet::is_empty)
    }

    /// Whether the child `element` is a member.
    pub fn has(&self, element: &PathElement) -> bool {
        self.members.contains(element)
    }

    /// Whether the field at `path` is in the set.
    pub fn has_path(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.has_path(rest)),
        }
    }

    /// The fields below the child `element`.
    pub fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.children.get(element)
    }

    pub(super) fn members(&self) -> &BTreeSet<PathElement> {
        &self.members
    }

    pub(super) fn children(&self) -> &BTreeMap<PathElement, FieldSet> {
        &self.children
    }

    pub(super) fn add_member(&mut self, element: PathElement) {
        self.members.insert(element);
    }

    pub(super) fn add_child(&mut self, element: PathElement, set: FieldSet) {
        self.children.insert(element, set);
    }

    /// All fields that either has.
    #[must_use]
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        let mut all = self.clone();
        all.extend(other);
        all
    }

    fn extend(&mut self, other: &FieldSet) {
        self.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            // Sets are as deep as the objects of clients, so the recursion grows its own stack.
            with_stack(|| self.children.entry(element.clone()).or_default().extend(set));
        }
    }

    /// The fields that both have.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut both = FieldSet {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, set) in &self.children {
            if let Some(existing) = other.children.get(element) {
                let shared = with_stack(|| set.intersection(existing));
                if !shared.is_empty() {
                    both.children.insert(element.clone(), shared);
                }
            }
        }
        both
    }

    /// The fields that only the first has.
    #[must_use]
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        self.without(other, false)
    }

    /// The difference that also removes the descendants of fields in `other`.
    #[must_use]
    pub fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        self.without(other, true)
    }

    fn without(&self, other: &FieldSet, recursive: bool) -> FieldSet {
        let mut rest = FieldSet {
            members: self.members.difference(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, set) in &self.children {
            if recursive && other.members.contains(element) {
                continue;
            }
            let left = match other.children.get(element) {
                Some(existing) => with_stack(|| set.without(existing, recursive)),
                None => set.clone(),
            };
            if !left.is_empty() {
                rest.children.insert(element.clone(), left);
            }
        }
        rest
    }

    /// The paths of all fields, those of a level before those below it.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, path: &mut Vec<PathElement>, paths: &mut Vec<Vec<PathElement>>) {
        for element in &self.members {
            paths.push(path.iter().chain([element]).cloned().collect());
        }
        for (element, set) in &self.children {
            path.push(element.clone());
            with_stack(|| set.collect(path, paths));
            path.pop();
        }
    }

    /// Parses `fieldsV1`.
    ///
    /// # Errors
    ///
    /// When a key is not a path element.
    pub fn read(fields: &Node) -> Result<FieldSet, FieldSetError> {
        FieldSet::read_at(fields, 0)
    }

    fn read_at(fields: &Node, depth: usize) -> Result<FieldSet, FieldSetError> {
        let mut set = FieldSet::default();
        for (key, below) in fields.as_map().into_iter().flat_map(Map::iter) {
            // `.` says that the field itself is owned, besides what is below it. The caller has read it already.
            if key == "." {
                continue;
            }
            let Some(element) = PathElement::read(key)? else { continue };
            let below = below.as_map().filter(|_| depth < MAX_DEPTH);
            // A field without anything below is a member; one with children is a member only with `.` among them.
            if below.is_none_or(|below| below.is_empty() || below.contains_key(".")) {
                set.members.insert(element.clone());
            }
            if let Some(below) = below {
                let child = FieldSet::read_at(&Node::Map(below.clone()), depth + 1)?;
                if !child.is_empty() {
                    set.children.insert(element, child);
                }
            }
        }
        Ok(set)
    }

    /// Encodes as `fieldsV1`.
    pub fn write(&self) -> Node {
        let mut fields: BTreeMap<&PathElement, Map<Node>> = BTreeMap::new();
        for element in &self.members {
            fields.insert(element, Map::new());
        }
        for (element, set) in &self.children {
            if set.is_empty() {
                continue;
            }
            let Node::Map(mut below) = with_stack(|| set.write()) else { continue };
            if fields.contains_key(element) {
                below.insert(".".into(), Node::empty_map());
            }
            fields.insert(element, below);
        }
        Node::Map(fields.into_iter().map(|(element, below)| (element.write(), Node::Map(below))).collect())
    }
}

/// A path as in conflicts: `.spec.ports[port=80]`.
pub fn path_string(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

fn text_of(node: &Node) -> String {
    // Values without JSON (NaN, infinities) cannot have been parsed from it either.
    json::write(node)
        .map_or_else(|_| String::from("null"), |text| String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> FieldSet {
        FieldSet::read(&json::read_exact(text.as_bytes()).unwrap()).unwrap()
    }

    const PORTS: &str =
        r#"{"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#;

    #[test]
    fn a_field_set_is_encoded_as_it_was_parsed() {
        let text = r#"{"f:a":{},"f:b":{".":{},"f:c":{}},"f:d":{"v:\"x\"":{},"i:3":{}}}"#;
        for text in [text, PORTS] {
            assert_eq!(set(text).write(), json::read_exact(text.as_bytes()).unwrap());
        }
    }

    #[test]
    fn removing_a_map_leaves_its_descendants() {
        let whole = set(PORTS);
        let above = set(r#"{"f:spec":{"f:ports":{}}}"#);
        assert_eq!(whole.difference(&above).paths().len(), 2);
        assert!(whole.recursive_difference(&above).is_empty());
        assert_eq!(whole.intersection(&above), above);
        assert_eq!(above.union(&whole), whole);
    }

    #[test]
    fn paths_are_formatted_as_in_conflicts() {
        let paths: Vec<String> = set(PORTS).paths().iter().map(|path| path_string(path)).collect();
        let port = r#".spec.ports[port=80,protocol="TCP"]"#;
        assert_eq!(paths, [".spec.ports".to_owned(), port.to_owned(), format!("{port}.port")]);
    }

    #[test]
    fn path_elements_of_later_versions_are_skipped_and_invalid_ones_rejected() {
        assert!(set(r#"{"x:y":{}}"#).is_empty());
        let broken = json::read_exact(br#"{"nonsense":{}}"#).unwrap();
        assert!(FieldSet::read(&broken).is_err());
    }
}

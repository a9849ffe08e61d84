//! Objects with the places that they come from.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pintle_tree::{Map, Node, ValuePath};
use pintle_yaml::outline::Outline;

use crate::Variables;
use crate::app::nearest;

/// A line of a file of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, from the root of the repository.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

/// A text that set fields of an object: the document that it was read from, or a patch.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where the text begins.
    pub place: Place,
    /// The text: one YAML document with the fields at the paths of the object.
    pub text: Arc<[u8]>,
    /// Where the fields of the object are in the document, if it is a part of another one.
    pub prefix: Vec<&'static str>,
}

/// An object that a repository describes.
#[derive(Clone, Debug, Default)]
pub struct SourceObject {
    /// The object. Integers are [`Node::Int`].
    pub body: Map<Node>,
    /// What set its fields, the last first.
    pub sources: Vec<Source>,
    /// Variables that were substituted in it.
    pub variables: Arc<Variables>,
    /// The fields that variables were substituted in.
    pub(crate) uses: Arc<Vec<(ValuePath, Vec<String>)>>,
    /// The file whose content a generator put into it.
    pub(crate) generated_from: Option<String>,
    /// What kustomize built it from.
    pub(crate) built: Option<Arc<pintle_kustomize::Object>>,
    /// Where the fields are that were added to a kustomization: its file, how many lines it has, and their place.
    pub(crate) added: Option<(String, usize, Place)>,
}

impl SourceObject {
    /// The node at some keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Node> {
        let (first, rest) = keys.split_first()?;
        rest.iter().try_fold(self.body.get(first)?, |node, key| node.get(key))
    }

    /// The text at some keys; empty if there is none.
    pub fn text(&self, keys: &[&str]) -> &str {
        self.at(keys).and_then(Node::as_str).unwrap_or_default()
    }

    /// The API group.
    pub fn group(&self) -> &str {
        self.text(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group)
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    /// The namespace; empty if it has none.
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    /// The items of a list.
    pub fn list(&self, keys: &[&str]) -> &[Node] {
        self.at(keys).and_then(Node::as_list).unwrap_or_default()
    }

    /// Where the object begins.
    pub fn start(&self) -> Place {
        self.sources.last().map(|source| source.place.clone()).unwrap_or_default()
    }

    /// Where a field is set, or where what contains it is.
    pub fn place(&self, path: &ValuePath) -> Option<Place> {
        if let Some(built) = &self.built {
            let found = built.origin_of(path);
            let place = Place { file: found.file.to_string(), line: found.line };
            return Some(match &self.added {
                Some((file, lines, added)) if *file == place.file && place.line > *lines => added.clone(),
                _ => place,
            });
        }
        let mut best: Option<(usize, Place)> = None;
        for source in self.sources.iter().filter(|source| !source.text.is_empty()) {
            let Ok(outline) = Outline::read_first(&source.text) else { continue };
            let full = source.prefix.iter().fold(ValuePath::root(), |path, key| path.key(*key));
            let full = path.segments().iter().fold(full, |path, segment| path.with(segment.clone()));
            let found = nearest(&full, |at| outline.line_of(at).map(|line| (at.segments().len(), line)));
            let Some((depth, line)) = found else { continue };
            let place = Place { file: source.place.file.clone(), line: source.place.line + line - 1 };
            // The last text that has the whole path set it; otherwise the one that has most of it.
            if best.as_ref().is_none_or(|(known, _)| depth > *known) {
                best = Some((depth, place));
            }
        }
        best.map(|(_, place)| place)
    }

    /// The variables that were substituted in a field, in what contains it, or in what it contains.
    pub fn variables_at(&self, path: &ValuePath) -> BTreeMap<&str, &crate::Variable> {
        let concerned = self.uses.iter().filter(|(at, _)| at.is_within(path) || path.is_within(at));
        let names = concerned.flat_map(|(_, names)| names);
        names
            .filter_map(|name| self.variables.get_key_value(name))
            .map(|(name, variable)| (name.as_str(), variable))
            .collect()
    }
}

impl SourceObject {
    /// An object that an app rendered; it is known only where the app is described.
    pub fn rendered(body: Map<Node>, place: Place) -> Self {
        let source = Source { place, text: Arc::from(b"".as_slice()), prefix: Vec::new() };
        SourceObject { body, sources: vec![source], ..SourceObject::default() }
    }
}

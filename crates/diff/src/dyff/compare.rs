//! Finds what differs between documents, by the rules of dyff: documents are matched by the object in them, entries of
//! lists by a field that identifies them, and the rest by value.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::with_stack;
use pintle_yaml::commented::Kind;

use super::node::NodeRef;

/// The fields by which entries of lists are matched first.
const IDENTIFIERS: [&str; 4] = ["name", "key", "id", "manager"];

/// The minimum length of a list for which dyff guesses the field: in shorter ones a field may be unique by accident.
const MIN_GUESSED: usize = 4;

/// What differs in one place.
pub(super) struct Difference<'d> {
    /// The place; `None` for the order of documents.
    pub(super) path: Option<Path>,
    /// What differs there.
    pub(super) details: Vec<Detail<'d>>,
}

/// A place in a document.
#[derive(Clone)]
pub(super) struct Path {
    /// The document.
    pub(super) document: String,
    /// The keys, names and indexes on the way.
    pub(super) elements: Vec<String>,
}

impl Path {
    fn below(&self, element: &str) -> Path {
        let mut path = self.clone();
        path.elements.push(element.to_owned());
        path
    }
}

pub(super) enum Detail<'d> {
    Removed(Content<'d>),
    Added(Content<'d>),
    Changed(NodeRef<'d>, NodeRef<'d>),
    Reordered(Vec<String>, Vec<String>),
}

/// What was added or removed.
pub(super) enum Content<'d> {
    Document(NodeRef<'d>),
    Entries(Vec<(NodeRef<'d>, NodeRef<'d>)>),
    Items(Vec<NodeRef<'d>>),
}

/// The two sides of an entry of the report.
pub(super) struct Pair<'d> {
    pub(super) old: Option<NodeRef<'d>>,
    pub(super) new: Option<NodeRef<'d>>,
}

/// Compares documents. A pair with different names is compared only if `renames` is set, and otherwise counts as one removed
/// and one added document.
pub(super) fn compare<'d>(pairs: &[Pair<'d>], renames: bool) -> Vec<Difference<'d>> {
    let named = |nodes: Vec<NodeRef<'d>>| -> Option<Vec<(String, NodeRef<'d>)>> {
        nodes.into_iter().map(|node| Some((node.object_name()?, node))).collect()
    };
    let sides = (
        named(pairs.iter().filter_map(|pair| pair.old).collect()),
        named(pairs.iter().filter_map(|pair| pair.new).collect()),
    );
    match sides {
        (Some(old), Some(new)) => {
            let renamed = if renames { renamed(pairs) } else { Vec::new() };
            compare_objects(&old, &new, &renamed)
        }
        // Documents that are not Kubernetes objects are compared in their order.
        _ => compare_in_order(pairs),
    }
}

/// The pairs whose sides have different names.
fn renamed<'d>(pairs: &[Pair<'d>]) -> Vec<(String, String, NodeRef<'d>, NodeRef<'d>)> {
    let both = pairs.iter().filter_map(|pair| {
        let (old, new) = (pair.old?, pair.new?);
        Some((old.object_name()?, new.object_name()?, old, new))
    });
    both.filter(|(old, new, ..)| old != new).collect()
}

fn compare_objects<'d>(
    old: &[(String, NodeRef<'d>)],
    new: &[(String, NodeRef<'d>)],
    renamed: &[(String, String, NodeRef<'d>, NodeRef<'d>)],
) -> Vec<Difference<'d>> {
    let by_name = |side: &[(String, NodeRef<'d>)]| side.iter().cloned().collect::<BTreeMap<_, _>>();
    let (before, after) = (by_name(old), by_name(new));
    let is_renamed = |name: &str| renamed.iter().any(|(old, new, ..)| old == name || new == name);
    let root = |name: &String| Path { document: name.clone(), elements: Vec::new() };
    let mut found = Vec::new();
    let mut removed = Vec::new();
    for (name, _) in old.iter().filter(|(name, _)| !is_renamed(name)) {
        match (before.get(name), after.get(name)) {
            (Some(one), Some(other)) => nodes(&root(name), *one, *other, &mut found),
            (Some(one), None) => removed.push(Difference {
                path: Some(root(name)),
                details: vec![Detail::Removed(Content::Document(*one))],
            }),
            (None, _) => {}
        }
    }
    for (_, name, one, other) in renamed {
        nodes(&root(name), *one, *other, &mut found);
    }
    found.extend(removed);
    let added = new.iter().filter(|(name, _)| !is_renamed(name) && !before.contains_key(name));
    found.extend(added.map(|(name, node)| Difference {
        path: Some(root(name)),
        details: vec![Detail::Added(Content::Document(*node))],
    }));
    let names = |side: &[(String, NodeRef<'d>)]| -> Vec<String> {
        side.iter().map(|(name, _)| name.clone()).filter(|name| !is_renamed(name)).collect()
    };
    let (old, new) = (names(old), names(new));
    if old.len() == new.len() && old != new {
        found.push(Difference { path: None, details: vec![Detail::Reordered(old, new)] });
    }
    found
}

fn compare_in_order<'d>(pairs: &[Pair<'d>]) -> Vec<Difference<'d>> {
    let mut found = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let path = Path { document: format!("document #{}", index + 1), elements: Vec::new() };
        match (pair.old, pair.new) {
            (Some(old), Some(new)) => nodes(&path, old, new, &mut found),
            (Some(old), None) => found.push(Difference {
                path: Some(path),
                details: vec![Detail::Removed(Content::Document(old))],
            }),
            (None, Some(new)) => found
                .push(Difference { path: Some(path), details: vec![Detail::Added(Content::Document(new))] }),
            (None, None) => {}
        }
    }
    found
}

fn nodes<'d>(path: &Path, old: NodeRef<'d>, new: NodeRef<'d>, found: &mut Vec<Difference<'d>>) {
    let is_changed = match (old.kind(), new.kind()) {
        _ if old.tag() != new.tag() => true,
        (Kind::Mapping, Kind::Mapping) => return with_stack(|| maps(path, old, new, found)),
        (Kind::Sequence, Kind::Sequence) => return with_stack(|| lists(path, old, new, found)),
        (Kind::Scalar, Kind::Scalar) => match old.tag() {
            "!!null" => false,
            // helm-diff lets dyff ignore white space around texts.
            "!!str" => old.value().trim_matches([' ', '\n']) != new.value().trim_matches([' ', '\n']),
            "!!bool" => !old.value().eq_ignore_ascii_case(new.value()),
            _ => old.value() != new.value(),
        },
        _ => true,
    };
    if is_changed {
        found.push(Difference { path: Some(path.clone()), details: vec![Detail::Changed(old, new)] });
    }
}

fn maps<'d>(path: &Path, old: NodeRef<'d>, new: NodeRef<'d>, found: &mut Vec<Difference<'d>>) {
    let (before, after) = (old.entries(), new.entries());
    let keys = |entries: &[(NodeRef<'d>, NodeRef<'d>)]| -> BTreeMap<&'d str, NodeRef<'d>> {
        // Of keys that are written twice, the first counts.
        entries.iter().rev().map(|(key, value)| (key.value(), *value)).collect()
    };
    let (known_before, known_after) = (keys(&before), keys(&after));
    let only = |entries: &[(NodeRef<'d>, NodeRef<'d>)], other: &BTreeMap<&str, NodeRef<'d>>| -> Vec<_> {
        entries.iter().filter(|(key, _)| !other.contains_key(key.value())).copied().collect()
    };
    let (removed, added) = (only(&before, &known_after), only(&after, &known_before));
    let mut details = Vec::new();
    if !removed.is_empty() {
        details.push(Detail::Removed(Content::Entries(removed)));
    }
    if !added.is_empty() {
        details.push(Detail::Added(Content::Entries(added)));
    }
    push(path, details, found);
    for (key, value) in before {
        if let Some(other) = known_after.get(key.value()) {
            nodes(&path.below(key.value()), value, *other, found);
        }
    }
}

fn push<'d>(path: &Path, details: Vec<Detail<'d>>, found: &mut Vec<Difference<'d>>) {
    if !details.is_empty() {
        found.push(Difference { path: Some(path.clone()), details });
    }
}

fn lists<'d>(path: &Path, old: NodeRef<'d>, new: NodeRef<'d>, found: &mut Vec<Difference<'d>>) {
    let (before, after): (Vec<_>, Vec<_>) = (old.children().collect(), new.children().collect());
    if before.is_empty() && after.is_empty() {
        return;
    }
    if let Some(field) = identifier(&before, &after) {
        let name = |node: &NodeRef<'d>| node.get(field).map(|value| value.value().to_owned());
        return named_lists(path, &before, &after, &name, found);
    }
    if before.iter().chain(&after).all(|node| node.object_name().is_some()) {
        return named_lists(path, &before, &after, &|node| node.object_name(), found);
    }
    simple_lists(path, &before, &after, found);
}

/// The field that identifies entries: one of the usual ones, or in long lists any whose texts are unique.
fn identifier<'d>(before: &[NodeRef<'d>], after: &[NodeRef<'d>]) -> Option<&'d str> {
    let values = |nodes: &[NodeRef<'d>], field: &str, texts_only: bool| {
        let found = nodes.iter().filter_map(|node| node.get(field));
        let texts =
            found.filter(|value| !texts_only || (value.kind() == Kind::Scalar && value.tag() == "!!str"));
        texts.map(|value| value.value()).collect::<BTreeSet<&str>>().len()
    };
    let is_unique = |field: &str, texts_only| {
        !before.is_empty()
            && !after.is_empty()
            && values(before, field, texts_only) == before.len()
            && values(after, field, texts_only) == after.len()
    };
    if let Some(field) = IDENTIFIERS.into_iter().find(|field| is_unique(field, false)) {
        return Some(field);
    }
    let all_maps = before.iter().chain(after).all(|node| node.kind() == Kind::Mapping);
    if !all_maps || before.len() < MIN_GUESSED {
        return None;
    }
    let fields: BTreeSet<&'d str> = before[0].entries().iter().map(|(key, _)| key.value()).collect();
    fields.into_iter().find(|field| is_unique(field, true))
}

/// Compares lists whose entries have names.
fn named_lists<'d>(
    path: &Path,
    before: &[NodeRef<'d>],
    after: &[NodeRef<'d>],
    name: &dyn Fn(&NodeRef<'d>) -> Option<String>,
    found: &mut Vec<Difference<'d>>,
) {
    let named = |nodes: &[NodeRef<'d>]| -> Vec<(String, NodeRef<'d>)> {
        nodes.iter().map(|node| (name(node).unwrap_or_default(), *node)).collect()
    };
    let (before, after) = (named(before), named(after));
    let lookup = |side: &[(String, NodeRef<'d>)]| -> BTreeMap<String, NodeRef<'d>> {
        side.iter().rev().cloned().collect()
    };
    let (known_before, known_after) = (lookup(&before), lookup(&after));
    let split = |side: &[(String, NodeRef<'d>)], other: &BTreeMap<String, NodeRef<'d>>| {
        let (common, only): (Vec<_>, Vec<_>) = side.iter().partition(|(name, _)| other.contains_key(name));
        let names: Vec<String> = common.into_iter().map(|(name, _)| name.clone()).collect();
        (names, only.into_iter().map(|(_, node)| *node).collect::<Vec<_>>())
    };
    let (names_before, removed) = split(&before, &known_after);
    let (names_after, added) = split(&after, &known_before);
    let reordered = (names_before != names_after).then(|| (names_before.clone(), names_after));
    push(path, list_details(reordered, removed, added), found);
    for (name, node) in before.iter().filter(|(name, _)| names_before.contains(name)) {
        if let Some(other) = known_after.get(name) {
            nodes(&path.below(name), *node, *other, found);
        }
    }
}

/// Compares lists by the values of their entries.
fn simple_lists<'d>(
    path: &Path,
    before: &[NodeRef<'d>],
    after: &[NodeRef<'d>],
    found: &mut Vec<Difference<'d>>,
) {
    // A single entry on both sides has changed, rather than one being removed and another added.
    if let ([old], [new]) = (before, after) {
        return nodes(&path.below("0"), *old, *new, found);
    }
    let count = |node: &NodeRef<'d>, nodes: &[NodeRef<'d>]| {
        nodes.iter().filter(|other| node.is_same(**other)).count()
    };
    // Of duplicate entries, as many are reported as one side has more than the other.
    let surplus = |one: &[NodeRef<'d>], other: &[NodeRef<'d>]| {
        let mut surplus: Vec<NodeRef<'d>> = Vec::new();
        for node in one {
            if count(node, &surplus) == 0 {
                let times = count(node, one).saturating_sub(count(node, other));
                surplus.extend(std::iter::repeat_n(*node, times));
            }
        }
        surplus
    };
    let common = |one: &[NodeRef<'d>], other: &[NodeRef<'d>]| -> Vec<NodeRef<'d>> {
        one.iter().filter(|node| count(node, other) > 0).copied().collect()
    };
    let (common_before, common_after) = (common(before, after), common(after, before));
    let is_reordered = common_before.len() == common_after.len()
        && common_before.iter().zip(&common_after).any(|(one, other)| !one.is_same(*other));
    let texts = |nodes: &[NodeRef<'d>]| nodes.iter().map(super::yaml::on_one_line).collect::<Vec<_>>();
    let reordered = is_reordered.then(|| (texts(&common_before), texts(&common_after)));
    push(path, list_details(reordered, surplus(before, after), surplus(after, before)), found);
}

fn list_details<'d>(
    reordered: Option<(Vec<String>, Vec<String>)>,
    removed: Vec<NodeRef<'d>>,
    added: Vec<NodeRef<'d>>,
) -> Vec<Detail<'d>> {
    let mut details = Vec::new();
    details.extend(reordered.map(|(before, after)| Detail::Reordered(before, after)));
    if !removed.is_empty() {
        details.push(Detail::Removed(Content::Items(removed)));
    }
    if !added.is_empty() {
        details.push(Detail::Added(Content::Items(added)));
    }
    details
}

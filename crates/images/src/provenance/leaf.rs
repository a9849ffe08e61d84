//! String leaves of the coalesced values, and which of them an image could be built from.

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Str, with_stack};

use crate::value_path::{MAX_DEPTH, Segment, ValuePath};

/// The key of the values shared by all charts of a tree.
const GLOBAL: &str = "global";

/// Longer strings are scripts and files; images in them are found only if they occur literally.
const LONG: usize = 4_096;

/// A string in the coalesced values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its path, as an override addresses it.
    pub path: ValuePath,
    /// Its text.
    pub text: String,
}

/// The non-empty strings of the coalesced values.
pub(crate) fn text_leaves(values: &Map<Node>) -> Vec<Leaf> {
    leaves(values, &|text| !text.is_empty())
}

/// Empty strings, and keys that charts declare without a value, whose names suggest a registry or an image.
pub(crate) fn empty_leaves(chart: &Chart, values: &Map<Node>) -> Vec<Leaf> {
    let mut leaves = leaves(values, &str::is_empty);
    in_defaults(chart, &ValuePath::root(), values, &mut leaves);
    leaves.retain(|leaf| leaf.path.last_key().is_some_and(promises_image));
    leaves
}

/// Coalescing drops null defaults from the final values, so they are read from the charts themselves.
fn in_defaults(chart: &Chart, path: &ValuePath, values: &Map<Node>, found: &mut Vec<Leaf>) {
    nulls(&chart.values, path, &mut |path| {
        let has_parent =
            path.parent().is_some_and(|parent| matches!(parent.find(values), Some(Node::Map(_))));
        if has_parent && path.find(values).is_none() && !found.iter().any(|leaf| leaf.path == path) {
            found.push(Leaf { path, text: String::new() });
        }
    });
    for subchart in &chart.subcharts {
        in_defaults(subchart, &path.key(subchart.name()), values, found);
    }
}

fn nulls(map: &Map<Node>, path: &ValuePath, visit: &mut dyn FnMut(ValuePath)) {
    for (key, node) in map.iter() {
        match node {
            Node::Nil => visit(path.key(key.clone())),
            Node::Map(map) if path.segments().len() < MAX_DEPTH => {
                with_stack(|| nulls(map, &path.key(key.clone()), visit));
            }
            _ => {}
        }
    }
}

fn leaves(values: &Map<Node>, wanted: &dyn Fn(&str) -> bool) -> Vec<Leaf> {
    let mut found = Vec::new();
    in_map(values, &ValuePath::root(), wanted, &mut found);
    found.retain(|leaf| !is_copy(&leaf.path, values));
    found
}

fn in_node(node: &Node, path: ValuePath, wanted: &dyn Fn(&str) -> bool, found: &mut Vec<Leaf>) {
    match node {
        _ if path.segments().len() > MAX_DEPTH => {}
        Node::Str(text) => {
            if let Some(text) = text.as_str().filter(|text| wanted(text)) {
                found.push(Leaf { path, text: text.to_owned() });
            }
        }
        Node::Map(map) => with_stack(|| in_map(map, &path, wanted, found)),
        Node::List(list) => with_stack(|| {
            for (index, item) in list.iter().enumerate() {
                in_node(item, path.index(index), wanted, found);
            }
        }),
        _ => {}
    }
}

fn in_map(map: &Map<Node>, path: &ValuePath, wanted: &dyn Fn(&str) -> bool, found: &mut Vec<Leaf>) {
    for (key, node) in map.iter() {
        if matches!(node, Node::Str(_) | Node::Map(_) | Node::List(_)) {
            in_node(node, path.key(key.clone()), wanted, found);
        }
    }
}

/// Whether a string below `global` of a subchart is a copy of a parent's global; only the parent's can be overridden.
fn is_copy(path: &ValuePath, values: &Map<Node>) -> bool {
    let segments = path.segments();
    let is_global = |step: &Segment| matches!(step, Segment::Key(key) if *key == GLOBAL);
    let Some(at) = segments.iter().position(is_global) else { return false };
    (0..at).any(|depth| {
        let above = [&segments[..depth], &segments[at..]].concat();
        ValuePath::from(above).find(values).is_some()
    })
}

fn promises_image(key: &Str) -> bool {
    let key = key.to_str_lossy().to_ascii_lowercase();
    ["registry", "image", "repository", "override"].iter().any(|word| key.contains(word)) || key == "hub"
}

/// How likely a string is part of an image, which decides when a marker is tried in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    /// Its text is a whole path component of the image name, or contains the name.
    Strong,
    /// Its text may occur in the name by coincidence.
    Weak,
}

impl Leaf {
    /// The offsets in the text at which (part of) the image could start, if any. `image` is the whole reference,
    /// `name` the reference without tag and digest.
    pub(super) fn match_offsets(&self, image: &str, name: &str) -> Option<(Match, Vec<usize>)> {
        let trimmed = self.text.trim_matches(|character: char| character == '/' || character.is_whitespace());
        // Single letters match everywhere.
        if trimmed.len() < 2 {
            return None;
        }
        if trimmed.len() <= name.len() && name.contains(trimmed) {
            let offset = self.text.find(trimmed).unwrap_or(0);
            let strong = at_borders(name, trimmed) && (name.starts_with(trimmed) || self.looks_like_part());
            return Some((if strong { Match::Strong } else { Match::Weak }, vec![offset]));
        }
        let whole = occurrences(&self.text, image, true);
        if !whole.is_empty() {
            return Some((Match::Strong, whole));
        }
        if self.text.len() > LONG {
            return None;
        }
        self.name_offsets(name)
    }

    /// The offsets at which the image name occurs in a larger text, such as a template or a document.
    fn name_offsets(&self, name: &str) -> Option<(Match, Vec<usize>)> {
        let found = occurrences(&self.text, name, true);
        if !found.is_empty() {
            let strong = name.contains('/');
            return Some((if strong { Match::Strong } else { Match::Weak }, found));
        }
        if !self.text.contains("{{") {
            return None;
        }
        // A template can supply the rest; the text itself may still contain the registry.
        let (first, rest) = name.split_once('/')?;
        let found = [occurrences(&self.text, first, false), occurrences(&self.text, rest, false)].concat();
        if found.is_empty() { None } else { Some((Match::Weak, found)) }
    }

    /// Whether the keys of the path suggest that this is part of an image.
    fn looks_like_part(&self) -> bool {
        const WORDS: [&str; 8] = ["image", "repo", "registry", "hub", "org", "name", "path", "prefix"];
        if self.text.contains(['/', '.']) {
            return true;
        }
        self.path.last_key().is_some_and(|key| {
            let key = key.to_str_lossy().to_ascii_lowercase();
            WORDS.iter().any(|word| key.contains(word))
        })
    }
}

/// An image without its tag and digest.
pub(crate) fn name_of(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or(image);
    let last = name.rfind('/').map_or(0, |slash| slash + 1);
    name[last..].find(':').map_or(name, |colon| &name[..last + colon])
}

/// Whether `part` starts and ends at separators within `name`.
fn at_borders(name: &str, part: &str) -> bool {
    name.match_indices(part).any(|(start, _)| {
        let end = start + part.len();
        (start == 0 || name.as_bytes()[start - 1] == b'/')
            && (end == name.len() || name.as_bytes()[end] == b'/')
    })
}

/// The offsets at which `part` occurs in `text`; with `bounded`, only where it is not part of a longer name.
fn occurrences(text: &str, part: &str, bounded: bool) -> Vec<usize> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/');
    let bytes = text.as_bytes();
    let fits = |(start, _): &(usize, &str)| {
        let end = start + part.len();
        let free_before = *start == 0 || !is_name(bytes[start - 1]);
        let free_after = end == bytes.len() || !is_name(bytes[end]);
        if bounded { free_before && free_after } else { free_before || bytes[start - 1] == b'/' }
    };
    text.match_indices(part).filter(fits).map(|(start, _)| start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_tree::json;

    fn leaf(key: &str, text: &str) -> Leaf {
        Leaf { path: ValuePath::root().key(key), text: text.to_owned() }
    }

    #[test]
    fn globals_of_subcharts_that_come_from_above_are_not_leaves_of_their_own() {
        let text = br#"{"global":{"r":"x"},"sub":{"global":{"r":"x","own":"y"},"a":["z",""]}}"#;
        let leaves = text_leaves(&json::read_map(text).unwrap());
        let paths: Vec<String> = leaves.iter().map(|leaf| leaf.path.to_string()).collect();
        assert_eq!(paths, ["global.r", "sub.a[0]", "sub.global.own"]);
    }

    #[test]
    fn strings_fit_images_by_their_borders() {
        let cases = [
            ("registry", "quay.io", Some((Match::Strong, vec![0]))),
            ("repository", "team/api", Some((Match::Strong, vec![0]))),
            ("name", "api", Some((Match::Strong, vec![0]))),
            ("mode", "api", Some((Match::Weak, vec![0]))),
            ("kind", "eam", Some((Match::Weak, vec![0]))),
            ("json", "{\"i\":\"quay.io/team/api:1\"}", Some((Match::Strong, vec![6]))),
            ("image", "quay.io/team/api:{{ .x }}", Some((Match::Strong, vec![0]))),
            ("image", "{{ .r | default \"quay.io\" }}/team/api", Some((Match::Weak, vec![17, 29]))),
            ("tag", "1", None),
            ("text", "xquay.io/team/apix", None),
        ];
        for (key, text, wanted) in cases {
            assert_eq!(
                leaf(key, text).match_offsets("quay.io/team/api:1", "quay.io/team/api"),
                wanted,
                "{key}: {text}"
            );
        }
    }
}

//! Patches a text to another content with minimal changes: comments, order and spelling of the rest are kept.

use std::borrow::Cow;

use pintle_tree::{Map, Node};

use super::Outline;
use super::edits::Edits;
use super::expand::{PathSegment, expand_aliases};
use super::node_ref::NodeRef;

/// One difference between two trees.
enum Difference<'n> {
    /// A map entry was set or changed.
    Set(Vec<PathSegment>, &'n Node),
    /// A map entry was removed.
    Remove(Vec<PathSegment>),
    /// A list item was changed.
    Replace(Vec<PathSegment>, &'n Node),
    /// A list item was appended.
    Push(Vec<PathSegment>, &'n Node),
}

impl Difference<'_> {
    fn path(&self) -> &[PathSegment] {
        match self {
            Difference::Set(path, _)
            | Difference::Remove(path)
            | Difference::Replace(path, _)
            | Difference::Push(path, _) => path,
        }
    }
}

/// A text of one document, edited where its content differs from `wanted`; every other byte is kept. Shared nodes are
/// expanded where one of their uses changes.
///
/// `None` if that is impossible: the text is not a map, or has something that only rewriting would change.
pub fn patch(text: &[u8], wanted: &Map<Node>) -> Option<Vec<u8>> {
    let changed = match crate::read(text).ok()? {
        Node::Nil => append(text, wanted)?,
        Node::Map(before) => {
            let mut differences = Vec::new();
            compare_maps(&before, wanted, &mut Vec::new(), &mut differences);
            if differences.is_empty() {
                return Some(text.to_vec());
            }
            change(text, &differences)?
        }
        _ => return None,
    };
    // The result is read back and compared, so an edit that goes wrong is noticed; the caller then rewrites
    // the whole file.
    let is_wanted = matches!(crate::read(&changed), Ok(Node::Map(map)) if same_map(&map, wanted));
    is_wanted.then_some(changed)
}

/// Appends everything to a text that has nothing but comments.
fn append(text: &[u8], wanted: &Map<Node>) -> Option<Vec<u8>> {
    let mut text = text.to_vec();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    if !wanted.is_empty() {
        text.extend(crate::write(wanted).ok()?);
    }
    Some(text)
}

fn compare_maps<'n>(
    before: &Map<Node>,
    after: &'n Map<Node>,
    path: &mut Vec<PathSegment>,
    differences: &mut Vec<Difference<'n>>,
) {
    let step = |key: &pintle_tree::Str| PathSegment::Key(Cow::Owned(key.to_str_lossy().into_owned()));
    let with = |path: &[PathSegment], last: PathSegment| {
        path.iter().cloned().chain([last]).collect::<Vec<PathSegment>>()
    };
    for (key, _) in before.iter().filter(|(key, _)| after.get(key).is_none()) {
        differences.push(Difference::Remove(with(path, step(key))));
    }
    for (key, new) in after.iter() {
        match before.get(key) {
            Some(old) if same(old, new) => {}
            Some(old) if has_same_shape(old, new) => {
                path.push(step(key));
                compare(old, new, path, differences);
                path.pop();
            }
            _ => differences.push(Difference::Set(with(path, step(key)), new)),
        }
    }
}

/// Whether two nodes are written alike: an integer is the same in either type.
fn same(old: &Node, new: &Node) -> bool {
    match (old, new) {
        (Node::Int(whole), Node::Float(float)) | (Node::Float(float), Node::Int(whole)) => {
            #[allow(clippy::cast_precision_loss, reason = "numbers of files are floats, whatever their size")]
            let whole = *whole as f64;
            *float == whole
        }
        (Node::List(old), Node::List(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
        }
        (Node::Map(old), Node::Map(new)) => same_map(old, new),
        (old, new) => old == new,
    }
}

fn same_map(old: &Map<Node>, new: &Map<Node>) -> bool {
    old.len() == new.len() && old.iter().all(|(key, old)| new.get(key).is_some_and(|new| same(old, new)))
}

/// Whether two nodes can be compared by their children.
fn has_same_shape(old: &Node, new: &Node) -> bool {
    match (old, new) {
        (Node::Map(old), Node::Map(new)) => !old.is_empty() && !new.is_empty(),
        // A shorter list is replaced as a whole: which items were removed cannot be known.
        (Node::List(old), Node::List(new)) => !old.is_empty() && new.len() >= old.len(),
        _ => false,
    }
}

fn compare<'n>(
    old: &Node,
    new: &'n Node,
    path: &mut Vec<PathSegment>,
    differences: &mut Vec<Difference<'n>>,
) {
    match (old, new) {
        (Node::Map(old), Node::Map(new)) => compare_maps(old, new, path, differences),
        (Node::List(old), Node::List(new)) => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                if same(old, new) {
                    continue;
                }
                path.push(PathSegment::Index(index));
                if has_same_shape(old, new) {
                    compare(old, new, path, differences);
                } else {
                    differences.push(Difference::Replace(path.clone(), new));
                }
                path.pop();
            }
            let added = new.iter().skip(old.len());
            differences.extend(added.map(|item| Difference::Push(path.clone(), item)));
        }
        _ => {}
    }
}

fn change(text: &[u8], differences: &[Difference<'_>]) -> Option<Vec<u8>> {
    let paths: Vec<Vec<PathSegment>> =
        differences.iter().map(|difference| difference.path().to_vec()).collect();
    let text = expand_aliases(text, &paths).ok()?;
    let outline = Outline::read(&text).ok()?;
    let root = outline.roots().next()?;
    let mut edits = Edits::new(&outline);
    for difference in differences {
        match difference {
            Difference::Set(path, new) => {
                let (parent, key) = parent_and_key(root, path)?;
                edits.set(parent, key, new);
            }
            Difference::Remove(path) => {
                let (parent, key) = parent_and_key(root, path)?;
                edits.remove(parent, key);
            }
            Difference::Replace(path, new) => edits.replace_tree(node_at(root, path)?, new),
            Difference::Push(path, new) => edits.push(node_at(root, path)?, new),
        }
    }
    edits.apply().ok()
}

fn parent_and_key<'o, 'p>(root: NodeRef<'o>, path: &'p [PathSegment]) -> Option<(NodeRef<'o>, &'p str)> {
    match path.split_last()? {
        (PathSegment::Key(key), parent) => Some((node_at(root, parent)?, key.as_ref())),
        (PathSegment::Index(_), _) => None,
    }
}

fn node_at<'o>(root: NodeRef<'o>, path: &[PathSegment]) -> Option<NodeRef<'o>> {
    path.iter().try_fold(root, |node, step| match step {
        PathSegment::Key(key) => node.get(key),
        PathSegment::Index(index) => node.items().nth(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(text: &str, wanted: &str) -> Option<String> {
        let wanted = match crate::read_exact(wanted.as_bytes()).expect("good YAML") {
            Node::Map(wanted) => wanted,
            other => panic!("{other:?} is no map"),
        };
        patch(text.as_bytes(), &wanted).map(|text| String::from_utf8(text).expect("still text"))
    }

    #[test]
    fn only_what_differs_changes() {
        let text = "# The image.\nimage:\n  tag: 'v1'   # pinned\n  name: web\n\n# More.\nports: [80]\nlist:\n- a: 1 # one\n- b\n";
        let wanted =
            "image: {tag: v2, name: web, pull: Always}\nports: [80, 81]\nlist: [{a: 2}, c]\nnew: {x: 1}\n";
        assert_eq!(
            patched(text, wanted).expect("it can be patched"),
            "# The image.\nimage:\n  tag: 'v2'   # pinned\n  name: web\n  pull: Always\n\n# More.\nports: [80, 81]\nlist:\n\
             - a: 2 # one\n- c\nnew:\n  x: 1\n"
        );
        assert_eq!(
            patched(text, "ports: [80]\n").expect("it can be patched"),
            "# The image.\n\n# More.\nports: [80]\n"
        );
        assert_eq!(patched("a: 1 # x\n", "a: 1\n").as_deref(), Some("a: 1 # x\n"));
    }

    #[test]
    fn what_is_shared_is_written_out_where_it_changes() {
        let text = "base: &base {a: 1}\none: *base\ntwo: *base # kept\n";
        let changed = patched(text, "base: {a: 1}\none: {a: 2}\ntwo: {a: 1}\n").expect("it can be patched");
        assert!(
            changed.starts_with("base: &base {a: 1}\n") && changed.ends_with("two: *base # kept\n"),
            "{changed}"
        );
    }

    #[test]
    fn a_text_of_comments_is_added_to_and_what_is_no_map_is_not_touched() {
        assert_eq!(patched("# nothing yet", "a: 1\n").as_deref(), Some("# nothing yet\na: 1\n"));
        assert_eq!(
            patched("size: 3 # whole\nb: 1\n", "size: 3\nb: 2\n").as_deref(),
            Some("size: 3 # whole\nb: 2\n")
        );
        assert_eq!(patched("- a\n", "a: 1\n"), None);
        assert_eq!(patched("a: [", "a: 1\n"), None);
    }
}

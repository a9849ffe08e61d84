//! An outline must agree with reading, and an edited text must read as if the tree had been edited. Tried on
//! recorded texts, on mutations of them and with random changes.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "all of this is a test")]

use crate::texts;

use pintle_tree::{Map, Node, Str};
use pintle_yaml::outline::{Edits, Kind, NodeRef, Outline, PathSegment, documents, expand_aliases};
use texts::{ORDINARY, Random, golden_texts, mutate};

/// Texts with what the fast reader does not know, and with what is easily written wrong.
const ODD: &[&str] = &[
    "a: &x {b: 1, c: [2, 3]}\nd: *x\ne:\n  <<: *x\n  c: !!str 5\nf: &y text\ng: *y\n",
    "a:\r\n  b: |\r\n    one\r\n    two\r\n  c: 'x'\r\n  # note\r\nd:\r\n- e: 1\r\n  f:\r\n- 2\r\n",
    "? a\n: b\n? |\n  block key\n: - one\n  - two\n? c\n",
    "{\"a\": \"b\", \"c\": {\"d\":[1,2,{\"e\":null}]}, }\n",
    "a: [b: c, ? d : e, {f, g: }, ]\nh: {i: , j: [ ]}\n",
    "- a: 1\n  b: 2\n-\n  c: 3\n- - d\n  - e\n-\n- &z f\n- *z\n",
    "a: |2\n    x\n   y\n\nb: >+\n  folded\n  text\n\n\nc: |-\n  last",
    "a: |\n  unterminated",
    "\u{feff}a: 1\nb:\n  c: \"d\\te\"\n",
    "--- # head\na: --- b\nc: \"multi\n  line\n\n  text\"\nd: plain\n  text\n",
    "base: &base\n  x: 1\n  y: {z: 2}\nuse:\n  x: 0\n  <<: [*base, {w: 3}]\n  v: 4\nlist: &l\n- *base\n- 2\nagain: *l\n",
    "a: !!binary aGk=\nb: !local x\nc: ! 12\nd: !!float 3\n!!str e: f\n",
    "a: &a\n  - &b b\n  - c: *b\nd: &d\ne: *d\n",
    "key: value # comment\nother:   'x'   # more\nempty:\nlast: ~",
];

fn all_texts() -> Vec<Vec<u8>> {
    let ordinary = ORDINARY.iter().chain(ODD).map(|text| text.as_bytes().to_vec());
    ordinary.chain(golden_texts()).collect()
}

fn rounds(usual: usize) -> usize {
    std::env::var("PINTLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

fn on_a_large_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap().join().unwrap();
}

/// The tree that an outline represents. `None` for keys that are not strings.
fn tree(place: NodeRef<'_>) -> Option<Node> {
    let place = place.target();
    Some(match place.kind() {
        Kind::Scalar(_) => place.value()?,
        Kind::Sequence => Node::List(place.items().map(tree).collect::<Option<_>>()?),
        Kind::Mapping => {
            let mut map = Map::new();
            merge_into(place, &mut map)?;
            Node::Map(map)
        }
        Kind::Alias => unreachable!("aliases were followed"),
    })
}

fn merge_into(place: NodeRef<'_>, map: &mut Map<Node>) -> Option<()> {
    for entry in place.entries() {
        if !entry.is_merge() {
            map.insert(key(entry.key)?, tree(entry.value)?);
            continue;
        }
        let merged: Vec<NodeRef<'_>> = match entry.value.kind() {
            Kind::Sequence => entry.value.items().collect(),
            _ => vec![entry.value],
        };
        for place in merged.into_iter().rev() {
            merge_into(place.target(), map)?;
        }
    }
    Some(())
}

fn key(place: NodeRef<'_>) -> Option<Str> {
    place.key().map(|text| text.as_ref().into())
}

/// Compares the outline with the tree. Returns whether there is one.
fn compare(text: &[u8]) -> bool {
    let shown = || String::from_utf8_lossy(text).into_owned();
    let read = pintle_yaml::read_exact(text);
    let outline = match (Outline::read_first(text), &read) {
        (Ok(outline), Ok(_)) => outline,
        (Err(error), Err(expected)) => {
            assert_eq!(&error, expected, "{:?}", shown());
            return false;
        }
        (Err(error), Ok(_)) => {
            assert!(error.to_string().contains("UTF-16"), "{error} in {:?}", shown());
            return false;
        }
        (Ok(_), Err(error)) => panic!("{error} in {:?}", shown()),
    };
    let root = outline.roots().next().unwrap();
    if let Some(tree) = tree(root) {
        assert_eq!(tree, read.unwrap(), "{:?}", shown());
    }
    let faithful = Outline::read_faithfully(text).unwrap();
    check_same(root, faithful.roots().next().unwrap(), &shown());
    true
}

fn check_same(one: NodeRef<'_>, two: NodeRef<'_>, shown: &str) {
    assert_eq!(
        (one.kind(), one.range(), one.is_flow()),
        (two.kind(), two.range(), two.is_flow()),
        "{shown:?}"
    );
    assert_eq!((one.line(), one.column()), (two.line(), two.column()), "{shown:?}");
    let entries = one.entries().zip(two.entries());
    for (one, two) in entries {
        check_same(one.key, two.key, shown);
        check_same(one.value, two.value, shown);
    }
    for (one, two) in one.items().zip(two.items()) {
        check_same(one, two, shown);
    }
}

#[test]
fn outlines_agree_with_parsing() {
    on_a_large_stack(|| {
        let mut random = Random(0x1234_5678_9abc_def1);
        let (mut good, mut all) = (0, 0);
        for text in all_texts() {
            good += usize::from(compare(&text));
            all += 1;
            for _ in 0..rounds(15) {
                good += usize::from(compare(&mutate(&text, &mut random)));
                all += 1;
            }
        }
        println!("{good} of {all} texts have outlines");
        assert!(good * 4 > all);
    });
}

#[test]
fn an_unchanged_text_comes_back_as_it_is() {
    for text in all_texts() {
        let Ok(outline) = Outline::read(&text) else { continue };
        assert_eq!(Edits::new(&outline).apply().unwrap(), text);
    }
}

/// Strings that are hard to write.
const STRINGS: &[&str] = &[
    "",
    "x",
    "a b",
    "yes",
    "1",
    "1.5",
    "~",
    "null",
    "a: b",
    "a #b",
    "#",
    "- x",
    "it's",
    "say \"hi\"",
    "a\nb",
    "a\nb\n",
    "\n",
    " lead",
    "trail ",
    "a\n  b\n",
    "a\n\n\nb\n\n",
    "---",
    "...",
    "é",
    "😀",
    "\u{85}",
    "\u{2028}",
    "\t",
    "a\tb",
    "a\\b",
    "{a}",
    "a,b",
    "[x]",
    "a]",
    "http://x:80/y?z#w",
    "*x",
    "&x",
    "!x",
    "|",
    ">",
    "%",
    "@a",
    "`",
    "<<",
    "=",
    "0x1f",
    "2020-01-01",
    "1:30",
    "\u{0}",
    "\u{7f}",
    "\u{feff}",
    "a:",
    ":a",
    "?",
    "? a",
    "?a",
    "-",
    "--",
    "a\r\nb",
    "key",
];

/// A change to the tree and the text alike.
#[derive(Debug)]
enum Change {
    Text(Vec<PathSegment>, &'static str),
    Set(Vec<PathSegment>, &'static str, Node),
    Remove(Vec<PathSegment>, String),
    Push(Vec<PathSegment>, Node),
    Drop(Vec<PathSegment>, usize),
}

impl Change {
    fn path(&self) -> Vec<PathSegment> {
        let with = |path: &[PathSegment], last: PathSegment| [path, &[last]].concat();
        match self {
            Change::Text(path, _) | Change::Push(path, _) => path.clone(),
            Change::Set(path, key, _) => with(path, (*key).into()),
            Change::Remove(path, key) => with(path, PathSegment::Key(key.clone().into())),
            Change::Drop(path, index) => with(path, (*index).into()),
        }
    }
}

/// A random path into a tree, and the node there.
fn way<'n>(node: &'n Node, random: &mut Random) -> (Vec<PathSegment>, &'n Node) {
    let (mut path, mut node) = (Vec::new(), node);
    loop {
        match node {
            Node::Map(map) if !map.is_empty() && random.below(5) > 0 => {
                let (key, value) = &map.entries()[random.below(map.len())];
                let Some(key) = key.as_str() else { return (path, node) };
                path.push(PathSegment::Key(key.to_owned().into()));
                node = value;
            }
            Node::List(items) if !items.is_empty() && random.below(5) > 0 => {
                let index = random.below(items.len());
                path.push(index.into());
                node = &items[index];
            }
            _ => return (path, node),
        }
    }
}

fn choose(tree: &Node, random: &mut Random) -> Option<Change> {
    let (path, node) = way(tree, random);
    let string = STRINGS[random.below(STRINGS.len())];
    let value = match random.below(4) {
        0 => pintle_yaml::read_exact(b"[{name: a, value: '1'}, {name: b}]").unwrap(),
        1 => pintle_yaml::read_exact(b"{k: [1, {}], l: {m: 'x, y'}}").unwrap(),
        _ => string.into(),
    };
    Some(match node {
        Node::Map(map) => match random.below(3) {
            0 if !map.is_empty() => {
                let key = map.entries()[random.below(map.len())].0.as_str()?.to_owned();
                Change::Remove(path, key)
            }
            1 => Change::Set(path, "name", value),
            _ => Change::Set(path, "new key", value),
        },
        Node::List(items) => match random.below(2) {
            0 if !items.is_empty() => Change::Drop(path, random.below(items.len())),
            _ => Change::Push(path, value),
        },
        _ => Change::Text(path, string),
    })
}

fn at_mut<'n>(mut node: &'n mut Node, path: &[PathSegment]) -> Option<&'n mut Node> {
    for step in path {
        node = match (node, step) {
            (Node::Map(map), PathSegment::Key(key)) => map.get_mut(key.as_bytes())?,
            (Node::List(items), PathSegment::Index(index)) => items.get_mut(*index)?,
            _ => return None,
        };
    }
    Some(node)
}

fn node_at<'o>(outline: &'o Outline<'o>, path: &[PathSegment]) -> Option<NodeRef<'o>> {
    let mut place = outline.roots().next()?;
    for step in path {
        place = match step {
            PathSegment::Key(key) => place.get(key)?,
            PathSegment::Index(index) => place.items().nth(*index)?,
        };
    }
    Some(place)
}

fn change_tree(tree: &mut Node, change: &Change) -> Option<()> {
    match change {
        Change::Text(path, text) => *at_mut(tree, path)? = (*text).into(),
        Change::Set(path, key, value) => {
            drop(at_mut(tree, path)?.as_map_mut()?.insert((*key).into(), value.clone()))
        }
        Change::Remove(path, key) => drop(at_mut(tree, path)?.as_map_mut()?.remove(key)),
        Change::Push(path, value) => match at_mut(tree, path)? {
            Node::List(items) => items.push(value.clone()),
            _ => return None,
        },
        Change::Drop(path, index) => match at_mut(tree, path)? {
            Node::List(items) => drop(items.remove(*index)),
            _ => return None,
        },
    }
    Some(())
}

fn change_text<'o>(edits: &mut Edits<'o>, outline: &'o Outline<'o>, change: &Change) -> Option<()> {
    match change {
        Change::Text(path, text) => edits.replace_scalar(node_at(outline, path)?, text),
        Change::Set(path, key, value) => edits.set(node_at(outline, path)?, key, value),
        Change::Remove(path, key) => edits.remove(node_at(outline, path)?, key),
        Change::Push(path, value) => edits.push(node_at(outline, path)?, value),
        Change::Drop(path, index) => {
            let list = node_at(outline, path)?;
            edits.remove_item(list, list.items().nth(*index)?);
        }
    }
    Some(())
}

/// Whether unread text follows a document, even if it is only a tab.
fn has_text_behind(root: NodeRef<'_>) -> bool {
    let rest = &root.outline().text()[root.range().end..];
    rest.split(|byte| b"\r\n".contains(byte)).any(|line| {
        let first = line.iter().find(|byte| **byte != b' ');
        first.is_some_and(|byte| *byte != b'#')
    })
}

/// Makes up to three edits to a text and compares. Returns whether there was anything to compare.
fn edit(text: &[u8], random: &mut Random) -> bool {
    let shown = || String::from_utf8_lossy(text).into_owned();
    let (Ok(outline), Ok(before)) = (Outline::read_first(text), pintle_yaml::read_exact(text)) else {
        return false;
    };
    let root = outline.roots().next().unwrap();
    // Unread text after a document might be read after a change.
    if tree(root).is_none() || documents(text).count() != 1 || before.is_nil() || has_text_behind(root) {
        return false;
    }
    let mut after = before.clone();
    let mut changes: Vec<Change> = Vec::new();
    for _ in 0..=random.below(3) {
        let Some(change) = choose(&before, random) else { continue };
        let path = change.path();
        let apart = |other: &Change| {
            let other = other.path();
            !other.starts_with(&path) && !path.starts_with(&other) && !(matches!(change, Change::Drop(..)))
        };
        if changes.iter().all(|other| apart(other) && !matches!(other, Change::Drop(..))) {
            changes.push(change);
        }
    }
    for change in &changes {
        if change_tree(&mut after, change).is_none() {
            return false;
        }
    }
    let paths: Vec<Vec<PathSegment>> = changes.iter().map(Change::path).collect();
    let spelled = expand_aliases(text, &paths).unwrap();
    assert_eq!(
        pintle_yaml::read_exact(&spelled).as_ref(),
        Ok(&before),
        "{changes:?} spelled out of {:?}",
        shown()
    );
    let outline = Outline::read_first(&spelled).unwrap();
    let mut edits = Edits::new(&outline);
    for change in &changes {
        change_text(&mut edits, &outline, change).unwrap_or_else(|| panic!("{change:?} of {:?}", shown()));
    }
    let edited = edits.apply().unwrap_or_else(|error| panic!("{error}: {changes:?} of {:?}", shown()));
    let read = pintle_yaml::read_exact(&edited);
    assert_eq!(read, Ok(after), "{changes:?} of {:?} gave {:?}", shown(), String::from_utf8_lossy(&edited));
    true
}

#[test]
fn edited_texts_read_as_edited_trees() {
    on_a_large_stack(|| {
        let mut random = Random(0x0fed_cba9_8765_4321);
        let mut edited = 0;
        for text in all_texts() {
            for _ in 0..rounds(12) {
                edited += usize::from(edit(&text, &mut random));
                edited += usize::from(edit(&mutate(&text, &mut random), &mut random));
            }
        }
        println!("{edited} texts were edited");
        assert!(edited > 300);
    });
}

#[test]
fn changes_leave_comments_and_order_alone() {
    let text = "# head\nmetadata:\n  name: a   # the name\n  annotations:\n    one: 'x'\n    # about two\n    two: 1 # gone\n\
                spec:\n  list:\n  - a: 1\n    b: 2\n  # tail\n";
    let outline = Outline::read(text.as_bytes()).unwrap();
    let root = outline.roots().next().unwrap();
    let metadata = root.get("metadata").unwrap();
    let annotations = metadata.get("annotations").unwrap();
    let item = root.get("spec").unwrap().get("list").unwrap().items().next().unwrap();
    let mut edits = Edits::new(&outline);
    edits.replace_scalar(metadata.get("name").unwrap(), "b");
    edits.set(annotations, "one", &"it's".into());
    edits.remove(annotations, "two");
    edits.set(annotations, "three", &"3".into());
    edits.remove(item, "a");
    edits.set(item, "env", &pintle_yaml::read_exact(b"[{name: m, value: v}]").unwrap());
    assert_eq!(
        String::from_utf8(edits.apply().unwrap()).unwrap(),
        "# head\nmetadata:\n  name: b   # the name\n  annotations:\n    one: 'it''s'\n    three: \"3\"\n    # about two\n\
         spec:\n  list:\n  - b: 2\n    env:\n    - name: m\n      value: v\n  # tail\n"
    );
}

#[test]
fn overlapping_changes_are_refused() {
    let outline = Outline::read(b"a: {b: 1}\n").unwrap();
    let a = outline.roots().next().unwrap().get("a").unwrap();
    let mut edits = Edits::new(&outline);
    edits.replace_scalar(a, "x");
    edits.replace_scalar(a.get("b").unwrap(), "y");
    assert_eq!(edits.apply().unwrap_err().to_string(), "two changes to line 1 are about the same text");
}

#[test]
fn shared_nodes_are_recognised_and_later_documents_counted() {
    let text = b"a: &x {b: 1}\nc: *x\nd: 2\n---\n# nothing\n---\ne: [1]\n";
    let outline = Outline::read(text).unwrap();
    let roots: Vec<NodeRef<'_>> = outline.roots().collect();
    assert!(
        roots[0].get("a").unwrap().get("b").unwrap().is_shared() && !roots[0].get("d").unwrap().is_shared()
    );
    assert_eq!(roots[1].range().len(), 0);
    assert_eq!(roots[2].get("e").unwrap().line(), 7);
    let error = Outline::read(b"a: 1\n---\nb: c: d\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the document that begins on line 2: error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context"
    );
}

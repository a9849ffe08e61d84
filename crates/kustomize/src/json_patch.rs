//! JSON patches (RFC 6902), with what the library that kustomize uses makes of them: `replace` sets a field that is not
//! there, and negative indices count from the end.

use pintle_tree::{Map, Node, Segment, Str, ValuePath};

/// An operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    op: String,
    path: String,
    from: Option<String>,
    value: Option<Node>,
}

/// The operations of a patch.
pub(crate) fn parse(patch: &Node) -> Result<Vec<Operation>, String> {
    let list = patch.as_list().ok_or("a JSON patch is a list")?;
    let operation = |(index, item): (usize, &Node)| {
        let map = item.as_map().ok_or_else(|| format!("operation {index} is no map"))?;
        let text = |key: &str| map.get(key).and_then(Node::as_str).map(str::to_owned);
        Ok(Operation {
            op: text("op").unwrap_or_default(),
            path: text("path").ok_or_else(|| format!("operation {index} has no path"))?,
            from: text("from"),
            value: map.get("value").cloned(),
        })
    };
    list.iter().enumerate().map(operation).collect()
}

/// Applies operations to a tree, copying at most `size` nodes, and returns the paths that changed, each with the index of
/// its operation.
pub(crate) fn apply(
    root: &mut Node,
    operations: &[Operation],
    size: usize,
) -> Result<Vec<(usize, ValuePath)>, String> {
    let mut changed = Vec::new();
    let mut budget = size;
    for (index, operation) in operations.iter().enumerate() {
        let outcome = apply_one(root, operation, &mut budget);
        let paths = outcome.map_err(|error| {
            format!("operation {} ({} {}): {error}", index + 1, operation.op, operation.path)
        })?;
        changed.extend(paths.into_iter().map(|path| (index, path)));
    }
    Ok(changed)
}

fn apply_one(root: &mut Node, operation: &Operation, budget: &mut usize) -> Result<Vec<ValuePath>, String> {
    let value = || operation.value.clone().unwrap_or_default();
    let from = || operation.from.as_deref().ok_or("from is missing");
    let path = operation.path.as_str();
    match operation.op.as_str() {
        "add" => add(root, path, value()).map(|path| vec![path]),
        "remove" => remove(root, path).map(|(path, _)| vec![path]),
        "replace" => replace(root, path, value()).map(|path| vec![path]),
        "move" => {
            let (old, value) = remove(root, from()?)?;
            Ok(vec![old, add(root, path, value)?])
        }
        "copy" => {
            let value = find(root, from()?)?.clone();
            // Copies of copies grow without bound.
            *budget = budget.checked_sub(count(&value)).ok_or("the copies make the object too large")?;
            add(root, path, value).map(|path| vec![path])
        }
        "test" => match find(root, path) {
            Ok(found) if equal(found, &value()) => Ok(Vec::new()),
            Err(_) if operation.value.as_ref().is_some_and(Node::is_nil) => Ok(Vec::new()),
            _ => Err("the value is not the one that the test asks for".to_owned()),
        },
        other => Err(format!("there is no operation {other:?}")),
    }
}

fn count(node: &Node) -> usize {
    match node {
        Node::List(list) => 1 + list.iter().map(count).sum::<usize>(),
        Node::Map(map) => 1 + map.values().map(count).sum::<usize>(),
        Node::Str(text) => 1 + text.len() / 64,
        _ => 1,
    }
}

fn equal(one: &Node, other: &Node) -> bool {
    match (one, other) {
        (Node::Int(one), Node::Float(other)) | (Node::Float(other), Node::Int(one)) => *one as f64 == *other,
        (Node::List(one), Node::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Node::Map(one), Node::Map(other)) => {
            one.len() == other.len()
                && one.iter().zip(other.iter()).all(|((a, one), (b, other))| a == b && equal(one, other))
        }
        _ => one == other,
    }
}

/// The parts of a pointer.
fn parts(pointer: &str) -> Result<Vec<Str>, String> {
    let mut parts = pointer.split('/');
    parts.next();
    let parts: Vec<Str> = parts.map(|part| part.replace("~1", "/").replace("~0", "~").into()).collect();
    if parts.is_empty() { Err("the path is empty".to_owned()) } else { Ok(parts) }
}

fn missing() -> String {
    "there is no such path".to_owned()
}

/// The index that a part of a pointer means in a list of a length.
fn index_of(part: &Str, length: usize, end: usize) -> Result<usize, String> {
    let index = part.as_str().and_then(|part| part.parse::<i64>().ok());
    let index = index.ok_or_else(|| format!("{part:?} is not an index"))?;
    let index = if index < 0 { index.checked_add_unsigned(length as u64) } else { Some(index) };
    let index = index.and_then(|index| usize::try_from(index).ok());
    index.filter(|index| *index < end).ok_or_else(|| format!("the list has no item {part}"))
}

/// The collection around the target of a pointer, its path, and the last part.
fn around<'n>(root: &'n mut Node, pointer: &str) -> Result<(&'n mut Node, ValuePath, Str), String> {
    let mut parts = parts(pointer)?;
    let last = parts.pop().unwrap_or_default();
    let (mut node, mut path) = (root, ValuePath::root());
    for part in parts {
        node = match node {
            Node::Map(map) => {
                path = path.key(part.clone());
                map.get_mut(&part).ok_or_else(missing)?
            }
            Node::List(list) => {
                let index = index_of(&part, list.len(), list.len())?;
                path = path.index(index);
                &mut list[index]
            }
            _ => return Err(missing()),
        };
    }
    Ok((node, path, last))
}

fn find<'n>(root: &'n mut Node, pointer: &str) -> Result<&'n mut Node, String> {
    if pointer.is_empty() {
        return Ok(root);
    }
    let (node, _, last) = around(root, pointer)?;
    match node {
        Node::Map(map) => map.get_mut(&last).ok_or_else(missing),
        Node::List(list) => {
            let index = index_of(&last, list.len(), list.len())?;
            Ok(&mut list[index])
        }
        _ => Err(missing()),
    }
}

fn add(root: &mut Node, pointer: &str, value: Node) -> Result<ValuePath, String> {
    let (node, path, last) = around(root, pointer)?;
    match node {
        Node::Map(map) => {
            map.insert(last.clone(), value);
            Ok(path.key(last))
        }
        Node::List(list) => {
            let length = list.len();
            let index = match last.as_bytes() {
                b"-" => length,
                _ => index_of(&last, length + 1, length + 1)?,
            };
            list.insert(index, value);
            Ok(path.with(Segment::Index(index)))
        }
        _ => Err(missing()),
    }
}

fn remove(root: &mut Node, pointer: &str) -> Result<(ValuePath, Node), String> {
    let (node, path, last) = around(root, pointer)?;
    match node {
        Node::Map(map) => {
            let value = map.remove(&last).ok_or_else(missing)?;
            Ok((path.key(last), value))
        }
        Node::List(list) => {
            let index = index_of(&last, list.len(), list.len())?;
            Ok((path.index(index), list.remove(index)))
        }
        _ => Err(missing()),
    }
}

fn replace(root: &mut Node, pointer: &str, value: Node) -> Result<ValuePath, String> {
    if pointer.is_empty() {
        let Node::Map(_) = value else { return Err("an object can only be replaced by a map".to_owned()) };
        *root = value;
        return Ok(ValuePath::root());
    }
    let (node, path, last) = around(root, pointer)?;
    match node {
        Node::Map(map) => {
            map.insert(last.clone(), value);
            Ok(path.key(last))
        }
        Node::List(list) => {
            let index = index_of(&last, list.len(), list.len())?;
            list[index] = value;
            Ok(path.index(index))
        }
        _ => Err(missing()),
    }
}

/// Whether a node may be a patch: a list of maps.
pub(crate) fn looks_like_patch(node: &Node) -> bool {
    node.as_list().is_some_and(|list| {
        list.iter().all(|item| item.as_map().is_some_and(|map: &Map<Node>| !map.is_empty()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(object: &str, patch: &str) -> Result<String, String> {
        let read = |text: &str| pintle_yaml::read_exact(text.as_bytes()).expect("YAML");
        let mut node = read(object);
        apply(&mut node, &parse(&read(patch))?, 1_000)?;
        Ok(String::from_utf8(pintle_tree::json::write(&node).expect("JSON")).expect("text"))
    }

    #[test]
    fn operations_have_their_effects() {
        for (patch, expected) in [
            ("[{op: add, path: /a/-, value: 3}]", r#"{"a":[1,2,3]}"#),
            ("[{op: add, path: /a/0, value: 3}]", r#"{"a":[3,1,2]}"#),
            ("[{op: remove, path: /a/-1}]", r#"{"a":[1]}"#),
            ("[{op: replace, path: /b~1c, value: {x: 1}}]", r#"{"a":[1,2],"b/c":{"x":1}}"#),
            ("[{op: move, from: /a/0, path: /b}]", r#"{"a":[2],"b":1}"#),
            (
                "[{op: test, path: /a/0, value: 1}, {op: copy, from: /a, path: /b}]",
                r#"{"a":[1,2],"b":[1,2]}"#,
            ),
        ] {
            assert_eq!(patched("{a: [1, 2]}", patch).as_deref(), Ok(expected), "{patch}");
        }
    }

    #[test]
    fn wrong_operations_are_named_with_their_number() {
        let error =
            patched("{a: 1}", "[{op: test, path: /a, value: 1}, {op: remove, path: /b}]").unwrap_err();
        assert_eq!(error, "operation 2 (remove /b): there is no such path");
        assert!(patched("{a: [1]}", "[{op: add, path: /a/5, value: 1}]").is_err());
        assert!(patched("{a: 1}", "[{op: add, path: /x/y, value: 1}]").is_err());
    }

    #[test]
    fn copies_are_bounded() {
        let patch: String =
            (0..30).map(|number| format!("{{op: copy, from: '', path: /x{number}}}, ")).collect();
        assert!(patched("{a: 1}", &format!("[{patch}]")).expect_err("2^30 nodes").contains("too large"));
    }
}

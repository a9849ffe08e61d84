//! Go's text for a value of the wrong type, which names the path of the value.

use super::scan::Scanner;
use crate::{Node, with_stack};

/// The text of Go 1.27 for a value that does not fit. `found` is the JSON type, or `number` and its digits. `root` is the Go
/// type of the document; it has no name where Helm decodes YAML. `path` is as [`path_of`] writes it, and empty for the
/// document itself.
pub fn type_error(found: &str, root: &str, path: &str, wanted: &str) -> String {
    if path.is_empty() {
        return format!("json: cannot unmarshal {found} into Go value of type {wanted}");
    }
    // Go takes a number at the end for the index of a slice, also if it is the key of a map.
    let last = path.rsplit('.').next().unwrap_or_default();
    let is_index = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let into = if is_index { "" } else { "Go struct field " };
    format!("json: cannot unmarshal {found} into {into}{root}.{path} of type {wanted}")
}

/// The path from `root` to a node inside of it, found by its address: `dependencies.0.condition`. Empty for `root` itself and for
/// a node that is elsewhere.
///
/// Decoders look for the path only once there is an error, so that good documents do not pay for it.
pub fn path_of(root: &Node, target: *const Node) -> String {
    let mut path = String::new();
    if !descend(root, target, &mut path) {
        path.clear();
    }
    path
}

fn descend(node: &Node, target: *const Node, path: &mut String) -> bool {
    if std::ptr::eq(node, target) {
        return true;
    }
    let length = path.len();
    let mut enter = |child: &Node, push: &dyn Fn(&mut String)| {
        push(path);
        let found = with_stack(|| descend(child, target, path));
        if !found {
            path.truncate(length);
        }
        found
    };
    match node {
        Node::List(items) => {
            items.iter().enumerate().any(|(index, item)| enter(item, &|path| push_index(path, index)))
        }
        Node::Map(map) => map.iter().any(|(key, value)| enter(value, &|path| push_key(path, key.as_bytes()))),
        _ => false,
    }
}

/// Adds an index to a path.
pub fn push_index(path: &mut String, index: usize) {
    push_key(path, itoa::Buffer::new().format(index).as_bytes());
}

/// Adds a key to a path. Go derives it from a JSON pointer, whose escapes stay.
pub fn push_key(path: &mut String, key: &[u8]) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&String::from_utf8_lossy(key).replace('~', "~0").replace('/', "~1"));
}

/// A list or map around a position in a text.
enum Around {
    List(usize),
    Map { key: Vec<u8>, awaits_key: bool },
}

/// The path of the value that ends at `end` in a text that is good up to there.
pub(super) fn path_at(text: &[u8], end: usize) -> String {
    let mut scanner = Scanner { text, at: 0, stream: true };
    let mut around: Vec<Around> = Vec::new();
    while scanner.at < end {
        let Some(byte) = scanner.peek() else { break };
        match byte {
            b'"' => {
                let Ok(string) = scanner.string() else { break };
                if let Some(Around::Map { key, awaits_key: awaits_key @ true }) = around.last_mut() {
                    *key = string.as_bytes().to_vec();
                    *awaits_key = false;
                }
                continue;
            }
            b'[' => around.push(Around::List(0)),
            b'{' => around.push(Around::Map { key: Vec::new(), awaits_key: true }),
            b']' | b'}' => drop(around.pop()),
            b',' => match around.last_mut() {
                Some(Around::List(index)) => *index += 1,
                Some(Around::Map { awaits_key, .. }) => *awaits_key = true,
                None => {}
            },
            // Parts of a number, a word or a colon.
            _ => {}
        }
        scanner.at += 1;
    }
    let mut path = String::new();
    for step in &around {
        match step {
            Around::List(index) => push_index(&mut path, *index),
            Around::Map { key, .. } => push_key(&mut path, key),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn a_path_has_keys_as_written_and_indexes() {
        let root = json::read(br#"{"a/b":[{"c~":1}],"d":2}"#).unwrap();
        let inner = root.get("a/b").unwrap().as_list().unwrap()[0].get("c~").unwrap();
        assert_eq!(path_of(&root, inner), "a~1b.0.c~0");
        assert_eq!(path_of(&root, root.get("d").unwrap()), "d");
        assert_eq!(path_of(&root, &root), "");
    }

    #[test]
    fn an_index_at_the_end_is_no_struct_field() {
        let text = |path: &str| type_error("bool", "", path, "string");
        assert_eq!(text(""), "json: cannot unmarshal bool into Go value of type string");
        assert_eq!(text("a.b"), "json: cannot unmarshal bool into Go struct field .a.b of type string");
        assert_eq!(text("a.12"), "json: cannot unmarshal bool into .a.12 of type string");
        assert_eq!(text("a."), "json: cannot unmarshal bool into Go struct field .a. of type string");
    }
}

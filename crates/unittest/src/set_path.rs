//! The keys of `set`: paths like those of `--set`, with `["a.b"]` for keys that contain dots.

use pintle_tree::{Map, Node, Str};

/// A step of a path.
enum Cursor {
    Key(String),
    Index(usize),
}

/// The largest index of a list: lists are filled with nulls up to it.
const MAX_INDEX: usize = 65_536;

/// Returns the values that have only this value at this path. Items of a list before the index are null.
///
/// # Errors
/// When the path is malformed, with helm-unittest's text.
pub(crate) fn build(path: &str, value: &Node) -> Result<Map<Node>, String> {
    if path.is_empty() {
        return Err("set path is empty".to_owned());
    }
    let mut node = value.clone();
    for cursor in cursors(path)?.into_iter().rev() {
        node = match cursor {
            Cursor::Key(key) => Node::Map(Map::from_entries(vec![(Str::from(key), node)])),
            Cursor::Index(index) => {
                let mut items = vec![Node::Nil; index];
                items.push(node);
                Node::List(items)
            }
        };
    }
    match node {
        Node::Map(map) => Ok(map),
        _ => Err("missing index value".to_owned()),
    }
}

enum State {
    Key,
    Index,
    /// After a closing bracket.
    Denotation,
    /// In brackets that hold a key.
    Escaped(String),
}

fn cursors(path: &str) -> Result<Vec<Cursor>, String> {
    let mut cursors = Vec::new();
    let mut state = State::Key;
    let mut rest = path;
    loop {
        let end = rest.find(['.', '[', ']', ',', '{', '}', '=']);
        let text = &rest[..end.unwrap_or(rest.len())];
        let Some(stop) = end.and_then(|end| rest[end..].chars().next()) else {
            return match state {
                State::Key if !text.is_empty() => {
                    cursors.push(Cursor::Key(text.to_owned()));
                    Ok(cursors)
                }
                State::Denotation if text.is_empty() => Ok(cursors),
                _ => Err("unexpected end of".to_owned()),
            };
        };
        if matches!(stop, ',' | '{' | '}' | '=') {
            return Err(format!("invalid token found {stop}"));
        }
        rest = &rest[text.len() + 1..];
        state = match (state, stop) {
            (State::Key, '.') => {
                cursors.push(Cursor::Key(text.to_owned()));
                State::Key
            }
            (State::Key, '[') if text.is_empty() => State::Escaped(String::new()),
            (State::Key, '[') => {
                cursors.push(Cursor::Key(text.to_owned()));
                State::Index
            }
            (State::Key, _) => return Err(format!("invalid key {stop}")),
            (State::Index, ']') => {
                let index: usize =
                    text.parse().map_err(|_| format!("strconv.Atoi: parsing {text:?}: invalid syntax"))?;
                if index > MAX_INDEX {
                    return Err(format!(
                        "index of {index} is greater than maximum supported index of {MAX_INDEX}"
                    ));
                }
                cursors.push(Cursor::Index(index));
                State::Denotation
            }
            (State::Index, _) => return Err("missing index value".to_owned()),
            (State::Denotation, '.') => State::Key,
            (State::Denotation, '[') => State::Index,
            (State::Denotation, _) => return Err(format!("invalid denotation token {stop}")),
            (State::Escaped(key), '.') => State::Escaped(format!("{key}{text}.")),
            (State::Escaped(key), ']') => {
                cursors.push(Cursor::Key(format!("{key}{text}")));
                State::Denotation
            }
            (State::Escaped(_), _) => return Err(format!("invalid escaping token {stop}")),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_build_maps_and_lists() {
        for (path, expected) in [
            ("a", "{a: 1}"),
            ("a.b", "{a: {b: 1}}"),
            ("a[2]", "{a: [null, null, 1]}"),
            ("a[0].b", "{a: [{b: 1}]}"),
            ("a[0][1]", "{a: [[null, 1]]}"),
            ("a.[b.c/d]", "{a: {b.c/d: 1}}"),
            ("[a.b].c", "{a.b: {c: 1}}"),
        ] {
            let expected = crate::document::read(expected.as_bytes()).unwrap();
            assert_eq!(Node::Map(build(path, &Node::Int(1)).unwrap()), expected, "{path}");
        }
    }

    #[test]
    fn malformed_paths_are_errors() {
        for (path, expected) in [
            ("", "set path is empty"),
            ("a.", "unexpected end of"),
            ("a=b", "invalid token found ="),
            ("a[x]", "strconv.Atoi: parsing \"x\": invalid syntax"),
            ("a[0]b", "unexpected end of"),
            ("a]", "invalid key ]"),
            ("a[99999]", "index of 99999 is greater than maximum supported index of 65536"),
        ] {
            assert_eq!(build(path, &Node::Nil).unwrap_err(), expected, "{path}");
        }
    }
}

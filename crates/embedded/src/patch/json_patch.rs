//! JSON patch (RFC 6902), with the deviations of the Go library that the server uses: absent fields can be replaced
//! and copied, negative indices count from the end, and everything before the first slash of a path is ignored.

use pintle_tree::{Map, Node, Str};

use super::Patched;
use crate::decoding::raw_json::RawJson;
use crate::status::{Status, StatusDetails};

/// The limit of operations per patch, as in the real server (`maxJSONPatchOperations`).
const MAX_OPERATIONS: usize = 10_000;

/// Applies a JSON patch.
///
/// # Errors
///
/// When the patch is not a list of operations, or one of them cannot be applied.
pub fn json_patch(document: &Node, patch: &[u8]) -> Result<Patched, Status> {
    let refuse = |text: String| Status::bad_request(format!("error decoding patch: {text}"));
    let raw = RawJson::parse(patch).map_err(|error| refuse(error.kubernetes_text().to_owned()))?;
    let RawJson::List(operations) = &raw else {
        let kind = raw.json_type();
        return Err(refuse(format!(
            "json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"
        )));
    };
    if operations.len() > MAX_OPERATIONS {
        let message = format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity is too large: {message}"),
        )
        .with_details(StatusDetails::default()));
    }
    let operations = operations.iter().map(Operation::read).collect::<Result<Vec<_>, _>>().map_err(refuse)?;
    let mut object = document.clone();
    for operation in &operations {
        operation.execute(&mut object).ok_or_else(does_not_apply)?;
    }
    Ok(Patched { object, strict: raw.duplicates() })
}

/// The server does not say which operation failed.
fn does_not_apply() -> Status {
    let message = "the server rejected our request due to an error in our request";
    Status::new(422, "Invalid", message).with_details(StatusDetails::default())
}

struct Operation {
    name: Str,
    path: Option<Str>,
    from: Option<Str>,
    value: Node,
}

impl Operation {
    fn read(raw: &RawJson) -> Result<Operation, String> {
        let RawJson::Map(entries) = raw else {
            let kind = raw.json_type();
            return Err(format!("json: cannot unmarshal {kind} into Go value of type handlers.jsonPatchOp"));
        };
        let mut operation = Operation { name: Str::default(), path: None, from: None, value: Node::Nil };
        for (key, value) in entries {
            let text = || match value {
                RawJson::Str(text) => Ok(Some(text.clone())),
                RawJson::Nil => Ok(None),
                other => Err(format!(
                    "json: cannot unmarshal {} into Go struct field jsonPatchOp.{key} of type string",
                    other.json_type()
                )),
            };
            match key.as_str() {
                Some("op") => operation.name = text()?.unwrap_or_default(),
                Some("path") => operation.path = text()?,
                Some("from") => operation.from = text()?,
                Some("value") => operation.value = value.node(),
                _ => {}
            }
        }
        Ok(operation)
    }

    fn execute(&self, document: &mut Node) -> Option<()> {
        let path = self.path.as_ref()?;
        match self.name.as_str()? {
            "add" => add(document, path, self.value.clone()),
            "remove" => remove(document, path).map(|_| ()),
            "replace" if path.is_empty() => {
                // The library replaces the document as a whole only by one that it can apply further operations to.
                let is_container = matches!(self.value, Node::Map(_) | Node::List(_));
                is_container.then(|| *document = self.value.clone())
            }
            "replace" => replace(document, path, self.value.clone()),
            "move" => {
                let value = remove(document, self.from.as_ref()?)?;
                add(document, path, value)
            }
            "copy" => {
                let (parent, key) = parent(document, self.from.as_ref()?)?;
                let value = read(parent, &key)?.cloned().unwrap_or_default();
                add(document, path, value)
            }
            "test" => test(document, path, &self.value).then_some(()),
            _ => None,
        }
    }
}

/// The segments of a path; everything before the first slash is ignored.
fn segments(path: &Str) -> Option<Vec<Str>> {
    let mut segments: Vec<Str> = path.as_bytes().split(|byte| *byte == b'/').map(unescaped).collect();
    (segments.len() >= 2).then(|| segments.split_off(1))
}

fn unescaped(segment: &[u8]) -> Str {
    if !segment.contains(&b'~') {
        return Str::from(segment);
    }
    let text = String::from_utf8_lossy(segment);
    // In this order, as RFC 6901 demands: `~01` is `~1`, not a slash.
    Str::from(text.replace("~1", "/").replace("~0", "~"))
}

/// The parent of the target, and the last segment.
fn parent<'n>(document: &'n mut Node, path: &Str) -> Option<(&'n mut Node, Str)> {
    let mut segments = segments(path)?;
    let last = segments.pop()?;
    let mut at = document;
    for segment in &segments {
        at = match at {
            Node::Map(map) => map.get_mut(segment)?,
            Node::List(list) => {
                let index = index(segment, list.len())?;
                list.get_mut(index)?
            }
            _ => return None,
        };
    }
    matches!(at, Node::Map(_) | Node::List(_)).then_some((at, last))
}

/// Parses an index below `length`; negative ones count from the end.
fn index(segment: &Str, length: usize) -> Option<usize> {
    let number: i64 = segment.as_str()?.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let number = if number < 0 { number + length } else { number };
    (0..length).contains(&number).then_some(number as usize)
}

/// The target of a segment: a field may be absent, a list element may not.
fn read<'n>(parent: &'n Node, key: &Str) -> Option<Option<&'n Node>> {
    match parent {
        Node::Map(map) => Some(map.get(key)),
        Node::List(list) => Some(list.get(index(key, list.len())?)),
        _ => None,
    }
}

fn add(document: &mut Node, path: &Str, value: Node) -> Option<()> {
    match parent(document, path)? {
        (Node::Map(map), key) => {
            map.insert(key, value);
        }
        (Node::List(list), key) => {
            let at = if key == "-" { list.len() } else { index(&key, list.len() + 1)? };
            list.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(document: &mut Node, path: &Str) -> Option<Node> {
    match parent(document, path)? {
        (Node::Map(map), key) => map.remove(&key),
        (Node::List(list), key) => {
            let at = index(&key, list.len())?;
            Some(list.remove(at))
        }
        _ => None,
    }
}

fn replace(document: &mut Node, path: &Str, value: Node) -> Option<()> {
    match parent(document, path)? {
        (Node::Map(map), key) => {
            map.insert(key, value);
        }
        (Node::List(list), key) => {
            let at = index(&key, list.len())?;
            list[at] = value;
        }
        _ => return None,
    }
    Some(())
}

fn test(document: &mut Node, path: &Str, wanted: &Node) -> bool {
    if path.is_empty() {
        return equal(document, wanted);
    }
    let Some((parent, key)) = parent(document, path) else { return false };
    match read(parent, &key) {
        Some(found) => equal(found.unwrap_or(&Node::Nil), wanted),
        None => false,
    }
}

/// Equality that does not depend on how numbers are written.
fn equal(left: &Node, right: &Node) -> bool {
    match (left, right) {
        (Node::Int(left), Node::Float(right)) | (Node::Float(right), Node::Int(left)) => {
            *left as f64 == *right
        }
        (Node::List(left), Node::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Node::Map(left), Node::Map(right)) => {
            let entries = |map: &Map<Node>| map.len();
            entries(left) == entries(right)
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use pintle_tree::json;

    use super::*;

    fn patched(patch: &str) -> Result<String, String> {
        let document = json::read_exact(br#"{"data":{"a":"1","b":"2"},"list":["x","y"],"a~b/c":1}"#).unwrap();
        let patched = json_patch(&document, patch.as_bytes()).map_err(|status| status.message)?;
        Ok(String::from_utf8(json::write_raw(&patched.object).unwrap()).unwrap())
    }

    #[test]
    fn operations_have_the_results_of_the_server() {
        let cases = [
            (r#"{"op":"replace","path":"/data/zz","value":"9"}"#, r#""data":{"a":"1","b":"2","zz":"9"}"#),
            (r#"{"op":"copy","from":"/data/q","path":"/data/r"}"#, r#""data":{"a":"1","b":"2","r":null}"#),
            (r#"{"op":"move","from":"/data/a","path":"/data/r"}"#, r#""data":{"b":"2","r":"1"}"#),
            (r#"{"op":"add","path":"/list/-","value":1}"#, r#""list":["x","y",1]"#),
            (r#"{"op":"add","path":"/list/0","value":1}"#, r#""list":[1,"x","y"]"#),
            (r#"{"op":"remove","path":"/list/-1"}"#, r#""list":["x"]"#),
            (r#"{"op":"remove","path":"/a~0b~1c"}"#, r#"{"data""#),
            (r#"{"op":"add","path":"data/r","value":1}"#, r#""r":1"#),
            (r#"{"op":"test","path":"/data/q","value":null}"#, r#""a~b/c":1"#),
        ];
        for (operation, part) in cases {
            let whole = patched(&format!("[{operation}]")).unwrap();
            assert!(whole.contains(part), "{operation}: {whole}");
        }
    }

    #[test]
    fn operations_that_fail_are_rejected_without_a_reason() {
        let cases = [
            r#"{"op":"remove","path":"/data/zz"}"#,
            r#"{"op":"add","path":"/foo/bar","value":1}"#,
            r#"{"op":"test","path":"/data/a","value":"7"}"#,
            r#"{"op":"move","from":"/data/q","path":"/data/r"}"#,
            r#"{"op":"copy","path":"/data/r"}"#,
            r#"{"op":"bogus","path":"/data/r"}"#,
            r#"{"path":"/data/r"}"#,
            r#"{"op":"add","value":1}"#,
            r#"{"op":"remove","path":""}"#,
            r#"{"op":"add","path":"/list/5","value":1}"#,
            r#"{"op":"replace","path":"/list/x","value":1}"#,
        ];
        for operation in cases {
            assert!(
                patched(&format!("[{operation}]")).unwrap_err().starts_with("the server rejected"),
                "{operation}"
            );
        }
    }

    #[test]
    fn invalid_json_patches_are_rejected() {
        let start = "error decoding patch: json: cannot unmarshal";
        assert_eq!(
            patched("{}").unwrap_err(),
            format!("{start} object into Go value of type []handlers.jsonPatchOp")
        );
        assert_eq!(
            patched("[1]").unwrap_err(),
            format!("{start} number into Go value of type handlers.jsonPatchOp")
        );
        let operations = vec![r#"{"op":"test","path":"/q","value":null}"#; MAX_OPERATIONS + 1].join(",");
        assert!(patched(&format!("[{operations}]")).unwrap_err().contains("got 10001"));
    }
}

//! Validates Docker's `config.json`, with the error texts of the library that Helm reads it with.

use std::path::Path;

use pintle_tree::Node;
use pintle_tree::json::{ErrorKind, push_key, read_prefix, type_error};

use super::keychain::read_bounded;
use crate::go_words::of_file;

const INVALID: &str = "invalid config format";

/// The expected types as Go's errors name them.
const RAW_MAP: &str = "map[string]json.RawMessage";
const TEXT_MAP: &str = "map[string]string";

/// Checks that Helm could use a credentials file. A missing or empty file is valid.
///
/// # Errors
///
/// What Helm says about the file.
pub fn check_login_file(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let text = match read_bounded(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {
            let reason = of_file(&error);
            return Err(format!("failed to decode config file {shown}: {INVALID}: read {shown}: {reason}"));
        }
        Err(error) => {
            let reason = of_file(&error);
            return Err(format!("failed to open config file at {shown}: open {shown}: {reason}"));
        }
    };
    let undecodable = |reason: String| format!("failed to decode config file {shown}: {INVALID}: {reason}");
    let tree = match read_prefix(&text) {
        Ok((tree, _)) => tree,
        Err(error) if error.kind() == ErrorKind::Empty => return Ok(()),
        Err(error) => return Err(undecodable(error.to_string())),
    };
    check_map(&tree, RAW_MAP).map_err(undecodable)?;
    let field = |name: &str| tree.get(name);
    let wrong = |what: &str, reason: String| format!("failed to unmarshal {what} field: {INVALID}: {reason}");
    if let Some(store) = field("credsStore") {
        check_text(store, b"").map_err(|reason| wrong("creds store", reason))?;
    }
    if let Some(helpers) = field("credHelpers") {
        let checked = check_map(helpers, TEXT_MAP).and_then(|()| {
            helpers
                .as_map()
                .into_iter()
                .flat_map(|map| map.iter())
                .try_for_each(|(key, name)| check_text(name, key.as_bytes()))
        });
        checked.map_err(|reason| wrong("cred helpers", reason))?;
    }
    if let Some(logins) = field("auths") {
        check_map(logins, RAW_MAP).map_err(|reason| wrong("auths", reason))?;
    }
    Ok(())
}

fn check_map(node: &Node, expected: &str) -> Result<(), String> {
    match node {
        Node::Map(_) | Node::Nil => Ok(()),
        other => Err(type_error(other.json_type(), "", "", expected)),
    }
}

/// Checks a text, which is the value of `key` in a map, or no part of one if that is empty.
fn check_text(node: &Node, key: &[u8]) -> Result<(), String> {
    match node {
        Node::Str(_) | Node::Nil => Ok(()),
        other => {
            let mut path = String::new();
            push_key(&mut path, key);
            Err(type_error(other.json_type(), "", &path, "string"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_said_in_the_words_of_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        let shown = path.display();
        assert_eq!(check_login_file(&path), Ok(()));
        let decode = |reason: &str| format!("failed to decode config file {shown}: {INVALID}: {reason}");
        let field =
            |what: &str, reason: &str| format!("failed to unmarshal {what} field: {INVALID}: {reason}");
        for (text, expected) in [
            ("", None),
            (" \n", None),
            ("{}", None),
            (r#"{"auths":{"r.io":5},"credsStore":"x","credHelpers":{"r.io":"y"},"else":1}"#, None),
            (r#"{"auths":null,"credsStore":null}"#, None),
            ("{", Some(decode("unexpected EOF"))),
            ("hello", Some(decode("invalid character 'h' looking for beginning of value"))),
            (
                "[]",
                Some(decode("json: cannot unmarshal array into Go value of type map[string]json.RawMessage")),
            ),
            (
                r#"{"auths":[]}"#,
                Some(field(
                    "auths",
                    "json: cannot unmarshal array into Go value of type map[string]json.RawMessage",
                )),
            ),
            (
                r#"{"credsStore":1}"#,
                Some(field("creds store", "json: cannot unmarshal number into Go value of type string")),
            ),
            (
                r#"{"credHelpers":{"r":true}}"#,
                Some(field(
                    "cred helpers",
                    "json: cannot unmarshal bool into Go struct field .r of type string",
                )),
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(check_login_file(&path).err(), expected, "{text}");
        }
        let inside = path.join("config.json");
        let expected =
            format!("failed to open config file at {0}: open {0}: not a directory", inside.display());
        assert_eq!(check_login_file(&inside), Err(expected));
        let expected = format!(
            "failed to decode config file {0}: {INVALID}: read {0}: is a directory",
            folder.path().display()
        );
        assert_eq!(check_login_file(folder.path()), Err(expected));
    }
}

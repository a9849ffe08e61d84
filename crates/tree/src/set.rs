//! The grammars of `--set`, `--set-string`, `--set-json`, `--set-file` and `--set-literal` (Helm's `pkg/strvals`).
//!
//! Each function modifies a map in place. After an error the map holds what was set before it, as in Helm.

mod cursor;
mod grammar;

use crate::{Map, Node};
use grammar::{Parser, ValueGrammar};

/// A parse error. Prints as Helm's error does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// Returns the content of the file at a path, or the reason why not.
pub type ReadFile<'r> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'r;

/// Applies `a.b=1,c[0]=true`; values become booleans, integers, nil or strings (`--set`).
///
/// # Errors
/// When the text does not parse, or a path leads through something that is neither a map nor a list.
pub fn assign(text: impl AsRef<[u8]>, into: &mut Map<Node>) -> Result<(), Error> {
    Parser::new(text.as_ref(), ValueGrammar::Typed).run(into)
}

/// Applies `a.b=1,c[0]=true`; values stay strings (`--set-string`).
///
/// # Errors
/// Like [`assign`].
pub fn assign_strings(text: impl AsRef<[u8]>, into: &mut Map<Node>) -> Result<(), Error> {
    Parser::new(text.as_ref(), ValueGrammar::Text).run(into)
}

/// Applies `a.b={"x":1},c=[1,2]`; values are JSON (`--set-json`).
///
/// # Errors
/// Like [`assign`], and for invalid JSON.
pub fn assign_json(text: impl AsRef<[u8]>, into: &mut Map<Node>) -> Result<(), Error> {
    Parser::new(text.as_ref(), ValueGrammar::Json).run(into)
}

/// Applies `a.b=path`; values are the contents of files (`--set-file`).
///
/// # Errors
/// Like [`assign`], and the errors of `read`.
pub fn assign_files(
    text: impl AsRef<[u8]>,
    into: &mut Map<Node>,
    read: &mut ReadFile<'_>,
) -> Result<(), Error> {
    Parser::new(text.as_ref(), ValueGrammar::File(read)).run(into)
}

/// Applies `a.b=anything`; the value is all that follows the first `=`, without escapes (`--set-literal`).
///
/// # Errors
/// Like [`assign`].
pub fn assign_literal(text: impl AsRef<[u8]>, into: &mut Map<Node>) -> Result<(), Error> {
    Parser::new(text.as_ref(), ValueGrammar::Literal).run(into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn applied(assign: impl Fn(&str, &mut Map<Node>) -> Result<(), Error>, text: &str) -> (String, String) {
        let mut map = Map::new();
        let error = assign(text, &mut map).err().map(|error| error.to_string()).unwrap_or_default();
        (String::from_utf8(json::write_raw(&map).unwrap()).unwrap(), error)
    }

    fn set(text: &str) -> (String, String) {
        applied(|text, map| assign(text, map), text)
    }

    #[test]
    fn values_get_their_type_from_their_spelling() {
        let (map, _) = set("a=1,b=TRUE,c=null,d=01,e=1.5,f={1,x},g=a\\,b,h=0,i=");
        let expected = r#"{"a":1,"b":true,"c":null,"d":"01","e":"1.5","f":[1,"x"],"g":"a,b","h":0,"i":""}"#;
        assert_eq!(map, expected);
    }

    #[test]
    fn lists_grow_and_hold_maps() {
        assert_eq!(set("a[2].b=1,a[0]=x,c[0][1]=y").0, r#"{"a":["x",null,{"b":1}],"c":[[null,"y"]]}"#);
    }

    #[test]
    fn errors_leave_behind_what_had_been_set() {
        let conversion =
            "unable to parse key: interface conversion: interface {} is int64, not map[string]interface {}";
        assert_eq!(set("a=1,a.b=2"), (r#"{"a":1}"#.to_owned(), conversion.to_owned()));
        assert_eq!(set("x.y=1,x.z"), (r#"{"x":{"y":1}}"#.to_owned(), "key \"z\" has no value".to_owned()));
        let data = "unexpected data at end of array index: ['a' '\\'']";
        assert_eq!(set("l[0]a'=1"), (r#"{"l":[]}"#.to_owned(), data.to_owned()));
        let index = "error parsing index: strconv.Atoi: parsing \"x\": invalid syntax";
        assert_eq!(set("l[x]=1"), ("{}".to_owned(), index.to_owned()));
    }

    #[test]
    fn json_values_end_at_their_own_end() {
        let (map, error) = applied(|text, map| assign_json(text, map), r#"a={"x":[1]} ,b=null,c=,d[1]="s""#);
        assert_eq!(
            (map.as_str(), error.as_str()),
            (r#"{"a":{"x":[1]},"b":null,"c":null,"d":[null,"s"]}"#, "")
        );
        let (_, error) = applied(|text, map| assign_json(text, map), "a={");
        assert_eq!(error, "unexpected EOF");
    }

    #[test]
    fn files_and_literals_are_taken_whole() {
        let read =
            |path: &str| if path == "f" { Ok(b"a,b\n".to_vec()) } else { Err("no such file".to_owned()) };
        let files = |text: &str, map: &mut Map<Node>| assign_files(text, map, &mut { read });
        assert_eq!(applied(files, "k=f").0, r#"{"k":"a,b\n"}"#);
        assert_eq!(applied(files, "k=g"), (r#"{"k":null}"#.to_owned(), "no such file".to_owned()));
        assert_eq!(
            applied(|text, map| assign_literal(text, map), "a.b=c=d,e={f\\").0,
            r#"{"a":{"b":"c=d,e={f\\"}}"#
        );
    }

    #[test]
    fn endless_nesting_is_an_error() {
        assert!(set(&format!("a{}=1", "[0]".repeat(50_000))).1.contains("nested level"));
        assert!(set(&format!("a{}=1", "[0].b".repeat(50_000))).1.contains("nested level"));
        assert!(set(&format!("a{}=1", ".b".repeat(31))).1.contains("maximum supported nested level of 30"));
    }
}

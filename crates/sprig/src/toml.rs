//! TOML as BurntSushi's library reads and writes it, with its errors and its view of validity.

mod key;
mod moment;
mod read;
mod scan;
mod write;

use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Function, Type, Value};
use pintle_tree::{Map, Str};

use crate::text::{ZERO_VALUE, text};

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        Function::metered("toToml", &[Type::Any], None, Type::Str, |fuel, args| match args.any(0) {
            Value::Nil => Err(CallError::new(ZERO_VALUE)),
            value => text(write::document(fuel, value).unwrap_or_else(String::into_bytes)),
        }),
        Function::metered("mustToToml", &[Type::Any], None, Type::Str, |fuel, args| match args.any(0) {
            Value::Nil => Err(CallError::new(ZERO_VALUE)),
            value => text(write::document(fuel, value)?),
        }),
        Function::metered("fromToml", &[Type::Str], None, Type::Map, |fuel, args| {
            // Each part of a key can create a table.
            fuel.allocate(args.text(0).len().saturating_mul(32))?;
            from_toml(fuel, args)
        }),
    ]
}

/// Reads a document; an error is returned under the key `Error`.
fn from_toml(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    let entries = read::document(fuel, args.text(0)).unwrap_or_else(|message| {
        let mut entries = Map::new();
        entries.insert(Str::from("Error"), Value::str(message));
        entries
    });
    Ok(Value::map(entries))
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::{Limits, encode_check};
    use pintle_tree::json;

    use super::*;

    fn from_text(source: &str) -> CallResult {
        from_toml(&mut Fuel::new(Limits::default()), Args(&[Value::str(source)]))
    }

    fn written(value: &Value) -> Result<Vec<u8>, String> {
        write::document(&mut Fuel::new(Limits::default()), value)
    }

    fn read(source: &str) -> String {
        let value = from_text(source).unwrap();
        assert_eq!(encode_check(&value), Ok(()));
        String::from_utf8(json::write_raw(&value).unwrap()).unwrap()
    }

    fn rewritten(source: &str) -> String {
        let value = from_text(source).unwrap();
        String::from_utf8(written(&value).unwrap()).unwrap()
    }

    #[test]
    fn a_list_of_tables_in_brackets_has_a_type_of_its_own() {
        let value = from_text("[[a]]\nb = 1\n[[a]]\n[[a.c]]\n[d]\ne = [{}]").unwrap();
        let Value::Map(map) = value else { panic!("a map") };
        let a = map.get("a").expect("a");
        assert_eq!(a.type_name(), "[]map[string]interface {}");
        let Value::List(list) = &a else { panic!("a list") };
        let Value::Map(second) = &list.items()[1] else { panic!("a table") };
        assert_eq!(second.get("c").expect("c").type_name(), "[]map[string]interface {}");
        // A list of inline tables is a list of anything.
        let Some(Value::Map(d)) = map.get("d") else { panic!("a table") };
        assert_eq!(d.get("e").expect("e").type_name(), "[]interface {}");
    }

    #[test]
    fn documents_are_read() {
        for (source, result) in [
            (
                "a = 1\n[t.u]\nb = \"x\\ty\" # c\n[[l]]\nc = 1.5\n[[l]]",
                r#"{"a":1,"l":[{"c":1.5},{}],"t":{"u":{"b":"x\ty"}}}"#,
            ),
            ("a.b = 1\n[a]\nc = 2", r#"{"a":{"b":1,"c":2}}"#),
            ("a = [1, [\"x\"], {b = 2, c.d = 3},\n]", r#"{"a":[1,["x"],{"b":2,"c":{"d":3}}]}"#),
            ("a = \"\"\"\\\n  trimmed\"\"\"\nb = '''\nx'y'''", r#"{"a":"trimmed","b":"x'y"}"#),
            ("a = 0x1F\nb = 1_000\nc = -inf\n", r#"{"a":31,"b":1000"#),
            (
                "a = 1979-05-27 07:32:00\nb = 07:32",
                r#"{"a":"1979-05-27T07:32:00Z","b":"0000-01-01T07:32:00Z"}"#,
            ),
        ] {
            if source.contains("inf") {
                assert!(from_text(source).is_ok());
            } else {
                assert_eq!(read(source), result, "{source}");
            }
        }
    }

    #[test]
    fn errors_have_line_and_key() {
        for (source, message) in [
            ("lit", "toml: line 1: unexpected EOF; expected key separator '='"),
            (
                "a = 5.",
                r#"toml: line 1 (last key "a"): Invalid float "5.": '.' must be followed by one or more digits"#,
            ),
            ("[t]\na = yes", r#"toml: line 2 (last key "t.a"): expected value but found "yes" instead"#),
            ("[t", r"toml: line 1: expected '.' or ']' to end table name, but got '\x00' instead"),
            ("a = 1\na = 2", r#"toml: line 2 (last key "a"): Key 'a' has already been defined."#),
            ("[a]\nb=1\n[a.b]", r#"toml: line 3 (last key "a"): Key 'a.b' has already been defined."#),
            ("a=[1]\n[[a]]", "toml: line 2: Key 'a' was already created and cannot be used as an array."),
            ("a = \"\\q\"", r#"toml: line 1 (last key "a"): invalid escape in string '\q'"#),
            ("a = 2024-13-01", r#"toml: line 1 (last key "a"): invalid datetime: "2024-13-01""#),
        ] {
            let value = from_text(source).unwrap();
            let error = value.as_map().unwrap().get("Error").unwrap();
            let error = error.as_text().unwrap().to_string();
            assert!(error.ends_with(message), "{source}: {error}");
        }
    }

    #[test]
    fn documents_are_written_with_tables_last_and_indented() {
        assert_eq!(
            rewritten("[a.b]\nx=1\n[a]\ny=2.0\n[[l]]\nd=1979-05-27\n[[l]]\n[[l.m]]\nk=[{z=1,y=[]}, 2]"),
            "[a]\n  y = 2.0\n  [a.b]\n    x = 1\n\n[[l]]\n  d = 1979-05-27\n\n[[l]]\n\n  [[l.m]]\n    k = [{y = [], z = 1}, 2]\n"
        );
        assert_eq!(rewritten("\"é x\" = \"a\\\"\\n\""), "\"é x\" = \"a\\\"\\n\"\n");
    }

    #[test]
    fn what_has_no_place_in_toml_is_refused() {
        let nil = Value::list(vec![Value::Nil]);
        assert_eq!(written(&nil), Err("toml: cannot encode array with nil element".to_owned()));
        let tables = Value::list(vec![Value::map(Map::new())]);
        assert_eq!(written(&tables), Err("toml: top-level values must be Go maps or structs".to_owned()));
    }
}

//! The grammars of `--set`, `--set-string`, `--set-json` and so on, and their combination.

use std::path::Path;

use pintle_tree::{Map, Node, set};
use pintle_values::{ValuesLayer, layer};
use serde_json::Value;

use crate::case::{Case, shorten};
use crate::tree;

/// Makes the layer of one value flag from its argument.
type LayerOf = fn(String) -> ValuesLayer;

pub(super) fn check(case: &Case) -> Option<String> {
    let files = case.files("files");
    let mut read = |name: &str| match files.iter().find(|(path, _)| path == name) {
        Some((_, text)) => Ok(text.clone()),
        None => Err(format!("open {name}: no such file or directory")),
    };
    if case.text("flag") == "all" {
        let kinds: [(&str, LayerOf); 6] = [
            ("Values", |file| ValuesLayer::File(file.into())),
            ("SetJSON", ValuesLayer::SetJson),
            ("Set", ValuesLayer::Set),
            ("SetString", ValuesLayer::SetString),
            ("SetFile", ValuesLayer::set_file),
            ("SetLiteral", ValuesLayer::SetLiteral),
        ];
        let list = |name: &str| strings(&case.input["opts"][name]);
        let layers: Vec<ValuesLayer> =
            kinds.iter().flat_map(|(name, kind)| list(name).into_iter().map(kind)).collect();
        let mut read_cleaned = |path: &Path| read(path.to_string_lossy().trim_start_matches("./"));
        return match layer(&layers, &mut read_cleaned) {
            Ok(map) => compare(case, "ok", map),
            Err(error) => case.compare("err", error.to_string().as_bytes()),
        };
    }
    let mut map = tree::map(&case.input["base"]);
    let text = case.text("s");
    let outcome = match case.text("flag") {
        "set" => set::assign(text, &mut map),
        "set-string" => set::assign_strings(text, &mut map),
        "set-json" => set::assign_json(text, &mut map),
        "set-file" => set::assign_files(text, &mut map, &mut read),
        "set-literal" => set::assign_literal(text, &mut map),
        other => return Some(format!("unknown flag {other}")),
    };
    match outcome {
        Ok(()) => compare(case, "ok", map),
        Err(error) => {
            case.compare("err", error.to_string().as_bytes()).or_else(|| compare(case, "after", map))
        }
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

fn compare(case: &Case, field: &str, got: Map<Node>) -> Option<String> {
    let Some(want) = case.output.get(field) else {
        return Some(format!("no {field} was recorded: {}", shorten(&case.output)));
    };
    let got = Node::Map(got);
    let (want, json) = (tree::normalize(want), with_short_lists(tree::json(&got)));
    if want != json {
        return Some(format!("want {} got {}", shorten(&want), shorten(&json)));
    }
    let integers = tree::integers(&got);
    let mut wanted = strings(&case.output["ints"]);
    wanted.sort();
    (field == "ok" && wanted != integers).then(|| format!("integers: want {wanted:?} got {integers:?}"))
}

/// Abbreviates long lists that are null except for the last entry, as the recording does.
fn with_short_lists(value: Value) -> Value {
    match value {
        Value::Array(items) if items.len() > 2000 => {
            let last = items.last().cloned().unwrap_or_default();
            tree::normalize(&serde_json::json!({"$list_len": items.len(), "$last": last}))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(with_short_lists).collect()),
        Value::Object(entries) => {
            Value::Object(entries.into_iter().map(|(key, value)| (key, with_short_lists(value))).collect())
        }
        other => other,
    }
}

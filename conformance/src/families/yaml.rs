//! Parsing and emitting YAML.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pintle_tree::Node;
use serde_json::Value;

use crate::case::{Case, shorten};
use crate::tree;

/// Parsing: as an untyped value, as JSON, as a map, as a values file, and in strict mode.
pub(super) fn check_parse(case: &Case) -> Option<String> {
    let text = case.bytes("text").unwrap_or_default();
    check_value(case, &text)
        .or_else(|| check_map(case, &text))
        .or_else(|| check_values_file(case, &text))
        .or_else(|| check_strict(case, &text))
}

fn check_value(case: &Case, text: &[u8]) -> Option<String> {
    match pintle_yaml::read(text) {
        Err(error) => case.compare("err", error.to_string().as_bytes()),
        Ok(node) => {
            if let Some(depth) = case.output.get("ok_depth").and_then(Value::as_u64) {
                let got = tree::depth(&node) as u64;
                return (got != depth).then(|| format!("depth {depth} wanted, {got} got"));
            }
            if case.output.get("ok").is_none() {
                return Some(format!("an error was wanted: {}", shorten(&case.output)));
            }
            same_tree(&case.output["ok"], &node).or_else(|| match pintle_yaml::to_json(text) {
                Ok(json) => case.compare("json", &json),
                Err(error) => Some(format!("no JSON: {error}")),
            })
        }
    }
}

fn same_tree(want: &Value, got: &Node) -> Option<String> {
    let (want, got) = (tree::normalize(want), tree::json(got));
    (want != got).then(|| format!("want {} got {}", shorten(&want), shorten(&got)))
}

/// The expected error of decoding into a map, if any.
fn expected_map_error(case: &Case) -> Option<&str> {
    case.output["map_err"].as_str().or_else(|| case.output["err"].as_str())
}

fn check_map(case: &Case, text: &[u8]) -> Option<String> {
    let got = pintle_yaml::read_map(text).err().map(|error| error.to_string());
    let want = expected_map_error(case);
    (got.as_deref() != want).then(|| format!("as a map: want {want:?} got {got:?}"))
}

fn check_values_file(case: &Case, text: &[u8]) -> Option<String> {
    let usual = expected_map_error(case).map(|error| format!("cannot unmarshal yaml document: {error}"));
    let want_error = match case.output["values_err"].as_str() {
        Some(error) => Some(error.to_owned()),
        None if case.output.get("values").is_some() || case.output.get("values_depth").is_some() => None,
        None => usual,
    };
    match (pintle_yaml::read_values(text), want_error) {
        (Err(error), Some(want)) => {
            let got = error.to_string();
            (got != want).then(|| format!("as values: want {want:?} got {got:?}"))
        }
        (Err(error), None) => Some(format!("as values: unexpected error {error}")),
        (Ok(map), Some(want)) => Some(format!("as values: want error {want:?} got {} keys", map.len())),
        (Ok(map), None) => {
            let node = Node::Map(map);
            if let Some(depth) = case.output.get("values_depth").and_then(Value::as_u64) {
                let got = tree::depth(&node) as u64;
                return (got != depth).then(|| format!("as values: depth {depth} wanted, {got} got"));
            }
            let want = case.output.get("values").or_else(|| case.output.get("ok"))?;
            let want = if want.is_null() { &Value::Object(Default::default()) } else { want };
            same_tree(want, &node).map(|text| format!("as values: {text}"))
        }
    }
}

fn check_strict(case: &Case, text: &[u8]) -> Option<String> {
    let want = case.output["strict_err"].as_str()?;
    match pintle_yaml::read_strict(text) {
        Ok(_) => Some(format!("strictly: want error {want:?}")),
        Err(error) => (error.to_string() != want)
            .then(|| format!("strictly: want {want:?} got {:?}", error.to_string())),
    }
}

/// Emitting: `toYaml`, `toYamlPretty` and the error of `mustToYaml`.
pub(super) fn check_emit(case: &Case) -> Option<String> {
    let node = match case.input.get("string_b64").and_then(Value::as_str) {
        Some(text) => Node::Str(BASE64.decode(text).ok()?.into()),
        None => tree::node(&case.input["value"], case.flag("ints")),
    };
    let (text, error) = match pintle_yaml::write(&node) {
        Ok(text) => (trimmed(text), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    if let Some(difference) = case.compare("ok", &text) {
        return Some(difference);
    }
    let want = case.output["must_err"].as_str();
    if error.as_deref() != want {
        return Some(format!("error: want {want:?} got {error:?}"));
    }
    let pretty = trimmed(pintle_yaml::write_pretty(&node));
    case.compare("pretty", &pretty).map(|text| format!("pretty: {text}"))
}

fn trimmed(mut text: Vec<u8>) -> Vec<u8> {
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    text
}

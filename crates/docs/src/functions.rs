//! The functions of README templates: sprig's, with `toYaml` and `fromYaml` by go-yaml 3.

use std::sync::Arc;

use pintle_gotmpl::{Args, CallError, CallResult, Function, Functions, MapRef, MapType, Type, Value};
use pintle_tree::{Map, Node, json};
use pintle_yaml::Fractions;

/// All functions.
pub(crate) fn functions() -> Arc<Functions> {
    let mut functions = Functions::new();
    for function in pintle_sprig::functions() {
        functions.add(function);
    }
    functions.add(Function::pure("toYaml", &[Type::Any], None, Type::Str, to_yaml));
    functions.add(Function::pure("fromYaml", &[Type::Str], None, Type::Map, from_yaml));
    functions.add(Function::pure("fromJson", &[Type::Str], None, Type::Any, from_json));
    functions.add(Function::pure("fail", &[Type::Str], None, Type::Str, fail));
    Arc::new(functions)
}

fn to_yaml(arguments: Args<'_>) -> CallResult {
    let text = pintle_sprig::yaml_version_3(arguments.any(0));
    Ok(Value::str(text.strip_suffix(b"\n").unwrap_or(&text)))
}

/// As in helm-docs, an error is an entry of the result.
fn from_yaml(arguments: Args<'_>) -> CallResult {
    let failed = |error: String| Map::from_entries(vec![("Error".into(), Node::Str(error.into()))]);
    let entries = match pintle_yaml::read_typed(arguments.text(0), Fractions::Kept) {
        Ok(Node::Map(map)) => map,
        Ok(Node::Nil) => Map::new(),
        Ok(other) => failed(format!("yaml: cannot unmarshal {} into a map", other.json_type())),
        Err(error) => failed(error.to_string()),
    };
    Ok(Value::Map(MapRef::of(MapType::Any, Value::entries_from(&entries))))
}

fn fail(arguments: Args<'_>) -> CallResult {
    Err(CallError::new(String::from_utf8_lossy(arguments.text(0))))
}

/// sprig's own function, which reads any value and gives nil for what is no JSON. Helm has another one of this name.
fn from_json(arguments: Args<'_>) -> CallResult {
    Ok(json::read(arguments.text(0)).map(|node| Value::from_node(&node)).unwrap_or_default())
}

//! The functions of README templates: sprig's, with `toYaml` and `fromYaml` by go-yaml 3.

use std::sync::Arc;

use pintle_gotmpl::{Args, CallError, CallResult, Function, Functions, MapRef, MapType, Type, Value};
use pintle_tree::{Map, Node, Str, json};
use pintle_yaml::{Assemble, Assembler};

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

/// A node as go-yaml 3 reads it: `yes` is text, and whole numbers are no fractions.
struct Typed(Node);

impl Assemble for Typed {
    const VERSION_3: bool = true;

    fn nil() -> Self {
        Typed(Node::Nil)
    }

    fn bool(value: bool) -> Self {
        Typed(Node::Bool(value))
    }

    fn int(value: i64) -> Self {
        Typed(Node::Int(value))
    }

    fn uint(value: u64) -> Self {
        Typed(Node::Float(value as f64))
    }

    fn float(value: f64) -> Self {
        Typed(Node::Float(value))
    }

    fn str(text: Str) -> Self {
        Typed(Node::Str(text))
    }

    fn list(items: Vec<Self>) -> Self {
        Typed(Node::List(items.into_iter().map(|item| item.0).collect()))
    }

    fn map(entries: Vec<(Str, Self)>) -> Self {
        Typed(Node::Map(Map::from_entries(entries.into_iter().map(|(key, node)| (key, node.0)).collect())))
    }
}

/// As in helm-docs, an error is an entry of the result.
fn from_yaml(arguments: Args<'_>) -> CallResult {
    let failed = |error: String| Map::from_entries(vec![("Error".into(), Node::Str(error.into()))]);
    let read =
        pintle_yaml::read_version_3(arguments.text(0), &mut Assembler::<Typed>::detecting_duplicates());
    let entries = match read.map(|typed| typed.0) {
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

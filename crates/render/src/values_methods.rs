//! The methods of Helm's `Values` type, which templates can call on `.Values`.

use pintle_gotmpl::{Args, CallError, CallResult, MapMethods, MapRef, MapType, Method, Type, Value};
use pintle_tree::quote::quote;

/// The methods, for the executor.
pub(crate) const VALUES: MapMethods = MapMethods { methods: METHODS, call };

/// The methods by name.
const METHODS: &[Method] = &[
    Method { name: "AsMap", params: &[], variadic: None, result: Type::Map },
    Method { name: "Encode", params: &[Type::Object("io.Writer")], variadic: None, result: Type::Any },
    Method { name: "PathValue", params: &[Type::Str], variadic: None, result: Type::Any },
    Method { name: "Table", params: &[Type::Str], variadic: None, result: Type::Object("common.Values") },
    Method { name: "YAML", params: &[], variadic: None, result: Type::Str },
];

/// Calls one of [`METHODS`].
fn call(values: &MapRef, method: &str, arguments: Args<'_>) -> CallResult {
    match method {
        "AsMap" => Ok(Value::Map(values.retyped(MapType::Any))),
        "YAML" => match pintle_yaml::write(&Value::Map(values.clone())) {
            Ok(text) => Ok(Value::str(text)),
            Err(error) => Err(CallError::new(error.to_string())),
        },
        "Table" => table(values, &path(arguments)).map(|map| Value::Map(map.retyped(MapType::Values))),
        // `Encode` needs a writer, and a template has none to pass.
        "Encode" => Err("runtime error: invalid memory address or nil pointer dereference".into()),
        "PathValue" => path_value(values, &path(arguments)),
        _ => Err(CallError::new(format!("no method {method}"))),
    }
}

fn path(arguments: Args<'_>) -> String {
    arguments.str(0).to_string()
}

fn table(values: &MapRef, path: &str) -> Result<MapRef, CallError> {
    path.split('.').try_fold(values.clone(), |table, key| match table.get(key) {
        Some(Value::Map(next)) => Ok(next),
        _ => Err(CallError::new(format!("{} is not a table", quote(key.as_bytes())))),
    })
}

fn path_value(values: &MapRef, path: &str) -> CallResult {
    if path.is_empty() {
        return Err("YAML path cannot be empty".into());
    }
    let (parent, key) = match path.rsplit_once('.') {
        Some((parent, key)) => (table(values, parent).ok(), key),
        None => (Some(values.clone()), path),
    };
    match parent.and_then(|parent| parent.get(key)) {
        // Helm has `PathValue` for leaves and `Table` for maps.
        Some(value) if !matches!(value, Value::Map(_)) => Ok(value),
        _ => Err(CallError::new(format!("{} is not a value", quote(key.as_bytes())))),
    }
}

//! JSON and YAML in templates. Most of these swallow errors: writers return nothing, readers return the error text as
//! data.

use pintle_gotmpl::{
    Args, CallError, CallResult, Fuel, Function, List, ListType, MapRef, MapType, Type, Value,
};
use pintle_tree::{Map, Node, Str, json};
use pintle_yaml::{Assemble, Assembler};

use crate::encoded_size::{NO_COMPLEX, check};
use crate::pretty::Pretty;
use crate::text::text;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Str};
    const LIST: Type = Type::List;
    const MAP: Type = Type::Map;
    vec![
        Function::metered("toJson", &[Any], None, Str, |fuel, args| {
            written_or_nothing(json_of(fuel, args, json::write))
        }),
        Function::metered("mustToJson", &[Any], None, Str, |fuel, args| {
            text(json_of(fuel, args, json::write)?)
        }),
        Function::metered("toPrettyJson", &[Any], None, Str, |fuel, args| {
            written_or_nothing(json_of(fuel, args, json::write_pretty))
        }),
        Function::metered("mustToPrettyJson", &[Any], None, Str, |fuel, args| {
            text(json_of(fuel, args, json::write_pretty)?)
        }),
        Function::metered("toRawJson", &[Any], None, Str, |fuel, args| {
            text(json_of(fuel, args, json::write_raw)?)
        }),
        Function::metered("mustToRawJson", &[Any], None, Str, |fuel, args| {
            text(json_of(fuel, args, json::write_raw)?)
        }),
        Function::metered("fromJson", &[Str], None, MAP, from_json),
        Function::metered("fromJsonArray", &[Str], None, LIST, from_json_array),
        Function::metered("mustFromJson", &[Str], None, Any, must_from_json),
        Function::metered("toYaml", &[Any], None, Str, |fuel, args| written_or_nothing(yaml_of(fuel, args))),
        Function::metered("mustToYaml", &[Any], None, Str, |fuel, args| text(yaml_of(fuel, args)?)),
        Function::metered("toYamlPretty", &[Any], None, Str, to_yaml_pretty),
        Function::metered("fromYaml", &[Str], None, MAP, from_yaml),
        Function::metered("fromYamlArray", &[Str], None, LIST, from_yaml_array),
    ]
}

fn failed(error: impl std::error::Error) -> CallError {
    CallError::new(error.to_string())
}

fn written_or_nothing(result: Result<Vec<u8>, CallError>) -> CallResult {
    text(result.unwrap_or_default())
}

type JsonWriter = fn(&Value) -> Result<Vec<u8>, json::Error>;

fn json_of(fuel: &mut Fuel, args: Args<'_>, write: JsonWriter) -> Result<Vec<u8>, CallError> {
    let value = args.any(0);
    check(fuel, value)?;
    write(value).map_err(failed)
}

fn yaml_of(fuel: &mut Fuel, args: Args<'_>) -> Result<Vec<u8>, CallError> {
    let value = args.any(0);
    check(fuel, value).map_err(|error| match error.message.strip_prefix("json: ") {
        Some(_) => CallError::new(format!("error marshaling into JSON: {}", error.message)),
        None => error,
    })?;
    let mut out = pintle_yaml::write(value).map_err(failed)?;
    trim_newline(&mut out);
    Ok(out)
}

/// Removes one newline from the end.
fn trim_newline(out: &mut Vec<u8>) {
    if out.last() == Some(&b'\n') {
        out.pop();
    }
}

fn to_yaml_pretty(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    let value = args.any(0);
    match check(fuel, value) {
        // go-yaml panics at these, and Helm does not catch it as it catches errors.
        Err(error) if error.message == NO_COMPLEX => {
            return Err(CallError::new("cannot marshal type: complex128"));
        }
        Err(_) => return text(""),
        Ok(()) => {}
    }
    let mut out = pintle_yaml::write_pretty(&Pretty(value));
    trim_newline(&mut out);
    text(out)
}

/// Charges reading a text, in which a value can be as short as two bytes.
fn charge(fuel: &mut Fuel, args: Args<'_>) -> Result<(), CallError> {
    fuel.allocate(args.text(0).len().saturating_mul(size_of::<Value>() / 2))
}

/// A map that reports an error.
fn map_of_error(message: String) -> Value {
    Value::map([(Str::from("Error"), Value::str(message))].into_iter().collect())
}

/// A list that reports an error.
fn list_of_error(message: String) -> Value {
    Value::list(vec![Value::str(message)])
}

/// Go's name for the kind of a JSON value.
fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Int(..) | Value::Float(_) => "number",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        _ => "string",
    }
}

fn wrong_kind(value: &Value, wanted: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {wanted}", json_kind(value))
}

/// Reads a map; what was read is kept if a number is too large.
fn from_json(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    charge(fuel, args)?;
    let (node, problem) = match json::read_partly(args.text(0)) {
        Ok(read) => read,
        Err(error) => return Ok(map_of_error(error.to_string())),
    };
    Ok(match (node, problem) {
        (Node::Map(map), problem) => {
            let mut entries = Value::entries_from(&map);
            if let Some(error) = problem {
                entries.insert(Str::from("Error"), Value::str(error.to_string()));
            }
            Value::map(entries)
        }
        // `json.Unmarshal` of `null` sets the map to nil, while `fromYaml` leaves it empty.
        (Node::Nil, None) => Value::Map(MapRef::nil(MapType::Any)),
        (node, _) => map_of_error(wrong_kind(&Value::from_node(&node), "map[string]interface {}")),
    })
}

fn from_json_array(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    charge(fuel, args)?;
    Ok(match json::read_partly(args.text(0)) {
        Ok((Node::Nil, None)) => Value::List(List::nil(ListType::Any)),
        Ok((node @ Node::List(_), None)) => Value::from_node(&node),
        Ok((Node::List(_), Some(error))) | Err(error) => list_of_error(error.to_string()),
        Ok((node, _)) => list_of_error(wrong_kind(&Value::from_node(&node), "[]interface {}")),
    })
}

fn must_from_json(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    charge(fuel, args)?;
    json::read(args.text(0)).map(|node| Value::from_node(&node)).map_err(failed)
}

/// How many values are built per step.
const VALUES_PER_STEP: usize = 2;

/// A value that the YAML reader builds directly, without an intermediate tree.
struct Built(Value);

impl Assemble for Built {
    fn nil() -> Self {
        Built(Value::Nil)
    }

    fn bool(value: bool) -> Self {
        Built(Value::Bool(value))
    }

    fn int(value: i64) -> Self {
        Built(Value::Float(value as f64))
    }

    fn uint(value: u64) -> Self {
        Built(Value::Float(value as f64))
    }

    fn float(value: f64) -> Self {
        Built(Value::Float(value))
    }

    fn str(text: Str) -> Self {
        Built(Value::Str(text))
    }

    fn list(items: Vec<Self>) -> Self {
        Built(Value::list(items.into_iter().map(|Built(item)| item).collect()))
    }

    fn map(entries: Vec<(Str, Self)>) -> Self {
        let entries = entries.into_iter().map(|(key, Built(value))| (key, value)).collect();
        Built(Value::map(Map::from_entries(entries)))
    }
}

/// Reads YAML, in which aliases can expand a short text. The expansion is charged afterwards: one document is bounded
/// by itself, and the next is not read without fuel.
fn read_yaml(fuel: &mut Fuel, source: &[u8]) -> Result<Value, String> {
    let mut assembler = Assembler::<Built>::default();
    let result = pintle_yaml::read_with(source, &mut assembler);
    let made = assembler.made();
    fuel.spend((made / VALUES_PER_STEP) as u64).map_err(|error| error.message)?;
    fuel.allocate(made.saturating_mul(size_of::<Value>())).map_err(|error| error.message)?;
    result.map(|Built(value)| value).map_err(|error| error.to_string())
}

fn yaml_kind_error(value: &Value, wanted: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {}", wrong_kind(value, wanted))
}

fn from_yaml(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    charge(fuel, args)?;
    Ok(match read_yaml(fuel, args.text(0)) {
        Ok(value @ Value::Map(_)) => value,
        // Helm starts with an empty map, which a document without content does not touch.
        Ok(Value::Nil) => Value::map(Map::new()),
        Ok(other) => map_of_error(yaml_kind_error(&other, "map[string]interface {}")),
        Err(message) => map_of_error(message),
    })
}

fn from_yaml_array(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    charge(fuel, args)?;
    Ok(match read_yaml(fuel, args.text(0)) {
        Ok(value @ Value::List(_)) => value,
        Ok(Value::Nil) => Value::list(Vec::new()),
        Ok(other) => list_of_error(yaml_kind_error(&other, "[]interface {}")),
        Err(message) => list_of_error(message),
    })
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::Limits;

    use super::*;

    fn read_again(body: fn(&mut Fuel, Args<'_>) -> CallResult, source: &str) -> String {
        let value = body(&mut Fuel::new(Limits::default()), Args(&[Value::str(source)])).unwrap();
        String::from_utf8(json::write_raw(&value).unwrap()).unwrap()
    }

    #[test]
    fn readers_give_errors_as_data() {
        assert_eq!(
            read_again(from_json, "[]"),
            r#"{"Error":"json: cannot unmarshal array into Go value of type map[string]interface {}"}"#
        );
        assert_eq!(read_again(from_json, "null"), "null");
        assert_eq!(
            read_again(from_json_array, "zz"),
            r#"["invalid character 'z' looking for beginning of value"]"#
        );
        assert_eq!(
            read_again(from_json, r#"{"a":1E400}"#),
            r#"{"Error":"json: cannot unmarshal number 1E400 into Go struct field .a of type float64","a":0}"#
        );
        assert_eq!(
            read_again(from_yaml_array, "a: 1"),
            r#"["error unmarshaling JSON: while decoding JSON: json: cannot unmarshal object into Go value of type []interface {}"]"#
        );
    }

    #[test]
    fn nothing_is_an_empty_map_in_yaml() {
        assert_eq!(read_again(from_yaml, ""), "{}");
        assert_eq!(read_again(from_yaml_array, "null"), "[]");
        assert_eq!(read_again(from_yaml, "b: [yes, 1]\na: x"), r#"{"a":"x","b":[true,1]}"#);
    }

    #[test]
    fn values_of_aliases_and_of_shared_parts_are_paid_for() {
        let spent = |body: fn(&mut Fuel, Args<'_>) -> CallResult, value: Value| {
            let mut fuel = Fuel::new(Limits::default());
            let _ = body(&mut fuel, Args(&[value]));
            Limits::default().steps - fuel.steps_left()
        };
        let aliases = format!("a: &a [{}]\nb: [{}]\n", vec!["1"; 100].join(","), vec!["*a"; 300].join(","));
        assert!(spent(from_yaml, Value::str(aliases)) > 15_000);
        // The text would be too large, which takes long to find out.
        let doubled = (0..60).fold(Value::Nil, |inner, _| Value::list(vec![inner.clone(), inner]));
        let to_json: fn(&mut Fuel, Args<'_>) -> CallResult =
            |fuel, args| written_or_nothing(json_of(fuel, args, json::write));
        assert!(spent(to_json, doubled) > 50_000);
    }

    #[test]
    fn writers_swallow_what_they_cannot_write() {
        let call = |value: f64| {
            let fuel = &mut Fuel::new(Limits::default());
            written_or_nothing(json_of(fuel, Args(&[Value::Float(value)]), json::write))
        };
        assert_eq!(call(f64::NAN).unwrap().as_text().unwrap().to_string(), "");
        assert_eq!(call(1e6).unwrap().as_text().unwrap().to_string(), "1000000");
    }
}

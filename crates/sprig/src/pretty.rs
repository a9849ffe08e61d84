//! Values as go-yaml 3 sees them, which `toYamlPretty` uses: by reflection, without the detour through JSON of the
//! other encoders.

use pintle_gotmpl::{Encoded, Value};
use pintle_tree::{Sink, Walk};

use crate::text::with_stack;

/// A value to be written by go-yaml 3.
pub(crate) struct Pretty<'v>(pub(crate) &'v Value);

impl Walk for Pretty<'_> {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        match self.0 {
            // A nil slice or map is empty here, and bytes are a slice like others.
            Value::Bytes(bytes) => {
                sink.begin_list(bytes.len())?;
                bytes.as_bytes().iter().try_for_each(|byte| sink.uint(u64::from(*byte)))?;
                sink.end_list()
            }
            Value::List(list) => {
                sink.begin_list(list.items().len())?;
                with_stack(|| list.items().iter().try_for_each(|item| Pretty(item).walk(sink)))?;
                sink.end_list()
            }
            Value::Map(map) => {
                let entries = map.borrow();
                sink.begin_map(entries.len())?;
                with_stack(|| {
                    entries.iter().try_for_each(|(key, value)| entry(key.as_bytes(), value, sink))
                })?;
                sink.end_map()
            }
            // Durations have no text for JSON, but go-yaml knows them.
            Value::Object(object) if object.type_name() == "time.Duration" => {
                sink.str(object.print().as_bytes())
            }
            Value::Object(object) if object.type_name() == "time.Time" => match object.encode() {
                Encoded::Value(Value::Str(text)) => sink.time(text.as_bytes()),
                _ => sink.str(object.print().as_bytes()),
            },
            Value::Object(object) => {
                match object.all_fields().map_or_else(|| object.encode(), Encoded::Fields) {
                    Encoded::Value(inner) => with_stack(|| Pretty(&inner).walk(sink)),
                    Encoded::Fields(fields) => with_stack(|| walk_fields(&fields, sink)),
                    Encoded::Error(_) => sink.nil(),
                }
            }
            plain => plain.walk(sink),
        }
    }
}

fn entry<S: Sink>(key: &[u8], value: &Value, sink: &mut S) -> Result<(), S::Error> {
    sink.key(key)?;
    Pretty(value).walk(sink)
}

/// Writes a struct. JSON names are not used here: Go's own names count, in lower case.
fn walk_fields<S: Sink>(fields: &[(&'static str, Value)], sink: &mut S) -> Result<(), S::Error> {
    sink.begin_fields(fields.len())?;
    for (name, value) in fields {
        entry(name.to_lowercase().replace('_', "").as_bytes(), value, sink)?;
    }
    sink.end_map()
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use pintle_gotmpl::{List, ListType, MapRef, MapType, Object};

    use super::*;

    #[derive(Debug)]
    struct Pair;

    impl Object for Pair {
        fn type_name(&self) -> &'static str {
            "test.Pair"
        }

        fn as_any(&self) -> &dyn Any {
            self
        }

        fn print(&self) -> String {
            String::new()
        }

        fn encode(&self) -> Encoded {
            Encoded::Fields(vec![("Zone_Name", Value::str("z")), ("Age", Value::int(1))])
        }
    }

    fn written(value: &Value) -> String {
        String::from_utf8(pintle_yaml::write_pretty(&Pretty(value))).unwrap()
    }

    #[test]
    fn structs_keep_the_order_of_their_fields() {
        assert_eq!(written(&Value::list(vec![Value::object(Pair)])), "- zonename: z\n  age: 1\n");
    }

    #[test]
    fn bytes_are_numbers_and_nil_collections_are_empty() {
        assert_eq!(written(&Value::Bytes("ab".into())), "- 97\n- 98\n");
        assert_eq!(written(&Value::Bytes("".into())), "[]\n");
        assert_eq!(written(&Value::List(List::nil(ListType::Any))), "[]\n");
        assert_eq!(written(&Value::Map(MapRef::nil(MapType::Any))), "{}\n");
    }
}

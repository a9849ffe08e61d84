//! Walks values for the JSON and YAML writers, after a check that they are finite.

use base64::Engine as _;
use pintle_tree::{KeyOrder, Sink, Walk, natural_order};

use crate::object::Encoded;
use crate::print::with_stack;
use crate::value::Value;

/// From this nesting on Go's encoder checks for cycles (`startDetectCyclesAfter` in encoding/json), so that
/// ordinary values pay nothing for it.
const TRUSTED_DEPTH: usize = 1_000;

/// The maximum number of values written at once; only maps that share parts repeatedly have more.
const MAX_VALUES: usize = 50_000_000;

/// Why a value cannot be encoded. Prints as Go's error does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EncodeError(String);

/// Checks that a value can be walked: no map contains itself, and every object can be encoded.
///
/// # Errors
/// Go's texts, for example `json: unsupported value: encountered a cycle via map[string]interface {}`.
pub fn encode_check(value: &Value) -> Result<(), EncodeError> {
    Check { above: Vec::new(), depth: 0, count: 0 }.value(value)
}

/// Checks for cycles.
struct Check {
    /// The addresses of the open containers beyond the trusted depth.
    above: Vec<usize>,
    depth: usize,
    count: usize,
}

impl Check {
    fn value(&mut self, value: &Value) -> Result<(), EncodeError> {
        match value {
            Value::List(list) if !list.items().is_empty() => {
                self.enter(list.items().as_ptr().addr(), list.of.name(), |check| {
                    list.items().iter().try_for_each(|item| check.value(item))
                })
            }
            Value::Map(map) => self.enter(map.address(), map.of.name(), |check| {
                map.borrow().values().try_for_each(|item| check.value(item))
            }),
            Value::Object(object) => self.enter(0, object.type_name(), |check| match object.encode() {
                Encoded::Value(inner) => check.value(&inner),
                Encoded::Fields(fields) => fields.iter().try_for_each(|(_, item)| check.value(item)),
                Encoded::Error(message) => Err(EncodeError(message)),
            }),
            _ => Ok(()),
        }
    }

    fn enter(
        &mut self,
        address: usize,
        type_name: &str,
        inside: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.count += 1;
        if self.count > MAX_VALUES {
            return Err(EncodeError("json: unsupported value: too many values".to_owned()));
        }
        self.depth += 1;
        let tracked = self.depth > TRUSTED_DEPTH && address != 0;
        if tracked {
            if self.above.contains(&address) {
                return Err(EncodeError(format!(
                    "json: unsupported value: encountered a cycle via {type_name}"
                )));
            }
            self.above.push(address);
        }
        let result = with_stack(|| inside(self));
        if tracked {
            self.above.pop();
        }
        self.depth -= 1;
        result
    }
}

impl Walk for Value {
    /// Passes the value to a writer. Run [`encode_check`] first: a map that contains itself never ends.
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        match self {
            Value::Nil => sink.nil(),
            Value::Bool(value) => sink.bool(*value),
            Value::Int(kind, value) if kind.is_unsigned() => sink.uint(*value as u64),
            Value::Int(_, value) => sink.int(*value),
            Value::Float(value) => sink.float(*value),
            // Go rejects complex numbers; templates cannot get one into data that encodes successfully.
            Value::Complex(_) => sink.nil(),
            Value::Str(text) => sink.str(text.as_bytes()),
            // Go's JSON encodes `[]byte` in base64.
            Value::Bytes(bytes) => {
                sink.str(base64::engine::general_purpose::STANDARD.encode(bytes.as_bytes()).as_bytes())
            }
            Value::List(list) if list.is_nil() => sink.nil(),
            Value::List(list) => {
                sink.begin_list(list.items().len())?;
                with_stack(|| list.items().iter().try_for_each(|item| item.walk(sink)))?;
                sink.end_list()
            }
            Value::Map(map) if map.is_nil() => sink.nil(),
            Value::Map(map) => with_stack(|| map.borrow().walk(sink)),
            Value::Object(object) => with_stack(|| walk_encoded(object.encode(), sink)),
        }
    }
}

fn walk_encoded<S: Sink>(encoded: Encoded, sink: &mut S) -> Result<(), S::Error> {
    match encoded {
        Encoded::Value(value) => value.walk(sink),
        Encoded::Fields(mut fields) => {
            // JSON keeps the order of struct fields. YAML is made from a map, whose keys are sorted.
            if S::KEY_ORDER == KeyOrder::Natural {
                fields.sort_by(|a, b| natural_order(a.0.as_bytes(), b.0.as_bytes()));
            }
            sink.begin_map(fields.len())?;
            for (name, value) in &fields {
                sink.key(name.as_bytes())?;
                value.walk(sink)?;
            }
            sink.end_map()
        }
        Encoded::Error(_) => sink.nil(),
    }
}

#[cfg(test)]
mod tests {
    use pintle_tree::Map;

    use super::*;
    use crate::value::MapRef;

    #[test]
    fn a_cycle_is_refused_with_the_text_of_go() {
        let map = MapRef::new(Map::new());
        map.insert("a".into(), Value::Map(map.clone()));
        let error = encode_check(&Value::Map(map.clone())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "json: unsupported value: encountered a cycle via map[string]interface {}"
        );
        map.borrow_mut().remove("a");
    }

    #[test]
    fn deep_nesting_without_a_cycle_passes() {
        let deep = (0..5_000).fold(Value::Nil, |inner, _| Value::list(vec![inner]));
        assert_eq!(encode_check(&deep), Ok(()));
    }
}

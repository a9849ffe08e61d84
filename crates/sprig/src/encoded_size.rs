//! The encoded size of a value, before it is written: values that share parts can be small in memory and unbounded as
//! text.
//! JSON and YAML writers walk a value without limits of their own; this runs before each of them.

use pintle_gotmpl::{CallError, Encoded, Fuel, Value};

use crate::text::{MAX_BYTES, with_stack};

/// The maximum nesting that is written.
const MAX_DEPTH: usize = 20_000;

/// From this nesting on Go's encoder checks for cycles (`startDetectCyclesAfter`).
const TRUSTED_DEPTH: usize = 1_000;

/// How many values are visited per step.
const VISITS_PER_STEP: u64 = 8;

/// Checks that the text of a value is finite and not too large.
///
/// # Errors
/// When it is not, or when finding out takes more steps than are left.
pub(crate) fn check(fuel: &mut Fuel, value: &Value) -> Result<(), CallError> {
    let mut check = SizeCheck { left: MAX_BYTES, visited: 0, depth: 0, open: Vec::new() };
    let result = check.add(value);
    fuel.spend(check.visited / VISITS_PER_STEP)?;
    result.map_err(CallError::new)
}

/// Go's text for the numbers that no format has.
pub(crate) const NO_COMPLEX: &str = "json: unsupported type: complex128";

struct SizeCheck {
    /// How many bytes the text may still have.
    left: usize,
    /// How many values were visited, including as a level around another.
    visited: u64,
    depth: usize,
    /// The enclosing maps beyond the trusted depth, by address.
    open: Vec<usize>,
}

type Outcome = Result<(), String>;

impl SizeCheck {
    fn subtract(&mut self, bytes: usize) -> Outcome {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| "the value is too large to be written".to_owned())?;
        Ok(())
    }

    /// Subtracts the minimum size of a value's text, with its indentation.
    fn add(&mut self, value: &Value) -> Outcome {
        let own = match value {
            Value::Str(text) | Value::Bytes(text) => text.len(),
            _ => 2,
        };
        self.visited += 1;
        self.subtract(own + 2 * self.depth)?;
        match value {
            Value::List(list) => {
                self.inside(|check| list.items().iter().try_for_each(|item| check.add(item)))
            }
            Value::Map(map) => {
                let tracked = self.depth > TRUSTED_DEPTH;
                if tracked {
                    // The search below is linear in the depth, and has to be paid for.
                    self.visited += self.open.len() as u64 / 16;
                    if self.open.contains(&map.address()) {
                        let name = map.of.name();
                        return Err(format!("json: unsupported value: encountered a cycle via {name}"));
                    }
                    self.open.push(map.address());
                }
                self.inside(|check| {
                    map.borrow().iter().try_for_each(|(key, value)| {
                        check.subtract(key.len())?;
                        check.add(value)
                    })
                })?;
                if tracked {
                    self.open.pop();
                }
                Ok(())
            }
            Value::Object(object) => self.inside(|check| match object.encode() {
                Encoded::Value(inner) => check.add(&inner),
                Encoded::Fields(fields) => fields.iter().try_for_each(|(_, value)| check.add(value)),
                Encoded::Error(message) => Err(message),
            }),
            Value::Complex(_) => Err(NO_COMPLEX.to_owned()),
            _ => Ok(()),
        }
    }

    /// Goes one level down, if there is one.
    fn inside(&mut self, items: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        if self.depth == MAX_DEPTH {
            return Err("the value is nested too deeply to be written".to_owned());
        }
        self.depth += 1;
        let result = with_stack(|| items(self));
        self.depth -= 1;
        result
    }
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::{Limits, MapRef};
    use pintle_tree::Map;

    use super::*;

    fn weigh(value: &Value) -> Result<(), CallError> {
        check(&mut Fuel::new(Limits::default()), value)
    }

    #[test]
    fn values_without_end_are_refused() {
        let map = MapRef::new(Map::new());
        map.insert("self".into(), Value::Map(map.clone()));
        let error = weigh(&Value::Map(map.clone())).unwrap_err();
        assert_eq!(error.message, "json: unsupported value: encountered a cycle via map[string]interface {}");
        map.borrow_mut().remove("self");
    }

    #[test]
    fn values_that_repeat_a_long_text_are_refused() {
        let text = Value::str("x".repeat(1 << 20));
        let repeated = Value::list(vec![text; 100]);
        assert_eq!(weigh(&repeated).unwrap_err().message, "the value is too large to be written");
        assert!(weigh(&Value::list(vec!["x".into(); 1000])).is_ok());
    }
}

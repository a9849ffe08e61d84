//! Go's `reflect.DeepEqual`: types count, and a nil slice is not an empty one.

use std::rc::Rc;

use pintle_gotmpl::{List, MapRef, Value};

use crate::text::with_stack;

/// How deep maps are compared before cycles are looked for.
const TRUSTED_DEPTH: usize = 100;

/// Whether two values are of the same type and hold the same.
pub(crate) fn deep_equal(a: &Value, b: &Value) -> bool {
    Comparison { open: Vec::new() }.values(a, b)
}

struct Comparison {
    /// The maps that are being compared, by address.
    open: Vec<(usize, usize)>,
}

impl Comparison {
    fn values(&mut self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Nil, Value::Nil) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a_kind, a), Value::Int(b_kind, b)) => a_kind == b_kind && a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Complex(a), Value::Complex(b)) => a == b,
            (Value::Str(a), Value::Str(b)) | (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::List(a), Value::List(b)) => self.lists(a, b),
            (Value::Map(a), Value::Map(b)) => self.maps(a, b),
            (Value::Object(a), Value::Object(b)) => {
                Rc::ptr_eq(a, b) || (a.type_name() == b.type_name() && a.print() == b.print())
            }
            _ => false,
        }
    }

    fn lists(&mut self, a: &List, b: &List) -> bool {
        let (a_items, b_items) = (a.items(), b.items());
        if a.of != b.of || a.is_nil() != b.is_nil() || a_items.len() != b_items.len() {
            return false;
        }
        a_items.as_ptr() == b_items.as_ptr()
            || with_stack(|| a_items.iter().zip(b_items).all(|(a, b)| self.values(a, b)))
    }

    fn maps(&mut self, a: &MapRef, b: &MapRef) -> bool {
        if a.of != b.of || a.len() != b.len() {
            return false;
        }
        let pair = (a.address(), b.address());
        // What is being compared already is equal as far as this place is concerned.
        if a.same(b) || (self.open.len() > TRUSTED_DEPTH && self.open.contains(&pair)) {
            return true;
        }
        self.open.push(pair);
        let (a_entries, b_entries) = (a.borrow(), b.borrow());
        let equal = with_stack(|| {
            let mut pairs = a_entries.iter().zip(b_entries.iter());
            pairs.all(|((a_key, a), (b_key, b))| a_key == b_key && self.values(a, b))
        });
        self.open.pop();
        equal
    }
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::ListType;
    use pintle_tree::Map;

    use super::*;

    #[test]
    fn types_count() {
        assert!(!deep_equal(&Value::int(1), &Value::int64(1)));
        assert!(!deep_equal(&Value::list(vec![]), &Value::List(List::nil(ListType::Any))));
        assert!(!deep_equal(&Value::strings(["a"]), &Value::list(vec!["a".into()])));
        assert!(deep_equal(&Value::list(vec!["a".into()]), &Value::list(vec!["a".into()])));
    }

    #[test]
    fn maps_that_hold_themselves_can_be_compared() {
        let looped = || {
            let map = MapRef::new(Map::new());
            map.insert("self".into(), Value::Map(map.clone()));
            map
        };
        let (a, b) = (looped(), looped());
        assert!(deep_equal(&Value::Map(a.clone()), &Value::Map(b.clone())));
        a.borrow_mut().remove("self");
        b.borrow_mut().remove("self");
    }
}

//! Go's `reflect.DeepEqual`: types count, and a nil slice is not an empty one.

use std::rc::Rc;

use pintle_gotmpl::{CallError, Fuel, List, MapRef, Object, Value};
use pintle_tree::Str;

use crate::text::with_stack;

/// The nesting from which on cycles are checked for.
const TRUSTED_DEPTH: usize = 100;

/// How many bytes of text are compared per step.
const LONG_TEXT: usize = 256;

/// Whether two values have the same type and content.
pub(crate) fn deep_equal(fuel: &mut Fuel, a: &Value, b: &Value) -> Result<bool, CallError> {
    let mut comparison = Comparison { open: Vec::new(), fuel, failure: None };
    let equal = comparison.values(a, b);
    comparison.failure.map_or(Ok(equal), Err)
}

/// Whether `needle` equals an item of `haystack`.
pub(crate) fn holds(fuel: &mut Fuel, haystack: &[Value], needle: &Value) -> Result<bool, CallError> {
    // Most comparisons end at once, so a step covers several.
    fuel.spend(haystack.len() as u64 / 8 + 1)?;
    for item in haystack {
        if deep_equal(fuel, needle, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

struct Comparison<'f> {
    /// The maps that are being compared, by address.
    open: Vec<(usize, usize)>,
    /// Lists and maps that share parts can take very long to compare.
    fuel: &'f mut Fuel,
    failure: Option<CallError>,
}

impl Comparison<'_> {
    /// Charges comparing so many items.
    fn pays(&mut self, items: usize) -> bool {
        match self.fuel.spend(items as u64) {
            Ok(()) => true,
            Err(error) => {
                self.failure.get_or_insert(error);
                false
            }
        }
    }

    fn values(&mut self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Nil, Value::Nil) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a_kind, a), Value::Int(b_kind, b)) => a_kind == b_kind && a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Complex(a), Value::Complex(b)) => a == b,
            (Value::Str(a), Value::Str(b)) | (Value::Bytes(a), Value::Bytes(b)) => self.texts(a, b),
            (Value::List(a), Value::List(b)) => self.lists(a, b),
            (Value::Map(a), Value::Map(b)) => self.maps(a, b),
            (Value::Object(a), Value::Object(b)) => {
                Rc::ptr_eq(a, b) || (a.type_name() == b.type_name() && self.objects(&**a, &**b))
            }
            _ => false,
        }
    }

    /// Long texts of one length must be read, and a list can hold one text many times.
    fn texts(&mut self, a: &Str, b: &Str) -> bool {
        a.len() == b.len() && (a.len() < LONG_TEXT || self.pays(a.len() / LONG_TEXT)) && a == b
    }

    fn objects(&mut self, a: &dyn Object, b: &dyn Object) -> bool {
        let (a, b) = (a.print(), b.print());
        self.pays((a.len() + b.len()) / LONG_TEXT) && a == b
    }

    fn lists(&mut self, a: &List, b: &List) -> bool {
        let (a_items, b_items) = (a.items(), b.items());
        if a.of != b.of || a.is_nil() != b.is_nil() || a_items.len() != b_items.len() {
            return false;
        }
        // `DeepEqual` takes the same shortcut, so a list with NaN equals itself.
        a_items.as_ptr() == b_items.as_ptr()
            || self.pays(a_items.len())
                && with_stack(|| a_items.iter().zip(b_items).all(|(a, b)| self.values(a, b)))
    }

    fn maps(&mut self, a: &MapRef, b: &MapRef) -> bool {
        if a.of != b.of || a.is_nil() != b.is_nil() || a.len() != b.len() {
            return false;
        }
        let pair = (a.address(), b.address());
        // A pair that is already being compared counts as equal here.
        if a.same(b) || (self.open.len() > TRUSTED_DEPTH && self.open.contains(&pair)) {
            return true;
        }
        // The search above is linear in the number of enclosing levels.
        let around = if self.open.len() > TRUSTED_DEPTH { self.open.len() / 32 } else { 0 };
        if !self.pays(a.len() + around) {
            return false;
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
    use pintle_gotmpl::{Limits, ListType};
    use pintle_tree::Map;

    use super::*;

    fn equal(a: &Value, b: &Value) -> bool {
        deep_equal(&mut Fuel::new(Limits::default()), a, b).unwrap()
    }

    #[test]
    fn types_count() {
        assert!(!equal(&Value::int(1), &Value::int64(1)));
        assert!(!equal(&Value::list(vec![]), &Value::List(List::nil(ListType::Any))));
        assert!(!equal(&Value::strings(["a"]), &Value::list(vec!["a".into()])));
        assert!(equal(&Value::list(vec!["a".into()]), &Value::list(vec!["a".into()])));
    }

    #[test]
    fn long_texts_and_deep_maps_are_paid_for() {
        let spent = |a: &Value, b: &Value| {
            let mut fuel = Fuel::new(Limits::default());
            assert!(deep_equal(&mut fuel, a, b).unwrap());
            Limits::default().steps - fuel.steps_left()
        };
        let text = || Value::str("a".repeat(1 << 20));
        assert!(spent(&text(), &text()) >= 4096);
        let deep = |depth: usize| {
            (0..depth).fold(Value::Nil, |inner, _| {
                Value::map([("k".into(), inner)].into_iter().collect::<Map<_>>())
            })
        };
        // Twice as deep is four times as much to look through.
        assert!(spent(&deep(4000), &deep(4000)) > 3 * spent(&deep(2000), &deep(2000)));
    }

    #[test]
    fn lists_that_share_parts_do_not_take_forever() {
        let doubled = |_| (0..60).fold(Value::Nil, |inner, _| Value::list(vec![inner.clone(), inner]));
        let (a, b) = (doubled(()), doubled(()));
        let mut fuel = Fuel::new(Limits { steps: 10_000, ..Limits::default() });
        assert!(deep_equal(&mut fuel, &a, &b).is_err());
    }

    #[test]
    fn maps_that_hold_themselves_can_be_compared() {
        let looped = || {
            let map = MapRef::new(Map::new());
            map.insert("self".into(), Value::Map(map.clone()));
            map
        };
        let (a, b) = (looped(), looped());
        assert!(equal(&Value::Map(a.clone()), &Value::Map(b.clone())));
        a.borrow_mut().remove("self");
        b.borrow_mut().remove("self");
    }
}

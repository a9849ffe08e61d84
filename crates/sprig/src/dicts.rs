//! Maps: reading, modifying in place, picking and copying.

use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Function, List, MapRef, MapType, Type, Value};
use pintle_tree::{Map, Str};

use crate::semver::VersionObject;
use crate::text::{ZERO_VALUE, text_of, with_stack};

/// The maximum nesting that is copied; only maps that contain themselves go deeper.
const MAX_DEPTH: usize = 20_000;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Bool, Strings};
    const LIST: Type = Type::List;
    const MAP: Type = Type::Map;
    const STR: Type = Type::Str;
    vec![
        Function::pure("dict", &[], Some(Any), MAP, dict),
        Function::pure("get", &[MAP, STR], None, Any, get),
        Function::pure("set", &[MAP, STR, Any], None, MAP, set),
        Function::pure("unset", &[MAP, STR], None, MAP, unset),
        Function::pure("hasKey", &[MAP, STR], None, Bool, has_key),
        Function::pure("pluck", &[STR], Some(MAP), LIST, pluck),
        Function::pure("keys", &[], Some(MAP), Strings, keys),
        Function::pure("values", &[MAP], None, LIST, values),
        Function::metered("pick", &[MAP], Some(STR), MAP, pick),
        Function::metered("omit", &[MAP], Some(STR), MAP, omit),
        Function::pure("dig", &[], Some(Any), Any, dig),
        Function::metered("deepCopy", &[Any], None, Any, deep_copy),
        Function::metered("mustDeepCopy", &[Any], None, Any, deep_copy),
    ]
}

fn dict(args: Args<'_>) -> CallResult {
    let entry =
        |pair: &[Value]| (text_of(&pair[0]), pair.get(1).cloned().unwrap_or_else(|| Value::Str(Str::EMPTY)));
    Ok(Value::map(args.0.chunks(2).map(entry).collect()))
}

fn get(args: Args<'_>) -> CallResult {
    let found = args.map(0).and_then(|map| map.get(args.text(1)));
    Ok(found.unwrap_or_else(|| Value::Str(Str::EMPTY)))
}

fn set(args: Args<'_>) -> CallResult {
    let Some(map) = args.map(0) else {
        return Err(CallError::new("assignment to entry in nil map"));
    };
    map.insert(args.str(1), args.any(2).clone());
    // The parameter has the plain map type, so what comes back does too; the entries stay shared with the
    // named one.
    Ok(Value::Map(map.retyped(MapType::Any)))
}

fn unset(args: Args<'_>) -> CallResult {
    let Some(map) = args.map(0) else { return Ok(Value::Map(MapRef::nil(MapType::Any))) };
    map.borrow_mut().remove(args.text(1));
    Ok(Value::Map(map.retyped(MapType::Any)))
}

fn has_key(args: Args<'_>) -> CallResult {
    Ok(Value::Bool(args.map(0).is_some_and(|map| map.borrow().contains_key(args.text(1)))))
}

/// The maps among the arguments from `index` on; nil maps are skipped.
fn maps(args: Args<'_>, index: usize) -> impl Iterator<Item = &MapRef> {
    args.rest(index).iter().filter_map(Value::as_map)
}

fn pluck(args: Args<'_>) -> CallResult {
    Ok(Value::list(maps(args, 1).filter_map(|map| map.get(args.text(0))).collect()))
}

/// Go's order is random here; ours is by key.
fn keys(args: Args<'_>) -> CallResult {
    let mut all: Vec<Str> = Vec::new();
    for map in maps(args, 0) {
        all.extend(map.borrow().keys().cloned());
    }
    Ok(Value::strings(all))
}

fn values(args: Args<'_>) -> CallResult {
    Ok(Value::list(args.map(0).map_or_else(Vec::new, |map| map.borrow().values().cloned().collect())))
}

/// The strings among the arguments from 1 on.
fn names(args: Args<'_>) -> impl Iterator<Item = &Str> {
    args.rest(1).iter().filter_map(Value::as_text)
}

/// Charges a new map of so many entries.
fn charge(fuel: &mut Fuel, entries: usize) -> Result<(), CallError> {
    fuel.spend(entries as u64 / 8)?;
    // Two more for the collection itself.
    fuel.allocate(entries.saturating_add(2).saturating_mul(size_of::<(Str, Value)>()))
}

fn pick(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    let Some(map) = args.map(0) else { return Ok(Value::map(Map::new())) };
    charge(fuel, args.len())?;
    let map = map.borrow();
    Ok(Value::map(names(args).filter_map(|name| Some((name.clone(), map.get(name)?.clone()))).collect()))
}

fn omit(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    let Some(map) = args.map(0) else { return Ok(Value::map(Map::new())) };
    // Each entry is compared with each name.
    charge(fuel, map.len().saturating_mul(args.len().div_ceil(8)))?;
    let map = map.borrow();
    let kept = map.iter().filter(|(key, _)| !names(args).any(|name| name == *key));
    Ok(Value::map(kept.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

/// The panic of a failed Go type assertion.
fn not_a(value: &Value, wanted: &str) -> CallError {
    let name = if value.is_nil() { "nil".into() } else { value.type_name() };
    CallError::new(format!("interface conversion: interface {{}} is {name}, not {wanted}"))
}

/// The map that a Go type assertion returns; maps of other types are rejected.
fn asserted_map(value: &Value) -> Result<&MapRef, CallError> {
    match value {
        Value::Map(map) if map.of == MapType::Any => Ok(map),
        _ => Err(not_a(value, MapType::Any.name())),
    }
}

fn dig(args: Args<'_>) -> CallResult {
    let [path @ .., default, last] = args.0 else {
        return Err(CallError::new("dig needs at least three arguments"));
    };
    if path.is_empty() {
        return Err(CallError::new("dig needs at least three arguments"));
    }
    let mut map = asserted_map(last)?.clone();
    // After the map, because Go asserts in this order and the first failed assertion is the message.
    if let Some(key) = path.iter().find(|key| key.as_text().is_none()) {
        return Err(not_a(key, "string"));
    }
    let mut steps = path.iter().filter_map(Value::as_text).peekable();
    while let Some(key) = steps.next() {
        let Some(found) = map.get(key) else { break };
        if steps.peek().is_none() {
            return Ok(found);
        }
        map = asserted_map(&found)?.clone();
    }
    Ok(default.clone())
}

fn deep_copy(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    match args.any(0) {
        Value::Nil => Err(CallError::new(ZERO_VALUE)),
        value => copy(fuel, value, 0),
    }
}

fn copy(fuel: &mut Fuel, value: &Value, depth: usize) -> CallResult {
    if depth > MAX_DEPTH {
        return Err(CallError::new("the value is nested too deeply to be copied"));
    }
    Ok(match value {
        Value::List(list) if !list.is_nil() => {
            charge(fuel, list.items().len())?;
            let items = list.items().iter();
            let copies: Result<Vec<_>, CallError> =
                with_stack(|| items.map(|item| copy(fuel, item, depth + 1)).collect());
            Value::List(List::of(list.of, copies?))
        }
        Value::Map(map) if !map.is_nil() => {
            charge(fuel, map.len())?;
            let entries = map.borrow();
            let mut entry = |(key, value): (&Str, &Value)| Ok((key.clone(), copy(fuel, value, depth + 1)?));
            let copies: Result<Vec<_>, CallError> = with_stack(|| entries.iter().map(&mut entry).collect());
            Value::Map(MapRef::of(map.of, Map::from_entries(copies?)))
        }
        // Go copies exported fields only, and a version has none.
        Value::Object(_) => match value.downcast::<VersionObject>() {
            Some(version) => Value::object(version.zero()),
            None => value.clone(),
        },
        _ => value.clone(),
    })
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::{Limits, print};

    use super::*;

    fn call(body: fn(Args<'_>) -> CallResult, args: &[Value]) -> String {
        match body(Args(args)) {
            Ok(value) => print::to_str(&value).to_string(),
            Err(error) => format!("error: {}", error.message),
        }
    }

    fn copied(value: &Value) -> CallResult {
        deep_copy(&mut Fuel::new(Limits::default()), Args(std::slice::from_ref(value)))
    }

    fn pair(key: &str, value: Value) -> Value {
        Value::map([(Str::from(key), value)].into_iter().collect())
    }

    #[test]
    fn a_change_is_made_in_place() {
        let map = pair("a", Value::int(1));
        assert_eq!(call(set, &[map.clone(), "b".into(), Value::int(2)]), "map[a:1 b:2]");
        assert_eq!(call(unset, &[map.clone(), "a".into()]), "map[b:2]");
        assert_eq!(print::to_str(&map).to_string(), "map[b:2]");
        assert_eq!(call(set, &[Value::Nil, "b".into(), Value::Nil]), "error: assignment to entry in nil map");
    }

    #[test]
    fn digging_fails_at_what_is_no_map() {
        let map = pair("a", pair("b", "x".into()));
        assert_eq!(call(dig, &["a".into(), "b".into(), "d".into(), map.clone()]), "x");
        assert_eq!(call(dig, &["a".into(), "q".into(), "d".into(), map.clone()]), "d");
        let through_text = call(dig, &["a".into(), "b".into(), "c".into(), "d".into(), map]);
        assert_eq!(
            through_text,
            "error: interface conversion: interface {} is string, not map[string]interface {}"
        );
        assert_eq!(call(dig, &["a".into(), "b".into()]), "error: dig needs at least three arguments");
    }

    #[test]
    fn a_copy_shares_nothing_and_ends_even_in_a_cycle() {
        let map = pair("a", pair("b", Value::int(1)));
        let copy = copied(&map).unwrap();
        map.as_map().unwrap().get("a").unwrap().as_map().unwrap().insert("b".into(), Value::Nil);
        assert_eq!(print::to_str(&copy).to_string(), "map[a:map[b:1]]");
        let cycle = map.as_map().unwrap();
        cycle.insert("self".into(), map.clone());
        assert!(copied(&map).is_err());
        cycle.borrow_mut().remove("self");
    }
}

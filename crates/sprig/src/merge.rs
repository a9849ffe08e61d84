//! Merging maps by the rules of mergo, which differ from Helm's own merging of values.

use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Function, Kind, MapRef, MapType, Type, Value};
use pintle_tree::Map;

use crate::text::with_stack;

/// The maximum nesting that is merged; only maps that contain themselves go deeper.
const MAX_DEPTH: usize = 20_000;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::Any;
    const MAP: Type = Type::Map;
    vec![
        Function::metered("merge", &[MAP], Some(MAP), Any, |fuel, args| merge(fuel, args, false)),
        Function::metered("mustMerge", &[MAP], Some(MAP), Any, |fuel, args| merge(fuel, args, false)),
        Function::metered("mergeOverwrite", &[MAP], Some(MAP), Any, |fuel, args| merge(fuel, args, true)),
        Function::metered("mustMergeOverwrite", &[MAP], Some(MAP), Any, |fuel, args| merge(fuel, args, true)),
    ]
}

/// Merges all further maps into the first, which is modified in place.
fn merge(fuel: &mut Fuel, args: Args<'_>, overwrite: bool) -> CallResult {
    let target = match args.map(0) {
        Some(map) => map.retyped(MapType::Any),
        // Go makes a map for nil only when there is something to merge into it.
        None if args.rest(1).iter().filter_map(Value::as_map).any(|source| !source.is_nil()) => {
            MapRef::new(Map::new())
        }
        None => MapRef::nil(MapType::Any),
    };
    for source in args.rest(1).iter().filter_map(Value::as_map) {
        merge_into(fuel, &target, source, overwrite, 0)?;
    }
    Ok(Value::Map(target))
}

/// Merges one map into another. Nested maps are merged in place; other values are shared, not copied.
fn merge_into(
    fuel: &mut Fuel,
    target: &MapRef,
    source: &MapRef,
    overwrite: bool,
    depth: usize,
) -> Result<(), CallError> {
    if depth > MAX_DEPTH {
        return Err(CallError::new("the maps are nested too deeply to be merged"));
    }
    fuel.spend(source.len() as u64)?;
    // The source may be the target, or a part of it.
    for (key, new) in source.snapshot() {
        let old = target.get(&key);
        // mergo skips nil in the source unless it overwrites, so `mergeOverwrite` can set a key to nil and
        // `merge` cannot.
        if new.is_nil() {
            if overwrite {
                target.insert(key, new);
            }
            continue;
        }
        if let (Some(Value::Map(old)), Value::Map(new)) = (&old, &new) {
            with_stack(|| merge_into(fuel, old, new, overwrite, depth + 1))?;
            // Only now: an empty map that was filled is kept, and one that is still empty is replaced.
            if !old.is_empty() {
                continue;
            }
        }
        // The well-known trap of `merge`: `false`, 0 and "" count as unset and are replaced.
        let absent = old.as_ref().is_none_or(is_empty);
        if absent || overwrite {
            target.insert(key, new);
        }
    }
    Ok(())
}

/// What mergo counts as empty: as Go's templates do, except that a complex number never is.
fn is_empty(value: &Value) -> bool {
    value.kind() != Kind::Complex128 && !value.is_true()
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::{Limits, print};
    use pintle_tree::{Node, json};

    use super::*;

    fn merged_values(args: Args<'_>, overwrite: bool) -> CallResult {
        merge(&mut Fuel::new(Limits::default()), args, overwrite)
    }

    fn merged(overwrite: bool, maps: &[&str]) -> String {
        let value = |text: &&str| Value::from_node(&json::read(text.as_bytes()).unwrap());
        let maps: Vec<Value> = maps.iter().map(value).collect();
        print::to_str(&merged_values(Args(&maps), overwrite).unwrap()).to_string()
    }

    #[test]
    fn merging_fills_what_is_empty() {
        assert_eq!(
            merged(
                false,
                &[r#"{"a":0,"b":"x","m":{"p":1}}"#, r#"{"a":1,"b":"y","c":null,"m":{"p":2,"q":3}}"#]
            ),
            "map[a:1 b:x m:map[p:1 q:3]]"
        );
        assert_eq!(merged(false, &[r#"{"k":{"p":1}}"#, r#"{"k":[1]}"#]), "map[k:map[p:1]]");
    }

    #[test]
    fn overwriting_takes_everything_but_keeps_maps_merged() {
        assert_eq!(
            merged(true, &[r#"{"a":1,"l":[1],"m":{"p":1}}"#, r#"{"a":"","l":[],"m":{"q":null}}"#]),
            "map[a: l:[] m:map[p:1 q:<nil>]]"
        );
        assert_eq!(merged(true, &[r#"{"k":{"p":1}}"#, r#"{"k":5}"#]), "map[k:5]");
    }

    #[test]
    fn a_map_can_be_merged_into_itself() {
        let map = Value::from_node(&Node::Map([("a".into(), Node::from(1.0))].into_iter().collect()));
        assert!(merged_values(Args(&[map.clone(), map.clone()]), true).is_ok());
        map.as_map().unwrap().insert("self".into(), map.clone());
        assert!(merged_values(Args(&[map.clone(), Value::map(Map::new()), map.clone()]), false).is_err());
        map.as_map().unwrap().borrow_mut().remove("self");
    }
}

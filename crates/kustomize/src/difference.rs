//! Which fields differ between two states of an object.

use pintle_tree::{Segment, ValuePath};

use crate::value::Value;

/// How many differences are kept; what is more counts as one at the root.
const MOST: usize = 2_000;

/// Fields that tell items of a list apart.
const NAMES: [&str; 9] =
    ["name", "key", "mountPath", "containerPort", "port", "topologyKey", "ip", "type", "host"];

/// The paths in `new` that are different from `old`, and those of fields that are gone.
pub(crate) fn differences(old: &Value, new: &Value) -> Vec<ValuePath> {
    let mut paths = Vec::new();
    compare(old, new, &ValuePath::root(), &mut paths);
    if paths.len() > MOST { vec![ValuePath::root()] } else { paths }
}

fn compare(old: &Value, new: &Value, path: &ValuePath, paths: &mut Vec<ValuePath>) {
    if paths.len() > MOST {
        return;
    }
    match (old, new) {
        (Value::Map(old), Value::Map(new)) => {
            for (key, value) in new.iter() {
                match old.get(key) {
                    Some(before) => compare(before, value, &path.key(key.clone()), paths),
                    None => paths.push(path.key(key.clone())),
                }
            }
            paths.extend(old.keys().filter(|key| !new.contains_key(key)).map(|key| path.key(key.clone())));
        }
        (Value::List(old), Value::List(new)) => {
            // Long lists of scalars are not compared one by one with each other.
            if old.len().saturating_mul(new.len()) > 10_000 {
                if old != new {
                    paths.push(path.clone());
                }
                return;
            }
            let before = paths.len();
            for (index, item) in new.iter().enumerate() {
                match counterpart(old, item, index) {
                    Some(counterpart) => compare(counterpart, item, &path.index(index), paths),
                    None => paths.push(path.index(index)),
                }
            }
            if old.len() > new.len() && paths.len() == before {
                paths.push(path.clone());
            }
        }
        (old, new) if old == new => {}
        _ => paths.push(path.clone()),
    }
}

/// The item of an old list that became an item.
fn counterpart<'v>(old: &'v [Value], item: &Value, index: usize) -> Option<&'v Value> {
    if let Some(same) = old.get(index).filter(|same| *same == item) {
        return Some(same);
    }
    match identity(item) {
        Some((name, text)) => old.iter().find(|old| old.get(name).is_some_and(|value| value.text() == text)),
        None => old.iter().find(|old| *old == item),
    }
}

fn identity(item: &Value) -> Option<(&'static str, pintle_tree::Str)> {
    NAMES.into_iter().find_map(|name| Some((name, item.get(name)?.as_scalar()?.text.clone())))
}

/// The path in a patch of what is at a path in the object that it was merged into.
pub(crate) fn in_patch(path: &ValuePath, object: &Value, patch: &Value) -> ValuePath {
    let (mut object, mut patch, mut found) = (object, patch, ValuePath::root());
    for segment in path.segments() {
        let next = match (segment, object, patch) {
            (Segment::Key(key), Value::Map(object), Value::Map(patch)) => {
                patch.get(key).map(|patch| (object.get(key), patch, Segment::Key(key.clone())))
            }
            (Segment::Index(index), Value::List(object), Value::List(patch)) => {
                object.get(*index).and_then(|item| {
                    let same = |candidate: &Value| match identity(item) {
                        Some((name, text)) => candidate.get(name).is_some_and(|value| value.text() == text),
                        None => candidate == item,
                    };
                    let at = patch.iter().position(same)?;
                    Some((Some(item), &patch[at], Segment::Index(at)))
                })
            }
            _ => None,
        };
        let Some((inner, inner_patch, segment)) = next else { break };
        found = found.with(segment);
        patch = inner_patch;
        let Some(inner) = inner else { break };
        object = inner;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        crate::value::read(text.as_bytes()).expect("YAML")
    }

    #[test]
    fn items_that_only_moved_are_no_differences() {
        let old = value("{a: [{name: x, v: 1}, {name: y, v: 2}], b: 1, c: 1}");
        let new = value("{a: [{name: y, v: 3}, {name: x, v: 1}], b: 1, d: 1}");
        let paths: Vec<String> = differences(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(paths, ["a[0].v", "d", "c"]);
        let patch = value("{a: [{name: z}, {name: y, v: 3}]}");
        assert_eq!(in_patch(&"a[0].v".parse().expect("a path"), &new, &patch).to_string(), "a[1].v");
    }
}

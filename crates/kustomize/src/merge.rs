//! Strategic merge patches with the meaning that they have in kustomize, which is not quite that of the API server: items of
//! a patch come first, and a scalar keeps the quotes of the one that it replaces.

use std::collections::BTreeSet;

use pintle_tree::{Map, Str, with_stack};

use crate::schema::{Schema, Types};
use crate::value::{Scalar, Tag, Value};

const DIRECTIVE: &str = "$patch";

/// The key of a list whose items are scalars.
const ITSELF: &str = "";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

/// What comes of a node.
enum Outcome {
    /// It is removed.
    Cleared,
    /// It is changed in its place.
    Merged(Value),
    /// Another one takes its place.
    Replaced(Value),
    /// A null that was written as such, and is kept.
    KeptNull(Value),
}

impl Outcome {
    fn into_value(self) -> Option<Value> {
        match self {
            Outcome::Cleared => None,
            Outcome::Merged(value) | Outcome::Replaced(value) | Outcome::KeptNull(value) => Some(value),
        }
    }
}

/// The lists whose items are merged.
struct Lists<'l> {
    old: Vec<Value>,
    patch: Option<&'l [Value]>,
    /// Whether both are the same.
    into_itself: bool,
}

/// Merges patches, and counts the work.
pub(crate) struct Merger<'t> {
    pub(crate) types: &'t Types,
    /// How many more comparisons may be made.
    pub(crate) work: u64,
}

/// Where a patch and what it changes differ in kind.
fn wrong_kind(expected: &str, found: &Value) -> String {
    format!("wrong node kind: expected {expected} but got {}", found.kind_name())
}

impl Merger<'_> {
    /// Merges a patch into an object. `None` if it deletes the object.
    pub(crate) fn merge(&mut self, object: Value, patch: Value) -> Result<Option<Value>, String> {
        Ok(self.walk(Some(object), Some(patch), None)?.into_value())
    }

    fn charge(&mut self, steps: usize) -> Result<(), String> {
        self.work = self.work.checked_sub(steps as u64).ok_or("the patch takes too much work")?;
        Ok(())
    }

    fn walk(
        &mut self,
        old: Option<Value>,
        patch: Option<Value>,
        schema: Option<Schema<'_>>,
    ) -> Result<Outcome, String> {
        self.charge(1)?;
        let some = |value: &Option<Value>| value.as_ref().is_some_and(|value| !value.is_null());
        let leading = [&old, &patch].into_iter().find(|value| some(value)).and_then(Option::as_ref);
        let expected = leading.map(Value::kind_name);
        for value in [&old, &patch].into_iter().flatten().filter(|value| !value.is_null()) {
            if let Some(expected) = expected.filter(|expected| *expected != value.kind_name()) {
                return Err(wrong_kind(expected, value));
            }
        }
        match leading {
            None | Some(Value::Map(_)) => {
                let types = self.types;
                let find = |value: &Option<Value>| value.as_ref().and_then(|value| types.of_object(value));
                let schema = schema.or_else(|| find(&old)).or_else(|| find(&patch));
                with_stack(|| self.walk_map(old, patch, schema))
            }
            Some(Value::List(_)) => match schema.and_then(Schema::merge_keys) {
                Some(keys) => with_stack(|| self.walk_keyed(old, patch, schema, keys)),
                None => Ok(match (patch, old) {
                    (Some(patch), _) => Outcome::Replaced(patch),
                    (None, Some(old)) => Outcome::Merged(old),
                    (None, None) => Outcome::Cleared,
                }),
            },
            Some(Value::Scalar(_)) => Ok(match (patch, old) {
                (Some(patch), _) => Outcome::Replaced(patch),
                (None, Some(old)) => Outcome::Merged(old),
                (None, None) => Outcome::Cleared,
            }),
        }
    }

    fn walk_map(
        &mut self,
        old: Option<Value>,
        mut patch: Option<Value>,
        schema: Option<Schema<'_>>,
    ) -> Result<Outcome, String> {
        let Some(mut old) = old.filter(|old| !old.is_null() || patch.is_none()) else {
            // It is new: the patch is merged into itself, so that directives and nulls in it take effect.
            let directive = patch.as_mut().and_then(|patch| directive_of_map(patch).ok());
            return match (directive, patch) {
                (Some(Directive::Delete), _) | (_, None) => Ok(Outcome::Cleared),
                (_, Some(Value::Map(map))) => {
                    let merged = self.merge_fields(map.clone(), map, schema)?;
                    Ok(Outcome::Replaced(Value::Map(merged)))
                }
                (_, Some(other)) => Ok(Outcome::Replaced(other)),
            };
        };
        if old.is_null() {
            let written = !old.text().is_empty();
            return Ok(if written { Outcome::KeptNull(old) } else { Outcome::Cleared });
        }
        let mut replaced = false;
        let patch_fields = match patch {
            Some(Value::Map(_)) => {
                let mut patch = patch.take().unwrap_or_else(Value::empty_map);
                match directive_of_map(&mut patch)? {
                    Directive::Delete => return Ok(Outcome::Cleared),
                    Directive::Replace => {
                        replaced = true;
                        old = patch.clone();
                    }
                    Directive::Merge => {}
                }
                let Value::Map(fields) = patch else { return Ok(Outcome::Cleared) };
                fields
            }
            Some(_) => return Ok(Outcome::Cleared),
            None => Map::new(),
        };
        let Value::Map(fields) = old else { return Ok(Outcome::Cleared) };
        let merged = Value::Map(self.merge_fields(fields, patch_fields, schema)?);
        Ok(if replaced { Outcome::Replaced(merged) } else { Outcome::Merged(merged) })
    }

    fn merge_fields(
        &mut self,
        old: Map<Value>,
        mut patch: Map<Value>,
        schema: Option<Schema<'_>>,
    ) -> Result<Map<Value>, String> {
        let mut merged = Map::with_capacity(old.len() + patch.len());
        for (key, value) in old {
            let style = value.as_scalar().map(|scalar| scalar.tag);
            let change = patch.remove(&key);
            let field = schema.and_then(|schema| schema.field(&key));
            let outcome = self.walk(Some(value), change, field)?;
            if let Some(value) = field_value(outcome, style) {
                merged.insert(key, value);
            }
        }
        for (key, change) in patch {
            let field = schema.and_then(|schema| schema.field(&key));
            let outcome = self.walk(None, Some(change), field)?;
            if let Some(value) = field_value(outcome, None) {
                merged.insert(key, value);
            }
        }
        Ok(merged)
    }

    fn walk_keyed(
        &mut self,
        old: Option<Value>,
        patch: Option<Value>,
        schema: Option<Schema<'_>>,
        keys: &[String],
    ) -> Result<Outcome, String> {
        let old = old.filter(|old| !old.is_null());
        if old.is_some() && patch.as_ref().is_some_and(Value::is_null) {
            return Ok(Outcome::Cleared);
        }
        let mut changes = match patch {
            Some(Value::List(list)) => Some(list),
            _ => None,
        };
        // A new list, or one that replaces another, is merged into itself.
        let mut into_itself = old.is_none();
        let mut items = match old {
            Some(Value::List(list)) => list,
            _ => changes.clone().unwrap_or_default(),
        };
        if let Some(changes) = &mut changes {
            match directive_of_list(changes)? {
                Directive::Delete if !into_itself => return Ok(Outcome::Cleared),
                Directive::Merge if !into_itself => {}
                _ => {
                    items.clone_from(changes);
                    into_itself = true;
                }
            }
        }
        let items_schema = schema.and_then(Schema::items);
        let primitive = [ITSELF.to_owned()];
        let keys = if keys.is_empty() { &primitive[..] } else { keys };
        let values = self.key_values(&items, changes.as_deref(), keys)?;
        let lists = Lists { old: items, patch: changes.as_deref(), into_itself };
        let merged = self.merge_items(lists, values, keys, items_schema)?;
        Ok(Outcome::Merged(Value::List(merged)))
    }

    /// The values of the keys of all items, those of the patch first, each once.
    fn key_values(
        &mut self,
        old: &[Value],
        patch: Option<&[Value]>,
        keys: &[String],
    ) -> Result<Vec<Vec<Str>>, String> {
        let mut values = Vec::new();
        let mut seen = BTreeSet::new();
        for item in patch.unwrap_or_default().iter().chain(old) {
            self.charge(1)?;
            let of_key = |key: &String| match key.as_str() {
                ITSELF => item.text(),
                key => item.get(key).filter(|value| !value.is_empty()).map(Value::text).unwrap_or_default(),
            };
            let of_item: Vec<Str> = keys.iter().map(of_key).collect();
            if seen.insert(of_item.clone()) {
                values.push(of_item);
            }
        }
        if keys.len() > 1 {
            self.charge(values.len().saturating_mul(values.len()))?;
            unite_values(&mut values);
        }
        Ok(values)
    }

    fn merge_items(
        &mut self,
        Lists { mut old, patch, into_itself }: Lists<'_>,
        values: Vec<Vec<Str>>,
        keys: &[String],
        schema: Option<Schema<'_>>,
    ) -> Result<Vec<Value>, String> {
        let used = used_keys(&values, keys);
        let valid_keys: Vec<&str> =
            keys.iter().zip(&used).filter(|(_, used)| **used).map(|(key, _)| key.as_str()).collect();
        let mut merged: Vec<Value> = Vec::new();
        for of_item in &values {
            self.charge(old.len() + merged.len() + patch.map_or(0, <[_]>::len))?;
            let valid_values: Vec<Str> = of_item
                .iter()
                .zip(&used)
                .filter(|(_, used)| **used)
                .map(|(value, _)| value.clone())
                .collect();
            let at = find_item(&old, &valid_keys, &valid_values);
            let change =
                patch.and_then(|patch| Some(patch[find_item(patch, &valid_keys, &valid_values)?].clone()));
            let before = at.map(|at| old[at].clone());
            let outcome = self.walk(before, change, schema)?;
            let in_place = into_itself || matches!(outcome, Outcome::Merged(_));
            let value = outcome.into_value().filter(|value| !value.is_null());
            let value = value.filter(|value| value.as_map().is_none_or(|map| !map.is_empty()));
            let Some(mut value) = value else {
                set_item(&mut old, None, &valid_keys, &valid_values);
                continue;
            };
            if let Some(map) = value.as_map_mut() {
                for (key, text) in valid_keys.iter().zip(&valid_values) {
                    if !map.contains_key(*key) && !text.is_empty() {
                        map.insert((*key).into(), Value::string(text.clone()));
                    }
                }
            }
            if let Some(at) = at.filter(|_| in_place) {
                old[at] = value.clone();
            }
            set_item(&mut merged, Some(value), &valid_keys, &valid_values);
        }
        if values.is_empty() {
            return Ok(old);
        }
        for item in old {
            self.charge(merged.len())?;
            append_item(&mut merged, item, &valid_keys);
        }
        Ok(merged)
    }
}

/// The value that a field has after a merge.
fn field_value(outcome: Outcome, style: Option<Tag>) -> Option<Value> {
    match outcome {
        Outcome::Cleared => None,
        Outcome::KeptNull(value) => Some(value),
        Outcome::Merged(value) | Outcome::Replaced(value) if value.is_null() => None,
        Outcome::Merged(value) => Some(value),
        // A scalar is written in the style of the one before it: what was in quotes is a string again.
        Outcome::Replaced(Value::Scalar(scalar)) if style == Some(Tag::Quoted) => {
            Some(Value::Scalar(Scalar { tag: Tag::Quoted, ..scalar }))
        }
        Outcome::Replaced(value) => Some(value),
    }
}

fn parse_directive(text: &Str) -> Result<Directive, String> {
    match text.as_bytes() {
        b"merge" => Ok(Directive::Merge),
        b"replace" => Ok(Directive::Replace),
        b"delete" => Ok(Directive::Delete),
        _ => Err(format!("unknown patch strategy '{text}'")),
    }
}

/// Takes the directive out of a map.
fn directive_of_map(patch: &mut Value) -> Result<Directive, String> {
    let Some(map) = patch.as_map_mut() else {
        return Err(format!("no strategic merge patch strategy for a {}", patch.kind_name()));
    };
    match map.get(DIRECTIVE) {
        Some(value) => {
            let directive = parse_directive(&value.text())?;
            map.remove(DIRECTIVE);
            Ok(directive)
        }
        None => Ok(Directive::Merge),
    }
}

/// Takes the directive out of a list: an item that has nothing else.
fn directive_of_list(list: &mut Vec<Value>) -> Result<Directive, String> {
    let Some(item) = list.iter().find_map(|item| item.as_map().filter(|map| map.contains_key(DIRECTIVE)))
    else {
        return Ok(Directive::Merge);
    };
    if item.len() > 1 {
        return Ok(Directive::Merge);
    }
    let text = item.get(DIRECTIVE).map(Value::text).unwrap_or_default();
    let directive = parse_directive(&text)?;
    set_item(list, None, &[DIRECTIVE], &[text]);
    Ok(directive)
}

/// Items that agree in one key and of which one lacks the other key are the same item.
fn unite_values(values: &mut [Vec<Str>]) {
    for first in 0..values.len() {
        let one = values[first].clone();
        for second in 0..values.len() {
            if let Some(united) = united(&one, &values[second]) {
                values[first].clone_from(&united);
                values[second] = united;
            }
        }
    }
}

fn united(one: &[Str], other: &[Str]) -> Option<Vec<Str>> {
    let mut common = false;
    let mut united = Vec::with_capacity(one.len());
    for (one, other) in one.iter().zip(other) {
        if one == other {
            common = true;
        } else if !one.is_empty() && !other.is_empty() {
            return None;
        }
        united.push(if one.is_empty() { other.clone() } else { one.clone() });
    }
    common.then_some(united)
}

/// Which keys any item has; all if none has one.
fn used_keys(values: &[Vec<Str>], keys: &[String]) -> Vec<bool> {
    let used: Vec<bool> =
        (0..keys.len()).map(|at| values.iter().any(|of_item| !of_item[at].is_empty())).collect();
    if used.contains(&true) { used } else { vec![true; keys.len()] }
}

/// The first item whose keys have these values; keys without a value do not count, unless all are without.
fn find_item(items: &[Value], keys: &[&str], values: &[Str]) -> Option<usize> {
    if keys == [ITSELF] {
        return items.iter().position(|item| item.as_scalar().is_some() && item.text() == values[0]);
    }
    let all = values.iter().all(Str::is_empty);
    let wanted = || keys.iter().zip(values).filter(|(_, value)| all || !value.is_empty());
    items.iter().position(|item| {
        let Some(map) = item.as_map() else { return false };
        wanted().all(|(key, value)| map.get(key).is_some_and(|found| found.text() == *value))
    })
}

/// Replaces the items whose keys have these values, or appends one; without an item removes them.
fn set_item(items: &mut Vec<Value>, item: Option<Value>, keys: &[&str], values: &[Str]) {
    let maps_only =
        keys.first().is_some_and(|key| !key.is_empty()) && values.first().is_some_and(|v| !v.is_empty());
    let mut found = false;
    let mut kept = Vec::with_capacity(items.len() + 1);
    for old in items.drain(..) {
        if old.is_null() || old.as_map().is_some_and(Map::is_empty) {
            continue;
        }
        if old.as_map().is_none() && maps_only {
            kept.push(old);
            continue;
        }
        if !is_item(&old, keys, values) {
            if !values.is_empty() {
                kept.push(old);
            }
            continue;
        }
        found = true;
        kept.extend(item.clone());
    }
    *items = kept;
    if let Some(item) = item.filter(|item| !found && !item.is_null()) {
        items.push(item);
    }
}

fn is_item(item: &Value, keys: &[&str], values: &[Str]) -> bool {
    let mut last = false;
    for (at, key) in keys.iter().enumerate() {
        // A key without a value repeats the answer for the one before it.
        if let Some(value) = values.get(at) {
            last = match (*key, item) {
                (ITSELF, item) => item.as_scalar().is_some() && item.text() == *value,
                (key, Value::Map(map)) => {
                    map.get(key).is_some_and(|found| value.is_empty() || found.text() == *value)
                }
                _ => false,
            };
        }
        if !last {
            return false;
        }
    }
    true
}

/// Appends an item of the old list, in the place of what was merged from it.
fn append_item(items: &mut Vec<Value>, item: Value, keys: &[&str]) {
    if keys == [ITSELF] {
        let text = item.text();
        set_item(items, Some(item), keys, &[text]);
        return;
    }
    let mut values = Vec::with_capacity(keys.len());
    for key in keys {
        match item.get(key) {
            Some(value) => values.push(value.text()),
            // What happens to the other items then is kustomize's own doing.
            None => items.push(item.clone()),
        }
    }
    if keys.len() > 1 {
        set_item(items, None, keys, &values);
    }
    set_item(items, Some(item), keys, &values);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(object: &str, patch: &str) -> String {
        let read = |text: &str| crate::value::read(text.as_bytes()).expect("YAML");
        let mut merger = Merger { types: Types::builtin(), work: 100_000 };
        let value = merger.merge(read(object), read(patch)).expect("merged").expect("not deleted");
        String::from_utf8(pintle_yaml::write(&value.to_node().expect("JSON")).expect("YAML")).expect("text")
    }

    const POD: &str = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: x}, {name: b}]}}";

    #[test]
    fn patched_items_come_first_and_null_removes() {
        let text = merged(POD, "{spec: {containers: [{name: b, image: z}], extra: null}}");
        assert!(text.ends_with("  - image: z\n    name: b\n  - image: x\n    name: a\n"), "{text}");
    }

    #[test]
    fn a_scalar_keeps_the_quotes_of_the_one_before_it() {
        assert_eq!(merged("{a: '1', b: 1, c: x}", "{a: 2, b: '2', c: 3}"), "a: \"2\"\nb: \"2\"\nc: 3\n");
    }

    #[test]
    fn an_item_can_be_deleted_and_a_list_replaced() {
        let text = merged(POD, "{spec: {containers: [{name: a, $patch: delete}]}}");
        assert!(text.ends_with("containers:\n  - name: b\n"), "{text}");
        let text = merged(POD, "{spec: {containers: [{$patch: replace}, {name: c}]}}");
        assert!(text.ends_with("containers:\n  - name: c\n"), "{text}");
    }

    #[test]
    fn work_is_bounded() {
        let items: String = (0..500).map(|number| format!("{{name: n{number}}}, ")).collect();
        let object = format!("{{apiVersion: v1, kind: Pod, spec: {{containers: [{items}]}}}}");
        let read = |text: &str| crate::value::read(text.as_bytes()).expect("YAML");
        let mut merger = Merger { types: Types::builtin(), work: 10_000 };
        assert!(merger.merge(read(&object), read(&object)).expect_err("too much").contains("work"));
    }
}

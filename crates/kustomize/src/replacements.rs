//! `replacements`: values copied from one object to fields of others.

use pintle_regex::Regex;
use pintle_tree::{Node, Str, ValuePath, json};

use crate::config::split_escaped;
use crate::context::Context;
use crate::error::Error;
use crate::id::Id;
use crate::kustomization::{FieldOptions, Replacement, Source, Target};
use crate::object::ChangeKind;
use crate::resource::Resource;
use crate::select::{Selector, SelectorText};
use crate::value::{Scalar, Tag, Value};

/// The field that counts if none is named.
const DEFAULT_FIELD: &str = "metadata.name";

/// Applies a replacement.
pub(crate) fn apply(
    context: &Context<'_>,
    replacement: &Replacement,
    resources: &mut [Resource],
) -> Result<(), Error> {
    context.charge(resources.len().saturating_mul(1 + replacement.targets.len()))?;
    let value = match (&replacement.value, &replacement.source) {
        (Some(text), _) => Ok(Value::Scalar(Scalar::resolved(text.as_str()))),
        (None, Some(source)) => source_value(source, resources),
        (None, None) => Err("replacements must specify a source".to_owned()),
    };
    let place = &replacement.place;
    let at = |error: String| Error::new(error).at(&place.file, Some(place.line));
    let value = value.map_err(at)?;
    for target in &replacement.targets {
        apply_target(context, replacement, target, &value, resources)
            .map_err(|error| error.at(&place.file, Some(place.line)))?;
    }
    Ok(())
}

fn apply_target(
    context: &Context<'_>,
    replacement: &Replacement,
    target: &Target,
    value: &Value,
    resources: &mut [Resource],
) -> Result<(), Error> {
    let select =
        target.select.as_ref().ok_or_else(|| Error::new("target must specify resources to select"))?;
    let select = Selector::compile(select).map_err(Error::new)?;
    let reject: Vec<Selector> =
        target.reject.iter().map(Selector::compile).collect::<Result<_, _>>().map_err(Error::new)?;
    let default = [DEFAULT_FIELD.to_owned()];
    let paths = if target.field_paths.is_empty() { &default[..] } else { &target.field_paths };
    let size = value.size() / 1024;
    for resource in resources {
        let rejected = |selector: &Selector| {
            let by_metadata = !selector.is_without_requirements() && selector.fits_metadata(resource);
            by_metadata || (!selector.is_empty() && resource.all_ids().any(|id| selector.fits_id(&id)))
        };
        if !select.fits_metadata(resource)
            || reject.iter().any(rejected)
            || !resource.all_ids().any(|id| select.fits_id(&id))
        {
            continue;
        }
        for path in paths {
            context.charge(1 + size)?;
            let room = context.options.limits.object_size;
            let changed =
                set_at(&mut resource.value, path, value, &target.options, room).map_err(Error::new)?;
            context.check_size(resource)?;
            for path in changed {
                resource.changed(path, ChangeKind::Replacement, &replacement.place);
            }
        }
    }
    Ok(())
}

/// Whether an id is one that a source names. Unlike targets, sources have no regular expressions.
fn is_source(id: &Id, selector: &SelectorText) -> bool {
    let fits = |wanted: &str, found: &Str| wanted.is_empty() || wanted.as_bytes() == found.as_bytes();
    let namespace = |text: &[u8]| if text.is_empty() { b"default".to_vec() } else { text.to_vec() };
    let same_namespace = selector.namespace.is_empty()
        || namespace(selector.namespace.as_bytes()) == namespace(id.namespace.as_bytes());
    fits(&selector.name, &id.name)
        && same_namespace
        && fits(&selector.group, &id.gvk.group)
        && fits(&selector.version, &id.gvk.version)
        && fits(&selector.kind, &id.gvk.kind)
}

fn source_value(source: &Source, resources: &[Resource]) -> Result<Value, String> {
    let selector = &source.selector;
    let words = [&selector.kind, &selector.name, &selector.namespace];
    let shown =
        words.iter().filter(|word| !word.is_empty()).map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
    let mut found = resources.iter().filter(|resource| resource.all_ids().any(|id| is_source(&id, selector)));
    let resource = match (found.next(), found.next()) {
        (Some(resource), None) => resource,
        (None, _) => return Err(format!("nothing selected by {shown}")),
        (Some(_), Some(_)) => return Err(format!("multiple matches for selector {shown}")),
    };
    let field_path = if source.field_path.is_empty() { DEFAULT_FIELD } else { &source.field_path };
    let parts = split_field_path(field_path);
    let found = look_up(&resource.value, &parts)?.filter(|value| !value.is_empty());
    let value =
        found.ok_or_else(|| format!("fieldPath `{field_path}` is missing for replacement source {shown}"))?;
    refine(value, &source.options)
}

/// The part of a source's text that its options name.
fn refine(value: &Value, options: &FieldOptions) -> Result<Value, String> {
    if options.delimiter.is_empty() {
        return Ok(value.clone());
    }
    let Value::Scalar(scalar) = value else {
        return Err("delimiter option can only be used with scalar nodes".to_owned());
    };
    let text = scalar.text.to_str_lossy();
    let part =
        usize::try_from(options.index).ok().and_then(|index| text.split(&options.delimiter).nth(index));
    let part =
        part.ok_or_else(|| format!("options.index {} is out of bounds for value {text}", options.index))?;
    Ok(Value::Scalar(Scalar { text: part.into(), tag: scalar.tag }))
}

/// Splits at dots that are neither escaped nor in brackets. Brackets without `=` only protect the dots in them.
fn split_field_path(path: &str) -> Vec<String> {
    let mut parts = split_escaped(path, '.').into_iter();
    let mut result = Vec::new();
    while let Some(part) = parts.next() {
        if !part.starts_with('[') || part.ends_with(']') {
            result.push(part);
            continue;
        }
        let mut whole = part;
        for next in parts.by_ref() {
            whole.push('.');
            whole.push_str(&next);
            if next.ends_with(']') {
                break;
            }
        }
        result.push(if whole.contains('=') { whole } else { whole.trim_matches(['[', ']']).to_owned() });
    }
    result
}

/// `[key=value]` as its parts.
fn element_of(part: &str) -> Option<Result<(&str, &str), String>> {
    let inner = part.strip_prefix('[')?.strip_suffix(']')?;
    Some(
        inner.split_once('=').ok_or_else(|| {
            "list path element must contain fieldName=fieldValue for element to match".to_owned()
        }),
    )
}

/// The node at a path; `None` if there is none.
fn look_up<'v>(value: &'v Value, parts: &[String]) -> Result<Option<&'v Value>, String> {
    let mut value = value;
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        let next = if let Ok(index) = part.parse::<i64>() {
            let index =
                usize::try_from(index).map_err(|_| format!("array index {index} cannot be negative"))?;
            list_of(value)?.get(index)
        } else if part == "-" {
            list_of(value)?.last()
        } else if part == "*" {
            return Err("wildcard is not supported in PathGetter".to_owned());
        } else if let Some(element) = element_of(part) {
            let (key, text) = element?;
            list_of(value)?.iter().find(|item| match key {
                "" => item.as_scalar().is_some() && item.text().as_bytes() == text.as_bytes(),
                key => item.get(key).is_some_and(|value| value.text().as_bytes() == text.as_bytes()),
            })
        } else {
            match value {
                Value::Map(map) => map.get(part),
                value if value.is_null() => None,
                other => return Err(format!("wrong node kind: expected map but got {}", other.kind_name())),
            }
        };
        match next {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn list_of(value: &Value) -> Result<&[Value], String> {
    match value {
        Value::List(list) => Ok(list),
        value if value.is_null() => Ok(&[]),
        other => Err(format!("wrong node kind: expected list but got {}", other.kind_name())),
    }
}

/// Sets all fields at a path, and returns their paths.
fn set_at(
    root: &mut Value,
    path: &str,
    value: &Value,
    options: &FieldOptions,
    mut room: usize,
) -> Result<Vec<ValuePath>, String> {
    let size = value.size();
    let parts = split_field_path(path);
    if let Some(changed) = set_in_text(root, &parts, value, options)? {
        return Ok(changed);
    }
    let mut changed = Vec::new();
    let walk = Walk { created: options.create.then_some(value) };
    walk.visit(root, &parts, &ValuePath::root(), &mut |field, path| {
        changed.push(path.clone());
        room = room.checked_sub(size).ok_or("the object gets too large")?;
        set_field(field, value, options)
    })
    .map_err(|error| format!("{}: {error}", not_found(path, options)))?;
    if changed.is_empty() { Err(not_found(path, options)) } else { Ok(changed) }
}

fn not_found(path: &str, options: &FieldOptions) -> String {
    let find = if options.create { "find or create" } else { "find" };
    format!("unable to {find} field {path:?} in replacement target")
}

fn set_field(field: &mut Value, value: &Value, options: &FieldOptions) -> Result<(), String> {
    let mut value = value.clone();
    if !options.delimiter.is_empty() {
        let Value::Scalar(scalar) = &*field else {
            return Err("delimiter option can only be used with scalar nodes".to_owned());
        };
        let old = scalar.text.to_str_lossy().into_owned();
        let mut parts: Vec<String> = old.split(&options.delimiter).map(str::to_owned).collect();
        let text = value.text().to_string();
        match usize::try_from(options.index) {
            Err(_) => parts.insert(0, text),
            Ok(index) if index >= parts.len() => parts.push(text),
            Ok(index) => parts[index] = text,
        }
        let text: Str = parts.join(&options.delimiter).into();
        value = match value {
            Value::Scalar(scalar) => Value::Scalar(Scalar { text, ..scalar }),
            other => other,
        };
    }
    match field {
        // Only the text is copied: a number stays one, and a string too.
        Value::Scalar(scalar) => {
            let text = value.text();
            *scalar = match scalar.tag {
                Tag::Null => Scalar::resolved(text),
                Tag::Plain | Tag::Quoted => Scalar { text, tag: Tag::Quoted },
                tag => Scalar { text, tag },
            };
        }
        field => *field = value,
    }
    Ok(())
}

type Visit<'v> = dyn FnMut(&mut Value, &ValuePath) -> Result<(), String> + 'v;

/// A walk along a path that may have several ends.
struct Walk<'v> {
    /// What missing fields are created for.
    created: Option<&'v Value>,
}

impl Walk<'_> {
    fn visit(
        &self,
        value: &mut Value,
        parts: &[String],
        path: &ValuePath,
        visit: &mut Visit<'_>,
    ) -> Result<(), String> {
        let Some((part, rest)) = parts.split_first() else { return visit(value, path) };
        if part.parse::<usize>().is_ok() {
            return self.at_index(value, part, rest, path, visit);
        }
        if let Some(element) = element_of(part) {
            let (key, pattern) = element?;
            return self.at_elements(value, (key, pattern), rest, path, visit);
        }
        if part == "*" {
            let items = list_of_mut(value)?;
            return items
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, item)| self.visit(item, rest, &path.index(index), visit));
        }
        if value.is_null() && self.created.is_none() {
            return Ok(());
        }
        let Value::Map(map) = value else {
            return Err(format!("wrong node kind: expected map but got {}", value.kind_name()));
        };
        if !map.contains_key(part) {
            let Some(created) = self.created else { return Ok(()) };
            map.insert(part.as_str().into(), empty_for(rest, created));
        }
        let Some(field) = map.get_mut(part) else { return Ok(()) };
        self.visit(field, rest, &path.key(part.as_str()), visit)
    }

    fn at_index(
        &self,
        value: &mut Value,
        part: &str,
        rest: &[String],
        path: &ValuePath,
        visit: &mut Visit<'_>,
    ) -> Result<(), String> {
        let index: usize = part.parse().map_err(|_| format!("{part} is not an index"))?;
        let list = list_of_mut(value)?;
        if let Some(created) = self.created.filter(|_| index == list.len()) {
            list.push(empty_for(rest, created));
        }
        let length = list.len();
        let item = list.get_mut(index);
        let item = item.ok_or_else(|| format!("index {index} specified but only {length} elements found"))?;
        self.visit(item, rest, &path.index(index), visit)
    }

    fn at_elements(
        &self,
        value: &mut Value,
        (key, pattern): (&str, &str),
        rest: &[String],
        path: &ValuePath,
        visit: &mut Visit<'_>,
    ) -> Result<(), String> {
        let regex = Regex::compile(pattern).map_err(|error| error.to_string())?;
        let list = list_of_mut(value)?;
        let fits = |item: &Value| match key {
            "" => item.as_scalar().is_some_and(|scalar| regex.is_match(scalar.text.as_bytes())),
            key => item.get(key).is_some_and(|value| regex.is_match(value.text().as_bytes())),
        };
        if self.created.is_some() && !list.iter().any(fits) {
            let text = Value::Scalar(Scalar::resolved(pattern));
            list.push(match key {
                "" => text,
                key => Value::Map([(Str::from(key), text)].into_iter().collect()),
            });
        }
        for (index, item) in list.iter_mut().enumerate() {
            if fits(item) {
                // An item that is only a scalar is what is set.
                let rest = if key.is_empty() { &[] } else { rest };
                self.visit(item, rest, &path.index(index), visit)?;
            }
        }
        Ok(())
    }
}

/// What a missing field is created as, before it is set.
fn empty_for(rest: &[String], value: &Value) -> Value {
    match rest.first() {
        Some(next) if next.parse::<usize>().is_ok() || element_of(next).is_some() => Value::List(Vec::new()),
        Some(_) => Value::empty_map(),
        None => match value {
            Value::Scalar(_) => Value::null(),
            Value::List(_) => Value::List(Vec::new()),
            Value::Map(_) => Value::empty_map(),
        },
    }
}

fn list_of_mut(value: &mut Value) -> Result<&mut Vec<Value>, String> {
    if value.is_null() {
        *value = Value::List(Vec::new());
    }
    match value {
        Value::List(list) => Ok(list),
        other => Err(format!("wrong node kind: expected list but got {}", other.kind_name())),
    }
}

/// Sets a field inside of a text that is JSON. `None` if the path leads into no such text.
fn set_in_text(
    root: &mut Value,
    parts: &[String],
    value: &Value,
    options: &FieldOptions,
) -> Result<Option<Vec<ValuePath>>, String> {
    let is_text = |end: &usize| matches!(look_up(root, &parts[..*end]), Ok(Some(Value::Scalar(scalar))) if scalar.tag != Tag::Null);
    let Some(end) = (1..parts.len()).find(is_text) else { return Ok(None) };
    let Ok(Some(Value::Scalar(scalar))) = look_up(root, &parts[..end]) else { return Ok(None) };
    let text = scalar.text.to_str_lossy().into_owned();
    let Ok(mut inner) = crate::value::read(text.as_bytes()) else { return Ok(None) };
    let walk = Walk { created: options.create.then_some(value) };
    let mut count = 0;
    let outcome = walk.visit(&mut inner, &parts[end..], &ValuePath::root(), &mut |field, _| {
        count += 1;
        set_field(field, value, options)
    });
    if outcome.is_err() || count == 0 {
        return Ok(None);
    }
    if !text.trim_start().starts_with(['{', '[']) {
        return Err("replacements inside of a text that is YAML are not supported, only of one that is JSON"
            .to_owned());
    }
    let node = inner.to_node()?;
    let pretty = text.contains('\n') && text.contains("  ");
    let written = write_json(&node, pretty)?;
    let field = Walk { created: None };
    let mut changed = Vec::new();
    field.visit(root, &parts[..end], &ValuePath::root(), &mut |field, path| {
        if let Value::Scalar(scalar) = field {
            *scalar = Scalar { text: written.as_str().into(), tag: Tag::Quoted };
        }
        changed.push(path.clone());
        Ok(())
    })?;
    Ok(Some(changed))
}

fn write_json(node: &Node, pretty: bool) -> Result<String, String> {
    let bytes = if pretty { json::write_pretty(node) } else { json::write(node) };
    let bytes = bytes.map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_at_dots_outside_of_brackets() {
        assert_eq!(split_field_path("spec.a.[name=x.y].b"), ["spec", "a", "[name=x.y]", "b"]);
        assert_eq!(split_field_path("metadata.annotations.[a.b/c]"), ["metadata", "annotations", "a.b/c"]);
        assert_eq!(split_field_path(r"metadata.labels.a\.b"), ["metadata", "labels", "a.b"]);
    }

    fn set(object: &str, path: &str, text: &str, options: &FieldOptions) -> Result<String, String> {
        let mut root = crate::value::read(object.as_bytes()).expect("YAML");
        set_at(&mut root, path, &Value::string(text), options, 10_000)?;
        let node = root.to_node()?;
        Ok(String::from_utf8(json::write(&node).expect("JSON")).expect("text"))
    }

    #[test]
    fn fields_are_set_created_and_split() {
        let none = FieldOptions::default();
        let create = FieldOptions { create: true, ..FieldOptions::default() };
        let part = |index| FieldOptions { delimiter: "-".to_owned(), index, create: false };
        let object = "{a: [{n: x, v: 1-2-3}, {n: y}], b: 5}";
        for (path, text, options, expected) in [
            ("a.[n=x].v", "z", &none, r#"{"a":[{"n":"x","v":"z"},{"n":"y"}],"b":5}"#),
            ("a.*.n", "z", &none, r#"{"a":[{"n":"z","v":"1-2-3"},{"n":"z"}],"b":5}"#),
            ("b", "7", &none, r#"{"a":[{"n":"x","v":"1-2-3"},{"n":"y"}],"b":7}"#),
            ("a.0.v", "9", &part(1), r#"{"a":[{"n":"x","v":"1-9-3"},{"n":"y"}],"b":5}"#),
            ("a.0.v", "9", &part(-1), r#"{"a":[{"n":"x","v":"9-1-2-3"},{"n":"y"}],"b":5}"#),
            (
                "c.[n=q].w",
                "9",
                &create,
                r#"{"a":[{"n":"x","v":"1-2-3"},{"n":"y"}],"b":5,"c":[{"n":"q","w":9}]}"#,
            ),
        ] {
            assert_eq!(set(object, path, text, options).as_deref(), Ok(expected), "{path}");
        }
        assert!(set(object, "c.d", "x", &none).expect_err("no field").contains("unable to find field"));
    }

    #[test]
    fn a_text_that_is_json_is_changed_inside() {
        let none = FieldOptions::default();
        let object = r#"{data: {c: '{"x": {"y": 1}}'}}"#;
        assert_eq!(
            set(object, "data.c.x.y", "2", &none).as_deref(),
            Ok(r#"{"data":{"c":"{\"x\":{\"y\":2}}"}}"#)
        );
        let error = set("{data: {c: 'x: 1'}}", "data.c.x", "2", &none).expect_err("YAML");
        assert!(error.contains("not supported"), "{error}");
    }
}

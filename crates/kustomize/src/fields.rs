//! Finding the fields that a specification names, and making them where it says so.

use pintle_tree::{Map, ValuePath};

use crate::config::{FieldSpec, Segment};
use crate::error::Error;
use crate::id::{Gvk, short};
use crate::resource::Resource;
use crate::value::Value;

/// What is made where a field is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Nothing.
    Skip,
    /// A scalar, and maps around it.
    Scalar,
    /// A map, and maps around it.
    Map,
}

/// Calls `set` with every node that a specification names in an object, and its path.
pub(crate) fn visit(
    resource: &mut Resource,
    spec: &FieldSpec,
    missing: Missing,
    set: &mut dyn FnMut(&mut Value, &ValuePath) -> Result<(), String>,
) -> Result<(), Error> {
    if !matches(&resource.gvk(), &spec.gvk) {
        return Ok(());
    }
    let missing = if spec.create { missing } else { Missing::Skip };
    walk(&mut resource.value, &spec.segments, missing, &ValuePath::root(), set).map_err(|error| {
        Error::new(format!("considering field '{}' of object {}: {error}", spec.path, short(&resource.id())))
            .at(&resource.origin.file, Some(resource.origin.line))
    })
}

fn matches(gvk: &Gvk, selector: &Gvk) -> bool {
    gvk.is_selected(selector)
}

fn walk(
    value: &mut Value,
    segments: &[Segment],
    missing: Missing,
    path: &ValuePath,
    set: &mut dyn FnMut(&mut Value, &ValuePath) -> Result<(), String>,
) -> Result<(), String> {
    let Some((segment, rest)) = segments.split_first() else { return set(value, path) };
    if value.is_null() {
        return Ok(());
    }
    match value {
        Value::Map(map) => in_map(map, segment, rest, missing, path, set),
        Value::List(list) => {
            // A path says nothing about lists: it goes on in each item.
            for (index, item) in list.iter_mut().enumerate() {
                walk(item, segments, missing, &path.index(index), set)?;
            }
            Ok(())
        }
        Value::Scalar(_) => Err("expected sequence or mapping node".to_owned()),
    }
}

fn in_map(
    map: &mut Map<Value>,
    segment: &Segment,
    rest: &[Segment],
    missing: Missing,
    path: &ValuePath,
    set: &mut dyn FnMut(&mut Value, &ValuePath) -> Result<(), String>,
) -> Result<(), String> {
    if segment.name.is_empty() {
        return Err("cannot set or create an empty field name".to_owned());
    }
    let creates = missing != Missing::Skip && !segment.is_list;
    let made = || match (rest.is_empty(), missing) {
        (true, Missing::Scalar) => Value::string(""),
        _ => Value::empty_map(),
    };
    if creates && !map.contains_key(&segment.name) {
        map.insert(segment.name.clone(), made());
    }
    let Some(field) = map.get_mut(&segment.name) else { return Ok(()) };
    if field.is_null() {
        if creates {
            *field = made();
        } else if segment.is_list {
            *field = Value::List(Vec::new());
        }
    }
    walk(field, rest, missing, &path.key(segment.name.clone()), set)
}

//! Applies the changes of a handler to the context.

use mlua::{Table, Value};
use pintle_events::RenderedObject;
use pintle_objects::Object;
use pintle_tree::{Map, Node};

use super::frame::{Frame, Position, Root};
use super::from_lua::{TableReader, type_name};
use super::parts;
use super::tree::{Change, apply_to_map};
use crate::call::CallError;
use crate::host::Host;

/// The change of a context field.
enum FieldChange {
    Tree(Root, Change),
    Objects(Vec<Slot>),
}

/// An object in the list that a handler returns.
enum Slot {
    /// An object it was given, by index.
    Existing(usize, Change),
    /// A new object.
    New(Map<Node>),
}

/// Applies the changes of a handler to its context, and returns their paths if requested. Of the tables that
/// represent parts of the context, only those in `changed`, and those that contain them, are inspected.
///
/// # Errors
/// What cannot be applied, as text.
pub(crate) fn return_changes(
    host: &Host,
    changed: &[Table],
    wants_paths: bool,
) -> Result<Vec<String>, CallError> {
    let mut frame = host.frame();
    let changes = changes(&frame, host, changed)?;
    let mut paths = Vec::new();
    if wants_paths {
        changes.iter().for_each(|change| add_paths(change, &mut paths));
    }
    for change in changes {
        match change {
            FieldChange::Tree(root, change) => apply(&mut frame, root, change)?,
            FieldChange::Objects(slots) => apply_objects(&mut frame, slots)?,
        }
    }
    Ok(paths)
}

/// Collects all changes before applying the first: tables may represent parts of other fields.
fn changes(frame: &Frame, host: &Host, changed: &[Table]) -> Result<Vec<FieldChange>, CallError> {
    let mut reader = TableReader::new(frame, host, String::new()).only_around(changed);
    let mut changes = Vec::new();
    for root in Root::ALL {
        if frame.context().is_none() || frame.is_read_only(root) {
            continue;
        }
        let Value::Table(table) = host.handles().roots.raw_get(root.as_str())? else { continue };
        reader.start_at(root.as_str().to_owned());
        let change = match root {
            Root::Objects => objects(frame, &mut reader, &table)?.map(FieldChange::Objects),
            _ => {
                let change = reader.read(&Value::Table(table), Some(Position::Root(root)))?;
                (!change.is_unchanged()).then_some(FieldChange::Tree(root, change))
            }
        };
        changes.extend(change);
    }
    Ok(changes)
}

/// The change of the objects; `None` if they are unchanged.
fn objects(
    frame: &Frame,
    reader: &mut TableReader<'_>,
    table: &Table,
) -> Result<Option<Vec<Slot>>, CallError> {
    let id = frame.id(table);
    if let Some(id) = id {
        let entry = frame.entry(id);
        // The script never accessed the list.
        if entry.position == Position::Root(Root::Objects) && !entry.filled {
            return Ok(None);
        }
    }
    let Some(items) = reader.items(table)? else { return reader.refuse("it must be a list") };
    let mut slots = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        reader.start_at(format!("objects[{}]", index + 1));
        slots.push(slot(frame, reader, item)?);
    }
    let before = frame.context().map_or(0, |context| context.objects().len());
    let as_given = |(index, slot): (usize, &Slot)| matches!(slot, Slot::Existing(position, Change::Unchanged) if *position == index);
    let same = slots.len() == before && slots.iter().enumerate().all(as_given);
    Ok((!same).then_some(slots))
}

fn slot(frame: &Frame, reader: &mut TableReader<'_>, item: &Value) -> Result<Slot, CallError> {
    if let Value::Table(table) = item
        && let Some(position) = frame.id(table).map(|id| frame.entry(id).position)
        && let Position::Child { parent, index } = position
        && frame.entry(parent).position == Position::Root(Root::Objects)
    {
        let change = reader.read(item, Some(position))?;
        return Ok(match change {
            Change::New(Node::Map(map)) => Slot::New(map),
            Change::New(other) => {
                return reader.refuse(format!("an object must be a map, not {}", other.json_type()));
            }
            change => Slot::Existing(index as usize, change),
        });
    }
    match reader.read(item, None)? {
        Change::New(Node::Map(map)) => Ok(Slot::New(map)),
        _ => reader.refuse(format!("an object must be a map, not {}", type_name(item))),
    }
}

fn add_paths(change: &FieldChange, paths: &mut Vec<String>) {
    match change {
        FieldChange::Tree(root, change) => change.add_paths(root.as_str(), paths),
        FieldChange::Objects(slots) => {
            for (index, slot) in slots.iter().enumerate() {
                let path = format!("objects[{}]", index + 1);
                match slot {
                    Slot::Existing(_, change) => change.add_paths(&path, paths),
                    Slot::New(_) => paths.push(path),
                }
            }
            if slots.is_empty() {
                paths.push("objects".to_owned());
            }
        }
    }
}

fn apply(frame: &mut Frame, root: Root, change: Change) -> Result<(), CallError> {
    if root == Root::Values {
        return apply_values(frame, change);
    }
    frame.build(root);
    let tree = frame.built_mut(root);
    change.apply(tree);
    let tree = std::mem::take(tree);
    let Some(context) = frame.context_mut() else { return Ok(()) };
    let refused = |refused: pintle_events::ContextError| refused.to_string();
    match root {
        Root::Files => *context.files_mut().map_err(refused)? = parts::read_sources(root, &tree)?,
        Root::Templates => *context.templates_mut().map_err(refused)? = parts::read_sources(root, &tree)?,
        Root::Dependencies => {
            *context.dependencies_mut().map_err(refused)? = parts::read_dependencies(&tree)?
        }
        _ => {}
    }
    Ok(())
}

fn apply_values(frame: &mut Frame, change: Change) -> Result<(), CallError> {
    let Some(context) = frame.context_mut() else { return Ok(()) };
    let values = context.values_mut().map_err(|refused| refused.to_string())?;
    match change {
        Change::Map { set, removed } => apply_to_map(values, set, removed),
        Change::New(Node::Map(map)) => *values = map,
        Change::New(_) | Change::List(_) => {
            return Err(CallError::from("values: it must be a map, not a list"));
        }
        Change::Unchanged => {}
    }
    Ok(())
}

fn apply_objects(frame: &mut Frame, slots: Vec<Slot>) -> Result<(), CallError> {
    let Some(context) = frame.context_mut() else { return Ok(()) };
    let objects = context.objects_mut().map_err(|refused| refused.to_string())?;
    // Moved, not cloned: an object that only changed its index costs nothing.
    let mut given: Vec<Option<RenderedObject>> = std::mem::take(objects).into_iter().map(Some).collect();
    // An object that is in the list several times is cloned for all but its last use.
    let mut uses = vec![0_usize; given.len()];
    for slot in &slots {
        if let Slot::Existing(position, _) = slot {
            uses[*position] += 1;
        }
    }
    for (index, slot) in slots.into_iter().enumerate() {
        let rendered = match slot {
            Slot::New(map) => RenderedObject { template: None, object: Object::new(map) },
            Slot::Existing(position, change) => {
                uses[position] -= 1;
                let taken =
                    if uses[position] == 0 { given[position].take() } else { given[position].clone() };
                let Some(mut rendered) = taken else { continue };
                if let Change::Map { set, removed } = change {
                    apply_to_map(rendered.object.body_mut(), set, removed);
                } else {
                    objects.push(rendered);
                    continue;
                }
                rendered
            }
        };
        check(&rendered.object, index)?;
        objects.push(rendered);
    }
    Ok(())
}

/// The fields that every object must have.
fn check(object: &Object, index: usize) -> Result<(), CallError> {
    let has = |path: &[&str]| object.at(path).and_then(Node::as_str).is_some_and(|text| !text.is_empty());
    let missing = |field: &str| {
        Err(CallError::Message(format!("objects[{}]: an object must have the text `{field}`", index + 1)))
    };
    for field in ["apiVersion", "kind"] {
        if !has(&[field]) {
            return missing(field);
        }
    }
    // `List` objects have no name, and `generateName` leaves it to the server.
    let named =
        has(&["metadata", "name"]) || has(&["metadata", "generateName"]) || object.kind().ends_with("List");
    if named { Ok(()) } else { missing("metadata.name") }
}

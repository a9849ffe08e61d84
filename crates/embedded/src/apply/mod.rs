//! Who owns which field: server-side apply, and the bookkeeping of all other writes.
//!
//! [`apply`] lays what one owner wants over what is there; [`track`] notes what any other write has changed. Both keep
//! `metadata.managedFields`, and both are pure: the time comes in with the [`Writer`].

mod check;
mod collect;
mod compare;
mod managers;
mod merge;
mod set;
mod typed;

pub use compare::Comparison;
pub use set::{Element, FieldSet, Scalar, SetError, path_text};

use pintle_tree::{Map, Node, Str, json};

use crate::schema::Schema;
use crate::status::{Cause, Details, Status};
use managers::{Manager, Managers, Operation, Owned};
use typed::Place;

/// What client-side apply keeps of the object that it has applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Who writes an object, and how.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    /// The name: `fieldManager`, or what stands before `/` in the user agent.
    pub manager: &'a str,
    /// The API version that is written in: `apps/v1`.
    pub api_version: &'a str,
    /// `status`, `scale` …; empty for the object itself.
    pub subresource: &'a str,
    /// The time, as objects have it.
    pub now: &'a str,
    /// The fields that this write cannot change, such as `status` for a write of the object itself.
    pub reset: &'a FieldSet,
}

/// What never belongs to anybody.
fn nobodys() -> FieldSet {
    FieldSet::of(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
}

/// Notes in `new` what a write that is no apply has changed. `live` is the object before, or for one that is created the
/// empty object of its kind; `created` tells them apart.
pub fn track(schema: Schema<'_>, live: &Node, new: &mut Node, writer: &Writer<'_>, created: bool) {
    let mut managers = taken_over(live, new, writer);
    strip(new);
    // Objects whose entries were taken away stay without.
    if managers.0.is_empty() && !created {
        managers.write(new);
        return;
    }
    let mut before = live.clone();
    strip(&mut before);
    note(Place::root(schema), &before, new, &mut managers, writer);
    managers.cap();
    managers.write(new);
}

/// Whose entries count: those that the write brings, or those that are there. None if the write takes them away.
fn taken_over(live: &Node, new: &Node, writer: &Writer<'_>) -> Managers {
    let theirs = || Managers::read(live).unwrap_or_default();
    if !writer.subresource.is_empty() {
        return theirs();
    }
    let brought =
        new.get("metadata").and_then(|metadata| metadata.get("managedFields")).and_then(Node::as_list);
    let is_reset = match brought {
        Some([]) => true,
        Some([only]) => only.as_map().is_some_and(Map::is_empty),
        _ => false,
    };
    if is_reset {
        return Managers::default();
    }
    match Managers::read(new) {
        Ok(managers) if !managers.0.is_empty() => managers,
        _ => theirs(),
    }
}

/// Gives the writer all that is new or other, and takes it from all others.
fn note(place: Place<'_>, live: &Node, new: &Node, managers: &mut Managers, writer: &Writer<'_>) {
    let version = Str::from(writer.api_version);
    let found = Comparison::of(place, live, new);
    yield_fields(managers, &found.without(writer.reset), None);
    let taken = found.modified.union(&found.added).recursive_difference(writer.reset).difference(&nobodys());
    if taken.is_empty() {
        return;
    }
    let manager = Manager::new(writer.manager, Operation::Update, &version, writer.subresource);
    let set = managers.0.get(&manager).map_or_else(|| taken.clone(), |owned| owned.set.union(&taken));
    managers.0.insert(manager, Owned { version, set, time: Some(writer.now.into()) });
}

/// Takes from all but one what has changed or is gone.
fn yield_fields(managers: &mut Managers, found: &Comparison, but: Option<&Manager>) {
    let changed = found.modified.union(&found.added).union(&found.removed);
    for (manager, owned) in &mut managers.0 {
        if Some(manager) != but {
            owned.set = owned.set.difference(&changed);
        }
    }
    managers.0.retain(|_, owned| !owned.set.is_empty());
}

/// Takes the entries out of an object: they are kept apart while fields are compared.
fn strip(object: &mut Node) {
    if let Some(Node::Map(metadata)) = object.as_map_mut().and_then(|map| map.get_mut("metadata")) {
        metadata.remove("managedFields");
    }
}

/// A field that someone else owns and that would be changed.
struct Conflict {
    manager: Manager,
    path: Vec<Element>,
}

/// What came of an apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object with its entries. Defaults and rules come after.
    pub object: Node,
    /// Whether any field other than the entries is other than before.
    pub changed: bool,
}

/// Lays what `writer` applies over the live object. For an object that is not there yet, `live` is the empty object of
/// its kind with its name, and `created` is set.
///
/// # Errors
/// When `applied` does not fit the schema, or fields of others would change and `force` is not set.
pub fn apply(
    schema: Schema<'_>,
    live: &Node,
    applied: &Node,
    writer: &Writer<'_>,
    force: bool,
    created: bool,
) -> Result<Applied, Status> {
    let place = Place::root(schema);
    check_applied(place, applied, writer)?;
    let mut managers = Managers::read(live)
        .map_err(|error| internal(&format!("failed to decode managed fields: {error}")))?;
    let mut before = live.clone();
    strip(&mut before);
    if managers.0.is_empty() && !created {
        let first = Writer { manager: "before-first-apply", ..*writer };
        let empty = empty_object(applied);
        note(place, &empty, &before, &mut managers, &first);
    }
    let attempt = |force| lay_over(place, &before, applied, managers.clone(), writer, force);
    let laid = match attempt(force) {
        Err(conflicts) if writer.manager == "kubectl" => {
            match allowed_by_last_applied(place, &before, writer.api_version) {
                None => Err(conflicts),
                Some(allowed) => {
                    let left: Vec<Conflict> =
                        conflicts.into_iter().filter(|conflict| !allowed.has_path(&conflict.path)).collect();
                    if left.is_empty() { attempt(true) } else { Err(left) }
                }
            }
        }
        other => other,
    };
    let (mut object, managers) = laid.map_err(|conflicts| conflict_status(&conflicts))?;
    let changed = object.is_some();
    let mut object = object.take().unwrap_or(before);
    if writer.manager == "kubectl" {
        renew_last_applied(&mut object, applied);
    }
    managers.write(&mut object);
    Ok(Applied { object, changed })
}

fn check_applied(place: Place<'_>, applied: &Node, writer: &Writer<'_>) -> Result<(), Status> {
    let metadata = applied.get("metadata");
    if metadata.is_some_and(|metadata| metadata.get("managedFields").is_some_and(|entries| !entries.is_nil()))
    {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let Some(fault) = check::check(place, applied) else { return Ok(()) };
    let text = |node: Option<&Node>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
    let of = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    let version = if writer.api_version.contains('/') {
        writer.api_version.to_owned()
    } else {
        format!("/{}", writer.api_version)
    };
    Err(internal(&format!(
        "failed to create typed patch object ({}/{}; {version}, Kind={}): {fault}",
        of("namespace"),
        of("name"),
        text(applied.get("kind"))
    )))
}

fn internal(message: &str) -> Status {
    Status::new(500, "", message)
}

fn empty_object(applied: &Node) -> Node {
    let keep = |key: &str| applied.get(key).map(|value| (Str::from(key), value.clone()));
    Node::Map(["apiVersion", "kind"].into_iter().filter_map(keep).collect())
}

type Laid = (Option<Node>, Managers);

fn lay_over(
    place: Place<'_>,
    live: &Node,
    applied: &Node,
    mut managers: Managers,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Laid, Vec<Conflict>> {
    let version = Str::from(writer.api_version);
    let manager = Manager::new(writer.manager, Operation::Apply, &version, writer.subresource);
    let merged = merge::merge(place, live, applied);
    let last = managers.0.get(&manager).map(|owned| owned.set.clone());
    let time = managers.0.get(&manager).and_then(|owned| owned.time.clone());
    let set = collect::fields_of(place, applied).recursive_difference(writer.reset);
    managers.0.insert(manager.clone(), Owned { version, set, time });
    let object = match last.filter(|last| !last.is_empty()) {
        Some(last) => pruned(place, merged, &managers, &last),
        None => merged,
    };
    let found = Comparison::of(place, live, &object).without(writer.reset);
    let conflicts = conflicts(&managers, &manager, &found);
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    yield_fields(&mut managers, &found, Some(&manager));
    if let Some(owned) = managers.0.get_mut(&manager) {
        owned.set = owned.set.difference(&nobodys());
    }
    managers.0.retain(|_, owned| !owned.set.is_empty());
    let changed = !typed::same(live, &object);
    if changed && let Some(owned) = managers.0.get_mut(&manager) {
        owned.time = Some(writer.now.into());
    }
    Ok((changed.then_some(object), managers))
}

fn conflicts(managers: &Managers, but: &Manager, found: &Comparison) -> Vec<Conflict> {
    let changed = found.modified.union(&found.added);
    let others = managers.0.iter().filter(|(manager, _)| *manager != but);
    let of = |(manager, owned): (&Manager, &Owned)| -> Vec<Conflict> {
        let paths = owned.set.intersection(&changed).paths();
        paths.into_iter().map(|path| Conflict { manager: manager.clone(), path }).collect()
    };
    others.flat_map(of).collect()
}

/// Takes away what the owner has applied last time and not this time, unless others own it.
fn pruned(place: Place<'_>, merged: Node, managers: &Managers, last: &FieldSet) -> Node {
    let last = place.with_named(last);
    let rest = collect::without(place, &merged, &last);
    let all = place.with_named(&collect::fields_of(place, &merged));
    let owned = managers.0.values().fold(FieldSet::default(), |owned, entry| owned.union(&entry.set));
    let kept = place.with_named(&collect::fields_of(place, &rest)).union(&place.with_named(&owned));
    let rest = collect::without(place, &merged, &all.difference(&kept));
    let left = place.with_named(&collect::fields_of(place, &rest));
    collect::without(place, &merged, &all.difference(&left).intersection(&last))
}

/// The fields that client-side apply has set and nobody has changed since; `kubectl` may take them over.
fn allowed_by_last_applied(place: Place<'_>, live: &Node, api_version: &str) -> Option<FieldSet> {
    let annotations = live.get("metadata")?.get("annotations")?;
    let text = annotations.get(LAST_APPLIED)?.as_text().filter(|text| !text.is_empty())?;
    let last = json::read_exact(text).ok()?;
    if last.get("apiVersion").and_then(Node::as_str) != Some(api_version)
        || check::check(place, &last).is_some()
    {
        return None;
    }
    let found = Comparison::of(place, &last, live);
    let fields = collect::fields_of(place, &last);
    Some(fields.difference(&found.modified).difference(&found.added).difference(&found.removed))
}

/// Keeps what client-side apply looks at up to date, so that one can go back to it.
fn renew_last_applied(object: &mut Node, applied: &Node) {
    let annotations = object.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut);
    let annotations = annotations.and_then(|map| map.get_mut("annotations")).and_then(Node::as_map_mut);
    let Some(annotations) = annotations else { return };
    if annotations.get(LAST_APPLIED).and_then(Node::as_text).is_none_or(|text| text.is_empty()) {
        return;
    }
    let mut applied = applied.clone();
    let metadata = applied.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut);
    if let Some(Node::Map(theirs)) = metadata.and_then(|map| map.get_mut("annotations")) {
        theirs.remove(LAST_APPLIED);
    }
    if let Ok(mut text) = json::write(&applied) {
        text.push(b'\n');
        annotations.insert(LAST_APPLIED.into(), Str::from(text).into());
    }
}

fn conflict_status(conflicts: &[Conflict]) -> Status {
    let cause = |conflict: &Conflict| Cause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {}", conflict.manager.spelled()),
        field: path_text(&conflict.path),
    };
    let message = match conflicts {
        [only] => {
            format!(
                "Apply failed with 1 conflict: conflict with {}: {}",
                only.manager.spelled(),
                path_text(&only.path)
            )
        }
        several => {
            let mut lines = Vec::new();
            let mut last = None;
            for conflict in several {
                if last != Some(&conflict.manager) {
                    lines.push(format!("conflicts with {}:", conflict.manager.spelled()));
                    last = Some(&conflict.manager);
                }
                lines.push(format!("- {}", path_text(&conflict.path)));
            }
            format!("Apply failed with {} conflicts: {}", several.len(), lines.join("\n"))
        }
    };
    let details = Details { causes: conflicts.iter().map(cause).collect(), ..Details::default() };
    Status::new(409, "Conflict", message).about(details)
}

#[cfg(test)]
mod tests;

//! Server-side apply and field management.
//!
//! [`apply`] merges the configuration of one field manager into the live object; [`update_managed_fields`] records
//! the changes of all other writes. Both maintain `metadata.managedFields`, and both are pure: the time comes in with
//! the [`FieldManager`]. Follows structured-merge-diff and `managedfields` of apimachinery.

mod compare;
mod field_set;
mod managed_fields;
mod merge;
mod to_set;
mod typed;
mod validate;

pub use compare::Comparison;
pub use field_set::{FieldSet, FieldSetError, PathElement, Scalar, path_string};

use pintle_tree::{Map, Node, Str, json};

use crate::schema::Schema;
use crate::status::{Status, StatusCause, StatusDetails};
use managed_fields::{ManagedFields, ManagerKey, Operation, VersionedSet};
use typed::TypeRef;

/// The annotation of client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The field manager of a write.
#[derive(Clone, Copy)]
pub struct FieldManager<'a> {
    /// The query's `fieldManager`, or the product of the user agent.
    pub name: &'a str,
    /// The API version of the write, such as `apps/v1`.
    pub api_version: &'a str,
    /// `status`, `scale` …; empty for the object itself.
    pub subresource: &'a str,
    /// The current time as `metav1.Time`.
    pub now: &'a str,
    /// The fields that this write resets and therefore does not own, such as `status` for a write of the main
    /// resource.
    pub reset_fields: &'a FieldSet,
}

/// Fields that no manager owns.
/// As `stripMeta` of the real server: what the server sets itself, or what identifies the object, cannot be in
/// conflict.
fn unmanaged_fields() -> FieldSet {
    FieldSet::from_paths(&[
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

/// Records the changes of a write other than an apply in `new`. `live` is the object before; for a create it is the
/// empty object of the kind and `created` is true.
pub fn update_managed_fields(
    schema: Schema<'_>,
    live: &Node,
    new: &mut Node,
    field_manager: &FieldManager<'_>,
    created: bool,
) {
    let mut managers = effective_managers(live, new, field_manager);
    strip(new);
    // Managed fields that a client has cleared stay cleared until the first apply.
    if managers.0.is_empty() && !created {
        managers.write(new);
        return;
    }
    // `managedFields` is not compared with itself: it changes with every write.
    let mut before = live.clone();
    strip(&mut before);
    record_update(TypeRef::root(schema), &before, new, &mut managers, field_manager);
    // As the real server, which merges the entries of updates only.
    managers.cap();
    managers.write(new);
}

/// The managers before this write: those that the client has sent, else those of the live object. Empty if the client
/// clears them.
fn effective_managers(live: &Node, new: &Node, field_manager: &FieldManager<'_>) -> ManagedFields {
    let existing = || ManagedFields::read(live).unwrap_or_default();
    if !field_manager.subresource.is_empty() {
        return existing();
    }
    let sent = new.get("metadata").and_then(|metadata| metadata.get("managedFields")).and_then(Node::as_list);
    let is_reset = match sent {
        Some([]) => true,
        Some([only]) => only.as_map().is_some_and(Map::is_empty),
        _ => false,
    };
    if is_reset {
        return ManagedFields::default();
    }
    match ManagedFields::read(new) {
        Ok(managers) if !managers.0.is_empty() => managers,
        _ => existing(),
    }
}

/// Adds all changed fields to the writing manager and removes them from the others.
fn record_update(
    type_ref: TypeRef<'_>,
    live: &Node,
    new: &Node,
    managers: &mut ManagedFields,
    field_manager: &FieldManager<'_>,
) {
    let version = Str::from(field_manager.api_version);
    let found = Comparison::new(type_ref, live, new);
    // Also from the writer itself, so that it loses what it has removed; what it has set is added back below.
    remove_from_others(managers, &found.without(field_manager.reset_fields), None);
    let changed = found
        .modified
        .union(&found.added)
        .recursive_difference(field_manager.reset_fields)
        .difference(&unmanaged_fields());
    if changed.is_empty() {
        return;
    }
    let manager = ManagerKey::new(field_manager.name, Operation::Update, &version, field_manager.subresource);
    let set = managers.0.get(&manager).map_or_else(|| changed.clone(), |owned| owned.set.union(&changed));
    managers.0.insert(manager, VersionedSet { version, set, time: Some(field_manager.now.into()) });
}

/// Removes changed fields from all managers except one.
fn remove_from_others(managers: &mut ManagedFields, found: &Comparison, except: Option<&ManagerKey>) {
    let changed = found.modified.union(&found.added).union(&found.removed);
    for (manager, owned) in &mut managers.0 {
        if Some(manager) != except {
            owned.set = owned.set.difference(&changed);
        }
    }
    managers.0.retain(|_, owned| !owned.set.is_empty());
}

/// Removes `managedFields`, which is not compared itself.
fn strip(object: &mut Node) {
    if let Some(Node::Map(metadata)) = object.as_map_mut().and_then(|map| map.get_mut("metadata")) {
        metadata.remove("managedFields");
    }
}

/// A field of another manager that the apply would change.
struct Conflict {
    manager: ManagerKey,
    path: Vec<PathElement>,
}

/// The result of an apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The merged object with its managed fields, before defaulting and validation.
    pub object: Node,
    /// Whether anything but the managed fields has changed.
    pub changed: bool,
}

/// Applies a configuration to the live object. If the object does not exist, `live` is the empty object of its kind
/// with its name, and `created` is true.
///
/// # Errors
///
/// When `applied` does not match the schema, or conflicts with other managers and `force` is false.
pub fn apply(
    schema: Schema<'_>,
    live: &Node,
    applied: &Node,
    field_manager: &FieldManager<'_>,
    force: bool,
    created: bool,
) -> Result<Applied, Status> {
    let type_ref = TypeRef::root(schema);
    validate_applied(type_ref, applied, field_manager)?;
    let mut managers = ManagedFields::read(live)
        .map_err(|error| internal(&format!("failed to decode managed fields: {error}")))?;
    let mut before = live.clone();
    strip(&mut before);
    // An object without managed fields was written before server-side apply tracked it. Its fields are attributed to
    // a manager of their own, so that they are not removed.
    if managers.0.is_empty() && !created {
        let first = FieldManager { name: "before-first-apply", ..*field_manager };
        let empty = empty_object(applied);
        record_update(type_ref, &empty, &before, &mut managers, &first);
    }
    // The second attempt, after a migration from client-side apply, must start from the same managers.
    let attempt = |force| merge_applied(type_ref, &before, applied, managers.clone(), field_manager, force);
    let merged = match attempt(force) {
        // Only `kubectl` migrates from client-side apply.
        Err(conflicts) if field_manager.name == "kubectl" => {
            match allowed_by_last_applied(type_ref, &before, field_manager.api_version) {
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
    let (mut object, managers) = merged.map_err(|conflicts| conflict_status(&conflicts))?;
    let changed = object.is_some();
    let mut object = object.take().unwrap_or(before);
    if field_manager.name == "kubectl" {
        update_last_applied(&mut object, applied);
    }
    managers.write(&mut object);
    Ok(Applied { object, changed })
}

fn validate_applied(
    type_ref: TypeRef<'_>,
    applied: &Node,
    field_manager: &FieldManager<'_>,
) -> Result<(), Status> {
    let metadata = applied.get("metadata");
    if metadata.is_some_and(|metadata| metadata.get("managedFields").is_some_and(|entries| !entries.is_nil()))
    {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let Some(problem) = validate::validate(type_ref, applied) else { return Ok(()) };
    let text = |node: Option<&Node>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
    let of = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    let version = if field_manager.api_version.contains('/') {
        field_manager.api_version.to_owned()
    } else {
        format!("/{}", field_manager.api_version)
    };
    Err(internal(&format!(
        "failed to create typed patch object ({}/{}; {version}, Kind={}): {problem}",
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

type MergeResult = (Option<Node>, ManagedFields);

fn merge_applied(
    type_ref: TypeRef<'_>,
    live: &Node,
    applied: &Node,
    mut managers: ManagedFields,
    field_manager: &FieldManager<'_>,
    force: bool,
) -> Result<MergeResult, Vec<Conflict>> {
    let version = Str::from(field_manager.api_version);
    let manager = ManagerKey::new(field_manager.name, Operation::Apply, &version, field_manager.subresource);
    let merged = merge::merge(type_ref, live, applied);
    let last = managers.0.get(&manager).map(|owned| owned.set.clone());
    let time = managers.0.get(&manager).and_then(|owned| owned.time.clone());
    // An applier owns exactly what it has applied last, not what it has ever applied: the difference is pruned.
    let set = to_set::to_field_set(type_ref, applied).recursive_difference(field_manager.reset_fields);
    // The time stays that of the last change: applying the same configuration again must not write anything.
    managers.0.insert(manager.clone(), VersionedSet { version, set, time });
    let object = match last.filter(|last| !last.is_empty()) {
        Some(last) => prune(type_ref, merged, &managers, &last),
        None => merged,
    };
    let found = Comparison::new(type_ref, live, &object).without(field_manager.reset_fields);
    let conflicts = conflicts(&managers, &manager, &found);
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    remove_from_others(&mut managers, &found, Some(&manager));
    if let Some(owned) = managers.0.get_mut(&manager) {
        owned.set = owned.set.difference(&unmanaged_fields());
    }
    managers.0.retain(|_, owned| !owned.set.is_empty());
    let changed = !typed::values_equal(live, &object);
    if changed && let Some(owned) = managers.0.get_mut(&manager) {
        owned.time = Some(field_manager.now.into());
    }
    Ok((changed.then_some(object), managers))
}

fn conflicts(managers: &ManagedFields, except: &ManagerKey, found: &Comparison) -> Vec<Conflict> {
    // Removed fields are no conflict: `prune` has kept those that others own.
    let changed = found.modified.union(&found.added);
    let others = managers.0.iter().filter(|(manager, _)| *manager != except);
    let of = |(manager, owned): (&ManagerKey, &VersionedSet)| -> Vec<Conflict> {
        let paths = owned.set.intersection(&changed).paths();
        paths.into_iter().map(|path| Conflict { manager: manager.clone(), path }).collect()
    };
    others.flat_map(of).collect()
}

/// Removes the fields that the manager has applied before and no longer applies, unless others own them.
fn prune(type_ref: TypeRef<'_>, merged: Node, managers: &ManagedFields, last: &FieldSet) -> Node {
    let last = type_ref.with_named_ancestors(last);
    // As structured-merge-diff: what others own (`addBackOwnedItems`), and what would otherwise dangle below a removed
    // field (`addBackDanglingItems`), is added back.
    let rest = to_set::without(type_ref, &merged, &last);
    let all = type_ref.with_named_ancestors(&to_set::to_field_set(type_ref, &merged));
    let owned = managers.0.values().fold(FieldSet::default(), |owned, entry| owned.union(&entry.set));
    let kept = type_ref
        .with_named_ancestors(&to_set::to_field_set(type_ref, &rest))
        .union(&type_ref.with_named_ancestors(&owned));
    let rest = to_set::without(type_ref, &merged, &all.difference(&kept));
    let left = type_ref.with_named_ancestors(&to_set::to_field_set(type_ref, &rest));
    to_set::without(type_ref, &merged, &all.difference(&left).intersection(&last))
}

/// The fields that client-side apply has set and nobody has changed since. `kubectl` may take them over without a
/// conflict, which migrates objects to server-side apply.
fn allowed_by_last_applied(type_ref: TypeRef<'_>, live: &Node, api_version: &str) -> Option<FieldSet> {
    let annotations = live.get("metadata")?.get("annotations")?;
    let text = annotations.get(LAST_APPLIED)?.as_text().filter(|text| !text.is_empty())?;
    let last = json::read_exact(text).ok()?;
    // A configuration of another version cannot be compared field by field.
    if last.get("apiVersion").and_then(Node::as_str) != Some(api_version)
        || validate::validate(type_ref, &last).is_some()
    {
        return None;
    }
    let found = Comparison::new(type_ref, &last, live);
    let fields = to_set::to_field_set(type_ref, &last);
    Some(fields.difference(&found.modified).difference(&found.added).difference(&found.removed))
}

/// Updates the annotation of client-side apply, so that users can go back to it.
fn update_last_applied(object: &mut Node, applied: &Node) {
    let annotations = object.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut);
    let annotations = annotations.and_then(|map| map.get_mut("annotations")).and_then(Node::as_map_mut);
    let Some(annotations) = annotations else { return };
    if annotations.get(LAST_APPLIED).and_then(Node::as_text).is_none_or(|text| text.is_empty()) {
        return;
    }
    let mut applied = applied.clone();
    let metadata = applied.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut);
    if let Some(Node::Map(existing)) = metadata.and_then(|map| map.get_mut("annotations")) {
        existing.remove(LAST_APPLIED);
    }
    if let Ok(mut text) = json::write(&applied) {
        // kubectl writes this annotation with an encoder that ends each value with a line break.
        text.push(b'\n');
        annotations.insert(LAST_APPLIED.into(), Str::from(text).into());
    }
}

fn conflict_status(conflicts: &[Conflict]) -> Status {
    let cause = |conflict: &Conflict| StatusCause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {}", conflict.manager.describe()),
        field: path_string(&conflict.path),
    };
    let message = match conflicts {
        // One conflict is on one line, several are grouped by manager, as `NewConflictError` words them.
        [only] => {
            format!(
                "Apply failed with 1 conflict: conflict with {}: {}",
                only.manager.describe(),
                path_string(&only.path)
            )
        }
        several => {
            let mut lines = Vec::new();
            let mut last = None;
            for conflict in several {
                if last != Some(&conflict.manager) {
                    lines.push(format!("conflicts with {}:", conflict.manager.describe()));
                    last = Some(&conflict.manager);
                }
                lines.push(format!("- {}", path_string(&conflict.path)));
            }
            format!("Apply failed with {} conflicts: {}", several.len(), lines.join("\n"))
        }
    };
    let details = StatusDetails { causes: conflicts.iter().map(cause).collect(), ..StatusDetails::default() };
    Status::new(409, "Conflict", message).with_details(details)
}

#[cfg(test)]
mod tests;

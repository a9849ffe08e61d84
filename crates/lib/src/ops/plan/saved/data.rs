//! A plan as a tree and back.

use std::collections::BTreeMap;

use pintle_hooks::{DeletePolicy, LogPolicy};
use pintle_objects::{HookEvent, ObjectId};
use pintle_plan::FieldConflict;
use pintle_plan::recreation::Recreation;
use pintle_release::Status;
use pintle_tree::Node;

use crate::ops::PlannedHook;
use crate::ops::plan::trial::changes;
use crate::ops::plan::{
    DeferredHandlers, Operation, PlannedAction, PlannedChange, PlannedObject, ReleasePlan,
};

pub(super) fn map(entries: Vec<(&str, Node)>) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

pub(super) fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::as_str).unwrap_or_default()
}

pub(super) fn list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).and_then(Node::as_list).unwrap_or_default()
}

/// A number that is not negative.
pub(super) fn number(node: &Node, key: &str) -> Option<u64> {
    match node.get(key)? {
        Node::Int(value) => u64::try_from(*value).ok(),
        // JSON has only one kind of numbers.
        Node::Float(value) if *value >= 0.0 && value.fract() == 0.0 => Some(*value as u64),
        _ => None,
    }
}

pub(super) fn optional_number(value: Option<u64>) -> Node {
    value.map_or(Node::Nil, |value| Node::Int(i64::try_from(value).unwrap_or(i64::MAX)))
}

pub(super) fn strings<'s>(items: impl IntoIterator<Item = &'s str>) -> Node {
    Node::List(items.into_iter().map(Node::from).collect())
}

pub(super) fn read_strings(node: &Node, key: &str) -> Vec<String> {
    list(node, key).iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

pub(super) fn pairs(pairs: &BTreeMap<String, String>) -> Node {
    map(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str().into())).collect())
}

pub(super) fn read_pairs(node: &Node) -> BTreeMap<String, String> {
    let entries = node.as_map().into_iter().flat_map(|map| map.entries());
    entries.filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned()))).collect()
}

pub(super) fn id(id: &ObjectId) -> Vec<(&'static str, Node)> {
    vec![
        ("apiVersion", id.api_version().as_str().into()),
        ("kind", id.kind.as_str().into()),
        ("namespace", id.namespace.as_str().into()),
        ("name", id.name.as_str().into()),
    ]
}

pub(super) fn plan(plan: &ReleasePlan) -> Node {
    let mut entries = vec![
        ("operation", plan.operation.name().into()),
        ("release", plan.release.as_str().into()),
        ("namespace", plan.namespace.as_str().into()),
        ("from", optional_number(plan.from)),
        ("fromStatus", plan.from_status.map_or(Node::Nil, |status| status.as_str().into())),
        ("to", optional_number(plan.to)),
        ("hooks", Node::List(plan.hooks.iter().map(hook).collect())),
        ("objects", Node::List(plan.objects.iter().map(object).collect())),
    ];
    if let Some(deferred) = &plan.deferred {
        let handlers =
            vec![("event", deferred.event.as_str().into()), ("reason", deferred.reason.as_str().into())];
        entries.push(("deferredHandlers", map(handlers)));
    }
    map(entries)
}

pub(super) fn read_plan(node: &Node) -> Option<ReleasePlan> {
    Some(ReleasePlan {
        operation: operation(text(node, "operation"))?,
        release: text(node, "release").to_owned(),
        namespace: text(node, "namespace").to_owned(),
        from: number(node, "from"),
        from_status: Status::parse(text(node, "fromStatus")),
        to: number(node, "to"),
        hooks: list(node, "hooks").iter().map(read_hook).collect::<Option<_>>()?,
        objects: list(node, "objects").iter().map(read_object).collect::<Option<_>>()?,
        deferred: node.get("deferredHandlers").map(|handlers| DeferredHandlers {
            event: text(handlers, "event").to_owned(),
            reason: text(handlers, "reason").to_owned(),
        }),
    })
}

pub(super) fn operation(name: &str) -> Option<Operation> {
    let all = [Operation::Install, Operation::Upgrade, Operation::Rollback, Operation::Uninstall];
    all.into_iter().find(|operation| operation.name() == name)
}

fn conflicts(conflicts: &[FieldConflict]) -> Node {
    let entry = |conflict: &FieldConflict| {
        map(vec![("field", conflict.field.as_str().into()), ("manager", conflict.manager.as_str().into())])
    };
    Node::List(conflicts.iter().map(entry).collect())
}

fn read_conflicts(node: &Node, key: &str) -> Vec<FieldConflict> {
    let entry = |node: &Node| FieldConflict {
        field: text(node, "field").to_owned(),
        manager: text(node, "manager").to_owned(),
    };
    list(node, key).iter().map(entry).collect()
}

/// An insignificant change. Unlike other changes, it cannot be computed again from the texts of the object.
fn insignificant_change(change: &PlannedChange) -> Node {
    let mut entries = vec![("path", change.path.as_str().into())];
    let sides = [("before", &change.before), ("after", &change.after)];
    entries.extend(sides.into_iter().filter_map(|(key, side)| Some((key, side.clone()?))));
    map(entries)
}

fn read_insignificant_change(node: &Node) -> PlannedChange {
    PlannedChange {
        path: text(node, "path").to_owned(),
        before: node.get("before").cloned(),
        after: node.get("after").cloned(),
    }
}

fn object(object: &PlannedObject) -> Node {
    let optional = |text: Option<&str>| text.map_or(Node::Nil, Node::from);
    let mut entries = id(&object.id);
    entries.extend([
        ("action", object.action.name().into()),
        ("crd", object.is_crd.into()),
        ("stage", optional_number(object.stage.and_then(|stage| u64::try_from(stage).ok()))),
        ("before", optional(object.before.as_deref())),
        ("after", optional(object.after.as_deref())),
        (
            "insignificantChanges",
            Node::List(object.insignificant_changes.iter().map(insignificant_change).collect()),
        ),
        ("conflicts", conflicts(&object.conflicts)),
        ("yielded", conflicts(&object.yielded)),
        ("immutable", strings(object.immutable.iter().map(String::as_str))),
        ("hidden", object.is_hidden.into()),
        ("digest", optional(object.before_digest().as_deref())),
    ]);
    if let Some(reason) = &object.kept_because {
        entries.push(("keptBecause", reason.as_str().into()));
    }
    if let Some(recreation) = object.recreation {
        entries.push(("orphan", (recreation == Recreation::OrphanDependents).into()));
    }
    map(entries)
}

fn read_object(node: &Node) -> Option<PlannedObject> {
    let optional = |key| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let (api_version, kind) = (text(node, "apiVersion"), text(node, "kind"));
    let id = ObjectId::new(api_version, kind, text(node, "namespace"), text(node, "name"));
    let action = PlannedAction::ALL.into_iter().find(|action| action.name() == text(node, "action"))?;
    let mut object = PlannedObject::new(id, action);
    (object.before, object.after) = (optional("before"), optional("after"));
    if let (Some(before), Some(after)) = (&object.before, &object.after) {
        object.changes = changes(before.as_bytes(), after.as_bytes());
    }
    object.insignificant_changes =
        list(node, "insignificantChanges").iter().map(read_insignificant_change).collect();
    object.is_crd = node.get("crd").and_then(Node::as_bool)?;
    object.stage = number(node, "stage").and_then(|stage| usize::try_from(stage).ok());
    object.conflicts = read_conflicts(node, "conflicts");
    object.yielded = read_conflicts(node, "yielded");
    object.immutable = read_strings(node, "immutable");
    object.is_hidden = node.get("hidden").and_then(Node::as_bool).unwrap_or(false);
    object.saved_digest = optional("digest");
    object.kept_because = optional("keptBecause");
    object.recreation = node.get("orphan").and_then(Node::as_bool).map(|orphan| match orphan {
        true => Recreation::OrphanDependents,
        false => Recreation::DeleteDependents,
    });
    Some(object)
}

fn hook(hook: &PlannedHook) -> Node {
    map(vec![
        ("event", hook.event.as_str().into()),
        ("group", optional_number(u64::try_from(hook.group).ok())),
        ("weight", Node::Int(hook.weight)),
        ("kind", hook.kind.as_str().into()),
        ("name", hook.name.as_str().into()),
        ("deletePolicies", strings(hook.delete_policies.iter().map(|policy| policy.as_str()))),
        ("logPolicies", strings(hook.log_policies.iter().map(|policy| policy.as_str()))),
        ("unmanaged", hook.unmanaged.into()),
        ("template", hook.template.as_str().into()),
    ])
}

fn read_hook(node: &Node) -> Option<PlannedHook> {
    let weight = match node.get("weight")? {
        Node::Int(weight) => *weight,
        Node::Float(weight) => *weight as i64,
        _ => return None,
    };
    Some(PlannedHook {
        event: HookEvent::parse(text(node, "event"))?,
        group: usize::try_from(number(node, "group")?).ok()?,
        weight,
        kind: text(node, "kind").to_owned(),
        name: text(node, "name").to_owned(),
        delete_policies: DeletePolicy::parse_list(&read_strings(node, "deletePolicies")),
        log_policies: read_strings(node, "logPolicies")
            .iter()
            .filter_map(|word| LogPolicy::parse(word))
            .collect(),
        unmanaged: node.get("unmanaged").and_then(Node::as_bool)?,
        template: text(node, "template").to_owned(),
    })
}

//! Defaults that differ, and the objects that they reach.

use std::collections::BTreeSet;

use pintle_tree::{Map, Node, Segment, ValuePath};

use crate::facts::Effect;
use crate::report::{Finding, FindingKind, Severity};
use crate::side::{Render, Side};
use crate::value_tree::{set_at, type_name, visit};

/// The most renders that are spent on finding out which defaults reach which objects.
const MAX_RENDERS: usize = 64;

/// The longest value that is shown.
const MAX_SHOWN: usize = 60;

/// A default that differs.
struct Change {
    path: ValuePath,
    before: Node,
    after: Node,
}

/// Compares the defaults of both charts.
pub(crate) fn check(user: &Map<Node>, migrated: &Map<Node>, old: &Side<'_>, new: &Side<'_>) -> Vec<Finding> {
    let changes = changes(old, new);
    let is_set = |change: &Change| {
        // A map of the user where there was none is the new form already.
        let is_own = |node: &Node| node.as_map().is_none() || change.before.as_map().is_none();
        let set = |values: &Map<Node>| change.path.find(values).is_some_and(is_own);
        set(user) || set(migrated) || is_below_scalar(&change.path, migrated)
    };
    let (overridden, open): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(is_set);
    let mut findings: Vec<Finding> =
        overridden.iter().map(|change| finding(change, Severity::Info, &[])).collect();
    for finding in &mut findings {
        finding.message.push_str("; yours stays");
    }
    let reached = reached(migrated, new, &open);
    for (change, objects) in open.iter().zip(reached) {
        match objects {
            Some(objects) if objects.is_empty() => findings.push(finding(change, Severity::Info, &[])),
            Some(objects) => {
                let objects: Vec<String> = objects.into_iter().collect();
                findings.push(finding(change, Severity::Warning, &objects));
            }
            None => {
                let mut undecided = finding(change, Severity::Warning, &[]);
                undecided.message.push_str("; what it reaches was not found out");
                findings.push(undecided);
            }
        }
    }
    findings
}

fn finding(change: &Change, severity: Severity, objects: &[String]) -> Finding {
    let (before, after) = (shown(&change.path, &change.before), shown(&change.path, &change.after));
    let kinds = (type_name(&change.before), type_name(&change.after));
    let kind = match kinds {
        (left, right) if left == right || left == "null" || right == "null" => FindingKind::ChangedDefault,
        _ => FindingKind::ChangedType,
    };
    let message = match kind {
        FindingKind::ChangedType => {
            format!("the default changes from {} {before} to {} {after}", kinds.0, kinds.1)
        }
        _ => format!("the default changes from {before} to {after}"),
    };
    Finding::new(kind, severity, change.path.to_string(), message).about(objects.iter().cloned())
}

/// A value in a report. Secrets are not shown.
fn shown(path: &ValuePath, node: &Node) -> String {
    let key = path.last_key().map(|key| key.to_str_lossy().to_ascii_lowercase()).unwrap_or_default();
    if ["password", "secret", "token", "privatekey"].iter().any(|word| key.contains(word))
        && matches!(node, Node::Str(text) if !text.as_bytes().is_empty())
    {
        return "(hidden)".to_owned();
    }
    let text = pintle_tree::json::write(node).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Whether the user has set something on the way to a value that is no map.
fn is_below_scalar(path: &ValuePath, user: &Map<Node>) -> bool {
    (1..path.segments().len()).any(|depth| {
        let above = ValuePath::from(path.segments()[..depth].to_vec());
        above.find(user).is_some_and(|node| node.as_map().is_none())
    })
}

/// The defaults that both charts have and that differ. A map that becomes something else is one change.
fn changes(old: &Side<'_>, new: &Side<'_>) -> Vec<Change> {
    let mut found = Vec::new();
    visit(&old.defaults, &ValuePath::root(), &mut |path, before| {
        let is_copy =
            path.segments().iter().skip(1).any(|at| matches!(at, Segment::Key(key) if *key == "global"));
        let Some(after) = path.find(&new.defaults).filter(|_| !is_copy) else { return false };
        if before == after {
            return false;
        }
        if let (Node::Map(_), Node::Map(_)) = (before, after) {
            return true;
        }
        if new.reads(path) {
            found.push(Change { path: path.clone(), before: before.clone(), after: after.clone() });
        }
        false
    });
    found
}

/// The objects that each change reaches: those that differ with the old default. `None` if that was not found out.
fn reached(migrated: &Map<Node>, new: &Side<'_>, changes: &[Change]) -> Vec<Option<BTreeSet<String>>> {
    let mut found = vec![None; changes.len()];
    let Ok(base) = new.render(migrated) else { return found };
    let mut budget = MAX_RENDERS;
    let mut waiting: Vec<(usize, usize)> =
        if changes.is_empty() { Vec::new() } else { vec![(0, changes.len())] };
    while let Some((from, to)) = waiting.pop() {
        if budget == 0 {
            break;
        }
        budget -= 1;
        let effect = reverted(migrated, new, &changes[from..to], &base);
        match effect {
            Some(effect) if effect.is_empty() => found[from..to].fill(Some(BTreeSet::new())),
            Some(effect) if to - from == 1 => {
                found[from] = Some(effect.objects().into_iter().map(str::to_owned).collect());
            }
            // The old default may be of a type that the new chart does not accept, so it is in use.
            None if to - from == 1 => found[from] = None,
            _ => {
                let middle = from.midpoint(to);
                waiting.extend([(middle, to), (from, middle)]);
            }
        }
    }
    found
}

fn reverted(migrated: &Map<Node>, new: &Side<'_>, changes: &[Change], base: &Render) -> Option<Effect> {
    let mut values = migrated.clone();
    for change in changes {
        set_at(&mut values, change.path.segments(), change.before.clone());
    }
    let render = new.render(&values).ok()?;
    Some(Effect::between(&render, base))
}

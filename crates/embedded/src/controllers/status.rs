//! Helpers to write `status`.

use pintle_tree::Node;

use super::template::condition;
use crate::api::meta::{list_at, map, set, text_at};

/// Type, status, reason and message of a condition.
pub(super) type NewCondition<'w> = (&'w str, bool, &'w str, &'w str);

/// Sets a condition. `lastTransitionTime` changes only with its status, as the API conventions demand.
pub(super) fn set_condition(object: &mut Node, (kind, is, reason, message): NewCondition<'_>, now: &str) {
    let word = if is { "True" } else { "False" };
    let before = condition(object, kind).cloned();
    let same = before.as_ref().filter(|it| text_at(it, &["status"]) == word);
    let since = same.map_or(now, |it| text_at(it, &["lastTransitionTime"])).to_owned();
    let mut entry =
        map([("type", kind.into()), ("status", word.into()), ("lastTransitionTime", since.into())]);
    for (field, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            set(&mut entry, &[field], text);
        }
    }
    // Only Deployments have `lastUpdateTime`, only pods and jobs `lastProbeTime`.
    let kind_of_object = text_at(object, &["kind"]).to_owned();
    match kind_of_object.as_str() {
        "Deployment" => {
            let is_unchanged = |it: &&Node| {
                text_at(it, &["status"]) == word
                    && text_at(it, &["reason"]) == reason
                    && text_at(it, &["message"]) == message
            };
            let last =
                before.as_ref().filter(is_unchanged).map_or(now, |it| text_at(it, &["lastUpdateTime"]));
            set(&mut entry, &["lastUpdateTime"], last);
        }
        "Pod" => set(&mut entry, &["lastProbeTime"], Node::Nil),
        "Job" => set(&mut entry, &["lastProbeTime"], now),
        _ => {}
    }
    let mut all = list_at(object, &["status", "conditions"]).to_vec();
    match all.iter_mut().find(|it| text_at(it, &["type"]) == kind) {
        // In place: the order of conditions is that of their first appearance, as in the real controllers.
        Some(current) => *current = entry,
        None => all.push(entry),
    }
    set(object, &["status", "conditions"], all);
}

pub(super) fn remove_condition(object: &mut Node, kind: &str) {
    let all = list_at(object, &["status", "conditions"]);
    if all.iter().any(|it| text_at(it, &["type"]) == kind) {
        let left: Vec<Node> = all.iter().filter(|it| text_at(it, &["type"]) != kind).cloned().collect();
        set(object, &["status", "conditions"], left);
    }
}

/// Sets a counter, or removes it at zero: these fields have `omitempty` in Go.
pub(super) fn set_count(object: &mut Node, field: &str, count: i64) {
    if count == 0 {
        crate::api::meta::unset(object, &["status", field]);
    } else {
        set(object, &["status", field], Node::Int(count));
    }
}

pub(super) fn count<'n>(all: impl IntoIterator<Item = &'n Node>, holds: impl Fn(&Node) -> bool) -> i64 {
    i64::try_from(all.into_iter().filter(|node| holds(node)).count()).unwrap_or(i64::MAX)
}

/// Sets `observedGeneration`: the status describes this generation of the spec. It is that of the object that was reconciled:
/// if the spec has changed since, `kubectl rollout status` must not take the old counts for those of the new spec.
pub(super) fn observe(object: &mut Node, reconciled: &Node) {
    if let Some(generation) = crate::api::meta::number_at(reconciled, &["metadata", "generation"]) {
        set(object, &["status", "observedGeneration"], Node::Int(generation));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_describes_the_generation_that_was_reconciled() {
        let generation = |number: i64| map([("metadata", map([("generation", Node::Int(number))]))]);
        let (reconciled, mut changed_since) = (generation(1), generation(2));
        observe(&mut changed_since, &reconciled);
        let observed = crate::api::meta::number_at(&changed_since, &["status", "observedGeneration"]);
        assert_eq!(observed, Some(1));
    }
}

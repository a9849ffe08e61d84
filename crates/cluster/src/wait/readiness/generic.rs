//! What applies to every kind: deletion, observed generation, and the standard conditions.

use pintle_objects::Object;
use pintle_tree::Node;

use super::{Malformed, Readiness, Status};

/// One entry of `status.conditions`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Condition<'o> {
    /// The condition's `type`.
    pub(crate) kind: &'o str,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: &'o str,
    /// The machine-readable reason.
    pub(crate) reason: &'o str,
    /// The human-readable message.
    pub(crate) message: &'o str,
}

impl<'o> Condition<'o> {
    /// Whether this is the condition of that type, and `True`.
    pub(crate) fn is_true(&self, kind: &str) -> bool {
        self.kind == kind && self.status == "True"
    }

    /// The message, or the reason where there is no message.
    pub(crate) fn why(&self) -> &'o str {
        if self.message.is_empty() { self.reason } else { self.message }
    }
}

/// The conditions of an object.
pub(crate) fn conditions(object: &Object) -> Result<Vec<Condition<'_>>, Malformed> {
    let status = match object.at(&["status"]) {
        None | Some(Node::Nil) => return Ok(Vec::new()),
        Some(Node::Map(status)) => status,
        Some(_) => return Err(Malformed("status")),
    };
    match status.get("conditions") {
        None | Some(Node::Nil) => Ok(Vec::new()),
        Some(Node::List(list)) => list.iter().map(condition).collect(),
        Some(_) => Err(Malformed("list of conditions")),
    }
}

fn condition(node: &Node) -> Result<Condition<'_>, Malformed> {
    let map = match node {
        Node::Nil => return Ok(Condition::default()),
        Node::Map(map) => map,
        _ => return Err(Malformed("list of conditions")),
    };
    let text = |key: &str| match map.get(key) {
        None | Some(Node::Nil) => Ok(""),
        Some(node) => node.as_str().ok_or(Malformed("list of conditions")),
    };
    Ok(Condition {
        kind: text("type")?,
        status: text("status")?,
        reason: text("reason")?,
        message: text("message")?,
    })
}

/// The status of an object that is being deleted, or whose status is of an earlier generation.
pub(super) fn outdated(object: &Object) -> Result<Option<Readiness>, Malformed> {
    if is_being_deleted(object)? {
        return Ok(Some(Readiness::verbatim(Status::Terminating, "Resource scheduled for deletion")));
    }
    unobserved_generation(object)
}

/// The status that follows without knowing the kind, if any.
pub(super) fn common_status(object: &Object) -> Result<Option<Readiness>, Malformed> {
    if let Some(answer) = outdated(object)? {
        return Ok(Some(answer));
    }
    for condition in conditions(object)? {
        if condition.is_true("Reconciling") {
            let detail = because("Reconciling", condition.why());
            return Ok(Some(Readiness::in_progress(condition.message, detail)));
        }
        if condition.is_true("Stalled") {
            let detail = because("Stalled", condition.why());
            return Ok(Some(Readiness::failed(condition.message, detail)));
        }
    }
    Ok(None)
}

fn is_being_deleted(object: &Object) -> Result<bool, Malformed> {
    match object.at(&["metadata", "deletionTimestamp"]) {
        None => Ok(false),
        Some(Node::Str(moment)) => Ok(!moment.is_empty()),
        Some(_) => Err(Malformed("deletion timestamp")),
    }
}

fn unobserved_generation(object: &Object) -> Result<Option<Readiness>, Malformed> {
    // Many kinds have neither, and controllers that do not report a generation cannot be checked by it.
    let (Some(desired), Some(observed)) = generations(object)? else { return Ok(None) };
    if desired == observed {
        return Ok(None);
    }
    let kind = object.kind();
    Ok(Some(Readiness::in_progress(
        format!("{kind} generation is {desired}, but latest observed generation is {observed}"),
        "Waiting for the spec update to be observed",
    )))
}

/// `metadata.generation` and `status.observedGeneration`.
pub(super) fn generations(object: &Object) -> Result<(Option<i64>, Option<i64>), Malformed> {
    let number = |path: &[&str], what| match object.at(path) {
        None => Ok(None),
        Some(Node::Int(value)) => Ok(Some(*value)),
        Some(_) => Err(Malformed(what)),
    };
    Ok((
        number(&["metadata", "generation"], "generation")?,
        number(&["status", "observedGeneration"], "observed generation")?,
    ))
}

/// The status of kinds without rules of their own, by their `Ready` condition.
pub(super) fn by_ready_condition(object: &Object) -> Result<Readiness, Malformed> {
    for condition in conditions(object)?.into_iter().filter(|condition| condition.kind == "Ready") {
        match condition.status {
            "True" => return Ok(Readiness::verbatim(Status::Current, "Resource is Ready")),
            "False" | "Unknown" => {
                let detail = because("Resource is not Ready", condition.why());
                return Ok(Readiness::in_progress(condition.message, detail));
            }
            _ => {}
        }
    }
    // Without a `Ready` condition there is nothing to wait for: kstatus assumes that the kind needs no controller.
    Ok(Readiness::verbatim(Status::Current, "Resource is current"))
}

/// A statement, with its reason where one is known.
pub(super) fn because(statement: &str, reason: &str) -> String {
    if reason.is_empty() { statement.to_owned() } else { format!("{statement}: {reason}") }
}

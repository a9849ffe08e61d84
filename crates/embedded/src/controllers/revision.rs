//! ControllerRevisions of StatefulSets and DaemonSets: a copy of each pod template, for rollbacks.

use pintle_tree::Node;

use super::client::REVISIONS;
use super::reconcile::Request;
use super::template::owner_reference;
use crate::api::meta::{at, map, number_at, set, text_at};
use crate::status::Status;
use crate::store::key;

const KIND: &str = "controllerrevisions.apps";
/// The default of `revisionHistoryLimit`.
const HISTORY_LIMIT: i64 = 10;

/// The name of the label in which the kind keeps the template hash.
#[derive(Clone, Copy)]
pub(super) struct Label(pub(super) &'static str);

/// Stores the current template as the newest revision, and deletes old revisions that are not in use.
pub(super) async fn record(
    request: &Request<'_>,
    Label(label): Label,
    hash: &str,
    is_used: impl Fn(&Node) -> bool,
) -> Result<(), Status> {
    let name = format!("{}-{hash}", request.name());
    let current = request.owned(KIND);
    let newest = current.iter().map(number).max().unwrap_or(0);
    match current.iter().find(|it| text_at(it, &["metadata", "name"]) == name) {
        None => {
            let revision = revision(request, label, hash, newest + 1);
            request.client.create(REVISIONS, request.namespace(), &revision).await?;
        }
        // A rollback makes the existing revision the newest instead of adding one.
        Some(old) if number(old) < newest => {
            let key = key(KIND, request.namespace(), &name);
            request.client.update(&key, |it| set(it, &["revision"], Node::Int(newest + 1))).await?;
        }
        Some(_) => {}
    }
    let limit = number_at(&request.object, &["spec", "revisionHistoryLimit"]).unwrap_or(HISTORY_LIMIT);
    let mut idle: Vec<&Node> =
        current.iter().filter(|it| text_at(it, &["metadata", "name"]) != name && !is_used(it)).collect();
    idle.sort_by_key(|it| number(it));
    let surplus = idle.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    for old in &idle[..surplus] {
        request.client.delete(REVISIONS, old, true).await?;
    }
    Ok(())
}

fn number(revision: &Node) -> i64 {
    number_at(revision, &["revision"]).unwrap_or(0)
}

fn revision(request: &Request<'_>, label: &str, hash: &str, number: i64) -> Node {
    let mut revision = map([("apiVersion", "apps/v1".into()), ("kind", "ControllerRevision".into())]);
    set(&mut revision, &["metadata", "name"], format!("{}-{hash}", request.name()));
    set(&mut revision, &["metadata", "namespace"], request.namespace());
    if let Some(labels) = at(&request.object, &["spec", "template", "metadata", "labels"]) {
        set(&mut revision, &["metadata", "labels"], labels.clone());
    }
    set(&mut revision, &["metadata", "labels", label], hash);
    if let Some(annotations) = at(&request.object, &["metadata", "annotations"]) {
        set(&mut revision, &["metadata", "annotations"], annotations.clone());
    }
    set(&mut revision, &["metadata", "ownerReferences"], vec![owner_reference(&request.object)]);
    // The data of a revision is a patch that restores the template.
    let template = at(&request.object, &["spec", "template"]).cloned().unwrap_or_default();
    set(&mut revision, &["data", "spec", "template"], template);
    // `kubectl rollout undo` sends this as a strategic merge patch.
    set(&mut revision, &["data", "spec", "template", "$patch"], "replace");
    set(&mut revision, &["revision"], Node::Int(number));
    revision
}

//! Revisions of StatefulSets and DaemonSets: a `ControllerRevision` keeps each template, for the way back.

use pintle_tree::Node;

use super::engine::Look;
use super::hand::REVISIONS;
use super::template::owner_reference;
use crate::api::meta::{at, map, number_at, set, text_at};
use crate::status::Status;
use crate::store::key;

const KIND: &str = "controllerrevisions.apps";
/// How many are kept that no pod is of.
const KEPT: i64 = 10;

/// How a kind labels its revisions: the name of the label that has the mark.
#[derive(Clone, Copy)]
pub(super) struct Label(pub(super) &'static str);

/// Keeps the template as the newest revision, and forgets old ones that are not in use.
pub(super) async fn keep(
    look: &Look<'_>,
    Label(label): Label,
    mark: &str,
    is_used: impl Fn(&Node) -> bool,
) -> Result<(), Status> {
    let name = format!("{}-{mark}", look.name());
    let there = look.owned(KIND);
    let newest = there.iter().map(number).max().unwrap_or(0);
    match there.iter().find(|it| text_at(it, &["metadata", "name"]) == name) {
        None => {
            let revision = revision(look, label, mark, newest + 1);
            look.hand.make(REVISIONS, look.namespace(), &revision).await?;
        }
        // Whoever goes back makes the old one the newest.
        Some(old) if number(old) < newest => {
            let key = key(KIND, look.namespace(), &name);
            look.hand.edit(&key, |it| set(it, &["revision"], Node::Int(newest + 1))).await?;
        }
        Some(_) => {}
    }
    let limit = number_at(&look.object, &["spec", "revisionHistoryLimit"]).unwrap_or(KEPT);
    let mut idle: Vec<&Node> =
        there.iter().filter(|it| text_at(it, &["metadata", "name"]) != name && !is_used(it)).collect();
    idle.sort_by_key(|it| number(it));
    let surplus = idle.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    for old in &idle[..surplus] {
        look.hand.delete(REVISIONS, old, true).await?;
    }
    Ok(())
}

fn number(revision: &Node) -> i64 {
    number_at(revision, &["revision"]).unwrap_or(0)
}

fn revision(look: &Look<'_>, label: &str, mark: &str, number: i64) -> Node {
    let mut revision = map([("apiVersion", "apps/v1".into()), ("kind", "ControllerRevision".into())]);
    set(&mut revision, &["metadata", "name"], format!("{}-{mark}", look.name()));
    set(&mut revision, &["metadata", "namespace"], look.namespace());
    if let Some(labels) = at(&look.object, &["spec", "template", "metadata", "labels"]) {
        set(&mut revision, &["metadata", "labels"], labels.clone());
    }
    set(&mut revision, &["metadata", "labels", label], mark);
    if let Some(annotations) = at(&look.object, &["metadata", "annotations"]) {
        set(&mut revision, &["metadata", "annotations"], annotations.clone());
    }
    set(&mut revision, &["metadata", "ownerReferences"], vec![owner_reference(&look.object)]);
    // A patch that brings the template back.
    let template = at(&look.object, &["spec", "template"]).cloned().unwrap_or_default();
    set(&mut revision, &["data", "spec", "template"], template);
    set(&mut revision, &["data", "spec", "template", "$patch"], "replace");
    set(&mut revision, &["revision"], Node::Int(number));
    revision
}

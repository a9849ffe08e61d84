//! Finds what failed or interrupted versions left in the cluster: objects that the next version does not contain, and
//! hooks that were never cleaned up.

use std::collections::BTreeSet;

use pintle_cluster::{Cluster, Detail, PropagationPolicy};
use pintle_hooks::{DeletePolicy, Hook};
use pintle_objects::{Object, ObjectId};
use pintle_plan::{RESOURCE_POLICY, ownership};
use pintle_release::{HookPhase, ReleaseVersion, Timestamp};

use crate::manifest::hook_source;
use crate::{Result, Session};

/// An object that a failed version left in the cluster.
pub(crate) struct Orphan {
    /// As the version desired it.
    pub(crate) object: Object,
    /// As it is in the cluster.
    pub(crate) live: Object,
}

/// Returns the objects of failed versions that are not in `known`, exist, carry the ownership labels of the release,
/// and have no resource policy of `keep`.
pub(crate) async fn find(
    session: &Session,
    versions: &[ReleaseVersion],
    known: &[&Object],
) -> Result<Vec<Orphan>> {
    let Some(of) = versions.first() else { return Ok(Vec::new()) };
    let mut known_ids = BTreeSet::new();
    for object in known {
        let object = of_known_kind(&session.cluster, (*object).clone(), &of.namespace).await;
        known_ids.extend(object.map(|object| object.id().unversioned()));
    }
    let mut candidates = Vec::new();
    for version in versions {
        for object in Object::read_readable(version.manifest.as_bytes()) {
            let object = of_known_kind(&session.cluster, object, &version.namespace).await;
            // Several failed versions mostly left the same objects.
            candidates.extend(object.filter(|object| known_ids.insert(object.id().unversioned())));
        }
    }
    let ids: Vec<ObjectId> = candidates.iter().map(Object::id).collect();
    let mut there = session.cluster.snapshot(&ids, Detail::MetadataOnly).await?;
    let found = candidates.into_iter().filter_map(|object| {
        let live = there.remove(&object.id())?;
        let is_ours = ownership::check(&live, &of.name, &of.namespace).is_ok();
        (is_ours && live.annotation(RESOURCE_POLICY).is_none()).then_some(Orphan { object, live })
    });
    Ok(found.collect())
}

/// Returns the object with its namespace set, if the cluster serves its kind. Objects of other kinds cannot exist.
async fn of_known_kind(cluster: &Cluster, mut object: Object, namespace: &str) -> Option<Object> {
    let is_known = !object.name().is_empty() && cluster.scope(&mut object, namespace).await.is_ok();
    is_known.then_some(object)
}

/// Terminates the hooks of a version that nobody continues: running hooks are marked as failed, and objects are
/// deleted as the delete policies of their hooks demand. Errors are ignored, as after any hook.
pub(crate) async fn terminate_hooks(session: &Session, version: &mut ReleaseVersion) {
    let now = session.clock.now();
    for index in 0..version.hooks.len() {
        let stored = &mut version.hooks[index];
        let phase = stored.last_run.phase.clone();
        if phase == HookPhase::Running {
            (stored.last_run.phase, stored.last_run.completed) = (HookPhase::Failed, Some(now));
        }
        let Ok(hook) = pintle_hooks::read_stored(&hook_source(stored)) else { continue };
        if is_kept(&hook, &phase, stored.last_run.started) {
            continue;
        }
        for mut object in pintle_hooks::objects_to_delete(&hook).unwrap_or_default() {
            if session.cluster.scope(&mut object, &version.namespace).await.is_ok() {
                let id = object.id();
                let _ = session.cluster.delete_object(&id, PropagationPolicy::Background).await;
            }
        }
    }
}

/// Returns whether the object of a hook stays, judged by its last run. Whether a hook that was running when its
/// client died has succeeded is unknown, so either policy deletes it.
fn is_kept(hook: &Hook, phase: &HookPhase, started: Option<Timestamp>) -> bool {
    let (succeeded, failed) =
        (hook.is_deleted(DeletePolicy::Succeeded), hook.is_deleted(DeletePolicy::Failed));
    started.is_none()
        || match phase {
            HookPhase::Running | HookPhase::Unknown => !succeeded && !failed,
            HookPhase::Succeeded => !succeeded,
            HookPhase::Failed => !failed,
            HookPhase::Unset | HookPhase::Other(_) => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_hooks::{Source, read_stored};

    #[test]
    fn only_objects_that_their_policy_would_delete_go_with_an_interrupted_hook() {
        let hook = |policies: &[&str]| {
            let policies: Vec<String> = policies.iter().map(|word| (*word).to_owned()).collect();
            let manifest = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n".as_slice();
            read_stored(&Source { manifest, delete_policies: &policies, ..Source::default() }).unwrap()
        };
        let ran = Some(Timestamp::from_unix(1, 0));
        for (policies, phase, started, expected) in [
            (["hook-succeeded"], HookPhase::Running, ran, false),
            (["hook-failed"], HookPhase::Running, ran, false),
            (["hook-failed"], HookPhase::Unknown, ran, false),
            (["before-hook-creation"], HookPhase::Running, ran, true),
            (["hook-succeeded"], HookPhase::Failed, ran, true),
            (["hook-failed"], HookPhase::Succeeded, ran, true),
            (["hook-succeeded"], HookPhase::Unknown, None, true),
        ] {
            assert_eq!(is_kept(&hook(&policies), &phase, started), expected, "{policies:?} {phase:?}");
        }
    }
}

//! The rendered part of a release record: the manifest, and the hooks as the record stores them.

use pintle_hooks::Source;
use pintle_objects::{Manifest, Sorted};
use pintle_release::{HookRun, StoredHook};

#[cfg(feature = "cluster")]
use crate::hook_problems::{self, HookProblem};
#[cfg(feature = "cluster")]
use crate::prepare::Prepared;
use crate::prepare::{displayed_content, push_document};
use crate::{Reporter, Result};

/// The part of a release record that comes from rendering.
#[cfg(feature = "cluster")]
pub(crate) struct RenderedRecord {
    /// All objects that are not hooks, as YAML documents with `# Source:` comments.
    pub(crate) manifest: String,
    /// The hooks.
    pub(crate) hooks: Vec<StoredHook>,
    /// The rendered notes.
    pub(crate) notes: String,
    /// Hooks that will not run as their annotations say.
    #[cfg_attr(not(feature = "embedded"), expect(dead_code, reason = "only rehearsals report them"))]
    pub(crate) hook_problems: Vec<HookProblem>,
}

/// Builds the rendered part of a release record.
#[cfg(feature = "cluster")]
pub(crate) fn record(
    prepared: &Prepared,
    hide_secrets: bool,
    reporter: &mut dyn Reporter,
) -> Result<RenderedRecord> {
    let sorted = prepared.objects()?;
    for line in &sorted.log {
        reporter.log(line.clone());
    }
    prepared.record_objects.check(&sorted, reporter)?;
    let hook_problems = hook_problems::find(&sorted, Some(&prepared.chart));
    hook_problems.iter().for_each(|problem| reporter.log_extra(problem.warning()));
    let (manifest, hooks) = split_hooks(&sorted, hide_secrets, reporter)?;
    let notes = String::from_utf8_lossy(&prepared.notes).into_owned();
    Ok(RenderedRecord { hooks, manifest, notes, hook_problems })
}

/// Splits sorted documents into the manifest and the hooks of a release record.
pub(crate) fn split_hooks(
    sorted: &Sorted<'_>,
    hide_secrets: bool,
    reporter: &mut dyn Reporter,
) -> Result<(String, Vec<StoredHook>)> {
    // With room for the `# Source` lines: text of megabytes that grows by doubling would take twice its size.
    let size = sorted.manifests.iter().map(|object| object.path.len() + object.content.len() + 20).sum();
    let mut manifest = Vec::with_capacity(size);
    let mut hooks = Vec::new();
    for hook in &sorted.hooks {
        let read = pintle_hooks::read(&Source::from_sorted(hook))?;
        read.warnings.iter().for_each(|warning| reporter.log_extra(warning.clone()));
        hooks.push(stored(hook));
    }
    for object in &sorted.manifests {
        if pintle_hooks::is_hook_by_weights(&object.head) {
            hooks.push(hook_by_weights(object, reporter)?);
        } else {
            push_document(&mut manifest, object.path, displayed_content(object, hide_secrets));
        }
    }
    let manifest = String::from_utf8(manifest)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok((manifest, hooks))
}

/// Builds a hook that has no `helm.sh/hook` annotation and names its events in its weights only.
fn hook_by_weights(object: &Manifest<'_>, reporter: &mut dyn Reporter) -> Result<StoredHook> {
    let mut hook = pintle_objects::Hook::from_head(object.path, object.content, &object.head);
    let read = pintle_hooks::read(&Source::from_sorted(&hook))?;
    read.warnings.iter().for_each(|warning| reporter.log_extra(warning.clone()));
    hook.events = read.events.iter().map(|weighted| weighted.event).collect();
    // Helm has one weight for all events and may run this record later, so the first weight is the best it can get.
    hook.weight = read.events.first().map_or(0, |weighted| weighted.weight);
    Ok(stored(&hook))
}

/// Converts a hook to its form in release records.
fn stored(hook: &pintle_objects::Hook<'_>) -> StoredHook {
    StoredHook {
        name: hook.name.to_string(),
        kind: hook.kind.to_string(),
        path: hook.path.to_owned(),
        manifest: String::from_utf8_lossy(hook.manifest).into_owned(),
        events: hook.events.clone(),
        last_run: HookRun::default(),
        weight: hook.weight,
        delete_policies: hook.delete_policies.clone(),
        output_log_policies: hook.output_log_policies.clone(),
    }
}

/// Borrows the fields of a stored hook for parsing.
pub(crate) fn hook_source(stored: &StoredHook) -> Source<'_> {
    Source {
        name: &stored.name,
        kind: &stored.kind,
        path: &stored.path,
        manifest: stored.manifest.as_bytes(),
        events: &stored.events,
        weight: stored.weight,
        delete_policies: &stored.delete_policies,
        log_policies: &stored.output_log_policies,
    }
}

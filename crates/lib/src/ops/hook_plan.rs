//! Computes which hooks run at which event, in which order, and how they are cleaned up, without running them.

use pintle_hooks::{DeletePolicy, Hook, LogPolicy, batches};
use pintle_objects::HookEvent;
use pintle_release::{ReleaseVersion, StoredHook};
use pintle_render::{Capabilities, KubeVersion, Release, Target};
use pintle_values::SchemaCheck;

use super::ChartInput;
use crate::lifecycle::Lifecycle;
use crate::prepare::{PrepareOptions, Prepared, prepare};
use crate::{RecordObjects, Reporter, Result, hook_problems, manifest};

/// A hook at one of its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedHook {
    /// The event.
    pub event: HookEvent,
    /// The position of its group among the hooks of the event, from 1. Hooks of a group may run in parallel.
    pub group: usize,
    /// Its weight at the event.
    pub weight: i64,
    /// The kind of its object.
    pub kind: String,
    /// The name of its object.
    pub name: String,
    /// When its object is deleted.
    pub delete_policies: Vec<DeletePolicy>,
    /// When its log is shown.
    pub log_policies: Vec<LogPolicy>,
    /// Whether its object is kept when the release is uninstalled.
    pub unmanaged: bool,
    /// The template that it was rendered from.
    pub template: String,
}

/// Returns the hooks of a chart as an install would run them, by event and then in order.
///
/// # Errors
/// When the chart does not render, or a hook is invalid.
pub fn hooks_of_chart(
    subject: &ChartInput,
    kube_version: Option<KubeVersion>,
    reporter: &mut dyn Reporter,
) -> Result<Vec<PlannedHook>> {
    let mut capabilities = Capabilities::default();
    if let Some(version) = kube_version {
        capabilities.kube_version = version;
    }
    let (name, namespace) = (subject.name.clone(), subject.namespace.clone());
    let release = Release { name, namespace, revision: 1, is_upgrade: false };
    let target = Target::offline(release, capabilities);
    let rules = PrepareOptions {
        schema: SchemaCheck::Check,
        record_objects: RecordObjects::Allow,
        ..PrepareOptions::default()
    };
    let (chart, given) = (subject.chart.clone(), subject.user_values.clone());
    let prepared = prepare(chart, given, &target, rules, &Lifecycle::default(), reporter)?;
    hooks_of(&prepared, reporter)
}

/// Returns the hooks of a rendered chart.
///
/// # Errors
/// When a hook is invalid.
pub(super) fn hooks_of(prepared: &Prepared, reporter: &mut dyn Reporter) -> Result<Vec<PlannedHook>> {
    let sorted = prepared.objects()?;
    for problem in hook_problems::find(&sorted, Some(&prepared.chart)) {
        reporter.log_extra(problem.warning());
    }
    let (_, hooks) = manifest::split_hooks(&sorted, false, reporter)?;
    planned(&hooks)
}

/// Returns the hooks of a release as its operations run them.
///
/// # Errors
/// When a stored hook cannot be parsed.
pub fn hooks_of_release(version: &ReleaseVersion) -> Result<Vec<PlannedHook>> {
    planned(&version.hooks)
}

fn planned(stored: &[StoredHook]) -> Result<Vec<PlannedHook>> {
    let hooks = stored
        .iter()
        .map(|stored| Ok(pintle_hooks::read_stored(&manifest::hook_source(stored))?))
        .collect::<Result<Vec<Hook>>>()?;
    let mut planned = Vec::new();
    for event in HookEvent::ALL {
        for (group, batch) in batches(&hooks, event).into_iter().enumerate() {
            planned.extend(batch.into_iter().map(|hook| PlannedHook {
                event,
                group: group + 1,
                weight: hook.weight(event).unwrap_or(0),
                kind: hook.kind.clone(),
                name: hook.name.clone(),
                delete_policies: hook.delete_policies.clone(),
                log_policies: hook.log_policies.clone(),
                unmanaged: hook.unmanaged,
                template: hook.path.clone(),
            }));
        }
    }
    Ok(planned)
}

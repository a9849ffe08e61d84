//! Rendering for a live cluster: its capabilities, `lookup` for templates, and what goes into the release record.

use std::sync::Arc;

use pintle_chart::Chart;
use pintle_cluster::{Cluster, ServerCapabilities};
use pintle_events::Event;
use pintle_hooks::Source;
use pintle_lua::Permission;
use pintle_objects::{Manifest, Sorted};
use pintle_release::{HookRun, StoredHook};
use pintle_render::{Capabilities, KubeVersion, Lookup, Release, Target};
use pintle_tree::{Map, Node};
use tokio::runtime::Handle;

use crate::lifecycle::secrets::{self, SecretAccess};
use crate::lifecycle::{Lifecycle, spawn_blocking};
use crate::options::RenderOptions;
use crate::prepare::{self, PrepareOptions, Prepared, displayed_content, finish, push_document};
use crate::report::BufferedReporter;
use crate::{Error, Reporter, Result, Session};

/// Answers `lookup` from the cluster. Templates call it synchronously; they run on a blocking thread, where
/// `block_on` is allowed.
struct LiveLookup {
    cluster: Cluster,
    handle: Handle,
    guard: SecretAccess,
}

impl Lookup for LiveLookup {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Map<Node>, String> {
        let answer = self.cluster.lookup(api_version, kind, namespace, name);
        let found = self.handle.block_on(answer).map_err(|error| error.to_string())?;
        if let Some(guarded) = secrets::protected_kind(api_version, kind) {
            self.guard.check_for_template(guarded, &found)?;
        }
        Ok(found)
    }
}

/// Returns the release, capabilities and lookup that a chart is rendered with. Without `ask`, `lookup` finds nothing.
pub(crate) fn target(
    session: &Session,
    facts: &ServerCapabilities,
    release: Release,
    options: &RenderOptions,
    ask: bool,
) -> Target {
    let guard = SecretAccess {
        release: release.name.clone(),
        namespace: release.namespace.clone(),
        network: session.events.granted().contains(Permission::Network),
    };
    let mut target = Target::offline(release, capabilities(facts));
    target.dns = options.dns;
    if ask {
        target.lookup =
            Arc::new(LiveLookup { cluster: session.cluster.clone(), handle: Handle::current(), guard });
    }
    target
}

fn capabilities(facts: &ServerCapabilities) -> Capabilities {
    let version = &facts.version;
    Capabilities {
        kube_version: KubeVersion {
            version: version.git_version.clone(),
            normalized: version.git_version.clone(),
            major: version.major.clone(),
            minor: version.minor.clone(),
        },
        api_versions: facts.api_versions.clone().into(),
        ..Capabilities::default()
    }
}

/// Emits `chart-loaded` on a blocking thread. Returns the chart and values as the handlers left them.
pub(crate) async fn emit_chart_loaded(
    events: &Lifecycle,
    chart: Chart,
    user: Map<Node>,
    reporter: &mut dyn Reporter,
) -> Result<(Chart, Map<Node>)> {
    if !events.listens(Event::ChartLoaded) {
        return Ok((chart, user));
    }
    let events = events.clone();
    let work = move || {
        let mut log = Vec::new();
        prepare::emit_chart_loaded(chart, user, &events, &mut log).map(|loaded| (loaded, log))
    };
    let (loaded, log) = spawn_blocking(Event::ChartLoaded, work).await?;
    log.into_iter().for_each(|line| reporter.log(line));
    Ok(loaded)
}

/// Emits an event about rendered objects on a blocking thread.
pub(crate) async fn emit_rendered(event: Event, mut prepared: Prepared) -> Result<Prepared> {
    spawn_blocking(event, move || prepared.emit(event).map(|()| prepared)).await
}

/// Renders on a blocking thread, because templates may wait for `lookup` and handlers may take long.
pub(crate) async fn render(
    chart: Chart,
    user: Map<Node>,
    target: Target,
    rules: PrepareOptions,
    events: &Lifecycle,
    reporter: &mut dyn Reporter,
) -> Result<Prepared> {
    let events = events.clone();
    let work = move || {
        let mut log = BufferedReporter::default();
        let outcome = finish(chart, user, &target, rules, &events, &mut log).and_then(|mut prepared| {
            // The objects are validated against the cluster after this function, so handlers get their last chance to
            // change them here.
            prepared.emit(Event::PreValidate)?;
            Ok(prepared)
        });
        (outcome, log)
    };
    let (outcome, log) = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::Input(format!("rendering template failed: {error}")))?;
    for line in log.0 {
        reporter.log(line);
    }
    outcome
}

/// The part of a release record that comes from rendering.
pub(crate) struct RenderedRecord {
    /// All objects that are not hooks, as YAML documents with `# Source:` comments.
    pub(crate) manifest: String,
    /// The hooks.
    pub(crate) hooks: Vec<StoredHook>,
    /// The rendered notes.
    pub(crate) notes: String,
}

/// Builds the rendered part of a release record.
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
    let (manifest, hooks) = split_hooks(&sorted, hide_secrets, reporter)?;
    Ok(RenderedRecord { hooks, manifest, notes: String::from_utf8_lossy(&prepared.notes).into_owned() })
}

/// Splits sorted documents into the manifest and the hooks of a release record.
pub(crate) fn split_hooks(
    sorted: &Sorted<'_>,
    hide_secrets: bool,
    reporter: &mut dyn Reporter,
) -> Result<(String, Vec<StoredHook>)> {
    let mut manifest = Vec::new();
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
    Ok((String::from_utf8_lossy(&manifest).into_owned(), hooks))
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

//! `template`: render a chart and return or write the result.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_chart::{FileError, check_links, create_folders, write_below};
use pintle_events::Event as LifecycleEvent;
#[cfg(feature = "images")]
use pintle_images::Policy;
use pintle_objects::{HookEvent, Sorted};
use pintle_render::{Capabilities, KubeVersion, Release, Target};
use pintle_values::{NullRules, ValuesLayer};

use super::{locate, name};
use crate::hook_problems;
use crate::options::RenderOptions;
use crate::post_render::PostRenderOptions;
use crate::prepare::{Prepared, RENDER_EVENTS, displayed_content, prepare_for, push_document};
use crate::{
    AnySession, ChartRef, Error, Lifecycle, LookupObjects, OfflineSession, RecordObjects, Reporter, Result,
};

/// What to render, and how.
#[derive(Clone, Debug)]
pub struct TemplateRequest {
    /// The chart.
    pub chart: ChartRef,
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The user's values.
    pub values: Vec<ValuesLayer>,
    /// The Kubernetes version to render for.
    pub kube_version: Option<KubeVersion>,
    /// API versions in addition to the built-in ones.
    pub api_versions: Vec<String>,
    /// Whether `.Release.IsUpgrade` is set.
    pub is_upgrade: bool,
    /// Includes `crds/` in the output.
    pub include_crds: bool,
    /// Assumes that the CRDs in `crds/` are installed or not needed.
    pub skip_crds: bool,
    /// Leaves out test hooks.
    pub skip_tests: bool,
    /// Leaves out all hooks.
    pub no_hooks: bool,
    /// Skips `values.schema.json`.
    pub skip_schema: bool,
    /// With a cluster, accepts existing objects of other releases.
    pub take_ownership: bool,
    /// With a cluster, does not validate documents.
    pub disable_openapi: bool,
    /// Lets `getHostByName` resolve names.
    pub dns: bool,
    /// Replaces Secrets by a comment.
    pub hide_secrets: bool,
    /// Whether nulls in values follow the rules of Helm 3 or Helm 4. Helm 3 also trims blank lines around documents.
    pub nulls: NullRules,
    /// Returns only the output of these templates, given by path or glob pattern.
    pub show_only: Vec<String>,
    /// Where the output goes.
    pub layout: Layout,
    /// Rewrites the images of rendered objects to other registries (`--rewrite-images`).
    #[cfg(feature = "images")]
    pub images: Option<Arc<Policy>>,
    /// Whether charts may contain objects that a release store would mistake for its own records.
    pub record_objects: RecordObjects,
    /// Programs that change the rendered objects (`--post-renderer`).
    pub post_render: PostRenderOptions,
    /// Warns of values that no template reads.
    pub warn_unread: bool,
    /// What `lookup` finds without a cluster.
    pub lookup: LookupObjects,
}

/// Where the rendered output goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Into [`Templated::text`].
    #[default]
    Stream,
    /// Into one file per template below this folder (`--output-dir`).
    Folder(PathBuf),
}

impl Default for TemplateRequest {
    fn default() -> Self {
        TemplateRequest {
            chart: ChartRef::default(),
            name: "release-name".to_owned(),
            namespace: "default".to_owned(),
            values: Vec::new(),
            kube_version: None,
            api_versions: Vec::new(),
            is_upgrade: false,
            include_crds: false,
            skip_crds: false,
            skip_tests: false,
            no_hooks: false,
            skip_schema: false,
            take_ownership: false,
            disable_openapi: false,
            dns: false,
            hide_secrets: false,
            nulls: NullRules::Helm4,
            show_only: Vec::new(),
            layout: Layout::Stream,
            #[cfg(feature = "images")]
            images: None,
            record_objects: RecordObjects::default(),
            post_render: PostRenderOptions::default(),
            warn_unread: false,
            lookup: LookupObjects::default(),
        }
    }
}

impl TemplateRequest {
    pub(super) fn target(&self) -> Target {
        let mut capabilities = Capabilities::default().with_api_versions(&self.api_versions);
        if let Some(version) = &self.kube_version {
            capabilities.kube_version = version.clone();
        }
        let release = Release {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            revision: 1,
            is_upgrade: self.is_upgrade,
        };
        let mut target = Target::offline(release, capabilities);
        target.dns = self.dns;
        target
    }

    pub(super) fn render_options(&self) -> RenderOptions {
        RenderOptions {
            skip_schema: self.skip_schema,
            disable_openapi: self.disable_openapi,
            dns: self.dns,
            hide_secrets: self.hide_secrets,
            nulls: self.nulls,
            #[cfg(feature = "images")]
            images: self.images.clone(),
            record_objects: self.record_objects,
            post_render: self.post_render.clone(),
            unread: if self.warn_unread { self.values.as_slice().into() } else { Arc::default() },
            ..RenderOptions::default()
        }
    }
}

/// The rendered chart.
#[derive(Clone, Debug, Default)]
pub struct Templated {
    /// All objects and hooks as Helm prints them; empty when files were written.
    pub text: Vec<u8>,
    /// The written files in order, once per document.
    pub written: Vec<PathBuf>,
}

/// Renders a chart. With a cluster, capabilities and `lookup` come from it, its kinds must be known, and existing objects
/// must belong to the release. Without one, the future never waits, so any executor can run it.
///
/// # Errors
/// The first stage that fails: reading, values, schema, rendering, objects, validation on the cluster, or writing files.
/// When a handler fails, nothing is written.
pub async fn template(
    session: impl Into<AnySession<'_>>,
    request: &TemplateRequest,
    reporter: &mut dyn Reporter,
) -> Result<Templated> {
    let session = session.into();
    let request = &*request.fetched(reporter).await?;
    match session {
        AnySession::Offline(session) => template_offline(session, request, Purpose::Template, reporter),
        #[cfg(feature = "cluster")]
        AnySession::Cluster(session) => {
            super::template_on_cluster::template(session, request, reporter).await
        }
    }
}

impl TemplateRequest {
    /// The request with a chart that is on this machine.
    pub(super) async fn fetched(&self, reporter: &mut dyn Reporter) -> Result<Cow<'_, TemplateRequest>> {
        let chart = locate::fetched(&self.chart, reporter).await?;
        Ok(chart.map_or(Cow::Borrowed(self), |chart| Cow::Owned(TemplateRequest { chart, ..self.clone() })))
    }
}

/// What a chart is rendered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be printed.
    Template,
    /// To be compared with the release that an install or an upgrade would make of it.
    #[cfg(feature = "cluster")]
    Diff,
}

impl Purpose {
    /// The event after which the objects are final.
    #[cfg_attr(not(feature = "cluster"), expect(unused_variables, reason = "only diffs are of an operation"))]
    fn last_event(self, request: &TemplateRequest) -> LifecycleEvent {
        match self {
            Purpose::Template => LifecycleEvent::PostTemplate,
            #[cfg(feature = "cluster")]
            Purpose::Diff if request.is_upgrade => LifecycleEvent::PreUpgrade,
            #[cfg(feature = "cluster")]
            Purpose::Diff => LifecycleEvent::PreInstall,
        }
    }

    /// As [`Purpose::last_event`]; `None` if its handlers may have effects, which only the real operation may have. A warning
    /// says so.
    #[cfg_attr(not(feature = "cluster"), expect(unused_variables, reason = "only diffs leave handlers out"))]
    pub(super) fn final_event(
        self,
        request: &TemplateRequest,
        events: &Lifecycle,
        reporter: &mut dyn Reporter,
    ) -> Option<LifecycleEvent> {
        let event = self.last_event(request);
        #[cfg(feature = "cluster")]
        if self == Purpose::Diff
            && let Some(reason) = events.effects(event)
        {
            super::DeferredHandlers { event: event.to_string(), reason }.warn(reporter);
            return None;
        }
        Some(event)
    }
}

pub(super) fn template_offline(
    session: &OfflineSession,
    request: &TemplateRequest,
    purpose: Purpose,
    reporter: &mut dyn Reporter,
) -> Result<Templated> {
    let events = &session.events;
    let (chart, user) = locate::load_with_values(&request.chart, &request.values, reporter)?;
    name::check(&request.name, reporter)?;
    let rules = request.render_options().rules(&session.schemas);
    let [loaded, before, after] = RENDER_EVENTS;
    let emitted = [loaded, before, after, purpose.last_event(request)];
    let mut target = request.target();
    if let Some(port) = request.lookup.port(&target.release, events) {
        target.lookup = port;
    }
    let mut prepared = prepare_for(chart, user, &target, rules, (events, &emitted), reporter)?;
    let last = purpose.final_event(request, prepared.events(), reporter);
    let outcome = last.map_or(Ok(()), |event| prepared.emit(event));
    events.report(reporter);
    outcome?;
    output(request, &prepared, reporter)
}

/// Returns or writes the output, depending on the layout.
pub(super) fn output(
    request: &TemplateRequest,
    prepared: &Prepared,
    reporter: &mut dyn Reporter,
) -> Result<Templated> {
    output_sorted(request, prepared, &prepared.objects()?, reporter)
}

/// As [`output`], of objects that are sorted already.
pub(super) fn output_sorted(
    request: &TemplateRequest,
    prepared: &Prepared,
    sorted: &Sorted<'_>,
    reporter: &mut dyn Reporter,
) -> Result<Templated> {
    for line in &sorted.log {
        reporter.log(line.clone());
    }
    for problem in hook_problems::find(sorted, Some(&prepared.chart)) {
        reporter.log_extra(problem.warning());
    }
    request.record_objects.check(sorted, reporter)?;
    if request.include_crds {
        for crd in prepared.chart.crds() {
            request.record_objects.check_text(&crd.file.data, &crd.path, reporter)?;
        }
    }
    match &request.layout {
        Layout::Stream => {
            let text = text(request, prepared, sorted);
            let text =
                if request.show_only.is_empty() { text } else { shown_only(&text, &request.show_only)? };
            Ok(Templated { text, written: Vec::new() })
        }
        Layout::Folder(folder) => {
            Ok(Templated { text: Vec::new(), written: write_files(folder, request, prepared, sorted)? })
        }
    }
}

/// Returns the documents that are not hooks: CRDs if requested, then objects in install order.
fn documents<'a>(
    request: &TemplateRequest,
    prepared: &'a Prepared,
    sorted: &'a Sorted<'_>,
) -> Vec<(String, &'a [u8])> {
    let mut documents: Vec<(String, &[u8])> = Vec::new();
    if request.include_crds {
        documents.extend(prepared.chart.crds().into_iter().map(|crd| (crd.path, &*crd.file.data)));
    }
    let first_object = documents.len();
    documents.extend(
        sorted
            .manifests
            .iter()
            .map(|manifest| (manifest.path.to_owned(), displayed_content(manifest, request.hide_secrets))),
    );
    if request.nulls == NullRules::Helm3 {
        trim(&mut documents[first_object..]);
    }
    documents
}

/// Trims blank lines around documents.
fn trim(documents: &mut [(String, &[u8])]) {
    for (_, content) in documents {
        *content = content.trim_ascii();
    }
}

/// Returns the hooks of the output.
fn hooks<'a>(request: &TemplateRequest, sorted: &'a Sorted<'_>) -> Vec<(String, &'a [u8])> {
    if request.no_hooks {
        return Vec::new();
    }
    let wanted = |events: &[HookEvent]| !(request.skip_tests && events.contains(&HookEvent::Test));
    let hooks = sorted.hooks.iter().filter(|hook| wanted(&hook.events));
    let mut hooks: Vec<_> = hooks.map(|hook| (hook.path.to_owned(), hook.manifest)).collect();
    if request.nulls == NullRules::Helm3 {
        trim(&mut hooks);
    }
    hooks
}

fn text(request: &TemplateRequest, prepared: &Prepared, sorted: &Sorted<'_>) -> Vec<u8> {
    let (documents, hooks) = (documents(request, prepared, sorted), hooks(request, sorted));
    let size = documents.iter().chain(&hooks).map(|(path, content)| path.len() + content.len() + 20).sum();
    let mut text = Vec::with_capacity(size);
    for (path, content) in &documents {
        push_document(&mut text, path, content);
    }
    // Helm's output ends in exactly one newline. It starts with `---`, so only the end needs trimming.
    text.truncate(pintle_objects::trim_end(&text).len());
    text.push(b'\n');
    // Hooks come after the trimming, as in Helm, which appends them to the manifest when it prints.
    for (path, content) in &hooks {
        push_document(&mut text, path, content);
    }
    text
}

/// Returns the documents whose template matches one of the patterns, in the order of the patterns.
///
/// # Errors
/// When a pattern matches nothing.
pub fn shown_only(text: &[u8], patterns: &[String]) -> Result<Vec<u8>> {
    let documents: Vec<(&[u8], String)> = pintle_objects::split(text)
        .filter_map(|document| source_path(document).map(|path| (document, path)))
        .collect();
    let mut shown = Vec::new();
    for pattern in patterns {
        let mut found = false;
        for (document, path) in &documents {
            if pintle_chart::matches(pattern, path) == Ok(true) {
                found = true;
                shown.extend_from_slice(b"---\n");
                shown.extend_from_slice(document);
                shown.push(b'\n');
            }
        }
        if !found {
            return Err(Error::NoSuchTemplate { pattern: pattern.clone() });
        }
    }
    Ok(shown)
}

/// Returns the path below the chart from the `# Source:` comment of a document.
fn source_path(document: &[u8]) -> Option<String> {
    const MARK: &str = "# Source: ";
    let text = String::from_utf8_lossy(document);
    text.lines().filter_map(|line| line.split_once(MARK)).find_map(|(_, path)| {
        let (chart, rest) = path.split_once('/')?;
        (!chart.is_empty() && !rest.is_empty()).then(|| rest.to_owned())
    })
}

fn write_files(
    folder: &Path,
    request: &TemplateRequest,
    prepared: &Prepared,
    sorted: &Sorted<'_>,
) -> Result<Vec<PathBuf>> {
    let mut written: Vec<PathBuf> = Vec::new();
    let mut texts: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    for (path, content) in documents(request, prepared, sorted).into_iter().chain(hooks(request, sorted)) {
        let target = folder.join(&path);
        push_document(texts.entry(target.clone()).or_default(), &path, content);
        written.push(target);
    }
    // In the order of their first documents, each file once.
    for target in &written {
        let Some(text) = texts.remove(target) else { continue };
        let failed = |source| Error::File { action: "write", path: target.clone(), source };
        // Charts choose the names, and what is in the folder may be links.
        let name = target.strip_prefix(folder).unwrap_or(target);
        if !has_dangling_link(folder, target) {
            check_links(folder, name).map_err(failed)?;
        }
        if let Some(parent) = target.parent() {
            create_dir(parent)?;
        }
        write_below(folder, name, &text).map_err(failed)?;
    }
    Ok(written)
}

/// Whether a folder of the path is a link to nowhere, which cannot be created and for which Helm has words.
fn has_dangling_link(root: &Path, target: &Path) -> bool {
    let folders = target.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    let is_dangling = |folder: &Path| {
        fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink()) && fs::metadata(folder).is_err()
    };
    folders.into_iter().any(is_dangling)
}

/// Creates a folder and its parents. The error is worded as Go's, because Helm prints it.
fn create_dir(folder: &Path) -> Result<()> {
    if let Err(error) = fs::metadata(folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(Error::Folder(FileError::new("stat", folder, error)));
    }
    create_folders(folder).map_err(Error::Folder)
}

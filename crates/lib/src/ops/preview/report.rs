//! What a preview finds.

use pintle_gitops::{AppId, Note, Place};
use pintle_objects::ObjectId;

use super::causes;
use super::compare::{ObjectChange, ObjectChangeKind, compare};
use super::dangers;
use super::render::{ChartInput, RenderedApp, Renders};
use super::{Pair, PreviewRequest};
use crate::{OfflineSession, Silent};

/// The kind of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CauseKind {
    /// A value of the user.
    Value,
    /// A variable that is substituted.
    Variable,
    /// A manifest, or a patch of one.
    Manifest,
    /// The chart, or its version.
    Chart,
    /// A template of a chart in the repository.
    Template,
    /// A default of a chart in the repository.
    Default,
    /// Another file of a chart in the repository.
    ChartFile,
    /// The name or the namespace of the release.
    Release,
    /// An option, such as a post-renderer.
    Option,
}

impl CauseKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CauseKind::Value => "value",
            CauseKind::Variable => "variable",
            CauseKind::Manifest => "manifest",
            CauseKind::Chart => "chart",
            CauseKind::Template => "template",
            CauseKind::Default => "default",
            CauseKind::ChartFile => "chart file",
            CauseKind::Release => "release",
            CauseKind::Option => "option",
        }
    }
}

/// An input that differs, and that a change comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// What kind of input.
    pub kind: CauseKind,
    /// Which: the path of a value, a file.
    pub name: String,
    /// Where it is set: on the head side, or on the base side if it is gone.
    pub place: Option<Place>,
    /// The layer of a value.
    pub layer: String,
    /// The value before.
    pub old: String,
    /// The value after.
    pub new: String,
    /// The value through which a variable has its effect.
    pub via: String,
    /// Whether reverting this input alone changes the field.
    pub is_proven: bool,
}

impl Cause {
    pub(crate) fn new(kind: CauseKind, name: impl Into<String>, place: Option<Place>) -> Self {
        Cause {
            kind,
            name: name.into(),
            place,
            layer: String::new(),
            old: String::new(),
            new: String::new(),
            via: String::new(),
            is_proven: true,
        }
    }

    pub(crate) fn with(self, old: String, new: String) -> Self {
        Cause { old, new, ..self }
    }
}

/// The kind of a danger, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DangerKind {
    /// Data is lost.
    DataLoss,
    /// A CRD is removed.
    CrdRemoved,
    /// A field that cannot be changed in place.
    Immutable,
    /// Pods may do more on their node.
    Privilege,
    /// Someone may do more with the API.
    Rbac,
}

impl DangerKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            DangerKind::DataLoss => "data-loss",
            DangerKind::CrdRemoved => "crd-removed",
            DangerKind::Immutable => "immutable",
            DangerKind::Privilege => "privilege",
            DangerKind::Rbac => "rbac",
        }
    }
}

/// A change that a reviewer has to see first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The kind.
    pub kind: DangerKind,
    /// The object.
    pub object: ObjectId,
    /// What happens.
    pub text: String,
}

/// A finding of a check that is new on the head side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFinding {
    /// The rule.
    pub rule: &'static str,
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    /// The object.
    pub object: String,
    /// What is wrong.
    pub message: String,
}

/// Something about values that a new version of a chart does not read as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeNote {
    /// The value or object.
    pub subject: String,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// What has to be done.
    pub message: String,
}

/// What became of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppStatus {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is on both sides.
    Both,
    /// It could not be rendered on the head side, or on the base side so that nothing can be compared.
    NotRendered {
        /// Why.
        reason: String,
        /// Whether that was so before.
        was_before: bool,
    },
}

/// An app with changes, or with something to say.
#[derive(Clone, Debug)]
pub struct AppChange {
    /// The app.
    pub id: AppId,
    /// Where it is described.
    pub place: Place,
    /// What it deploys.
    pub what: String,
    /// What became of it.
    pub status: AppStatus,
    /// Whether its controller is told to leave it alone.
    pub is_suspended: bool,
    /// The changes of its objects.
    pub objects: Vec<ObjectChange>,
    /// The dangers.
    pub dangers: Vec<Danger>,
    /// New findings.
    pub findings: Vec<CheckFinding>,
    /// What a new version of the chart means for the values.
    pub upgrade: Vec<UpgradeNote>,
    /// The outcome of the rehearsal: findings; `None` if there was none.
    pub rehearsal: Option<Vec<String>>,
    /// What was left out while rendering.
    pub notes: Vec<String>,
}

impl AppChange {
    /// Whether a reader has to see it.
    pub fn is_shown(&self) -> bool {
        !self.objects.is_empty()
            || !self.findings.is_empty()
            || matches!(self.status, AppStatus::NotRendered { .. } | AppStatus::Added | AppStatus::Removed)
    }
}

/// The result of a preview.
#[derive(Clone, Debug, Default)]
pub struct PreviewReport {
    /// Apps with changes, and those that were not rendered.
    pub apps: Vec<AppChange>,
    /// How many apps there are on the head side.
    pub rendered: usize,
    /// What was not understood or is left out, and whether that is new.
    pub notes: Vec<(bool, Note)>,
}

impl PreviewReport {
    pub(crate) fn add(&mut self, change: AppChange) {
        if change.is_shown() {
            self.apps.push(change);
        }
    }

    /// Follows values of apps that other apps made to the lines that those were made from.
    fn trace_back(&mut self) {
        let mut made: Vec<(ObjectId, String, Vec<Cause>)> = Vec::new();
        for object in self.apps.iter().flat_map(|app| &app.objects).filter(|object| describes(&object.id)) {
            let fields = object
                .fields
                .iter()
                .map(|field| (object.id.clone(), field.name.clone(), field.causes.clone()));
            made.extend(fields);
        }
        for app in &mut self.apps {
            let id = app.id.clone();
            // The name of an Application with several sources has the number of the source.
            let name = id.name.split('[').next().unwrap_or_default();
            let of_app: Vec<_> =
                made.iter().filter(|(object, ..)| object.kind == id.kind && object.name == name).collect();
            if of_app.is_empty() {
                continue;
            }
            for object in &mut app.objects {
                trace(&mut object.causes, &of_app);
                object.fields.iter_mut().for_each(|field| trace(&mut field.causes, &of_app));
            }
        }
    }

    /// Leaves out objects that describe an app whose change is shown anyway.
    pub(crate) fn settle(&mut self) {
        self.trace_back();
        let shown: Vec<AppId> = self
            .apps
            .iter()
            .filter(|app| !app.objects.is_empty() || app.status != AppStatus::Both)
            .map(|app| app.id.clone())
            .collect();
        for app in &mut self.apps {
            app.objects.retain(|object| {
                !shown.iter().any(|id| {
                    *id != app.id
                        && id.kind == object.id.kind
                        && id.name == object.id.name
                        && (id.namespace == object.id.namespace || id.namespace.is_empty())
                        && describes(&object.id)
                })
            });
        }
        self.apps.retain(AppChange::is_shown);
    }

    /// Whether an object differs.
    pub fn has_changes(&self) -> bool {
        self.apps
            .iter()
            .any(|app| !app.objects.is_empty() || matches!(app.status, AppStatus::Added | AppStatus::Removed))
    }

    /// The apps that were not rendered.
    pub fn not_rendered(&self) -> impl Iterator<Item = &AppChange> {
        self.apps.iter().filter(|app| matches!(app.status, AppStatus::NotRendered { .. }))
    }

    /// All dangers with their apps, the worst first.
    pub fn dangers(&self) -> Vec<(&AppChange, &Danger)> {
        let mut all: Vec<(&AppChange, &Danger)> =
            self.apps.iter().flat_map(|app| app.dangers.iter().map(move |danger| (app, danger))).collect();
        all.sort_by_key(|(_, danger)| danger.kind);
        all
    }

    /// How many objects are added, changed and removed.
    pub fn counts(&self) -> [usize; 3] {
        let count =
            |kind| self.apps.iter().flat_map(|app| &app.objects).filter(|object| object.kind == kind).count();
        [ObjectChangeKind::Added, ObjectChangeKind::Changed, ObjectChangeKind::Removed].map(count)
    }

    /// How many fields differ, and of how many the causes are known.
    pub fn explained(&self) -> (usize, usize) {
        let objects = || self.apps.iter().flat_map(|app| &app.objects);
        let whole = objects().filter(|object| object.kind != ObjectChangeKind::Changed);
        let (mut all, mut known) = (0, 0);
        for causes in whole
            .map(|object| &object.causes)
            .chain(objects().flat_map(|object| object.fields.iter().map(|field| &field.causes)))
        {
            all += 1;
            known += usize::from(causes.iter().any(|cause| cause.is_proven));
        }
        (all, known)
    }
}

/// Puts causes of the object that describes an app in the place of those that are known only in it.
fn trace(causes: &mut Vec<Cause>, made: &[&(ObjectId, String, Vec<Cause>)]) {
    let mut traced: Vec<Cause> = Vec::new();
    for cause in std::mem::take(causes) {
        if cause.place.is_some() || cause.kind != CauseKind::Value {
            traced.push(cause);
            continue;
        }
        let suffix = format!(".{}", cause.name);
        let exact: Vec<_> = made.iter().filter(|(_, field, _)| field.ends_with(&suffix)).collect();
        // Values may be one text, such as those of an Application.
        let texts = made.iter().filter(|(_, field, _)| field.ends_with("values"));
        let fields: Vec<_> = if exact.is_empty() { texts.collect() } else { exact };
        let origins: Vec<Cause> = fields
            .iter()
            .flat_map(|(id, field, causes)| causes.iter().map(move |origin| (id, field, origin)))
            .filter(|(_, _, origin)| origin.place.is_some())
            .map(|(id, field, origin)| {
                let via = format!("{} in {field} of {} {}", cause.name, id.kind, id.name);
                Cause { via, is_proven: origin.is_proven && cause.is_proven, ..origin.clone() }
            })
            .collect();
        match origins.is_empty() {
            true => traced.push(cause),
            false => traced.extend(origins),
        }
    }
    traced.sort();
    traced.dedup();
    *causes = traced;
}

fn describes(id: &ObjectId) -> bool {
    matches!(id.kind.as_str(), "HelmRelease" | "Application" | "HelmRequest" | "Kustomization")
}

/// The change of one app.
pub(crate) fn change(
    session: &OfflineSession,
    request: &PreviewRequest,
    renders: &Renders,
    pair: &Pair,
) -> AppChange {
    let mut change = blank(pair.any());
    change.status = status(pair);
    if let AppStatus::NotRendered { .. } = change.status {
        return change;
    }
    let objects =
        |side: &Option<RenderedApp>| side.as_ref().map(|it| it.objects().to_vec()).unwrap_or_default();
    let (old, new) = (objects(&pair.base), objects(&pair.head));
    change.objects = compare(&old, &new);
    if change.objects.is_empty() {
        return change;
    }
    explain(renders, pair, &mut change);
    change.dangers = change.objects.iter().flat_map(dangers::of).collect();
    if request.check {
        change.findings = new_findings(session, &old, &new);
    }
    if let (Some(base), Some(head)) = (input(&pair.base), input(&pair.head)) {
        if request.upgrade_check && base.loaded.chart.metadata.version != head.loaded.chart.metadata.version {
            change.upgrade = upgrade_notes(renders, base, head);
        }
        if request.rehearse {
            change.rehearsal = Some(rehearsal(request, base, head));
        }
    }
    change
}

fn input(side: &Option<RenderedApp>) -> Option<&std::sync::Arc<ChartInput>> {
    side.as_ref()?.outcome.as_ref().ok()?.input.as_ref()
}

fn blank(app: &RenderedApp) -> AppChange {
    AppChange {
        id: app.app.id.clone(),
        place: app.app.place.clone(),
        what: app.describe(),
        status: AppStatus::Both,
        is_suspended: app.app.is_suspended,
        objects: Vec::new(),
        dangers: Vec::new(),
        findings: Vec::new(),
        upgrade: Vec::new(),
        rehearsal: None,
        notes: app.outcome.as_ref().map(|rendered| rendered.objects.notes.clone()).unwrap_or_default(),
    }
}

fn status(pair: &Pair) -> AppStatus {
    let failure =
        |side: &Option<RenderedApp>| side.as_ref().and_then(|app| app.outcome.as_ref().err().cloned());
    match (&pair.base, &pair.head, failure(&pair.base), failure(&pair.head)) {
        (_, Some(_), before, Some(reason)) => AppStatus::NotRendered { reason, was_before: before.is_some() },
        // What cannot be compared is not shown as new.
        (Some(_), Some(_), Some(reason), None) => {
            AppStatus::NotRendered { reason: format!("the base is not rendered: {reason}"), was_before: true }
        }
        (Some(_), None, Some(reason), _) => AppStatus::NotRendered {
            reason: format!("it is removed, and the base is not rendered: {reason}"),
            was_before: true,
        },
        (None, Some(_), ..) => AppStatus::Added,
        (Some(_), None, ..) => AppStatus::Removed,
        _ => AppStatus::Both,
    }
}

/// Finds out why objects differ.
fn explain(renders: &Renders, pair: &Pair, change: &mut AppChange) {
    let (Some(base), Some(head)) = (&pair.base, &pair.head) else {
        let verb = if pair.head.is_some() { "added" } else { "removed" };
        let cause =
            Cause::new(CauseKind::Manifest, format!("{} {verb}", change.id.kind), Some(change.place.clone()));
        for object in &mut change.objects {
            object.causes = vec![cause.clone()];
        }
        return;
    };
    match (input(&pair.base), input(&pair.head)) {
        (Some(old), Some(new)) => causes::of_chart(renders, (base, head), (old, new), &mut change.objects),
        _ => causes::of_objects((base, head), &mut change.objects),
    }
    hide_secrets(&mut change.objects);
}

/// Hides the values of inputs that reach a Secret, wherever they are named.
fn hide_secrets(objects: &mut [ObjectChange]) {
    let is_secret = |object: &ObjectChange| object.id.kind == "Secret" && object.id.group.is_empty();
    let of_fields = objects.iter().flat_map(|object| &object.fields).filter(|field| field.is_secret);
    let of_objects = objects.iter().filter(|object| is_secret(object)).flat_map(|object| &object.causes);
    let hidden: Vec<(CauseKind, String)> = of_fields
        .flat_map(|field| &field.causes)
        .chain(of_objects)
        .filter(|cause| matches!(cause.kind, CauseKind::Value | CauseKind::Default | CauseKind::Variable))
        .map(|cause| (cause.kind, cause.name.clone()))
        .collect();
    let hide = |text: &mut String| {
        if !text.is_empty() {
            "(hidden)".clone_into(text);
        }
    };
    for object in objects {
        let causes =
            object.causes.iter_mut().chain(object.fields.iter_mut().flat_map(|field| &mut field.causes));
        for cause in causes.filter(|cause| hidden.contains(&(cause.kind, cause.name.clone()))) {
            hide(&mut cause.old);
            hide(&mut cause.new);
        }
    }
}

/// The findings of a check that only the new objects have.
fn new_findings(
    session: &OfflineSession,
    old: &[super::render::RenderedObject],
    new: &[super::render::RenderedObject],
) -> Vec<CheckFinding> {
    let before = findings(session, old);
    let mut found = findings(session, new);
    found.retain(|finding| !before.contains(finding));
    found.dedup();
    found
}

fn findings(session: &OfflineSession, objects: &[super::render::RenderedObject]) -> Vec<CheckFinding> {
    let mut text = Vec::new();
    for object in objects {
        text.extend_from_slice(b"---\n");
        text.extend_from_slice(&pintle_yaml::write(&*object.body).unwrap_or_default());
    }
    let request = super::super::CheckRequest {
        subjects: vec![super::super::CheckSubject::Objects { name: "objects".to_owned(), text }],
        ignore_missing_schemas: true,
        config: Some(pintle_check::Config::default()),
        ..super::super::CheckRequest::default()
    };
    let Ok(checked) = super::super::check(session, &request, &mut Silent) else { return Vec::new() };
    let findings = checked.into_iter().flat_map(|checked| checked.report.findings);
    let finding = |finding: pintle_check::Finding| CheckFinding {
        rule: finding.rule.name,
        severity: match finding.severity {
            pintle_check::Severity::Error => "error",
            pintle_check::Severity::Warning => "warning",
            _ => "info",
        },
        object: finding.object.map(|object| object.to_string()).unwrap_or_default(),
        message: finding.message,
    };
    findings.map(finding).collect()
}

fn upgrade_notes(renders: &Renders, base: &ChartInput, head: &ChartInput) -> Vec<UpgradeNote> {
    let Ok(target) = renders.target(base) else { return Vec::new() };
    let report = pintle_upgrade::check(&pintle_upgrade::Request {
        old: &base.loaded.chart,
        new: &head.loaded.chart,
        // With the values of the head, so that what was migrated already is not reported.
        user: &head.user,
        target: &target,
        nulls: pintle_values::NullRules::Helm4,
        documents: true,
        schemas: !head.skip_schema,
        load_schema: &|location| Err(format!("{location} is not fetched")),
    });
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            let message = format!("the values were not checked against the new chart: {error}");
            return vec![UpgradeNote { subject: "chart".to_owned(), severity: "warning", message }];
        }
    };
    let findings =
        report.findings.into_iter().filter(|finding| finding.severity > pintle_upgrade::Severity::Info);
    // Objects are shown as they are; only what is about values is new here.
    let about_values = findings.filter(|finding| finding.objects.is_empty() || !finding.renames.is_empty());
    let note = |finding: pintle_upgrade::Finding| {
        let to = finding.renames.first().map(|rename| format!(" (now {})", rename.to)).unwrap_or_default();
        UpgradeNote {
            message: format!("{}{to}", finding.message),
            severity: finding.severity.name(),
            subject: finding.subject,
        }
    };
    about_values.map(note).collect()
}

/// Installs the old chart in a new embedded cluster and upgrades to the new one.
fn rehearsal(request: &PreviewRequest, base: &ChartInput, head: &ChartInput) -> Vec<String> {
    let chart =
        |input: &ChartInput| crate::ChartRef::Loaded { chart: input.loaded.chart.clone(), source: None };
    let values = |input: &ChartInput| vec![pintle_values::ValuesLayer::Tree(input.user.clone())];
    let version = request.kube_version.as_ref();
    let rehearsal = crate::rehearse::RehearseRequest {
        chart: chart(head),
        from: Some(chart(base)),
        name: head.release.clone(),
        namespace: head.namespace.clone(),
        values: values(head),
        from_values: Some(values(base)),
        kube_version: version.map(|it| format!("{}.{}", it.major, it.minor)).unwrap_or_default(),
        schemas: crate::SchemaLoader::isolated(),
        ..crate::rehearse::RehearseRequest::default()
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return vec![format!("the rehearsal cannot be started: {error}")],
    };
    let rehearsed = |finding: &crate::rehearse::Finding| {
        let (severity, stage, object) = (finding.severity.as_str(), finding.stage, &finding.object);
        format!("{severity}: {stage}: {object} {}", finding.message).replace(":  ", ": ")
    };
    match runtime.block_on(crate::rehearse::rehearse(&rehearsal)) {
        Ok(report) => report.findings.iter().map(rehearsed).collect(),
        Err(error) => vec![super::charts::chain(&error)],
    }
}

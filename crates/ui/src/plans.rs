//! What an operation would do, and the plans that wait to be applied.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pintle::chart::Chart;
use pintle::ops::{
    self, ChartInput, HIDDEN, InstallRequest, PlanRequest, Planned, PlannedChange, PlannedHook,
    PlannedObject, ReleasePlan, RollbackRequest, SavedPlan, TemplateRequest, UninstallRequest,
    UpgradeRequest, ValuesPolicy, plan, restore_hidden,
};
use pintle::plan::ConflictPolicy;
use pintle::release::{ChartSource, ReleaseVersion, VersionRef};
use pintle::{
    ChartRef, CrdPolicy, DeployOptions, LocatedChart, Message, MessageKind, Progress, Session, ValuesLayer,
    WaitStrategy,
};
use pintle_tree::{Map, Node};
use serde_json::{Value, json};

use crate::answer::{Answered, Request};
use crate::app::{App, Recent};
use crate::charts::{GivenChart, given};
use crate::command_line::command;
use crate::compare::MAX_FIELDS;
use crate::error::{Failure, Result};
use crate::json::{key, lease, node, time, with_identity};
use crate::lines::LineBudget;
use crate::query;
use crate::records::{is_missing, yaml};
use crate::sign_in::random_text;

/// The longest time that an operation may wait for something.
const MAX_TIMEOUT: u64 = 60 * 60;
/// The most messages of a plan.
const MAX_WARNINGS: usize = 100;

/// A plan that can be applied.
#[derive(Clone)]
pub(crate) struct KeptPlan {
    pub(crate) saved: Arc<SavedPlan>,
    pub(crate) context: String,
    /// The name of whoever made it: only they apply it.
    pub(crate) viewer: String,
    pub(crate) command: String,
    made: Instant,
}

/// The plans that can be applied, and the charts that were fetched for them.
pub(crate) struct Plans {
    kept: Recent<String, KeptPlan>,
    pub(crate) charts: Recent<String, LocatedChart>,
}

impl Default for Plans {
    fn default() -> Self {
        Plans { kept: Recent::new(32), charts: Recent::new(32) }
    }
}

impl Plans {
    /// Takes a plan to apply it: it can be applied once.
    pub(crate) fn take(&self, id: &str, viewer: &str, lifetime: Duration) -> Option<KeptPlan> {
        let key = id.to_owned();
        let is_own = self.kept.get(&key).is_some_and(|plan| plan.viewer == viewer);
        let plan = self.kept.remove(&key).filter(|_| is_own)?;
        (plan.made.elapsed() < lifetime).then_some(plan)
    }
}

/// What is wanted of an operation, as the page says it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChartQuery {
    pub(crate) operation: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    reference: String,
    version: String,
    repository: String,
    path: String,
    values: Option<String>,
    values_policy: String,
    revision: Option<u64>,
    create_namespace: bool,
    keep_history: bool,
    wait: bool,
    atomic: bool,
    timeout: Duration,
    take_ownership: bool,
    force_conflicts: bool,
    hooks: bool,
    description: String,
    include: Vec<String>,
    crds: String,
}

const OPERATIONS: [&str; 5] = ["upgrade", "install", "rollback", "uninstall", "test"];

impl ChartQuery {
    pub(crate) fn read(body: &Value) -> Result<ChartQuery> {
        let text = |name: &str| query::text(body, name).map(str::to_owned);
        let flag = |name: &str, default: bool| query::flag(body, name, default);
        let operation = text("operation")?;
        if !OPERATIONS.contains(&operation.as_str()) {
            let known = OPERATIONS.join(", ");
            return Err(
                Failure::input(format!("`{operation}` is no operation")).hint(format!("they are {known}"))
            );
        }
        let (namespace, name) = (text("namespace")?, text("name")?);
        if namespace.is_empty() || name.is_empty() {
            return Err(Failure::input("the `namespace` and the `name` of the release are needed"));
        }
        let chart = body.get("chart").cloned().unwrap_or(Value::Null);
        let of_chart = |name: &str| query::text(&chart, name).map(str::to_owned);
        let values = body.get("values").filter(|values| !values.is_null());
        let include = body.get("include").and_then(Value::as_array).cloned().unwrap_or_default();
        let timeout = query::number(body, "timeoutSeconds")?.unwrap_or(300).clamp(1, MAX_TIMEOUT);
        Ok(ChartQuery {
            values: values.map(|_| text("values")).transpose()?,
            values_policy: text("valuesPolicy")?,
            reference: of_chart("reference")?,
            version: of_chart("version")?,
            repository: of_chart("repository")?,
            path: of_chart("path")?,
            revision: query::number(body, "revision")?,
            create_namespace: flag("createNamespace", false)?,
            keep_history: flag("keepHistory", false)?,
            wait: flag("wait", true)?,
            atomic: flag("atomic", false)?,
            timeout: Duration::from_secs(timeout),
            take_ownership: flag("takeOwnership", false)?,
            force_conflicts: flag("forceConflicts", false)?,
            hooks: flag("hooks", true)?,
            description: text("description")?,
            include: include.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            crds: text("crds")?,
            operation,
            namespace,
            name,
        })
    }

    fn deploy(&self) -> DeployOptions {
        DeployOptions {
            conflicts: if self.force_conflicts { ConflictPolicy::Take } else { ConflictPolicy::Fail },
            wait: if self.wait { WaitStrategy::Watcher } else { WaitStrategy::HookOnly },
            timeout: self.timeout,
            hooks: self.hooks,
            ..DeployOptions::default()
        }
    }

    fn crds(&self) -> Result<CrdPolicy> {
        Ok(match self.crds.as_str() {
            "" | "helm" => CrdPolicy::Helm,
            "skip" => CrdPolicy::Skip,
            "create" => CrdPolicy::Create,
            "update" => CrdPolicy::Update,
            other => return Err(Failure::input(format!("`{other}` is nothing to do with CRDs"))),
        })
    }

    fn values_policy(&self) -> Result<ValuesPolicy> {
        Ok(match (self.values_policy.as_str(), &self.values) {
            (_, None) => ValuesPolicy::Reuse,
            ("" | "replace", Some(_)) => ValuesPolicy::Reset,
            ("reuse", Some(_)) => ValuesPolicy::Reuse,
            ("reset-then-reuse", Some(_)) => ValuesPolicy::ResetThenReuse,
            (other, _) => {
                return Err(Failure::input(format!("`{other}` is nothing to do with earlier values")));
            }
        })
    }

    fn names_chart(&self) -> bool {
        !self.reference.is_empty() || !self.path.is_empty()
    }

    /// What tests are asked for.
    pub(crate) fn test(&self) -> ops::TestRequest {
        let mut request = ops::TestRequest {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            include: self.include.clone(),
            logs: true,
            ..ops::TestRequest::default()
        };
        request.set_timeout(self.timeout);
        request
    }
}

/// The request of an operation, and the command that does the same.
pub(crate) struct Prepared {
    pub(crate) request: PlanRequest,
    pub(crate) command: String,
    values_file: String,
}

/// The newest version of a release, if there is one.
async fn recorded(app: &App, session: &Session, wanted: &ChartQuery) -> Result<Option<ReleaseVersion>> {
    match ops::get(session, &wanted.namespace, &wanted.name, &VersionRef::Current).await {
        Ok(version) => Ok(Some(version)),
        Err(error) if is_missing(&error) && wanted.operation == "install" => Ok(None),
        Err(error) => Err(app.failure(&error)),
    }
}

/// Turns what the page says into the request of the operation.
pub(crate) async fn prepare(
    app: &App,
    request: &Request,
    session: &Session,
    wanted: &ChartQuery,
) -> Result<Prepared> {
    let context = app.context(request)?;
    let recorded = recorded(app, session, wanted).await?;
    let (name, namespace) = (wanted.name.as_str(), wanted.namespace.as_str());
    let mut words: Vec<String> = vec![wanted.operation.clone(), name.to_owned()];
    let mut values_file = String::new();
    let plan_request = match wanted.operation.as_str() {
        "rollback" => {
            let to = wanted.revision.map_or(VersionRef::Before(1), VersionRef::Number);
            words.extend(wanted.revision.map(|number| number.to_string()));
            let rollback = RollbackRequest {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                to,
                description: wanted.description.clone(),
                deploy: wanted.deploy(),
                ..RollbackRequest::default()
            };
            PlanRequest::Rollback(Box::new(rollback))
        }
        "uninstall" => {
            words.extend(wanted.keep_history.then(|| "--keep-history".to_owned()));
            let uninstall = UninstallRequest {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                keep_history: wanted.keep_history,
                description: wanted.description.clone(),
                deploy: wanted.deploy(),
                ..UninstallRequest::default()
            };
            PlanRequest::Uninstall(Box::new(uninstall))
        }
        _ => {
            let chart = chart(app, wanted, recorded.as_ref()).await?;
            words.extend(chart_words(wanted, recorded.as_ref()));
            let values = values(wanted, recorded.as_ref())?;
            if let Some(text) = &wanted.values {
                values_file.clone_from(text);
                words.extend(["--values", "values.yaml"].map(str::to_owned));
            }
            let target = install_request(wanted, chart, values)?;
            words.extend(flags(wanted));
            if wanted.operation == "install" {
                PlanRequest::Install(Box::new(target))
            } else {
                let values_policy = wanted.values_policy()?;
                words.extend(policy_flag(values_policy).map(str::to_owned));
                PlanRequest::Upgrade(Box::new(UpgradeRequest {
                    target,
                    values_policy,
                    cleanup_on_fail: wanted.atomic,
                    ..UpgradeRequest::default()
                }))
            }
        }
    };
    words.extend(["--namespace".to_owned(), namespace.to_owned()]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let command = command(app, &context, &words);
    Ok(Prepared { request: plan_request, command, values_file })
}

fn install_request(wanted: &ChartQuery, chart: ChartRef, values: Vec<ValuesLayer>) -> Result<InstallRequest> {
    let mut request = InstallRequest {
        chart,
        name: wanted.name.clone(),
        namespace: wanted.namespace.clone(),
        create_namespace: wanted.create_namespace,
        crds: wanted.crds()?,
        take_ownership: wanted.take_ownership,
        description: wanted.description.clone(),
        rollback_on_failure: wanted.atomic,
        deploy: wanted.deploy(),
        ..InstallRequest::default()
    };
    request.render.unread = values.clone().into();
    request.values = values;
    Ok(request)
}

fn policy_flag(policy: ValuesPolicy) -> Option<&'static str> {
    match policy {
        ValuesPolicy::ReuseIfNoneGiven => None,
        ValuesPolicy::Reset => Some("--reset-values"),
        ValuesPolicy::Reuse => Some("--reuse-values"),
        ValuesPolicy::ResetThenReuse => Some("--reset-then-reuse-values"),
    }
}

fn flags(wanted: &ChartQuery) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    let mut add = |is_set: bool, flag: &str| flags.extend(is_set.then(|| flag.to_owned()));
    add(wanted.wait, "--wait");
    add(wanted.atomic, "--rollback-on-failure");
    add(wanted.create_namespace, "--create-namespace");
    add(wanted.take_ownership, "--take-ownership");
    add(wanted.force_conflicts, "--force-conflicts");
    add(!wanted.hooks, "--no-hooks");
    add(wanted.timeout != Duration::from_secs(300), &format!("--timeout={}s", wanted.timeout.as_secs()));
    flags
}

/// The chart as the command line names it.
fn chart_words(wanted: &ChartQuery, recorded: Option<&ReleaseVersion>) -> Vec<String> {
    let mut words = Vec::new();
    let mut version = wanted.version.clone();
    if !wanted.path.is_empty() {
        words.push(wanted.path.clone());
    } else if !wanted.reference.is_empty() {
        words.push(wanted.reference.clone());
    } else if let Some(recorded) = recorded {
        let source = ChartSource::of(&recorded.chart).filter(|source| !source.url.is_empty());
        let named = source.map_or_else(|| recorded.chart.metadata.name.to_string(), |source| source.url);
        if named.starts_with("oci://") {
            version = recorded.chart.metadata.version.to_string();
        }
        words.push(named);
    }
    for (flag, value) in [("--version", &version), ("--repo", &wanted.repository)] {
        if !value.is_empty() {
            words.extend([flag.to_owned(), value.clone()]);
        }
    }
    words
}

/// The chart of an operation: the one that is named, or that of the release.
async fn chart(app: &App, wanted: &ChartQuery, recorded: Option<&ReleaseVersion>) -> Result<ChartRef> {
    if wanted.names_chart() {
        let chart = GivenChart {
            reference: &wanted.reference,
            version: &wanted.version,
            repository: &wanted.repository,
            path: &wanted.path,
        };
        return given(app, &chart).await;
    }
    let needed = |text: &str| Failure::new(428, "chart-needed", text).hint("name the chart and its version");
    let recorded = recorded.ok_or_else(|| needed("a new release needs a chart"))?;
    let source = ChartSource::of(&recorded.chart);
    if !ChartInput::lacks_subcharts(recorded) {
        let chart: Chart = recorded.chart.to_chart();
        return Ok(ChartRef::Loaded { chart: Arc::new(chart), source });
    }
    let text = "the record of the release does not have the subcharts of its chart";
    let url = source.map(|source| source.url).filter(|url| !url.is_empty());
    let url = url.ok_or_else(|| needed(&format!("{text}, and does not say where the chart came from")))?;
    let version = &recorded.chart.metadata.version.to_string();
    let version = if url.starts_with("oci://") { version.as_str() } else { "" };
    let chart = GivenChart { reference: &url, version, repository: "", path: "" };
    given(app, &chart).await.map_err(|failure| {
        needed(&format!("{text}, and it cannot be fetched from {url}: {}", failure.message))
    })
}

/// The values of an operation, with what is hidden put back.
fn values(wanted: &ChartQuery, recorded: Option<&ReleaseVersion>) -> Result<Vec<ValuesLayer>> {
    let Some(text) = &wanted.values else { return Ok(Vec::new()) };
    let name = "values.yaml".to_owned();
    if !text.contains(HIDDEN) {
        return Ok(vec![ValuesLayer::Bytes { name, content: text.clone().into_bytes() }]);
    }
    let mut values: Map<Node> = pintle_yaml::read_values(text.as_bytes())
        .map_err(|error| Failure::new(422, "invalid-input", format!("values.yaml: {error}")))?;
    let known = recorded.and_then(|version| version.config.clone()).unwrap_or_default();
    let missing = restore_hidden(&mut values, &known);
    if let Some(path) = missing.first() {
        let text = format!("{path} is {HIDDEN}, and the release has no value there that it could stand for");
        return Err(Failure::new(422, "invalid-input", text).hint("give the value, or remove the key"));
    }
    Ok(vec![ValuesLayer::Bytes { name, content: yaml(&values).into_bytes() }])
}

/// What renders the chart of an operation for an explanation.
pub(crate) async fn template(
    app: &App,
    _: &Request,
    session: &Session,
    wanted: &ChartQuery,
) -> Result<(TemplateRequest, Option<ReleaseVersion>)> {
    let recorded = recorded(app, session, wanted).await?;
    let chart = chart(app, wanted, recorded.as_ref()).await?;
    let mut values = values(wanted, recorded.as_ref())?;
    if wanted.values.is_none() || wanted.values_policy()? != ValuesPolicy::Reset {
        let earlier = recorded.as_ref().and_then(|version| version.config.clone()).unwrap_or_default();
        values.insert(0, ValuesLayer::Tree(earlier));
    }
    let request = TemplateRequest {
        chart,
        name: wanted.name.clone(),
        namespace: wanted.namespace.clone(),
        values,
        is_upgrade: wanted.operation == "upgrade",
        ..TemplateRequest::default()
    };
    Ok((request, recorded))
}

/// What a rehearsal of an operation needs.
pub(crate) async fn rehearsal(
    app: &App,
    session: &Session,
    wanted: &ChartQuery,
) -> Result<pintle::rehearse::RehearseRequest> {
    let recorded = recorded(app, session, wanted).await?;
    let chart = chart(app, wanted, recorded.as_ref()).await?;
    let values = values(wanted, recorded.as_ref())?;
    let before = recorded.as_ref().filter(|version| !ChartInput::lacks_subcharts(version));
    let earlier = before.map(|version| version.config.clone().unwrap_or_default());
    let values = match (&wanted.values, &earlier) {
        (None, Some(earlier)) => vec![ValuesLayer::Tree(earlier.clone())],
        _ => values,
    };
    let from =
        before.map(|version| ChartRef::Loaded { chart: Arc::new(version.chart.to_chart()), source: None });
    Ok(pintle::rehearse::RehearseRequest {
        chart,
        from,
        name: wanted.name.clone(),
        namespace: wanted.namespace.clone(),
        values,
        from_values: earlier.map(|earlier| vec![ValuesLayer::Tree(earlier)]),
        timeout: wanted.timeout,
        events: session.events.clone(),
        schemas: session.schemas.clone(),
        ..pintle::rehearse::RehearseRequest::default()
    })
}

pub(crate) async fn make(app: Arc<App>, request: Request) -> Result<Answered> {
    let wanted = ChartQuery::read(&query::body(&request.body)?)?;
    if wanted.operation == "test" {
        return Err(Failure::input("tests have no plan").hint("start them as an operation"));
    }
    let began = Instant::now();
    let session = app.session(&request).await?;
    let prepared = prepare(&app, &request, &session, &wanted).await?;
    let mut warnings = Vec::new();
    let mut reporter = |progress: Progress| {
        if let Progress::Message(Message { line, kind: MessageKind::Helm | MessageKind::Additional }) =
            progress
            && line.level >= pintle_tree::LogLevel::Warn
            && warnings.len() < MAX_WARNINGS
        {
            warnings.push(line);
        }
    };
    let planned = plan(&session, &prepared.request, &mut reporter).await;
    let planned = planned.map_err(|error| Failure {
        status: match app.failure(&error).status {
            400 => 422,
            other => other,
        },
        command: Some(prepared.command.as_str().into()),
        ..app.failure(&error)
    })?;
    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let mut answer = shown(&app, &planned.plan, &texts);
    answer["milliseconds"] = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).into();
    answer["command"] = prepared.command.clone().into();
    answer["valuesFile"] = prepared.values_file.clone().into();
    answer["lease"] = holder(&app, &session, &wanted).await;
    let (id, expires) = keep(&app, &request, &session, &prepared, planned).await?;
    answer["plan"] = id;
    answer["expires"] = expires;
    Ok(Answered::json(answer))
}

/// Who is working on the release, if anybody is.
async fn holder(app: &App, session: &Session, wanted: &ChartQuery) -> Value {
    let newest = ops::exists(session, &wanted.namespace, &wanted.name).await;
    let Ok(Some(newest)) = newest.map_err(|error| app.failure(&error)) else { return Value::Null };
    newest.lease.as_ref().filter(|held| !held.is_expired(session.clock.now())).map_or(Value::Null, lease)
}

/// Keeps a plan to be applied; one that would fail is only shown.
async fn keep(
    app: &App,
    request: &Request,
    session: &Session,
    prepared: &Prepared,
    planned: Planned,
) -> Result<(Value, Value)> {
    if planned.plan.problems().next().is_some() {
        return Ok((Value::Null, Value::Null));
    }
    let lifetime = app.settings.limits.plan_lifetime;
    let seconds = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
    let saved =
        planned.save(session, &prepared.request, seconds).await.map_err(|error| app.failure(&error))?;
    let random = random_text().map_err(|error| Failure::new(500, "other", error.to_string()))?;
    let id = format!("p-{}", &random[..32]);
    let expires = time(Some(saved.expires));
    let plan = KeptPlan {
        saved: Arc::new(saved),
        context: app.context(request)?,
        viewer: viewer_name(request),
        command: prepared.command.clone(),
        made: Instant::now(),
    };
    app.plans.kept.insert(id.clone(), plan);
    Ok((id.into(), expires))
}

pub(crate) fn viewer_name(request: &Request) -> String {
    request.viewer.as_ref().map(|viewer| viewer.name.clone()).unwrap_or_default()
}

fn shown(app: &App, plan: &ReleasePlan, warnings: &[String]) -> Value {
    let mut counts: BTreeMap<&str, usize> =
        ops::PlannedAction::ALL.iter().map(|action| (action.name(), 0)).collect();
    for object in &plan.objects {
        *counts.entry(object.action.name()).or_default() += 1;
    }
    let mut budget = LineBudget::new(app.settings.limits.diff_lines, 3);
    let objects: Vec<Value> = plan.objects.iter().map(|planned| object(planned, &mut budget)).collect();
    let problems: Vec<String> = plan
        .problems()
        .map(|object| format!("{}: {}", key(&object.id), object.problem.as_deref().unwrap_or_default()))
        .collect();
    let is_unread = |text: &&String| text.contains("no template reads") || text.contains("has no effect");
    let unread = warnings.iter().filter(is_unread).map(|text| json!({"path": null, "hint": text}));
    json!({
        "operation": plan.operation.name(),
        "namespace": plan.namespace,
        "name": plan.release,
        "from": plan.from,
        "to": plan.to,
        "hasChanges": plan.has_changes(),
        "summary": counts,
        "objects": objects,
        "truncated": budget.is_exceeded,
        "hooks": plan.hooks.iter().map(hook).collect::<Vec<Value>>(),
        "deferred": plan.deferred.as_ref().map(ToString::to_string),
        "unread": unread.collect::<Vec<Value>>(),
        "warnings": warnings,
        "problems": problems,
        "notes": null,
    })
}

fn object(planned: &PlannedObject, budget: &mut LineBudget) -> Value {
    let changes = |changes: &[PlannedChange]| -> Vec<Value> {
        let change = |change: &PlannedChange| {
            json!({"path": change.path, "before": change.before.as_ref().map(node),
                "after": change.after.as_ref().map(node)})
        };
        changes.iter().take(MAX_FIELDS).map(change).collect()
    };
    let conflicts = |found: &[pintle::plan::FieldConflict]| -> Vec<Value> {
        found.iter().map(|conflict| json!({"field": conflict.field, "manager": conflict.manager})).collect()
    };
    let recreation = planned.recreation.map(|recreation| match recreation {
        pintle::plan::recreation::Recreation::DeleteDependents => "what depends on it is deleted, too",
        pintle::plan::recreation::Recreation::OrphanDependents => "what depends on it stays",
    });
    let text = |side: &Option<String>| side.clone().unwrap_or_default();
    with_identity(
        &planned.id,
        json!({
            "action": planned.action.name(),
            "isCrd": planned.is_crd,
            "stage": planned.stage,
            "changes": changes(&planned.changes),
            "insignificant": changes(&planned.insignificant_changes),
            "conflicts": conflicts(&planned.conflicts),
            "yielded": conflicts(&planned.yielded),
            "immutable": planned.immutable,
            "recreation": recreation,
            "keptBecause": planned.kept_because,
            "problem": planned.problem,
            "lines": budget.lines(&text(&planned.before), &text(&planned.after)),
        }),
    )
}

fn hook(hook: &PlannedHook) -> Value {
    json!({"event": hook.event.as_str(), "kind": hook.kind, "name": hook.name, "weight": hook.weight,
        "group": hook.group, "template": hook.template})
}

//! Operations that run: they belong to the server and not to the window that started them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use pintle::objects::ObjectId;
use pintle::ops::{self, AppliedPlan, KeptObjects, PlanRequest, Running, SavedPlan, TestRequest, apply_plan};
use pintle::rehearse::{Rehearsal, RehearseRequest, rehearse as rehearse_change};
use pintle::release::Timestamp;
use pintle::{ObjectChange, Progress, Reporter, Session, Stage};
use serde_json::{Value, json};

use crate::answer::{Answered, Event, Request};
use crate::app::{App, Limits};
use crate::command_line::command;
use crate::error::{Failure, Result};
use crate::json::{time, with_identity};
use crate::plans::{ChartQuery, prepare, rehearsal, viewer_name};
use crate::query;
use crate::records::notes_of;
use crate::releases::stream_slot;
use crate::sign_in::random_text;

/// How long operations may take to record their end when the server ends.
const GRACE: Duration = Duration::from_secs(20);

/// What an operation is at. The end is there before the progress ends.
#[derive(Default)]
struct State {
    stage: Option<&'static str>,
    ended: Option<Timestamp>,
    error: Option<Failure>,
    result: Value,
}

/// An operation that runs or has ended.
pub(crate) struct Operation {
    id: String,
    kind: String,
    context: String,
    viewer: String,
    namespace: String,
    name: String,
    command: String,
    started: Timestamp,
    state: Arc<Mutex<State>>,
    running: Running<()>,
}

/// All operations that are kept, oldest first.
pub(crate) struct Operations {
    all: Mutex<Vec<Arc<Operation>>>,
    limits: Limits,
}

impl Operations {
    pub(crate) fn new(limits: Limits) -> Operations {
        Operations { all: Mutex::default(), limits }
    }

    /// A poisoned lock is fine: entries are added and removed as a whole.
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Operation>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses one more operation than may run, and two of one release.
    fn check(&self, context: &str, namespace: &str, name: &str) -> Result<()> {
        let all = self.all();
        let running: Vec<&Arc<Operation>> =
            all.iter().filter(|operation| !operation.running.is_finished()).collect();
        let is_same = |operation: &&&Arc<Operation>| {
            operation.kind != "rehearse"
                && (operation.context.as_str(), operation.namespace.as_str(), operation.name.as_str())
                    == (context, namespace, name)
        };
        if let Some(same) = running.iter().find(is_same) {
            let text = format!("an {} of release {name} is running already", same.kind);
            return Err(Failure::new(423, "locked", text).hint(format!("follow the operation {}", same.id)));
        }
        if running.len() >= self.limits.running_operations {
            let text = format!("{} operations are running already", running.len());
            return Err(Failure::new(429, "too-many", text).hint("wait until one of them has ended"));
        }
        Ok(())
    }

    fn add(&self, operation: Operation) -> Arc<Operation> {
        let operation = Arc::new(operation);
        let mut all = self.all();
        while all.len() >= self.limits.operations {
            let Some(oldest) = all.iter().position(|operation| operation.running.is_finished()) else {
                break;
            };
            all.remove(oldest);
        }
        all.push(Arc::clone(&operation));
        operation
    }

    /// Cancels what runs and waits until that is recorded.
    pub(crate) async fn end(&self) {
        let running: Vec<Arc<Operation>> =
            self.all().iter().filter(|operation| !operation.running.is_finished()).cloned().collect();
        for operation in &running {
            operation.running.cancel();
        }
        let all = futures::future::join_all(running.iter().map(|operation| async {
            let mut progress = operation.running.progress();
            while progress.next().await.is_some() {}
        }));
        let _ = tokio::time::timeout(GRACE, all).await;
    }
}

impl Operation {
    /// A poisoned lock is fine: fields are set one at a time.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn json(&self) -> Value {
        let is_finished = self.running.is_finished();
        let state = self.state();
        let word = match (&state.error, state.ended) {
            (Some(error), _) if error.kind == "cancelled" => "cancelled",
            (Some(_), _) => "failed",
            (None, Some(_)) => "succeeded",
            // It ended without an outcome: it panicked.
            (None, None) if is_finished => "failed",
            (None, None) => "running",
        };
        let error = state.error.as_ref().map(|error| error.json()["error"].clone());
        json!({
            "id": self.id,
            "operation": self.kind,
            "context": self.context,
            "user": Some(&self.viewer).filter(|name| !name.is_empty()),
            "namespace": self.namespace,
            "name": self.name,
            "state": word,
            "started": time(Some(self.started)),
            "ended": time(state.ended),
            "stage": state.stage,
            "command": self.command,
            "error": error,
            "result": state.result,
        })
    }
}

/// What an operation does.
enum Work {
    Apply(Arc<SavedPlan>),
    Direct(Box<PlanRequest>),
    Test(Box<TestRequest>),
    Rehearse(Box<RehearseRequest>),
}

impl Work {
    async fn run(self, session: &Session, reporter: &mut dyn Reporter) -> pintle::Result<Value> {
        match self {
            Work::Apply(saved) => {
                apply_plan(session, &saved, reporter).await.map(|applied| applied_json(&applied))
            }
            Work::Direct(request) => direct(session, *request, reporter).await,
            Work::Test(request) => test(session, &request, reporter).await,
            Work::Rehearse(request) => {
                // Its future is large, and not all of it may move between threads.
                let handle = tokio::runtime::Handle::current();
                let work = move || handle.block_on(rehearse_change(&request));
                let report = tokio::task::spawn_blocking(work).await;
                let early = |error: tokio::task::JoinError| pintle::Error::Input(error.to_string());
                Ok(json!({"report": report_json(&report.map_err(early)??)}))
            }
        }
    }
}

async fn direct(
    session: &Session,
    request: PlanRequest,
    reporter: &mut dyn Reporter,
) -> pintle::Result<Value> {
    let version = match &request {
        PlanRequest::Install(request) => ops::install(session, request, reporter).await?,
        PlanRequest::Upgrade(request) => ops::upgrade(session, request, reporter).await?.version,
        PlanRequest::Rollback(request) => ops::rollback(session, request, reporter).await?,
        PlanRequest::Uninstall(request) => {
            let Some(gone) = ops::uninstall(session, request, reporter).await? else {
                return Ok(Value::Null);
            };
            return Ok(json!({"revision": gone.version.number, "kept": kept(&gone.kept)}));
        }
    };
    Ok(json!({"revision": version.number, "notes": notes_of(&version, false), "kept": []}))
}

fn applied_json(applied: &AppliedPlan) -> Value {
    json!({"revision": applied.version.number, "notes": notes_of(&applied.version, false), "kept": kept(&applied.kept)})
}

fn kept(kept: &KeptObjects) -> Vec<String> {
    let by_policy = kept.by_policy.iter().map(|object| format!("{} {}", object.kind, object.name));
    let not_owned = kept.not_owned.iter().map(|object| object.id.to_string());
    by_policy.chain(not_owned).collect()
}

async fn test(
    session: &Session,
    request: &TestRequest,
    reporter: &mut dyn Reporter,
) -> pintle::Result<Value> {
    let tested = ops::test(session, request, reporter).await?;
    if let Some(failure) = tested.failure {
        return Err(failure);
    }
    let logs = tested.logs.iter().map(
        |log| json!({"pod": log.pod, "container": log.container, "log": String::from_utf8_lossy(&log.text)}),
    );
    Ok(json!({"revision": tested.version.number, "tests": logs.collect::<Vec<Value>>()}))
}

fn report_json(report: &Rehearsal) -> Value {
    let stages = report.stages.iter().map(|stage| {
        let objects = stage.objects.iter().map(|object| {
            json!({"object": object.object, "state": object.state, "message": object.message, "ready": object.ready})
        });
        let hooks = stage.hooks.iter().map(|hook| {
            json!({"object": hook.object, "events": hook.events, "phase": hook.phase, "log": hook.log})
        });
        json!({"name": stage.name, "chart": stage.chart, "error": stage.error, "warnings": stage.warnings,
            "objects": objects.collect::<Vec<Value>>(), "hooks": hooks.collect::<Vec<Value>>()})
    });
    let findings = report.findings.iter().map(|finding| {
        json!({"severity": finding.severity.as_str(), "stage": finding.stage, "object": finding.object,
            "file": finding.file, "line": finding.line, "message": finding.message})
    });
    json!({"kubeVersion": report.kube_version, "worst": report.worst().map(|worst| worst.as_str()),
        "stages": stages.collect::<Vec<Value>>(), "findings": findings.collect::<Vec<Value>>()})
}

/// What is said about an operation besides what it does.
struct About {
    kind: String,
    namespace: String,
    name: String,
    context: String,
    command: String,
}

/// Runs the work as a task of its own.
fn run(
    app: &Arc<App>,
    request: &Request,
    session: &Session,
    about: About,
    work: Work,
) -> Result<Arc<Operation>> {
    app.operations.check(&about.context, &about.namespace, &about.name)?;
    let random = random_text().map_err(|error| Failure::new(500, "other", error.to_string()))?;
    let state = Arc::new(Mutex::new(State::default()));
    let (inner, shared) = (Arc::clone(&state), Arc::clone(app));
    let started = session.clock.now();
    let running = ops::start(session, move |session, mut progress| async move {
        let stages = Arc::clone(&inner);
        let mut reporter = move |reported: Progress| {
            if let Progress::Stage(stage) = &reported {
                stages.lock().unwrap_or_else(PoisonError::into_inner).stage = Some(stage_word(*stage));
            }
            progress.report(reported);
        };
        let outcome = work.run(&session, &mut reporter).await;
        let mut state = inner.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(result) => state.result = result,
            Err(error) => state.error = Some(shared.failure(&error)),
        }
        state.ended = Some(session.clock.now());
        drop(state);
        Ok(())
    });
    let About { kind, namespace, name, context, command } = about;
    let id = format!("o-{}", &random[..24]);
    let viewer = viewer_name(request);
    Ok(app.operations.add(Operation {
        id,
        kind,
        context,
        viewer,
        namespace,
        name,
        command,
        started,
        state,
        running,
    }))
}

pub(crate) async fn start(app: Arc<App>, request: Request) -> Result<Answered> {
    let body = query::body(&request.body)?;
    let (about, work, context) = match body.get("plan").and_then(Value::as_str) {
        Some(id) => planned(&app, &request, id)?,
        None => direct_work(&app, &request, &body).await?,
    };
    let mut request = request;
    // A plan is applied where it was made.
    request.query = crate::query::Query::for_context(&context);
    let session = app.session(&request).await?;
    let operation = run(&app, &request, &session, about, work)?;
    Ok(Answered::Json(202, operation.json()))
}

fn planned(app: &App, request: &Request, id: &str) -> Result<(About, Work, String)> {
    let lifetime = app.settings.limits.plan_lifetime;
    let plan = app.plans.take(id, &viewer_name(request), lifetime).ok_or_else(|| {
        Failure::new(409, "stale-plan", "this plan is not kept any more: it was applied or has expired")
            .hint("make the plan again")
    })?;
    let about = About {
        kind: plan.saved.plan.operation.name().to_owned(),
        namespace: plan.saved.plan.namespace.clone(),
        name: plan.saved.plan.release.clone(),
        context: plan.context.clone(),
        command: plan.command,
    };
    Ok((about, Work::Apply(plan.saved), plan.context))
}

async fn direct_work(app: &App, request: &Request, body: &Value) -> Result<(About, Work, String)> {
    let wanted = ChartQuery::read(body)?;
    let session = app.session(request).await?;
    let context = app.context(request)?;
    let (work, command) = if wanted.operation == "test" {
        let words = ["test", wanted.name.as_str(), "--namespace", wanted.namespace.as_str()];
        (Work::Test(Box::new(wanted.test())), command(app, &context, &words))
    } else {
        let prepared = prepare(app, request, &session, &wanted).await?;
        (Work::Direct(Box::new(prepared.request)), prepared.command)
    };
    let about = About {
        kind: wanted.operation,
        namespace: wanted.namespace,
        name: wanted.name,
        context: context.clone(),
        command,
    };
    Ok((about, work, context))
}

pub(crate) async fn rehearse(app: Arc<App>, request: Request) -> Result<Answered> {
    let wanted = ChartQuery::read(&query::body(&request.body)?)?;
    if !matches!(wanted.operation.as_str(), "install" | "upgrade") {
        return Err(Failure::input("installs and upgrades can be rehearsed"));
    }
    let session = app.session(&request).await?;
    let rehearsal = rehearsal(&app, &session, &wanted).await?;
    let context = app.context(&request)?;
    let about = About {
        kind: "rehearse".to_owned(),
        command: command(&app, &context, &["rehearse", &wanted.name]),
        namespace: wanted.namespace,
        name: wanted.name,
        context,
    };
    let operation = run(&app, &request, &session, about, Work::Rehearse(Box::new(rehearsal)))?;
    Ok(Answered::Json(202, operation.json()))
}

/// The operations that a viewer may see: their own.
fn visible(app: &App, request: &Request) -> Vec<Arc<Operation>> {
    let viewer = viewer_name(request);
    app.operations.all().iter().filter(|operation| operation.viewer == viewer).cloned().collect()
}

fn find(app: &App, request: &Request) -> Result<Arc<Operation>> {
    let found = visible(app, request).into_iter().find(|operation| operation.id == request.part(0));
    found.ok_or_else(|| Failure::not_found("there is no such operation; the server keeps the last ones"))
}

pub(crate) async fn list(app: Arc<App>, request: Request) -> Result<Answered> {
    let operations: Vec<Value> =
        visible(&app, &request).iter().rev().map(|operation| operation.json()).collect();
    Ok(Answered::json(json!({"operations": operations})))
}

pub(crate) async fn one(app: Arc<App>, request: Request) -> Result<Answered> {
    Ok(Answered::json(find(&app, &request)?.json()))
}

pub(crate) async fn cancel(app: Arc<App>, request: Request) -> Result<Answered> {
    let operation = find(&app, &request)?;
    operation.running.cancel();
    Ok(Answered::Json(202, operation.json()))
}

pub(crate) async fn events(app: Arc<App>, request: Request) -> Result<Answered> {
    let slot = stream_slot(&app)?;
    let operation = find(&app, &request)?;
    let seen =
        request.last_event.map_or(0, |last| usize::try_from(last).unwrap_or(usize::MAX).saturating_add(1));
    let progress = operation.running.progress().enumerate().skip(seen);
    let events = progress.filter_map(|(index, progress)| async move {
        let mut event = progress_event(progress)?;
        event.id = u64::try_from(index).ok();
        Some(event)
    });
    let last = stream::once(async move {
        let _slot = slot;
        Event::new("end", operation.json())
    });
    Ok(Answered::Events(events.chain(last).boxed()))
}

fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Loading => "loading",
        Stage::Rendering => "rendering",
        Stage::Hooks(_) => "hooks",
        Stage::Applying => "applying",
        Stage::Waiting => "waiting",
        _ => "working",
    }
}

fn about(id: &ObjectId, others: Value) -> Value {
    with_identity(id, others)
}

fn progress_event(progress: Progress) -> Option<Event> {
    Some(match progress {
        Progress::Stage(stage) => {
            let event = match stage {
                Stage::Hooks(event) => Some(event.as_str()),
                _ => None,
            };
            Event::new("stage", json!({"stage": stage_word(stage), "event": event}))
        }
        Progress::Step(text) => Event::new("step", json!({"text": text})),
        Progress::Message(message) if message.line.level > pintle_tree::LogLevel::Debug => {
            let level = message.line.level.as_str().to_lowercase();
            let attributes: BTreeMap<&str, &str> =
                message.line.attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
            Event::new(
                "message",
                json!({"level": level, "text": message.line.message, "attributes": attributes}),
            )
        }
        Progress::Applied(applied) => {
            let change = match applied.change {
                ObjectChange::Created => "created",
                ObjectChange::Changed => "changed",
                ObjectChange::Unchanged => "unchanged",
                ObjectChange::Deleted => "deleted",
                _ => "other",
            };
            Event::new("applied", about(&applied.id, json!({"change": change})))
        }
        Progress::Failed { id, reason } => Event::new("failed", about(&id, json!({"reason": reason}))),
        Progress::Readiness(object) => {
            let pods: Vec<Value> =
                object.pods.iter().map(|pod| json!({"name": pod.name, "reason": pod.reason})).collect();
            let fields = json!({"state": object.state, "message": object.message, "ready": object.ready, "pods": pods});
            Event::new("readiness", about(&object.id, fields))
        }
        Progress::HookLog { source, bytes } => Event::new(
            "log",
            json!({"namespace": source.namespace, "pod": source.pod, "container": source.container,
                "text": String::from_utf8_lossy(&bytes)}),
        ),
        _ => return None,
    })
}

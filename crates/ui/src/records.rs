//! What is recorded of a release: its versions, values, manifest, hooks, notes and images.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle::chart::File;
use pintle::chart::metadata::Metadata;
use pintle::objects::Object;
use pintle::ops::{self, DeriveRequest, Explanation, HiddenTexts, hide_lines, history, recorded_documents};
use pintle::release::{ChartSource, ReleaseVersion, Summary, VersionRef};
use pintle::values::schema::SchemaFormat;
use pintle::{ChartRef, Error, Session, Silent};
use pintle_tree::Node;
use serde_json::{Value, json};

use crate::access::reveals;
use crate::answer::{Answered, Request};
use crate::app::{App, Recent};
use crate::command_line::command;
use crate::error::{Failure, Result};
use crate::json::{self, identity, time};

/// The largest manifest that is sent at once.
const MAX_MANIFEST: usize = 16 << 20;

/// What explains a version, by context, viewer, namespace, name and number. Each holds a rendered chart.
pub(crate) struct Explanations(pub(crate) Recent<ExplanationKey, Arc<Explanation>>);

pub(crate) type ExplanationKey = (String, String, String, String, u64);

impl Default for Explanations {
    fn default() -> Self {
        Explanations(Recent::new(2))
    }
}

/// The version that a request names; the newest one unless it does.
pub(crate) fn version_of(request: &Request, parameter: &str) -> Result<VersionRef> {
    let text = request.query.text(parameter);
    if text.is_empty() {
        return Ok(VersionRef::Current);
    }
    VersionRef::parse(text).map_err(|error| Failure::input(error.to_string()))
}

/// Loads the version that a request is about.
pub(crate) async fn load(app: &App, session: &Session, request: &Request) -> Result<ReleaseVersion> {
    let version = version_of(request, "revision")?;
    load_at(app, session, request, &version).await
}

pub(crate) async fn load_at(
    app: &App,
    session: &Session,
    request: &Request,
    version: &VersionRef,
) -> Result<ReleaseVersion> {
    let (namespace, name) = (request.part(0), request.part(1));
    ops::get(session, namespace, name, version).await.map_err(|error| app.failure(&error))
}

/// Runs what takes time on a thread where that is allowed.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Failure::new(500, "other", "the work ended early"))
}

pub(crate) async fn detail(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let version = load(&app, &session, &request).await?;
    let (namespace, name) = (request.part(0), request.part(1));
    let versions = ops::versions(&session, namespace, name).await.map_err(|error| app.failure(&error))?;
    let recorded = versions.iter().find(|known| known.number == version.number);
    let summary = recorded.cloned().unwrap_or_else(|| Summary::from_version(&version));
    let mut detail = json::summary(&summary);
    let label = |key: &str| version.labels.get(key).cloned();
    let owner = label("helm.sh/request-namespace").zip(label("helm.sh/request-name"));
    let context = app.context(&request)?;
    let show = |words: &[&str]| command(&app, &context, &[words, &[name, "--namespace", namespace]].concat());
    let metadata = &version.chart.metadata;
    let more = json!({
        "firstDeployed": time(version.info.first_deployed),
        "notes": notes_of(&version, false),
        "applyMethod": version.apply_method,
        "labels": version.labels,
        "source": ChartSource::of(&version.chart).as_ref().map(json::source),
        "chartMeta": chart_metadata(metadata),
        "changelog": changelog(metadata),
        "request": owner.map(|(namespace, name)| json!({"namespace": namespace, "name": name})),
        "commands": {
            "status": show(&["status"]),
            "history": show(&["history"]),
            "values": show(&["get", "values"]),
            "manifest": show(&["get", "manifest"]),
        },
    });
    if let (Value::Object(fields), Value::Object(more)) = (&mut detail, more) {
        fields.extend(more);
    }
    Ok(Answered::json(detail))
}

/// The part of Chart.yaml that people read.
pub(crate) fn chart_metadata(metadata: &Metadata) -> Value {
    let dependencies = metadata.dependencies.iter().map(|dependency| {
        json!({"name": dependency.name, "version": dependency.version, "repository": dependency.repository})
    });
    let maintainers = metadata
        .maintainers
        .iter()
        .map(|maintainer| json!({"name": maintainer.name, "email": maintainer.email, "url": maintainer.url}));
    json!({
        "name": metadata.name,
        "version": metadata.version,
        "appVersion": metadata.app_version,
        "description": metadata.description,
        "icon": metadata.icon,
        "home": metadata.home,
        "deprecated": metadata.deprecated,
        "keywords": metadata.keywords,
        "annotations": metadata.annotations,
        "maintainers": maintainers.collect::<Vec<Value>>(),
        "dependencies": dependencies.collect::<Vec<Value>>(),
    })
}

/// Where a chart says that its changes are listed.
fn changelog(metadata: &Metadata) -> Option<String> {
    let is_web = |text: &&String| text.starts_with("https://") || text.starts_with("http://");
    Some(&metadata.home).filter(is_web).cloned()
}

pub(crate) async fn revisions(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let (namespace, name) = (request.part(0), request.part(1));
    let versions = history(&session, namespace, name, 0).await.map_err(|error| app.failure(&error))?;
    let revisions: Vec<Value> = versions.iter().rev().map(json::summary).collect();
    Ok(Answered::json(json!({"revisions": revisions})))
}

pub(crate) async fn hooks(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let version = load(&app, &session, &request).await?;
    let reveal = reveals(&app, &request, request.part(0)).await?;
    let hooks = version.hooks.iter().map(|hook| {
        let manifest = if reveal { hook.manifest.clone() } else { hide_lines(&hook.manifest).0 };
        let events: Vec<&str> = hook.events.iter().map(|event| event.as_str()).collect();
        json!({
            "name": hook.name,
            "kind": hook.kind,
            "path": hook.path,
            "events": events,
            "weight": hook.weight,
            "phase": hook.last_run.phase.as_str(),
            "started": time(hook.last_run.started),
            "completed": time(hook.last_run.completed),
            "deletePolicies": hook.delete_policies,
            "isTest": events.contains(&"test"),
            "manifest": manifest,
        })
    });
    Ok(Answered::json(json!({"hooks": hooks.collect::<Vec<Value>>()})))
}

pub(crate) async fn values(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let version = load(&app, &session, &request).await?;
    let reveal = reveals(&app, &request, request.part(0)).await?;
    let mut values = match request.query.on("all") {
        true => ops::computed_values(&version, &mut Vec::new()).map_err(|error| app.failure(&error))?,
        false => version.config.clone().unwrap_or_default(),
    };
    let hidden = if reveal { Vec::new() } else { HiddenTexts::of(&version).hide(&mut values) };
    let hidden: Vec<String> = hidden.iter().map(ToString::to_string).collect();
    Ok(Answered::json(json!({"yaml": yaml(&values), "values": json::map(&values), "hidden": hidden})))
}

/// Values as YAML; nothing for none, and not `{}`.
pub(crate) fn yaml(values: &pintle_tree::Map<Node>) -> String {
    if values.is_empty() {
        return String::new();
    }
    String::from_utf8_lossy(&pintle_yaml::write(values).unwrap_or_default()).into_owned()
}

pub(crate) async fn manifest(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let version = load(&app, &session, &request).await?;
    let reveal = reveals(&app, &request, request.part(0)).await?;
    let only = request.query.given("key").map(str::to_owned);
    let shown = blocking(move || {
        let bytes = version.manifest.len();
        let truncated = bytes > MAX_MANIFEST && only.is_none();
        let mut hidden = 0;
        let documents = recorded_documents(&version).into_iter().filter_map(|mut document| {
            if document.id.namespace.is_empty() {
                document.id.namespace.clone_from(&namespace_of(&document.id, &version.namespace));
            }
            let key = json::key(&document.id);
            if only.as_ref().is_some_and(|only| *only != key) {
                return None;
            }
            let mut fields = identity(&document.id);
            fields.insert("source".to_owned(), document.source.into());
            fields.insert("line".to_owned(), document.line.into());
            if !truncated {
                let (text, lines) = if reveal { (document.text, 0) } else { hide_lines(&document.text) };
                hidden += lines;
                fields.insert("yaml".to_owned(), text.into());
            }
            Some(Value::Object(fields))
        });
        let documents: Vec<Value> = documents.collect();
        json!({"documents": documents, "hidden": hidden, "bytes": bytes, "truncated": truncated})
    });
    Ok(Answered::json(shown.await?))
}

/// The namespace of a recorded object that names none. Kinds of clusters are not told apart without one; those that Kubernetes
/// has are known.
fn namespace_of(id: &pintle::objects::ObjectId, namespace: &str) -> String {
    let is_of_cluster = matches!(
        id.kind.as_str(),
        "Namespace"
            | "ClusterRole"
            | "ClusterRoleBinding"
            | "CustomResourceDefinition"
            | "PersistentVolume"
            | "StorageClass"
            | "PriorityClass"
            | "IngressClass"
            | "RuntimeClass"
            | "CSIDriver"
            | "APIService"
            | "ValidatingWebhookConfiguration"
            | "MutatingWebhookConfiguration"
            | "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
    );
    if is_of_cluster { String::new() } else { namespace.to_owned() }
}

pub(crate) async fn notes(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let version = load(&app, &session, &request).await?;
    let reveal = reveals(&app, &request, request.part(0)).await?;
    Ok(Answered::json(json!({"notes": notes_of(&version, reveal)})))
}

/// The notes of a version. Many print passwords.
pub(crate) fn notes_of(version: &ReleaseVersion, reveal: bool) -> String {
    match reveal {
        true => version.info.notes.clone(),
        false => HiddenTexts::of(version).hide_in_text(&version.info.notes),
    }
}

pub(crate) async fn images(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let version = load(&app, &session, &request).await?;
    let mut uses: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for mut object in Object::read_readable(version.manifest.as_bytes()) {
        if object.namespace().is_empty() {
            let namespace = namespace_of(&object.id(), &version.namespace);
            object.set_namespace(&namespace);
        }
        let body = Node::Map(object.body().clone());
        collect_images(&body, &mut String::new(), &mut |image, field| {
            let place = json!({"key": json::key(&object.id()), "field": field, "values": []});
            uses.entry(image.to_owned()).or_default().push(place);
        });
    }
    let images = uses.into_iter().map(|(image, uses)| match ops::full_name(&image) {
        Ok((reference, name)) => {
            json!({"image": image, "full": name.to_string(), "registry": reference.registry(),
            "digest": digest_of(&image), "uses": uses, "problem": null})
        }
        Err(error) => json!({"image": image, "full": null, "registry": null, "digest": null, "uses": uses,
            "problem": error.to_string()}),
    });
    Ok(Answered::json(json!({"images": images.collect::<Vec<Value>>()})))
}

fn digest_of(image: &str) -> Option<&str> {
    image.split_once('@').map(|(_, digest)| digest)
}

/// The images of containers, wherever in an object a list of containers is.
fn collect_images(node: &Node, path: &mut String, found: &mut dyn FnMut(&str, &str)) {
    let length = path.len();
    match node {
        Node::Map(map) => {
            for (key, value) in map.iter() {
                let key = key.to_str_lossy();
                path.push_str(if length == 0 { "" } else { "." });
                path.push_str(&key);
                match value {
                    Node::Str(text) if key == "image" => found(&text.to_str_lossy(), path),
                    _ => pintle_tree::with_stack(|| collect_images(value, path, found)),
                }
                path.truncate(length);
            }
        }
        Node::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                pintle_tree::with_stack(|| collect_images(item, path, found));
                path.truncate(length);
            }
        }
        _ => {}
    }
}

pub(crate) async fn schema(app: Arc<App>, request: Request) -> Result<Answered> {
    let session = app.session(&request).await?;
    let version = load(&app, &session, &request).await?;
    let defaults = yaml(&version.chart.values.clone().unwrap_or_default());
    let own = version.chart.schema.as_ref().and_then(|text| serde_json::from_slice(text.as_bytes()).ok());
    let (schema, derived, problem): (Value, bool, Option<String>) = match own {
        Some(schema) => (schema, false, None),
        None => {
            // Records have the values as a tree alone.
            let mut chart = version.chart.to_chart();
            chart.raw.push(File::new("values.yaml", defaults.clone()));
            let chart = ChartRef::Loaded { chart: Arc::new(chart), source: None };
            let request = DeriveRequest { chart, format: SchemaFormat::Json, from_templates: true };
            match ops::derive_schema(&request, &mut Silent).await {
                Ok(text) => (serde_json::from_slice(&text).unwrap_or(Value::Null), true, None),
                Err(error) => (Value::Null, false, Some(error.to_string())),
            }
        }
    };
    Ok(Answered::json(
        json!({"schema": schema, "derived": derived, "defaults": defaults, "problem": problem}),
    ))
}

/// Whether an error says that there is no release.
pub(crate) fn is_missing(error: &Error) -> bool {
    error.kind() == pintle::ErrorKind::NotFound
}

//! Validates every rendered object by a dry run against the API before anything is deployed: unknown fields, invalid
//! values, forbidden updates and deprecated API versions.

use std::collections::BTreeSet;

use pintle_chart::Chart;
use pintle_cluster::{Error as ClusterError, WriteParams};
use pintle_objects::Object;
use pintle_render::{KubeVersion, Release};
use pintle_tree::{Map, Node};

use super::{Finding, Rehearsing, Severity};
use crate::hook_problems::HookProblem;
use crate::live::{self, CrdStage, LiveInput};
use crate::manifest::{self, RenderedRecord};
use crate::ops::InstallRequest;
use crate::prepare::process;
use crate::source_map::{Document, documents, line_in_template, line_of_field};
use crate::{CrdPolicy, Method, Result, Silent, crds, lint};

/// One error of the API.
struct ApiError {
    /// The path of the field; empty for the whole object.
    field: String,
    message: String,
}

impl Rehearsing<'_> {
    /// Validates every object that the chart renders to. `upgrade` is set if the release already exists.
    pub(super) async fn check(
        &mut self,
        stage: &'static str,
        target: &InstallRequest,
        upgrade: bool,
    ) -> Result<()> {
        let (chart, user) = crate::ops::load_for_install(target, &mut Silent)?;
        let original = chart.clone();
        let chart = process(chart, &user, &target.render.rules(&self.session.schemas), &mut Silent)?;
        let mut all = Vec::new();
        if !upgrade {
            all = definitions(&chart);
            self.check_all(stage, &original, &all).await;
            all.clear();
            // Errors of CRDs are already reported, and a chart that does not render is reported by the stage.
            let namespace = &target.namespace;
            let _ = crds::install(
                self.session,
                &chart,
                namespace,
                CrdPolicy::Helm,
                Method::ServerSide,
                &mut Silent,
            )
            .await;
        }
        if let Ok(recorded) = self.recorded(target, original.clone(), user, upgrade).await {
            self.report_hooks(stage, &recorded.hook_problems);
            all.extend(documents(&recorded.manifest));
            all.extend(
                recorded.hooks.into_iter().map(|hook| Document { file: hook.path, text: hook.manifest }),
            );
        }
        self.check_all(stage, &original, &all).await;
        // Warnings and script logs of the dry runs would otherwise be reported twice.
        self.session.cluster.clear_warnings();
        self.script_log.take();
        Ok(())
    }

    /// Reports hooks that would not run as their annotations say. They are not sent to the API, which knows nothing of them.
    fn report_hooks(&mut self, stage: &'static str, problems: &[HookProblem]) {
        for problem in problems {
            self.report.findings.push(Finding {
                severity: Severity::Error,
                stage,
                object: format!("{} {}", problem.kind, problem.name),
                file: problem.file.clone(),
                line: problem.line,
                rendered_line: problem.rendered_line,
                message: problem.text.clone(),
            });
        }
    }

    /// Returns the manifest and hooks that a release would record.
    async fn recorded(
        &self,
        target: &InstallRequest,
        chart: Chart,
        user: Map<Node>,
        upgrade: bool,
    ) -> Result<RenderedRecord> {
        let input = LiveInput {
            chart,
            user,
            release: Release {
                name: target.name.clone(),
                namespace: target.namespace.clone(),
                revision: if upgrade { 2 } else { 1 },
                is_upgrade: upgrade,
            },
            render: &target.render,
            crds: CrdStage::Skip,
            lookup: true,
            remember: false,
            wait: target.deploy.timeout,
            events: None,
        };
        let (_, prepared) = live::prepare(self.session, input, &mut Silent).await?;
        manifest::record(&prepared, false, &mut Silent)
    }

    async fn check_all(&mut self, stage: &'static str, chart: &Chart, all: &[Document]) {
        let mut objects = Vec::new();
        for document in all {
            objects.extend(objects_of(document).into_iter().map(|object| (document, object)));
        }
        // Objects that the chart itself creates do not exist yet during the dry run.
        let own: BTreeSet<String> = objects
            .iter()
            .filter(|(_, object)| matches!(object.kind(), "CustomResourceDefinition" | "Namespace"))
            .map(|(_, object)| match object.kind() {
                "Namespace" => object.name().to_owned(),
                _ => {
                    format!("{}/{}", object.text(&["spec", "group"]), object.text(&["spec", "names", "kind"]))
                }
            })
            .collect();
        let ignored = errors_about_own_objects(&objects);
        for (document, object) in &mut objects {
            let name = self.observer.name_of(object.kind(), object.namespace(), object.name());
            let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
            if own.contains(&format!("{group}/{}", object.kind())) || own.contains(object.namespace()) {
                continue;
            }
            self.session.cluster.clear_warnings();
            for error in self.validate(object).await {
                if ignored.iter().any(|text| error.message.contains(text)) {
                    continue;
                }
                self.report(stage, Severity::Error, chart, document, &name, &error);
            }
            for message in self.session.cluster.take_warnings() {
                let path = message.split(':').next().unwrap_or_default();
                let known = path.starts_with("spec.") || path.starts_with("metadata.");
                let field = if known { path.to_owned() } else { "apiVersion".to_owned() };
                let error = ApiError { field, message };
                self.report(stage, Severity::Warning, chart, document, &name, &error);
            }
        }
    }

    /// Sends an object to the API as a dry run.
    async fn validate(&self, object: &mut Object) -> Vec<ApiError> {
        let stated = object.namespace().to_owned();
        if let Err(error) = self.session.cluster.scope(object, &self.request.namespace).await {
            let message = match &error {
                ClusterError::NoMapping { api_version, kind, .. } => {
                    self.no_such_kind(api_version, kind).await
                }
                other => other.to_string(),
            };
            return vec![ApiError { field: "apiVersion".to_owned(), message }];
        }
        let write = WriteParams { dry_run: true, ..WriteParams::strict() };
        // Creating a new object reports all errors at once. An existing object is updated as an upgrade would.
        let refused = match self.session.cluster.create(object, &write).await {
            Ok(_) => return Vec::new(),
            Err(error) if error.status().is_some_and(|status| status.reason == "AlreadyExists") => {
                self.session.cluster.clear_warnings();
                match self.session.cluster.apply(object, true, &write).await {
                    Ok(_) => return Vec::new(),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        let mut complaints = api_errors(&refused);
        let no_namespace = format!("namespaces \"{stated}\" not found");
        if let [only] = &mut complaints[..]
            && only.message == no_namespace
        {
            only.field = "metadata.namespace".to_owned();
            only.message = format!(
                "{no_namespace}; the template names it, so it must be there before (--given brings it to a rehearsal)"
            );
        }
        complaints
    }

    /// Returns why a kind is unknown, and what to do about it.
    async fn no_such_kind(&self, api_version: &str, kind: &str) -> String {
        let version = KubeVersion::new(1, self.observer.minor());
        let what = format!("no matches for kind \"{kind}\" in version \"{api_version}\"");
        if let Err(text) = lint::deprecation::check(api_version, kind, &version) {
            return format!("{what}; {text}");
        }
        let facts = self.session.cluster.capabilities().await.unwrap_or_default();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let other = facts.api_versions.iter().find_map(|served| {
            let (version, of) = served.rsplit_once('/')?;
            (of == kind && version.split_once('/')?.0 == group).then_some(version)
        });
        match other {
            Some(other) => format!("{what}; this Kubernetes has it in {other}"),
            None => format!(
                "{what}; the chart does not bring its definition, which must be there before (--given brings it to a \
                 rehearsal)"
            ),
        }
    }

    fn report(
        &mut self,
        stage: &'static str,
        severity: Severity,
        chart: &Chart,
        document: &Document,
        object: &str,
        complaint: &ApiError,
    ) {
        let rendered_line = line_of_field(&document.text, &complaint.field);
        // Files of `crds/` are not rendered, so the line is already that of the file.
        let line = match document.file.contains("/crds/") {
            true => rendered_line,
            false => line_in_template(chart, document, rendered_line),
        };
        self.report.findings.push(Finding {
            severity,
            stage,
            object: object.to_owned(),
            file: document.file.clone(),
            line,
            rendered_line,
            message: complaint.message.clone(),
        });
    }
}

/// Parses the objects of a document without validation; the API reports what is wrong with them.
fn objects_of(document: &Document) -> Vec<Object> {
    match pintle_yaml::read_exact(document.text.as_bytes()) {
        Ok(node) => {
            let objects = members(node).into_iter();
            objects.filter(|object| !object.api_version().is_empty() && !object.kind().is_empty()).collect()
        }
        Err(_) => Vec::new(),
    }
}

/// Returns the object, or the members of a list.
fn members(node: Node) -> Vec<Object> {
    let Node::Map(mut body) = node else { return Vec::new() };
    match body.get_mut("items") {
        Some(Node::List(items)) => std::mem::take(items).into_iter().flat_map(members).collect(),
        _ => vec![Object::new(body)],
    }
}

/// Returns the API errors to ignore: those about objects that the chart itself creates.
fn errors_about_own_objects(objects: &[(&Document, Object)]) -> Vec<String> {
    let missing = |(_, object): &(&Document, Object)| match object.kind() {
        "ServiceAccount" => Some(format!("serviceaccount \"{}\" not found", object.name())),
        "PriorityClass" => Some(format!("no PriorityClass with name {} was found", object.name())),
        _ => None,
    };
    objects.iter().filter_map(missing).collect()
}

/// Returns the documents of the files below `crds/`.
fn definitions(chart: &Chart) -> Vec<Document> {
    let mut all = Vec::new();
    for crd in chart.crds() {
        let text = String::from_utf8_lossy(&crd.file.data);
        let mut first = 1;
        for part in text.split("\n---") {
            // Padding keeps the line numbers of the file.
            let text = format!("{}{part}\n", "\n".repeat(first - 1));
            first += part.matches('\n').count() + 1;
            all.push(Document { file: crd.path.clone(), text });
        }
    }
    all
}

/// Splits an API error by field.
fn api_errors(error: &ClusterError) -> Vec<ApiError> {
    let Some(status) = error.status() else {
        return vec![ApiError { field: String::new(), message: error.to_string() }];
    };
    let causes = status.causes.iter().filter(|cause| !cause.field.is_empty());
    let by_cause: Vec<ApiError> = causes
        .map(|cause| ApiError {
            field: cause.field.clone(),
            message: format!("{}: {}", cause.field, cause.message),
        })
        .collect();
    if !by_cause.is_empty() {
        return by_cause;
    }
    let by_field: Vec<ApiError> = ["unknown field \"", "duplicate field \""]
        .iter()
        .flat_map(|words| {
            status.message.split(words).skip(1).filter_map(move |rest| {
                let field = rest.split('"').next()?.to_owned();
                Some(ApiError { message: format!("{words}{field}\""), field })
            })
        })
        .collect();
    if !by_field.is_empty() {
        return by_field;
    }
    // The server says `.spec.foo: field not declared in schema`, or `… into Go struct field Type.spec.foo of type …`.
    let mut words = status.message.split_whitespace();
    let declared = words.clone().find(|word| word.starts_with('.') && word.ends_with(':'));
    let mut typed =
        || words.by_ref().skip_while(|word| *word != "struct").nth(2)?.split_once('.').map(|(_, path)| path);
    let field = declared.map(|path| path.trim_matches(['.', ':'])).or_else(&mut typed).unwrap_or_default();
    vec![ApiError { field: field.to_owned(), message: status.message.clone() }]
}

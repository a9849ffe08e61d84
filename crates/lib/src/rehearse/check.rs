//! Asking the API about every object before anything is done: fields that it does not know, values that it refuses,
//! changes that are not allowed, versions that are going away.

use std::collections::BTreeSet;

use pintle_chart::Chart;
use pintle_cluster::{Error as ClusterError, Write};
use pintle_objects::Object;
use pintle_render::{KubeVersion, Release};

use super::place::{Document, documents, line_in_template, line_of};
use super::{Finding, Rehearsing, Severity};
use crate::ops::InstallRequest;
use crate::prepare::process;
use crate::{Method, Result, Silent, crds, lint, live};

/// One complaint of the API.
struct Complaint {
    /// The path of the field; empty for the object as a whole.
    field: String,
    message: String,
}

impl Rehearsing<'_> {
    /// Asks about every object that the chart renders to. `upgrade` says that the release is there already.
    pub(super) async fn check(
        &mut self,
        stage: &'static str,
        target: &InstallRequest,
        upgrade: bool,
    ) -> Result<()> {
        let (chart, user) = crate::ops::load_for_install(target, &mut Silent)?;
        let original = chart.clone();
        let chart = process(chart, &user, &target.rendering.rules(), &mut Silent)?;
        if !upgrade && let Err(error) = crds::install(self.session, &chart, Method::ServerSide).await {
            self.find(stage, Severity::Error, "", error.to_string());
            return Ok(());
        }
        let facts = self.session.cluster.facts().await?;
        let release = Release {
            name: target.name.clone(),
            namespace: target.namespace.clone(),
            revision: if upgrade { 2 } else { 1 },
            is_upgrade: upgrade,
        };
        let scene = live::target(self.session, &facts, release, &target.rendering, true);
        let rules = target.rendering.rules();
        let prepared = live::render(chart, user, scene, rules, &self.session.events, &mut Silent).await;
        // What does not render is told by the stage itself.
        let Ok(prepared) = prepared else { return Ok(()) };
        let Ok(recorded) = live::record(&prepared, false, &mut Silent) else { return Ok(()) };
        let mut all = documents(&recorded.manifest);
        all.extend(
            recorded
                .hooks
                .iter()
                .map(|hook| Document { file: hook.path.clone(), text: hook.manifest.clone() }),
        );
        self.check_all(stage, &original, &all).await;
        // What the questions brought up is not the stage's.
        for warning in self.session.cluster.take_warnings() {
            self.find(stage, Severity::Warning, "", warning);
        }
        Ok(())
    }

    async fn check_all(&mut self, stage: &'static str, chart: &Chart, all: &[Document]) {
        let mut objects = Vec::new();
        for document in all {
            let Ok(read) = Object::read_manifest(document.text.as_bytes(), &document.file) else { continue };
            objects.extend(read.into_iter().map(|object| (document, object)));
        }
        // What the chart makes itself is not there yet.
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
        let version = KubeVersion::new(1, self.stagehand.minor());
        for (document, object) in &mut objects {
            let name = self.stagehand.name_of(object.kind(), object.namespace(), object.name());
            let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
            if own.contains(&format!("{group}/{}", object.kind())) || own.contains(object.namespace()) {
                continue;
            }
            if let Err(text) = lint::deprecation::check(object.api_version(), object.kind(), &version) {
                let line = Complaint { field: "apiVersion".to_owned(), message: text };
                self.complain(stage, Severity::Warning, chart, document, &name, &line);
            }
            for complaint in self.ask(object).await {
                self.complain(stage, Severity::Error, chart, document, &name, &complaint);
            }
        }
    }

    /// Lets the API try an object without keeping it.
    async fn ask(&self, object: &mut Object) -> Vec<Complaint> {
        if let Err(error) = self.session.cluster.scope(object, &self.request.namespace).await {
            let message = error.to_string();
            return vec![Complaint { field: "apiVersion".to_owned(), message }];
        }
        let write = Write { dry_run: true, ..Write::strict() };
        // A new object is told all that is wrong with it at once; one that is there is asked as an upgrade would.
        match self.session.cluster.create(object, &write).await {
            Ok(_) => return Vec::new(),
            Err(error) if error.status().is_some_and(|status| status.reason == "AlreadyExists") => {}
            Err(error) => return complaints(&error),
        }
        match self.session.cluster.apply(object, true, &write).await {
            Ok(_) => Vec::new(),
            Err(error) => complaints(&error),
        }
    }

    fn complain(
        &mut self,
        stage: &'static str,
        severity: Severity,
        chart: &Chart,
        document: &Document,
        object: &str,
        complaint: &Complaint,
    ) {
        let rendered_line = line_of(&document.text, &complaint.field);
        let line = line_in_template(chart, document, rendered_line);
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

/// What the API says, field by field.
fn complaints(error: &ClusterError) -> Vec<Complaint> {
    let Some(status) = error.status() else {
        return vec![Complaint { field: String::new(), message: error.to_string() }];
    };
    let causes = status.causes.iter().filter(|cause| !cause.field.is_empty());
    let by_cause: Vec<Complaint> = causes
        .map(|cause| Complaint {
            field: cause.field.clone(),
            message: format!("{}: {}", cause.field, cause.message),
        })
        .collect();
    if !by_cause.is_empty() {
        return by_cause;
    }
    let by_field: Vec<Complaint> = ["unknown field \"", "duplicate field \""]
        .iter()
        .flat_map(|words| {
            status.message.split(words).skip(1).filter_map(move |rest| {
                let field = rest.split('"').next()?.to_owned();
                Some(Complaint { message: format!("{words}{field}\""), field })
            })
        })
        .collect();
    if !by_field.is_empty() {
        return by_field;
    }
    // `.spec.foo: field not declared in schema`, or `… into Go struct field Type.spec.foo of type …`
    let mut words = status.message.split_whitespace();
    let declared = words.clone().find(|word| word.starts_with('.') && word.ends_with(':'));
    let mut typed =
        || words.by_ref().skip_while(|word| *word != "struct").nth(2)?.split_once('.').map(|(_, path)| path);
    let field = declared.map(|path| path.trim_matches(['.', ':'])).or_else(&mut typed).unwrap_or_default();
    vec![Complaint { field: field.to_owned(), message: status.message.clone() }]
}

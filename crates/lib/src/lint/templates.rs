//! Rules for templates, which are rendered for a test release first.

use std::path::Path;

use pintle_chart::Chart;
use pintle_render::{Capabilities, LintMessageKind, Mode, Release, Target};
use pintle_tree::quote::quote;
use pintle_tree::{LogLevel, LogLine, Node, json};

use super::Severity::{Error, Warning};
use super::document::{Document, documents};
#[cfg(feature = "cluster")]
use super::readiness;
use super::{Findings, Options, deprecation, hooks, name};
use crate::Lifecycle;

const FOLDER: &str = "templates/";

pub(super) fn check(folder: &Path, options: &Options, events: &Lifecycle, findings: &mut Findings) {
    let path = folder.join("templates");
    let exists = if path.exists() { Ok(()) } else { Err("directory does not exist".to_owned()) };
    if !findings.check(Warning, FOLDER, exists) {
        return;
    }
    let is_folder = if path.is_dir() { Ok(()) } else { Err("not a directory".to_owned()) };
    if !findings.check(Error, FOLDER, is_folder) {
        return;
    }
    let chart = match pintle_chart::load_any_version(folder, &mut findings.log) {
        Ok(chart) => chart,
        Err(error) => {
            findings.check(Error, FOLDER, Err(error.to_string()));
            return;
        }
    };
    let Some(rendered) = render(chart.clone(), options, events, findings) else { return };
    for (template, text) in &rendered {
        if !check_template(&chart, template, text.as_deref(), options, findings) {
            return;
        }
    }
}

/// Returns the templates of the chart itself with their rendered text; `None` when rendering failed.
fn render(
    chart: Chart,
    options: &Options,
    events: &Lifecycle,
    findings: &mut Findings,
) -> Option<Vec<(String, Option<Vec<u8>>)>> {
    let templates: Vec<String> = chart.templates.iter().map(|file| file.name.clone()).collect();
    let chart_name = chart.name().to_owned();
    let mut capabilities = Capabilities::default();
    if let Some(version) = &options.kube_version {
        capabilities.kube_version = version.clone();
    }
    let release = Release {
        name: "test-release".to_owned(),
        namespace: options.namespace.clone(),
        revision: 0,
        is_upgrade: false,
    };
    let mut target = Target::offline(release, capabilities);
    target.mode = Mode::Lint;
    if let Some(port) = options.lookup.port(&target.release, events) {
        target.lookup = port;
    }
    let rendered = crate::prepare::render_for_lint(chart, options, &target, events, findings)?;
    findings.log.extend(rendered.lint_messages.iter().map(|remark| {
        let attributes = vec![("message", remark.message.clone())];
        match remark.kind {
            LintMessageKind::MissingValue => LogLine::warn("missing required value", attributes),
            LintMessageKind::EmptyValue => LogLine::warn("missing required values", attributes),
            LintMessageKind::Fail => {
                LogLine { level: LogLevel::Info, message: "funcMap fail".into(), attributes }
            }
        }
    }));
    let mut files = rendered.files;
    let text_of = |template: String| {
        let path = format!("{chart_name}/{template}");
        let text = files.iter_mut().find(|file| file.path == path).map(|file| std::mem::take(&mut file.text));
        (template, text)
    };
    Some(templates.into_iter().map(text_of).collect())
}

/// Checks a template. Returns false if the remaining templates are skipped, as Helm does after some errors.
fn check_template(
    chart: &Chart,
    template: &str,
    text: Option<&[u8]>,
    options: &Options,
    findings: &mut Findings,
) -> bool {
    findings.check(Error, template, extension_is_allowed(template));
    let extension = extension(template).to_ascii_lowercase();
    let Some(text) = text.filter(|text| !text.trim_ascii().is_empty()) else { return true };
    if !matches!(extension.as_str(), ".yaml" | ".yml") {
        return true;
    }
    findings.check(Warning, template, starts_unindented(text));
    for outcome in documents(text) {
        match outcome {
            Ok(Some(document)) => check_document(template, text, &document, options, findings),
            Ok(None) => {}
            Err(reason) => return findings.check(Error, template, Err(reason)),
        }
    }
    if options.extra_rules {
        hooks::check(chart, template, text, findings);
        #[cfg(feature = "cluster")]
        readiness::check(template, text, findings);
    }
    true
}

fn check_document(
    template: &str,
    text: &[u8],
    document: &Document,
    options: &Options,
    findings: &mut Findings,
) {
    findings.check(Warning, template, name::check(&document.kind, &document.name));
    if !document.api_version.is_empty() && !document.kind.is_empty() {
        let version = options.kube_version.clone().unwrap_or_else(|| Capabilities::default().kube_version);
        findings.check(
            Warning,
            template,
            deprecation::check(&document.api_version, &document.kind, &version),
        );
    }
    findings.check(Error, template, has_selector(document, text));
    findings.check(Error, template, list_has_no_policy(document, text));
}

/// The Go types of the `items` of a list, of an item, and of its metadata.
const ITEM_TYPES: [&str; 3] = [
    "[]struct { Metadata struct { Annotations map[string]string } }",
    "struct { Metadata struct { Annotations map[string]string } }",
    "struct { Annotations map[string]string }",
];

/// Go's error for a value in `list` that has another type than `wanted`.
fn wrong_in_list(list: &Node, value: &Node, wanted: &str) -> String {
    let text = json::type_error(value.json_type(), "", &json::path_of(list, value), wanted);
    format!("unable to parse YAML: error unmarshaling JSON: while decoding JSON: {text}")
}

/// What is wrong about a list item whose metadata or annotations have the wrong type, or that is not a map itself: the value,
/// and the Go type that it should have.
fn wrong_item(item: &Node) -> Option<(&Node, &'static str)> {
    let [_, item_type, metadata_type] = ITEM_TYPES;
    let is_map = |node: &Node| matches!(node, Node::Nil | Node::Map(_));
    if !is_map(item) {
        return Some((item, item_type));
    }
    let metadata = item.get("metadata")?;
    if !is_map(metadata) {
        return Some((metadata, metadata_type));
    }
    let annotations = metadata.get("annotations")?;
    if !is_map(annotations) {
        return Some((annotations, "map[string]string"));
    }
    let mut texts = annotations.as_map()?.values();
    texts.find(|text| matches!(text, Node::List(_) | Node::Map(_))).map(|nested| (nested, "string"))
}

/// The extension of the base name with its dot, or nothing.
fn extension(path: &str) -> &str {
    let base = path.rsplit('/').next().unwrap_or(path);
    base.rfind('.').map_or("", |dot| &base[dot..])
}

fn extension_is_allowed(path: &str) -> Result<(), String> {
    let extension = extension(path);
    if matches!(extension, ".yaml" | ".yml" | ".tpl" | ".txt") {
        return Ok(());
    }
    Err(format!("file extension '{extension}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"))
}

fn starts_unindented(text: &[u8]) -> Result<(), String> {
    let Some(line) = text.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()) else {
        return Ok(());
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.starts_with(b" ") && !line.starts_with(b"\t") {
        return Ok(());
    }
    Err(format!("document starts with an illegal indent: {}, which may cause parsing problems", quote(line)))
}

fn contains(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|window| window == word.as_bytes())
}

fn has_selector(document: &Document, text: &[u8]) -> Result<(), String> {
    let kind = document.kind.as_str();
    let needs_one = matches!(kind, "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet");
    if !needs_one || contains(text, "matchLabels") || contains(text, "matchExpressions") {
        return Ok(());
    }
    let name = quote(document.name.as_bytes());
    Err(format!("a {kind} must contain matchLabels or matchExpressions, and {name} does not"))
}

fn list_has_no_policy(document: &Document, text: &[u8]) -> Result<(), String> {
    if document.kind != "List" {
        return Ok(());
    }
    let node = pintle_yaml::read(text).map_err(|error| format!("unable to parse YAML: {error}"))?;
    let items = match node.get("items") {
        None | Some(Node::Nil) => return Ok(()),
        Some(Node::List(items)) => items,
        Some(other) => return Err(wrong_in_list(&node, other, ITEM_TYPES[0])),
    };
    if let Some((value, wanted)) = items.iter().find_map(wrong_item) {
        return Err(wrong_in_list(&node, value, wanted));
    }
    let has_policy = items.iter().any(|item| {
        let annotations = item.get("metadata").and_then(|metadata| metadata.get("annotations"));
        annotations.is_some_and(|annotations| annotations.get("helm.sh/resource-policy").is_some())
    });
    if has_policy {
        return Err("annotation 'helm.sh/resource-policy' within List objects are ignored".to_owned());
    }
    Ok(())
}

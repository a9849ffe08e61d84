//! Rules for Chart.yaml.

use std::path::Path;

use pintle_chart::metadata::{Draft, Metadata};
use pintle_semver::{Constraint, Version};
use pintle_tree::quote::quote;
use pintle_tree::{Map, Node};

use super::Severity::{Error, Info, Warning};
use super::{Findings, address};
use crate::SchemaLoader;

const FILE: &str = "Chart.yaml";

pub(super) fn check(folder: &Path, findings: &mut Findings) {
    let path = folder.join(FILE);
    let is_folder = if path.is_dir() { Err("should be a file, not a directory".to_owned()) } else { Ok(()) };
    findings.check(Error, FILE, is_folder);
    let text = match pintle_chart::read_regular(&path) {
        Ok(text) => text,
        Err(error) => {
            let reason = crate::input::go_error_text(&path, &error);
            findings.check(Error, FILE, Err(format!("unable to parse YAML\n\t{reason}")));
            return;
        }
    };
    let fields = pintle_yaml::read_map(&text).unwrap_or_default();
    findings.check(Error, FILE, object_form(&fields));
    for problem in object_problems(&fields) {
        findings.check(Error, FILE, Err(problem));
    }
    let mut draft = Draft::default();
    if let Err(error) = draft.read_chart_file(&text) {
        findings.check(Error, FILE, Err(format!("unable to parse YAML\n\t{}", reason(&error))));
        return;
    }
    let strict = Draft::read_strictly(&text).map(|_| ());
    let strict =
        strict.map_err(|error| format!("failed to strictly parse chart metadata file\n\t{}", reason(&error)));
    findings.check(Warning, FILE, strict);
    if !has_api_version(&fields) {
        // The loader defaults a missing API version to `v1`; lint has to report it.
        draft.metadata.api_version.clear();
    }
    let metadata = &draft.metadata;
    for (severity, outcome) in [
        (Error, name(metadata)),
        (Error, api_version(metadata)),
        (Error, is_text(&fields, "version")),
        (Error, version(metadata)),
        (Error, is_text(&fields, "appVersion")),
        (Error, maintainers(&draft)),
        (Error, sources(metadata)),
        (Info, has_icon(metadata)),
        (Error, icon_is_url(metadata)),
        (Error, kind(metadata)),
        (Error, dependencies(&draft)),
        (Warning, strict_version(metadata)),
    ] {
        findings.check(severity, FILE, outcome);
    }
}

/// Whether Chart.yaml is a Kubernetes object.
fn is_object(fields: &Map<Node>) -> bool {
    let text = |name: &str| fields.get(name).and_then(Node::as_str);
    text("apiVersion") == Some("helm.sh/v3") && text("kind") == Some("Chart")
}

/// The schema of the kind Chart, from its definition.
fn object_schema() -> Node {
    let definition = pintle_yaml::read(pintle_chart::CUSTOM_RESOURCE.as_bytes()).unwrap_or_default();
    let version = definition.get("spec").and_then(|spec| spec.get("versions")).and_then(Node::as_list);
    let schema = version.and_then(|versions| versions.first()?.get("schema")?.get("openAPIV3Schema"));
    schema.cloned().unwrap_or_default()
}

/// The fields of the metadata of an object that a chart can have a use for. The definition leaves them to Kubernetes.
const OBJECT_METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];

/// Fields of earlier Chart.yaml files that are gone, and what replaces them.
const REMOVED: [(&str, &str); 2] =
    [("engine", "lifecycle events replace it"), ("tillerVersion", "there is no Tiller")];

/// Fields of earlier Chart.yaml files that have another place in an object.
const MOVED: [(&str, &str); 3] = [
    ("name", "metadata.labels.chart"),
    ("version", "metadata.labels.version"),
    ("appVersion", "metadata.labels.appVersion"),
];

/// Finds what the schema of a definition cannot: unknown fields, which a server would drop silently, and a name that is not
/// that of the chart and its version.
fn object_problems(fields: &Map<Node>) -> Vec<String> {
    if !is_object(fields) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    add_unknown_fields(fields, &object_schema(), "", &mut problems);
    let metadata = fields.get("metadata").and_then(Node::as_map).cloned().unwrap_or_default();
    for key in metadata.keys().filter(|key| !OBJECT_METADATA.iter().any(|known| **key == *known)) {
        problems.push(unknown_field("metadata.", &key.to_str_lossy(), &OBJECT_METADATA));
    }
    let label =
        |name: &str| metadata.get("labels").and_then(|labels| labels.get(name)).and_then(Node::as_str);
    if let (Some(chart), Some(version)) = (label("chart"), label("version"))
        && let expected = format!("{chart}-{version}")
        && let Some(found) = metadata.get("name").and_then(Node::as_str)
        && found != expected
    {
        problems.push(format!(
            "metadata.name is `{found}`; it is the name of the chart and its version, `{expected}`"
        ));
    }
    problems
}

/// Adds the fields of an object that its schema does not have, at any depth.
fn add_unknown_fields(fields: &Map<Node>, schema: &Node, path: &str, problems: &mut Vec<String>) {
    let Some(properties) = schema.get("properties").and_then(Node::as_map) else { return };
    let known: Vec<String> = properties.keys().map(|key| key.to_str_lossy().into_owned()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    for (key, value) in fields.iter() {
        let Some(schema) = properties.get(key) else {
            problems.push(unknown_field(path, &key.to_str_lossy(), &known));
            continue;
        };
        match value {
            Node::Map(fields) => add_unknown_fields(fields, schema, &format!("{path}{key}."), problems),
            Node::List(items) => {
                let item_schema = schema.get("items").cloned().unwrap_or_default();
                for (index, item) in items.iter().enumerate() {
                    if let Node::Map(fields) = item {
                        add_unknown_fields(fields, &item_schema, &format!("{path}{key}[{index}]."), problems);
                    }
                }
            }
            _ => {}
        }
    }
}

fn unknown_field(path: &str, key: &str, known: &[&str]) -> String {
    let find =
        |table: &[(&str, &'static str)]| table.iter().find(|(name, _)| *name == key).map(|(_, text)| *text);
    if let Some(instead) = find(&REMOVED) {
        return format!("{path}{key} was removed: {instead}");
    }
    if let (Some(place), "" | "data.") = (find(&MOVED), path) {
        return format!("{path}{key} is not a field of the kind Chart; its place is {place}");
    }
    match pintle_tree::suggest::suggest(key, known) {
        Some(likely) => format!("{path}{key} is not a field of the kind Chart; did you mean {likely}?"),
        None => format!("{path}{key} is not a field of the kind Chart; its fields are {}", known.join(", ")),
    }
}

/// Checks a Chart.yaml in the form of a Kubernetes object against the definition of its kind.
fn object_form(fields: &Map<Node>) -> Result<(), String> {
    if !is_object(fields) {
        return Ok(());
    }
    let schema = pintle_tree::json::write(&object_schema()).unwrap_or_default();
    // Our own definition refers to no other schema.
    let load = &mut |location: &str| SchemaLoader::default().load(location);
    pintle_values::schema::check_json(&Node::Map(fields.clone()), &schema, load, &mut Vec::new())
        .map_err(|problems| format!("does not fit the kind Chart of helm.sh/v3\n{}", problems.trim_end()))
}

/// Returns whether there is an API version at all. Go's decoder ignores the case of field names.
fn has_api_version(fields: &Map<Node>) -> bool {
    fields.iter().any(|(name, value)| {
        name.as_bytes().eq_ignore_ascii_case(b"apiVersion")
            && !matches!(value, Node::Nil)
            && value.as_str() != Some("")
    })
}

/// Returns the reason without the file name, which the finding already has.
fn reason(error: &pintle_chart::Error) -> String {
    match error {
        pintle_chart::Error::File { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

fn name(metadata: &Metadata) -> Result<(), String> {
    if metadata.name.is_empty() {
        return Err("name is required".to_owned());
    }
    let base = metadata.name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if base != metadata.name {
        return Err(format!("chart name {} is invalid", quote(metadata.name.as_bytes())));
    }
    Ok(())
}

/// Returns whether the chart API version has dependencies and types. `helm.sh/v3`, the object form of Chart.yaml, counts too.
fn is_modern(metadata: &Metadata) -> bool {
    matches!(metadata.api_version.as_str(), "v2" | "helm.sh/v3")
}

fn api_version(metadata: &Metadata) -> Result<(), String> {
    match metadata.api_version.as_str() {
        "" => Err("apiVersion is required. The value must be either \"v1\" or \"v2\"".to_owned()),
        "v1" => Ok(()),
        _ if is_modern(metadata) => Ok(()),
        other => Err(format!("apiVersion '{other}' is not valid. The value must be either \"v1\" or \"v2\"")),
    }
}

fn is_text(fields: &Map<Node>, field: &str) -> Result<(), String> {
    let type_name = match fields.get(field) {
        None | Some(Node::Str(_)) => return Ok(()),
        Some(Node::Nil) => "<nil>",
        Some(Node::Bool(_)) => "bool",
        Some(Node::Int(_) | Node::Float(_)) => "float64",
        Some(Node::List(_)) => "[]interface {}",
        Some(Node::Map(_)) => "map[string]interface {}",
    };
    Err(format!("{field} should be of type string but it's of type {type_name}"))
}

fn version(metadata: &Metadata) -> Result<(), String> {
    if metadata.version.is_empty() {
        return Err("version is required".to_owned());
    }
    let version = Version::parse(&metadata.version)
        .map_err(|_| format!("version '{}' is not a valid SemVer", metadata.version))?;
    let above_zero = Constraint::parse(">0.0.0-0").map_err(|error| error.to_string())?;
    match above_zero.validate(&version).first() {
        Some(reason) => Err(format!("version {reason}")),
        None => Ok(()),
    }
}

fn strict_version(metadata: &Metadata) -> Result<(), String> {
    Version::parse_strict(&metadata.version)
        .map(|_| ())
        .map_err(|_| format!("version '{}' is not a valid SemVerV2", metadata.version))
}

fn maintainers(draft: &Draft) -> Result<(), String> {
    for maintainer in &draft.maintainers {
        let Some(maintainer) = maintainer else { return Err("a maintainer entry is empty".to_owned()) };
        let name = &maintainer.name;
        if name.is_empty() {
            return Err("each maintainer requires a name".to_owned());
        }
        if !maintainer.email.is_empty() && !address::is_email(&maintainer.email) {
            return Err(format!("invalid email '{}' for maintainer '{name}'", maintainer.email));
        }
        if !maintainer.url.is_empty() && !address::is_url(&maintainer.url) {
            return Err(format!("invalid url '{}' for maintainer '{name}'", maintainer.url));
        }
    }
    Ok(())
}

fn sources(metadata: &Metadata) -> Result<(), String> {
    match metadata.sources.iter().find(|source| !address::is_request_url(source)) {
        Some(source) => Err(format!("invalid source URL '{source}'")),
        None => Ok(()),
    }
}

fn has_icon(metadata: &Metadata) -> Result<(), String> {
    if metadata.icon.is_empty() { Err("icon is recommended".to_owned()) } else { Ok(()) }
}

fn icon_is_url(metadata: &Metadata) -> Result<(), String> {
    if metadata.icon.is_empty() || address::is_request_url(&metadata.icon) {
        return Ok(());
    }
    Err(format!("invalid icon URL '{}'", metadata.icon))
}

fn kind(metadata: &Metadata) -> Result<(), String> {
    if metadata.kind.is_empty() || is_modern(metadata) {
        return Ok(());
    }
    let api_version = &metadata.api_version;
    Err(format!("chart type is not valid in apiVersion '{api_version}'. It is valid in apiVersion 'v2'"))
}

fn dependencies(draft: &Draft) -> Result<(), String> {
    if draft.dependencies.is_empty() || is_modern(&draft.metadata) {
        return Ok(());
    }
    let api_version = &draft.metadata.api_version;
    Err(format!(
        "dependencies are not valid in the Chart file with apiVersion '{api_version}'. They are valid in apiVersion 'v2'"
    ))
}

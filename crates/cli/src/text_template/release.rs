//! A release as Go templates see it: the fields and methods of Helm's structures, by the names that they have in Go.

use std::collections::BTreeMap;

use pintle::chart::metadata::{Dependency, Lock, Metadata};
use pintle::release::{ReleaseVersion, StoredChart, StoredFile, StoredHook, Timestamp};
use pintle_gotmpl::{MapRef, MapType, Value};
use pintle_time::{GoTime, RFC3339, Zone};
use pintle_tree::{Map, Node, Str, json};

use super::go::{
    CHART, INFO, RELEASE, RUN, STATUS, STRING, Structure, VALIDATE, absent, named, slice, structure,
};

/// The data of `get all --template`. Helm includes the labels of the stored record, unless the version was selected by
/// its number.
pub(super) fn data(version: &ReleaseVersion, by_number: bool) -> Value {
    let mut labels = version.labels.clone();
    if !by_number {
        labels.extend([
            ("name".to_owned(), version.name.clone()),
            ("owner".to_owned(), "helm".to_owned()),
            ("status".to_owned(), version.status_word().to_owned()),
            ("version".to_owned(), version.number.to_string()),
        ]);
    }
    let mut root = Map::new();
    root.insert("Release".into(), release(version, &labels));
    Value::map(root)
}

fn text(text: &str) -> Value {
    Value::from(text)
}

/// A time, in the zone in which Go parses it.
fn time(time: Option<&Timestamp>) -> Value {
    let time = time.and_then(|time| GoTime::parse(RFC3339, time.to_string(), &Zone::local()).ok());
    pintle_sprig::time(time.unwrap_or_default())
}

fn bytes(data: Option<&Str>) -> Value {
    data.map_or_else(Value::nil_bytes, |data| Value::Bytes(data.clone()))
}

fn texts<'a>(items: impl IntoIterator<Item = &'a str>) -> Value {
    Value::strings(items)
}

/// A list of strings of a named type.
fn words<'a>(list: &'static str, name: &'static str, items: impl IntoIterator<Item = &'a str>) -> Value {
    slice(list, items.into_iter().map(|word| named(name, word, STRING)).collect())
}

fn pairs(pairs: &BTreeMap<String, String>) -> Value {
    let entries = pairs.iter().map(|(key, value)| (key.as_str().into(), text(value)));
    Value::Map(MapRef::of(MapType::Str, entries.collect()))
}

fn values(values: &Option<Map<Node>>) -> Value {
    Value::from_node(&Node::Map(values.clone().unwrap_or_default()))
}

fn release(version: &ReleaseVersion, labels: &BTreeMap<String, String>) -> Value {
    const LIST: &str = "[]*v1.Hook";
    let release = Structure {
        methods: RELEASE,
        ..Structure::new(
            "*v1.Release",
            vec![
                ("Name", text(&version.name)),
                ("Info", info(version)),
                ("Chart", chart(&version.chart, true)),
                ("Config", values(&version.config)),
                ("Manifest", text(&version.manifest)),
                ("Hooks", slice(LIST, version.hooks.iter().map(hook).collect())),
                ("Version", Value::int(i64::try_from(version.number).unwrap_or(i64::MAX))),
                ("Namespace", text(&version.namespace)),
                ("Labels", pairs(labels)),
                ("ApplyMethod", text(&version.apply_method)),
            ],
        )
    };
    Value::object(release)
}

fn info(version: &ReleaseVersion) -> Value {
    let info = &version.info;
    let word = version.status_word();
    let rollback = info.rollback_revision.map_or(0, |number| i64::try_from(number).unwrap_or(i64::MAX));
    let encoded = encoded(&[
        ("first_deployed", moment(info.first_deployed.as_ref()).into()),
        ("last_deployed", moment(info.last_deployed.as_ref()).into()),
        ("deleted", moment(info.deleted.as_ref()).into()),
        ("description", info.description.as_str().into()),
        ("status", word.into()),
        ("rollback_revision", Node::Int(rollback)),
        ("notes", info.notes.as_str().into()),
    ]);
    Value::object(Structure {
        methods: INFO,
        results: vec![("MarshalJSON", encoded)],
        ..Structure::new(
            "*v1.Info",
            vec![
                ("FirstDeployed", time(info.first_deployed.as_ref())),
                ("LastDeployed", time(info.last_deployed.as_ref())),
                ("Deleted", time(info.deleted.as_ref())),
                ("Description", text(&info.description)),
                ("Status", named("common.Status", word, STATUS)),
                ("RollbackRevision", Value::int(rollback)),
                ("Notes", text(&info.notes)),
                ("Resources", Value::map(Map::new())),
            ],
        )
    })
}

fn moment(moment: Option<&Timestamp>) -> String {
    moment.map(ToString::to_string).unwrap_or_default()
}

/// Encodes fields as JSON in order, without empty ones, except for the phase of a hook.
fn encoded(fields: &[(&str, Node)]) -> Value {
    let written = |value: &Node| {
        let written = json::write(value).unwrap_or_default();
        String::from_utf8_lossy(&written).into_owned()
    };
    let is_empty = |value: &Node| *value == Node::Int(0) || value.as_str() == Some("");
    let fields: Vec<String> = fields
        .iter()
        .filter(|(name, value)| !is_empty(value) || *name == "phase")
        .map(|(name, value)| format!("\"{name}\":{}", written(value)))
        .collect();
    Value::Bytes(format!("{{{}}}", fields.join(",")).into())
}

/// The chart of a release. It has no parent and no dependencies: records do not store those. With `root`, its `Root`
/// method returns the chart itself.
fn chart(chart: &StoredChart, root: bool) -> Value {
    const LIST: &str = "[]*common.File";
    let files = |files: &[StoredFile]| slice(LIST, files.iter().map(file).collect());
    let name = &chart.metadata.name;
    let crds: Vec<&StoredFile> = chart.files().iter().filter(|file| is_crd(&file.name)).collect();
    let objects = crds.iter().map(|crd| {
        let path = format!("{name}/{}", crd.name);
        let fields = vec![("Name", text(&crd.name)), ("Filename", text(&path)), ("File", file(crd))];
        structure("v2.CRD", fields)
    });
    let mut results = vec![
        ("Name", text(name)),
        ("AppVersion", text(&chart.metadata.app_version)),
        ("IsRoot", Value::Bool(true)),
        ("ChartPath", text(name)),
        ("ChartFullPath", text(name)),
        ("Dependencies", slice("[]*v2.Chart", Vec::new())),
        ("Parent", absent("*v2.Chart")),
        ("Validate", absent("error")),
        ("CRDs", slice(LIST, crds.iter().map(|crd| file(crd)).collect())),
        ("CRDObjects", slice("[]v2.CRD", objects.collect())),
    ];
    if root {
        results.push(("Root", self::chart(chart, false)));
    }
    Value::object(Structure {
        methods: CHART,
        results,
        ..Structure::new(
            "*v2.Chart",
            vec![
                ("Raw", slice(LIST, Vec::new())),
                ("Metadata", metadata(&chart.metadata)),
                ("Lock", chart.lock.as_ref().map_or_else(|| absent("*v2.Lock"), lock)),
                ("Templates", files(chart.templates())),
                ("Values", values(&chart.values)),
                ("Schema", bytes(chart.schema.as_ref())),
                ("SchemaModTime", time(chart.schema_modified.as_ref())),
                ("Files", files(chart.files())),
                ("ModTime", time(chart.modified.as_ref())),
            ],
        )
    })
}

fn is_crd(path: &str) -> bool {
    path.starts_with("crds/") && [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end))
}

fn file(file: &StoredFile) -> Value {
    structure(
        "*common.File",
        vec![
            ("Name", text(&file.name)),
            ("Data", bytes(file.data.as_ref())),
            ("ModTime", time(file.modified.as_ref())),
        ],
    )
}

fn lock(lock: &Lock) -> Value {
    let generated = Timestamp::parse(&lock.generated).ok();
    structure(
        "*v2.Lock",
        vec![
            ("Generated", time(generated.as_ref())),
            ("Digest", text(&lock.digest)),
            ("Dependencies", slice("[]*v2.Dependency", lock.dependencies.iter().map(dependency).collect())),
        ],
    )
}

fn hook(hook: &StoredHook) -> Value {
    let last = &hook.last_run;
    let encoded = encoded(&[
        ("started_at", moment(last.started.as_ref()).into()),
        ("completed_at", moment(last.completed.as_ref()).into()),
        ("phase", last.phase.as_str().into()),
    ]);
    let run = Structure {
        methods: RUN,
        results: vec![("MarshalJSON", encoded)],
        ..Structure::new(
            "v1.HookExecution",
            vec![
                ("StartedAt", time(last.started.as_ref())),
                ("CompletedAt", time(last.completed.as_ref())),
                ("Phase", named("v1.HookPhase", last.phase.as_str(), STRING)),
            ],
        )
    };
    let events = hook.events.iter().map(|event| event.as_str());
    let deletes = hook.delete_policies.iter().map(String::as_str);
    let logs = hook.output_log_policies.iter().map(String::as_str);
    structure(
        "*v1.Hook",
        vec![
            ("Name", text(&hook.name)),
            ("Kind", text(&hook.kind)),
            ("Path", text(&hook.path)),
            ("Manifest", text(&hook.manifest)),
            ("Events", words("[]v1.HookEvent", "v1.HookEvent", events)),
            ("LastRun", Value::object(run)),
            ("Weight", Value::int(hook.weight)),
            ("DeletePolicies", words("[]v1.HookDeletePolicy", "v1.HookDeletePolicy", deletes)),
            ("OutputLogPolicies", words("[]v1.HookOutputLogPolicy", "v1.HookOutputLogPolicy", logs)),
        ],
    )
}

fn metadata(metadata: &Metadata) -> Value {
    let maintainers = metadata.maintainers.iter().map(|person| {
        let fields =
            vec![("Name", text(&person.name)), ("Email", text(&person.email)), ("URL", text(&person.url))];
        validated("*v2.Maintainer", fields)
    });
    validated(
        "*v2.Metadata",
        vec![
            ("Name", text(&metadata.name)),
            ("Home", text(&metadata.home)),
            ("Sources", texts(metadata.sources.iter().map(String::as_str))),
            ("Version", text(&metadata.version)),
            ("Description", text(&metadata.description)),
            ("Keywords", texts(metadata.keywords.iter().map(String::as_str))),
            ("Maintainers", slice("[]*v2.Maintainer", maintainers.collect())),
            ("Icon", text(&metadata.icon)),
            ("APIVersion", text(&metadata.api_version)),
            ("Condition", text(&metadata.condition)),
            ("Tags", text(&metadata.tags)),
            ("AppVersion", text(&metadata.app_version)),
            ("Deprecated", Value::Bool(metadata.deprecated)),
            ("Annotations", pairs(&metadata.annotations)),
            ("KubeVersion", text(&metadata.kube_version)),
            (
                "Dependencies",
                slice("[]*v2.Dependency", metadata.dependencies.iter().map(dependency).collect()),
            ),
            ("Type", text(&metadata.kind)),
        ],
    )
}

fn dependency(entry: &Dependency) -> Value {
    validated(
        "*v2.Dependency",
        vec![
            ("Name", text(&entry.name)),
            ("Version", text(&entry.version)),
            ("Repository", text(&entry.repository)),
            ("Condition", text(&entry.condition)),
            ("Tags", texts(entry.tags.iter().map(String::as_str))),
            ("Enabled", Value::Bool(entry.enabled)),
            ("ImportValues", Value::from_node(&Node::List(entry.import_values.clone()))),
            ("Alias", text(&entry.alias)),
        ],
    )
}

/// A struct with a `Validate` method. It succeeds, because what is stored was validated before it was installed.
fn validated(name: &'static str, fields: Vec<(&'static str, Value)>) -> Value {
    let results = vec![("Validate", absent("error"))];
    Value::object(Structure { methods: VALIDATE, results, ..Structure::new(name, fields) })
}

//! A release as Go templates see it: the fields of Helm's structures, by the names that they have in Go.

use std::any::Any;
use std::collections::BTreeMap;

use pintle::chart::metadata::{Dependency, Metadata};
use pintle::release::{Moment, ReleaseVersion, StoredHook};
use pintle_gotmpl::{Encoded, Object, Value};
use pintle_tree::{Map, Node};

use crate::output::moment;

/// What `get all --template` can pick from.
pub(super) fn data(version: &ReleaseVersion) -> Value {
    let mut root = Map::new();
    root.insert("Release".into(), release(version));
    Value::map(root)
}

/// A Go structure.
#[derive(Debug)]
struct Structure {
    name: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Object for Structure {
    fn type_name(&self) -> &'static str {
        self.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.iter().find(|(other, _)| *other == name).map(|(_, value)| value.clone())
    }

    fn print(&self) -> String {
        let values = self.fields.iter().map(|(_, value)| {
            String::from_utf8_lossy(pintle_gotmpl::print::to_str(value).as_bytes()).into_owned()
        });
        format!("{{{}}}", values.collect::<Vec<String>>().join(" "))
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(self.fields.clone())
    }
}

fn structure(name: &'static str, fields: Vec<(&'static str, Value)>) -> Value {
    Value::object(Structure { name, fields })
}

fn text(text: &str) -> Value {
    Value::from(text)
}

fn time(time: Option<&Moment>) -> Value {
    match time {
        Some(_) => text(&moment::plain(time, "")),
        None => text("0001-01-01 00:00:00 +0000 UTC"),
    }
}

fn integer(number: i64) -> Value {
    Value::from_node(&Node::Int(number))
}

fn texts<'a>(items: impl IntoIterator<Item = &'a str>) -> Value {
    Value::list(items.into_iter().map(text).collect())
}

fn pairs(pairs: &BTreeMap<String, String>) -> Value {
    let mut map = Map::new();
    for (key, value) in pairs {
        map.insert(key.as_str().into(), text(value));
    }
    Value::map(map)
}

fn release(version: &ReleaseVersion) -> Value {
    let info = &version.info;
    let info = vec![
        ("FirstDeployed", time(info.first_deployed.as_ref())),
        ("LastDeployed", time(info.last_deployed.as_ref())),
        ("Deleted", time(info.deleted.as_ref())),
        ("Description", text(&info.description)),
        ("Status", text(version.status_word())),
        ("Notes", text(&info.notes)),
    ];
    let values =
        |values: &Option<Map<Node>>| Value::from_node(&Node::Map(values.clone().unwrap_or_default()));
    let chart = vec![
        ("Metadata", metadata(&version.chart.metadata)),
        ("Values", values(&version.chart.values)),
        (
            "Schema",
            text(version.chart.schema.as_ref().and_then(|schema| schema.as_str()).unwrap_or_default()),
        ),
    ];
    structure(
        "*v1.Release",
        vec![
            ("Name", text(&version.name)),
            ("Info", structure("*v1.Info", info)),
            ("Chart", structure("*v2.Chart", chart)),
            ("Config", values(&version.config)),
            ("Manifest", text(&version.manifest)),
            ("Hooks", Value::list(version.hooks.iter().map(hook).collect())),
            ("Version", integer(i64::try_from(version.number).unwrap_or(i64::MAX))),
            ("Namespace", text(&version.namespace)),
            ("Labels", pairs(&version.labels)),
            ("ApplyMethod", text(&version.apply_method)),
        ],
    )
}

fn hook(hook: &StoredHook) -> Value {
    let run = vec![
        ("StartedAt", time(hook.last_run.started.as_ref())),
        ("CompletedAt", time(hook.last_run.completed.as_ref())),
        ("Phase", text(hook.last_run.phase.as_str())),
    ];
    structure(
        "*v1.Hook",
        vec![
            ("Name", text(&hook.name)),
            ("Kind", text(&hook.kind)),
            ("Path", text(&hook.path)),
            ("Manifest", text(&hook.manifest)),
            ("Events", texts(hook.events.iter().map(|event| event.as_str()))),
            ("LastRun", structure("v1.HookExecution", run)),
            ("Weight", integer(hook.weight)),
            ("DeletePolicies", texts(hook.delete_policies.iter().map(String::as_str))),
            ("OutputLogPolicies", texts(hook.output_log_policies.iter().map(String::as_str))),
        ],
    )
}

fn metadata(metadata: &Metadata) -> Value {
    let maintainers = metadata.maintainers.iter().map(|person| {
        let fields =
            vec![("Name", text(&person.name)), ("Email", text(&person.email)), ("URL", text(&person.url))];
        structure("*v2.Maintainer", fields)
    });
    structure(
        "*v2.Metadata",
        vec![
            ("Name", text(&metadata.name)),
            ("Home", text(&metadata.home)),
            ("Sources", texts(metadata.sources.iter().map(String::as_str))),
            ("Version", text(&metadata.version)),
            ("Description", text(&metadata.description)),
            ("Keywords", texts(metadata.keywords.iter().map(String::as_str))),
            ("Maintainers", Value::list(maintainers.collect())),
            ("Icon", text(&metadata.icon)),
            ("APIVersion", text(&metadata.api_version)),
            ("Condition", text(&metadata.condition)),
            ("Tags", text(&metadata.tags)),
            ("AppVersion", text(&metadata.app_version)),
            ("Deprecated", Value::Bool(metadata.deprecated)),
            ("Annotations", pairs(&metadata.annotations)),
            ("KubeVersion", text(&metadata.kube_version)),
            ("Dependencies", Value::list(metadata.dependencies.iter().map(dependency).collect())),
            ("Type", text(&metadata.kind)),
        ],
    )
}

fn dependency(entry: &Dependency) -> Value {
    structure(
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

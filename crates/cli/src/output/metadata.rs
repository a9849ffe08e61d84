//! The output of `get metadata`.

use pintle::chart::metadata::Dependency;
use pintle::release::ReleaseVersion;
use pintle_tree::quote::quote;
use pintle_tree::{Map, Node};

use super::format::Record;
use super::time;

/// The text output.
pub(crate) fn lines(version: &ReleaseVersion) -> String {
    let metadata = &version.chart.metadata;
    let mut dependencies: Vec<&str> = metadata.dependencies.iter().map(|entry| entry.name.as_str()).collect();
    dependencies.sort_unstable();
    let rows: [(&str, String); 12] = [
        ("NAME", version.name.clone()),
        ("CHART", metadata.name.clone()),
        ("VERSION", metadata.version.clone()),
        ("APP_VERSION", metadata.app_version.clone()),
        ("ANNOTATIONS", pairs(&metadata.annotations)),
        ("LABELS", pairs(&version.labels)),
        ("DEPENDENCIES", dependencies.join(",")),
        ("NAMESPACE", version.namespace.clone()),
        ("REVISION", version.number.to_string()),
        ("STATUS", version.status_word().to_owned()),
        ("DEPLOYED_AT", time::seconds(version.info.last_deployed.as_ref())),
        ("APPLY_METHOD", apply_method(&version.apply_method)),
    ];
    rows.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

/// The record for JSON and YAML.
pub(crate) fn record(version: &ReleaseVersion) -> Record {
    let metadata = &version.chart.metadata;
    Record::default()
        .with("name", version.name.as_str())
        .with("chart", metadata.name.as_str())
        .with("version", metadata.version.as_str())
        .with("appVersion", metadata.app_version.as_str())
        .with_option("annotations", map(&metadata.annotations))
        .with_option("labels", map(&version.labels))
        .with_records("dependencies", metadata.dependencies.iter().map(dependency).collect())
        .with("namespace", version.namespace.as_str())
        .with("revision", i64::try_from(version.number).unwrap_or(i64::MAX))
        .with("status", version.status_word())
        .with("deployedAt", time::seconds(version.info.last_deployed.as_ref()))
        .with_option("applyMethod", non_empty(&version.apply_method))
}

fn dependency(entry: &Dependency) -> Record {
    let list = |items: &[Node]| Some(Node::List(items.to_vec())).filter(|_| !items.is_empty());
    let tags: Vec<Node> = entry.tags.iter().map(|tag| Node::from(tag.as_str())).collect();
    Record::default()
        .with("name", entry.name.as_str())
        .with_option("version", non_empty(&entry.version))
        .with("repository", entry.repository.as_str())
        .with_option("condition", non_empty(&entry.condition))
        .with_option("tags", list(&tags))
        .with_option("enabled", Some(true).filter(|_| entry.enabled))
        .with_option("import-values", list(&entry.import_values))
        .with_option("alias", non_empty(&entry.alias))
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Pairs in the form of a label selector, sorted.
fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let mut pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.sort_unstable();
    pairs.join(",")
}

fn map<'a>(pairs: impl IntoIterator<Item = (&'a String, &'a String)>) -> Option<Node> {
    let mut map = Map::new();
    for (key, value) in pairs {
        map.insert(key.as_str().into(), value.as_str().into());
    }
    Some(Node::Map(map)).filter(|node| node.as_map().is_some_and(|map| !map.is_empty()))
}

fn apply_method(word: &str) -> String {
    match word {
        "" => "client-side apply (defaulted)".to_owned(),
        "csa" => "client-side apply".to_owned(),
        "ssa" => "server-side apply".to_owned(),
        other => format!("unknown ({})", quote(other.as_bytes())),
    }
}

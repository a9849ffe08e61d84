//! The JSON of a release into a record, with the errors that Helm's decoder has.

use pintle_chart::metadata::{Dependency, Lock, METADATA, Maintainer, Metadata};
use pintle_objects::HookEvent;
use pintle_tree::{Map, Node, json};

use super::Error;
use super::go::{Fatal, Place, Reading};
use crate::{HookPhase, HookRun, Oddities, ReleaseVersion, Status, StoredChart, StoredFile, StoredHook};

const ANY_MAP: &str = "map[string]interface {}";

/// Reads the JSON of a release.
///
/// # Errors
/// What Helm's decoder refuses, in its words.
pub fn decode(text: &[u8]) -> Result<ReleaseVersion, Error> {
    check_values(text)?;
    let mut root = json::read(text)?;
    keep_digits(&mut root, text)?;
    release(&root).map_err(Error::new)
}

/// Gives the number of the version the digits that it was written with. All else that is read as anything has Go's
/// floats, but the number is an integer in Go, too, and floats are inexact beyond 2^53.
fn keep_digits(root: &mut Node, text: &[u8]) -> Result<(), Error> {
    let Node::Map(fields) = root else { return Ok(()) };
    let Some(Node::Float(number)) = fields.get("version") else { return Ok(()) };
    if number.abs() >= 9_007_199_254_740_992.0
        && let Some(exact @ Node::Int(_)) = json::read_exact(text)?.get("version")
    {
        fields.insert("version".into(), exact.clone());
    }
    Ok(())
}

/// The most values that the JSON of a release may have: each takes many times its text in memory, and a record that is
/// nothing but small values packs a thousand times over.
const MAX_VALUES: usize = 4_000_000;

/// Texts up to this length, in bytes, cannot have too many.
const SHORT: usize = MAX_VALUES;

fn check_values(text: &[u8]) -> Result<(), Error> {
    if text.len() <= SHORT {
        return Ok(());
    }
    // Commas in texts count too; what is written in texts has few of them.
    let values = text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    if values > MAX_VALUES {
        return Err(Error::new(format!("the release has more than {MAX_VALUES} values")));
    }
    Ok(())
}

/// Reads a YAML list of releases, as Helm's memory driver takes them from files.
///
/// # Errors
/// What is no YAML, no list, or no release.
pub fn decode_list(text: &[u8]) -> Result<Vec<ReleaseVersion>, Error> {
    let items = pintle_yaml::read_list(text).map_err(|error| Error::new(error.to_string()))?;
    items.iter().filter(|item| !item.is_nil()).map(|item| release(item).map_err(Error::new)).collect()
}

fn release(root: &Node) -> Result<ReleaseVersion, Fatal> {
    const NAMES: [&str; 9] =
        ["name", "info", "chart", "config", "manifest", "hooks", "version", "namespace", "apply_method"];
    let mut version = ReleaseVersion::default();
    let mut oddities = Oddities { no_info: true, no_chart: true, ..Oddities::default() };
    let mut reading = Reading::default();
    reading.fields(root, &Place::ROOT, "v1.Release", &NAMES, |reading, name, value| {
        let place = Place::ROOT.field("Release", name);
        match name {
            "name" => reading.text(value, &place, "string", &mut version.name),
            "info" if !value.is_nil() => {
                oddities.no_info = false;
                info(value, &place, &mut version, &mut oddities)?;
            }
            "chart" if !value.is_nil() => {
                oddities.no_chart = false;
                version.chart = chart(reading, value, &place, &mut oddities)?;
            }
            "info" | "chart" => {}
            "config" => version.config = any_map(reading, value, &place),
            "manifest" => reading.text(value, &place, "string", &mut version.manifest),
            "hooks" => version.hooks = hooks(reading, value, &place, &mut oddities)?,
            "version" => {
                let mut number = 0;
                reading.int(value, &place, &mut number);
                version.number = u64::try_from(number).unwrap_or(0);
            }
            "namespace" => reading.text(value, &place, "string", &mut version.namespace),
            _ => reading.text(value, &place, "string", &mut version.apply_method),
        }
        Ok(())
    })?;
    reading.finish()?;
    if oddities != Oddities::default() {
        version.oddities = Some(Box::new(oddities));
    }
    Ok(version)
}

fn any_map(reading: &mut Reading, value: &Node, place: &Place<'_>) -> Option<Map<Node>> {
    any_map_of(reading, value, place, ANY_MAP)
}

/// Reads `info` into `version`. Helm has a decoder of its own for it, because Helm 3 wrote empty texts for no time.
pub(super) fn info(
    value: &Node,
    place: &Place<'_>,
    version: &mut ReleaseVersion,
    oddities: &mut Oddities,
) -> Result<(), Fatal> {
    const NAMES: [&str; 7] =
        ["first_deployed", "last_deployed", "deleted", "description", "status", "notes", "resources"];
    let mut status = String::new();
    let info = &mut version.info;
    Reading::within(|reading| {
        reading.fields(value, place, ANY_MAP, &NAMES, |reading, name, value| {
            let place = place.field("Release", name);
            match name {
                "first_deployed" => moment(value, &mut info.first_deployed)?,
                "last_deployed" => moment(value, &mut info.last_deployed)?,
                "deleted" => moment(value, &mut info.deleted)?,
                "description" => reading.text(value, &place, "string", &mut info.description),
                "status" => reading.text(value, &place, "common.Status", &mut status),
                "notes" => reading.text(value, &place, "string", &mut info.notes),
                _ => oddities.resources = resources(reading, value, &place),
            }
            Ok(())
        })
    })?;
    match Status::from_word(&status) {
        Some(status) => info.status = status,
        None => oddities.status = Some(status),
    }
    Ok(())
}

/// A time that may also be an empty text.
fn moment(value: &Node, target: &mut Option<crate::Moment>) -> Result<(), Fatal> {
    if value.as_text().is_some_and(|text| text.is_empty()) { Ok(()) } else { Reading::moment(value, target) }
}

/// Lists of objects by kind. Go cannot read objects into an interface, so that only empty lists ever come back.
fn resources(reading: &mut Reading, value: &Node, place: &Place<'_>) -> Map<Node> {
    let Some(map) = any_map_of(reading, value, place, "map[string][]runtime.Object") else {
        return Map::new();
    };
    for list in map.values() {
        match list {
            Node::Nil => {}
            Node::List(items) => {
                if let Some(item) = items.iter().find(|item| !item.is_nil()) {
                    reading.clash(item, place, "runtime.Object");
                }
            }
            other => reading.clash(other, place, "[]runtime.Object"),
        }
    }
    map
}

fn any_map_of(reading: &mut Reading, value: &Node, place: &Place<'_>, go_type: &str) -> Option<Map<Node>> {
    match value {
        Node::Nil => None,
        Node::Map(map) => Some(map.clone()),
        other => {
            reading.clash(other, place, go_type);
            None
        }
    }
}

fn hooks(
    reading: &mut Reading,
    value: &Node,
    place: &Place<'_>,
    oddities: &mut Oddities,
) -> Result<Vec<StoredHook>, Fatal> {
    let mut count = 0;
    let list = reading.list(value, place, "[]*v1.Hook", |reading, index, item| {
        if item.is_nil() {
            oddities.nil_hooks.push(index);
            return Ok(None);
        }
        let (hook, events) = hook(reading, item, place)?;
        if let Some(events) = events {
            oddities.events.insert(count, events);
        }
        count += 1;
        Ok(Some(hook))
    })?;
    Ok(list.unwrap_or_default())
}

/// Reads one hook, and gives the words of its events if one of them is none of ours.
fn hook(
    reading: &mut Reading,
    value: &Node,
    place: &Place<'_>,
) -> Result<(StoredHook, Option<Vec<String>>), Fatal> {
    const NAMES: [&str; 9] = [
        "name",
        "kind",
        "path",
        "manifest",
        "events",
        "last_run",
        "weight",
        "delete_policies",
        "output_log_policies",
    ];
    let mut hook = StoredHook::default();
    let mut odd_events = None;
    reading.fields(value, place, "v1.Hook", &NAMES, |reading, name, value| {
        let place = place.field("Hook", name);
        match name {
            "name" => reading.text(value, &place, "string", &mut hook.name),
            "kind" => reading.text(value, &place, "string", &mut hook.kind),
            "path" => reading.text(value, &place, "string", &mut hook.path),
            "manifest" => reading.text(value, &place, "string", &mut hook.manifest),
            "events" => {
                let words = reading.texts(value, &place, "v1.HookEvent");
                let known = |word: &String| HookEvent::ALL.into_iter().find(|event| event.as_str() == word);
                hook.events = words.iter().filter_map(known).collect();
                odd_events = (hook.events.len() < words.len()).then_some(words);
            }
            "last_run" => hook.last_run = hook_run(value, &place)?,
            "weight" => reading.int(value, &place, &mut hook.weight),
            "delete_policies" => hook.delete_policies = reading.texts(value, &place, "v1.HookDeletePolicy"),
            _ => hook.output_log_policies = reading.texts(value, &place, "v1.HookOutputLogPolicy"),
        }
        Ok(())
    })?;
    Ok((hook, odd_events))
}

fn hook_run(value: &Node, place: &Place<'_>) -> Result<HookRun, Fatal> {
    const NAMES: [&str; 3] = ["started_at", "completed_at", "phase"];
    let mut run = HookRun::default();
    let mut phase = String::new();
    Reading::within(|reading| {
        reading.fields(value, place, ANY_MAP, &NAMES, |reading, name, value| {
            let place = place.field("Hook", name);
            match name {
                "started_at" => moment(value, &mut run.started)?,
                "completed_at" => moment(value, &mut run.completed)?,
                _ => reading.text(value, &place, "v1.HookPhase", &mut phase),
            }
            Ok(())
        })
    })?;
    run.phase = HookPhase::from_word(&phase);
    Ok(run)
}

fn chart(
    reading: &mut Reading,
    value: &Node,
    place: &Place<'_>,
    oddities: &mut Oddities,
) -> Result<StoredChart, Fatal> {
    const NAMES: [&str; 8] =
        ["metadata", "lock", "templates", "values", "schema", "schemamodtime", "files", "modtime"];
    let mut chart = StoredChart::default();
    oddities.no_metadata = true;
    reading.fields(value, place, "v2.Chart", &NAMES, |reading, name, value| {
        let place = place.field("Chart", name);
        match name {
            "metadata" => {
                oddities.no_metadata = value.is_nil();
                chart.metadata = metadata(reading, value, &place)?;
            }
            "lock" if value.is_nil() => {}
            "lock" => chart.lock = Some(lock(reading, value, &place)?),
            "templates" => chart.templates = files(reading, value, &place)?,
            "values" => chart.values = any_map(reading, value, &place),
            "schema" => reading.bytes(value, &place, &mut chart.schema),
            "schemamodtime" => Reading::moment(value, &mut chart.schema_modified)?,
            "files" => chart.files = files(reading, value, &place)?,
            _ => Reading::moment(value, &mut chart.modified)?,
        }
        Ok(())
    })?;
    Ok(chart)
}

fn files(reading: &mut Reading, value: &Node, place: &Place<'_>) -> Result<Option<Vec<StoredFile>>, Fatal> {
    reading.list(value, place, "[]*common.File", |reading, _, item| {
        let mut file = StoredFile::default();
        reading.fields(
            item,
            place,
            "common.File",
            &["name", "data", "modtime"],
            |reading, name, value| {
                let place = place.field("File", name);
                match name {
                    "name" => reading.text(value, &place, "string", &mut file.name),
                    "data" => reading.bytes(value, &place, &mut file.data),
                    _ => Reading::moment(value, &mut file.modified)?,
                }
                Ok(())
            },
        )?;
        Ok(Some(file))
    })
}

pub(super) fn metadata(reading: &mut Reading, value: &Node, place: &Place<'_>) -> Result<Metadata, Fatal> {
    let mut metadata = Metadata::default();
    reading.fields(value, place, "v2.Metadata", &METADATA, |reading, name, value| {
        let place = place.field("Metadata", name);
        let target = match name {
            "sources" => {
                metadata.sources = reading.texts(value, &place, "string");
                return Ok(());
            }
            "keywords" => {
                metadata.keywords = reading.texts(value, &place, "string");
                return Ok(());
            }
            "maintainers" => {
                metadata.maintainers = maintainers(reading, value, &place)?;
                return Ok(());
            }
            "dependencies" => {
                metadata.declares_dependencies = value.as_list().is_some();
                metadata.dependencies = dependencies(reading, value, &place)?;
                return Ok(());
            }
            "deprecated" => {
                reading.bool(value, &place, &mut metadata.deprecated);
                return Ok(());
            }
            "annotations" => {
                annotations(reading, value, &place, &mut metadata);
                return Ok(());
            }
            "name" => &mut metadata.name,
            "home" => &mut metadata.home,
            "version" => &mut metadata.version,
            "description" => &mut metadata.description,
            "icon" => &mut metadata.icon,
            "apiVersion" => &mut metadata.api_version,
            "condition" => &mut metadata.condition,
            "tags" => &mut metadata.tags,
            "appVersion" => &mut metadata.app_version,
            "kubeVersion" => &mut metadata.kube_version,
            _ => &mut metadata.kind,
        };
        reading.text(value, &place, "string", target);
        Ok(())
    })?;
    Ok(metadata)
}

fn annotations(reading: &mut Reading, value: &Node, place: &Place<'_>, metadata: &mut Metadata) {
    for (key, value) in any_map_of(reading, value, place, "map[string]string").unwrap_or_default() {
        let mut text = String::new();
        reading.text(&value, place, "string", &mut text);
        metadata.annotations.insert(key.to_str_lossy().into_owned(), text);
    }
}

fn maintainers(reading: &mut Reading, value: &Node, place: &Place<'_>) -> Result<Vec<Maintainer>, Fatal> {
    let list = reading.list(value, place, "[]*v2.Maintainer", |reading, _, item| {
        let mut maintainer = Maintainer::default();
        reading.fields(item, place, "v2.Maintainer", &["name", "email", "url"], |reading, name, value| {
            let target = match name {
                "name" => &mut maintainer.name,
                "email" => &mut maintainer.email,
                _ => &mut maintainer.url,
            };
            reading.text(value, &place.field("Maintainer", name), "string", target);
            Ok(())
        })?;
        Ok((!item.is_nil()).then_some(maintainer))
    })?;
    Ok(list.unwrap_or_default())
}

fn dependencies(reading: &mut Reading, value: &Node, place: &Place<'_>) -> Result<Vec<Dependency>, Fatal> {
    const NAMES: [&str; 8] =
        ["name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"];
    let list = reading.list(value, place, "[]*v2.Dependency", |reading, _, item| {
        let mut dependency = Dependency::default();
        reading.fields(item, place, "v2.Dependency", &NAMES, |reading, name, value| {
            let place = place.field("Dependency", name);
            match name {
                "name" => reading.text(value, &place, "string", &mut dependency.name),
                "version" => reading.text(value, &place, "string", &mut dependency.version),
                "repository" => reading.text(value, &place, "string", &mut dependency.repository),
                "condition" => reading.text(value, &place, "string", &mut dependency.condition),
                "tags" => dependency.tags = reading.texts(value, &place, "string"),
                "enabled" => reading.bool(value, &place, &mut dependency.enabled),
                "import-values" => match value {
                    Node::List(items) => dependency.import_values = items.clone(),
                    Node::Nil => {}
                    other => reading.clash(other, &place, "[]interface {}"),
                },
                _ => reading.text(value, &place, "string", &mut dependency.alias),
            }
            Ok(())
        })?;
        Ok((!item.is_nil()).then_some(dependency))
    })?;
    Ok(list.unwrap_or_default())
}

fn lock(reading: &mut Reading, value: &Node, place: &Place<'_>) -> Result<Lock, Fatal> {
    let mut lock = Lock::default();
    reading.fields(
        value,
        place,
        "v2.Lock",
        &["generated", "digest", "dependencies"],
        |reading, name, value| {
            let place = place.field("Lock", name);
            match name {
                "generated" => {
                    let mut generated = None;
                    Reading::moment(value, &mut generated)?;
                    lock.generated = generated.map(|moment| moment.to_string()).unwrap_or_default();
                }
                "digest" => reading.text(value, &place, "string", &mut lock.digest),
                _ => lock.dependencies = dependencies(reading, value, &place)?,
            }
            Ok(())
        },
    )?;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_versions_keep_all_their_digits() {
        for number in [7, 9_007_199_254_740_993, 9_223_372_036_854_775_807_u64] {
            let text = format!("{{\"name\":\"a\",\"version\":{number}}}");
            assert_eq!(decode(text.as_bytes()).expect("a release").number, number);
        }
        let error = decode(b"{\"version\":9223372036854775808}").expect_err("too large for Go");
        assert!(error.to_string().contains("of type int"), "{error}");
    }
    use crate::helm::encode;

    fn error(text: &str) -> String {
        decode(text.as_bytes()).expect_err("no release").to_string()
    }

    #[test]
    fn a_record_of_too_many_values_is_refused_before_it_takes_memory() {
        let text = format!(r#"{{"config":{{"a":[{}0]}}}}"#, "0,".repeat(MAX_VALUES + 1));
        assert_eq!(error(&text), format!("the release has more than {MAX_VALUES} values"));
        let long = format!(r#"{{"name":"r","manifest":"{}"}}"#, "x".repeat(SHORT + 1));
        assert_eq!(decode(long.as_bytes()).expect("a release").name, "r");
    }

    #[test]
    fn complaints_are_those_of_go() {
        for (text, rest) in [
            (
                r#"{"chart":{"metadata":{"name":5}}}"#,
                "number into Go struct field Metadata.chart.metadata.name of type string",
            ),
            (
                r#"{"chart":{"templates":[{"name":[]}]}}"#,
                "array into Go struct field File.chart.templates.name of type string",
            ),
            (
                r#"{"info":{"status":5}}"#,
                "number into Go struct field Release.info.status of type common.Status",
            ),
            (r#"{"info":"x"}"#, "string into Go struct field Release.info of type map[string]interface {}"),
            (
                r#"{"hooks":[{"last_run":{"phase":1}}]}"#,
                "number into Go struct field Hook.hooks.last_run.phase of type v1.HookPhase",
            ),
            (r#"{"hooks":{}}"#, "object into Go struct field Release.hooks of type []*v1.Hook"),
            ("3", "number into Go value of type v1.Release"),
        ] {
            assert_eq!(error(text), format!("json: cannot unmarshal {rest}"), "{text}");
        }
        assert_eq!(
            error(r#"{"name":5,"chart":{"modtime":"x"}}"#),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
        );
        assert_eq!(error(r#"{"chart":{"schema":"a?=="}}"#), "illegal base64 data at input byte 1");
    }

    #[test]
    fn oddities_are_written_back() {
        for text in [
            r#"{}"#,
            r#"{"name":"x","info":{"status":"weird"}}"#,
            r#"{"info":{"status":"deployed"},"chart":{"metadata":null,"lock":null,"templates":[],"values":null,"schema":"","schemamodtime":"0001-01-01T00:00:00Z","files":[{"name":"a","data":null}]}}"#,
            r#"{"hooks":[null,{"name":"a","events":["crd-install","test"],"last_run":{"phase":"Odd"}},null]}"#,
        ] {
            let version = decode(text.as_bytes()).expect("a release");
            assert_eq!(String::from_utf8(encode(&version).expect("can be written")).expect("text"), text);
        }
    }

    #[test]
    fn lists_of_releases_come_from_yaml() {
        let list =
            decode_list(b"- name: a\n  version: 2\n  info: {status: failed}\n- name: b\n").expect("a list");
        assert_eq!((list[0].number, list[0].info.status, list[1].name.as_str()), (2, Status::Failed, "b"));
    }
}

//! Decodes the JSON of a release, with the errors of Helm's decoder.

use pintle_chart::metadata::{Dependency, Lock, METADATA, Maintainer, Metadata};
use pintle_objects::HookEvent;
use pintle_tree::{Map, Node, json};

use super::go_json::{Decoder, FieldPath};
use super::{Error, outline};
use crate::{
    HookPhase, HookRun, PreservedFields, ReleaseVersion, Status, StoredChart, StoredFile, StoredHook,
};

const ANY_MAP: &str = "map[string]interface {}";

/// Decodes the JSON of a release.
///
/// # Errors
/// Helm's message.
pub fn decode(text: &[u8]) -> Result<ReleaseVersion, Error> {
    check_values(text)?;
    let mut root = json::read(text)?;
    // Parsing exactly from the start would be simpler, but then integers in values would be integers, and they are
    // floats for Helm's templates.
    restore_exact_version(&mut root, text)?;
    release(&root).map_err(Error::new)
}

/// As [`decode`], without templates, schema and files of the chart, which are most of a record: for what only needs the
/// rendered objects, or the values. Files that this program adds to records are kept.
///
/// # Errors
/// Helm's message.
pub fn decode_without_files(text: Vec<u8>) -> Result<ReleaseVersion, Error> {
    check_values(&text)?;
    match outline::read(&text) {
        Ok(Some(mut root)) => {
            restore_exact_version(&mut root, &text)?;
            // The text takes most of the memory of reading a record.
            drop(text);
            release(&root).map_err(Error::new)
        }
        // Unusual or damaged: the errors are those of the reader that keeps everything.
        Ok(None) | Err(_) => decode(&text),
    }
}

/// Restores the exact version number. Untyped numbers are floats as in Go, which are inexact beyond 2^53, but Helm
/// decodes this field to an integer.
fn restore_exact_version(root: &mut Node, text: &[u8]) -> Result<(), Error> {
    let Node::Map(fields) = root else { return Ok(()) };
    let Some(Node::Float(number)) = fields.get("version") else { return Ok(()) };
    if number.abs() >= 9_007_199_254_740_992.0
        && let Some(exact @ Node::Int(_)) = json::read_exact(text)?.get("version")
    {
        fields.insert("version".into(), exact.clone());
    }
    Ok(())
}

/// The maximum number of JSON values in a record, as protection against records of many tiny values, which compress a
/// thousandfold and take far more memory than text.
const MAX_VALUES: usize = 4_000_000;

/// Texts up to this size cannot have too many values.
const UNCHECKED_BYTES: usize = MAX_VALUES;

fn check_values(text: &[u8]) -> Result<(), Error> {
    if text.len() <= UNCHECKED_BYTES {
        return Ok(());
    }
    // Commas inside strings count too, but there are few of them. Counting in bytes lets the compiler vectorize.
    let in_chunk =
        |chunk: &[u8]| chunk.iter().map(|byte| u8::from(matches!(byte, b',' | b'[' | b'{'))).sum::<u8>();
    let values: usize = text.chunks(usize::from(u8::MAX)).map(|chunk| usize::from(in_chunk(chunk))).sum();
    if values > MAX_VALUES {
        return Err(Error::new(format!("the release has more than {MAX_VALUES} values")));
    }
    Ok(())
}

/// Decodes a YAML list of releases, the format of Helm's memory driver files.
///
/// # Errors
/// Text that is not YAML, not a list, or contains an invalid release.
pub fn decode_list(text: &[u8]) -> Result<Vec<ReleaseVersion>, Error> {
    let items = pintle_yaml::read_list(text).map_err(|error| Error::new(error.to_string()))?;
    items.iter().filter(|item| !item.is_nil()).map(|item| release(item).map_err(Error::new)).collect()
}

fn release(root: &Node) -> Result<ReleaseVersion, String> {
    const NAMES: [&str; 9] =
        ["name", "info", "chart", "config", "manifest", "hooks", "version", "namespace", "apply_method"];
    let mut version = ReleaseVersion::default();
    // Whatever this program does not know is preserved: rewriting a record of Helm's, such as to mark it superseded,
    // must change nothing else.
    let mut preserved = PreservedFields { no_info: true, no_chart: true, ..PreservedFields::default() };
    let mut decoder = Decoder::default();
    let document = FieldPath::Root("Release");
    decoder.fields(root, &document, "v1.Release", &NAMES, |decoder, name, value| {
        let path = document.field(name);
        match name {
            "name" => decoder.text(value, &path, "string", &mut version.name),
            "info" if !value.is_nil() => {
                preserved.no_info = false;
                info(decoder, value, &mut version, &mut preserved);
            }
            "chart" if !value.is_nil() => {
                preserved.no_chart = false;
                version.chart = chart(decoder, value, &path, &mut preserved);
            }
            "info" | "chart" => {}
            "config" => version.config = any_map(decoder, value, &path),
            "manifest" => decoder.text(value, &path, "string", &mut version.manifest),
            "hooks" => version.hooks = hooks(decoder, value, &path, &mut preserved),
            "version" => {
                let mut number = 0;
                decoder.int(value, &path, &mut number);
                version.number = u64::try_from(number).unwrap_or(0);
            }
            "namespace" => decoder.text(value, &path, "string", &mut version.namespace),
            _ => decoder.text(value, &path, "string", &mut version.apply_method),
        }
    });
    decoder.finish()?;
    if preserved != PreservedFields::default() {
        version.preserved = Some(Box::new(preserved));
    }
    Ok(version)
}

fn any_map(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>) -> Option<Map<Node>> {
    any_map_of(decoder, value, path, ANY_MAP)
}

/// Decodes `info`. Helm has an `UnmarshalJSON` for it, because Helm 3 wrote empty strings for missing times.
pub(super) fn info(
    decoder: &mut Decoder,
    value: &Node,
    version: &mut ReleaseVersion,
    preserved: &mut PreservedFields,
) {
    const NAMES: [&str; 8] = [
        "first_deployed",
        "last_deployed",
        "deleted",
        "description",
        "status",
        "rollback_revision",
        "notes",
        "resources",
    ];
    let mut status = String::new();
    let info = &mut version.info;
    let document = FieldPath::Root("infoJSON");
    decoder.fields(value, &document, ANY_MAP, &NAMES, |decoder, name, value| {
        let path = document.field(name);
        match name {
            "first_deployed" => timestamp(decoder, value, &path, &mut info.first_deployed),
            "last_deployed" => timestamp(decoder, value, &path, &mut info.last_deployed),
            "deleted" => timestamp(decoder, value, &path, &mut info.deleted),
            "description" => decoder.text(value, &path, "string", &mut info.description),
            "status" => decoder.text(value, &path, "common.Status", &mut status),
            "rollback_revision" => {
                let mut number = 0;
                decoder.int(value, &path, &mut number);
                info.rollback_revision = u64::try_from(number).ok().filter(|number| *number != 0);
            }
            "notes" => decoder.text(value, &path, "string", &mut info.notes),
            _ => preserved.resources = resources(decoder, value, &path),
        }
    });
    match Status::parse(&status) {
        Some(status) => info.status = status,
        None => preserved.status = Some(status),
    }
}

/// A time that may also be an empty string.
fn timestamp(
    decoder: &mut Decoder,
    value: &Node,
    path: &FieldPath<'_>,
    target: &mut Option<crate::Timestamp>,
) {
    if !value.as_text().is_some_and(|text| text.is_empty()) {
        decoder.timestamp(value, path, target);
    }
}

/// Objects by kind. Go cannot decode objects to an interface, so only empty lists are accepted.
fn resources(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>) -> Map<Node> {
    let Some(map) = any_map_of(decoder, value, path, "map[string][]runtime.Object") else {
        return Map::new();
    };
    for (key, list) in map.iter() {
        let key = key.to_str_lossy();
        let path = path.field(&key);
        match list {
            Node::Nil => {}
            Node::List(items) => {
                if let Some(index) = items.iter().position(|item| !item.is_nil()) {
                    decoder.type_error(&items[index], &path.item(index), "runtime.Object");
                }
            }
            other => decoder.type_error(other, &path, "[]runtime.Object"),
        }
    }
    map
}

fn any_map_of(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>, go_type: &str) -> Option<Map<Node>> {
    match value {
        Node::Nil => None,
        Node::Map(map) => Some(map.clone()),
        other => {
            decoder.type_error(other, path, go_type);
            None
        }
    }
}

fn hooks(
    decoder: &mut Decoder,
    value: &Node,
    path: &FieldPath<'_>,
    preserved: &mut PreservedFields,
) -> Vec<StoredHook> {
    let mut count = 0;
    let list = decoder.list(value, path, "[]*v1.Hook", |decoder, index, item| {
        if item.is_nil() {
            preserved.nil_hooks.push(index);
            return None;
        }
        let (hook, events) = hook(decoder, item, &path.item(index));
        if let Some(events) = events {
            // By the index among the hooks that are kept; nulls are counted apart.
            preserved.events.insert(count, events);
        }
        count += 1;
        Some(hook)
    });
    list.unwrap_or_default()
}

/// Decodes a hook, and returns its event names if one of them is unknown.
fn hook(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>) -> (StoredHook, Option<Vec<String>>) {
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
    decoder.fields(value, path, "v1.Hook", &NAMES, |decoder, name, value| {
        let path = path.field(name);
        match name {
            "name" => decoder.text(value, &path, "string", &mut hook.name),
            "kind" => decoder.text(value, &path, "string", &mut hook.kind),
            "path" => decoder.text(value, &path, "string", &mut hook.path),
            "manifest" => decoder.text(value, &path, "string", &mut hook.manifest),
            "events" => {
                let words = decoder.texts(value, &path, "v1.HookEvent");
                let known = |word: &String| HookEvent::ALL.into_iter().find(|event| event.as_str() == word);
                hook.events = words.iter().filter_map(known).collect();
                odd_events = (hook.events.len() < words.len()).then_some(words);
            }
            "last_run" => hook.last_run = hook_run(decoder, value),
            "weight" => decoder.int(value, &path, &mut hook.weight),
            "delete_policies" => hook.delete_policies = decoder.texts(value, &path, "v1.HookDeletePolicy"),
            _ => hook.output_log_policies = decoder.texts(value, &path, "v1.HookOutputLogPolicy"),
        }
    });
    (hook, odd_events)
}

fn hook_run(decoder: &mut Decoder, value: &Node) -> HookRun {
    const NAMES: [&str; 3] = ["started_at", "completed_at", "phase"];
    let mut run = HookRun::default();
    let mut phase = String::new();
    let document = FieldPath::Root("hookExecutionJSON");
    decoder.fields(value, &document, ANY_MAP, &NAMES, |decoder, name, value| {
        let path = document.field(name);
        match name {
            "started_at" => timestamp(decoder, value, &path, &mut run.started),
            "completed_at" => timestamp(decoder, value, &path, &mut run.completed),
            _ => decoder.text(value, &path, "v1.HookPhase", &mut phase),
        }
    });
    run.phase = HookPhase::parse(&phase);
    run
}

fn chart(
    decoder: &mut Decoder,
    value: &Node,
    path: &FieldPath<'_>,
    preserved: &mut PreservedFields,
) -> StoredChart {
    const NAMES: [&str; 8] =
        ["metadata", "lock", "templates", "values", "schema", "schemamodtime", "files", "modtime"];
    let mut chart = StoredChart::default();
    // Until the field is seen: a missing one and a null are the same to Go.
    preserved.no_metadata = true;
    decoder.fields(value, path, "v2.Chart", &NAMES, |decoder, name, value| {
        let path = path.field(name);
        match name {
            "metadata" => {
                preserved.no_metadata = value.is_nil();
                chart.metadata = metadata(decoder, value, &path);
            }
            "lock" if value.is_nil() => {}
            "lock" => chart.lock = Some(lock(decoder, value, &path)),
            "templates" => chart.templates = files(decoder, value, &path),
            "values" => chart.values = any_map(decoder, value, &path),
            "schema" => decoder.bytes(value, &path, &mut chart.schema),
            "schemamodtime" => decoder.timestamp(value, &path, &mut chart.schema_modified),
            "files" => chart.files = files(decoder, value, &path),
            _ => decoder.timestamp(value, &path, &mut chart.modified),
        }
    });
    chart
}

fn files(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>) -> Option<Vec<StoredFile>> {
    decoder.list(value, path, "[]*common.File", |decoder, index, item| {
        let path = path.item(index);
        let mut file = StoredFile::default();
        decoder.fields(item, &path, "common.File", &["name", "data", "modtime"], |decoder, name, value| {
            let path = path.field(name);
            match name {
                "name" => decoder.text(value, &path, "string", &mut file.name),
                "data" => decoder.bytes(value, &path, &mut file.data),
                _ => decoder.timestamp(value, &path, &mut file.modified),
            }
        });
        Some(file)
    })
}

pub(super) fn metadata(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>) -> Metadata {
    let mut metadata = Metadata::default();
    decoder.fields(value, path, "v2.Metadata", &METADATA, |decoder, name, value| {
        let path = path.field(name);
        let target = match name {
            "sources" => {
                metadata.sources = decoder.texts(value, &path, "string");
                return;
            }
            "keywords" => {
                metadata.keywords = decoder.texts(value, &path, "string");
                return;
            }
            "maintainers" => {
                metadata.maintainers = maintainers(decoder, value, &path);
                return;
            }
            "dependencies" => {
                metadata.declares_dependencies = value.as_list().is_some();
                metadata.dependencies = dependencies(decoder, value, &path);
                return;
            }
            "deprecated" => {
                decoder.bool(value, &path, &mut metadata.deprecated);
                return;
            }
            "annotations" => {
                annotations(decoder, value, &path, &mut metadata);
                return;
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
        decoder.text(value, &path, "string", target);
    });
    metadata
}

fn annotations(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>, metadata: &mut Metadata) {
    for (key, value) in any_map_of(decoder, value, path, "map[string]string").unwrap_or_default() {
        let (key, mut text) = (key.to_str_lossy().into_owned(), String::new());
        decoder.text(&value, &path.field(&key), "string", &mut text);
        metadata.annotations.insert(key, text);
    }
}

fn maintainers(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>) -> Vec<Maintainer> {
    let list = decoder.list(value, path, "[]*v2.Maintainer", |decoder, index, item| {
        let path = path.item(index);
        let mut maintainer = Maintainer::default();
        decoder.fields(item, &path, "v2.Maintainer", &["name", "email", "url"], |decoder, name, value| {
            let target = match name {
                "name" => &mut maintainer.name,
                "email" => &mut maintainer.email,
                _ => &mut maintainer.url,
            };
            decoder.text(value, &path.field(name), "string", target);
        });
        (!item.is_nil()).then_some(maintainer)
    });
    list.unwrap_or_default()
}

fn dependencies(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>) -> Vec<Dependency> {
    const NAMES: [&str; 8] =
        ["name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"];
    let list = decoder.list(value, path, "[]*v2.Dependency", |decoder, index, item| {
        let path = path.item(index);
        let mut dependency = Dependency::default();
        decoder.fields(item, &path, "v2.Dependency", &NAMES, |decoder, name, value| {
            let path = path.field(name);
            match name {
                "name" => decoder.text(value, &path, "string", &mut dependency.name),
                "version" => decoder.text(value, &path, "string", &mut dependency.version),
                "repository" => decoder.text(value, &path, "string", &mut dependency.repository),
                "condition" => decoder.text(value, &path, "string", &mut dependency.condition),
                "tags" => dependency.tags = decoder.texts(value, &path, "string"),
                "enabled" => decoder.bool(value, &path, &mut dependency.enabled),
                "import-values" => match value {
                    Node::List(items) => dependency.import_values = items.clone(),
                    Node::Nil => {}
                    other => decoder.type_error(other, &path, "[]interface {}"),
                },
                _ => decoder.text(value, &path, "string", &mut dependency.alias),
            }
        });
        (!item.is_nil()).then_some(dependency)
    });
    list.unwrap_or_default()
}

fn lock(decoder: &mut Decoder, value: &Node, path: &FieldPath<'_>) -> Lock {
    let mut lock = Lock::default();
    decoder.fields(
        value,
        path,
        "v2.Lock",
        &["generated", "digest", "dependencies"],
        |decoder, name, value| {
            let path = path.field(name);
            match name {
                "generated" => {
                    let mut generated = None;
                    decoder.timestamp(value, &path, &mut generated);
                    lock.generated = generated.map(|timestamp| timestamp.to_string()).unwrap_or_default();
                }
                "digest" => decoder.text(value, &path, "string", &mut lock.digest),
                _ => lock.dependencies = dependencies(decoder, value, &path),
            }
        },
    );
    lock
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
        let long = format!(r#"{{"name":"r","manifest":"{}"}}"#, "x".repeat(UNCHECKED_BYTES + 1));
        assert_eq!(decode(long.as_bytes()).expect("a release").name, "r");
    }

    #[test]
    fn errors_are_those_of_go() {
        for (text, rest) in [
            (
                r#"{"chart":{"metadata":{"name":5}}}"#,
                "number into Go struct field Release.chart.metadata.name of type string",
            ),
            (
                r#"{"chart":{"templates":[{"name":[]}]}}"#,
                "array into Go struct field Release.chart.templates.0.name of type string",
            ),
            (r#"{"info":{"status":5}}"#, "number into Go struct field infoJSON.status of type common.Status"),
            (r#"{"info":"x"}"#, "string into Go value of type map[string]interface {}"),
            (
                r#"{"info":{"first_deployed":5}}"#,
                "number into Go struct field infoJSON.first_deployed of type time.Time",
            ),
            (
                r#"{"info":{"resources":{"a":[null,{}]}}}"#,
                "object into infoJSON.resources.a.1 of type runtime.Object",
            ),
            (
                r#"{"hooks":[null,{"weight":"x"}]}"#,
                "string into Go struct field Release.hooks.1.weight of type int",
            ),
            (r#"{"hooks":[{"events":[5]}]}"#, "number into Release.hooks.0.events.0 of type v1.HookEvent"),
            (
                r#"{"chart":{"metadata":{"annotations":{"a/b":5}}}}"#,
                "number into Go struct field Release.chart.metadata.annotations.a~1b of type string",
            ),
            (
                r#"{"chart":{"lock":{"generated":5}}}"#,
                "number into Go struct field Release.chart.lock.generated of type time.Time",
            ),
            (
                r#"{"chart":{"schema":"a?=="}}"#,
                "string into Go struct field Release.chart.schema of type []uint8: illegal base64 data at input byte 1",
            ),
            (
                r#"{"hooks":[{"last_run":{"phase":1}}]}"#,
                "number into Go struct field hookExecutionJSON.phase of type v1.HookPhase",
            ),
            (r#"{"hooks":{}}"#, "object into Go struct field Release.hooks of type []*v1.Hook"),
            ("3", "number into Go value of type v1.Release"),
        ] {
            assert_eq!(error(text), format!("json: cannot unmarshal {rest}"), "{text}");
        }
        assert_eq!(
            error(r#"{"chart":{"modtime":"x"}}"#),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
        );
    }

    #[test]
    fn the_version_that_was_rolled_back_to_is_kept() {
        let text = r#"{"info":{"description":"x","status":"deployed","rollback_revision":3,"notes":"n"}}"#;
        let version = decode(text.as_bytes()).expect("a release");
        assert_eq!(version.info.rollback_revision, Some(3));
        assert_eq!(encode(&version).expect("can be written"), text.as_bytes());
        let zero = decode(br#"{"info":{"status":"deployed","rollback_revision":0}}"#).expect("a release");
        assert_eq!(encode(&zero).expect("can be written"), br#"{"info":{"status":"deployed"}}"#);
        assert_eq!(
            error(r#"{"info":{"rollback_revision":"1"}}"#),
            "json: cannot unmarshal string into Go struct field infoJSON.rollback_revision of type int"
        );
    }

    #[test]
    fn irregular_parts_survive_a_round_trip() {
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

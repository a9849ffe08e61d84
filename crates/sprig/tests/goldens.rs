//! Compares the functions with recorded results of Helm, function by function.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_gotmpl::{Exec, Function, Functions, Limits, MapRef, MapType, Set, Value};
use pintle_tree::{Node, Str, json, set};
use sha2::{Digest as _, Sha256};

const TEMPLATE: &str = "t/templates/x.yaml";

/// Functions that only the engine knows.
const BEYOND: [&str; 9] = [
    "include",
    "tpl",
    "required",
    "fail",
    "lookup",
    ".Files",
    ".Capabilities",
    ".Subcharts",
    "$.Values.AsMap",
];

/// The recorded cases.
fn cases() -> Vec<Node> {
    let lines = pintle_testkit::recorded("sprig");
    lines.iter().map(|line| json::read(line.as_bytes()).expect("recorded cases are JSON")).collect()
}

fn text_at<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::as_str)
}

fn map_of(entries: &[(&str, Value)]) -> Value {
    Value::map(entries.iter().map(|(key, value)| (Str::from(*key), value.clone())).collect())
}

/// The data of a render, as far as these cases look at it.
fn root(input: &Node) -> Value {
    let mut values = input.get("values").and_then(Node::as_map).cloned().unwrap_or_default();
    for entry in input.get("set").and_then(Node::as_list).unwrap_or_default() {
        set::assign(entry.as_str().expect("entries are texts"), &mut values)
            .expect("entries are well-formed");
    }
    let nil = || Value::list(Vec::new());
    let empty = || Value::str("");
    let chart = [
        ("APIVersion", Value::str("v2")),
        ("Annotations", Value::Nil),
        ("AppVersion", Value::str("1.0")),
        ("Condition", empty()),
        ("Dependencies", nil()),
        ("Deprecated", Value::Bool(false)),
        ("Description", Value::str("d")),
        ("Home", empty()),
        ("Icon", empty()),
        ("IsRoot", Value::Bool(true)),
        ("Keywords", nil()),
        ("KubeVersion", empty()),
        ("Maintainers", nil()),
        ("Name", Value::str("t")),
        ("Sources", nil()),
        ("Tags", empty()),
        ("Type", Value::str("application")),
        ("Version", Value::str("0.1.0")),
    ];
    let release = [
        ("IsInstall", Value::Bool(true)),
        ("IsUpgrade", Value::Bool(false)),
        ("Name", Value::str("rel")),
        ("Namespace", Value::str("ns")),
        ("Revision", Value::int(1)),
        ("Service", Value::str("Helm")),
    ];
    let template = [("BasePath", Value::str("t/templates")), ("Name", Value::str(TEMPLATE))];
    map_of(&[
        ("Chart", map_of(&chart)),
        ("Release", map_of(&release)),
        ("Template", Value::Map(map_of(&template).as_map().expect("it is one").retyped(MapType::Values))),
        ("Values", Value::Map(MapRef::of(MapType::Values, Value::entries_from(&values)))),
    ])
}

fn render(functions: &Arc<Functions>, input: &Node) -> Result<Vec<u8>, String> {
    let mut templates = Set::new(Arc::clone(functions));
    let source = text_at(input, "tpl").expect("a case has a template");
    templates.parse(TEMPLATE, source).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let mut exec = Exec::new(&templates, Limits::default());
    exec.execute(TEMPLATE, &root(input), &mut out).map_err(|error| error.to_string())?;
    Ok(bstr::ByteSlice::replace(&out[..], "<no value>", ""))
}

/// Whether `found` is the recorded text under `key`, which may be given by its hash.
fn is_recorded(found: &[u8], out: &Node, key: &str) -> bool {
    if let Some(text) = text_at(out, key) {
        return found == text.as_bytes();
    }
    if let Some(encoded) = text_at(out, &format!("{key}_b64")) {
        return STANDARD.decode(encoded).is_ok_and(|text| text == found);
    }
    let hash: String = Sha256::digest(found).iter().map(|byte| format!("{byte:02x}")).collect();
    text_at(out, &format!("{key}_sha256")) == Some(hash.as_str())
}

/// Whether an error says what was recorded. A recorded text of several lines is the call stack in the layout of Helm; only
/// its last line counts here.
fn error_agrees(found: &str, expected: &str) -> bool {
    match expected.rsplit_once("\n    ") {
        Some((_, message)) => found.ends_with(message),
        None => found == expected || expected.ends_with(found),
    }
}

/// Cases about Go's nil map, which JSON writes as null: maps are never nil here, and such a map is empty.
const NIL_MAPS: [&str; 2] = ["sprig-cf129cafdb3f", "sprig-a9666c139b01"];

enum Outcome {
    Same,
    Different(String),
    Skipped,
}

fn compare(functions: &Arc<Functions>, case: &Node) -> Outcome {
    let (Some(input), Some(out)) = (case.get("in"), case.get("out")) else { return Outcome::Skipped };
    let source = text_at(input, "tpl").unwrap_or_default();
    let nil_map = text_at(case, "id").is_some_and(|id| NIL_MAPS.contains(&id));
    if nil_map || input.get("shape").is_some() || BEYOND.iter().any(|word| source.contains(word)) {
        return Outcome::Skipped;
    }
    let recorded_error = text_at(out, "err");
    match (render(functions, input), recorded_error) {
        (Ok(found), None) if is_recorded(&found, out, "ok") => Outcome::Same,
        (Ok(found), _) => Outcome::Different(format!("{:?}", String::from_utf8_lossy(&found))),
        (Err(found), Some(expected)) if error_agrees(&found, expected) => Outcome::Same,
        (Err(found), _) => Outcome::Different(format!("error {found:?}")),
    }
}

#[test]
fn functions_do_what_was_recorded() {
    let mut table = Functions::new();
    for function in pintle_sprig::functions() {
        table.add(function);
    }
    let table = Arc::new(table);
    let mut tally: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut same, mut skipped, mut different) = (0, 0, Vec::new());
    for case in cases() {
        let name = case.get("in").and_then(|input| text_at(input, "fn")).unwrap_or_default().to_owned();
        let counts = tally.entry(name).or_default();
        match compare(&table, &case) {
            Outcome::Same => {
                same += 1;
                counts.0 += 1;
            }
            Outcome::Skipped => skipped += 1,
            Outcome::Different(found) => {
                counts.1 += 1;
                let case =
                    String::from_utf8(json::write_raw(&case).expect("a case is JSON")).unwrap_or_default();
                different.push(format!("{case}\n  found {found}"));
            }
        }
    }
    for (name, (good, bad)) in tally.iter().filter(|(_, counts)| counts.1 > 0) {
        println!("{name}: {good} of {}", good + bad);
    }
    println!("{same} agree, {} differ, {skipped} need a whole render", different.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// The signature as Go writes it, without the error that some results come with.
fn signature(function: &Function) -> String {
    let mut params: Vec<String> = function.params.iter().map(|param| param.name().to_owned()).collect();
    params.extend(function.variadic.map(|param| format!("...{}", param.name())));
    format!("func({}) {}", params.join(", "), function.result.name())
}

#[test]
fn signatures_are_those_of_go() {
    let elsewhere = ["fail", "include", "lookup", "required", "tpl"];
    let mut table = Functions::new();
    for function in pintle_sprig::functions() {
        assert!(table.get(function.name).is_none(), "{} comes twice", function.name);
        table.add(function);
    }
    let recorded = pintle_testkit::corpus("goldens/behaviour/functions.tsv")
        .map(|path| std::fs::read_to_string(path).expect("the list is text"))
        .unwrap_or_default();
    for (name, expected) in recorded.lines().filter_map(|line| line.split_once('\t')) {
        if !elsewhere.contains(&name) {
            let expected = expected.replace(") (", ") ").replace(", error)", "");
            assert_eq!(table.get(name).map(signature), Some(expected), "{name}");
        }
    }
}

//! Tests of traces.

use pintle_tree::{Map, Node};

use super::*;
use crate::{Exec, Functions, Limits, MapRef, MapType, Set, Value};

fn values(json: &str) -> MapRef {
    let node = pintle_tree::json::read(json.as_bytes()).unwrap();
    let Node::Map(map) = node else { panic!("values are a map") };
    MapRef::of(MapType::Values, Value::entries_from(&map))
}

fn run(set: &Set, name: &str, values: &MapRef, trace: &mut Trace) -> (String, Vec<Option<Origin>>) {
    let root = MapRef::new(Map::from_entries(vec![("Values".into(), Value::Map(values.clone()))]));
    trace.watch(values);
    trace.begin();
    let mut out = Vec::new();
    let mut exec = Exec::new(set, Limits::default()).with_trace(trace);
    exec.execute(name, &Value::Map(root), &mut out).unwrap();
    drop(exec);
    let lines = trace.end(&out);
    (String::from_utf8(out).unwrap(), lines)
}

#[test]
fn lines_of_output_lead_to_lines_of_templates() {
    let mut set = Set::new(Functions::new());
    set.parse("t", "a: 1\n{{- if .Values.b }}\nb: {{ .Values.b }}\n{{- end }}\n{{ template \"x\" . }}\n{{ range .Values.l }}- {{ . }}\n{{ end }}").unwrap();
    set.parse("h", "{{ define \"x\" }}x: 1\n\ny: 2{{ end }}").unwrap();
    let (text, lines) = run(&set, "t", &values(r#"{"b":2,"l":[1,2]}"#), &mut Trace::of_origins());
    assert_eq!(text, "a: 1\nb: 2\nx: 1\n\ny: 2\n- 1\n- 2\n");
    let shown: Vec<String> = lines
        .iter()
        .map(|line| line.as_ref().map_or_else(String::new, |line| format!("{}:{}", line.source, line.line)))
        .collect();
    assert_eq!(shown[..7], ["t:1", "t:3", "h:1", "h:2", "h:3", "t:6", "t:6"]);
}

#[test]
fn branches_are_counted_both_ways() {
    let mut set = Set::new(Functions::new());
    set.parse("t", "{{ if .Values.a }}\nyes\n{{ else }}\nno\n{{ end }}\n{{ with .Values.b }}\nb\n{{ end }}")
        .unwrap();
    let mut trace = Trace::of_coverage();
    run(&set, "t", &values(r#"{"a":true}"#), &mut trace);
    run(&set, "t", &values(r#"{"a":true}"#), &mut trace);
    let regions = trace.coverage().unwrap().regions(&set, &|_| true);
    let regions = regions.get("t").unwrap();
    let text = |line: usize| {
        let found = regions.iter().find(|it| it.kind == RegionKind::Text && it.lines.contains(&line));
        found.map(|region| region.hits)
    };
    assert_eq!((text(2), text(4), text(7)), (Some(2), Some(0), Some(0)));
    let outcomes: Vec<(String, u64, u64)> = regions
        .iter()
        .filter_map(|region| match &region.kind {
            RegionKind::Branch { word, condition, outcome } => {
                Some((format!("{word} {condition}"), outcome.taken, outcome.skipped))
            }
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [("if .Values.a".to_owned(), 2, 0), ("with .Values.b".to_owned(), 0, 2)]);
}

#[test]
fn values_are_read_by_field_by_key_and_as_a_whole() {
    let mut set = Set::new(Functions::new());
    set.parse(
        "t",
        r#"{{ .Values.a.b }}{{ index .Values "c" "d" }}{{ with .Values.e }}{{ .f }}{{ end }}{{ printf "%v" .Values.g }}"#,
    )
    .unwrap();
    let all = values(r#"{"a":{"b":1,"x":1},"c":{"d":1,"x":1},"e":{"f":1,"x":1},"g":{"h":{"i":1}}}"#);
    let mut trace = Trace::of_coverage();
    run(&set, "t", &all, &mut trace);
    let reads = trace.reads().unwrap();
    let read = |path: &str| reads.contains(&path.split('.').map(Str::from).collect::<Vec<_>>());
    assert!(read("a.b") && read("c.d") && read("e.f") && read("g.h.i"));
    assert!(!read("a.x") && !read("c.x") && !read("e.x"));
}

#[test]
fn events_lead_from_output_to_what_was_read() {
    let mut set = Set::new(Functions::new());
    set.parse(
        "t",
        "a\n{{ $x := .Values.a.b }}{{ if .Values.on }}{{ $x }}{{ index .Values \"l\" 0 \"c\" }}{{ end }}",
    )
    .unwrap();
    let all = values(r#"{"a":{"b":1},"on":true,"l":[{"c":2}]}"#);
    let mut trace = Trace::of_events();
    let (text, _) = run(&set, "t", &all, &mut trace);
    assert_eq!(text, "a\n12");
    let events = trace.into_events().unwrap();
    let shown: Vec<String> = events
        .as_slice()
        .iter()
        .map(|event| match event {
            Event::Read { key, at, .. } => format!("read {key} in line {}", events.source_position(*at, 0).1),
            Event::Use { .. } => "use".to_owned(),
            Event::Assign { first, .. } => format!("assign from {first}"),
            Event::Node { kind, first, output, .. } => format!("{kind:?} from {first}: {output:?}"),
            Event::Output { first, text } => format!("output from {first}: {text:?}"),
        })
        .collect();
    let wanted = [
        "Text from 0: (0, 2)",
        "read b in line 2",
        "assign from 1",
        "Action from 1: (2, 2)",
        "read on in line 2",
        "use",
        "Action from 5: (2, 3)",
        "read Values in line 2",
        "read c in line 2",
        "Action from 7: (3, 4)",
        "Block from 4: (2, 4)",
        "output from 0: \"a\\n12\"",
    ];
    assert_eq!(shown, wanted);
    assert_eq!(events.files(), [11]);
}

//! Templates that need no functions but the builtins, `include` and `tpl`: a table of our own, and the recorded cases
//! of the real Helm where they are at hand (`PINTLE_CORPUS`, or `shared` beside the project).

use std::cell::RefCell;
use std::sync::Arc;

use pintle_gotmpl::{
    Body, CallError, Error, ErrorKind, Exec, Function, Functions, Limits, MapRef, MapType, Set, Type, Value,
};
use pintle_tree::{Map, Node, Str, json, quote};

/// The current nesting depth of `include` per template name, counted as in Helm.
type Included = RefCell<Map<usize>>;

fn functions() -> Arc<Functions> {
    let mut functions = Functions::new();
    let text_and_data = &[Type::Str, Type::Any];
    let host = |name, body| Function { name, params: text_and_data, variadic: None, result: Type::Str, body };
    functions.add(host(
        "include",
        Body::Host(Arc::new(|exec, arguments| {
            let name = arguments.str(0);
            let included = exec.host::<Included>();
            if *included.borrow_mut().entry_or_insert_with(&name, || 0) > 1000 {
                let message = format!(
                    "rendering template has a nested reference name: {name}: unable to execute template"
                );
                return Err(CallError::new(message));
            }
            *included.borrow_mut().entry_or_insert_with(&name, || 0) += 1;
            let result = exec.include(&name, arguments.any(1));
            *included.borrow_mut().entry_or_insert_with(&name, || 0) -= 1;
            result.map(Value::Str)
        })),
    ));
    functions.add(host(
        "tpl",
        Body::Host(Arc::new(|exec, arguments| {
            let source = arguments.str(0);
            match exec.evaluate_string("gotpl", &source, arguments.any(1)) {
                Ok(text) => Ok(Value::str(text.to_str_lossy().replace("<no value>", ""))),
                Err(error) => {
                    let quoted = quote::quote(source.as_bytes());
                    let message = match error.kind() {
                        ErrorKind::Parse => format!("cannot parse template {quoted}: {error}"),
                        _ => format!("error during tpl function execution for {quoted}: {error}"),
                    };
                    Err(CallError::with_cause(message, error))
                }
            }
        })),
    ));
    Arc::new(functions)
}

/// Helm's form of an error of a parsed or executed file.
fn helm_text(error: &Error) -> String {
    let line = error.to_string();
    if error.kind() == ErrorKind::Parse {
        let tokens: Vec<&str> = line.split(": ").collect();
        return format!("parse error at ({}): {}", tokens[1], tokens[tokens.len() - 1]);
    }
    let mut frames = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let frame = match error.kind() {
            ErrorKind::NoTemplate => format!("{error}\n"),
            _ => {
                let message = error.message();
                let message = message.split(" template:").next().unwrap_or_default();
                let (source, line, column) = (error.source_name(), error.line(), error.column());
                let (name, context) = (error.template(), error.context());
                format!("{source}:{line}:{column}\n  executing \"{name}\" at <{context}>:\n    {message}\n")
            }
        };
        if frames.last() != Some(&frame) {
            frames.push(frame);
        }
        let quotes = |cause: &&Error| error.to_string().ends_with(&format!(" calling include: {cause}"));
        match error.cause() {
            Some(cause) if quotes(&cause) => next = Some(cause),
            Some(_) => return line,
            None if error.message().starts_with("error calling ") => return line,
            None => next = None,
        }
    }
    frames.concat().trim().to_owned()
}

fn render(files: &[(Str, Str)], data: &Value, name: &str) -> Result<Vec<u8>, String> {
    let mut set = Set::new(functions());
    for (file, source) in files {
        set.parse(file.clone(), source.clone()).map_err(|error| helm_text(&error))?;
    }
    let included = Included::default();
    let mut out = Vec::new();
    let mut exec = Exec::new(&set, Limits::default()).with_host(&included);
    exec.execute(name, data, &mut out).map_err(|error| helm_text(&error))?;
    Ok(out)
}

fn entries(entries: &[(&str, Value)]) -> Map<Value> {
    entries.iter().map(|(key, value)| (Str::from(*key), value.clone())).collect()
}

fn map(of: &[(&str, Value)]) -> Value {
    Value::map(entries(of))
}

/// The root context of a chart, as far as these cases look at it.
fn context(values: Map<Value>, name: &str) -> Value {
    let names = entries(&[("Name", name.into()), ("BasePath", "t/templates".into())]);
    let root = entries(&[
        (
            "Release",
            map(&[
                ("Name", "rel".into()),
                ("Namespace", "ns".into()),
                ("Revision", Value::int(1)),
                ("IsInstall", true.into()),
                ("IsUpgrade", false.into()),
                ("Service", "Helm".into()),
            ]),
        ),
        ("Values", Value::Map(MapRef::of(MapType::Values, values))),
        ("Subcharts", map(&[])),
        ("Template", Value::Map(MapRef::of(MapType::Values, names))),
    ]);
    Value::Map(MapRef::of(MapType::Values, root))
}

fn text(node: Option<&Node>) -> Str {
    node.and_then(Node::as_text).cloned().unwrap_or_default()
}

enum Outcome {
    Same,
    Skipped,
    Different(String),
}

fn run_case(case: &Node) -> Outcome {
    let (Some(input), Some(output)) = (case.get("in"), case.get("out")) else {
        return Outcome::Skipped;
    };
    let source = text(input.get("tpl"));
    let special = ["files", "lint", "all"].iter().any(|key| input.get(key).is_some());
    // Host objects and methods belong to the render crate; Helm has another `slice`.
    let foreign = [".Files", ".Chart", ".Capabilities", "Subcharts", ".Values.", "slice ", "eq . ."];
    let mentions = |word: &&str| match *word {
        ".Values." => ["YAML", "PathValue", "Table", "Encode", "AsMap"]
            .iter()
            .any(|method| source.to_str_lossy().contains(&format!(".Values.{method}"))),
        word => source.to_str_lossy().contains(word),
    };
    if special || foreign.iter().any(mentions) {
        return Outcome::Skipped;
    }
    let mut values = input.get("values").and_then(Node::as_map).cloned().unwrap_or_default();
    for assignment in input.get("set").and_then(Node::as_list).unwrap_or_default() {
        if pintle_tree::set::assign(text(Some(assignment)), &mut values).is_err() {
            return Outcome::Skipped;
        }
    }
    let name = "t/templates/x.yaml";
    let mut files = vec![(Str::from(name), source)];
    for (path, helper) in input.get("helpers").and_then(Node::as_map).into_iter().flat_map(Map::iter) {
        files.push((Str::from(format!("t/{path}")), text(Some(helper))));
    }
    files.sort_by(|a, b| {
        let depth = |name: &Str| name.as_bytes().iter().filter(|byte| **byte == b'/').count();
        (depth(&b.0), &b.0).cmp(&(depth(&a.0), &a.0))
    });
    let got = render(&files, &context(Value::entries_from(&values), name), name);
    let expected_error = text(output.get("err"));
    let needs_more = |error: &String| error.contains("\" not defined") && expected_error != error.as_str();
    if got.as_ref().is_err_and(needs_more) {
        return Outcome::Skipped;
    }
    if output.get("ok_b64").is_some() || output.get("err_sha256").is_some() {
        return Outcome::Skipped;
    }
    let (expected, got) = match got {
        Ok(out) => (output.get("ok"), String::from_utf8_lossy(&out).replace("<no value>", "")),
        Err(error) => (output.get("err"), error),
    };
    if expected.is_some_and(|expected| expected.as_text().is_some_and(|text| *text == got.as_str())) {
        return Outcome::Same;
    }
    Outcome::Different(format!("{}\n  got {got:?}\n  for {:?}", text(case.get("id")), output))
}

/// Renders one template without data.
fn plain(source: &str) -> Result<String, String> {
    let mut set = Set::new(functions());
    set.parse("t", source).map_err(|error| error.to_string())?;
    let included = Included::default();
    let mut out = Vec::new();
    let mut exec = Exec::new(&set, Limits::default()).with_host(&included);
    exec.execute("t", &map(&[]), &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).expect("the cases write UTF-8"))
}

#[test]
fn templates_do_what_go_does() {
    for (source, expected) in [
        ("a {{- 1 -}} b", "a1b"),
        ("{{/* no */ -}}  x", "x"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}", "1"),
        ("{{ range $i := 3 }}{{ $i }}{{ else }}none{{ end }}", "012"),
        (
            "{{ range 5 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if gt . 2 }}{{ break }}{{ end }}{{ . }}{{ end }}",
            "02",
        ),
        // `break` in the `else` of an inner loop ends that one, `continue` the one around it.
        ("{{ range 2 }}{{ . }}{{ range 0 }}{{ else }}a{{ break }}{{ end }}b{{ end }}", "0ab1ab"),
        ("{{ range 2 }}{{ . }}{{ range 0 }}{{ else }}a{{ continue }}{{ end }}b{{ end }}", "0a1a"),
        ("{{ with $x := 7 }}{{ $x }}{{ . }}{{ end }}", "77"),
        ("{{ with print nil }}{{ . }}{{ end }}", "<nil>"),
        ("{{ define \"x\" }}[{{ . }}]{{ end }}{{ template \"x\" 1 }}{{ template \"x\" }}", "[1][<no value>]"),
        ("{{ block \"b\" 2 }}<{{ . }}>{{ end }}", "<2>"),
        ("{{ and 1 0 2 }}{{ or 0 \"\" 3 }}{{ not 1 }}", "03false"),
        ("{{ print .missing.x }}", ""),
        ("{{ .missing }}{{ (.missing).x }}", "<no value><no value>"),
        ("{{ \"a<b\" | html }}{{ len \"héé\" }}{{ index \"abc\" 1 }}", "a&lt;b598"),
        ("{{ tpl \"{{ define \\\"y\\\" }}Y{{ end }}{{ include \\\"y\\\" . }}\" . }}", "Y"),
        ("{{ 'a' }} {{ 0x10 }} {{ 1e3 }} {{ 1+2i }} {{ `r` }}", "97 16 1000 (1+2i) r"),
    ] {
        if expected.is_empty() {
            let error = plain(source).unwrap_err();
            assert!(error.ends_with("nil pointer evaluating interface {}.x"), "{error}");
        } else {
            assert_eq!(plain(source).as_deref(), Ok(expected), "{source}");
        }
    }
}

#[test]
fn errors_name_the_place_and_the_node() {
    for (source, expected) in [
        ("{{ if }}{{ end }}", "template: t:1: missing value for if"),
        ("{{ nope }}", "template: t:1: function \"nope\" not defined"),
        ("\n{{ .a", "template: t:2: unclosed action"),
        ("{{ if 1 }}", "template: t:1: unexpected EOF"),
        ("{{ .a-b }}", "template: t:1: bad character U+002D '-'"),
        ("{{ 1 | 2 }}", "template: t:1: non executable command in pipeline stage 2"),
        ("{{ $y = 1 }}", "template: t:1:8: executing \"t\" at <1>: undefined variable: $y"),
        (
            "\n  {{ index 1 2 }}",
            "template: t:2:5: executing \"t\" at <index 1 2>: error calling index: can't index item of type int",
        ),
        ("{{ printf 1 }}", "template: t:1:10: executing \"t\" at <1>: expected string; found 1"),
        (
            "{{ lt 1 1.5 }}",
            "template: t:1:3: executing \"t\" at <lt 1 1.5>: error calling lt: incompatible types for comparison: int and float64",
        ),
        (
            "{{ template \"q\" . }}",
            "template: t:1:12: executing \"t\" at <{{template \"q\" .}}>: template \"q\" not defined",
        ),
        ("{{ ne 1 }}", "template: t:1:3: executing \"t\" at <ne>: wrong number of args for ne: want 2 got 1"),
        (
            "{{ range \"abc\" }}{{ end }}",
            "template: t:1:9: executing \"t\" at <\"abc\">: range can't iterate over abc",
        ),
    ] {
        assert_eq!(plain(source), Err(expected.to_owned()), "{source}");
    }
}

#[test]
fn hostile_templates_end_in_an_error() {
    let endless = "{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}";
    assert!(plain(endless).unwrap_err().ends_with("exceeded maximum template depth (100000)"));
    let doubling = "{{ $x := \"0123456789\" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}";
    assert!(plain(doubling).unwrap_err().contains("render limit reached"));
    let parens = format!("{{{{ {}1{} }}}}", "(".repeat(9_000), ")".repeat(9_000));
    assert_eq!(plain(&parens).as_deref(), Ok("1"));
    let too_many = format!("{{{{ {}1", "(".repeat(20_000));
    assert_eq!(plain(&too_many).unwrap_err(), "template: t:1: max expression depth exceeded");
    let blocks = format!("{}x{}", "{{if 1}}".repeat(20_000), "{{end}}".repeat(20_000));
    assert_eq!(plain(&blocks).as_deref(), Ok("x"));
    let limits = Limits { steps: 10_000, ..Limits::default() };
    let mut set = Set::new(functions());
    set.parse("t", "{{ range 1000000000 }}{{ end }}").unwrap();
    let error = Exec::new(&set, limits).execute("t", &Value::Nil, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn an_error_shows_its_line() {
    let mut set = Set::new(functions());
    set.parse("t", "a\n\t{{ .a.b.c }}\n").unwrap();
    let error = Exec::new(&set, Limits::default()).execute("t", &map(&[]), &mut Vec::new()).unwrap_err();
    assert_eq!((error.line(), error.column()), (2, 6));
    assert_eq!(error.excerpt().as_deref(), Some("2 | \t{{ .a.b.c }}\n  | \t     ^"));
}

#[test]
fn recorded_cases_that_need_no_other_functions_agree() {
    let lines = pintle_testkit::recorded("template");
    if lines.is_empty() {
        return;
    }
    let (mut same, mut skipped, mut different) = (0, 0, Vec::new());
    for line in &lines {
        let case = json::read(line.as_bytes()).expect("recorded cases are JSON");
        match run_case(&case) {
            Outcome::Same => same += 1,
            Outcome::Skipped => skipped += 1,
            Outcome::Different(report) => different.push(format!("{report}\n  {line}")),
        }
    }
    println!("{same} agree, {skipped} need more, {} differ", different.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(same > 3000);
}

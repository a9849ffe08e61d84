//! Any text as a template that runs: with all functions but the slow ones, it ends within its limits.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pintle_gotmpl::{Body, Exec, Function, Functions, Limits, Set, Type, Value};
use pintle_tree::{Node, Str};

/// Slow by design, or with access to the network.
const LEFT_OUT: &[&str] = &["bcrypt", "derivePassword", "getHostByName", "htpasswd"];

const LIMITS: Limits = Limits { steps: 20_000, output_bytes: 1 << 20, depth: 200 };

/// Values of every kind for the templates to work on.
const VALUES: &[u8] = b"
number: 3
fraction: 2.5
text: some text
flag: true
nothing: null
list: [1, two, {three: 3}, null]
map: {a: {b: {c: deep}}, z: [x]}
version: 1.2.3-rc.1
date: '2024-02-29T12:30:00Z'
template: '{{ .text }} {{ include \"helper\" . }}'
";

const HELPER: &str =
    r#"{{ define "helper" }}<{{ . }}>{{ end }}{{ define "list" }}{{ range . }}{{ . }},{{ end }}{{ end }}"#;

thread_local! {
    static FUNCTIONS: Arc<Functions> = Arc::new(functions());
    static DATA: Node = pintle_yaml::read(VALUES).expect("the values are YAML");
}

fn functions() -> Functions {
    let mut functions = Functions::new();
    let is_quick = |name: &str| {
        !name.starts_with("gen") && !name.starts_with("buildCustomCert") && !LEFT_OUT.contains(&name)
    };
    pintle_sprig::functions()
        .into_iter()
        .filter(|function| is_quick(function.name))
        .for_each(|function| functions.add(function));
    let text_and_data = |name, body| Function {
        name,
        params: &[Type::Str, Type::Any],
        variadic: None,
        result: Type::Str,
        body,
    };
    functions.add(text_and_data(
        "include",
        Body::Host(Arc::new(|exec, arguments| {
            exec.include(arguments.str(0), arguments.any(1)).map(Value::Str)
        })),
    ));
    functions.add(text_and_data(
        "tpl",
        Body::Host(Arc::new(|exec, arguments| {
            Ok(Value::Str(exec.evaluate_string("tpl", &arguments.str(0), arguments.any(1))?))
        })),
    ));
    functions
}

fuzz_target!(|text: &[u8]| {
    let mut set = Set::new(FUNCTIONS.with(Arc::clone));
    set.parse("helpers", HELPER).expect("the helpers parse");
    if set.parse("fuzz", Str::from(text)).is_err() || !set.contains("fuzz") {
        return;
    }
    // Templates may change their data, so every run has its own.
    let data = DATA.with(Value::from_node);
    let mut out = Vec::new();
    if let Err(error) = Exec::new(&set, LIMITS).execute("fuzz", &data, &mut out) {
        assert!(!error.to_string().is_empty());
    }
    assert!(out.len() as u64 <= LIMITS.output_bytes, "the limit of the output does not hold");
});

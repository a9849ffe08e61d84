//! What several tests share: a chart with a bit of everything, and texts without what differs from run to run.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use pintle_e2e::{Lock, Program, TestEnv};
use pintle_tree::Node;
use serde_json::Value;

/// Locks the database for one test at a time: the first user creates the tables, and Helm fails if two do so at once.
pub(crate) fn database(env: &TestEnv) -> Vec<Lock> {
    env.lock(["database".to_owned()])
}

/// Writes a chart with objects, hooks, tests and notes, none of which needs a running pod.
pub(crate) fn write_chart(env: &TestEnv, name: &str) {
    let file = |path: &str, text: &str| drop(env.write(&format!("{name}/{path}"), text));
    file(
        "Chart.yaml",
        "apiVersion: v2\nname: shop\nversion: 1.2.3\nappVersion: \"4.5\"\ndescription: A <chart> & more\n",
    );
    file("values.yaml", "text: none\nmore: false\nnested: {a: 1, b: [x, y]}\n");
    file(
        "templates/objects.yaml",
        r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  labels: {revision: "{{ .Release.Revision }}"}
data:
  text: {{ .Values.text | quote }}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {app: {{ .Release.Name }}}
  ports: [{port: 80, name: http}]
{{- if .Values.more }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-more}
{{- end }}
"#,
    );
    let hook = |events: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ .Release.Name }}}}-hook\n  annotations:\n    helm.sh/hook: {events}\n    helm.sh/hook-weight: \"2\"\n"
        )
    };
    file("templates/hook.yaml", &hook("pre-install,post-upgrade,pre-rollback"));
    file("templates/NOTES.txt", "{{ .Release.Name }} says {{ .Values.text }}.\n");
}

/// A text with times masked: in lines with a time, each run of digits becomes one `#`, and each run of blanks one blank.
/// Helm shows the kinds of a release's objects in a random order; here they are sorted by name.
pub(crate) fn without_times(text: &str) -> String {
    in_order(text)
        .split_inclusive('\n')
        .map(|line| if tells_time(line) { blurred(line) } else { line.to_owned() })
        .collect()
}

fn in_order(text: &str) -> String {
    let Some((head, rest)) = text.split_once("\n==> ") else { return text.to_owned() };
    let (tables, tail) = rest.split_once("\n\n\n").unwrap_or((rest, ""));
    let mut tables: Vec<&str> = tables.split("\n\n==> ").collect();
    tables.sort_unstable();
    format!("{head}\n==> {}\n\n\n{tail}", tables.join("\n\n==> "))
}

fn tells_time(line: &str) -> bool {
    let bytes = line.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let clock = (0..bytes.len()).any(|at| {
        digit(at) && digit(at + 1) && bytes.get(at + 2) == Some(&b':') && digit(at + 3) && digit(at + 4)
    });
    // Tables end in an age such as `12s`.
    let last = line.split_whitespace().next_back().unwrap_or_default();
    let age = last
        .strip_suffix('s')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    clock
        || age
        || line.contains("modifiedAt=")
        || line.starts_with("REVISION\t")
        || line.starts_with("NAME\t")
        || line.starts_with("NAME ")
}

fn blurred(line: &str) -> String {
    let mut text = String::new();
    for character in line.chars() {
        let mark = match character {
            '0'..='9' => '#',
            ' ' | '\t' => ' ',
            other => other,
        };
        if !(matches!(mark, '#' | ' ') && text.ends_with(mark)) {
            text.push(mark);
        }
    }
    text
}

/// JSON with times masked: strings that start like a time are replaced by a marker.
pub(crate) fn json_without_times(text: &str) -> Value {
    let mut value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    blur_json(&mut value);
    value
}

fn blur_json(value: &mut Value) {
    match value {
        Value::String(text)
            if text.len() > 18 && text.as_bytes()[4] == b'-' && text.as_bytes()[13] == b':' =>
        {
            *text = "TIME".to_owned();
        }
        Value::Array(items) => items.iter_mut().for_each(blur_json),
        Value::Object(fields) => {
            for generated in [
                "modifiedAt",
                "createdAt",
                "uid",
                "resourceVersion",
                "clusterIP",
                "clusterIPs",
                "managedFields",
            ] {
                fields.remove(generated);
            }
            fields.values_mut().for_each(blur_json);
        }
        _ => {}
    }
}

/// The cluster-scoped kinds of the charts of the corpus.
const CLUSTER_WIDE: [&str; 10] = [
    "APIService",
    "CSIDriver",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "PriorityClass",
    "StorageClass",
    "ValidatingWebhookConfiguration",
];

/// The cluster-scoped objects of a chart, before and after a change of its values, as kind and name. Tests of charts with the
/// same ones take a lock on their names.
pub(crate) fn cluster_wide(env: &TestEnv, chart: &Path, flags: &[&str], change: &str) -> BTreeSet<String> {
    let chart = chart.to_string_lossy();
    let mut names = BTreeSet::new();
    for change in [&[][..], &["--set", change]] {
        let arguments = [&["template", "rel", &chart, "--include-crds"], flags, change].concat();
        let rendered = env.run(Program::Pintle, &arguments).succeeded().stdout;
        for document in rendered.split("\n---") {
            let object = pintle_yaml::read(document.trim_start_matches("---").as_bytes());
            let object = object.unwrap_or_else(|error| panic!("{error} in {document}"));
            let text = |path: &[&str]| {
                let found = path.iter().try_fold(&object, |node, key| node.get(*key));
                found.and_then(Node::as_str).unwrap_or_default().to_owned()
            };
            let kind = text(&["kind"]);
            if CLUSTER_WIDE.contains(&kind.as_str()) {
                names.insert(format!("{kind} {}", text(&["metadata", "name"])));
            }
        }
    }
    names
}

/// Waits until deleted objects are gone.
pub(crate) fn wait_until_gone(env: &TestEnv, mut paths: Vec<&String>) {
    let limit = Instant::now() + Duration::from_secs(300);
    loop {
        paths.retain(|path| env.api().read(path).is_some());
        if paths.is_empty() {
            return;
        }
        assert!(Instant::now() < limit, "still there: {paths:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

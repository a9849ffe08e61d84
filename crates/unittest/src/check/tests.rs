//! Every assertion on documents, and the texts of failures.

use super::{Comparer, Context, KINDS};
use crate::document;
use crate::snapshot::Cache;
use pintle_tree::Node;

/// assertion | parameters | documents | passes, or fails and the last line of why
const TABLE: &str = r#"
equal | {path: a, value: 1} | a: 1 | pass
equal | {path: a, value: 2} | a: 1 | fail
equal | {path: a, value: "1"} | a: 1 | fail
equal | {path: a, value: 1.5} | a: 1.5 | pass
equal | {path: b, value: 1} | a: 1 | fail
equal | {path: a, value: {b: [1]}} | a: {b: [1]} | pass
equal | {path: "a[*]", value: 1} | a: [1, 1] | pass
equal | {path: "a[*]", value: 1} | a: [1, 2] | fail
equal | {path: a, value: x, decodeBase64: true} | a: eA== | pass
equal | {path: a, value: x, decodeBase64: true} | a: "%" | fail
equal | {path: a, value: "x\ny"} | a: "\nx \ny" | pass
equal | {path: a} | a: null | pass
equal | {path: "a[", value: 1} | a: 1 | fail
equal | {path: a, value: 1} |  | fail
notEqual | {path: a, value: 2} | a: 1 | pass
notEqual | {path: b, value: 2} | a: 1 | pass
notEqual | {path: a, value: 1} |  | pass
equalRaw | {value: "x\n"} | raw: "x  \n" | pass
notEqualRaw | {value: x} | raw: y | pass
exists | {path: a} | a: null | pass
exists | {path: b} | a: 1 | fail
notExists | {path: b} | a: 1 | pass
isNotNull | {path: a} | a: 1 | pass
isNull | {path: a} | a: 1 | fail
isNullOrEmpty | {path: a} | a: [] | pass
isNullOrEmpty | {path: a} | a: 0 | pass
isNullOrEmpty | {path: a} | a: null | pass
isNullOrEmpty | {path: a} | a: x | fail
isNullOrEmpty | {path: b} | a: x | fail
isEmpty | {path: a} | a: "" | pass
isNotEmpty | {path: a} | a: x | pass
isNotNullOrEmpty | {path: b} | a: x | pass
isType | {path: a, type: string} | a: x | pass
isType | {path: a, type: int} | a: 1 | pass
isType | {path: a, type: float64} | a: 1.5 | pass
isType | {path: a, type: bool} | a: true | pass
isType | {path: a, type: "map[string]interface {}"} | a: {} | pass
isType | {path: a, type: "[]interface {}"} | a: [] | pass
isType | {path: a, type: string} | a: null | fail
isNotType | {path: a, type: string} | a: 1 | pass
greaterOrEqual | {path: a, value: 2} | a: 2 | pass
greaterOrEqual | {path: a, value: 3} | a: 2 | fail
greaterOrEqual | {path: a, value: "3"} | a: 2 | fail
greaterOrEqual | {path: a, value: 1.5} | a: 2.5 | pass
greaterOrEqual | {path: a, value: true} | a: true | fail
notGreaterOrEqual | {path: a, value: 3} | a: 2 | pass
notGreaterOrEqual | {path: a, value: 2} | a: 2 | fail
lessOrEqual | {path: a, value: b} | a: a | pass
notLessOrEqual | {path: a, value: 1} | a: 2 | pass
matchRegex | {path: a, pattern: ^x+$} | a: xx | pass
matchRegex | {path: a, pattern: y} | a: xx | fail
matchRegex | {path: a, pattern: "1"} | a: 1 | fail
matchRegex | {path: a} | a: x | fail
matchRegex | {path: a, pattern: "["} | a: x | fail
matchRegex | {path: a, pattern: ^x$, decodeBase64: true} | a: eA== | pass
notMatchRegex | {path: a, pattern: y} | a: xx | pass
matchRegexRaw | {pattern: ^x} | raw: xy | pass
notMatchRegexRaw | {pattern: z} | raw: xy | pass
contains | {path: a, content: x} | a: [x, y] | pass
contains | {path: a, content: z} | a: [x, y] | fail
contains | {path: a, content: x} | a: x | fail
contains | {path: a, content: x, count: 2} | a: [x, x] | pass
contains | {path: a, content: x, count: 1} | a: [x, x] | fail
contains | {path: a, content: {n: x}} | a: [{n: x, v: 1}] | fail
contains | {path: a, content: {n: x}, any: true} | a: [{n: x, v: 1}] | pass
notContains | {path: a, content: z} | a: [x] | pass
notContains | {path: b, content: z} | a: [x] | pass
isSubset | {path: a, content: {x: 1}} | a: {x: 1, y: 2} | pass
isSubset | {path: a, content: {x: 2}} | a: {x: 1, y: 2} | fail
isSubset | {path: a, content: {x: {}}} | a: {x: {z: 1}} | fail
isSubset | {path: a, content: {x: 1}} | a: [x] | fail
isNotSubset | {path: a, content: {z: 1}} | a: {x: 1} | pass
isKind | {of: Pod} | kind: Pod | pass
isKind | {of: Pod} | kind: Job | fail
isAPIVersion | {of: v1} | apiVersion: v1 | pass
hasDocuments | {count: 2} | a: 1 --- b: 2 | pass
hasDocuments | {count: 1} | a: 1 --- b: 2 | fail
hasDocuments | {count: 0} |  | pass
containsDocument | {kind: Pod, apiVersion: v1} | {kind: Pod, apiVersion: v1} | pass
containsDocument | {kind: Pod, apiVersion: v1, name: x} | {kind: Pod, apiVersion: v1, metadata: {name: y}} | fail
containsDocument | {kind: Pod, apiVersion: v1, name: x, namespace: n} | {kind: Pod, apiVersion: v1, metadata: {name: x, namespace: n}} | pass
containsDocument | {kind: Pod, apiVersion: v1} | {kind: Pod, apiVersion: v1} --- {kind: Job, apiVersion: v1} | fail
containsDocument | {kind: Pod, apiVersion: v1, any: true} | {kind: Job, apiVersion: v1} --- {kind: Pod, apiVersion: v1} | pass
lengthEqual | {path: a, count: 2} | a: [1, 2] | pass
lengthEqual | {path: a, count: 1} | a: [1, 2] | fail
lengthEqual | {path: a} | a: [1] | fail
lengthEqual | {paths: [a, b]} | {a: [1], b: [2]} | pass
lengthEqual | {paths: [a, b]} | {a: [1], b: []} | fail
lengthEqual | {paths: [a, b], path: a, count: 1} | {a: [1], b: [1]} | fail
notLengthEqual | {path: a, count: 1} | a: [1, 2] | pass
failedTemplate | {errorMessage: bad} | raw: bad | pass
failedTemplate | {errorMessage: bad} | raw: worse | fail
failedTemplate | {errorPattern: ^b.d$} | raw: bad | pass
failedTemplate | {errorPattern: "a(b"} | raw: xa(b | pass
failedTemplate | {errorPattern: "a[b]"} | raw: "xa[b]" | pass
failedTemplate | {} | raw: bad | pass
failedTemplate | {} |  | fail
failedTemplate | {errorMessage: a, errorPattern: b} | raw: a | fail
notFailedTemplate | {errorMessage: worse} | raw: bad | pass
notFailedTemplate | {} | a: 1 | pass
matchSnapshot | {path: a} | a: 1 | pass
matchSnapshot | {path: b} | a: 1 | fail
matchSnapshot | {path: a, matchRegex: {pattern: x}} | a: y | fail
matchSnapshot | {path: a, notMatchRegex: {pattern: x}} | a: y | pass
matchSnapshotRaw | {} | raw: x | pass
"#;

fn validate(name: &str, parameters: &str, documents: &[Node], quirks: bool) -> super::Verdict {
    let kind = KINDS.iter().find(|kind| kind.name == name).expect("a known assertion");
    let check = kind.read(&document::read(parameters.as_bytes()).expect("good parameters")).expect(name);
    let documents: Vec<&Node> = documents.iter().collect();
    let mut cache = Cache::read(None, false).expect("no snapshots yet");
    check.validate(&mut Context {
        documents: &documents,
        selected: &documents,
        negative: kind.antonym,
        snapshots: &mut Comparer::new(&mut cache, "test"),
        render_error: None,
        fail_fast: false,
        quirks,
    })
}

fn documents(text: &str) -> Vec<Node> {
    let parts = text.split(" --- ").filter(|part| !part.trim().is_empty());
    parts.map(|part| document::read(part.as_bytes()).expect("a document")).collect()
}

#[test]
fn every_assertion_accepts_and_rejects() {
    let mut seen = std::collections::BTreeSet::new();
    for line in TABLE.lines().filter(|line| !line.is_empty()) {
        let [name, parameters, text, expected] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("four columns: {line}");
        };
        seen.insert(name);
        let (passed, info) = validate(name, parameters, &documents(text), false);
        assert_eq!(if passed { "pass" } else { "fail" }, expected, "{line}\n{}", info.join("\n"));
        assert_eq!(passed, info.is_empty(), "a failure is explained: {line}");
    }
    let missing: Vec<_> = KINDS.iter().map(|kind| kind.name).filter(|name| !seen.contains(name)).collect();
    assert_eq!(missing, [] as [&str; 0]);
}

#[test]
fn not_greater_or_equal_passes_always_by_the_rules_of_helm_unittest() {
    let documents = documents("a: 5");
    assert!(!validate("notGreaterOrEqual", "{path: a, value: 2}", &documents, false).0);
    assert!(validate("notGreaterOrEqual", "{path: a, value: 2}", &documents, true).0);
}

#[test]
fn a_failure_names_path_expectation_and_difference() {
    let (_, info) = validate("equal", "{path: a.b, value: [1, 2]}", &documents("a: {b: [1, 3]}"), false);
    assert_eq!(
        info.join("\n"),
        "DocumentIndex:\t0\nValuesIndex:\t0\nPath:\ta.b\nExpected to equal:\n\t- 1\n\t- 2\nActual:\n\t- 1\n\t- 3\nDiff:\n\t--- Expected\n\t+++ Actual\n\t@@ -1,3 +1,3 @@\n\t - 1\n\t-- 2\n\t+- 3"
    );
}

#[test]
fn a_snapshot_pattern_that_cannot_be_compiled_is_explained() {
    let (passed, info) =
        validate("matchSnapshot", "{path: a, matchRegex: {pattern: '['}}", &documents("a: 1"), true);
    let text = info.join("\n");
    assert!(!passed && text.contains("failed to compile regex pattern [: error parsing regexp"), "{text}");
}

#[test]
fn parameters_of_wrong_types_are_errors() {
    let kind = KINDS.iter().find(|kind| kind.name == "equal").expect("equal");
    let read = |text: &str| kind.read(&document::read(text.as_bytes()).unwrap()).map(|_| ()).unwrap_err();
    assert_eq!(read("text"), "'' expected a map, got 'string'");
    assert_eq!(read("[1]"), "'' expected a map, got 'slice'");
    assert_eq!(
        read("{path: 1}"),
        "1 error(s) decoding:\n\n* 'Path' expected type 'string', got unconvertible type 'int', value: '1'"
    );
}

//! Compares the `--set` grammars with recorded results of Helm.

#![allow(clippy::print_stdout, reason = "the test says what it skipped and how far it got")]

use pintle_tree::{Map, Node, json, set};

/// The recorded cases; `None` where the corpus is absent.
fn cases(family: &str) -> Option<Vec<Node>> {
    let lines = pintle_testkit::recorded(family);
    let read = |line: &String| json::read(line.as_bytes()).expect("recorded cases are JSON");
    (!lines.is_empty()).then(|| lines.iter().map(read).collect())
}

fn text(node: Option<&Node>) -> String {
    node.and_then(Node::as_str).unwrap_or_default().to_owned()
}

/// The tree as in the corpus: long lists abridged.
fn abridged(node: &Node) -> Node {
    match node {
        Node::List(list) if list.len() > 2000 => {
            let last = list.last().map(abridged).unwrap_or_default();
            let entries = [("$list_len".into(), Node::Float(list.len() as f64)), ("$last".into(), last)];
            Node::Map(entries.into_iter().collect())
        }
        Node::List(list) => Node::List(list.iter().map(abridged).collect()),
        Node::Map(map) => Node::Map(map.iter().map(|(key, node)| (key.clone(), abridged(node))).collect()),
        other => other.clone(),
    }
}

/// Whether `found` is `expected`, with the numbers at `ints` integers and all others floats.
fn same(found: &Node, expected: &Node, pointer: &str, ints: &[String]) -> bool {
    match (found, expected) {
        (Node::Int(int), Node::Float(float)) => ints.iter().any(|at| at == pointer) && *int as f64 == *float,
        (Node::Float(a), Node::Float(b)) => !ints.iter().any(|at| at == pointer) && a == b,
        (Node::List(a), Node::List(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).enumerate().all(|(i, (a, b))| same(a, b, &format!("{pointer}/{i}"), ints))
        }
        (Node::Map(a), Node::Map(b)) => {
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|((key, a), (other, b))| {
                    let step = key.to_string().replace('~', "~0").replace('/', "~1");
                    let length = step == "$list_len";
                    key == other && (length || same(a, b, &format!("{pointer}/{step}"), ints))
                })
        }
        (a, b) => a == b,
    }
}

/// Whether a case gives the recorded map, or the recorded error and the map left behind.
fn passes(case: &Node) -> bool {
    let (Some(input), Some(out)) = (case.get("in"), case.get("out")) else { return false };
    let mut base = input.get("base").and_then(Node::as_map).cloned().unwrap_or_default();
    let line = text(input.get("s"));
    let files = input.get("files").cloned().unwrap_or_default();
    let result = match text(input.get("flag")).as_str() {
        "set" => set::assign(line, &mut base),
        "set-string" => set::assign_strings(line, &mut base),
        "set-json" => set::assign_json(line, &mut base),
        "set-literal" => set::assign_literal(line, &mut base),
        _ => set::assign_files(line, &mut base, &mut |path| match files.get(path).and_then(Node::as_text) {
            Some(content) => Ok(content.as_bytes().to_vec()),
            None => Err(format!("open {path}: no such file or directory")),
        }),
    };
    let found = abridged(&Node::Map(base));
    let ints: Vec<String> =
        out.get("ints").and_then(Node::as_list).unwrap_or_default().iter().map(|at| text(Some(at))).collect();
    let empty = Node::Map(Map::new());
    match result {
        Ok(()) => out.get("ok").is_some_and(|ok| same(&found, ok, "", &ints)),
        Err(error) => {
            text(out.get("err")) == error.to_string()
                && same(&found, out.get("after").unwrap_or(&empty), "", &ints)
        }
    }
}

#[test]
fn set_grammars_do_what_helm_does() {
    let Some(cases) = cases("strvals") else { return };
    let cases: Vec<_> = cases
        .into_iter()
        .filter(|case| {
            case.get("in").and_then(|input| input.get("flag")).and_then(Node::as_str) != Some("all")
        })
        .collect();
    let failed: Vec<_> = cases.iter().filter(|case| !passes(case)).collect();
    for case in failed.iter().take(20) {
        println!("differs: {}", String::from_utf8_lossy(&json::write_raw(*case).expect("cases are JSON")));
    }
    println!("strvals: {} of {}", cases.len() - failed.len(), cases.len());
    assert!(failed.len() * 200 <= cases.len(), "{} of {} cases differ", failed.len(), cases.len());
}

//! The contract: the embedded API gives the same answers as the real API server, case by case. See README.md in this
//! directory.

#![allow(clippy::unwrap_used, reason = "a test")]

mod answer;
mod case;
mod embedded;
mod real;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use answer::{Answer, Masked, value_at};
use case::{Case, Scenario, Until, sections};
use embedded::Embedded;
use pintle_tree::{Node, json};
use real::Real;

/// The server under test.
enum Server {
    Embedded(Embedded),
    Real(Real),
}

impl Server {
    fn send(&self, case: &Case) -> Answer {
        match self {
            Server::Embedded(server) => server.send(case),
            Server::Real(server) => server.send(case),
        }
    }

    /// Repeats the request until the expected answer arrives, or time is up.
    fn ask(&self, case: &Case) -> Answer {
        let limit = Instant::now() + Duration::from_secs(120);
        loop {
            let answer = self.send(case);
            let done = match &case.until {
                None => true,
                Some(Until::Code(code)) => answer.code == *code,
                Some(Until::Value(path, value)) => {
                    value_at(&answer.tree(), path).map(text).unwrap_or_default() == *value
                }
            };
            if done || Instant::now() > limit {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn text(node: &Node) -> String {
    match node {
        Node::Str(text) => text.to_string(),
        other => String::from_utf8(json::write(other).unwrap()).unwrap(),
    }
}

/// Runs a scenario in a namespace of its own.
fn run(server: &Server, scenario: &Scenario) -> Vec<(String, Masked)> {
    let namespace = format!("contract-{}", scenario.name);
    let plain = |method: &str, path: &str, body: String| Case {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
        body,
        ..Case::default()
    };
    let address = format!("/api/v1/namespaces/{namespace}");
    if let Server::Real(_) = server {
        let mut gone = plain("DELETE", &address, String::new());
        gone.until = Some(Until::Code(404));
        server.ask(&gone);
    }
    let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
    let made = server.send(&plain("POST", "/api/v1/namespaces", body));
    assert_eq!(made.code, 201, "{}: {}", scenario.name, String::from_utf8_lossy(&made.body));
    let mut account = plain("GET", &format!("{address}/configmaps/kube-root-ca.crt"), String::new());
    account.until = Some(Until::Code(200));
    server.ask(&account);
    account.path = format!("{address}/serviceaccounts/default");
    server.ask(&account);

    let mut saved = vec![("ns".to_owned(), namespace.clone())];
    let mut answers = Vec::new();
    for case in &scenario.cases {
        let answer = server.ask(&filled(case, &saved));
        let tree = answer.tree();
        for (name, path) in &case.saves {
            saved.retain(|(known, _)| known != name);
            saved.push((name.clone(), value_at(&tree, path).map(text).unwrap_or_default()));
        }
        answers.push((case.title.clone(), answer.masked(case, &namespace)));
    }
    server.send(&plain("DELETE", &address, String::new()));
    answers
}

/// The case with its placeholders filled in.
fn filled(case: &Case, saved: &[(String, String)]) -> Case {
    let fill = |text: &str| {
        saved.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    };
    let mut filled = case.clone();
    filled.path = fill(&case.path);
    filled.body = fill(&case.body);
    let has_header = |name: &str| case.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !has_header("user-agent") {
        filled.headers.push(("User-Agent".to_owned(), "contract/1".to_owned()));
    }
    if !has_header("content-type") && !case.body.is_empty() {
        let kind = if case.body.starts_with(['{', '[']) { "application/json" } else { "application/yaml" };
        filled.headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    filled
}

fn recorded(scenario: &Scenario) -> BTreeMap<String, Masked> {
    let text = std::fs::read_to_string(scenario.answers()).unwrap_or_default();
    let parts =
        sections(&text).into_iter().map(|(title, text)| (title.trim().to_owned(), Masked::read(text)));
    parts.collect()
}

fn record(scenario: &Scenario, answers: &[(String, Masked)]) {
    let parts: Vec<String> =
        answers.iter().map(|(title, answer)| format!("### {title}\n{}", answer.write())).collect();
    std::fs::write(scenario.answers(), parts.join("\n")).unwrap();
}

fn open_cases() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/open.txt");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Lists all cases that differ.
fn write_open_cases(open: &[String], solved: &str, wrong: &str) {
    let mut names: Vec<String> =
        open.iter().filter(|name| !solved.lines().any(|it| it == *name)).cloned().collect();
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ") && line.contains(": ");
    names.extend(wrong.lines().filter(is_name).map(|line| line.trim().to_owned()));
    names.sort();
    let head =
        "# Cases whose answers differ from the real server. The test fails when one of them does not.\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/open.txt");
    std::fs::write(path, format!("{head}{}\n", names.join("\n"))).unwrap();
}

#[test]
fn the_answers_are_those_of_the_real_server() {
    let real = Real::from_environment();
    let recording = std::env::var_os("PINTLE_CONTRACT_RECORD").is_some();
    assert!(real.is_some() || !recording, "recording needs PINTLE_CONTRACT_CLUSTER");
    let against_real = real.is_some();
    let server = real.map_or_else(|| Server::Embedded(Embedded::start()), Server::Real);
    let open = if against_real { Vec::new() } else { open_cases() };
    let (mut alike, mut wrong, mut solved) = (0, String::new(), String::new());
    for scenario in Scenario::all() {
        let answers = run(&server, &scenario);
        if recording {
            record(&scenario, &answers);
        }
        let wanted = recorded(&scenario);
        for (title, answer) in answers {
            let name = format!("{}: {title}", scenario.name);
            let difference = match wanted.get(&title) {
                // More than a second may pass between two cases on a real server.
                Some(wanted) if against_real => {
                    wanted.clone().in_any_order().difference(&answer.in_any_order())
                }
                Some(wanted) => wanted.difference(&answer),
                None => Some("was never recorded".to_owned()),
            };
            match (difference, open.contains(&name)) {
                (None, false) => alike += 1,
                (None, true) => writeln!(solved, "{name}").unwrap(),
                (Some(_), true) => {}
                (Some(difference), false) => writeln!(wrong, "  {name}\n      {difference}").unwrap(),
            }
        }
    }
    if std::env::var_os("PINTLE_CONTRACT_OPEN").is_some() {
        write_open_cases(&open, &solved, &wrong);
        return;
    }
    println!("{alike} cases are alike, {} are open", open.len());
    let count = wrong.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).count();
    assert!(wrong.is_empty(), "{count} cases differ:\n{wrong}");
    assert!(solved.is_empty(), "these are alike now; take them out of open.txt:\n{solved}");
}

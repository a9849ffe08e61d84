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
use pintle_embedded::schema::ApiCatalog;
use pintle_tree::{Node, json};
use real::Real;

/// The versions before the newest one whose answers are recorded, too.
const RECORDED: [&str; 1] = ["1.36"];

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

/// The real server's answers of a version. Those of an older one that equal the newest one's are recorded once.
fn recorded(scenario: &Scenario, older: Option<&str>) -> BTreeMap<String, Masked> {
    let mut all = read_answers(&scenario.answers(None));
    if older.is_some() {
        all.extend(read_answers(&scenario.answers(older)));
    }
    all
}

fn read_answers(path: &Path) -> BTreeMap<String, Masked> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let parts =
        sections(&text).into_iter().map(|(title, text)| (title.trim().to_owned(), Masked::read(text)));
    parts.collect()
}

fn record(scenario: &Scenario, older: Option<&str>, answers: &[(String, Masked)]) {
    let newest = if older.is_some() { read_answers(&scenario.answers(None)) } else { BTreeMap::new() };
    let is_own = |title: &String, answer: &Masked| {
        let newest = newest.get(title).map(|newest| newest.clone().in_any_order());
        newest.is_none_or(|newest| newest.difference(&answer.clone().in_any_order()).is_some())
    };
    let own = answers.iter().filter(|(title, answer)| is_own(title, answer));
    let parts: Vec<String> = own.map(|(title, answer)| format!("### {title}\n{}", answer.write())).collect();
    let path = scenario.answers(older);
    if parts.is_empty() {
        if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
        return;
    }
    std::fs::write(path, parts.join("\n")).unwrap();
}

/// The cases that are known to differ; those of an older version begin with it.
fn open_cases(older: Option<&str>) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/open.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let names = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_older = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    match older {
        None => names.filter(|line| !is_older(line)).map(str::to_owned).collect(),
        Some(version) => {
            names.filter(|line| line.starts_with(&format!("{version} "))).map(str::to_owned).collect()
        }
    }
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

/// Compares the answers of a server with the recorded ones of its version, or records them. Returns how many are alike.
fn check(server: &Server, older: Option<&str>) -> usize {
    let recording = std::env::var_os("PINTLE_CONTRACT_RECORD").is_some();
    let against_real = matches!(server, Server::Real(_));
    assert!(against_real || !recording, "recording needs PINTLE_CONTRACT_CLUSTER");
    let open = if against_real { Vec::new() } else { open_cases(older) };
    let (mut alike, mut wrong, mut solved) = (0, String::new(), String::new());
    let is_checked = |scenario: &Scenario| older.is_none_or(|older| scenario.is_for(older));
    for scenario in Scenario::all().into_iter().filter(is_checked) {
        let answers = run(server, &scenario);
        if recording {
            record(&scenario, older, &answers);
        }
        let wanted = recorded(&scenario, older);
        for (title, answer) in answers {
            let prefix = older.map(|version| format!("{version} ")).unwrap_or_default();
            let name = format!("{prefix}{}: {title}", scenario.name);
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
        return alike;
    }
    let count = wrong.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).count();
    assert!(wrong.is_empty(), "{count} cases differ:\n{wrong}");
    assert!(solved.is_empty(), "these are alike now; take them out of open.txt:\n{solved}");
    alike
}

#[test]
fn the_answers_are_those_of_the_real_server() {
    let newest = ApiCatalog::newest().version().to_string();
    let alike = match Real::from_environment() {
        Some(real) => {
            let older = real.minor.clone().filter(|minor| !newest.starts_with(&format!("{minor}.")));
            check(&Server::Real(real), older.as_deref())
        }
        None => check(&Server::Embedded(Embedded::start(&newest)), None),
    };
    println!("{alike} cases are alike, {} are open", open_cases(None).len());
}

#[test]
fn older_versions_answer_as_their_real_servers() {
    if Real::from_environment().is_some() {
        return;
    }
    for version in RECORDED {
        let alike = check(&Server::Embedded(Embedded::start(version)), Some(version));
        println!("{alike} cases are as in Kubernetes {version}");
    }
}

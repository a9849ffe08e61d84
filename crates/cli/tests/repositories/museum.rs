//! Uploads to repositories, on a server with the API of ChartMuseum: `push` to `https://…`, and `cm-push`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::support::TestEnv;

/// `me:secret`.
const LOGIN: &str = "Basic bWU6c2VjcmV0";

/// An upload that came in.
#[derive(Clone, Debug, Default)]
struct Posted {
    /// The path, with its query.
    path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// A server for several tenants below `/museum`, which knows one user.
struct Museum {
    url: String,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Museum {
    fn start() -> Museum {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/museum", listener.local_addr().expect("it has an address"));
        let posted: Arc<Mutex<Vec<Posted>>> = Arc::default();
        let log = Arc::clone(&posted);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                std::thread::spawn(move || serve(stream, &log));
            }
        });
        Museum { url, posted }
    }

    /// All uploads so far.
    fn posted(&self) -> Vec<Posted> {
        self.posted.lock().expect("no thread has failed").clone()
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Vec<Posted>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("it can be read"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a request");
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default());
    let mut posted = Posted { path: path.to_owned(), ..Posted::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        posted.headers.insert(name.to_lowercase(), value.to_owned());
    }
    let (status, body) = match method.as_str() {
        "POST" => {
            let length = posted.headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            posted.body = vec![0; length];
            reader.read_exact(&mut posted.body).expect("a body");
            answer(posted, log)
        }
        _ if path.ends_with("/index.yaml") => {
            ("200 OK", "apiVersion: v1\nentries: {}\nserverInfo:\n  contextPath: /museum\n")
        }
        _ => ("404 Not Found", "404 page not found\n"),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    let location = if status.starts_with("307") { "location: http://127.0.0.1:1/elsewhere\r\n" } else { "" };
    let _ = stream.write_all(format!("{head}{location}\r\n{body}").as_bytes());
}

fn answer(posted: Posted, log: &Mutex<Vec<Posted>>) -> (&'static str, &'static str) {
    let (path, query) = posted.path.split_once('?').unwrap_or((&posted.path, ""));
    if path.contains("/full/") {
        return ("507 Insufficient Storage", "{\"error\":\"repo has reached storage limit\"}");
    }
    if path.contains("/moved/") {
        return ("307 Temporary Redirect", "");
    }
    if path.contains("/odd/") {
        return ("500 Internal Server Error", "<html>");
    }
    if !path.starts_with("/museum/api/") || !path.ends_with("/charts") {
        return ("404 Not Found", "{\"error\":\"not found\"}");
    }
    let login = posted.headers.get("authorization").map(String::as_str);
    if !matches!(login, Some(LOGIN | "Bearer token")) && !posted.headers.contains_key("x-token") {
        return ("401 Unauthorized", "{\"error\":\"unauthorized\"}");
    }
    let mut log = log.lock().expect("no thread has failed");
    let same = |other: &Posted| other.path.split('?').next() == Some(path);
    if log.iter().any(same) && query != "force" {
        return ("409 Conflict", "{\"error\":\"file already exists\"}");
    }
    log.push(posted);
    ("201 Created", "{\"saved\":true}")
}

fn packaged() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    let output = env.pintle("package web");
    assert!(output.starts_with("exit 0\n"), "{output}");
    env
}

fn archive(env: &TestEnv) -> Vec<u8> {
    std::fs::read(env.path().join("web-1.0.0.tgz")).expect("it is there")
}

#[test]
fn an_archive_is_uploaded_as_it_is_and_with_a_provenance_file_as_a_form() {
    let (env, museum) = (packaged(), Museum::start());
    let url = &museum.url;
    let login = "--username me --password secret";
    let output = env.pintle(&format!("push web-1.0.0.tgz {url}/team {login}"));
    assert_eq!(
        output,
        format!(
            "exit 0\n--- stdout\nPushing web-1.0.0.tgz to {url}/team...\nPushed: web-1.0.0.tgz to {url}/team\n"
        )
    );
    env.write("web-1.0.0.tgz.prov", "signed");
    let output = env.pintle(&format!("push web-1.0.0.tgz {url}/org/other {login}"));
    assert!(output.starts_with("exit 0\n"), "{output}");
    let posted = museum.posted();
    assert_eq!(posted[0].path, "/museum/api/team/charts");
    assert_eq!(posted[0].body, archive(&env));
    assert_eq!(posted[1].path, "/museum/api/org/other/charts");
    assert!(posted[1].headers["content-type"].starts_with("multipart/form-data; boundary="));
    let body = String::from_utf8_lossy(&posted[1].body).into_owned();
    assert!(body.contains("name=\"chart\"; filename=\"web-1.0.0.tgz\""), "{body}");
    assert!(body.contains("name=\"prov\"; filename=\"web-1.0.0.tgz.prov\""), "{body}");
    assert!(body.contains("\r\n\r\nsigned\r\n"), "{body}");
}

#[test]
fn a_version_that_exists_is_replaced_only_by_force() {
    let (env, museum) = (packaged(), Museum::start());
    let push = |more: &str| {
        env.pintle(&format!("push web-1.0.0.tgz {}/t --username me --password secret{more}", museum.url))
    };
    assert!(push("").starts_with("exit 0\n"));
    let output = push("");
    assert!(output.starts_with("exit 1\n"), "{output}");
    assert!(output.contains("does not accept web-1.0.0.tgz (409: file already exists)"), "{output}");
    assert!(output.contains("--force replaces it"), "{output}");
    assert!(push(" --force").starts_with("exit 0\n"));
    assert_eq!(museum.posted()[1].path, "/museum/api/t/charts?force");
    // The context path may be given instead of asked for.
    let output = env.pintle(&format!(
        "push web-1.0.0.tgz {}/u --context-path /museum --username me --password secret",
        museum.url
    ));
    assert!(output.starts_with("exit 0\n"), "{output}");
}

#[test]
fn refusals_say_what_to_do_and_nobody_else_gets_the_credentials() {
    let (env, museum) = (packaged(), Museum::start());
    let push = |tenant: &str, more: &str| {
        env.pintle(&format!("push web-1.0.0.tgz {}/{tenant} --context-path /museum{more}", museum.url))
    };
    let output = push("t", "");
    assert!(output.contains("(401: unauthorized)") && output.contains("--username"), "{output}");
    let output = push("full", " --username me --password secret");
    assert!(output.contains("(507: repo has reached storage limit)"), "{output}");
    let output = push("odd", " --username me --password secret");
    assert!(output.contains("(500: <html>)"), "{output}");
    let output = push("moved", " --username me --password secret");
    assert!(
        output.contains("the server redirects to \"http://127.0.0.1:1/elsewhere\"; push there"),
        "{output}"
    );
    let output = env.pintle("push web-1.0.0.tgz http://127.0.0.1:1");
    assert!(output.starts_with("exit 1\n") && output.contains("connection refused"), "{output}");
    let output = env.pintle(&format!("push web {}", museum.url));
    assert!(output.contains("cannot push directory"), "{output}");
    let output = env.pintle(&format!("push web/Chart.yaml {}", museum.url));
    assert!(!output.starts_with("exit 0\n"), "{output}");
    assert!(museum.posted().is_empty());
    // Helm knows registries only.
    let output = env.helm(&format!("push web-1.0.0.tgz {}", museum.url));
    assert_eq!(output, "exit 1\n--- stderr\nError: scheme \"http\" not supported\n");
}

#[test]
fn the_credentials_of_a_repository_that_was_added_are_used() {
    let (env, museum) = (packaged(), Museum::start());
    let url = &museum.url;
    let output = env.pintle(&format!("repo add m {url}/t --username me --password secret"));
    assert!(output.starts_with("exit 0\n"), "{output}");
    let output = env.pintle(&format!("push web-1.0.0.tgz {url}/t/"));
    assert!(output.starts_with("exit 0\n"), "{output}");
    assert_eq!(museum.posted()[0].headers["authorization"], LOGIN);
}

#[test]
fn cm_push_has_the_flags_and_texts_of_the_plugin() {
    let (env, museum) = (packaged(), Museum::start());
    let url = &museum.url;
    let output = env.helm(&format!("repo add m {url}/t --username me --password secret"));
    assert!(output.starts_with("exit 0\n"), "{output}");
    let output = env.helm("cm-push web m --version 2.0.0 -a 9");
    assert_eq!(output, "exit 0\n--- stdout\nPushing web-2.0.0.tgz to m...\nDone.\n");
    let output = env.helm("cm-push web-1.0.0.tgz m");
    assert_eq!(
        output,
        "exit 1\n--- stdout\nPushing web-1.0.0.tgz to m...\n--- stderr\nError: 409: file already exists\n"
    );
    let output = env.helm("cm-push -f web-1.0.0.tgz m");
    assert!(output.ends_with("Done.\n"), "{output}");
    let output = env.helm_with(
        &format!("cm-push web-1.0.0.tgz {url}/u --context-path /museum -v 3.0.0"),
        &[("HELM_REPO_ACCESS_TOKEN", "token")],
    );
    assert!(output.ends_with("Done.\n"), "{output}");
    let output = env.helm(&format!(
        "cm-push web-1.0.0.tgz {url}/v --access-token token --auth-header X-Token --timeout 60"
    ));
    assert!(output.ends_with("Done.\n"), "{output}");
    let output = env.helm(&format!("cm-push web-1.0.0.tgz {url}/odd -u me -p secret"));
    assert!(output.contains("Error: 500: could not properly parse response JSON: <html>"), "{output}");
    let usage = "this command needs 2 arguments: name of chart, name of chart repository (or repo URL)";
    assert_eq!(env.helm("cm-push web"), format!("exit 1\n--- stderr\nError: {usage}\n"));
    assert_eq!(env.helm("cm-push web nope"), "exit 1\n--- stderr\nError: no repo named \"nope\" found\n");
    let posted = museum.posted();
    let body = String::from_utf8_lossy(&posted[1].body).into_owned();
    assert!(body.contains("name=\"chart\"") && !body.contains("name=\"prov\""), "{body}");
    assert_eq!(posted[2].headers["authorization"], "Bearer token");
    assert_eq!(posted[3].headers["x-token"], "token");
}

//! `cluster serve`: the embedded cluster on a port, and concurrent use of its file

use crate::support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::TestEnv;

const CHART: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-check
  annotations: {helm.sh/hook: pre-install}
spec:
  template:
    metadata:
      annotations:
        pintle.dev/simulate-duration: {{ .Values.takes | default \"0s\" }}
    spec:
      restartPolicy: Never
      containers: [{name: check, image: busybox}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/templates/all.yaml", CHART);
    env
}

fn holds(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

/// `pintle cluster serve` with its address.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts it; its kubeconfig is `config.yaml`.
    fn start(env: &TestEnv, flags: &str) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pintle"))
            .args(["cluster", "serve", "--write-kubeconfig", "config.yaml"])
            .args(flags.split(' ').filter(|flag| !flag.is_empty()))
            .current_dir(env.path())
            .env_clear()
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it prints")).read_line(&mut line).expect("it prints");
        assert_eq!(line, "export KUBECONFIG=config.yaml\n");
        let config = std::fs::read_to_string(env.path().join("config.yaml")).expect("it was written");
        let address = config.split_once("server: http").expect("it names a server").1;
        let address = address.lines().next().unwrap_or_default().trim_start_matches('s');
        let address = address.trim_start_matches("://").to_owned();
        Server { child, address }
    }

    /// Gets a path of a server without authentication.
    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\n"), "")
    }

    /// The response to a request with these header lines; partial if the connection breaks.
    fn ask(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        let rest = format!("Host: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
        write!(stream, "{head}{rest}").expect("it reads");
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Sends a signal and returns the exit code.
    fn end(mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("kill is there");
        assert!(sent.success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_stops_on_signals_and_keeps_its_data() {
    let env = env();
    for (name, signal) in [("a", "-INT"), ("b", "-TERM")] {
        let server = Server::start(&env, "--cluster embedded:box.db --insecure");
        // An open watch does not keep it from exiting.
        let mut watch = TcpStream::connect(&server.address).expect("it listens");
        write!(watch, "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it reads");
        let installed =
            env.called("pintle", &format!("install {name} web --wait"), &[("KUBECONFIG", "config.yaml")]);
        holds(&installed, &["exit 0", "STATUS: deployed"]);
        assert_eq!(server.end(signal), Some(0), "{signal}");
        let refused = env.pintle("list --kubeconfig config.yaml");
        holds(&refused, &["exit 1"]);
        holds(&env.pintle("list --cluster embedded:box.db"), &["exit 0", &format!("\n{name} ")]);
    }
}

#[cfg(unix)]
#[test]
fn the_kubeconfig_is_required_for_access() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = env();
    // An existing file may have been readable by others.
    env.write("config.yaml", "");
    std::fs::set_permissions(env.path().join("config.yaml"), std::fs::Permissions::from_mode(0o644))
        .expect("it is ours");
    let server = Server::start(&env, "--cluster embedded:box.db");
    for file in ["config.yaml", "box.db"] {
        let mode = std::fs::metadata(env.path().join(file)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    holds(&env.pintle("install a web --wait --kubeconfig config.yaml"), &["exit 0"]);
    let answer = server.get("/api/v1/secrets");
    assert!(!answer.contains("200 OK") && !answer.contains("SecretList"), "{answer}");

    let config = std::fs::read_to_string(env.path().join("config.yaml")).expect("it is there");
    let (before, token) = config.split_once("token: ").expect("there is one");
    let (token, after) = token.split_once('\n').expect("it ends");
    assert_eq!(token.len(), 64, "{token}");
    let other = token.chars().rev().collect::<String>();
    env.write("wrong.yaml", &format!("{before}token: {other}\n{after}"));
    let shown = env.pintle("list --kubeconfig wrong.yaml");
    holds(&shown, &["exit 1", "Unauthorized"]);
    assert!(!shown.contains(&other), "{shown}");
    let without = config.lines().filter(|line| !line.contains("certificate-authority-data"));
    env.write("stranger.yaml", &without.collect::<Vec<_>>().join("\n"));
    holds(&env.pintle("list --kubeconfig stranger.yaml"), &["exit 1"]);
}

#[test]
fn requests_of_web_pages_are_rejected() {
    let server = Server::start(&env(), "--insecure");
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"}}"#;
    let path = "/api/v1/namespaces/default/configmaps";
    let json = "Content-Type: application/json\r\n";
    for (name, headers, code) in [
        ("a", "Origin: http://example.com\r\n", "403"),
        ("b", "Origin: null\r\n", "403"),
        ("c", "Sec-Fetch-Site: cross-site\r\n", "403"),
        ("d", &format!("{json}Origin: http://example.com\r\n"), "403"),
        ("e", "", "415"),
        ("f", "Content-Type: text/plain\r\n", "415"),
        ("g", json, "201"),
    ] {
        let answer = server.ask(&format!("POST {path} HTTP/1.1\r\n{headers}"), &body.replace("NAME", name));
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{name}: {answer}");
        let there = server.get(&format!("{path}/{name}")).contains("200 OK");
        assert_eq!(there, code == "201", "{name}");
    }
}

#[test]
fn it_emulates_the_selected_kubernetes_version() {
    let env = env();
    for version in ["1.34", "1.35", "1.36", "1.37"] {
        let server = Server::start(&env, &format!("--kube-version {version} --insecure"));
        holds(&server.get("/version"), &["200 OK", &format!("\"gitVersion\":\"v{version}.")]);
        holds(&env.pintle("install a web --wait --kubeconfig config.yaml"), &["exit 0"]);
        let node = server.get("/api/v1/nodes/pintle");
        holds(&node, &[&format!("\"kubeletVersion\":\"v{version}.")]);
    }
}

#[test]
fn at_real_pace_workloads_take_time() {
    let env = env();
    let installed = |flags: &str, takes: &str| {
        let _server = Server::start(&env, flags);
        let start = Instant::now();
        let install = format!("install a web --set takes={takes} --wait --kubeconfig config.yaml");
        holds(&env.pintle(&install), &["exit 0", "STATUS: deployed"]);
        start.elapsed()
    };
    assert!(installed("--pace real", "3s") >= Duration::from_secs(3));
    // A command that waited for it would time out after five minutes.
    installed("--pace fast", "24h");
}

#[test]
fn a_file_in_use_is_an_error_with_a_hint() {
    let env = env();
    let server = Server::start(&env, "--cluster embedded:box.db");
    let taken = ["exit 1", "box.db is in use by another process", "`pintle cluster serve`"];
    std::thread::scope(|scope| {
        for command in ["cluster serve", "cluster status", "cluster reset", "install a web"] {
            let (env, taken) = (&env, &taken);
            scope.spawn(move || holds(&env.pintle(&format!("{command} --cluster embedded:box.db")), taken));
        }
    });
    let address = &server.address;
    let shown = env.pintle(&format!("cluster serve --address {address}"));
    holds(&shown, &["exit 1", &format!("cannot listen at {address}: address already in use")]);
    let shown = env.pintle("cluster serve --write-kubeconfig none/config.yaml");
    holds(&shown, &["exit 1", "cannot write `none/config.yaml`"]);
}

#[test]
fn commands_on_one_file_wait_for_each_other() {
    let env = env();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let line = format!("install r{number} web --wait --cluster embedded:box.db");
            let env = &env;
            scope.spawn(move || holds(&env.pintle(&line), &["exit 0"]));
        }
    });
    holds(&env.pintle("list --cluster embedded:box.db"), &["\nr0 ", "\nr1 ", "\nr2 ", "\nr3 "]);
}

#[test]
fn files_that_cannot_be_clusters_are_left_alone() {
    let env = env();
    env.write("folder/file", "").write("notes.txt", "mine").write("empty.db", "");
    holds(&env.pintle("install a web --cluster embedded:empty.db"), &["exit 0"]);
    let whole = std::fs::read(env.path().join("empty.db")).expect("it is there");
    std::fs::write(env.path().join("half.db"), &whole[..3000]).expect("it can be written");
    for (file, why) in [
        ("folder", "it is a directory"),
        ("notes.txt", "it is not a cluster file"),
        ("half.db", "it is damaged"),
        ("none/box.db", "its directory does not exist"),
    ] {
        let why = format!("cannot open {file} as a cluster: {why}");
        for command in ["cluster serve", "list"] {
            holds(&env.pintle(&format!("{command} --cluster embedded:{file}")), &["exit 2", &why]);
        }
    }
    assert_eq!(std::fs::read(env.path().join("notes.txt")).expect("it is there"), b"mine");
    assert_eq!(std::fs::read(env.path().join("half.db")).expect("it is there").len(), 3000);
}

/// The words of a text; those with digits, such as times and ids, are masked.
fn timeless(shown: &str) -> Vec<&str> {
    let blur = |word| if str::contains(word, |letter: char| letter.is_ascii_digit()) { "#" } else { word };
    shown.split_whitespace().map(blur).collect()
}

#[test]
fn commands_print_the_same_over_a_port_and_on_a_file() {
    let env = env();
    let _server = Server::start(&env, "");
    for command in [
        "install a web --wait",
        "upgrade a web --wait --set takes=30s",
        "list",
        "history a",
        "status a",
        "get all a",
        "install a web",
        "rollback a 1 --wait",
        "upgrade b web",
        "uninstall a --wait",
        "list --all",
    ] {
        let port = env.pintle(&format!("{command} --kubeconfig config.yaml"));
        let file = env.pintle(&format!("{command} --cluster embedded:box.db"));
        assert_eq!(timeless(&port), timeless(&file), "{command}");
    }
}

#[test]
fn an_address_with_an_invalid_port_is_an_error_with_the_reason() {
    let env = TestEnv::new();
    for (address, reason) in [
        ("127.0.0.1:70000", "is not an address with a port between 0 and 65535"),
        ("127.0.0.1", "is not an address with a port"),
        ("0.0.0.0:6443", "is not a loopback address"),
    ] {
        let shown = env.pintle(&format!("cluster serve --address {address}"));
        let expected =
            format!("exit 2\n--- stderr\nerror: `{address}` {reason}\n\nhint: use an address such as");
        assert!(shown.starts_with(&expected), "{shown}");
    }
}

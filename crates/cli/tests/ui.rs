//! `ui`: the flags, the address that is printed, and the end. The interface itself is tested in `crates/ui/tests`.

use crate::support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use support::TestEnv;

/// `pintle ui` with its address and the token of its link.
struct View {
    child: Child,
    address: String,
    token: String,
}

impl View {
    fn start(env: &TestEnv, flags: &[&str]) -> View {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pintle"))
            .args(["ui", "--no-browser", "--cluster", "embedded"])
            .args(flags)
            .current_dir(env.path())
            .env_clear()
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it prints")).read_line(&mut line).expect("it prints");
        let url = line.trim().strip_prefix("http://").expect("an address");
        let (address, token) = url.split_once("/?t=").expect("a token");
        View { address: address.to_owned(), token: token.to_owned(), child }
    }

    fn get(&self, path: &str, cookie: &str) -> String {
        self.get_as(&self.address, path, cookie)
    }

    /// A request with a name in its header `Host`.
    fn get_as(&self, host: &str, path: &str, cookie: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_view_is_served_to_whoever_opens_the_printed_address() {
    let env = TestEnv::new();
    let view = View::start(&env, &[]);
    assert!(view.get("/api/v1/session", "").contains("not-signed-in"));
    let opened = view.get(&format!("/?t={}", view.token), "");
    let cookie = opened.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let cookie = cookie.split(';').next().unwrap_or_default();
    let session = view.get("/api/v1/session", cookie);
    assert!(session.contains("\"write\":false") && session.contains("\"context\":\"embedded\""), "{session}");
    let releases = view.get("/api/v1/releases", cookie);
    assert!(releases.contains("\"total\":0"), "{releases}");
    assert!(view.get("/", "").contains("/assets/app.js"));
}

#[test]
fn only_names_that_were_given_are_served() {
    let env = TestEnv::new();
    let view = View::start(&env, &["--host", "ui.example.com"]);
    let status = |host: &str| {
        let answer = view.get_as(host, "/api/v1/session", "");
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let port = view.address.rsplit(':').next().unwrap_or_default();
    let [own, named] = [view.address.as_str(), "ui.example.com"].map(status);
    assert_eq!(own, named, "the given name is served as the address is");
    let [other, rebound] =
        ["ui.example.org".to_owned(), format!("evil.example:{port}")].map(|host| status(&host));
    assert!(other != own && other == rebound, "{own} {other} {rebound}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_without_an_error() {
    let env = TestEnv::new();
    let mut view = View::start(&env, &["--write"]);
    let pid = rustix::process::Pid::from_child(&view.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    let status = view.child.wait().expect("it ends");
    assert!(status.success(), "{status}");
}

#[test]
fn mistakes_in_flags_are_told_before_anything_is_served() {
    let env = TestEnv::new();
    env.write("tokens", "short anna\n");
    env.write("good", "0123456789abcdef anna\n");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let cases: [(&[&str], &str); 10] = [
        (&["--bind", "0.0.0.0"], "--auth FILE"),
        (&["--bind", "0.0.0.0", "--auth", "good"], "--tls-cert"),
        (&["--bind", "0.0.0.0", "--auth", "header:X-User"], "any user"),
        (&["--bind", "somewhere"], "--bind is `somewhere`"),
        (&["--port", "70000"], "--port is `70000`"),
        (&["--port", &port], "is in use"),
        (&["--auth", "missing"], "cannot read `missing`"),
        (&["--auth", "tokens"], "fewer than 16 characters"),
        (&["--tls-cert", "good"], "belong together"),
        (&["--tls-cert", "good", "--tls-key", "gone.key"], "gone.key"),
    ];
    for (flags, expected) in cases {
        let ran = Command::new(env!("CARGO_BIN_EXE_pintle"))
            .args(["ui", "--no-browser", "--cluster", "embedded"])
            .args(flags)
            .current_dir(env.path())
            .env_clear()
            .output()
            .expect("the program runs");
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && error.contains(expected), "{flags:?}: {error}");
        assert!(ran.stdout.is_empty(), "{flags:?}");
    }
}

//! Requests to the API server with curl: what a test reads must not come through the code under test.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Cluster;

/// How long a server is asked again that wants to be asked later.
const PATIENCE: Duration = Duration::from_secs(180);

/// After how many seconds without the end of an answer curl gives up.
const MAX_TIME: &str = "180";

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its HTTP status.
    pub code: u16,
    /// Its text.
    pub body: String,
}

impl Answer {
    /// Tells whether the server did what it was asked.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// The object in the answer.
    ///
    /// # Panics
    /// When the server refused, or answered with something else.
    pub fn object(self) -> Value {
        assert!(self.is_ok(), "the server answers {}: {}", self.code, self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }
}

/// What the server says about an object that it was only shown.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The answer.
    pub answer: Answer,
    /// What the server warns of.
    pub warnings: Vec<String>,
}

impl Trial {
    fn of(head: &str, body: String) -> Trial {
        // The last status is the one that counts; before it a server may say that it wants to hear more.
        let status = head.lines().rev().find_map(|line| line.strip_prefix("HTTP/")?.split(' ').nth(1));
        let code = status.and_then(|code| code.parse().ok()).unwrap_or_default();
        let warning = |line: &str| {
            let (name, value) = line.split_once(": ")?;
            let quoted = value.trim_end().strip_prefix("299 - \"")?.strip_suffix('"')?;
            name.eq_ignore_ascii_case("warning").then(|| quoted.replace("\\\"", "\"").replace("\\\\", "\\"))
        };
        Trial { answer: Answer { code, body }, warnings: head.lines().filter_map(warning).collect() }
    }
}

/// The API server, asked by somebody who may do everything.
#[derive(Clone, Copy, Debug)]
pub struct Api(pub(crate) &'static Cluster);

impl Api {
    /// Sends any request. `kind` is the type of `body`; an empty body is not sent.
    ///
    /// # Panics
    /// When the server cannot be reached.
    pub fn send(&self, method: &str, path: &str, kind: &str, body: &str) -> Answer {
        let send = || {
            self.try_send(method, path, kind, body)
                .unwrap_or_else(|problem| panic!("{method} {path}: {problem}"))
        };
        // The server wants to be asked later, such as when it has just learned of a kind.
        let limit = Instant::now() + PATIENCE;
        let mut answer = send();
        while answer.code == 429 && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(250));
            answer = send();
        }
        answer
    }

    /// As [`Api::send`], with words for a server that cannot be reached.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> Result<Answer, String> {
        let mut curl = self.curl();
        curl.args(["--request", method, "--write-out", "\n%{http_code}"])
            .arg(format!("{}{path}", self.0.server));
        if !body.is_empty() {
            curl.args(["--header", &format!("Content-Type: {kind}"), "--data-binary", "@-"]);
        }
        let mut child = curl.spawn().map_err(|error| format!("cannot run curl: {error}"))?;
        if let Some(mut input) = child.stdin.take() {
            // A curl that failed early does not read; its exit code tells.
            let _ = input.write_all(body.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let (body, code) = text.rsplit_once('\n').ok_or("curl tells no status")?;
        let code = code.parse().map_err(|_| format!("`{code}` is no status"))?;
        Ok(Answer { code, body: body.to_owned() })
    }

    /// The object at `path`; `None` where there is none.
    ///
    /// # Panics
    /// When the server refuses for another reason.
    pub fn read(&self, path: &str) -> Option<Value> {
        let answer = self.send("GET", path, "", "");
        if answer.code == 404 { None } else { Some(answer.object()) }
    }

    /// The objects of the list at `path`.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn list(&self, path: &str) -> Vec<Value> {
        let mut list = self.send("GET", path, "", "").object();
        let Value::Array(items) = list["items"].take() else { panic!("{path} is no list: {list}") };
        items
    }

    /// Text that is no object, such as a log.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn text(&self, path: &str) -> String {
        let answer = self.send("GET", path, "", "");
        assert!(answer.is_ok(), "GET {path}: {} {}", answer.code, answer.body);
        answer.body
    }

    /// Makes an object in the list at `path`.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn create(&self, path: &str, object: &Value) -> Value {
        self.send("POST", path, "application/json", &object.to_string()).object()
    }

    /// Changes fields of the object at `path` (JSON merge patch).
    ///
    /// # Panics
    /// When the server refuses.
    pub fn merge(&self, path: &str, change: &Value) -> Value {
        self.send("PATCH", path, "application/merge-patch+json", &change.to_string()).object()
    }

    /// Deletes the object at `path`; what belongs to it goes later. Tells whether there was one.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn delete(&self, path: &str) -> bool {
        let answer = self.send("DELETE", path, "application/json", r#"{"propagationPolicy":"Background"}"#);
        assert!(answer.is_ok() || answer.code == 404, "DELETE {path}: {} {}", answer.code, answer.body);
        answer.is_ok()
    }

    /// Lets the server try many objects without keeping them (`POST` with a dry run and strict fields), each at the path
    /// of its list. One connection does it all; files are put into `folder`.
    ///
    /// # Panics
    /// When the server cannot be reached.
    pub fn try_all(&self, folder: &Path, objects: &[(String, String)]) -> Vec<Trial> {
        let keys = self.0.keys.path();
        let file_of = |name: &str| keys.join(name).display().to_string();
        let secret = match self.0.is_secure() {
            true => format!(
                "cacert = {:?}\ncert = {:?}\nkey = {:?}",
                file_of("ca.crt"),
                file_of("user.crt"),
                file_of("user.key")
            ),
            false => String::new(),
        };
        let file = |name: &str, index: usize| folder.join(format!("{name}-{index}"));
        let mut sections = Vec::new();
        for (index, (path, body)) in objects.iter().enumerate() {
            fs::write(file("body", index), body).expect("a file can be written");
            let lines = [
                format!("silent\nshow-error\nnoproxy = \"*\"\nmax-time = {MAX_TIME}"),
                secret.clone(),
                "header = \"Content-Type: application/json\"".to_owned(),
                format!("url = \"{}{path}?dryRun=All&fieldValidation=Strict\"", self.0.server),
                format!("data-binary = \"@{}\"", file("body", index).display()),
                format!("output = {:?}\ndump-header = {:?}", file("answer", index), file("head", index)),
            ];
            sections.push(lines.join("\n"));
        }
        let config = folder.join("requests");
        fs::write(&config, sections.join("\nnext\n")).expect("a file can be written");
        let ran = Command::new("curl").arg("--config").arg(&config).output().expect("curl can be run");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let read = |name: &str, index: usize| fs::read_to_string(file(name, index)).unwrap_or_default();
        (0..objects.len()).map(|index| Trial::of(&read("head", index), read("answer", index))).collect()
    }

    fn curl(&self) -> Command {
        let keys = self.0.keys.path();
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--max-time", MAX_TIME, "--noproxy", "*"]);
        if self.0.is_secure() {
            curl.arg("--cacert").arg(keys.join("ca.crt"));
            curl.arg("--cert").arg(keys.join("user.crt")).arg("--key").arg(keys.join("user.key"));
        }
        curl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        curl
    }
}

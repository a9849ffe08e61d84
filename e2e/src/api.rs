//! Requests to the API server with curl, so that tests do not read through the code under test.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Cluster;

/// How long to retry a server that answers `429`.
const RETRY_TIMEOUT: Duration = Duration::from_secs(180);

/// Curl's timeout per request, in seconds.
const MAX_TIME: &str = "180";

/// A response of the server.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status.
    pub code: u16,
    /// The body.
    pub body: String,
}

impl Response {
    /// Whether the status is 2xx.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Parses the object in the body.
    ///
    /// # Panics
    /// On an error status or other content.
    pub fn object(self) -> Value {
        assert!(self.is_ok(), "the server answers {}: {}", self.code, self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }
}

/// The result of a dry run.
#[derive(Clone, Debug)]
pub struct DryRunResult {
    /// The response.
    pub answer: Response,
    /// The `Warning` headers.
    pub warnings: Vec<String>,
}

impl DryRunResult {
    fn parse(head: &str, body: String) -> DryRunResult {
        // Use the last status line: a `100 Continue` may precede it.
        let status = head.lines().rev().find_map(|line| line.strip_prefix("HTTP/")?.split(' ').nth(1));
        let code = status.and_then(|code| code.parse().ok()).unwrap_or_default();
        let warning = |line: &str| {
            let (name, value) = line.split_once(": ")?;
            let quoted = value.trim_end().strip_prefix("299 - \"")?.strip_suffix('"')?;
            name.eq_ignore_ascii_case("warning").then(|| quoted.replace("\\\"", "\"").replace("\\\\", "\\"))
        };
        DryRunResult { answer: Response { code, body }, warnings: head.lines().filter_map(warning).collect() }
    }
}

/// The API server, with cluster-admin rights.
#[derive(Clone, Copy, Debug)]
pub struct Api(pub(crate) &'static Cluster);

impl Api {
    /// Sends a request. `kind` is the content type of `body`; an empty body is not sent.
    ///
    /// # Panics
    /// If the server cannot be reached.
    pub fn send(&self, method: &str, path: &str, kind: &str, body: &str) -> Response {
        let send = || {
            self.try_send(method, path, kind, body)
                .unwrap_or_else(|problem| panic!("{method} {path}: {problem}"))
        };
        // The server asks for a retry, for example right after a CRD was created.
        let limit = Instant::now() + RETRY_TIMEOUT;
        let mut answer = send();
        while answer.code == 429 && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(250));
            answer = send();
        }
        answer
    }

    /// As [`Api::send`], with an error for a server that cannot be reached.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> Result<Response, String> {
        let mut curl = self.curl();
        curl.args(["--request", method, "--write-out", "\n%{http_code}"])
            .arg(format!("{}{path}", self.0.server));
        if !body.is_empty() {
            curl.args(["--header", &format!("Content-Type: {kind}"), "--data-binary", "@-"]);
        }
        let mut child = curl.spawn().map_err(|error| format!("cannot run curl: {error}"))?;
        if let Some(mut input) = child.stdin.take() {
            // A curl that fails early closes its input; the exit code reports the error.
            let _ = input.write_all(body.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let (body, code) = text.rsplit_once('\n').ok_or("curl printed no status")?;
        let code = code.parse().map_err(|_| format!("`{code}` is no status"))?;
        Ok(Response { code, body: body.to_owned() })
    }

    /// The object at `path`; `None` on `404`.
    ///
    /// # Panics
    /// On any other error status.
    pub fn read(&self, path: &str) -> Option<Value> {
        let answer = self.send("GET", path, "", "");
        if answer.code == 404 { None } else { Some(answer.object()) }
    }

    /// The objects of the list at `path`.
    ///
    /// # Panics
    /// On an error status.
    pub fn list(&self, path: &str) -> Vec<Value> {
        let mut list = self.send("GET", path, "", "").object();
        let Value::Array(items) = list["items"].take() else { panic!("{path} is no list: {list}") };
        items
    }

    /// A plain-text resource, such as a log.
    ///
    /// # Panics
    /// On an error status.
    pub fn text(&self, path: &str) -> String {
        let answer = self.send("GET", path, "", "");
        assert!(answer.is_ok(), "GET {path}: {} {}", answer.code, answer.body);
        answer.body
    }

    /// Creates an object in the collection at `path`.
    ///
    /// # Panics
    /// On an error status.
    pub fn create(&self, path: &str, object: &Value) -> Value {
        self.send("POST", path, "application/json", &object.to_string()).object()
    }

    /// Applies a JSON merge patch to the object at `path`.
    ///
    /// # Panics
    /// On an error status.
    pub fn merge(&self, path: &str, change: &Value) -> Value {
        self.send("PATCH", path, "application/merge-patch+json", &change.to_string()).object()
    }

    /// Deletes the object at `path`, with background propagation, and returns whether it existed.
    ///
    /// # Panics
    /// On an error status.
    pub fn delete(&self, path: &str) -> bool {
        let answer = self.send("DELETE", path, "application/json", r#"{"propagationPolicy":"Background"}"#);
        assert!(answer.is_ok() || answer.code == 404, "DELETE {path}: {} {}", answer.code, answer.body);
        answer.is_ok()
    }

    /// Creates many objects in dry-run mode with strict field validation, each at the path of its collection, over one
    /// connection. Temporary files are written to `folder`.
    ///
    /// # Panics
    /// If the server cannot be reached.
    pub fn dry_run_all(&self, folder: &Path, objects: &[(String, String)]) -> Vec<DryRunResult> {
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
        (0..objects.len())
            .map(|index| DryRunResult::parse(&read("head", index), read("answer", index)))
            .collect()
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

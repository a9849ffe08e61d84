//! The real API server, called with curl.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::answer::Answer;
use super::case::Case;

/// A control plane started by `cargo xtask cluster up`.
pub(crate) struct Real {
    server: String,
    keys: PathBuf,
    /// The minor version of its Kubernetes, such as `1.37`.
    pub(crate) minor: Option<String>,
}

impl Real {
    /// The cluster in the directory `PINTLE_CONTRACT_CLUSTER`, if it is set.
    pub(crate) fn from_environment() -> Option<Real> {
        let folder = PathBuf::from(std::env::var_os("PINTLE_CONTRACT_CLUSTER")?);
        let record = std::fs::read(folder.join("cluster.json")).expect("the cluster is up");
        let record = pintle_tree::json::read(&record).unwrap();
        let word = |name: &str| record.get(name).and_then(pintle_tree::Node::as_str).map(str::to_owned);
        let server = word("server").expect("the cluster has an address");
        Some(Real { server, keys: folder.join("keys"), minor: word("kubernetes") })
    }

    pub(crate) fn send(&self, case: &Case) -> Answer {
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--include",
            "--http1.1",
            "--max-time",
            "20",
            "--noproxy",
            "*",
            "--globoff",
        ]);
        for (flag, name) in [("--cacert", "ca.crt"), ("--cert", "admin.crt"), ("--key", "admin.key")] {
            curl.arg(flag).arg(self.keys.join(name));
        }
        curl.args(["--request", &case.method, "--header", "Expect:"]);
        for (name, value) in &case.headers {
            curl.arg("--header").arg(format!("{name}: {value}"));
        }
        if !case.body.is_empty() {
            curl.args(["--data-binary", "@-"]);
        }
        curl.arg(format!("{}{}", self.server, case.path));
        let mut child = curl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("curl is here");
        child.stdin.take().unwrap().write_all(case.body.as_bytes()).unwrap();
        read(&child.wait_with_output().unwrap().stdout)
    }
}

/// Parses a response that is preceded by its headers.
fn read(text: &[u8]) -> Answer {
    let end = text.windows(4).position(|window| window == b"\r\n\r\n").expect("an answer has headers");
    let head = String::from_utf8_lossy(&text[..end]).into_owned();
    let mut lines = head.lines();
    let code = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(a, b)| (a.to_lowercase(), b.to_owned()))
        .collect();
    let all = |name: &str| {
        headers.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    Answer {
        code: code.expect("an answer has a code"),
        content_type: all("content-type").concat(),
        warnings: all("warning"),
        body: text[end + 4..].to_vec(),
    }
}

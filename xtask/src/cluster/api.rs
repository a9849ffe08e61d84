//! The few requests that starting a cluster takes, with curl: no client library, no kubectl.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell::output;

/// An API server, with cluster-admin credentials.
pub(super) struct Api {
    server: String,
    keys: PathBuf,
}

impl Api {
    /// The server of the cluster in `folder`.
    pub(super) fn new(server: &str, folder: &Path) -> Api {
        Api { server: server.to_owned(), keys: folder.join("keys") }
    }

    /// Tells whether the server says that it is ready.
    pub(super) fn is_ready(&self) -> bool {
        output(self.curl("/readyz").arg("--fail")).is_ok()
    }

    /// The object at `path`; `None` on failure.
    pub(super) fn read(&self, path: &str) -> Option<Value> {
        let text = output(self.curl(path).arg("--fail")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The same as a `Table`.
    pub(super) fn read_table(&self, path: &str) -> Option<Value> {
        let accept = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io";
        let text = output(self.curl(path).args(["--fail", "--header", accept])).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Makes the object at `path` be what `file` says.
    pub(super) fn apply(&self, path: &str, file: &Path) -> Result<()> {
        let mut curl = self.curl(&format!("{path}?fieldManager=testbed&force=true"));
        curl.args(["--request", "PATCH", "--header", "Content-Type: application/apply-patch+yaml"]);
        curl.arg("--data-binary").arg(format!("@{}", file.display()));
        curl.args(["--write-out", "\n%{http_code}"]);
        let answer = String::from_utf8(output(&mut curl)?).context("the server answers with text")?;
        let (body, code) = answer.rsplit_once('\n').unwrap_or_default();
        if !code.starts_with('2') {
            bail!("the server does not take {}: {code} {body}", file.display());
        }
        Ok(())
    }

    fn curl(&self, path: &str) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--max-time", "10", "--noproxy", "*"]);
        curl.arg("--cacert").arg(self.keys.join("ca.crt"));
        curl.arg("--cert").arg(self.keys.join("admin.crt"));
        curl.arg("--key").arg(self.keys.join("admin.key"));
        curl.arg(format!("{}{path}", self.server));
        curl
    }
}

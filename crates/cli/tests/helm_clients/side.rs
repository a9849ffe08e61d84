//! One of the two programs called `helm`, with a folder and an embedded cluster of its own.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pintle_regex::Regex;

use super::scenario::Scenario;
use crate::clients::mask::masked;
use crate::clients::side::Server;
use crate::support::TestEnv;

/// The timeout of a command, in seconds.
const LIMIT: &str = "300";

pub(super) struct Side {
    pub(super) name: &'static str,
    folder: PathBuf,
    _server: Server,
}

/// What a command printed, without what differs from run to run.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Side {
    /// The paths of both sides have the same length, so that text that is cut to a width is cut at the same place.
    pub(super) fn new(
        place: &TestEnv,
        name: &'static str,
        helm: &Path,
        programs: &[(&str, PathBuf)],
        scenario: &Scenario,
    ) -> Side {
        let folder = place.path().join(name);
        for below in ["bin", "home", "tmp", "cwd"] {
            std::fs::create_dir_all(folder.join(below)).unwrap();
        }
        symlink(helm, folder.join("bin/helm")).unwrap();
        for (program, path) in programs {
            symlink(path, folder.join("bin").join(program)).unwrap();
        }
        for (file, text) in &scenario.files {
            let path = folder.join("cwd").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let server = Server::start(&folder.join("kubeconfig"), &[]);
        Side { name, folder, _server: server }
    }

    /// Runs a line of shell. `$PROGRAMS` is the folder of the programs.
    pub(super) fn run(&self, line: &str) -> Outcome {
        let mut path = OsString::from(self.folder.join("bin"));
        path.push(":/usr/local/bin:/usr/bin:/bin");
        let output = Command::new("timeout")
            .args([LIMIT, "sh", "-c", line])
            .current_dir(self.folder.join("cwd"))
            .env_clear()
            .env("PATH", path)
            .env("PROGRAMS", self.folder.join("bin"))
            .env("HOME", self.folder.join("home"))
            .env("TMPDIR", self.folder.join("tmp"))
            .env("KUBECONFIG", self.folder.join("kubeconfig"))
            .env("TZ", "UTC")
            .envs([("GIT_AUTHOR_NAME", "me"), ("GIT_AUTHOR_EMAIL", "me@example.com")])
            .envs([("GIT_COMMITTER_NAME", "me"), ("GIT_COMMITTER_EMAIL", "me@example.com")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let clean = |bytes: &[u8]| self.clean(&String::from_utf8_lossy(bytes));
        let (stdout, stderr) = (clean(&output.stdout), clean(&output.stderr));
        // helmfile processes releases concurrently, so the order of its messages varies.
        let mut lines: Vec<&str> = stderr.split_inclusive('\n').collect();
        lines.sort_unstable();
        Outcome { code: output.status.code().unwrap_or(-1), stdout, stderr: lines.concat() }
    }

    fn clean(&self, text: &str) -> String {
        let text = text.replace(&*self.folder.to_string_lossy(), "{here}");
        let mut text = text.into_bytes();
        for (rule, mark) in [
            (r"(\{here\}/tmp/[a-zA-Z-]*)[0-9]+", "${1}N"),
            (r"\(\d+ bytes\)", "(N bytes)"),
            (r"\d+(\.\d+)?(ms|µs)\b", "AGE"),
            // The hash of a path.
            (r"yaml-[0-9a-f]{8}-", "yaml-HASH-"),
        ] {
            text = Regex::compile(rule).unwrap().replace_all(&text, mark.as_bytes());
        }
        masked(&String::from_utf8_lossy(&text))
    }
}

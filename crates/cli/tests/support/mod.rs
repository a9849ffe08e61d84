//! Runs the built program in its own directory and environment, and returns exit code and output as one text.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod archive;
pub(crate) mod chart;
pub(crate) mod cluster;
pub(crate) mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// An empty directory and environment to run in.
pub(crate) struct TestEnv {
    folder: TempDir,
}

impl TestEnv {
    /// An empty environment.
    pub(crate) fn new() -> TestEnv {
        TestEnv { folder: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    /// The working directory of commands.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file.
    pub(crate) fn write(&self, path: &str, text: &str) -> &TestEnv {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
        std::fs::write(path, text).expect("a file can be written");
        self
    }

    /// Runs `pintle`.
    pub(crate) fn pintle(&self, line: &str) -> String {
        self.run(Path::new(env!("CARGO_BIN_EXE_pintle")), line, &[])
    }

    /// Runs the program as `helm`.
    pub(crate) fn helm(&self, line: &str) -> String {
        self.helm_with(line, &[])
    }

    /// Runs `helm` with variables set.
    pub(crate) fn helm_with(&self, line: &str, variables: &[(&str, &str)]) -> String {
        self.called("helm", line, variables)
    }

    /// Runs the program under another name, with variables set.
    pub(crate) fn called(&self, name: &str, line: &str, variables: &[(&str, &str)]) -> String {
        self.run(&self.linked(name), line, variables)
    }

    /// A link to the program under another name.
    pub(crate) fn linked(&self, name: &str) -> PathBuf {
        let path = self.path().join(".bin").join(name);
        if !path.exists() {
            std::fs::create_dir_all(self.path().join(".bin")).expect("folders can be made");
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pintle"), &path).expect("links can be made");
        }
        path
    }

    /// Formats the exit code, standard output and standard error, with the directory replaced by `{here}`.
    fn run(&self, program: &Path, line: &str, variables: &[(&str, &str)]) -> String {
        let output = Command::new(program)
            .args(words(line))
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .expect("the program can be run");
        let here = self.path().to_string_lossy().into_owned();
        let clean = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&here, "{here}");
        let mut text = format!("exit {}\n", output.status.code().unwrap_or(-1));
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                text.push_str(&format!("--- {name}\n{}", clean(bytes)));
                if !text.ends_with('\n') {
                    text.push_str("<no line break>\n");
                }
            }
        }
        text
    }
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("folders can be made");
    for entry in std::fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("the folder can be read");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("a file can be copied");
        }
    }
}

/// Splits a line into words; single quotes keep blanks together.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quoted, mut open) = (false, false);
    for character in line.chars() {
        match character {
            '\'' => {
                quoted = !quoted;
                if !open {
                    words.push(String::new());
                    open = true;
                }
            }
            ' ' if !quoted => open = false,
            character => {
                if !open {
                    words.push(String::new());
                    open = true;
                }
                if let Some(word) = words.last_mut() {
                    word.push(character);
                }
            }
        }
    }
    words
}

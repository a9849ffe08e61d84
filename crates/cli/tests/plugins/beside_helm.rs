//! Runs the same commands with the real Helm and with this program called `helm`, each in its own folder; exit codes,
//! output and resulting files are compared after each command.
//!
//! Scenarios are in `scenarios/*.txt`. `file PATH` and `program PATH` begin a file whose lines are indented by two blanks,
//! `> WORDS` runs the program, `>! WORDS` runs both where what they print differs on purpose, as COMPATIBILITY.md says,
//! and only exit codes are compared; with `>~` all but the files are. `$ TEXT` is for the shell, `set NAME=VALUE` sets a variable from here on. `{root}` is
//! the folder of the scenario. Files below `data` are compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::write_program;
use crate::support::{real_helm, words};

struct Side {
    root: TempDir,
    variables: Vec<(String, String)>,
}

impl Side {
    /// A folder with a link to the program, so that both are called by paths of the same shape.
    fn new(program: &Path) -> Side {
        let side = Side { root: tempfile::tempdir().unwrap(), variables: Vec::new() };
        for folder in ["bin", "home", "work", "data/plugins"] {
            std::fs::create_dir_all(side.root.path().join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(program, side.root.path().join("bin/helm")).unwrap();
        side
    }

    fn path(&self) -> String {
        self.root.path().to_string_lossy().into_owned()
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{root}", &self.path())
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let root = self.root.path();
        command
            .current_dir(root.join("work"))
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", root.join("bin").display()))
            .env("HOME", root.join("home"))
            .env("HELM_DATA_HOME", root.join("data"))
            .env("HELM_CACHE_HOME", root.join("cache"))
            .env("GIT_CONFIG_COUNT", "3")
            .envs([("GIT_CONFIG_KEY_0", "user.name"), ("GIT_CONFIG_VALUE_0", "me")])
            .envs([("GIT_CONFIG_KEY_1", "user.email"), ("GIT_CONFIG_VALUE_1", "me@example.com")])
            .envs([("GIT_CONFIG_KEY_2", "init.defaultBranch"), ("GIT_CONFIG_VALUE_2", "main")])
            .envs(self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            .stdin(Stdio::null());
        command
    }

    fn helm(&self, line: &str) -> (i32, String, String) {
        let program = self.root.path().join("bin/helm");
        let arguments = words(line).into_iter().map(|word| self.filled(&word));
        self.outcome(self.command(&program).args(arguments))
    }

    fn shell(&self, line: &str) {
        let (code, out, errors) =
            self.outcome(self.command(Path::new("/bin/sh")).arg("-c").arg(self.filled(line)));
        assert_eq!(code, 0, "{line}: {out}{errors}");
    }

    fn outcome(&self, command: &mut Command) -> (i32, String, String) {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| {
            without_temporary_names(&String::from_utf8_lossy(bytes).replace(&self.path(), "{root}"))
        };
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// The names of all files below `data`.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.root.path().join("data")];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    if entry.file_name() != ".git" {
                        open.push(entry.path());
                    }
                    continue;
                }
                let path = entry.path();
                found.push(path.strip_prefix(self.root.path()).unwrap().to_string_lossy().into_owned());
            }
        }
        found.sort();
        found
    }
}

/// The text without the random ends of the names of temporary folders.
fn without_temporary_names(text: &str) -> String {
    const NAME: &str = "helm-plugin-extract-";
    let mut parts = text.split(NAME);
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean.push_str(NAME);
        clean.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric()));
    }
    clean
}

/// Runs a scenario on both sides, and gives how many commands it has.
fn run(name: &str, scenario: &str, helm: &Path) -> usize {
    let mut sides = [Side::new(helm), Side::new(Path::new(env!("CARGO_BIN_EXE_pintle")))];
    let mut commands = 0;
    let mut lines = scenario.lines().peekable();
    while let Some(line) = lines.next() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "file" | "program" => {
                let mut text = String::new();
                while let Some(line) = lines.next_if(|line| line.starts_with("  ") || line.is_empty()) {
                    text.push_str(line.strip_prefix("  ").unwrap_or(line));
                    text.push('\n');
                }
                for side in &sides {
                    let path = side.root.path().join(rest);
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    let text = side.filled(&text);
                    if word == "program" {
                        write_program(&path, &text)
                    } else {
                        std::fs::write(path, text).unwrap()
                    }
                }
            }
            ">" | ">!" | ">~" => {
                commands += 1;
                let [theirs, ours] = [0, 1].map(|at: usize| sides[at].helm(rest));
                assert_eq!(ours.0, theirs.0, "{name}: exit code of `{rest}`:\n{theirs:?}\n{ours:?}");
                if word != ">!" {
                    assert_eq!(ours, theirs, "{name}: `{rest}`");
                }
                if word == ">~" {
                    continue;
                }
                let [theirs, ours] = [0, 1].map(|at: usize| sides[at].files());
                assert_eq!(ours, theirs, "{name}: files after `{rest}`");
            }
            "$" => sides.iter().for_each(|side| side.shell(rest)),
            "set" => {
                let (key, value) = rest.split_once('=').unwrap();
                for side in &mut sides {
                    let value = side.filled(value);
                    side.variables.push((key.to_owned(), value));
                }
            }
            "" | "#" => {}
            other => panic!("{name}: `{other}` is no step of a scenario"),
        }
    }
    commands
}

#[test]
fn plugin_scenarios_give_what_the_real_helm_gives() {
    let Some(helm) = real_helm("PINTLE_HELM", "4.2.4") else {
        return eprintln!("skipped: there is no real Helm; `cargo xtask test` builds it");
    };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plugins/scenarios");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut commands = 0;
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        commands += run(&file.file_stem().unwrap().to_string_lossy(), &text, &helm);
    }
    assert!(commands > 150, "only {commands} commands were compared");
}

//! Runs the same commands with the real Helm and with this program called `helm`, each in its own folder; exit codes,
//! output and resulting files are compared after each command.
//!
//! Scenarios are in `scenarios/*.txt`:
//!
//! | line | meaning |
//! |---|---|
//! | `file PATH`, `program PATH` | begin a file, whose lines are indented by two blanks; the latter can be run |
//! | `> WORDS` | runs the program, and compares exit code, both streams and the names of files below `data` |
//! | `>~ WORDS` | the same without the files; the comment above gives the reason |
//! | `>? WORDS` | the same without standard error; the comment above gives the reason |
//! | `>! WORDS` | compares only the exit code: what is printed differs on purpose, as COMPATIBILITY.md says |
//! | `$ TEXT` | runs a shell command on both sides; it must succeed |
//! | `$? TEXT` | the same, and what it prints is compared |
//! | `set NAME=VALUE` | sets a variable from here on |
//! | `keys` | puts keyrings into `cwd` |
//! | `new` | starts over in two empty folders |
//!
//! `{root}` is the folder of the side, and `{url}` a web server for the files below its `srv`, of which those below `v2` are a
//! registry; `{host}` is its address.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::write_program;
use crate::support::{TestEnv, words};

struct Side {
    root: TempDir,
    url: String,
    variables: Vec<(String, String)>,
}

impl Side {
    /// A folder with a link to the program, so that both are called by paths of the same shape.
    fn new(program: &Path) -> Side {
        let root = tempfile::tempdir().unwrap();
        let url = serve(root.path().join("srv"));
        let side = Side { root, url, variables: Vec::new() };
        for folder in ["bin", "home", "srv", "cwd", "data/plugins"] {
            std::fs::create_dir_all(side.root.path().join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(program, side.root.path().join("bin/helm")).unwrap();
        side
    }

    fn path(&self) -> String {
        self.root.path().to_string_lossy().into_owned()
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{root}", &self.path()).replace("{url}", &self.url).replace("{host}", self.host())
    }

    fn host(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let root = self.root.path();
        command
            .current_dir(root.join("cwd"))
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

    fn shell(&self, line: &str) -> String {
        let (code, out, errors) =
            self.outcome(self.command(Path::new("/bin/sh")).arg("-c").arg(self.filled(line)));
        assert_eq!(code, 0, "{line}: {out}{errors}");
        format!("{out}{errors}")
    }

    fn write(&self, path: &str, text: &str, runs: bool) {
        let (path, text) = (self.root.path().join(path), self.filled(text));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if runs { write_program(&path, &text) } else { std::fs::write(path, text).unwrap() }
    }

    fn set(&mut self, assignment: &str) {
        let (key, value) = assignment.split_once('=').unwrap();
        self.variables.push((key.to_owned(), self.filled(value)));
    }

    fn outcome(&self, command: &mut Command) -> (i32, String, String) {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace(&self.path(), "{root}");
            let key = self.url.replace("://", "-").replace(':', "-");
            let text = text.replace(&self.url, "{url}").replace(&key, "{key}").replace(self.host(), "{host}");
            without_times(&without_temporary_names(&text))
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

/// Serves the files of a folder, and returns the URL. Files without an extension have the content type of archives.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = String::new();
            let mut reader = BufReader::new(&stream);
            while reader.read_line(&mut head).is_ok_and(|length| length > 2) {}
            let mut words = head.split(' ');
            let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let file = folder.join(path.trim_start_matches('/'));
            let kind = match () {
                () if path.contains("/manifests/") => "application/vnd.oci.image.manifest.v1+json",
                () if file.extension().is_none() => "application/gzip",
                () => "text/plain",
            };
            let answer = match std::fs::read(&file) {
                Ok(bytes) => {
                    let (length, digest) = (bytes.len(), pintle_provenance::sha256(&bytes));
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nDocker-Content-Digest: sha256:{digest}\r\nConnection: close\r\n\r\n"
                    );
                    let body = if method == "HEAD" { Vec::new() } else { bytes };
                    [head.into_bytes(), body].concat()
                }
                Err(_) => {
                    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
                }
            };
            let _ = stream.write_all(&answer);
        }
    });
    format!("http://{address}")
}

/// The text without the times of releases, which the two programs deploy one after the other.
fn without_times(text: &str) -> String {
    const PREFIX: &str = "LAST DEPLOYED: ";
    let line = |line: &str| match line.starts_with(PREFIX) {
        true => format!("{PREFIX}TIME\n"),
        false => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
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

/// What became of the commands of a scenario.
#[derive(Default)]
struct Report {
    commands: usize,
    /// Commands that are not compared in full, by their marks.
    exempt: Vec<String>,
    differences: Vec<String>,
}

struct Scenario<'a> {
    name: &'a str,
    helm: &'a Path,
    rings: Option<&'a Path>,
    sides: [Side; 2],
    report: &'a mut Report,
}

impl<'a> Scenario<'a> {
    fn sides(helm: &Path) -> [Side; 2] {
        [Side::new(helm), Side::new(Path::new(env!("CARGO_BIN_EXE_pintle")))]
    }

    fn run(&mut self, text: &str) {
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "file" | "program" => {
                    let mut text = String::new();
                    while let Some(line) = lines.next_if(|line| line.starts_with("  ") || line.is_empty()) {
                        text.push_str(line.strip_prefix("  ").unwrap_or(line));
                        text.push('\n');
                    }
                    self.sides.iter().for_each(|side| side.write(rest, &text, word == "program"));
                }
                ">" | ">~" | ">?" | ">!" => self.compare(word, rest),
                "$" => self.sides.iter().for_each(|side| drop(side.shell(rest))),
                "$?" => {
                    let [theirs, ours] = [0, 1].map(|at: usize| self.sides[at].shell(rest));
                    self.check(ours == theirs, rest, format!("{theirs}\n--- ours\n{ours}"));
                }
                "set" => self.sides.iter_mut().for_each(|side| side.set(rest)),
                "keys" => self.copy_keys(),
                "new" => self.sides = Scenario::sides(self.helm),
                "" | "#" => {}
                other => panic!("{}: `{other}` is no step of a scenario", self.name),
            }
        }
    }

    fn check(&mut self, same: bool, line: &str, text: String) {
        if !same {
            self.report.differences.push(format!("{}: {line}\n{text}", self.name));
        }
    }

    fn compare(&mut self, mark: &str, line: &str) {
        self.report.commands += 1;
        if mark != ">" && mark != ">~" {
            self.report.exempt.push(mark.to_owned());
        }
        let [theirs, ours] = [0, 1].map(|at: usize| self.sides[at].helm(line));
        let shown = format!(
            "exit {}\n{}{}--- ours: exit {}\n{}{}",
            theirs.0, theirs.1, theirs.2, ours.0, ours.1, ours.2
        );
        let same = ours.0 == theirs.0
            && (mark == ">!" || ours.1 == theirs.1)
            && (mark == ">!" || mark == ">?" || ours.2 == theirs.2);
        self.check(same, line, shown);
        if mark != ">~" {
            let [theirs, ours] = [0, 1].map(|at: usize| self.sides[at].files());
            self.check(ours == theirs, line, format!("files: {theirs:?}\n--- ours: {ours:?}"));
        }
    }

    fn copy_keys(&self) {
        let Some(rings) = self.rings else { return };
        for entry in std::fs::read_dir(rings).unwrap().flatten() {
            for side in &self.sides {
                std::fs::copy(entry.path(), side.root.path().join("cwd").join(entry.file_name())).unwrap();
            }
        }
    }
}

#[test]
fn plugin_scenarios_give_what_the_real_helm_gives() {
    let Some(helm) = pintle_testkit::real_helm() else {
        return eprintln!("skipped: there is no real Helm; `cargo xtask test` builds it");
    };
    let place = TestEnv::new();
    let rings = crate::beside_helm::fixtures::keys(&place).then(|| place.path().join("rings"));
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plugins/scenarios");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let only = std::env::var("SCENARIO").unwrap_or_default();
    let mut report = Report::default();
    for file in files.iter().filter(|file| file.to_string_lossy().contains(&only)) {
        let text = std::fs::read_to_string(file).unwrap();
        if text.lines().any(|line| line == "keys") && rings.is_none() {
            continue;
        }
        let name = file.file_stem().unwrap().to_string_lossy();
        let sides = Scenario::sides(&helm);
        let rings = rings.as_deref();
        Scenario { name: &name, helm: &helm, rings, sides, report: &mut report }.run(&text);
    }
    let Report { commands, exempt, differences } = &report;
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n\n"));
    if only.is_empty() {
        // What is promised: 99 of 100 have equal exit codes and standard output, 97 of 100 equal standard error.
        let silent = exempt.iter().filter(|mark| *mark == ">!").count();
        assert!(*commands >= 300, "only {commands} commands were compared");
        assert!(silent * 100 <= *commands, "{silent} of {commands} print something else");
        assert!(exempt.len() * 100 <= commands * 3, "{} of {commands} say something else", exempt.len());
    }
}

//! One of the two programs in its home.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pintle_regex::Regex;

/// A program with its home, which is also its working directory.
pub(super) struct Side {
    pub(super) program: PathBuf,
    pub(super) home: PathBuf,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) exit: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// What is in a home: folders end in a slash.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

const REFUSED_CLIENT: &str = "remote error: tls: certificate required|(write|read) tcp [^ ]+->[^ ]+: (write|read): (broken pipe|connection reset by peer)";

impl Side {
    /// A program with a new home below `base`. The homes of both sides have paths of the same length, so that text that is
    /// cut to a width is cut at the same place.
    pub(super) fn new(program: &Path, base: &Path, name: &str) -> Side {
        let home = base.join(name);
        fs::create_dir_all(&home).unwrap();
        Side { program: program.to_owned(), home }
    }

    /// Runs `[NAME=value …] command [<<< input]`.
    pub(super) fn run(&self, line: &str) -> Outcome {
        let line = line.replace("{home}", &self.home.to_string_lossy());
        let (line, input) =
            line.split_once(" <<< ").map_or((&*line, None), |(line, text)| (line, Some(text)));
        let words = crate::support::words(line);
        let variables = words.iter().take_while(|word| is_variable(word)).count();
        let mut command = Command::new(&self.program);
        command.args(&words[variables..]).current_dir(&self.home).env_clear();
        command.env("HOME", &self.home).env("TZ", "UTC").env("PATH", "/usr/bin:/bin");
        // Garbage collection and thread starts take a third of the time of a short-lived Go program.
        command.env("GOGC", "off").env("GOMAXPROCS", "1");
        command.envs(words[..variables].iter().filter_map(|word| word.split_once('=')));
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
            // A program that fails early closes its input.
            let _ =
                pipe.write_all(format!("{}\n", input.replace("\\n", "\n").replace("\\r", "\r")).as_bytes());
        }
        let output = child.wait_with_output().unwrap();
        let clean = |bytes: &[u8]| self.clean(&String::from_utf8_lossy(bytes));
        Outcome {
            exit: output.status.code(),
            stdout: refreshes_in_order(&clean(&output.stdout)),
            stderr: clean(&output.stderr),
        }
    }

    /// The text without what differs from run to run.
    fn clean(&self, text: &str) -> String {
        let text = text.replace(&*self.home.to_string_lossy(), "{home}");
        let text = replace(&text, "LAST DEPLOYED: .*", "LAST DEPLOYED: TIME");
        // If a server requires a client certificate and gets none, Go reports either the alert or the closed connection,
        // depending on timing.
        let text = replace(&text, REFUSED_CLIENT, "NO CERTIFICATE");
        let text = replace(&text, "tmpcharts-[0-9]+", "tmpcharts-PID");
        // Helm prints the names of temporary files: the name of the file and a random number.
        replace(&text, r"(\.(?:yaml|txt|tgz|prov|json))[0-9]{3,10}(: )", "${1}${2}")
    }

    pub(super) fn files(&self) -> Files {
        let mut files = Files::new();
        let mut folders = vec![self.home.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(&self.home).unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    files.insert(format!("{name}/"), Vec::new());
                    folders.push(path);
                } else {
                    files.insert(name.clone(), self.content(&name, fs::read(&path).unwrap_or_default()));
                }
            }
        }
        files
    }

    fn content(&self, name: &str, bytes: Vec<u8>) -> Vec<u8> {
        const TIME: &str = r#""?20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"?"#;
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        if !ends(&[".yaml", ".json", ".lock", ".txt"]) {
            return bytes;
        }
        let text = self.clean(&String::from_utf8_lossy(&bytes));
        if ends(&["charts.txt"]) {
            // Helm writes them in the order of a Go map.
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            return lines.join("\n").into_bytes();
        }
        replace(&text, TIME, "TIME").into_bytes()
    }
}

fn is_variable(word: &str) -> bool {
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && is_name(name))
}

pub(super) fn replace(text: &str, pattern: &str, with: &str) -> String {
    let pattern = Regex::compile(pattern).expect("a valid expression");
    String::from_utf8_lossy(&pattern.replace_all(text.as_bytes(), with.as_bytes())).into_owned()
}

/// Sorts lines about refreshed repositories, with what is indented below them: they come in the order of the answers.
fn refreshes_in_order(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut answers: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match answers.last_mut() {
            _ if line.starts_with("...") => answers.push(line.to_owned()),
            Some(answer) if line.starts_with('\t') => answer.push_str(line),
            _ => {
                answers.sort_unstable();
                out.append(&mut answers);
                out.push(line.to_owned());
            }
        }
    }
    answers.sort_unstable();
    out.append(&mut answers);
    out.concat()
}

/// Describes the files that differ.
pub(super) fn differences(helm: &Side, ours: &Side) -> Vec<String> {
    let (theirs, mine) = (helm.files(), ours.files());
    let mut found = Vec::new();
    for (name, content) in theirs.iter().filter(|(name, _)| !is_cache(name)) {
        match mine.get(name) {
            // `pull --untar` leaves an empty folder with the last part of the reference.
            None if is_empty_folder(name, &theirs) => {}
            None => found.push(format!("only Helm leaves {name}")),
            Some(other) if other != content && !are_alike(name, content, other) => {
                let [theirs, mine] =
                    [content, other].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                found.push(format!("{name} differs:\n--- helm\n{theirs}\n--- ours\n{mine}"));
            }
            Some(_) => {}
        }
    }
    let extra = mine.keys().filter(|name| !theirs.contains_key(*name) && !is_cache(name) && !is_ours(name));
    found.extend(extra.map(|name| format!("only ours leaves {name}")));
    found
}

fn is_empty_folder(name: &str, files: &Files) -> bool {
    name.ends_with('/') && files.keys().all(|file| !file.starts_with(name) || file.ends_with('/'))
}

/// The content cache: `pull` and `dependency` fill ours, too.
fn is_cache(name: &str) -> bool {
    name.starts_with(".cache/helm/content")
}

/// Files that only ours leaves: index caches, and the lock of commands that Helm runs without one.
fn is_ours(name: &str) -> bool {
    name.ends_with("-index.pintle")
        || name.ends_with("repositories.lock")
        || name == ".cache/"
        || name == ".cache/helm/"
}

/// Whether two files differ only in what no two runs have in common: times and compression of archives, signatures.
fn are_alike(name: &str, theirs: &[u8], mine: &[u8]) -> bool {
    if name.ends_with(".prov") {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let signed = text.split("-----BEGIN PGP SIGNATURE").next().unwrap_or_default().to_owned();
            replace(&signed, "sha256:[0-9a-f]{64}", "sha256:DIGEST")
        };
        return text(theirs) == text(mine);
    }
    name.ends_with(".tgz") && unpacked(theirs).is_some_and(|theirs| unpacked(mine) == Some(theirs))
}

/// The entries of an archive by name. Helm writes subcharts in the order of a Go map, so their order is left out.
fn unpacked(archive: &[u8]) -> Option<Files> {
    let file = tempfile::NamedTempFile::new().ok()?;
    fs::write(file.path(), archive).ok()?;
    let tar = |flag: &str, name: Option<&str>| {
        let output = Command::new("tar")
            .args(["--quoting-style=literal", flag])
            .arg(file.path())
            .args(name)
            .output()
            .ok()?;
        output.status.success().then_some(output.stdout)
    };
    // Nested archives contain times, too, and lock files that of their creation.
    let has_times = |name: &str| name.ends_with(".tgz") || name.ends_with(".lock");
    let content = |name: &str| if has_times(name) { Some(Vec::new()) } else { tar("-xzOf", Some(name)) };
    let names = String::from_utf8_lossy(&tar("-tzf", None)?).into_owned();
    names.lines().map(|name| Some((name.to_owned(), content(name)?))).collect()
}

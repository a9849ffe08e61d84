//! The same commands with the real Helm and with ours, on the same servers and each in a home of its own: exit codes,
//! output and the files left behind are compared.
//!
//! `scenarios.txt` and `dependencies.txt` have the commands. A line `== words` begins a scenario with two empty homes; `$ command` compares
//! everything; `? command` leaves standard error out, and `% command` leaves standard output out too, each with a reason
//! in the comment (`#`) before it. `@write PATH TEXT`, `@remove PATH` and `@copy ARCHIVE PATH` change both homes.
//! `{plain}`, `{other}` and `{tls}` are the addresses of the servers, `{home}` is the home.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pintle_regex::Regex;

use super::server::{self, Server};
use crate::registries::program::{Program, distribution};
use crate::support::TestEnv;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/repositories");

/// The real Helm, where `cargo xtask` has built it.
fn helm() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let helm = cache.join("pintle/helm-v4.2.4/helm");
    helm.is_file().then_some(helm)
}

/// One of the two programs in its home.
struct Side {
    program: PathBuf,
    home: PathBuf,
}

#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    exit: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Side {
    fn run(&self, words: &[String], stdin: &str) -> Outcome {
        use std::io::Write as _;
        let mut child = Command::new(&self.program)
            .args(words)
            .current_dir(&self.home)
            .env_clear()
            .env("HOME", &self.home)
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be run");
        // A program that does not read is none the worse for it.
        let _ = child.stdin.take().expect("it has one").write_all(stdin.as_bytes());
        let output = child.wait_with_output().expect("it ends");
        let clean = |bytes: &[u8]| self.clean(&String::from_utf8_lossy(bytes));
        Outcome { exit: output.status.code(), stdout: clean(&output.stdout), stderr: clean(&output.stderr) }
    }

    fn clean(&self, text: &str) -> String {
        let text = text.replace(&*self.home.to_string_lossy(), "{home}");
        let time = Regex::compile("LAST DEPLOYED: .*").expect("an expression");
        let text = time.replace_all(text.as_bytes(), b"LAST DEPLOYED: TIME");
        let process = Regex::compile("tmpcharts-[0-9]+").expect("an expression");
        String::from_utf8_lossy(&process.replace_all(&text, b"tmpcharts-PID")).into_owned()
    }

    /// The files of the home with their contents, without what may differ from run to run.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.home.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("it can be read").flatten() {
                let path = entry.path();
                let name =
                    path.strip_prefix(&self.home).expect("it is inside").to_string_lossy().into_owned();
                if path.is_dir() {
                    files.insert(format!("{name}/"), String::new());
                    folders.push(path);
                } else {
                    files.insert(name.clone(), self.content(&name, &path));
                }
            }
        }
        files
    }

    fn content(&self, name: &str, path: &Path) -> String {
        // Archives that are made of folders have times and a compression of their own.
        if name.contains("/near-") || name.contains("-out/") {
            return String::new();
        }
        let bytes = fs::read(path).expect("it can be read");
        let text = self.clean(&String::from_utf8_lossy(&bytes));
        if name.ends_with("-charts.txt") {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            return lines.join("\n");
        }
        let time =
            Regex::compile(r#""?20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"?"#).expect("an expression");
        if [".yaml", ".json", "Chart.lock", "requirements.lock"].iter().any(|end| name.ends_with(end)) {
            return String::from_utf8_lossy(&time.replace_all(text.as_bytes(), b"TIME")).into_owned();
        }
        text
    }
}

/// Files that only ours leaves: side files, the lock of commands that Helm does without one, and what `pull` keeps in the
/// content cache.
fn is_ours(name: &str) -> bool {
    name.ends_with("-index.pintle")
        || name.ends_with("repositories.lock")
        || name.starts_with(".cache/helm/content")
}

fn differences(helm: &Side, ours: &Side) -> Vec<String> {
    let (theirs, ours) = (helm.files(), ours.files());
    let mut printed = Vec::new();
    for (name, content) in &theirs {
        match ours.get(name) {
            None => printed.push(format!("only Helm leaves {name}")),
            Some(other) if other != content => {
                printed.push(format!("{name} differs:\n--- helm\n{content}\n--- ours\n{other}"));
            }
            Some(_) => {}
        }
    }
    let extra = ours.keys().filter(|name| !theirs.contains_key(*name) && !is_ours(name));
    printed.extend(extra.map(|name| format!("only ours leaves {name}")));
    printed
}

/// Words between blanks; single quotes keep blanks together.
fn words(line: &str) -> Vec<String> {
    crate::support::words(line)
}

fn make(base: &Path, name: &str, number: usize) -> PathBuf {
    // Both paths have the same length, so that what is cut to a width is cut at the same place.
    let home = base.join(format!("{name}{number}"));
    fs::create_dir_all(&home).expect("folders can be made");
    home
}

#[test]
fn commands_about_repositories_do_what_helm_does() {
    compare_scenarios("scenarios.txt", 150);
}

#[test]
fn commands_about_dependencies_do_what_helm_does() {
    compare_scenarios("dependencies.txt", 60);
}

/// Runs the commands of a file, of which there must be at least so many.
fn compare_scenarios(file: &str, least: usize) {
    let Some(program) = helm() else { return };
    let place = TestEnv::new();
    let files = server::files(&place);
    crate::images_copy::certificates(&place);
    let (plain, other) = (Server::plain(&files), Server::plain(&files));
    let tls = Server::tls(&files, &place);
    let port = other.address.rsplit_once(':').expect("it has a port").1.to_owned();
    let only = std::env::var("SCENARIO").unwrap_or_default();
    let mut sides: Option<(Side, Side)> = None;
    let (mut scenario, mut count, mut stdin) = (String::new(), 0, String::new());
    let mut wrong: Vec<String> = Vec::new();
    let mut number = 0;
    let base = place.path().join("homes");
    let finish = |sides: &Option<(Side, Side)>, scenario: &str, wrong: &mut Vec<String>| {
        if let Some((helm, ours)) = sides {
            wrong.extend(differences(helm, ours).iter().map(|printed| format!("== {scenario}\n{printed}")));
        }
    };
    let scenarios = fs::read_to_string(Path::new(FOLDER).join(file)).expect("they are there");
    let registry = match scenarios.contains("{registry}") {
        true => {
            let Some(registry) = filled_registry(&place) else { return };
            Some(registry)
        }
        false => None,
    };
    for line in scenarios.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("== ") {
            finish(&sides, &scenario, &mut wrong);
            sides = None;
            scenario = name.to_owned();
            number += 1;
            if name.contains(&only) {
                let helm = Side { program: program.clone(), home: make(&base, "h", number) };
                sides = Some((helm, Side { program: place.linked("helm"), home: make(&base, "o", number) }));
            }
            continue;
        }
        let Some((helm, ours)) = &sides else { continue };
        let line = line
            .replace("{plain}", &format!("http://{}", plain.address))
            .replace("{other}", &format!("http://{}", other.address))
            .replace("{other-port}", &port)
            .replace("{registry}", registry.as_ref().map_or("", |registry| &registry.host))
            .replace("{tls}", &format!("https://{}", tls.address))
            .replace("{server}", &place.path().to_string_lossy());
        let (kind, rest) = line.split_once(' ').expect("a word and a command");
        match kind {
            "@stdin" => stdin = rest.replace("\\n", "\n"),
            "@write" | "@remove" | "@copy" | "@mkdir" => {
                for side in [helm, ours] {
                    change(side, &place, kind, rest);
                }
            }
            _ => {
                count += 1;
                let of = |side: &Side| {
                    side.run(&words(&rest.replace("{home}", &side.home.to_string_lossy())), &stdin)
                };
                let (mut theirs, mut mine) = (of(helm), of(ours));
                // Whoever answers first is told first.
                for outcome in [&mut theirs, &mut mine] {
                    outcome.stdout = normalized(&outcome.stdout);
                }
                if kind != "$" {
                    mine.stderr.clone_from(&theirs.stderr);
                }
                if kind == "%" {
                    mine.stdout.clone_from(&theirs.stdout);
                }
                if theirs != mine {
                    wrong.push(format!(
                        "== {scenario}\n{kind} {rest}\n--- helm {theirs:#?}\n--- ours {mine:#?}"
                    ));
                }
            }
        }
    }
    finish(&sides, &scenario, &mut wrong);
    assert!(wrong.is_empty(), "{} of {count} commands differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= least || !only.is_empty(), "only {count} commands");
}

/// A registry that has some of the charts, and one whose version has a plus sign.
fn filled_registry(place: &TestEnv) -> Option<Program> {
    let registry = distribution("")?;
    place.write("src/plus/Chart.yaml", "apiVersion: v2\nname: plus\nversion: 1.0.0+b.1\n");
    let packed = place.pintle("package src/plus -d plus");
    assert!(packed.starts_with("exit 0\n"), "{packed}");
    let archives =
        ["web-1.0.0", "web-1.1.0", "web-2.0.0-rc.1", "db-0.3.0"].map(|name| format!("archives/{name}"));
    for archive in archives.iter().map(String::as_str).chain(["plus/plus-1.0.0+b.1"]) {
        let pushed = place.pintle(&format!("push {archive}.tgz oci://{}/charts", registry.host));
        assert!(pushed.starts_with("exit 0\n"), "{pushed}");
    }
    Some(registry)
}

/// The text with the lines about refreshed repositories, and what is indented below them, in an order of their own.
fn normalized(text: &str) -> String {
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

fn change(side: &Side, place: &TestEnv, kind: &str, rest: &str) {
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    match kind {
        "@write" => {
            let path = side.home.join(first);
            fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
            fs::write(path, second.replace("\\n", "\n")).expect("it can be written");
        }
        "@mkdir" => fs::create_dir_all(side.home.join(first)).expect("folders can be made"),
        "@copy" => {
            let to = side.home.join(second);
            fs::create_dir_all(to.parent().expect("a file is in a folder")).expect("folders can be made");
            fs::copy(place.path().join(first), to).expect("it can be copied");
        }
        _ => fs::remove_file(side.home.join(first)).expect("it can be removed"),
    }
}

#[test]
fn both_programs_take_turns_in_one_home() {
    let Some(program) = helm() else { return };
    let place = TestEnv::new();
    let files = server::files(&place);
    let server = Server::plain(&files);
    let url = format!("http://{}", server.address);
    let home = make(&place.path().join("homes"), "both", 1);
    let helm = Side { program, home: home.clone() };
    let ours = Side { program: place.linked("helm"), home };
    let run = |side: &Side, line: &str| {
        let outcome = side.run(&words(line), "");
        assert_eq!(outcome.exit, Some(0), "{line}: {}", outcome.stderr);
        outcome.stdout
    };
    for (first, second) in [(&helm, &ours), (&ours, &helm)] {
        run(first, &format!("repo add one {url}/charts --username me --password secret"));
        run(second, &format!("repo add two {url}/json --pass-credentials"));
        assert_eq!(run(first, "repo list -o json"), run(second, "repo list -o json"));
        assert_eq!(run(first, "search repo"), run(second, "search repo"));
        assert_eq!(run(first, "show all one/web"), run(second, "show all one/web"));
        // The other program has put another index where ours has a side file.
        run(first, &format!("repo add one {url}/json --force-update"));
        assert!(!run(second, "search repo").contains("one/db"));
        run(second, &format!("repo add one {url}/charts --force-update"));
        assert!(run(first, "search repo").contains("one/db"));
        run(first, "repo update");
        assert_eq!(run(first, "search repo -l"), run(second, "search repo -l"));
        run(second, "repo remove one");
        assert!(run(first, "repo list").contains("two"));
        run(first, "repo remove two");
        assert_eq!(run(second, "repo list"), "");
    }
}

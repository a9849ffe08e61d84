//! Scenarios: sequences of requests, read from files.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub(crate) enum Until {
    Code(u16),
    Value(String, String),
}

/// One request of a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) saves: Vec<(String, String)>,
    pub(crate) until: Option<Until>,
    pub(crate) ignored: Vec<String>,
    /// The first minor version that the scenario is for, if this is its first case.
    pub(crate) since: Option<u32>,
}

pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) cases: Vec<Case>,
}

impl Scenario {
    pub(crate) fn all() -> Vec<Scenario> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/cases");
        let only = std::env::var("PINTLE_CONTRACT_ONLY").unwrap_or_default();
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "http"));
        paths.sort();
        let scenarios = paths.into_iter().map(Scenario::read);
        scenarios.filter(|scenario| scenario.name.contains(&only)).collect()
    }

    fn read(path: PathBuf) -> Scenario {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let cases: Vec<Case> = sections(&text).into_iter().map(|(title, text)| case(title, text)).collect();
        for (index, case) in cases.iter().enumerate() {
            assert!(
                !cases[..index].iter().any(|other| other.title == case.title),
                "{name}: {} twice",
                case.title
            );
        }
        Scenario { name, path, cases }
    }

    /// Whether it can be run with an older version.
    pub(crate) fn is_for(&self, version: &str) -> bool {
        let since = self.cases.first().and_then(|case| case.since);
        since.is_none_or(|since| minor(version).is_some_and(|minor| minor >= since))
    }

    /// The recorded answers of the newest version, or those of an older one that differ.
    pub(crate) fn answers(&self, older: Option<&str>) -> PathBuf {
        match older {
            None => self.path.with_extension("answers"),
            Some(version) => self.path.with_extension(format!("{version}.answers")),
        }
    }
}

/// The number after the dot: 36 of `1.36`.
fn minor(version: &str) -> Option<u32> {
    version.split('.').nth(1)?.parse().ok()
}

/// The sections of a file, each with its title `### TITLE`.
pub(crate) fn sections(text: &str) -> Vec<(&str, &str)> {
    let text =
        text.strip_prefix("### ").unwrap_or_else(|| text.split_once("\n### ").map_or("", |(_, rest)| rest));
    let parts = text.split("\n### ").filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('\n').unwrap_or((part, ""))).collect()
}

fn case(title: &str, text: &str) -> Case {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let (method, path) =
        lines.next().and_then(|line| line.split_once(' ')).expect("a request has a method and a path");
    let mut case = Case {
        title: title.trim().to_owned(),
        method: method.to_owned(),
        path: path.trim().to_owned(),
        body: body.trim().to_owned(),
        ..Case::default()
    };
    for line in lines {
        match line.strip_prefix('>') {
            Some(directive) => direct(&mut case, directive.trim()),
            None => {
                let (name, value) =
                    line.split_once(':').unwrap_or_else(|| panic!("{title}: no header: {line}"));
                case.headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
    }
    case
}

fn direct(case: &mut Case, directive: &str) {
    let words: Vec<&str> = directive.split_whitespace().collect();
    match words[..] {
        ["save", name, path] => case.saves.push((name.to_owned(), path.to_owned())),
        ["wait", until] => {
            case.until = Some(match (until.parse(), until.split_once('=')) {
                (Ok(code), _) => Until::Code(code),
                (_, Some((path, value))) => Until::Value(path.to_owned(), value.to_owned()),
                _ => panic!("{}: wait for what?", case.title),
            });
        }
        ["since", version] => {
            case.since = Some(minor(version).unwrap_or_else(|| panic!("{}: since when?", case.title)));
        }
        ["ignore", ref paths @ ..] => case.ignored.extend(paths.iter().map(|path| (*path).to_owned())),
        _ => panic!("{}: there is no directive `{directive}`", case.title),
    }
}

//! Scenario files, and the comparison.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::fixtures::{World, set_time};
use super::side::{Outcome, Side, differences, replace};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/beside_helm/scenarios");

/// The scenarios of a family of commands.
pub(super) struct Family {
    pub(super) text: String,
}

/// The two programs in the homes of one scenario.
struct Scenario<'a> {
    name: &'a str,
    helm: Side,
    ours: Side,
    /// Whether digests of archives differ.
    own_archives: bool,
}

impl Family {
    pub(super) fn read(name: &str) -> Family {
        let folder = std::env::var_os("SCENARIOS").unwrap_or_else(|| FOLDER.into());
        let path = Path::new(&folder).join(format!("{name}.txt"));
        Family {
            text: fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        }
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    }

    /// How many commands have one of these marks.
    pub(super) fn marked(&self, marks: &[char]) -> usize {
        self.lines().filter(|line| line.starts_with(marks)).count()
    }

    pub(super) fn commands(&self) -> usize {
        self.marked(&['$', '?', '%', '~'])
    }

    /// Runs everything, and describes what differs.
    pub(super) fn run(&self, world: &World<'_>) -> Vec<String> {
        let only = std::env::var("SCENARIO").unwrap_or_default();
        let mut wrong = Vec::new();
        let mut scenario: Option<Scenario<'_>> = None;
        let mut number = 0;
        for line in self.lines() {
            if let Some(name) = line.strip_prefix("== ") {
                scenario.iter().for_each(|scenario| scenario.compare_files(&mut wrong));
                number += 1;
                scenario = name.contains(&only).then(|| Scenario::new(name, world, number));
            } else if let Some(scenario) = &mut scenario {
                scenario.step(&world.filled_in(line), world, &mut wrong);
            }
        }
        scenario.iter().for_each(|scenario| scenario.compare_files(&mut wrong));
        wrong
    }
}

impl<'a> Scenario<'a> {
    fn new(name: &'a str, world: &World<'_>, number: usize) -> Scenario<'a> {
        let side = |program, letter| Side::new(program, &world.homes, &format!("{letter}{number}"));
        Scenario { name, helm: side(&world.helm, "h"), ours: side(&world.ours, "o"), own_archives: false }
    }

    fn compare_files(&self, wrong: &mut Vec<String>) {
        let found = differences(&self.helm, &self.ours);
        wrong.extend(found.iter().map(|printed| format!("== {}\n{printed}", self.name)));
    }

    fn step(&mut self, line: &str, world: &World<'_>, wrong: &mut Vec<String>) {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "$" | "?" | "%" | "~" => wrong.extend(self.command(kind, rest)),
            "@own-archives" => self.own_archives = true,
            _ => [&self.helm, &self.ours].into_iter().for_each(|side| change(side, world, kind, rest)),
        }
    }

    /// Runs a command with both programs, and describes a difference that is not marked, or a mark without one.
    fn command(&self, kind: &str, line: &str) -> Option<String> {
        let run = |side: &Side| {
            let mut outcome = side.run(line);
            if line.starts_with("__complete") || line.starts_with("search repo") && line.contains(" -l") {
                outcome = sorted(outcome);
            } else if line.starts_with("repo update") {
                outcome = with_sorted_failures(outcome);
            }
            if self.own_archives { without_digests(outcome) } else { outcome }
        };
        let (theirs, mine) = std::thread::scope(|scope| {
            let theirs = scope.spawn(|| run(&self.helm));
            let mine = run(&self.ours);
            (theirs.join().expect("it can be run"), mine)
        });
        if theirs == mine && kind != "$" {
            return Some(format!("== {}\n{kind} {line}\nno longer differs", self.name));
        }
        let differs = match kind {
            "~" => false,
            "%" => theirs.exit != mine.exit,
            "?" => (theirs.exit, &theirs.stdout) != (mine.exit, &mine.stdout),
            _ => theirs != mine,
        };
        differs.then(|| format!("== {}\n{kind} {line}\n--- helm {theirs:#?}\n--- ours {mine:#?}", self.name))
    }
}

/// Helm completes the charts of a repository, and lists versions that differ in build metadata alone, in the order of a Go
/// map, which is another in every run.
fn sorted(outcome: Outcome) -> Outcome {
    let mut lines: Vec<&str> = outcome.stdout.split_inclusive('\n').collect();
    lines.sort_unstable();
    Outcome { stdout: lines.concat(), ..outcome }
}

/// Both programs update repositories concurrently, and list those that failed in the order of their answers.
fn with_sorted_failures(outcome: Outcome) -> Outcome {
    let Some((before, listed, after)) = outcome
        .stderr
        .split_once("repositories: [")
        .and_then(|(before, rest)| rest.split_once(']').map(|(listed, after)| (before, listed, after)))
    else {
        return outcome;
    };
    let mut urls: Vec<&str> = listed.split(' ').collect();
    urls.sort_unstable();
    Outcome { stderr: format!("{before}repositories: [{}]{after}", urls.join(" ")), ..outcome }
}

/// Digests of archives depend on the compression library.
fn without_digests(outcome: Outcome) -> Outcome {
    let clean = |text: &str| replace(text, "(sha256:)?[0-9a-f]{64}", "DIGEST");
    Outcome { stdout: clean(&outcome.stdout), stderr: clean(&outcome.stderr), ..outcome }
}

/// Changes a home.
fn change(side: &Side, world: &World<'_>, kind: &str, rest: &str) {
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let in_home = |path: &str| {
        let path = side.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    match kind {
        "@write" => {
            let text = second
                .replace("\\n", "\n")
                .replace("\\t", "\t")
                .replace("{home}", &side.home.to_string_lossy());
            fs::write(in_home(first), text).unwrap();
        }
        "@mkdir" => fs::create_dir_all(side.home.join(first)).unwrap(),
        "@copy" => {
            let path = in_home(second);
            fs::copy(world.place.path().join(first), &path).unwrap();
            // Manifests of pushed charts have the time of the file, so digests depend on it.
            set_time(&path);
        }
        "@remove" if side.home.join(first).is_dir() => fs::remove_dir_all(side.home.join(first)).unwrap(),
        "@remove" => fs::remove_file(side.home.join(first)).unwrap(),
        "@chmod" => {
            let mode = u32::from_str_radix(first, 8).unwrap();
            fs::set_permissions(side.home.join(second), fs::Permissions::from_mode(mode)).unwrap();
        }
        "@link" => std::os::unix::fs::symlink(first, in_home(second)).unwrap(),
        _ => world.put(kind, &side.home),
    }
}

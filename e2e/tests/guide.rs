//! Runs every command of the guides and compares the output with the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pintle_e2e::{CommandResult, Program, TestEnv};

/// Stands for anything inside a line, and on a line of its own for any lines.
const ANYTHING: char = '…';

/// Commands that are skipped, because the test setup has done them: starting a cluster, building the program.
const DONE_ALREADY: [&str; 5] = [
    "cargo xtask cluster up --name guide",
    "export KUBECONFIG=$(cargo xtask cluster kubeconfig --name guide)",
    "cargo build --release --package pintle-cli",
    "export PATH=$PWD/target/release:$PATH",
    "cargo xtask cluster down --name guide",
];

/// A command of a page with its output.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: usize,
    command: String,
    shown: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The commands of a page in their order: lines that begin with `$ ` inside fences of the kind `console`.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match line.strip_prefix("$ ") {
                Some(command) => {
                    steps.push(Step { line: number + 1, command: command.to_owned(), shown: Vec::new() });
                }
                None => {
                    let step = steps.last_mut().expect("a command comes before its output");
                    step.shown.push(line.to_owned());
                }
            },
            (false, _) => {}
        }
    }
    steps
}

impl Step {
    /// The exit code that a reader of the page expects.
    fn code(&self) -> Option<i32> {
        let prints = |word: &str| self.shown.iter().any(|line| line.starts_with(word));
        match () {
            () if prints("Killed") => None,
            () if prints("error: ") || self.command.starts_with("diff ") => Some(1),
            () => Some(0),
        }
    }

    /// Runs the command in a shell.
    fn run(&self, env: &TestEnv) -> CommandResult {
        let program = env.command(Program::Pintle);
        let mut shell = Command::new("sh");
        shell.env_clear().current_dir(env.folder()).stdin(Stdio::null());
        shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", env.folder().join("bin").display()));
        CommandResult::from(
            shell.args(["-c", &format!("exec {}", self.command)]).output().expect("a shell can be run"),
        )
    }

    /// Runs the command and compares the output.
    fn check(&self, env: &TestEnv) {
        let ran = self.run(env);
        let printed = output_lines(env, &ran);
        let place = format!("line {}: $ {}\noutput:\n{}", self.line, self.command, printed.join("\n"));
        assert_eq!(ran.code, self.code(), "{place}");
        let shown: Vec<&str> =
            self.shown.iter().map(String::as_str).filter(|line| *line != "Killed").collect();
        let printed: Vec<&str> = printed.iter().map(String::as_str).collect();
        assert!(lines_match(&shown, &printed), "{place}\nbut the page shows:\n{}", shown.join("\n"));
    }
}

/// The final output without progress lines.
fn output_lines(env: &TestEnv, ran: &CommandResult) -> Vec<String> {
    let is_progress = |line: &&str| {
        let mut parts = line.splitn(3, ": ");
        let (object, state) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        object.matches('/').count() == 2 && ["InProgress", "Current", "Failed", "NotFound"].contains(&state)
    };
    let remarks = ran.stderr.lines().filter(|line| !is_progress(line));
    let lines = ran.stdout.lines().chain(remarks);
    lines.map(|line| line.replace(env.namespace(), "default").trim_end().to_owned()).collect()
}

fn lines_match(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.chars().eq([ANYTHING]) => {
            (0..=printed.len()).any(|skipped| lines_match(rest, &printed[skipped..]))
        }
        Some((first, rest)) => match printed.split_first() {
            Some((line, more)) => line_matches(first, line) && lines_match(rest, more),
            None => false,
        },
    }
}

fn line_matches(shown: &str, printed: &str) -> bool {
    let mut parts = shown.trim_end().split(ANYTHING);
    let Some(rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    let mut rest = rest;
    for part in middle {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("the chart is there") {
        let entry = entry.expect("the chart can be read");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a file can be copied");
        }
    }
}

/// Runs the commands of a page with its example chart; there must be at least `at_least`.
fn walk(env: &TestEnv, page: &str, chart: &str, at_least: usize) {
    let chart = Path::new("examples/charts").join(chart);
    copy(&root().join(&chart), &env.folder().join(&chart));
    let bin = env.folder().join("bin");
    fs::create_dir(&bin).expect("a folder can be made");
    let program = env.command(Program::Pintle).get_program().to_owned();
    std::os::unix::fs::symlink(program, bin.join("pintle")).expect("a link can be made");
    let page = fs::read_to_string(root().join("docs/guide").join(page)).expect("the page is there");
    let steps = steps(&page);
    assert!(steps.len() >= at_least, "only {} commands were found", steps.len());
    for step in steps.iter().filter(|step| !DONE_ALREADY.contains(&step.command.as_str())) {
        assert!(!step.command.starts_with("cargo "), "{step:?}");
        step.check(env);
    }
}

#[test]
fn the_first_release_guide_works() {
    let Some(env) = TestEnv::with_pods("the_walk_to_the_first_release") else { return };
    walk(&env, "first-release.md", "greeter", 20);
}

#[test]
fn the_images_guide_works() {
    let Some(env) = TestEnv::new("the_first_steps_with_images") else { return };
    walk(&env, "images.md", "web", 4);
}

/// Pages without command output, and the tests that cover their statements.
const TESTED_ELSEWHERE: &[(&str, &str)] = &[
    ("hooks.md", "e2e/tests/hook_filter.rs"),
    ("air-gap.md", "crates/registry/tests/copies.rs"),
    ("lua.md", "crates/cli/tests/scripts.rs"),
    ("embedded.md", "crates/cli/tests/embedded.rs"),
    ("coming-from-helm.md", "e2e/tests/helm_interop.rs"),
    ("storage.md", "crates/lib/tests/owners.rs"),
    ("troubleshooting.md", "e2e/tests/waiting.rs"),
    ("library.md", "examples/library/release.rs"),
    ("controller.md", "crates/controller/tests/lifecycle.rs"),
    ("diff.md", "crates/cli/tests/diff.rs"),
    ("chart-testing.md", "crates/cli/tests/ct.rs"),
    ("check.md", "crates/cli/tests/check.rs"),
    ("lua-plugins.md", "crates/cli/tests/plugins.rs"),
    ("plugins.md", "crates/cli/tests/plugins.rs"),
    ("readme-of-charts.md", "crates/cli/tests/docs.rs"),
    ("unittest.md", "crates/cli/tests/unittest.rs"),
];

#[test]
fn every_guide_is_listed_and_tested() {
    let folder = root().join("docs/guide");
    let list = fs::read_to_string(folder.join("README.md")).expect("the list is there");
    let walked = ["first-release.md", "images.md"];
    for entry in fs::read_dir(&folder).expect("the guides are there") {
        let name = entry.expect("the guides can be read").file_name().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        assert!(list.contains(&format!("]({name})")), "{name} is not listed");
        let page = fs::read_to_string(folder.join(&name)).expect("the guides can be read");
        let elsewhere = TESTED_ELSEWHERE.iter().find(|(page, _)| *page == name);
        match elsewhere {
            Some((_, test)) => {
                assert!(steps(&page).is_empty(), "{name} shows answers that no test compares");
                assert!(root().join(test).exists(), "{test} is gone, and nothing holds what {name} tells");
            }
            None => assert!(walked.contains(&name.as_str()), "no test runs {name}"),
        }
    }
}

#[test]
fn pages_are_parsed_and_compared_with_wildcards() {
    let page = "text\n```console\n$ a b\none\n$ c\n```\n```sh\n$ no\n```\n";
    let step = |line, command: &str, shown: &[&str]| Step {
        line,
        command: command.to_owned(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(steps(page), [step(3, "a b", &["one"]), step(5, "c", &[])]);
    assert_eq!(step(1, "x", &["error: no"]).code(), Some(1));
    assert!(lines_match(&["a…c", "…", "end"], &["abbc", "x", "y", "end"]));
    assert!(lines_match(&["…", "end"], &["end"]));
    assert!(!lines_match(&["a"], &["a", "b"]) && !lines_match(&["a", "b"], &["a"]));
    assert!(!line_matches("a…c", "abd") && !line_matches("a", "ab") && line_matches("1…x…", "1 2 x"));
}

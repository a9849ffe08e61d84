//! The commands of the README print what it shows.

use crate::support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::TestEnv;

/// The marker for omitted lines.
const MORE: &str = "…";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The code blocks of a language, in order.
fn blocks<'t>(page: &'t str, kind: &str) -> Vec<&'t str> {
    let fence = format!("```{kind}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Runs the program in the root of the repository with an empty environment, and returns both outputs.
fn run(home: &TestEnv, line: &str) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pintle"));
    program.env_clear().env("HOME", home.path()).current_dir(root()).args(line.split_whitespace());
    let output = program.output().expect("the program can be run");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{line}: {said}");
    said
}

/// The arguments of the command of the README that contains a word.
fn arguments(page: &str, word: &str) -> String {
    let found = blocks(page, "sh").into_iter().find(|block| block.contains(word));
    let command = found.unwrap_or_else(|| panic!("no command with {word}")).trim();
    command.strip_prefix("target/release/pintle ").expect("it runs what was built").to_owned()
}

#[test]
fn the_first_install_needs_no_cluster_and_prints_what_is_shown() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let output = run(&TestEnv::new(), &arguments(&page, "--cluster embedded"));
    let mut rest = output.as_str();
    for shown in blocks(&page, "text")[0].lines().filter(|shown| *shown != MORE) {
        let (_, after) =
            rest.split_once(&format!("{shown}\n")).unwrap_or_else(|| panic!("{shown:?} is not in {output}"));
        rest = after;
    }
}

#[test]
fn the_rehearsal_runs_the_lifecycle_of_a_chart() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let line = arguments(&page, " rehearse ")
        .replace("./your-chart", "examples/charts/web")
        .replace("values.yaml", "examples/charts/web/values.yaml");
    let output = run(&TestEnv::new(), &line);
    for stage in ["install web-", "upgrade web-", "rollback web-", "uninstall web-"] {
        assert!(output.contains(&format!("\n{stage}")), "{output}");
    }
}

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

#[test]
fn the_first_command_installs_without_a_cluster_and_says_what_is_shown() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let first = blocks(&page, "sh")[0].trim();
    let line =
        first.strip_prefix("cargo run --release --package pintle-cli -- ").expect("it builds and runs");
    let said = run(&TestEnv::new(), line);
    let mut rest = said.as_str();
    for shown in blocks(&page, "text")[0].lines().filter(|shown| *shown != MORE) {
        let (_, after) =
            rest.split_once(&format!("{shown}\n")).unwrap_or_else(|| panic!("{shown:?} is not in {said}"));
        rest = after;
    }
}

#[test]
fn the_second_command_rehearses_a_chart() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let second = blocks(&page, "sh")[1].trim();
    let line = second.strip_prefix("target/release/pintle ").expect("it runs what was built");
    let line = line
        .replace("./your-chart", "examples/charts/web")
        .replace("values.yaml", "examples/charts/web/values.yaml");
    let said = run(&TestEnv::new(), &line);
    for stage in ["install web-", "upgrade web-", "rollback web-", "uninstall web-"] {
        assert!(said.contains(&format!("\n{stage}")), "{said}");
    }
}

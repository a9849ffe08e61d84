//! Runs the commands of the first guide on the cluster of these tests, and compares the output with the page. All pages are run on
//! embedded clusters by `crates/cli/tests/guide.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pintle_e2e::{Program, TestEnv};
use pintle_testkit::guide::{Step, steps};

/// Commands for readers without a cluster or a program; these tests have both.
const DONE_ALREADY: [&str; 5] = [
    "cargo build --release --package pintle-cli",
    "export PATH=$PWD/target/release:$PATH",
    "pintle cluster serve --pace real --write-kubeconfig guide.yaml &",
    "export KUBECONFIG=guide.yaml",
    "kill %1",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
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

/// Runs a command in a shell, and compares its output.
fn check(env: &TestEnv, step: &Step) {
    let program = env.command(Program::Pintle);
    let mut shell = Command::new("sh");
    shell.env_clear().current_dir(env.folder()).stdin(Stdio::null());
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("PATH", format!("{}:{path}", env.folder().join("bin").display()));
    let output = shell.args(["-c", &format!("exec {}", step.command)]).output();
    let mut output = output.expect("a shell can be run");
    for bytes in [&mut output.stdout, &mut output.stderr] {
        *bytes = String::from_utf8_lossy(bytes).replace(env.namespace(), "default").into_bytes();
    }
    step.check("first-release.md", &output);
}

#[test]
fn the_first_release_guide_works() {
    let Some(env) = TestEnv::with_pods("the_walk_to_the_first_release") else { return };
    let chart = Path::new("examples/charts/greeter");
    copy(&root().join(chart), &env.folder().join(chart));
    // The cluster cannot pull images, and has a built-in one.
    let values = env.folder().join(chart).join("values.yaml");
    let text = fs::read_to_string(&values).expect("the chart has values");
    let changed = text.replace("image: busybox:1.36", "image: test.invalid/busybox:1");
    assert_ne!(text, changed);
    fs::write(&values, changed).expect("a file can be written");
    let bin = env.folder().join("bin");
    fs::create_dir(&bin).expect("a folder can be made");
    let program = env.command(Program::Pintle).get_program().to_owned();
    std::os::unix::fs::symlink(program, bin.join("pintle")).expect("a link can be made");
    let page = fs::read_to_string(root().join("docs/guide/first-release.md")).expect("the page is there");
    let steps = steps(&page);
    assert!(steps.len() >= 20, "only {} commands were found", steps.len());
    for step in steps.iter().filter(|step| !DONE_ALREADY.contains(&step.command.as_str())) {
        check(&env, step);
    }
}

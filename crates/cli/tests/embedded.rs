//! `--cluster embedded`, `cluster` and `rehearse`: everything without a cluster

use crate::support;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::TestEnv;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  selector:
    matchLabels:
      app: {{ .Values.app | default \"web\" }}
  template:
    metadata:
      labels:
        app: {{ .Values.app | default \"web\" }}
    spec:
      containers:
        - name: web
          image: nginx
";

const HOOK: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-check
  annotations:
    helm.sh/hook: pre-install
    helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
spec:
  backoffLimit: 1
  template:
    metadata:
      annotations:
        pintle.dev/simulate-log: all is well
        pintle.dev/simulate-duration: 30s
        pintle.dev/simulate-failures: {{ .Values.failures | default \"1\" | quote }}
    spec:
      restartPolicy: Never
      containers:
        - name: check
          image: busybox
";

fn place() -> TestEnv {
    let place = TestEnv::new();
    place.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    place.write("web/templates/deployment.yaml", DEPLOYMENT).write("web/templates/check.yaml", HOOK);
    place
}

fn holds(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

#[test]
fn a_release_is_stored_in_a_file() {
    let place = place();
    let there = "--cluster embedded:box.db";
    holds(
        &place.pintle(&format!("install a web --wait {there}")),
        &["exit 0", "all is well", "STATUS: deployed"],
    );
    holds(&place.pintle(&format!("upgrade a web --wait {there}")), &["exit 0", "REVISION: 2"]);
    holds(
        &place.called("pintle", "list", &[("PINTLE_CLUSTER", "embedded:box.db")]),
        &["exit 0", "web-1.0.0"],
    );
    holds(&place.pintle(&format!("cluster status {there}")), &["exit 0", "1 deployments.apps", "1 nodes"]);
    holds(&place.pintle(&format!("uninstall a --wait {there}")), &["exit 0", "uninstalled"]);
    holds(&place.pintle(&format!("cluster reset {there}")), &["exit 0", "box.db is empty"]);
    assert!(!place.path().join("box.db").exists());
}

/// What one run of README's first command shows, and how long the processor works for it.
fn first_command(place: &TestEnv) -> (String, Duration) {
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/charts/greeter");
    let output = Command::new("/bin/sh")
        .args(["-c", "\"$@\" && times", "sh", env!("CARGO_BIN_EXE_pintle")])
        .args(["install", "hello", chart, "--cluster", "embedded", "--wait"])
        .current_dir(place.path())
        .env_clear()
        .env("HOME", place.path())
        .output()
        .expect("the program runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    // The last line has the times of children: `0m0.080s 0m0.010s`.
    let times = shown.lines().last().unwrap_or_default();
    let seconds = times.split(' ').filter_map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    });
    let worked = Duration::from_secs_f64(seconds.sum());
    (shown, worked)
}

#[test]
fn the_example_is_installed_with_little_work() {
    let place = TestEnv::new();
    let (shown, worked) = first_command(&place);
    holds(&shown, &["the greeting is fine: Hello", "NAME: hello", "STATUS: deployed", "hello says: Hello"]);
    // A tenth of it for a program that is built for use. How long that takes depends on who else wants the machine,
    // and is measured by the benchmarks.
    assert!(worked < Duration::from_secs(10), "{worked:?}");
}

#[test]
fn a_failing_hook_fails_the_release() {
    let shown = place().pintle("install a web --cluster embedded --set-string failures=always");
    holds(&shown, &["exit 1", "failed pre-install", "all is well"]);
}

#[test]
fn only_writing_commands_create_the_file() {
    let place = place();
    let there = "--cluster embedded:tpyo.db";
    for (line, told) in [
        ("list", "exit 0"),
        ("status a", "release: not found"),
        ("uninstall a", "release: not found"),
        ("upgrade a web", "has no deployed releases"),
        ("install a web --dry-run=server", "STATUS: pending-install"),
        ("upgrade a web --install --dry-run=server", "STATUS: pending-install"),
    ] {
        let shown = place.pintle(&format!("{line} {there}"));
        holds(&shown, &[told, "warning: there is no cluster in `tpyo.db` yet"]);
        assert!(!place.path().join("tpyo.db").exists(), "{line}");
    }
    place.pintle(&format!("__complete status {there} ''"));
    assert!(!place.path().join("tpyo.db").exists(), "a look at what could be completed");
    for line in ["init", "upgrade a web --install", "install a web"] {
        holds(&place.pintle(&format!("{line} {there}")), &["exit 0"]);
        std::fs::remove_file(place.path().join("tpyo.db")).expect("it was made");
    }
}

#[test]
fn an_invalid_embedded_cluster_is_an_error() {
    let place = place();
    place.write("notes.txt", "mine");
    holds(&place.pintle("list --cluster kind"), &["exit 2", "invalid cluster `kind`"]);
    holds(&place.pintle("cluster reset"), &["exit 2", "--cluster embedded:FILE"]);
    holds(
        &place.pintle("cluster status --cluster embedded:none.db"),
        &["exit 2", "there is no cluster in `none.db`"],
    );
    holds(&place.pintle("cluster reset --cluster embedded:notes.txt"), &["exit 2", "notes.txt"]);
    assert!(place.path().join("notes.txt").exists(), "it is nobody's to delete");
    holds(&place.pintle("cluster serve --address 0.0.0.0:1"), &["exit 2", "127.0.0.1:6443"]);
    holds(&place.pintle("cluster serve --pace slow"), &["exit 2", "fast or real"]);
    holds(&place.pintle("cluster serve --kube-version 1.9"), &["exit 2", "1.36"]);
}

#[test]
fn other_clients_find_it_on_a_port() {
    let place = place();
    let mut server = Command::new(env!("CARGO_BIN_EXE_pintle"))
        .args(["cluster", "serve", "--write-kubeconfig", "config.yaml"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("it prints")).read_line(&mut line).expect("it prints");
    let installed = place.pintle("install a web --wait --kubeconfig config.yaml");
    server.kill().expect("it can be ended");
    server.wait().expect("it ends");
    assert_eq!(line, "export KUBECONFIG=config.yaml\n");
    holds(&installed, &["exit 0", "all is well"]);
}

#[test]
fn a_rehearsal_report_is_reproducible() {
    let place = place();
    let first = place.pintle("rehearse web --release-name a --output json");
    holds(&first, &["exit 0", r#""name":"rollback""#, r#""log":"all is well\n"#]);
    assert_eq!(first, place.pintle("rehearse web --release-name a -o json"));
    holds(
        &place.pintle("rehearse web"),
        &["exit 0", "install web-1.0.0: ok", "uninstall web-1.0.0: ok", "the chart works"],
    );
}

#[test]
fn a_rehearsal_finds_problems_with_their_position() {
    let place = place();
    place.write("bad/Chart.yaml", "apiVersion: v2\nname: web\nversion: 2.0.0\n");
    let wrong = DEPLOYMENT.replace("          image", "          imagePulPolicy: Always\n          image");
    place.write("bad/templates/deployment.yaml", &wrong);
    let unknown = r#"unknown field "spec.template.spec.containers[0].imagePulPolicy""#;
    holds(&place.pintle("rehearse bad"), &["exit 1", "web/templates/deployment.yaml:16", unknown]);
    let junit = place.pintle("rehearse bad --output junit");
    holds(
        &junit,
        &["exit 1", "<testsuite name=\"install", "<failure message=\"web/templates/deployment.yaml:16"],
    );
    place.write("next/Chart.yaml", "apiVersion: v2\nname: web\nversion: 2.0.0\n");
    place.write("next/templates/deployment.yaml", &DEPLOYMENT.replace("\"web\"", "\"other\""));
    holds(
        &place.pintle("rehearse next --from web --timeout 2s"),
        &["exit 1", "install web-1.0.0: ok", "upgrade", "field is immutable"],
    );
    place.write("old/Chart.yaml", "apiVersion: v2\nname: old\nversion: 1.0.0\n");
    let wanting =
        DEPLOYMENT.replace("image: nginx", "image: nginx\n          envFrom: [{secretRef: {name: gone}}]");
    place.write("old/templates/d.yaml", &wanting);
    holds(&place.pintle("rehearse old"), &["exit 1", "secret \"gone\" not found"]);
    let warned = "apiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\n";
    place.write("warned/Chart.yaml", "apiVersion: v2\nname: warned\nversion: 1.0.0\n");
    place.write("warned/templates/e.yaml", warned);
    holds(&place.pintle("rehearse warned"), &["exit 0", "deprecated in v1.33+", "with warnings"]);
    holds(&place.pintle("rehearse warned --strict"), &["exit 1", "deprecated in v1.33+"]);
    holds(&place.pintle("rehearse none"), &["exit 2"]);
    holds(&place.pintle("rehearse web -o xml"), &["exit 2", "text, json and junit"]);
}

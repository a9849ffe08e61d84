//! `--cluster embedded`, `cluster` and `rehearse`: commands without a real cluster

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

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/templates/deployment.yaml", DEPLOYMENT).write("web/templates/check.yaml", HOOK);
    env
}

fn holds(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

#[test]
fn a_release_is_stored_in_a_file() {
    let env = env();
    let there = "--cluster embedded:box.db";
    holds(
        &env.pintle(&format!("install a web --wait {there}")),
        &["exit 0", "all is well", "STATUS: deployed"],
    );
    holds(&env.pintle(&format!("upgrade a web --wait {there}")), &["exit 0", "REVISION: 2"]);
    holds(&env.called("pintle", "list", &[("PINTLE_CLUSTER", "embedded:box.db")]), &["exit 0", "web-1.0.0"]);
    holds(&env.pintle(&format!("cluster status {there}")), &["exit 0", "1 deployments.apps", "1 nodes"]);
    holds(&env.pintle(&format!("uninstall a --wait {there}")), &["exit 0", "uninstalled"]);
    holds(&env.pintle(&format!("cluster reset {there}")), &["exit 0", "box.db was deleted"]);
    assert!(!env.path().join("box.db").exists());
}

#[test]
fn without_log_output_a_failing_hook_shows_no_line_of_its_log() {
    let env = env();
    let line = "install a web --set failures=always --cluster embedded";
    holds(&env.pintle(line), &["exit 1", "all is well"]);
    let silent = env.pintle(&format!("{line} --no-log-output"));
    assert!(silent.starts_with("exit 1") && !silent.contains("all is well"), "{silent}");
}

/// The output of README's first command, and the CPU time it takes.
fn first_command(env: &TestEnv) -> (String, Duration) {
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/charts/greeter");
    let output = Command::new("/bin/sh")
        .args(["-c", "\"$@\" && times", "sh", env!("CARGO_BIN_EXE_pintle")])
        .args(["install", "hello", chart, "--cluster", "embedded", "--wait"])
        .current_dir(env.path())
        .env_clear()
        .env("HOME", env.path())
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
    let env = TestEnv::new();
    let (shown, worked) = first_command(&env);
    holds(&shown, &["the greeting is fine: Hello", "NAME: hello", "STATUS: deployed", "hello says: Hello"]);
    // The limit is ten times that of a release build. Wall-clock time depends on the load of the machine, and is
    // measured by the benchmarks.
    assert!(worked < Duration::from_secs(10), "{worked:?}");
}

#[test]
fn a_failing_hook_fails_the_release() {
    let shown = env().pintle("install a web --cluster embedded --set-string failures=always");
    holds(&shown, &["exit 1", "failed pre-install", "all is well"]);
}

#[test]
fn only_writing_commands_create_the_file() {
    let env = env();
    let there = "--cluster embedded:tpyo.db";
    for (line, printed) in [
        ("list", "exit 0"),
        ("status a", "there is no release `a`"),
        ("uninstall a", "there is no release `a`"),
        ("upgrade a web", "there is no release `a`"),
        ("install a web --dry-run=server", "STATUS: pending-install"),
        ("upgrade a web --install --dry-run=server", "STATUS: pending-install"),
    ] {
        let shown = env.pintle(&format!("{line} {there}"));
        holds(&shown, &[printed, "warning: there is no cluster in `tpyo.db` yet"]);
        assert!(!env.path().join("tpyo.db").exists(), "{line}");
    }
    env.pintle(&format!("__complete status {there} ''"));
    assert!(!env.path().join("tpyo.db").exists(), "a look at what could be completed");
    for line in ["init", "upgrade a web --install", "install a web"] {
        holds(&env.pintle(&format!("{line} {there}")), &["exit 0"]);
        std::fs::remove_file(env.path().join("tpyo.db")).expect("it was made");
    }
}

#[test]
fn an_invalid_embedded_cluster_is_an_error() {
    let env = env();
    env.write("notes.txt", "mine");
    holds(&env.pintle("list --cluster kind"), &["exit 2", "invalid cluster `kind`"]);
    holds(&env.pintle("cluster reset"), &["exit 2", "--cluster embedded:FILE"]);
    holds(
        &env.pintle("cluster status --cluster embedded:none.db"),
        &["exit 2", "there is no cluster in `none.db`"],
    );
    holds(&env.pintle("cluster reset --cluster embedded:notes.txt"), &["exit 2", "notes.txt"]);
    assert!(env.path().join("notes.txt").exists(), "it is nobody's to delete");
    holds(&env.pintle("cluster serve --address 0.0.0.0:1"), &["exit 2", "127.0.0.1:6443"]);
    holds(&env.pintle("cluster serve --pace slow"), &["exit 2", "fast or real"]);
    holds(&env.pintle("cluster serve --kube-version 1.9"), &["exit 2", "1.36"]);
}

#[test]
fn other_clients_find_it_on_a_port() {
    let env = env();
    let mut server = Command::new(env!("CARGO_BIN_EXE_pintle"))
        .args(["cluster", "serve", "--write-kubeconfig", "config.yaml"])
        .current_dir(env.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("it prints")).read_line(&mut line).expect("it prints");
    let installed = env.pintle("install a web --wait --kubeconfig config.yaml");
    server.kill().expect("it can be ended");
    server.wait().expect("it ends");
    assert_eq!(line, "export KUBECONFIG=config.yaml\n");
    holds(&installed, &["exit 0", "all is well"]);
}

#[test]
fn a_rehearsal_report_is_reproducible() {
    let env = env();
    let first = env.pintle("rehearse web --release-name a --output json");
    holds(&first, &["exit 0", r#""name":"rollback""#, r#""log":"all is well\n"#]);
    assert_eq!(first, env.pintle("rehearse web --release-name a -o json"));
    holds(
        &env.pintle("rehearse web"),
        &["exit 0", "install web-1.0.0: ok", "uninstall web-1.0.0: ok", "the chart works"],
    );
}

#[test]
fn a_rehearsal_finds_problems_with_their_position() {
    let env = env();
    env.write("bad/Chart.yaml", "apiVersion: v2\nname: web\nversion: 2.0.0\n");
    let wrong = DEPLOYMENT.replace("          image", "          imagePulPolicy: Always\n          image");
    env.write("bad/templates/deployment.yaml", &wrong);
    let unknown = r#"unknown field "spec.template.spec.containers[0].imagePulPolicy""#;
    holds(&env.pintle("rehearse bad"), &["exit 1", "web/templates/deployment.yaml:16", unknown]);
    let junit = env.pintle("rehearse bad --output junit");
    holds(
        &junit,
        &["exit 1", "<testsuite name=\"install", "<failure message=\"web/templates/deployment.yaml:16"],
    );
    env.write("next/Chart.yaml", "apiVersion: v2\nname: web\nversion: 2.0.0\n");
    env.write("next/templates/deployment.yaml", &DEPLOYMENT.replace("\"web\"", "\"other\""));
    holds(
        &env.pintle("rehearse next --from web --timeout 2s"),
        &["exit 1", "install web-1.0.0: ok", "upgrade", "field is immutable"],
    );
    env.write("old/Chart.yaml", "apiVersion: v2\nname: old\nversion: 1.0.0\n");
    let wanting =
        DEPLOYMENT.replace("image: nginx", "image: nginx\n          envFrom: [{secretRef: {name: gone}}]");
    env.write("old/templates/d.yaml", &wanting);
    holds(&env.pintle("rehearse old"), &["exit 1", "secret \"gone\" not found"]);
    let warned = "apiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\n";
    env.write("warned/Chart.yaml", "apiVersion: v2\nname: warned\nversion: 1.0.0\n");
    env.write("warned/templates/e.yaml", warned);
    holds(&env.pintle("rehearse warned"), &["exit 0", "deprecated in v1.33+", "with warnings"]);
    holds(&env.pintle("rehearse warned --strict"), &["exit 1", "deprecated in v1.33+"]);
    holds(&env.pintle("rehearse none"), &["exit 2"]);
    holds(&env.pintle("rehearse web -o xml"), &["exit 2", "text, json and junit"]);
}

#[test]
fn what_lookup_does_not_find_is_logged_with_debug() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n").write(
        "web/templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: {{ lookup \"v1\" \"ConfigMap\" \"default\" \"nope\" | toJson | quote }}\n  \
         b: {{ lookup \"v1\" \"ConfigMap\" \"default\" \"\" | toJson | quote }}\n",
    );
    let line = "level=DEBUG msg=\"lookup: resource not found\" apiVersion=v1 kind=ConfigMap namespace=default name=nope\n";
    let render = "template rel web --cluster embedded --dry-run=server";
    let shown = env.helm(&format!("{render} --debug"));
    assert!(shown.starts_with("exit 0") && shown.contains(line), "{shown}");
    // A list that is empty is there.
    assert!(!shown.contains("list not found"), "{shown}");
    assert!(!env.helm(render).contains("level=DEBUG"));
    env.write("web/templates/b.yaml", "{{ lookup \"x.io/v1\" \"Nope\" \"\" \"\" }}\n");
    let shown = env.helm(render);
    let reason = "error=\"the server could not find the requested resource\"\n";
    let lines = format!(
        "level=ERROR msg=\"unable to retrieve resource list\" GroupVersion=x.io/v1 {reason}\
         level=ERROR msg=\"unable to get apiresource\" groupVersionKind=\"x.io/v1, Kind=Nope\" {reason}Error: "
    );
    assert!(shown.contains(&lines), "{shown}");
}

/// Fills a file system of a few kilobytes at each point of an install, where users may make one.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_as_such_and_leaves_a_file_that_can_be_used() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n");
    std::fs::create_dir(env.path().join("full")).expect("it is new");
    let script = "mount -t tmpfs -o size=$SIZE none full || exit 77\n\
                  \"$PROGRAM\" install web web --cluster embedded:full/c.db\n\
                  code=$?\ncp full/c.db after.db\nexit $code";
    let mut kinds = std::collections::BTreeSet::new();
    for size in (8..=112).step_by(8) {
        let output = Command::new("unshare")
            .args(["-rm", "bash", "-c", script])
            .current_dir(env.path())
            .env_clear()
            .envs([("HOME", env.path()), ("PROGRAM", std::path::Path::new(env!("CARGO_BIN_EXE_pintle")))])
            .envs([("PATH", std::env::var("PATH").unwrap_or_default()), ("SIZE", format!("{size}k"))])
            .output();
        let output = output.ok().filter(|output| !matches!(output.status.code(), None | Some(77)));
        let Some(output) = output.filter(|output| !output.stderr.starts_with(b"unshare")) else {
            pintle_testkit::skip("a_full_disk needs a namespace for mounts");
            return;
        };
        if output.status.success() {
            break;
        }
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        holds(&error, &["No space left on device"]);
        assert!(
            !error.contains("no Release resources") && !error.contains("HELM_DRIVER"),
            "{size}k: {error}"
        );
        kinds.insert(match error.contains("cannot be opened") {
            true => "opening",
            false if error.contains("failed to install the Release resources") => "resources",
            false => "record",
        });
        // Nothing is half-written: with more space, the same file is used.
        holds(
            &env.pintle("upgrade --install web web --cluster embedded:after.db"),
            &["exit 0", "REVISION: 1"],
        );
        std::fs::remove_file(env.path().join("after.db")).expect("it was copied");
    }
    assert_eq!(Vec::from_iter(kinds), ["opening", "record", "resources"], "each point was met");
}

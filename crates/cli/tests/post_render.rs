//! The hook filter: as an entry point, as a command, and used by the real Helm.

use crate::support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::TestEnv;

const JOB: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations:
    helm.sh/hook: pre-install,post-upgrade # both
    helm.sh/hook-weights: pre-install=-5,post-upgrade=10
spec:
  template:
    spec:
      containers:
      - name: main
        image: busybox
        envFrom: [{configMapRef: {name: settings}}]
";

const SETTINGS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    helm.sh/hook: pre-install,post-upgrade
    helm.sh/hook-weight: \"-10\"
";

/// Runs a program with input, and returns its exit code and output.
fn filter(program: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    let mut stdin = child.stdin.take().expect("input is piped");
    // A program may exit without reading its input.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_filter_is_an_entry_point_and_a_command() {
    let env = TestEnv::new();
    let by_name = filter(&env.linked("helm-hooks"), &[], JOB);
    let as_command = filter(Path::new(env!("CARGO_BIN_EXE_pintle")), &["post-render", "hooks"], JOB);
    assert_eq!(by_name, as_command);
    assert_eq!((by_name.0, by_name.2.as_str()), (0, ""));
    assert!(by_name.1.contains("name: migrate-post-upgrade\n") && by_name.1.contains("value: \"10\"\n"));
    assert!(by_name.1.contains("helm.sh/hook: pre-install # both\n    helm.sh/hook-weight: \"-5\"\n"));
}

#[test]
fn errors_print_no_partial_output() {
    let env = TestEnv::new();
    let bad = JOB.replace("post-upgrade=10", "post-upgrade=ten");
    let input = format!("---\n{SETTINGS}---\n# Source: web/templates/job.yaml\n{bad}");
    let text = "processing hooks: resource \"migrate\" (Job) on line 17 (from web/templates/job.yaml): the weight `ten` in \
                `helm.sh/hook-weights` is not a 32-bit integer";
    assert_eq!(
        filter(&env.linked("helm-hooks"), &[], &input),
        (1, String::new(), format!("helm-hooks: {text}\n"))
    );
    assert_eq!(
        filter(Path::new(env!("CARGO_BIN_EXE_pintle")), &["post-render", "hooks"], &input),
        (1, String::new(), format!("error: {text}\n"))
    );
    let (code, out, error) = filter(&env.linked("helm-hooks"), &[], "a: [\n");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(error.starts_with("helm-hooks: parsing YAML: "), "{error}");
}

#[test]
fn known_arguments_are_accepted_and_others_rejected() {
    let env = TestEnv::new();
    let program = env.linked("helm-hooks");
    let version = format!("helm-hooks {}\n", env!("CARGO_PKG_VERSION"));
    for word in ["version", "--version", "-v"] {
        assert_eq!(filter(&program, &[word], ""), (0, version.clone(), String::new()));
    }
    let (code, out, error) = filter(&program, &["run"], JOB);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("unknown argument `run`") && error.contains("helm-hooks --help"), "{error}");
    assert!(filter(&program, &["--help"], "").1.contains("Usage:\n  helm-hooks [version]"));
}

/// The real Helm in one of its versions, where `cargo xtask` has built it.
fn helm(version: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let helm = cache.join("pintle").join(format!("helm-v{version}/helm"));
    helm.is_file().then_some(helm)
}

fn template(helm: &Path, env: &TestEnv, renderer: &Path) -> String {
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    let by_weights = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: late\n  annotations:\n    helm.sh/hook-weights: post-delete=3\n";
    env.write("web/templates/all.yaml", &format!("{SETTINGS}---\n{JOB}---\n{by_weights}"));
    let programs = env.linked("pintle");
    let output = Command::new(helm)
        .args(["template", "rel", "web", "--post-renderer"])
        .arg(renderer)
        .current_dir(env.path())
        .env_clear()
        .env("HOME", env.path())
        .env("PATH", programs.parent().expect("a program is in a folder"))
        .env("HELM_PLUGINS", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins"))
        .output()
        .expect("Helm can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_real_helm_4_uses_it_as_a_plugin() {
    let Some(helm) = helm("4.3.1") else { return };
    let rendered = template(&helm, &TestEnv::new(), Path::new("helm-hooks"));
    for expected in [
        "name: migrate-pre-install\n  annotations:\n    helm.sh/hook: pre-install # both\n    helm.sh/hook-weight: \"-5\"\n",
        "name: migrate-post-upgrade\n  annotations:\n    helm.sh/hook: post-upgrade # both\n    helm.sh/hook-weight: \"10\"\n",
        "{configMapRef: {name: settings-post-upgrade}}",
        "- name: HELM_HOOK_WEIGHT\n          value: \"-5\"\n",
        "name: late\n  annotations:\n    helm.sh/hook: post-delete\n    helm.sh/hook-weight: \"3\"\n",
    ] {
        assert!(rendered.contains(expected), "{expected} in {rendered}");
    }
}

#[test]
fn the_real_helm_3_keeps_hooks_from_it() {
    let Some(helm) = helm("3.22.0") else { return };
    let env = TestEnv::new();
    let rendered = template(&helm, &env, &env.linked("helm-hooks"));
    // Helm 3 does not pass hooks to post-renderers, only ordinary objects.
    assert!(rendered.contains("name: migrate\n") && !rendered.contains("HELM_HOOK_EVENT"), "{rendered}");
    assert!(rendered.contains("name: late\n  annotations:\n    helm.sh/hook: post-delete\n"), "{rendered}");
    // So there the filter runs after `template`, and the objects are applied by other means.
    let (code, filtered, _) = filter(&env.linked("helm-hooks"), &[], &rendered);
    assert_eq!(code, 0);
    assert!(
        filtered.contains("name: migrate-post-upgrade\n") && filtered.contains("HELM_HOOK_EVENT"),
        "{filtered}"
    );
}

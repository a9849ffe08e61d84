//! `create`

use crate::support;

use insta::assert_snapshot;
use support::{TestEnv, chart};

#[test]
fn a_new_chart_lints_and_renders() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("create demo"), @"
    exit 0
    --- stdout
    Creating demo
    ");
    assert_snapshot!(env.helm("lint demo"), @"
    exit 0
    --- stdout
    ==> Linting demo
    [INFO] Chart.yaml: icon is recommended

    1 chart(s) linted, 0 chart(s) failed
    ");
    let text = env.helm("template demo");
    assert!(
        text.starts_with("exit 0\n--- stdout\n---\n# Source: demo/templates/serviceaccount.yaml\n"),
        "{text}"
    );
}

#[test]
fn files_that_are_there_are_overwritten_with_a_warning() {
    let env = TestEnv::new();
    env.write("demo/Chart.yaml", "old");
    assert_snapshot!(env.helm("create ./demo"), @r#"
    exit 0
    --- stdout
    Creating ./demo
    WARNING: File "{here}/demo/Chart.yaml" already exists. Overwriting.
    "#);
    env.write("third/Chart.yaml", "old");
    let made = env.helm_with("create ./third --chart-api-version v3", &[("HELM_EXPERIMENTAL_CHART_V3", "1")]);
    assert_snapshot!(made, @r#"
    exit 0
    --- stdout
    Creating ./third
    --- stderr
    level=WARN msg="Overwriting existing file" file={here}/third/Chart.yaml
    "#);
}

#[test]
fn a_starter_can_be_named_or_given_by_path() {
    let env = TestEnv::new();
    chart::write(&env);
    let (here, starters) = (env.path().join("web"), env.path().join(".local/share/helm/starters"));
    std::fs::create_dir_all(&starters).unwrap();
    std::os::unix::fs::symlink(&here, starters.join("mine")).unwrap();
    assert_snapshot!(env.helm("create one --starter mine"), @"
    exit 0
    --- stdout
    Creating one
    ");
    assert_snapshot!(env.helm(&format!("create two -p {}", here.display())), @"
    exit 0
    --- stdout
    Creating two
    ");
    assert_snapshot!(env.helm("create three -p none"), @"
    exit 1
    --- stdout
    Creating three
    --- stderr
    Error: could not load {here}/.local/share/helm/starters/none: stat {here}/.local/share/helm/starters/none: no such file or directory
    ");
    assert!(env.path().join("two/templates/config.yaml").exists());
}

#[test]
fn bad_names_and_versions_are_refused() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("create bad@name"), @r#"
    exit 1
    --- stdout
    Creating bad@name
    --- stderr
    Error: chart name must match the regular expression "^[a-zA-Z0-9._-]+$"
    "#);
    assert_snapshot!(env.helm("create x --chart-api-version v3"), @"
    exit 1
    --- stdout
    Creating x
    --- stderr
    Error: this feature has been marked as experimental and is not enabled by default. Please set HELM_EXPERIMENTAL_CHART_V3=1 in your environment to use this feature
    ");
    assert_snapshot!(env.pintle("create x --chart-api-version v9"), @"
    exit 2
    --- stdout
    Creating x
    --- stderr
    error: unsupported chart API version: v9 (supported: v2, v3, helm.sh/v3)
    ");
    assert_snapshot!(env.helm("create"), @r#"
    exit 1
    --- stderr
    Error: "helm create" requires 1 argument

    Usage:  helm create NAME [flags]
    "#);
}

#[test]
fn v3_charts_can_only_be_created_and_shown() {
    let env = TestEnv::new();
    let gate = [("HELM_EXPERIMENTAL_CHART_V3", "1")];
    assert_snapshot!(env.helm_with("create x --chart-api-version v3", &gate), @"
    exit 0
    --- stdout
    Creating x
    ");
    assert_snapshot!(env.helm_with("create y --chart-api-version v3", &[("HELM_EXPERIMENTAL_CHART_V3", "")]), @"
    exit 1
    --- stdout
    Creating y
    --- stderr
    Error: this feature has been marked as experimental and is not enabled by default. Please set HELM_EXPERIMENTAL_CHART_V3=1 in your environment to use this feature
    ");
    assert!(env.helm("show chart x").contains("apiVersion: v3\n"));
    // A starter chart makes no difference.
    let starter = env.path().join("x").display().to_string();
    env.helm_with(&format!("create z --chart-api-version v3 --starter {starter}"), &gate);
    assert!(env.helm("show chart z").contains("apiVersion: v3\n"));
    for line in ["template x", "package x"] {
        assert_eq!(
            env.helm_with(line, &gate),
            "exit 1\n--- stderr\nError: invalid chart apiVersion\n",
            "{line}"
        );
    }
    for (line, prefix) in
        [("install web x --dry-run=client", "INSTALLATION FAILED"), ("upgrade web x", "UPGRADE FAILED")]
    {
        let line = format!("{line} {}", crate::support::cluster::start());
        assert_eq!(
            env.helm(&line),
            format!("exit 1\n--- stderr\nError: {prefix}: invalid chart apiVersion\n")
        );
    }
    assert!(env.pintle("template x").contains("hint: `apiVersion: v3` is experimental"));
}

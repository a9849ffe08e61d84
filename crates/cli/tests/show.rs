//! `show`

use crate::support;

use insta::assert_snapshot;
use support::{TestEnv, chart};

#[test]
fn each_part_can_be_shown_and_all_together() {
    let env = TestEnv::new();
    chart::write(&env);
    assert_snapshot!(env.helm("show chart web"), @r#"
    exit 0
    --- stdout
    apiVersion: v2
    appVersion: "1.2"
    description: d
    name: web
    version: 0.1.0
    "#);
    assert_snapshot!(env.helm("show values web --devel"), @"
    exit 0
    --- stdout
    greeting: hello
    list: [a, b]
    nested: {port: 80}
    ");
    assert_snapshot!(env.helm("show readme web"), @"
    exit 0
    --- stdout
    # web
    ");
    assert_snapshot!(env.helm("show crds web"), @"
    exit 0
    --- stdout
    ---
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    ");
    assert_snapshot!(env.helm("inspect all web"), @r#"
    exit 0
    --- stdout
    apiVersion: v2
    appVersion: "1.2"
    description: d
    name: web
    version: 0.1.0

    ---
    greeting: hello
    list: [a, b]
    nested: {port: 80}

    ---
    # web

    ---
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    "#);
}

#[test]
fn values_can_be_selected_with_jsonpath() {
    let env = TestEnv::new();
    chart::write(&env);
    assert_snapshot!(env.helm("show values web --jsonpath {.nested}{.list[1]}"), @r#"
    exit 0
    --- stdout
    {"port":80}b<no line break>
    "#);
    assert_snapshot!(env.helm("show values web --jsonpath {"), @"
    exit 1
    --- stderr
    Error: error parsing jsonpath {: unclosed action
    ");
}

#[test]
fn the_dependencies_of_a_v1_chart_are_shown_from_its_requirements_file() {
    let env = TestEnv::new();
    env.write("old/Chart.yaml", "apiVersion: v1\nname: old\nversion: 1.0.0\n");
    env.write(
        "old/requirements.yaml",
        "dependencies: [{name: a, version: 0.1.0, repository: file://../a}]\n",
    );
    let shown = "\
apiVersion: v1
dependencies:
- name: a
  repository: file://../a
  version: 0.1.0
name: old
version: 1.0.0

";
    for line in ["show chart old", "show all old"] {
        let out = env.helm(line);
        assert!(out.contains(shown), "{line}: {out}");
    }
}

#[test]
fn a_chart_that_does_not_parse_has_an_exit_code_of_its_own() {
    let env = TestEnv::new();
    env.write("bad/Chart.yaml", "name: [\n");
    assert_snapshot!(env.helm("show chart bad"), @"
    exit 1
    --- stderr
    Error: cannot load Chart.yaml: error converting YAML to JSON: yaml: line 1: did not find expected node content
    ");
    assert_snapshot!(env.pintle("show chart bad"), @"
    exit 3
    --- stderr
    error: `bad/Chart.yaml` is not valid YAML: the bracket that opens here is not closed
      --> bad/Chart.yaml:1:7
      1 | name: [
        |       ^

    hint: close it with `]` or `}`, and separate its items by commas
    ");
    assert_snapshot!(env.pintle("show chart"), @"
    exit 2
    --- stderr
    error: `pintle show chart` requires 1 argument, but none were given

    hint: usage: pintle show chart [CHART] [flags]
    ");
}

//! `lint`

use crate::support;

use insta::assert_snapshot;
use support::{TestEnv, chart};

#[test]
fn findings_are_listed_and_counted() {
    let env = TestEnv::new();
    chart::write(&env);
    assert_snapshot!(env.helm("lint web"), @"
    exit 0
    --- stdout
    ==> Linting web
    [INFO] Chart.yaml: icon is recommended

    1 chart(s) linted, 0 chart(s) failed
    ");
    assert_snapshot!(env.helm("lint web --quiet"), @"exit 0");
    assert_snapshot!(env.helm("lint web nowhere --set greeting=x --kube-version 1.29"), @"
    exit 1
    --- stdout
    ==> Linting web
    [INFO] Chart.yaml: icon is recommended

    ==> Linting nowhere
    Error unable to check Chart.yaml file in chart: stat nowhere/Chart.yaml: no such file or directory

    --- stderr
    Error: 2 chart(s) linted, 1 chart(s) failed
    ");
    assert_snapshot!(env.pintle("lint nowhere"), @"
    exit 1
    --- stdout
    ==> Linting nowhere
    Error unable to check Chart.yaml file in chart: stat nowhere/Chart.yaml: no such file or directory

    --- stderr
    error: 1 chart(s) linted, 1 chart(s) failed
    ");
}

#[test]
fn a_urn_that_nobody_resolves_is_warned_of_once_for_all_charts() {
    let env = TestEnv::new();
    for chart in ["one", "two"] {
        env.write(
            &format!("{chart}/Chart.yaml"),
            &format!("apiVersion: v2\nname: {chart}\nversion: 0.1.0\n"),
        );
        env.write(&format!("{chart}/values.yaml"), "a: 1\n");
        env.write(&format!("{chart}/templates/_empty.tpl"), "");
        env.write(
            &format!("{chart}/values.schema.json"),
            r#"{"properties": {"a": {"$ref": "urn:example:a"}, "b": {"$ref": "urn:example:a"}}}"#,
        );
    }
    for line in ["lint one two", "lint one two --quiet"] {
        let out = env.helm(line);
        assert_eq!(out.matches("using permissive schema").count(), 1, "{out}");
    }
    assert_snapshot!(env.pintle("lint one two --quiet"), @"
    exit 0
    --- stderr
    warning: unresolved URN reference ignored; using permissive schema; urn: urn:example:a
    ");
}

#[test]
fn strict_fails_on_warnings_too() {
    let env = TestEnv::new();
    chart::write(&env);
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: v1.0\n");
    assert_snapshot!(env.helm("lint web --skip-schema-validation"), @"
    exit 0
    --- stdout
    ==> Linting web
    [INFO] Chart.yaml: icon is recommended
    [WARNING] Chart.yaml: version 'v1.0' is not a valid SemVerV2

    1 chart(s) linted, 0 chart(s) failed
    ");
    assert_snapshot!(env.helm("lint web --strict --quiet"), @"
    exit 1
    --- stdout
    ==> Linting web
    [WARNING] Chart.yaml: version 'v1.0' is not a valid SemVerV2

    --- stderr
    Error: 1 chart(s) linted, 1 chart(s) failed
    ");
}

#[test]
fn subcharts_are_linted_on_demand() {
    let env = TestEnv::new();
    chart::write(&env);
    env.write(
        "web/charts/db/Chart.yaml",
        "apiVersion: v2\nname: db\nversion: 1.0.0\nicon: https://example.com/i.png\n",
    );
    assert_snapshot!(env.helm("lint web --with-subcharts"), @"
    exit 1
    --- stdout
    ==> Linting web
    [INFO] Chart.yaml: icon is recommended
    [ERROR] {here}/web: chart metadata is missing these dependencies: db

    ==> Linting web/charts/db
    [INFO] values.yaml: file does not exist
    [WARNING] templates/: directory does not exist

    --- stderr
    Error: 2 chart(s) linted, 1 chart(s) failed
    ");
}

#[test]
fn a_separator_may_have_a_comment_glued_to_it() {
    let env = TestEnv::new();
    chart::write(&env);
    let object = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
    env.write("web/templates/two.yaml", &format!("{}---# two\n{}", object("one"), object("two")));
    assert_snapshot!(env.helm("lint web"), @"
    exit 0
    --- stdout
    ==> Linting web
    [INFO] Chart.yaml: icon is recommended

    1 chart(s) linted, 0 chart(s) failed
    ");
    for (text, expected) in [
        ("kind: A\n--- # x\nkind: B\n--- kind: C\n", "invalid Yaml document separator: kind: C"),
        (
            "{\"kind\": \"A\"}\n--- # x\nkind: B\n--- kind: C\n",
            "json: offset 16: invalid character '-' in numeric literal",
        ),
    ] {
        env.write("web/crds/bad.yaml", text);
        let linted = env.helm("lint web");
        let expected = format!("[ERROR] crds/bad.yaml: unable to parse YAML: {expected}\n");
        assert!(linted.contains(&expected), "{linted}");
    }
}

#[test]
fn a_definition_that_begins_as_json_gets_json_errors() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\nicon: https://example.com/i\n")
        .write("web/values.yaml", "")
        .write("web/templates/a.yaml", "")
        .write(
            "web/crds/a.yaml",
            "{\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \"CustomResourceDefinition\"} x",
        );
    assert_snapshot!(env.helm("lint web"), @r"
    exit 1
    --- stdout
    ==> Linting web
    [ERROR] crds/a.yaml: unable to parse YAML: json: offset 79: invalid character 'x' looking for beginning of value

    --- stderr
    Error: 1 chart(s) linted, 1 chart(s) failed
    ");
    // Consecutive values are separate documents.
    env.write("web/crds/a.yaml", "{\"kind\":\"A\"}{\"kind\":\"B\"}");
    let linted = env.helm("lint web");
    assert_eq!(linted.matches("object kind is not 'CustomResourceDefinition'").count(), 2, "{linted}");
}

#[test]
fn an_invalid_kubernetes_version_is_an_error_before_linting() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("lint nothing --kube-version bad"), @r#"
    exit 1
    --- stderr
    Error: invalid kube version 'bad': could not parse "bad" as version
    "#);
}

#[test]
fn items_of_a_list_are_decoded_as_go_decodes_them() {
    let env = TestEnv::new();
    env.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 0.1.0\nicon: https://example.com/i.png\n",
    );
    let cases = [
        (
            r#"[5]"#,
            "number into .items.0 of type struct { Metadata struct { Annotations map[string]string } }",
        ),
        (
            r#"[{metadata: 7}]"#,
            "number into Go struct field .items.0.metadata of type struct { Annotations map[string]string }",
        ),
        (
            r#"[{metadata: {annotations: []}}]"#,
            "array into Go struct field .items.0.metadata.annotations of type map[string]string",
        ),
        (
            r#"[{metadata: {annotations: {a: {}}}}]"#,
            "object into Go struct field .items.0.metadata.annotations.a of type string",
        ),
    ];
    for (items, rest) in cases {
        env.write("web/templates/a.yaml", &format!("apiVersion: v1\nkind: List\nitems: {items}\n"));
        let text = format!(
            "[ERROR] templates/a.yaml: unable to parse YAML: error unmarshaling JSON: while decoding JSON: json: \
             cannot unmarshal {rest}\n"
        );
        let shown = env.helm("lint web");
        assert!(shown.starts_with("exit 1") && shown.contains(&text), "{shown}");
    }
    // Numbers and booleans are converted to strings.
    env.write(
        "web/templates/a.yaml",
        "apiVersion: v1\nkind: List\nitems: [{metadata: {annotations: {a: 1}}}, null]\n",
    );
    assert!(env.helm("lint web").starts_with("exit 0"));
    env.write("web/templates/a.yaml", "apiVersion: v1\nkind: A\nmetadata: {name: [a]}\n");
    assert!(env.helm("lint web").contains("into Go struct field .metadata.name of type string"));
}

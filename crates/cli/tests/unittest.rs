//! `unittest`

use crate::support;

use support::TestEnv;

const SUITE: &str = "\
suite: greeting
templates: [greeting.yaml]
tests:
  - it: greets
    set: {greeting: Moin}
    asserts:
      - equal: {path: data.text, value: Moin}
  - it: is never empty
    set: {greeting: ''}
    asserts:
      - failedTemplate: {errorMessage: say something}
";

/// Writes a chart with one suite, and returns its environment.
fn greeter(suite: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "greeting: hello\n");
    env.write(
        "web/templates/greeting.yaml",
        "kind: ConfigMap\ndata:\n  text: {{ required \"say something\" .Values.greeting }}\n",
    );
    env.write("web/tests/greeting_test.yaml", suite);
    env
}

fn read(env: &TestEnv, path: &str) -> String {
    std::fs::read_to_string(env.path().join(path)).expect(path)
}

/// The output without the line of the time.
fn timeless(output: String) -> String {
    output.lines().filter(|line| !line.trim_start().starts_with("Time:")).collect::<Vec<_>>().join("\n")
}

#[test]
fn suites_that_pass_are_listed_and_counted() {
    let env = greeter(SUITE);
    for output in [env.helm("unittest web"), env.pintle("unittest web --strict")] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(timeless(output), @"
            exit 0
            --- stdout

            ### Chart [ web ] web

             PASS  greeting	web/tests/greeting_test.yaml

            Charts:      1 passed, 1 total
            Test Suites: 1 passed, 1 total
            Tests:       2 passed, 2 total
            Snapshot:    0 passed, 0 total
            ");
        }
    }
}

#[test]
fn failures_show_what_was_expected_and_end_with_one() {
    let env = greeter(&SUITE.replace("value: Moin", "value: Hallo"));
    insta::assert_snapshot!(timeless(env.helm("unittest web --color=false")), @"
    exit 1
    --- stdout

    ### Chart [ web ] web

     FAIL  greeting	web/tests/greeting_test.yaml
    	- greets

    		- asserts[0] `equal` fail
    			Template:	web/templates/greeting.yaml
    			DocumentIndex:	0
    			ValuesIndex:	0
    			Path:	data.text
    			Expected to equal:
    				Hallo
    			Actual:
    				Moin
    			Diff:
    				--- Expected
    				+++ Actual
    				@@ -1,2 +1,2 @@
    				-Hallo
    				+Moin


    Charts:      1 failed, 0 passed, 1 total
    Test Suites: 1 failed, 0 passed, 1 total
    Tests:       1 failed, 1 passed, 2 total
    Snapshot:    0 passed, 0 total
    ");
    let output = env.helm("unittest web --failfast");
    assert!(output.contains("Tests:       1 failed, 0 passed, 1 total"), "{output}");
}

#[test]
fn snapshots_are_stored_compared_and_updated() {
    let suite = "suite: s\ntests: [{it: same, asserts: [{matchSnapshot: {path: data}}]}]\n";
    let env = greeter(suite);
    assert!(env.helm("unittest web").contains("Snapshot:    1 passed, 1 total"));
    let file = "web/tests/__snapshot__/greeting_test.yaml.snap";
    assert_eq!(read(&env, file), "same:\n  1: |\n    text: hello\n");
    env.write("web/values.yaml", "greeting: other\n");
    let output = env.helm("unittest web");
    assert!(output.starts_with("exit 1"), "{output}");
    assert!(output.contains("1 snapshot failed in 1 test suite."), "{output}");
    assert!(env.helm("unittest web --update-snapshot").starts_with("exit 0"));
    assert_eq!(read(&env, file), "same:\n  1: |\n    text: other\n");
}

#[test]
fn reports_are_written_in_four_formats() {
    let env = greeter(SUITE);
    for (format, root) in [
        ("JUnit", "<testsuites>"),
        ("NUnit", "<test-results "),
        ("xunit", "<assemblies>"),
        ("Sonar", "<testExecutions "),
    ] {
        let output = env.helm(&format!("unittest web --output-file out/report.xml --output-type {format}"));
        assert!(output.starts_with("exit 0"), "{output}");
        assert!(read(&env, "out/report.xml").starts_with(root), "{format}");
    }
}

#[test]
fn suite_files_values_and_rendered_suites_are_found() {
    let env = greeter(SUITE);
    env.write(
        "web/more/deep/x_test.yaml",
        "suite: deep\ntests: [{it: x, asserts: [{equal: {path: data.text, value: from file}}]}]\n",
    );
    env.write("given.yaml", "greeting: from file\n");
    let output = env.helm("unittest web -f more/**/*_test.yaml --values ./given.yaml");
    assert!(output.contains(" PASS  deep\tweb/more/deep/x_test.yaml"), "{output}");
    env.write("web/suites/Chart.yaml", "apiVersion: v2\nname: suites\nversion: 1.0.0\n");
    env.write(
        "web/suites/templates/all.yaml",
        "{{- range list \"a\" \"b\" }}\n---\nsuite: rendered {{ . }}\ntests: [{it: x, set: {greeting: {{ . }}}, asserts: [{equal: {path: data.text, value: {{ . }}}}]}]\n{{- end }}\n",
    );
    let output = env.helm("unittest web --file none --chart-tests-path suites");
    assert!(output.contains("Test Suites: 2 passed, 2 total"), "{output}");
    env.helm("unittest web --debugPlugin --with-subchart=false");
    assert!(read(&env, ".debug/web/templates/greeting.yaml").contains("say something"));
}

#[test]
fn unreadable_suites_and_charts_are_errors() {
    let env = greeter("suite: s\ntests: [{it: x, asserts: [{same: 1}]}]\n");
    let output = timeless(env.helm("unittest web nowhere"));
    assert!(output.starts_with("exit 1"), "{output}");
    assert!(output.contains("- Execution Error: \n\t\tAssertion type `same` is invalid"), "{output}");
    assert!(output.contains("Charts:      2 failed, 2 errored, 0 passed, 2 total"), "{output}");
    let env = greeter("odd: 1\nsuite: s\ntests: [{it: x, asserts: [{exists: {path: data}}]}]\n");
    assert!(env.helm("unittest web").starts_with("exit 0"));
    assert!(env.helm("unittest web --strict").contains("field odd not found in type"));
}

#[test]
fn schemas_and_post_renderers_take_part() {
    let env = greeter(
        "suite: s\npostRenderer: {cmd: sed, args: [s/hello/changed/]}\ntests: [{it: x, asserts: [{equal: {path: data.text, value: changed}}]}]\n",
    );
    assert!(env.helm("unittest web").starts_with("exit 0"));
    env.write("web/values.schema.json", "{\"properties\": {\"greeting\": {\"type\": \"integer\"}}}");
    let output = env.helm("unittest web");
    assert!(output.contains("1 failed, 1 errored, 0 passed, 1 total"), "{output}");
    assert!(env.helm("unittest web --skip-schema-validation").starts_with("exit 0"));
}

#[test]
fn a_kubernetes_version_is_for_one_test_only() {
    let env = greeter(
        "suite: s\ntests:\n- {it: sets, capabilities: {minorVersion: 31}, asserts: [{equal: {path: v, value: '31'}}]}\n- {it: does not, asserts: [{equal: {path: v, value: '20'}}]}\n",
    );
    env.write("web/templates/greeting.yaml", "v: {{ .Capabilities.KubeVersion.Minor | quote }}\n");
    assert!(env.pintle("unittest web").starts_with("exit 0"));
    // helm-unittest keeps the version.
    assert!(env.helm("unittest web").contains("Tests:       1 failed, 1 passed, 2 total"));
}

#[test]
fn nulls_follow_the_chosen_helm() {
    let env = greeter("suite: s\ntests: [{it: x, asserts: [{notExists: {path: data.sub}}]}]\n");
    env.write("web/templates/greeting.yaml", "data:\n  sub: {{ .Values.sub.x }}\n");
    env.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: sub, version: 1.0.0}]\n",
    );
    env.write("web/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n");
    env.write("web/charts/sub/values.yaml", "x: 1\n");
    env.write("web/values.yaml", "sub: {x: null}\n");
    // Helm 3 lets the parent remove the default of its subchart, and Helm 4 does not.
    assert!(env.helm("unittest web --compat 4").starts_with("exit 1"));
    let output = env.helm("unittest web --compat 3");
    assert!(output.contains("Tests:"), "{output}");
}

#[test]
fn the_suites_of_our_example_pass() {
    let env = TestEnv::new();
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/charts/greeter");
    let output = env.pintle(&format!("unittest {chart}"));
    assert!(output.contains("Tests:       8 passed, 8 total"), "{output}");
}

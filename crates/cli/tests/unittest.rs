//! `unittest`

use std::process::Command;

use crate::support;

use support::TestEnv;
use support::terminal::Terminal;

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
fn a_chart_without_suites_has_not_passed() {
    let env = greeter(SUITE);
    let of_helm = env.helm("unittest web -f none/*.yaml");
    assert!(of_helm.contains("Charts:      1 passed, 1 total"), "{of_helm}");
    let output = env.pintle("unittest web -f none/*.yaml");
    assert!(output.contains("Charts:      0 passed, 0 total"), "{output}");
    assert!(output.contains("no test suites for chart web (web)"), "{output}");
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
    let output = env.helm("unittest web --failfast --output-type JUnit --output-file fast.xml");
    assert!(output.contains("Tests:       1 failed, 0 passed, 1 total"), "{output}");
    assert!(read(&env, "fast.xml").contains("tests=\"1\" failures=\"1\""));
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
    // A second suite of the file reads what the first left, and has no snapshots itself, as in helm-unittest.
    let second = "---\nsuite: t\ntests: [{it: plain, asserts: [{hasDocuments: {count: 1}}]}]\n";
    env.write("web/tests/greeting_test.yaml", &format!("{suite}{second}"));
    assert!(env.helm("unittest web").starts_with("exit 0"));
    assert_eq!(read(&env, file), "{}\n");
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
fn a_report_of_an_unknown_type_is_an_error_but_as_helm_it_is_none() {
    let env = greeter("suite: s\ntests:\n  - it: a\n    asserts: [{hasDocuments: {count: 1}}]\n");
    let line = "unittest web --output-file report.xml --output-type Excel";
    let output = env.pintle(line);
    assert!(output.starts_with("exit 2\n") && output.contains("`Excel` is not a type of report"), "{output}");
    let output = env.helm(line);
    assert!(output.starts_with("exit 0\n") && !env.path().join("report.xml").exists(), "{output}");
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
        "suite: s\npostRenderer: {cmd: /bin/sed, args: [s/hello/changed/]}\ntests: [{it: x, asserts: [{equal: {path: data.text, value: changed}}]}]\n",
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

/// Every third chart is broken, and every chart expects the Kubernetes version that the previous one has set.
#[test]
fn many_charts_are_tested_at_a_time_and_reported_in_order() {
    let env = TestEnv::new();
    let names: Vec<String> = (0..24).map(|number| format!("chart-{number:02}")).collect();
    for (number, name) in names.iter().enumerate() {
        env.write(&format!("{name}/Chart.yaml"), &format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n"));
        env.write(&format!("{name}/templates/a.yaml"), "minor: {{ .Capabilities.KubeVersion.Minor }}\n");
        let found = if number == 0 { 20 } else { 30 + number - 1 };
        let suite = format!(
            "suite: versions\ntests:\n  - it: starts\n    asserts:\n      - equal: {{path: minor, value: {found}}}\n  \
             - it: sets\n    capabilities: {{majorVersion: 1, minorVersion: {}}}\n    asserts:\n      - exists: {{path: minor}}\n",
            30 + number
        );
        env.write(&format!("{name}/tests/a_test.yaml"), &suite);
        if number % 3 == 2 {
            env.write(&format!("{name}/values.yaml"), "a: [");
        }
    }
    let line = format!("unittest {}", names.join(" "));
    let results = |output: String| -> Vec<String> {
        let is_result = |line: &&str| line.contains("###") || line.contains("versions");
        output.lines().filter(is_result).map(|line| line.trim().to_owned()).collect()
    };
    for (program, output) in [("helm", env.helm(&line)), ("pintle", env.pintle(&line))] {
        let mut expected = Vec::new();
        for (number, name) in names.iter().enumerate() {
            if number % 3 == 2 {
                expected.push("### Error".to_owned());
                continue;
            }
            expected.push(format!("### Chart [ {name} ] {name}"));
            // A broken chart sets no version, so the next one fails.
            let passes = number == 0 || program == "helm" && number % 3 != 0;
            expected.push(format!(
                "{} versions\t{name}/tests/a_test.yaml",
                if passes { "PASS " } else { "FAIL " }
            ));
        }
        let found: Vec<String> = results(output)
            .into_iter()
            .map(|line| if line.starts_with("### Error") { "### Error".to_owned() } else { line })
            .collect();
        assert_eq!(found, expected, "{program}");
    }
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

#[test]
fn coverage_says_what_no_test_reaches() {
    let env = greeter(SUITE);
    env.write("web/values.yaml", "greeting: hello\nname:\n  first: a\n  last: b\n");
    env.write(
        "web/templates/greeting.yaml",
        "kind: ConfigMap\ndata:\n  text: {{ required \"say something\" .Values.greeting }}\n{{- if .Values.loud }}\n  loud: 'yes'\n{{- end }}\n  \
         name: {{ .Values.name.first }}\n",
    );
    env.write("web/templates/unused.yaml", "kind: Secret\n");
    let output = env.pintle("unittest web --coverage --coverage-file c.info --coverage-file c.html");
    let at = output.find("### Coverage").expect("a report");
    insta::assert_snapshot!(&output[at..], @"
    ### Coverage [ web ]

      lines  branches  template
      83.3%     50.0%  templates/greeting.yaml
                       not run: 5
                       never true: if .Values.loud (line 4)
       0.0%         -  templates/unused.yaml
                       no test renders it
      71.4%     50.0%  all: 5 of 7 lines, 1 of 2 branches

    Values: 66.7%, 2 of 3 keys of values.yaml are read
      not read: name.last (values.yaml:4)
    ");
    let lcov = read(&env, "c.info");
    assert!(lcov.contains("SF:web/templates/greeting.yaml\nBRDA:4,0,0,0\nBRDA:4,0,1,1\n"), "{lcov}");
    assert!(
        lcov.contains("DA:5,0\n") && lcov.contains("SF:web/values.yaml\nDA:1,1\nDA:3,1\nDA:4,0\n"),
        "{lcov}"
    );
    assert!(read(&env, "c.html").contains("<span class=\"m\">  loud: 'yes'</span>"));
}

#[test]
fn suites_run_again_when_the_chart_changes() {
    let env = greeter(SUITE);
    let terminal = Terminal::start_as(&env, "pintle", "unittest web --watch", true);
    terminal.wait_for("waiting for changes", 1).wait_for("2 passed, 2 total", 1);
    env.write("web/values.yaml", "greeting: changed\n");
    terminal.wait_for("changed: web/values.yaml", 1).wait_for("waiting for changes", 2);
    env.write("web/tests/greeting_test.yaml", &SUITE.replace("value: Moin", "value: Hallo"));
    terminal.wait_for("waiting for changes", 3).wait_for("1 passed, 2 total", 1);
    terminal.interrupt();
    terminal.end();
}

#[test]
fn only_what_changed_is_tested() {
    let env = greeter(SUITE);
    env.write("web/templates/other.yaml", "kind: Secret\n");
    env.write(
        "web/tests/other_test.yaml",
        "suite: other\ntemplates: [other.yaml]\ntests: [{it: x, asserts: [{isKind: {of: Secret}}]}]\n",
    );
    assert!(env.pintle("unittest web --changed").contains("--changed needs a git repository"));
    assert!(env.pintle("unittest web --since main").starts_with("exit 2"));
    git(&env, "init -q -b main");
    git(&env, "add .");
    git(&env, "commit -q -m one");
    let nothing = "exit 0\n--- stderr\nno suite is affected by what changed\n";
    assert_eq!(env.pintle("unittest web --changed"), nothing);
    env.write("web/templates/other.yaml", "kind: Secret\ndata: {}\n");
    let output = env.pintle("unittest web --changed");
    assert!(output.contains(" PASS  other") && output.contains("Test Suites: 1 passed, 1 total"), "{output}");
    git(&env, "checkout -q -b topic");
    git(&env, "commit -q -a -m two");
    assert_eq!(env.pintle("unittest web --changed"), nothing);
    let output = env.pintle("unittest web --changed --since main");
    assert!(output.contains("Test Suites: 1 passed, 1 total"), "{output}");
    assert!(env.pintle("unittest web --changed --since none").contains("cannot compare with `none`"));
    // New files count too.
    env.write("web/templates/_new.tpl", "");
    assert!(env.pintle("unittest web --changed").contains("Test Suites: 2 passed, 2 total"));
}

fn git(env: &TestEnv, line: &str) {
    let identity =
        ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
    let mut command = Command::new("git");
    command
        .args(identity)
        .args(line.split(' '))
        .current_dir(env.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(command.status().expect("git").success(), "git {line}");
}

/// A chart with a hook, an image and a script.
fn with_lifecycle(expected: &str) -> TestEnv {
    let suite = format!("suite: release\ntests:\n  - it: works\n{expected}");
    let env = greeter(&suite);
    env.write(
        "web/templates/greeting.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  text: {{ .Values.greeting }}\n",
    );
    for (name, weight) in [("migrate", "1"), ("seed", "0")] {
        let job = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n  annotations: {{helm.sh/hook: pre-install, helm.sh/hook-weight: '{weight}'}}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{{name: a, image: 'ghcr.io/acme/{name}:1'}}]\n"
        );
        env.write(&format!("web/templates/{name}.yaml"), &job);
    }
    env.write(
        "web/ext/lua/chart.lua",
        "events.on('pre-render', function(ctx) ctx.values.greeting = 'from a script'; log.info('greeting set') end)\n",
    );
    env
}

const LIFECYCLE: &str = "    asserts:
      - equal: {path: data.text, value: from a script}
        template: greeting.yaml
    pintle:
      events: [pre-render]
      log: [greeting]
      hooks:
        pre-install: [Job/seed, Job/migrate]
        post-install: []
      images:
        equal: ['ghcr.io/acme/migrate:1', 'ghcr.io/acme/seed:1']
        registries: [ghcr.io]
      rehearsal: {kubeVersion: '1.36'}
";

#[test]
fn releases_are_tested_too() {
    let env = with_lifecycle(LIFECYCLE);
    let output = env.pintle("unittest web");
    assert!(output.starts_with("exit 0"), "{output}");
    let wrong = LIFECYCLE.replace("[Job/seed, Job/migrate]", "[Job/migrate]").replace("[pre-render]", "[]");
    let output = with_lifecycle(&wrong).pintle("unittest web");
    assert!(
        output.contains("- pintle `hooks` fail") && output.contains("- pintle `events` fail"),
        "{output}"
    );
    assert!(output.contains("+  - Job/seed"), "{output}");
    // `pintle` is enough for a test without other assertions, and unknown keys are errors.
    let env = with_lifecycle("    pintle: {images: {registries: [docker.io]}}\n");
    assert!(env.pintle("unittest web").contains("Expected images from the registries:"));
    let output = with_lifecycle("    pintle: {hook: {}}\n").pintle("unittest web");
    assert!(output.contains("line 4: field hook not found in type pintle"), "{output}");
}

#[test]
fn a_rehearsal_of_a_test_fails_as_expected() {
    let bad = "    pintle: {rehearsal: {fails: 'unknown field'}}\n";
    let env = with_lifecycle(bad);
    assert!(env.pintle("unittest web").contains("- pintle `rehearsal` fail"));
    env.write(
        "web/templates/bad.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndatum: {}\n",
    );
    let output = env.pintle("unittest web");
    assert!(output.starts_with("exit 0"), "{output}");
}

//! `diff`: the commands, formats and exit codes of helm-diff.

use crate::support::TestEnv;

fn chart(env: &TestEnv, folder: &str, version: &str, color: &str) {
    env.write(&format!("{folder}/Chart.yaml"), &format!("apiVersion: v2\nname: web\nversion: {version}\n"));
    env.write(&format!("{folder}/values.yaml"), &format!("color: {color}\npassword: {color}\n"));
    env.write(
        &format!("{folder}/templates/config.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  labels:\n    chart: {{ .Chart.Version }}\ndata:\n  color: {{ .Values.color }}\n",
    );
    env.write(
        &format!("{folder}/templates/secret.yaml"),
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\nstringData:\n  password: {{ .Values.password }}\n",
    );
}

fn charts() -> TestEnv {
    let env = TestEnv::new();
    chart(&env, "old", "1.0.0", "red");
    chart(&env, "new", "1.1.0", "green");
    env
}

#[test]
fn two_charts_are_compared_line_by_line() {
    let wanted = "exit 0\n--- stdout\n, release, ConfigMap (v1) has changed:\n...\n    labels:\n-     chart: 1.0.0\n+     chart: 1.1.0\n  data:\n-   color: red\n+   color: green\n, release, Secret (v1) has changed:\n...\n  data:\n-   password: '-------- # (3 bytes)'\n+   password: '++++++++ # (5 bytes)'\n\n";
    assert_eq!(charts().helm("diff local old new -C 1"), wanted);
}

#[test]
fn the_exit_code_answers_only_if_asked() {
    let env = charts();
    assert!(env.helm("diff local old new --output simple").starts_with("exit 0\n"));
    for program in ["helm", "pintle"] {
        let shown = env.called(program, "diff local old new --output simple --detailed-exitcode", &[]);
        assert!(shown.starts_with("exit 2\n"), "{shown}");
        assert!(
            shown.contains("Plan: 0 to add, 2 to change, 0 to destroy, 0 to change ownership."),
            "{shown}"
        );
        let same = env.called(program, "diff local old old --detailed-exitcode", &[]);
        assert!(same.starts_with("exit 0\n"), "{same}");
        // Errors exit with 1, not with 2, which means that there are differences.
        assert!(env.called(program, "diff local old", &[]).starts_with("exit 1\n"));
        assert!(
            env.called(program, "diff local old missing --detailed-exitcode", &[]).starts_with("exit 1\n")
        );
    }
}

#[test]
fn machines_get_json() {
    let env = charts();
    let entry = |kind: &str| {
        format!(
            "{{\n  \"api\": \"v1\",\n  \"kind\": \"{kind}\",\n  \"namespace\": \"prod\",\n  \"name\": \"release\",\n  \"change\": \"MODIFY\"\n}}"
        )
    };
    let wanted = format!("exit 0\n--- stdout\n[{},{}]\n", entry("ConfigMap"), entry("Secret"));
    assert_eq!(env.helm("diff local old new --output json -n prod"), wanted);
    let shown = env.helm("diff local old new --output structured --suppress Secret");
    for part in [
        "      {\n        \"path\": \"data\",\n        \"field\": \"color\",\n        \"change\": \"replace\",\n        \"oldValue\": \"red\",\n        \"newValue\": \"green\"\n      },\n",
        "    \"kind\": \"Secret\",\n    \"name\": \"release\",\n    \"changeType\": \"MODIFY\",\n    \"resourceStatus\": {\n      \"oldExists\": true,\n      \"newExists\": true\n    },\n    \"changesSuppressed\": true\n",
    ] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
}

#[test]
fn colors_come_from_flags_and_environment() {
    let env = charts();
    for (line, variables, colored) in [
        ("diff local old new --color --context 0", &[][..], true),
        ("diff local old new", &[("HELM_DIFF_COLOR", "true")][..], true),
        ("diff local old new --no-color", &[("HELM_DIFF_COLOR", "true")][..], false),
        ("diff local old new", &[][..], false),
    ] {
        let shown = env.helm_with(line, variables);
        assert_eq!(shown.contains("\u{1b}[0;32m+   color: green\u{1b}[0m"), colored, "{line}: {shown}");
    }
}

#[test]
fn templates_see_the_entries() {
    let env = charts();
    env.write("report.tpl", "{{ range $i, $e := . }}{{ $e.Kind }}/{{ $e.Name }}={{ $e.Change }}{{ if not (last $i $) }};{{ end }}{{ end }}");
    let shown =
        env.helm_with("diff local old new --output template -n prod", &[("HELM_DIFF_TPL", "report.tpl")]);
    assert!(shown.contains("ConfigMap/release=MODIFY;Secret/release=MODIFY\n"), "{shown}");
    let shown =
        env.helm_with("diff local old new", &[("HELM_DIFF_TPL", "no.tpl"), ("HELM_DIFF_OUTPUT", "template")]);
    assert!(
        shown.starts_with("exit 1\n") && shown.contains("open no.tpl: no such file or directory"),
        "{shown}"
    );
    // A line of the log, as in helm-diff, and no error of the command.
    assert!(shown.ends_with("--- stderr\nError loading custom template\n"), "{shown}");
}

#[test]
fn failures_say_what_was_done_and_warnings_of_rendering_are_not_passed_on() {
    let env = charts();
    env.write("old/crds/kind.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: kinds.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {plural: kinds, singular: kind, kind: Kind}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n");
    let run = |line: &str| env.helm_with(line, &[("PINTLE_CLUSTER", "embedded:box.db")]);
    assert!(run("install web old").starts_with("exit 0\n"));
    assert_eq!(run("diff upgrade web old"), "exit 0\n");
    env.write("new/templates/config.yaml", "{{ fail \"no\" }}");
    for (line, wanted) in [
        (
            "diff upgrade web new",
            "Error: Failed to render chart: execution error at (web/templates/config.yaml:1:3): no\n",
        ),
        (
            "diff upgrade web old -f missing.yaml",
            "Error: Failed to render chart: open missing.yaml: no such file or directory\n",
        ),
        ("diff upgrade web ./missing", "Error: Failed to render chart: path \"./missing\" not found\n"),
        (
            "diff upgrade Bad_Name old",
            "Error: Failed to get release Bad_Name in namespace default: releaseContent: Release name is invalid: Bad_Name\n",
        ),
    ] {
        let shown = run(line);
        assert!(shown.starts_with("exit 1\n") && shown.contains(wanted), "{line}: {shown}");
    }
}

#[test]
fn renamed_secrets_cannot_be_compared_by_field() {
    let env = charts();
    let secret = |name: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\nstringData:\n  a: b\n  c: d\n")
    };
    env.write("old/templates/secret.yaml", &secret("one"));
    env.write("new/templates/secret.yaml", &secret("two"));
    let shown = env.helm("diff local old new --find-renames 0.9 --output structured");
    assert!(
        shown.contains(
            "Warning: failed to build structured entry for , one, Secret (v1) (kind: Secret, changeType: MODIFY): convert old manifest: yaml: mapping values are not allowed in this context\n"
        ),
        "{shown}"
    );
}

#[test]
fn secrets_are_shown_only_if_asked() {
    let env = charts();
    let redacted = env.helm("diff local old new");
    assert!(redacted.contains("++++++++ # (5 bytes)") && !redacted.contains("password: green"), "{redacted}");
    assert!(env.helm("diff local old new --show-secrets").contains("+   password: green"));
    assert!(env.helm("diff local old new --show-secrets-decoded").contains("+   password: green"));
    assert!(
        env.helm("diff local old new --suppress-secrets")
            .contains("+ Changes suppressed on sensitive content of type Secret")
    );
}

#[test]
fn lines_renames_styles_and_kinds_can_be_left_out() {
    let env = charts();
    let shown = env.helm(
        "diff local old new --suppress-output-line-regex chart: --suppress-output-line-regex color: --find-renames 0.5 --strip-trailing-cr --normalize-manifests --include-tests --include-crds --enable-dns --kube-version 1.33.0 -a example.com/v1 --output dyff",
    );
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    assert!(shown.contains("\ndata.password\n± value change\n"), "{shown}");
    assert!(!shown.contains("data.color"), "{shown}");
    let empty = env.helm("diff local old new --suppress-output-line-regex .*");
    assert!(empty.contains("has changed, but diff is empty after suppression."), "{empty}");
}

#[test]
fn a_release_is_compared_with_a_chart() {
    let env = charts();
    let there = [("PINTLE_CLUSTER", "embedded:box.db")];
    let run = |line: &str| env.called("pintle", line, &there);
    assert!(run("diff upgrade web old").starts_with("exit 1\n"));
    let unreleased = run("diff upgrade web old --allow-unreleased --output simple");
    assert!(unreleased.contains("default, web, ConfigMap (v1) to be added."), "{unreleased}");
    assert!(run("install web old --set color=blue").starts_with("exit 0\n"));
    // Values are reused, defaults of the old chart included, so that only the label changes.
    let shown = run("diff upgrade web new --context 0 --detailed-exitcode");
    assert!(shown.starts_with("exit 2\n"), "{shown}");
    assert!(shown.contains("-     chart: 1.0.0\n+     chart: 1.1.0\n"), "{shown}");
    assert!(!shown.contains("color"), "{shown}");
    let reset = run("diff upgrade web new --reset-values --context 0");
    assert!(reset.contains("-   color: blue\n+   color: green\n"), "{reset}");
    let offline = run("diff upgrade web new --dry-run --output simple");
    assert!(offline.contains("2 to add, 0 to change"), "{offline}");
    assert!(run("diff upgrade web old --reuse-values --detailed-exitcode").starts_with("exit 0\n"));
    assert!(
        run("diff upgrade web old --reset-then-reuse-values --detailed-exitcode --no-hooks --disable-validation")
            .starts_with("exit 0\n")
    );
    let wrapped = env.called(
        "pintle",
        "diff upgrade web old --wait --history-max 3 --detailed-exitcode",
        &[("PINTLE_CLUSTER", "embedded:box.db"), ("HELM_DIFF_IGNORE_UNKNOWN_FLAGS", "true")],
    );
    assert!(wrapped.starts_with("exit 0\n"), "{wrapped}");
}

#[test]
fn crds_that_are_shown_must_not_belong_to_others() {
    let env = charts();
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Widget, plural: widgets}\n  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n";
    env.write("new/crds/widget.yaml", definition);
    let variables = &[("PINTLE_CLUSTER", "embedded:box.db")];
    assert!(env.called("helm", "install owner new", variables).starts_with("exit 0"));
    let without = env.called("helm", "diff upgrade mine new --install", variables);
    assert!(without.starts_with("exit 0") && !without.contains("widgets.example.com"), "{without}");
    // As for `template --dry-run=server --include-crds`, the definition of `crds/` counts as an object of the release.
    let refused = env.called("helm", "diff upgrade mine new --install --include-crds", variables);
    for part in ["exit 1", "CustomResourceDefinition \"widgets.example.com\"", "invalid ownership metadata"] {
        assert!(refused.contains(part), "no {part} in {refused}");
    }
    for line in [
        "diff upgrade mine new --install --include-crds --take-ownership",
        "diff upgrade mine new --install --include-crds --disable-validation",
        "diff upgrade owner new --include-crds",
    ] {
        let shown = env.called("helm", line, variables);
        assert!(shown.starts_with("exit 0") && shown.contains("widgets.example.com"), "{line}: {shown}");
    }
}

#[test]
fn live_objects_are_compared_in_three_ways() {
    let env = charts();
    let there = [("PINTLE_CLUSTER", "embedded:box.db")];
    let run = |line: &str| env.called("pintle", line, &there);
    assert!(run("install web old").starts_with("exit 0\n"));
    let shown = run("diff upgrade web new --three-way-merge --reset-values --context 0");
    assert!(shown.contains("-   color: red\n+   color: green\n"), "{shown}");
    assert!(shown.contains("++++++++ # (5 bytes)"), "{shown}");
    let taken =
        run("diff upgrade other old --take-ownership --allow-unreleased --output simple --release-missing");
    assert!(taken.starts_with("exit 1\n"), "an unknown flag: {taken}");
    let same = run("diff upgrade web old --take-ownership --output simple");
    assert!(same.contains("Plan: 0 to add, 0 to change, 0 to destroy, 0 to change ownership."), "{same}");
}

#[test]
fn revisions_and_releases_are_compared() {
    let env = charts();
    let there = [("PINTLE_CLUSTER", "embedded:box.db")];
    let run = |line: &str| env.called("pintle", line, &there);
    assert!(run("install web old").starts_with("exit 0\n"));
    assert!(run("upgrade web new --reset-values").starts_with("exit 0\n"));
    assert!(run("install other old").starts_with("exit 0\n"));
    for line in ["diff revision web 1", "diff revision web 2 1", "diff rollback other 1"] {
        assert!(run(line).starts_with("exit 0\n"), "{line}");
    }
    assert!(run("diff revision web 2 1 -C 0").contains("-   color: red\n+   color: green\n"));
    assert!(
        run("diff rollback web 1 -C 0 --detailed-exitcode").contains("-   color: green\n+   color: red\n")
    );
    let releases = run("diff release other web -C 0 --detailed-exitcode");
    assert!(
        releases.starts_with("exit 2\n") && releases.contains("web/templates/config.yaml has changed:"),
        "{releases}"
    );
    assert!(run("diff release other").contains("needs the names of two releases"));
    assert!(run("diff revision web").contains("needs a release and a version of it"));
}

#[test]
fn the_followed_version_is_known() {
    assert!(TestEnv::new().helm("diff version").contains("3.15.11\n"));
}

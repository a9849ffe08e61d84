//! `plan` and `drift`: what would be done, and what others have done.

use crate::support::TestEnv;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "color: red\nextra: true\n");
    env.write(
        "web/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  color: {{ .Values.color }}\n",
    );
    env.write(
        "web/templates/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\nstringData:\n  password: {{ .Values.color }}-word\n",
    );
    env.write(
        "web/templates/extra.yaml",
        "{{ if .Values.extra }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-extra\n{{ end }}",
    );
    env.write(
        "web/templates/hook.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Release.Name }}-migrate\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - name: a\n        image: busybox\n",
    );
    env
}

fn run(env: &TestEnv, line: &str) -> String {
    env.called("pintle", line, &[("PINTLE_CLUSTER", "embedded:box.db")])
}

fn holds(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

#[test]
fn an_install_is_planned_and_nothing_is_done() {
    let env = env();
    let shown = run(&env, "plan install a web");
    holds(
        &shown,
        &[
            "exit 2\n",
            "Plan to install release a in namespace default, version 1",
            "> run pre-install hook Job a-migrate (weight 0)",
            "+ create ConfigMap default/a\n",
            "+   color: red",
            "Plan: 3 to create, 1 hook to run.",
        ],
    );
    assert!(!shown.contains("red-word"), "a Secret is shown: {shown}");
    holds(&run(&env, "list"), &["exit 0\n"]);
    assert!(!run(&env, "list").contains("web-1.0.0"));
}

#[test]
fn an_upgrade_shows_changes_deletions_and_nothing_else() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(&run(&env, "plan upgrade a web"), &["exit 0\n", "3 unchanged"]);
    let shown = run(&env, "plan upgrade a web --set color=blue --set extra=false");
    holds(
        &shown,
        &[
            "exit 2\n",
            "version 1 to 2",
            "~ update ConfigMap default/a\n",
            "-   color: red",
            "+   color: blue",
            "~ update Secret default/a\n",
            "- delete ConfigMap default/a-extra\n",
            "Plan: 2 to update, 1 to delete, 1 hook to run.",
        ],
    );
    assert!(!shown.contains("-word"), "a Secret is shown: {shown}");
    holds(
        &run(&env, "plan upgrade a web --set color=blue --no-detailed-exitcode --show-unchanged -C 0"),
        &["exit 0\n", "= unchanged ConfigMap default/a-extra"],
    );
}

#[test]
fn a_plan_has_other_formats() {
    let env = env();
    let json = run(&env, "plan install a web -o json");
    holds(&json, &["\"operation\": \"install\"", "\"action\": \"create\"", "\"event\": \"pre-install\""]);
    assert!(!json.contains("red-word"), "{json}");
    holds(
        &run(&env, "plan install a web -o markdown"),
        &["| create | ConfigMap | default | a |", "```diff\n+ apiVersion: v1"],
    );
    holds(
        &run(&env, "plan install a web -o dot"),
        &["digraph \"a\" {", "\"pre-install Job a-migrate\" -> \"create Secret default/a\";"],
    );
    holds(&run(&env, "plan install a web -o yaml"), &["exit 1\n", "text, json, markdown or dot"]);
}

#[test]
fn rollbacks_and_uninstalls_are_planned() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(&run(&env, "upgrade a web --set color=blue"), &["exit 0\n"]);
    holds(
        &run(&env, "plan rollback a 1"),
        &["exit 2\n", "-   color: blue", "+   color: red", "version 2 to 3"],
    );
    holds(&run(&env, "plan uninstall a"), &["exit 2\n", "- delete ConfigMap default/a\n", "3 to delete"]);
    holds(&run(&env, "plan uninstall b"), &["exit 1\n", "not found"]);
}

#[test]
fn immutable_fields_are_named() {
    let env = env();
    env.write(
        "web/templates/immutable.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-fixed\nimmutable: true\ndata:\n  color: {{ .Values.color }}\n",
    );
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    let shown = run(&env, "plan upgrade a web --set color=blue");
    holds(&shown, &["exit 1\n", "ConfigMap default/a-fixed", "immutable", "the upgrade would fail"]);
}

#[test]
fn drift_is_found_and_fixed() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(&run(&env, "drift a"), &["exit 0\n", "no drift in 3 objects"]);
    // Another release takes the objects over, which is a change behind the back of this one.
    env.write("thief/Chart.yaml", "apiVersion: v2\nname: thief\nversion: 1.0.0\n");
    env.write(
        "thief/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  color: black\n",
    );
    holds(&run(&env, "install thief thief --take-ownership --force-conflicts"), &["exit 0\n"]);
    let shown = run(&env, "drift a");
    holds(&shown, &["exit 2\n", "ConfigMap default/a", "data.color: \"black\" instead of \"red\""]);
    holds(&run(&env, "drift -A -o json"), &["\"path\": \"data.color\"", "\"recorded\": \"red\""]);
    holds(&run(&env, "drift a --fix"), &["exit 0\n", "release a restored"]);
    holds(&run(&env, "drift a"), &["exit 0\n", "no drift in 3 objects"]);
    holds(&run(&env, "drift -o text"), &["release thief"]);
}

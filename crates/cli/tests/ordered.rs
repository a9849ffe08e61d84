//! The order between subcharts and objects that a chart asks for (HIP-0025), on the embedded cluster.

use crate::support::TestEnv;

fn run(env: &TestEnv, program: &str, line: &str) -> String {
    env.called(program, line, &[("PINTLE_CLUSTER", "embedded:box.db")])
}

fn config(name: &str, annotations: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations:\n    some: text\n{annotations}data: {{a: b}}\n"
    )
}

/// A chart whose application waits for a database, which gets ready unless the value `broken` is set.
fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n");
    env.write("shop/values.yaml", "broken: false\n");
    env.write(
        "shop/templates/database.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: database\n  annotations: {helm.sh/resource-group: database}\nspec:\n  selector: {matchLabels: {app: database}}\n  template:\n    metadata:\n      labels: {app: database}\n      {{- if .Values.broken }}\n      annotations: {pintle.dev/simulate-image: missing}\n      {{- end }}\n    spec: {containers: [{name: main, image: postgres}]}\n",
    );
    let after = "    helm.sh/resource-group: app\n    helm.sh/depends-on/resource-groups: '[\"database\"]'\n";
    env.write("shop/templates/app.yaml", &config("app", after));
    env.write("shop/templates/last.yaml", &config("last", ""));
    env
}

fn position(shown: &str, part: &str) -> usize {
    shown.find(part).unwrap_or_else(|| panic!("no {part:?} in:\n{shown}"))
}

#[test]
fn groups_are_planned_and_applied_in_their_order() {
    let env = env();
    let shown = run(&env, "pintle", "plan install a shop");
    let order = [
        "> stage 1 of 3\n",
        "+ create Deployment default/database",
        "> stage 2 of 3, when what it depends on is ready\n",
        "+ create ConfigMap default/app",
        "> stage 3 of 3",
        "+ create ConfigMap default/last",
    ];
    assert!(order.map(|part| position(&shown, part)).is_sorted(), "{shown}");
    assert!(
        !shown.contains("depends-on/resource-groups"),
        "the server does not accept the annotation: {shown}"
    );
    let data = run(&env, "pintle", "plan install a shop -o json");
    assert!(data.contains("\"stage\": 3"), "{data}");
    assert!(run(&env, "pintle", "install a shop").starts_with("exit 0"));
    let manifest = run(&env, "pintle", "get manifest a");
    assert!(
        manifest.contains("helm.sh/depends-on/resource-groups"),
        "the record is what was rendered: {manifest}"
    );
    assert!(run(&env, "pintle", "drift a").contains("no drift in 3 objects"));
    let shown = run(&env, "pintle", "plan uninstall a");
    let order = ["- delete ConfigMap default/last", "- delete ConfigMap default/app", "- delete Deployment"];
    assert!(order.map(|part| position(&shown, part)).is_sorted(), "{shown}");
    assert!(run(&env, "pintle", "uninstall a").starts_with("exit 0"));
}

#[test]
fn a_group_that_is_not_ready_keeps_those_that_depend_on_it_from_being_applied() {
    let env = env();
    let failed = run(&env, "pintle", "install a shop --set broken=true --timeout 20s");
    assert!(failed.starts_with("exit 1") && failed.contains("database"), "{failed}");
    let made = run(&env, "pintle", "plan upgrade a shop --reset-values");
    for part in ["~ update Deployment default/database", "+ create ConfigMap default/app"] {
        position(&made, part);
    }
    let failed = run(&env, "pintle", "upgrade a shop --reset-values");
    assert!(failed.starts_with("exit 0"), "{failed}");
    // The order is ignored with `--ordered=false`, and by default under the name `helm`, as in Helm.
    let unordered =
        run(&env, "pintle", "install b shop --set broken=true --ordered=false -n other --create-namespace");
    assert!(unordered.starts_with("exit 0"), "{unordered}");
    let unordered = run(&env, "helm", "install c shop --set broken=true -n third --create-namespace");
    assert!(unordered.starts_with("exit 0"), "{unordered}");
    let ordered = run(
        &env,
        "helm",
        "install d shop --set broken=true --wait=ordered --timeout 5s -n fourth --create-namespace",
    );
    assert!(ordered.starts_with("exit 1"), "{ordered}");
}

#[test]
fn subcharts_come_in_the_order_of_the_chart() {
    let env = TestEnv::new();
    env.write(
        "foo/Chart.yaml",
        "apiVersion: v2\nname: foo\nversion: 1.0.0\nannotations:\n  helm.sh/depends-on/subcharts: '[\"bar\"]'\ndependencies:\n- {name: nginx, version: 1.0.0}\n- {name: bar, version: 1.0.0, depends-on: [nginx]}\n",
    );
    env.write("foo/templates/own.yaml", &config("own", ""));
    for name in ["nginx", "bar"] {
        env.write(
            &format!("foo/charts/{name}/Chart.yaml"),
            &format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n"),
        );
        env.write(&format!("foo/charts/{name}/templates/a.yaml"), &config(name, ""));
    }
    let shown = run(&env, "pintle", "plan install a foo");
    let order = ["default/nginx", "stage 2 of 3", "default/bar", "stage 3 of 3", "default/own"];
    assert!(order.map(|part| position(&shown, part)).is_sorted(), "{shown}");
    // Rollbacks and uninstalls have no chart to read the order from.
    assert!(run(&env, "pintle", "install a foo").starts_with("exit 0"));
    let shown = run(&env, "pintle", "plan uninstall a");
    let order =
        ["default/own", "stage 2 of 3, when what depends on it is gone", "default/bar", "default/nginx"];
    assert!(order.map(|part| position(&shown, part)).is_sorted(), "{shown}");
}

#[test]
fn groups_that_depend_on_each_other_are_refused_before_anything_is_done() {
    let env = env();
    let after = "    helm.sh/resource-group: database\n    helm.sh/depends-on/resource-groups: app\n";
    env.write("shop/templates/more.yaml", &config("more", after));
    let failed = run(&env, "pintle", "install a shop");
    let text = "group app of chart shop and group database of chart shop depend on each other";
    assert!(!failed.starts_with("exit 0") && failed.contains(text), "{failed}");
    assert!(!run(&env, "pintle", "list").contains("shop-1.0.0"));
}

/// A chart whose database defines its readiness by annotations.
fn env_with_readiness() -> TestEnv {
    let env = env();
    env.write("shop/values.yaml", "replicas: 1\nsuccess: '{.readyReplicas} >= 2'\nfailure: '{.no} == 1'\n");
    env.write(
        "shop/templates/database.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: database\n  annotations:\n    helm.sh/resource-group: database\n    helm.sh/readiness-success: {{ .Values.success | quote }}\n    {{- with .Values.failure }}\n    helm.sh/readiness-failure: {{ list . | toJson | quote }}\n    {{- end }}\nspec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: database}}\n  template:\n    metadata:\n      labels: {app: database}\n    spec: {containers: [{name: main, image: postgres}]}\n",
    );
    env
}

#[test]
fn a_chart_says_itself_when_an_object_is_ready_or_has_failed() {
    let env = env_with_readiness();
    let waiting = run(&env, "pintle", "install a shop --readiness-timeout 3s");
    for part in ["exit 1", "Deployment/default/database", "Waiting for {.readyReplicas} >= 2"] {
        position(&waiting, part);
    }
    let made = run(&env, "pintle", "plan upgrade a shop --set replicas=2");
    position(&made, "+ create ConfigMap default/app");
    // The expression counts in the wait at the end as well, and with the rules of Helm 3.
    for wait in ["", "--wait", "--wait=legacy"] {
        let ready = run(&env, "pintle", &format!("upgrade a shop --set replicas=2 {wait}"));
        assert!(ready.starts_with("exit 0"), "{ready}");
    }
    // A failure ends the wait long before the limit. (`--set` would read the braces as a list.)
    env.write("failing.yaml", "replicas: 2\nfailure: '{.readyReplicas} >= 1'\n");
    let failed = run(&env, "pintle", "upgrade a shop -f failing.yaml --timeout 1h");
    for part in ["exit 1", "Resource has failed: {.readyReplicas} >= 1"] {
        position(&failed, part);
    }
    let ignored = run(&env, "pintle", "upgrade a shop --ordered=false --wait");
    assert!(ignored.starts_with("exit 0"), "no order, no expressions: {ignored}");
}

#[test]
fn expressions_of_readiness_are_checked_before_anything_is_done() {
    let env = env_with_readiness();
    let refused = run(&env, "pintle", "install a shop --set success=ready");
    let text =
        "Deployment database: annotation helm.sh/readiness-success: \"ready\" is no list of expressions";
    assert!(!refused.starts_with("exit 0") && refused.contains(text), "{refused}");
    assert!(!run(&env, "pintle", "list").contains("shop-1.0.0"));
    let linted = run(&env, "pintle", "lint shop --set success=ready");
    assert!(linted.starts_with("exit 1") && linted.contains(text), "{linted}");
    assert!(
        run(&env, "helm", "lint shop --set success=ready").starts_with("exit 0"),
        "Helm has no such rule"
    );
    let half = run(&env, "pintle", "install a shop --set failure=");
    for part in ["exit 0", "has only one of helm.sh/readiness-success and helm.sh/readiness-failure"] {
        position(&half, part);
    }
    let limits = run(&env, "pintle", "upgrade a shop --readiness-timeout 2m --timeout 1m");
    position(&limits, "--readiness-timeout exceeds --timeout");
}

#[test]
fn as_helm_and_in_drafts_the_annotations_of_the_proposal_mean_nothing() {
    let env = env();
    env.write(
        "shop/templates/app.yaml",
        &config(
            "app",
            "    helm.sh/resource-group: app\n    helm.sh/readiness-success: '[\"{.data.a} == \\\"never\\\"\"]'\n    \
             helm.sh/readiness-failure: '[\"{.data.a} == \\\"b\\\"\"]'\n",
        ),
    );
    // The database never gets ready, and the application has failed by its own annotation: nothing waits for either.
    let shown = run(&env, "helm", "install a shop --set broken=true");
    assert!(shown.starts_with("exit 0"), "{shown}");
    let drafts = "    helm.sh/layer: app\n    helm.sh/depends-on-layers: '[\"database\"]'\n    helm.sh/resource-ready: \
                  'status.succeeded==1'\n";
    let env = TestEnv::new();
    env.write("old/Chart.yaml", "apiVersion: v2\nname: old\nversion: 1.0.0\n");
    env.write("old/templates/a.yaml", &config("a", drafts));
    env.write("old/templates/b.yaml", &config("b", "    helm.sh/layer: database\n"));
    let shown = run(&env, "pintle", "plan install a old");
    assert!(!shown.contains("stage") && shown.contains("2 to create"), "{shown}");
    assert!(run(&env, "pintle", "install a old --wait").starts_with("exit 0"));
}

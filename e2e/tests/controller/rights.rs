//! What a request may do is what its service account may do, and what the controller may do is what its chart says.

use std::path::PathBuf;

use pintle_e2e::{Program, TestEnv, needs_real};
use serde_json::{Value, json};

use super::{Controller, change, create, delete, prepare, text, until_gone, until_ready, until_reason};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// What is needed for records, and for these kinds of the core group.
fn rules(kinds: &[&str]) -> Value {
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    json!([
        {"apiGroups": ["helm.sh"], "resources": ["releases", "releaseversions"], "verbs": verbs},
        {"apiGroups": [""], "resources": kinds, "verbs": verbs},
    ])
}

/// Creates the service account `deployer` with rights to records and to these kinds.
fn create_deployer(env: &TestEnv, kinds: &[&str]) {
    let api = env.api();
    api.create(
        &env.path("v1", "serviceaccounts", ""),
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}}),
    );
    api.create(
        &env.path(RBAC, "roles", ""),
        &json!({"apiVersion": RBAC, "kind": "Role", "metadata": {"name": "deployer"}, "rules": rules(kinds)}),
    );
    api.create(
        &env.path(RBAC, "rolebindings", ""),
        &json!({
            "apiVersion": RBAC, "kind": "RoleBinding", "metadata": {"name": "deployer"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"},
            "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": env.namespace()}],
        }),
    );
}

#[test]
fn a_request_has_the_rights_of_its_service_account_and_no_others() {
    needs_real!("asks a server that knows who may do what");
    let Some(env) = TestEnv::new("a_request_has_the_rights_of_its_service_account") else { return };
    prepare(&env);
    create_deployer(&env, &["configmaps", "secrets"]);
    let strategy = json!({"name": "RetryOnFailure", "retryInterval": "1s"});
    create(
        &env,
        "web",
        json!({"serviceAccountName": "deployer", "values": {"port": 80}, "install": {"strategy": strategy}, "upgrade": {"strategy": strategy}}),
    );
    // The controller's own credentials allow everything.
    let _controller = Controller::start(&env, None, &[]);
    let message = until_reason(&env, "web", "InstallFailed");
    assert!(message.contains("services") && message.contains("forbidden"), "{message}");
    assert!(
        message.contains("cannot patch resource") || message.contains("cannot get resource"),
        "{message}"
    );
    assert!(message.contains(&format!("system:serviceaccount:{}:deployer", env.namespace())), "{message}");
    assert!(env.object("v1", "services", "web").is_none(), "the rights of the controller are never used");
    let more = json!({"rules": rules(&["configmaps", "secrets", "services"])});
    env.api().merge(&env.path(RBAC, "roles", "deployer"), &more);
    until_ready(&env, "web");
    assert!(env.object("v1", "services", "web").is_some());
}

/// A kubeconfig of a service account of the test's namespace.
fn kubeconfig_of(env: &TestEnv, account: &str) -> PathBuf {
    let path = format!("{}/token", env.path("v1", "serviceaccounts", account));
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = env.api().create(&path, &request);
    let token = answer["status"]["token"].as_str().expect("a token");
    let admin = std::fs::read_to_string(&env.cluster().kubeconfig).expect("the kubeconfig can be read");
    let lines = admin.lines().filter_map(|line| match line.trim_start() {
        word if word.starts_with("client-key-data:") => None,
        word if word.starts_with("client-certificate-data:") => Some(format!("    token: {token}\n")),
        _ => Some(format!("{line}\n")),
    });
    env.write("account.kubeconfig", &lines.collect::<String>())
}

#[test]
fn the_rights_of_the_chart_are_all_that_the_controller_needs() {
    needs_real!("asks a server that knows who may do what");
    let Some(env) = TestEnv::new("the_rights_of_the_chart_are_all") else { return };
    prepare(&env);
    create_deployer(&env, &["configmaps", "secrets"]);
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/chart");
    let watched = format!("watchNamespace={},replicas=0", env.namespace());
    let install = ["install", "controller", chart, "--skip-crds", "--set", &watched];
    env.run(Program::Pintle, &install).succeeded();
    let mut command = env.command(Program::Controller);
    command.arg("--kubeconfig").arg(kubeconfig_of(&env, "controller"));
    command.args(["--namespace", env.namespace(), "--lease-namespace", env.namespace()]);
    command.args(["--metrics-addr", "127.0.0.1:0"]).arg("--cache").arg(env.folder().join("cache"));
    let _controller = Controller::spawn(command);

    create(&env, "web", json!({"serviceAccountName": "deployer", "values": {"text": "one"}}));
    until_ready(&env, "web");
    change(&env, "web", json!({"spec": {"values": {"text": "two"}}}));
    until_ready(&env, "web");
    assert_eq!(text(&env, "web").as_deref(), Some("two"));
    let events = env.objects("v1", "events");
    let is_published = |reason: &str| events.iter().any(|event| event["reason"] == reason);
    assert!(is_published("InstallSucceeded") && is_published("UpgradeSucceeded"), "{events:?}");

    // Without an account of its own, a request acts as `default`, which may not even read its chart here.
    create(&env, "other", json!({"values": {"text": "one"}}));
    let message = until_reason(&env, "other", "ChartFailed");
    let account = format!("system:serviceaccount:{}:default", env.namespace());
    assert!(message.contains(&account) && message.contains("cannot get resource"), "{message}");
    assert!(message.contains("configmaps"), "{message}");
    for name in ["web", "other"] {
        delete(&env, name);
        until_gone(&env, name);
    }
    assert_eq!(text(&env, "web"), None, "the release is uninstalled with its request");
}

//! What a request may do is what its service account may do; the controller itself needs the rights of `deploy/`, no more.

use pintle_e2e::{Program, TestEnv, needs_real};
use serde_json::{Value, json};

use super::{Controller, create, prepare, until_ready, until_reason};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// The rules of a service account that records releases and handles these resources of the core group.
fn rules(resources: &[&str]) -> Value {
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    json!([
        {"apiGroups": ["helm.sh"], "resources": ["releases", "releaseversions"], "verbs": verbs},
        {"apiGroups": [""], "resources": resources, "verbs": verbs},
    ])
}

/// Makes the service account `deployer` with a Role for these resources of the core group.
fn add_deployer(env: &TestEnv, resources: &[&str]) {
    let api = env.api();
    api.create(
        &env.path("v1", "serviceaccounts", ""),
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}}),
    );
    api.create(
        &env.path(RBAC, "roles", ""),
        &json!({"apiVersion": RBAC, "kind": "Role", "metadata": {"name": "deployer"}, "rules": rules(resources)}),
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
    add_deployer(&env, &["configmaps", "secrets"]);
    let strategy = json!({"name": "RetryOnFailure", "retryInterval": "1s"});
    create(
        &env,
        "web",
        json!({"serviceAccountName": "deployer", "values": {"port": 80}, "install": {"strategy": strategy}, "upgrade": {"strategy": strategy}}),
    );
    // The program itself may do everything.
    let _controller = Controller::start(&env, None, &[]);
    let message = until_reason(&env, "web", "InstallFailed");
    assert!(message.contains("services") && message.contains("forbidden"), "{message}");
    assert!(
        message.contains("cannot patch resource") || message.contains("cannot get resource"),
        "{message}"
    );
    assert!(message.contains(&format!("system:serviceaccount:{}:deployer", env.namespace())), "{message}");
    assert!(env.object("v1", "services", "web").is_none(), "the rights of the controller are never used");
    let rules = rules(&["configmaps", "secrets", "services"]);
    env.api().merge(&env.path(RBAC, "roles", "deployer"), &json!({"rules": rules}));
    until_ready(&env, "web");
    assert!(env.object("v1", "services", "web").is_some());
}

/// The chart in `deploy/` gives the controller the rights in one namespace; with its token, and no other rights, it works.
#[test]
fn a_controller_with_the_rights_of_its_chart_works_in_its_namespace() {
    needs_real!("asks a server that knows who may do what");
    let Some(env) = TestEnv::new("a_controller_with_the_rights_of_its_chart") else { return };
    prepare(&env);
    add_deployer(&env, &["configmaps", "secrets", "services"]);
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/chart");
    let scope = format!("watchNamespace={}", env.namespace());
    let install = ["install", "keeper", chart, "--skip-crds", "--set", &scope, "--set", "replicas=0"];
    env.run(Program::Pintle, &install).succeeded();
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let issued = env.api().create(&env.path("v1", "serviceaccounts", "keeper/token"), &request);
    let token = issued["status"]["token"].as_str().expect("a token");
    let mut command = env.command(Program::Controller);
    command.arg("--kubeconfig").arg(env.kubeconfig_with_token(token));
    command.args(["--namespace", env.namespace(), "--lease-namespace", env.namespace()]);
    command.args(["--identity", "keeper", "--metrics-addr", "127.0.0.1:0"]);
    command.arg("--cache").arg(env.folder().join("charts"));
    let _controller = Controller::spawn(command);
    create(&env, "web", json!({"serviceAccountName": "deployer", "values": {"text": "one", "port": 80}}));
    until_ready(&env, "web");
    // Without a name it is the account `default`, which may do nothing, not even what the controller may.
    create(&env, "bare", json!({"values": {"text": "one"}}));
    let message = until_reason(&env, "bare", "ChartFailed");
    assert!(message.contains(&format!("system:serviceaccount:{}:default", env.namespace())), "{message}");
    assert!(message.contains("cannot get resource") && message.contains("configmaps"), "{message}");
}

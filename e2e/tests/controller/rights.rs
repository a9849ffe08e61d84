//! What a request may do is what its service account may do.

use pintle_e2e::{TestEnv, needs_real};
use serde_json::json;

use super::{Controller, create, prepare, until_ready, until_reason};

#[test]
fn a_request_has_the_rights_of_its_service_account_and_no_others() {
    needs_real!("asks a server that knows who may do what");
    let Some(env) = TestEnv::new("a_request_has_the_rights_of_its_service_account") else { return };
    prepare(&env);
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let rule = |resources: &[&str], groups: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let rbac = "rbac.authorization.k8s.io/v1";
    let api = env.api();
    api.create(
        &env.path("v1", "serviceaccounts", ""),
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}}),
    );
    let rules = json!([
        rule(&["releases", "releaseversions"], &["helm.sh"]),
        rule(&["configmaps", "secrets"], &[""])
    ]);
    api.create(
        &env.path(rbac, "roles", ""),
        &json!({"apiVersion": rbac, "kind": "Role", "metadata": {"name": "deployer"}, "rules": rules}),
    );
    api.create(
        &env.path(rbac, "rolebindings", ""),
        &json!({
            "apiVersion": rbac, "kind": "RoleBinding", "metadata": {"name": "deployer"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"},
            "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": env.namespace()}],
        }),
    );
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
    let rules = json!([
        rule(&["releases", "releaseversions"], &["helm.sh"]),
        rule(&["configmaps", "secrets", "services"], &[""])
    ]);
    api.merge(&env.path(rbac, "roles", "deployer"), &json!({"rules": rules}));
    until_ready(&env, "web");
    assert!(env.object("v1", "services", "web").is_some());
}

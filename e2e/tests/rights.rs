//! Users who may not do everything: the errors that they get, and what still works.

use crate::support;

use pintle_e2e::{Action, CommandResult, Program, Proxy, TestEnv, needs_real};
use serde_json::{Value, json};
use support::write_chart;

/// Lets a user do in the namespace what a role says, and gives the user's name.
fn user(env: &TestEnv, name: &str, role: &Value) -> String {
    let user = format!("{name}-{}", env.namespace());
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": role,
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    env.api().create(&env.path("rbac.authorization.k8s.io/v1", "rolebindings", ""), &binding);
    user
}

/// The built-in role `edit`, which has no rights to our kinds.
fn edit() -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"})
}

/// A role in the namespace for everything that the native store needs, but no more than that of the chart's objects.
fn with_our_kinds(env: &TestEnv) -> Value {
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "releases"},
        "rules": [
            {"apiGroups": ["helm.sh"], "resources": ["releases", "releaseversions"], "verbs": verbs},
            {"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": verbs},
        ],
    });
    env.api().create(&env.path("rbac.authorization.k8s.io/v1", "roles", ""), &role);
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "releases"})
}

fn run(env: &TestEnv, user: &str, words: &[&str], environment: &[(&str, &str)]) -> CommandResult {
    let mut command = env.command(Program::Pintle);
    command.args(words).args(["--kube-as-user", user]).envs(environment.iter().copied());
    command.output().expect("the program can be run").into()
}

fn names_the_ways_out(ran: CommandResult) {
    let ran = ran.failed();
    for way in ["`pintle init`", "HELM_DRIVER=secret"] {
        assert!(ran.stderr.contains(way), "{way} is not named: {}", ran.stderr);
    }
}

#[test]
fn without_rights_to_our_kinds_the_ways_out_are_named_and_secrets_do() {
    needs_real!("asks a server that knows who may do what");
    let Some(env) = TestEnv::new("without_rights_to_our_kinds") else { return };
    write_chart(&env, "chart");
    let user = user(&env, "editor", &edit());
    for words in [
        ["install", "web", "chart"].as_slice(),
        &["upgrade", "--install", "web", "chart"],
        &["list"],
        &["status", "web"],
        &["uninstall", "web"],
    ] {
        names_the_ways_out(run(&env, &user, words, &[]));
    }
    assert!(env.object("v1", "configmaps", "web").is_none(), "nothing was half done");
    let secrets = [("HELM_DRIVER", "secret")];
    run(&env, &user, &["install", "web", "chart"], &secrets).succeeded();
    run(&env, &user, &["upgrade", "web", "chart", "--set", "text=two"], &secrets).succeeded();
    run(&env, &user, &["uninstall", "web"], &secrets).succeeded();
}

#[test]
fn who_may_not_install_our_kinds_is_told_who_can() {
    needs_real!("asks a server that knows who may do what");
    let Some(env) = TestEnv::new("who_may_not_install_our_kinds") else { return };
    write_chart(&env, "chart");
    let user = user(&env, "releaser", &with_our_kinds(&env));
    let printed = run(&env, &user, &["init"], &[]).failed();
    assert!(printed.stderr.contains("HELM_DRIVER=secret"), "{}", printed.stderr);
    // A server that does not serve our kinds; all other requests pass.
    let proxy = Proxy::new(env.cluster());
    proxy.rule(|seen| match seen.path.starts_with("/apis/helm.sh/") {
        true => Action::Response(404, "Content-Type: text/plain", "404 page not found\n".to_owned()),
        false => Action::Pass,
    });
    let kubeconfig = proxy.kubeconfig().to_string_lossy().into_owned();
    let unknown = [("KUBECONFIG", kubeconfig.as_str())];
    names_the_ways_out(run(&env, &user, &["install", "web", "chart"], &unknown));
    assert!(env.object("v1", "configmaps", "web").is_none(), "nothing was half done");
    // Once an administrator has installed them, the same user needs nothing more.
    env.run(Program::Pintle, &["init"]).succeeded();
    run(&env, &user, &["install", "web", "chart"], &[]).succeeded();
    run(&env, &user, &["upgrade", "web", "chart", "--set", "text=two"], &[]).succeeded();
    run(&env, &user, &["rollback", "web", "1"], &[]).succeeded();
    run(&env, &user, &["uninstall", "web"], &[]).succeeded();
}

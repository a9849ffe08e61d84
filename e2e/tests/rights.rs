//! Users who may not do everything: what they are told, and what they can do all the same.

use crate::support;

use pintle_e2e::{Fate, Program, Proxy, Ran, TestEnv, needs_real};
use serde_json::{Value, json};
use support::write_chart;

/// Lets a user do in the namespace what a role says, and gives the user's name.
fn user(bench: &TestEnv, name: &str, role: &Value) -> String {
    let user = format!("{name}-{}", bench.namespace());
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": role,
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    bench.api().create(&bench.path("rbac.authorization.k8s.io/v1", "rolebindings", ""), &binding);
    user
}

/// The role of those who may change a namespace; it knows nothing of our kinds.
fn edit() -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"})
}

/// A role in the namespace for everything that the native store needs, but no more than that of the chart's objects.
fn with_our_kinds(bench: &TestEnv) -> Value {
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
    bench.api().create(&bench.path("rbac.authorization.k8s.io/v1", "roles", ""), &role);
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "releases"})
}

fn run(bench: &TestEnv, user: &str, words: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = bench.command(Program::Pintle);
    command.args(words).args(["--kube-as-user", user]).envs(environment.iter().copied());
    command.output().expect("the program can be run").into()
}

fn names_the_ways_out(ran: Ran) {
    let ran = ran.failed();
    for way in ["`pintle init`", "HELM_DRIVER=secret"] {
        assert!(ran.stderr.contains(way), "{way} is not named: {}", ran.stderr);
    }
}

#[test]
fn without_rights_to_our_kinds_the_ways_out_are_named_and_secrets_do() {
    needs_real!("asks a server that knows who may do what");
    let Some(bench) = TestEnv::new("without_rights_to_our_kinds") else { return };
    write_chart(&bench, "chart");
    let user = user(&bench, "editor", &edit());
    for words in [
        ["install", "web", "chart"].as_slice(),
        &["upgrade", "--install", "web", "chart"],
        &["list"],
        &["status", "web"],
        &["uninstall", "web"],
    ] {
        names_the_ways_out(run(&bench, &user, words, &[]));
    }
    assert!(bench.object("v1", "configmaps", "web").is_none(), "nothing was half done");
    let secrets = [("HELM_DRIVER", "secret")];
    run(&bench, &user, &["install", "web", "chart"], &secrets).succeeded();
    run(&bench, &user, &["upgrade", "web", "chart", "--set", "text=two"], &secrets).succeeded();
    run(&bench, &user, &["uninstall", "web"], &secrets).succeeded();
}

#[test]
fn who_may_not_install_our_kinds_is_told_who_can() {
    needs_real!("asks a server that knows who may do what");
    let Some(bench) = TestEnv::new("who_may_not_install_our_kinds") else { return };
    write_chart(&bench, "chart");
    let user = user(&bench, "releaser", &with_our_kinds(&bench));
    let told = run(&bench, &user, &["init"], &[]).failed();
    assert!(told.stderr.contains("HELM_DRIVER=secret"), "{}", told.stderr);
    // A server that does not know the kinds, while everything else is as it is.
    let proxy = Proxy::new(bench.cluster());
    proxy.rule(|seen| match seen.path.starts_with("/apis/helm.sh/") {
        true => Fate::Answer(404, "Content-Type: text/plain", "404 page not found\n".to_owned()),
        false => Fate::Pass,
    });
    let kubeconfig = proxy.kubeconfig().to_string_lossy().into_owned();
    let unknown = [("KUBECONFIG", kubeconfig.as_str())];
    names_the_ways_out(run(&bench, &user, &["install", "web", "chart"], &unknown));
    assert!(bench.object("v1", "configmaps", "web").is_none(), "nothing was half done");
    // Once an administrator has installed them, the same user needs nothing more.
    bench.run(Program::Pintle, &["init"]).succeeded();
    run(&bench, &user, &["install", "web", "chart"], &[]).succeeded();
    run(&bench, &user, &["upgrade", "web", "chart", "--set", "text=two"], &[]).succeeded();
    run(&bench, &user, &["rollback", "web", "1"], &[]).succeeded();
    run(&bench, &user, &["uninstall", "web"], &[]).succeeded();
}

//! Two controllers, of which one leads: the other continues what the first leaves unfinished, and a leader that was
//! suspended does not write any more.

use pintle_e2e::{Action, Program, Proxy, TestEnv};
use serde_json::json;

use super::{Controller, change, create, prepare, text, until, until_ready, versions};

fn candidate(env: &TestEnv, identity: &str, kubeconfig: Option<&Proxy>) -> Controller {
    let mut command = env.command(Program::Controller);
    let config = match kubeconfig {
        Some(proxy) => proxy.kubeconfig(),
        None => env.cluster().kubeconfig.clone(),
    };
    command.arg("--kubeconfig").arg(config);
    command.args(["--namespace", env.namespace(), "--lease-namespace", env.namespace()]);
    command.args(["--identity", identity, "--metrics-addr", "127.0.0.1:0", "--default-service-account="]);
    command.arg("--cache").arg(env.folder().join(identity));
    Controller::spawn(command)
}

fn leader(env: &TestEnv) -> String {
    let lease = env.object("coordination.k8s.io/v1", "leases", "pintle-controller").unwrap_or_default();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

fn until_leader(env: &TestEnv, identity: &str) {
    until(&format!("{identity} leads"), || leader(env).starts_with(identity));
}

/// A request that is deployed, an upgrade that its leader cannot get on with, and a second candidate.
fn upgrade_under_way(env: &TestEnv) -> (Controller, Proxy, Controller) {
    prepare(env);
    create(env, "web", json!({"values": {"text": "one"}}));
    let proxy = Proxy::new(env.cluster());
    let first = candidate(env, "first", Some(&proxy));
    until_leader(env, "first");
    until_ready(env, "web");
    let second = candidate(env, "second", None);
    // The new version is recorded as pending then, and its objects are not applied.
    let object = format!("/api/v1/namespaces/{}/configmaps/web", env.namespace());
    proxy.rule(move |request| {
        let is_apply = request.write > 0 && request.path.starts_with(&object);
        if is_apply { Action::HoldBefore } else { Action::Pass }
    });
    change(env, "web", json!({"spec": {"values": {"text": "two"}}}));
    proxy.held(|| false);
    assert_eq!(versions(env, "web").last().map(|last| last.1.as_str()), Some("pending-upgrade"));
    (first, proxy, second)
}

fn check_taken_over(env: &TestEnv) {
    until_leader(env, "second");
    until_ready(env, "web");
    assert_eq!(text(env, "web").as_deref(), Some("two"));
    let statuses: Vec<String> = versions(env, "web").into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, ["superseded", "failed", "deployed"], "interrupted once, and deployed once");
}

#[test]
fn the_next_leader_goes_on_with_an_upgrade_of_one_that_was_killed() {
    let Some(env) = TestEnv::new("the_next_leader_goes_on_with_an_upgrade") else { return };
    let (mut first, proxy, _second) = upgrade_under_way(&env);
    first.kill();
    proxy.cut();
    check_taken_over(&env);
}

#[test]
fn a_leader_that_was_away_finds_another_and_ends() {
    let Some(env) = TestEnv::new("a_leader_that_was_away_finds_another") else { return };
    let (mut first, proxy, _second) = upgrade_under_way(&env);
    first.signal("STOP");
    check_taken_over(&env);
    let before = env.object("v1", "configmaps", "web").expect("it is there");
    first.signal("CONT");
    proxy.release();
    first.until_ended();
    let statuses: Vec<String> = versions(&env, "web").into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, ["superseded", "failed", "deployed"]);
    let after = env.object("v1", "configmaps", "web").expect("it is there");
    assert_eq!(after["data"], before["data"]);
}

#[test]
fn a_leader_that_is_stopped_hands_over_at_once() {
    let Some(env) = TestEnv::new("a_leader_that_is_stopped_hands_over") else { return };
    prepare(&env);
    let mut first = candidate(&env, "first", None);
    until_leader(&env, "first");
    let _second = candidate(&env, "second", None);
    create(&env, "web", json!({"values": {"text": "one"}}));
    until_ready(&env, "web");
    first.signal("TERM");
    first.until_ended();
    assert!(!leader(&env).starts_with("first"), "the lease is given up, not left to expire");
    until_leader(&env, "second");
    change(&env, "web", json!({"spec": {"values": {"text": "two"}}}));
    until_ready(&env, "web");
    assert_eq!(text(&env, "web").as_deref(), Some("two"));
}

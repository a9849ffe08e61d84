//! A controller that is killed (-9) at any write of an install, upgrade, rollback or uninstall: the next one converges.

use pintle_e2e::{Action, Proxy, TestEnv, is_selected};
use serde_json::json;

use super::{
    Controller, change, condition, create, delete, is_ready, prepare, text, until, until_gone, until_ready,
    versions,
};

/// A reconciliation does not take that many writes.
const MOST_WRITES: usize = 80;

/// Runs a scenario once for each write at which the controller can be killed. `begin` makes the request `name` due while no
/// controller runs, `is_over` says whether a controller has come to the end, and `check` runs beside the next controller.
fn at_every_write(
    env: &TestEnv,
    begin: impl Fn(&str),
    is_over: impl Fn(&str) -> bool,
    check: impl Fn(&str, usize),
) {
    prepare(env);
    for write in 0..MOST_WRITES {
        if !is_selected(write) {
            continue;
        }
        let name = format!("r{write}");
        begin(&name);
        let proxy = Proxy::new(env.cluster());
        // Writes of the definitions, before any request is touched, are not counted.
        let mut count = 0;
        proxy.rule(move |request| {
            count += usize::from(request.write > 0 && !request.path.contains("customresourcedefinitions"));
            if request.write > 0 && count > write { Action::HoldBefore } else { Action::Pass }
        });
        let mut first = Controller::start(env, Some(&proxy), &[]);
        let was_held = proxy.held(|| is_over(&name)).is_some();
        first.kill();
        proxy.cut();
        let second = Controller::start(env, None, &[]);
        check(&name, write);
        drop(second);
        if !was_held {
            assert!(write > 3, "the controller was killed at some writes at least");
            return;
        }
        // Requests of earlier rounds are not to be reconciled in later ones.
        delete_quietly(env, &name);
    }
}

/// Deletes a request without its release.
fn delete_quietly(env: &TestEnv, name: &str) {
    if env.object("helm.sh/v3", "helmrequests", name).is_some() {
        change(env, name, json!({"metadata": {"finalizers": null}}));
        delete(env, name);
        until_gone(env, name);
    }
}

fn ready_now(env: &TestEnv, name: &str) -> bool {
    env.object("helm.sh/v3", "helmrequests", name).as_ref().is_some_and(is_ready)
}

/// Creates a request and lets a controller handle it.
fn deployed(env: &TestEnv, name: &str, spec: serde_json::Value) {
    create(env, name, spec);
    let _controller = Controller::start(env, None, &[]);
    until_ready(env, name);
}

fn deployed_versions(env: &TestEnv, name: &str) -> usize {
    versions(env, name).iter().filter(|(_, status)| status == "deployed").count()
}

#[test]
fn an_install_converges_wherever_the_controller_is_killed() {
    let Some(env) = TestEnv::new("an_install_converges_wherever_the_controller") else { return };
    at_every_write(
        &env,
        |name| create(&env, name, json!({"values": {"text": "one", "port": 80}})),
        |name| ready_now(&env, name),
        |name, write| {
            until_ready(&env, name);
            assert_eq!(text(&env, name).as_deref(), Some("one"), "killed at write {write}");
            let versions = versions(&env, name);
            assert_eq!(deployed_versions(&env, name), 1, "killed at write {write}: {versions:?}");
            assert!(versions.len() <= 2, "killed at write {write}: {versions:?}");
        },
    );
}

#[test]
fn an_upgrade_converges_wherever_the_controller_is_killed() {
    let Some(env) = TestEnv::new("an_upgrade_converges_wherever_the_controller") else { return };
    at_every_write(
        &env,
        |name| {
            deployed(&env, name, json!({"values": {"text": "one"}}));
            change(&env, name, json!({"spec": {"values": {"text": "two", "port": 80}}}));
        },
        |name| ready_now(&env, name),
        |name, write| {
            until_ready(&env, name);
            assert_eq!(text(&env, name).as_deref(), Some("two"), "killed at write {write}");
            let versions = versions(&env, name);
            assert_eq!(deployed_versions(&env, name), 1, "killed at write {write}: {versions:?}");
            assert!(versions.len() <= 3, "killed at write {write}: {versions:?}");
        },
    );
}

#[test]
fn a_rollback_converges_wherever_the_controller_is_killed() {
    let Some(env) = TestEnv::new("a_rollback_converges_wherever_the_controller") else { return };
    let is_stalled = |name: &str| {
        let request = env.object("helm.sh/v3", "helmrequests", name);
        request.is_some_and(|request| condition(&request, "Stalled", "status") == "True")
    };
    at_every_write(
        &env,
        |name| {
            deployed(&env, name, json!({"values": {"text": "good"}}));
            let upgrade = json!({
                "strategy": {"name": "RemediateOnFailure"},
                "remediation": {"retries": 0, "remediateLastFailure": true},
            });
            // No port has this number.
            let values = json!({"text": "bad", "port": 700_000});
            change(&env, name, json!({"spec": {"values": values, "upgrade": upgrade}}));
        },
        is_stalled,
        |name, write| {
            until(&format!("killed at write {write}: it stalls"), || is_stalled(name));
            until(&format!("killed at write {write}: it is rolled back"), || {
                text(&env, name).as_deref() == Some("good")
            });
            change(&env, name, json!({"spec": {"values": {"text": "better", "port": null}}}));
            until_ready(&env, name);
            assert_eq!(text(&env, name).as_deref(), Some("better"), "killed at write {write}");
            assert_eq!(deployed_versions(&env, name), 1, "killed at write {write}");
        },
    );
}

#[test]
fn an_uninstall_converges_wherever_the_controller_is_killed() {
    let Some(env) = TestEnv::new("an_uninstall_converges_wherever_the_controller") else { return };
    at_every_write(
        &env,
        |name| {
            deployed(&env, name, json!({"values": {"text": "one", "port": 80}}));
            delete(&env, name);
        },
        |name| env.object("helm.sh/v3", "helmrequests", name).is_none(),
        |name, write| {
            until_gone(&env, name);
            assert_eq!(text(&env, name), None, "killed at write {write}");
            until(&format!("killed at write {write}: no record is left"), || {
                versions(&env, name).is_empty() && env.object("helm.sh/v3", "releases", name).is_none()
            });
        },
    );
}

/// The status is written last. A request that is deleted before the next controller writes it has a release all the same.
#[test]
fn a_release_that_no_status_names_is_uninstalled_with_its_request() {
    let Some(env) = TestEnv::new("a_release_that_no_status_names") else { return };
    prepare(&env);
    create(&env, "web", json!({"values": {"text": "one"}}));
    let proxy = Proxy::new(env.cluster());
    proxy.rule(|request| {
        let is_status = request.write > 0 && request.path.contains("/helmrequests/web/status");
        if is_status { Action::HoldBefore } else { Action::Pass }
    });
    let mut first = Controller::start(&env, Some(&proxy), &[]);
    proxy.held(|| false);
    first.kill();
    proxy.cut();
    until("the release is installed", || text(&env, "web").is_some());
    delete(&env, "web");
    let _second = Controller::start(&env, None, &[]);
    until_gone(&env, "web");
    assert_eq!(text(&env, "web"), None);
}

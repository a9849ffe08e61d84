//! Fault injection: the server rejects, fails or loses requests. The output and the record must match what was done.

use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use pintle_e2e::{
    Action, CommandResult, Proxy, Store, TestEnv, TestRelease, is_selected, needs_real, write_chart,
};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(180);

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// `429 Too Many Requests`.
    Busy,
    /// `500 Internal Server Error`.
    Broken,
    /// `409 Conflict`.
    Conflict,
    /// The connection closes before the request is forwarded.
    Lost,
    /// The connection closes before the response.
    Unanswered,
}

const FAULTS: [Fault; 5] = [Fault::Busy, Fault::Broken, Fault::Conflict, Fault::Lost, Fault::Unanswered];

impl Fault {
    fn action(self) -> Action {
        match self {
            Fault::Busy => Action::status_error(429, "TooManyRequests", "Retry-After: 0"),
            Fault::Broken => Action::status_error(500, "InternalError", ""),
            Fault::Conflict => Action::status_error(409, "Conflict", ""),
            Fault::Lost => Action::Drop,
            Fault::Unanswered => Action::DropResponse,
        }
    }
}

/// Runs an installation through the proxy, which applies `action` to the request with this number.
fn install(subject: &TestRelease<'_>, proxy: &Proxy, number: usize, action: Action) -> CommandResult {
    proxy.rule(move |seen| if seen.request == number { action.clone() } else { Action::Pass });
    let mut command = subject.command(&["install", &subject.name, "chart"]);
    command.env("KUBECONFIG", proxy.kubeconfig());
    let output: Output = command.output().expect("the program can be run");
    proxy.cut();
    output.into()
}

/// Asserts that the exit code and the record match the cluster.
fn is_true(subject: &TestRelease<'_>, ran: &CommandResult, what: &str) {
    if ran.code == Some(0) {
        subject.assert_consistent();
        return;
    }
    let clear = ["made to fail by a test", "EOF", "connection", "cluster cannot be reached"];
    assert!(ran.code == Some(1) && clear.iter().any(|text| ran.stderr.contains(text)), "{what}: {ran:?}");
    match subject.status() {
        None => assert_eq!(subject.live(), [].into(), "{what}"),
        Some((status, _)) if status == "deployed" => subject.assert_consistent(),
        Some((status, _)) if status == "failed" => {}
        Some((status, _)) => {
            assert_eq!(status, "pending-install", "{what}");
            let printed = subject.run(&["unlock", &subject.name]).succeeded().stdout;
            assert!(printed.contains("(gone)"), "{what}: {printed}");
        }
    }
}

/// Injects every fault into every request of an installation; CI runs a shard.
#[allow(clippy::print_stdout, reason = "how far it came is shown when the test fails")]
fn fail_every_request(test: &str, store: Store) {
    let Some(env) = TestEnv::new(test) else { return };
    write_chart(&env);
    TestRelease::new(&env, Store::Native, "any").run(&["init"]).succeeded();
    let proxy = Proxy::new(env.cluster());
    let undisturbed = TestRelease::new(&env, store, "undisturbed");
    install(&undisturbed, &proxy, 0, Action::Pass).succeeded();
    let requests = proxy.seen().len();
    undisturbed.uninstall().succeeded();
    for request in 1..=requests {
        for (place, fault) in FAULTS.into_iter().enumerate() {
            if !is_selected(request * FAULTS.len() + place) {
                continue;
            }
            let subject = TestRelease::new(&env, store, &format!("r{request}-{place}"));
            let ran = install(&subject, &proxy, request, fault.action());
            let seen = proxy.seen().into_iter().nth(request - 1);
            let what = format!("{fault:?} at request {request} of {requests}: {seen:?}");
            println!("{what}: {:?}", ran.code);
            if fault == Fault::Busy {
                assert_eq!(ran.code, Some(0), "{what}: {}", ran.stderr);
            }
            is_true(&subject, &ran, &what);
            if ran.code != Some(0) {
                // A hook object that could not be deleted stays until the hook runs again.
                let is_delete = seen.is_some_and(|seen| seen.method == "DELETE");
                subject.upgrade(if is_delete { "one" } else { "two" }).succeeded();
                subject.assert_consistent();
            }
            if subject.status().is_some() {
                subject.uninstall().succeeded();
            }
        }
    }
    env.assert_empty();
}

#[test]
fn an_install_in_our_store_survives_whatever_the_server_does() {
    fail_every_request("whatever_the_server_does_native", Store::Native);
}

#[test]
fn an_install_in_secrets_survives_whatever_the_server_does() {
    fail_every_request("whatever_the_server_does_secrets", Store::Secrets);
}

#[test]
fn waiting_goes_on_when_watches_expire() {
    let Some(env) = TestEnv::new("waiting_goes_on_when_watches_expire") else { return };
    write_chart(&env);
    let proxy = Proxy::new(env.cluster());
    for (name, action) in [
        ("event", Action::expired_watch()),
        ("code", Action::status_error(410, "Expired", "")),
        ("lost", Action::Drop),
    ] {
        let subject = TestRelease::new(&env, Store::Secrets, name);
        let mut watches = 0;
        proxy.rule(move |seen| {
            watches += usize::from(seen.is_watch());
            if seen.is_watch() && watches <= 3 { action.clone() } else { Action::Pass }
        });
        let mut command = subject.command(&["install", name, "chart", "--wait", "--timeout", "10m"]);
        // One replica is desired and none runs, until the test scales to zero.
        command.args(["--set", "replicas=1"]).env("KUBECONFIG", proxy.kubeconfig());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("the program can be run");
        let limit = Instant::now() + LIMIT;
        while proxy.seen().iter().filter(|seen| seen.is_watch()).count() < 4 {
            assert!(Instant::now() < limit, "watches were not opened again: {:?}", proxy.seen());
            std::thread::sleep(Duration::from_millis(20));
        }
        let path = env.path("apps/v1", "deployments", &format!("{name}-web"));
        env.api().merge(&path, &json!({"spec": {"replicas": 0}}));
        let ran: CommandResult = child.wait_with_output().expect("a child ends").into();
        ran.succeeded();
        assert_eq!(subject.status().expect("there is a record").0, "deployed");
        subject.uninstall().succeeded();
    }
    env.assert_empty();
}

/// Denies ConfigMaps of the release `web` whose word begins with `bad`, by an admission policy.
fn forbid(env: &TestEnv) {
    let name = env.namespace();
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]);
    let expression = "!object.metadata.name.endsWith('-settings') || !has(object.data) || !('word' in object.data) || !object.data.word.startsWith('bad')";
    env.api().create(
        policies,
        &json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
                "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules},
                         "validations": [{"expression": expression, "message": "bad words are not welcome"}]}}),
    );
    env.api().create(
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        &json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
                "spec": {"policyName": name, "validationActions": ["Deny"],
                         "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}}}),
    );
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe-settings"}, "data": {"word": "bad"}});
    let path = format!("{}?dryRun=All", env.path("v1", "configmaps", ""));
    let limit = Instant::now() + LIMIT;
    while env.api().send("POST", &path, "application/json", &probe.to_string()).is_ok() {
        assert!(Instant::now() < limit, "the policy does not work");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn allow(env: &TestEnv) {
    for plural in ["validatingadmissionpolicybindings", "validatingadmissionpolicies"] {
        env.api().delete(&format!("/apis/admissionregistration.k8s.io/v1/{plural}/{}", env.namespace()));
    }
}

#[test]
fn a_refused_object_is_named_and_the_next_command_works() {
    needs_real!("makes an admission policy");
    let Some(env) = TestEnv::new("a_refused_object_is_named") else { return };
    write_chart(&env);
    forbid(&env);
    for (store, next) in [
        (Store::Native, "upgrade"),
        (Store::Secrets, "upgrade"),
        (Store::Secrets, "rollback"),
        (Store::Native, "uninstall"),
        (Store::Secrets, "uninstall"),
    ] {
        let subject = TestRelease::new(&env, store, &format!("{store:?}-{next}").to_lowercase());
        subject.upgrade("one").succeeded();
        let ran = subject.upgrade("bad").failed();
        let object = format!("{}-settings", subject.name);
        assert!(
            ran.stderr.contains(&object) && ran.stderr.contains("bad words are not welcome"),
            "{}",
            ran.stderr
        );
        let (status, description) = subject.status().expect("there is a record");
        assert_eq!(status, "failed");
        assert!(description.contains("bad words are not welcome"), "{description}");
        match next {
            "upgrade" => subject.upgrade("two").succeeded(),
            "rollback" => subject.rollback(1).succeeded(),
            _ => subject.uninstall().succeeded(),
        };
        if next != "uninstall" {
            subject.assert_consistent();
            subject.uninstall().succeeded();
        }
    }
    // A denied first installation leaves only what was applied before the denied object.
    let subject = TestRelease::new(&env, Store::Secrets, "first");
    subject.upgrade("bad").failed();
    assert_eq!(subject.status().expect("there is a record").0, "failed");
    subject.upgrade("good").succeeded();
    subject.assert_consistent();
    subject.uninstall().succeeded();
    allow(&env);
    env.assert_empty();
}

#[test]
fn a_quota_that_is_hit_halfway_is_told_and_the_next_command_works() {
    let Some(env) = TestEnv::new("a_quota_that_is_hit_halfway") else { return };
    write_chart(&env);
    TestRelease::new(&env, Store::Native, "any").run(&["init"]).succeeded();
    env.wait_for("v1", "configmaps", "kube-root-ca.crt", |map| map.is_some());
    for store in [Store::Native, Store::Secrets] {
        // One more than Kubernetes creates itself: enough for a hook, and for the first of two objects.
        let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "maps"},
                           "spec": {"hard": {"count/configmaps": "2"}}});
        env.api().create(&env.path("v1", "resourcequotas", ""), &quota);
        let counted = |quota: Option<&Value>| {
            quota.is_some_and(|quota| quota["status"]["used"]["count/configmaps"] == "1")
        };
        env.wait_for("v1", "resourcequotas", "maps", counted);
        let subject = TestRelease::new(&env, store, &format!("{store:?}").to_lowercase());
        let ran = subject.upgrade("one").failed();
        assert!(ran.stderr.contains("exceeded quota"), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("\"{}-", subject.name)), "{}", ran.stderr);
        assert_eq!(subject.status().expect("there is a record").0, "failed");
        env.api().delete(&env.path("v1", "resourcequotas", "maps"));
        subject.upgrade("two").succeeded();
        subject.assert_consistent();
        subject.uninstall().succeeded();
        env.assert_empty();
    }
}

#[test]
fn a_namespace_that_is_being_deleted_is_told() {
    let Some(env) = TestEnv::new("a_namespace_that_is_being_deleted") else { return };
    write_chart(&env);
    let space = format!("/api/v1/namespaces/{}", env.namespace());
    // A finalizer keeps the namespace in `Terminating` for the test.
    let anchor = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "anchor", "finalizers": ["pintle.dev/anchor"]}});
    env.api().create(&env.path("v1", "configmaps", ""), &anchor);
    env.api().delete(&space);
    let is_going = || {
        let conditions = env.api().read(&space).map(|space| space["status"]["conditions"].to_string());
        conditions.is_some_and(|conditions| conditions.contains("NamespaceFinalizersRemaining"))
    };
    let limit = Instant::now() + LIMIT;
    while !is_going() {
        assert!(Instant::now() < limit, "the namespace does not go");
        std::thread::sleep(Duration::from_millis(50));
    }
    for store in [Store::Native, Store::Secrets] {
        let subject = TestRelease::new(&env, store, "web");
        let ran = subject.run(&["install", "web", "chart"]).failed();
        assert!(ran.stderr.contains("because it is being terminated"), "{}", ran.stderr);
        assert_eq!(subject.status(), None);
    }
    let anchor = env.path("v1", "configmaps", "anchor");
    env.api().merge(&anchor, &json!({"metadata": {"finalizers": null}}));
    let limit = Instant::now() + LIMIT;
    while env.api().read(&space).is_some() {
        assert!(Instant::now() < limit, "the namespace does not go");
        std::thread::sleep(Duration::from_millis(50));
    }
    let subject = TestRelease::new(&env, Store::Native, "web");
    subject.run(&["install", "web", "chart", "--create-namespace"]).succeeded();
    subject.assert_consistent();
}

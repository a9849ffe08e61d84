//! `request`, on an embedded cluster that knows HelmRequests

use crate::support;

use insta::assert_snapshot;
use pintle::cluster::{PatchType, WriteParams, crds};
use pintle::embedded::{self, Embedded};
use pintle::objects::{Object, ObjectId};
use support::TestEnv;

const REQUEST: &str = "\
apiVersion: helm.sh/v3
kind: HelmRequest
metadata: {name: web, namespace: default}
spec: {chart: {url: 'oci://registry.example.com/web'}, approval: Manual}
";

const STATUS: &str = r#"{"status": {"planDigest": "abc", "planSummary": "install web to web-1.0.0", "conditions": [
    {"type": "Ready", "status": "False", "reason": "AwaitingApproval", "message": "it waits", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}"#;

/// A cluster in a file with one request, as the controller would have left it.
fn env() -> TestEnv {
    let env = TestEnv::new();
    let file = Some(env.path().join("box.db"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let api =
            Embedded { file, ..Embedded::default() }.open().await.expect("the cluster takes the fixtures");
        let cluster = embedded::cluster(&api, "default");
        crds::install_for_controller(&cluster).await.expect("the cluster takes the fixtures");
        for object in Object::read_manifest(REQUEST.as_bytes(), "").expect("the cluster takes the fixtures") {
            cluster
                .apply(&object, true, &WriteParams::default())
                .await
                .expect("the cluster takes the fixtures");
        }
        let id = ObjectId::new("helm.sh/v3", "HelmRequest", "default", "web");
        cluster
            .patch(&id, PatchType::Merge, STATUS, &WriteParams::status())
            .await
            .expect("the cluster takes the fixtures");
    });
    env
}

#[test]
fn requests_are_listed_suspended_resumed_reconciled_and_approved() {
    let env = env();
    let run = |line: &str| env.pintle(&format!("request {line} --cluster embedded:box.db"));
    let listed = run("list");
    assert!(listed.contains("default  \tweb \tFalse") && listed.contains("it waits"), "{listed}");
    assert!(run("suspend web").contains("request \"web\" suspended"));
    assert!(run("list -A").contains("Suspended"));
    assert!(run("resume web").contains("request \"web\" resumed"));
    assert!(run("list --all-namespaces").contains("False"));
    assert!(run("reconcile web --force --reset").contains("request \"web\" will be reconciled"));
    let shown = run("get web");
    for part in [
        "force-requested-at",
        "reset-requested-at",
        "reconcile-requested-at",
        "suspend: false",
        "approval: Manual",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(run("approve web").contains("approved: install web to web-1.0.0 (abc)"));
    assert!(run("get web").contains("helm.sh/approve: abc"));
}

#[test]
fn a_request_that_is_not_there_is_named() {
    let env = env();
    assert_snapshot!(env.pintle("request suspend db --cluster embedded:box.db"), @"
    exit 1
    --- stderr
    error: there is no HelmRequest `db` in namespace `default`

    hint: `request list --all-namespaces` lists all
    ");
}

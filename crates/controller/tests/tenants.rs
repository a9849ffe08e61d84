//! Two tenants: `default`, whose requests these are, and `victim`. Nothing is read for a request but with its rights.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use serde_json::json;

use crate::support::{Gate, TEMPLATE, TestCluster, WebServer, digest};

const PASSWORD: &str = "correct-horse";

/// A cluster with a request of the victim that is not ready, and a rule that forbids the accounts of `default` everything in other
/// namespaces.
async fn two_tenants(gate: &Gate, test: &TestCluster) {
    test.apply(&format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: victim}}\n---\napiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {{name: bank, namespace: victim}}\nspec:\n  chart: {{url: 'oci://registry.example.com/bank'}}\n  values: {{db: {{password: {PASSWORD}}}}}\n"
    ))
    .await;
    let id = pintle::objects::ObjectId::new("helm.sh/v3", "HelmRequest", "victim", "bank");
    let status = json!({"status": {"observedGeneration": 1, "conditions": [{
        "type": "Ready", "status": "False", "reason": "InstallFailed", "message": PASSWORD, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    let params =
        pintle::cluster::WriteParams { field_manager: "x", ..pintle::cluster::WriteParams::status() };
    let body = serde_json::to_vec(&status).unwrap();
    test.cluster.patch(&id, pintle::cluster::PatchType::Merge, body, &params).await.unwrap();
    gate.forbid(|user, _, path| {
        user.starts_with("system:serviceaccount:default:")
            && path.contains("/namespaces/")
            && !path.contains("/namespaces/default/")
    });
}

/// The condition of the request, which has no data of the victim in any field.
async fn outcome(
    test: &TestCluster,
    controller: &pintle_controller::Reconciler,
    spec: &str,
) -> (String, String) {
    test.request("web", spec).await;
    test.reconcile(controller, "web").await;
    let request = serde_json::to_string(&test.read("web").await.unwrap().status).unwrap();
    assert!(!request.contains(PASSWORD), "{spec}: {request}");
    let (_, reason, message) = test.ready("web").await;
    (reason, message)
}

const READS_THE_PASSWORD: &str =
    "dependsOn: [{name: bank, namespace: victim, readyExpr: '{\"a\": true}[dep.spec.values.db.password]'}]";

#[tokio::test]
async fn requests_of_others_are_read_with_the_rights_of_the_request() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    two_tenants(&gate, &test).await;
    for spec in [
        READS_THE_PASSWORD,
        "dependsOn: [{name: bank, namespace: victim}]",
        "dependsOn: [{apiVersion: helm.sh/v3, kind: HelmRequest, name: bank, namespace: victim}]",
        "dependsOn: [{name: none, namespace: victim}]",
    ] {
        let (reason, message) = outcome(&test, &controller, spec).await;
        assert_eq!(reason, "DependencyNotReady", "{spec}");
        assert!(message.contains("system:serviceaccount:default:default"), "{spec}: {message}");
        assert!(message.contains("is forbidden"), "{spec}: {message}");
    }
    let of_victim = |line: &&String| line.contains("/namespaces/victim/");
    let requests = gate.requests();
    assert!(requests.iter().filter(of_victim).count() > 0);
    for line in requests.iter().filter(of_victim) {
        assert!(line.ends_with(" system:serviceaccount:default:default"), "{line}");
    }
}

#[tokio::test]
async fn a_message_has_no_data_even_of_what_may_be_read() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    two_tenants(&gate, &test).await;
    gate.forbid(|_, _, _| false);
    for (spec, reason) in [
        (READS_THE_PASSWORD, "DependencyNotReady"),
        (
            "dependsOn: [{name: bank, namespace: victim, readyExpr: 'int(dep.spec.values.db.password) == 1'}]",
            "InvalidSpec",
        ),
        (
            "dependsOn: [{name: bank, namespace: victim, readyExpr: 'dep.spec.values.db.password'}]",
            "InvalidSpec",
        ),
        // The reason why it is not ready is the victim's affair.
        (
            "dependsOn: [{name: bank, namespace: victim, readyExpr: 'dep.spec.values == {}'}]",
            "DependencyNotReady",
        ),
    ] {
        assert_eq!(outcome(&test, &controller, spec).await.0, reason, "{spec}");
    }
}

/// Its requests may be read, so that a cycle is found, but why one of them is not ready is not copied.
#[tokio::test]
async fn the_message_of_a_request_stays_in_its_namespace() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    two_tenants(&gate, &test).await;
    gate.forbid(|_, _, _| false);
    let bank = "dependsOn: [{name: bank, namespace: victim}]";
    let (_, message) = outcome(&test, &controller, bank).await;
    assert_eq!(message, "dependency HelmRequest victim/bank is not ready: see its condition Ready");
    let back = json!({"spec": {"dependsOn": [{"name": "web", "namespace": "default"}]}});
    let id = pintle::objects::ObjectId::new("helm.sh/v3", "HelmRequest", "victim", "bank");
    let params = pintle::cluster::WriteParams { field_manager: "x", ..Default::default() };
    let body = serde_json::to_vec(&back).unwrap();
    test.cluster.patch(&id, pintle::cluster::PatchType::Merge, body, &params).await.unwrap();
    let (reason, message) = outcome(&test, &controller, bank).await;
    assert_eq!(reason, "DependencyCycle");
    assert_eq!(message, "these requests wait for each other: default/web → victim/bank → default/web");
    let object = "{apiVersion: apps/v1, kind: Deployment, name: db, namespace: victim}";
    test.apply(&format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: db, namespace: victim}}\nspec:\n  selector: {{matchLabels: {{app: a}}}}\n  template:\n    metadata: {{labels: {{app: a}}, annotations: {{pintle.dev/simulate-ready: never}}}}\n    spec: {{containers: [{{name: a, image: {PASSWORD}}}]}}\n"
    ))
    .await;
    let (_, message) = outcome(&test, &controller, &format!("dependsOn: [{object}]")).await;
    assert_eq!(message, "dependency Deployment victim/db is not ready: see its status");
}

/// The caches of charts and values are shared by all tenants. Whoever knows a digest has not read the content.
#[tokio::test]
async fn what_was_fetched_for_one_is_not_given_to_another_who_knows_its_digest() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let (private, public) = (WebServer::start().await, WebServer::start().await);
    let archive = test.archive("1.0.0", &[("templates/all.yaml", TEMPLATE)]);
    let index = |digest: &str| {
        let digest = digest.trim_start_matches("sha256:");
        format!(
            "apiVersion: v1\nentries:\n  web:\n  - {{apiVersion: v2, name: web, version: 1.0.0, digest: {digest}, urls: [web.tgz]}}\n"
        )
    };
    private.put("/index.yaml", "application/yaml", index(&digest(&archive)));
    private.put("/web.tgz", "application/gzip", archive.clone());
    private.require("Basic ");
    public.put("/index.yaml", "application/yaml", index(&digest(&archive)));
    test.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: default}\nstringData: {username: u, password: p}\n").await;
    let repository =
        |server: &WebServer, more: &str| format!("{{repository: '{}', name: web{more}}}", server.url());
    test.request_for("owner", &repository(&private, ", credentials: {name: login}"), "").await;
    test.until_ready(&controller, "owner").await;
    test.request_for("thief", &repository(&public, ""), "").await;
    test.reconcile(&controller, "thief").await;
    assert_eq!(test.ready("thief").await.1, "ChartFailed");
    assert_eq!(public.requests("/web.tgz"), 1, "it is not in the cache of those without the login");

    let page = "the page of an internal service";
    public.put("/page", "text/plain", page);
    test.request_for("prober", &format!("{{url: '{}/page'}}", public.url()), "").await;
    test.reconcile(&controller, "prober").await;
    let (_, reason, message) = test.ready("prober").await;
    assert_eq!(reason, "ChartFailed");
    let found = digest(page.as_bytes());
    assert!(!message.contains(found.trim_start_matches("sha256:")), "{message}");
    assert!(!message.contains(&*test.cache().to_string_lossy()), "{message}");

    public.put("/secret-path/values.yaml", "application/yaml", "text: private\n");
    let values = |path: &str| {
        let digest = digest(b"text: private\n");
        format!("valuesFrom: [{{kind: URL, url: '{}{path}', digest: '{digest}'}}]", public.url())
    };
    test.request("reader", &values("/secret-path/values.yaml")).await;
    test.until_ready(&controller, "reader").await;
    test.request("guesser", &values("/nothing")).await;
    test.reconcile(&controller, "guesser").await;
    assert_eq!(test.ready("guesser").await.1, "ValuesFailed");
}

#[tokio::test]
async fn a_schema_does_not_tell_which_files_the_controller_has() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let mut messages = Vec::new();
    for file in [concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "/no/such/file.json"] {
        let schema = format!("{{\"$ref\": \"file://{file}\"}}");
        test.chart("1.0.0", &[("templates/all.yaml", TEMPLATE), ("values.schema.json", &schema)]).await;
        test.request("web", "values: {text: one}").await;
        test.reconcile(&controller, "web").await;
        let (_, reason, message) = test.ready("web").await;
        assert_eq!(reason, "InstallFailed", "{message}");
        assert!(message.contains(file), "{message}");
        messages.push(message.replace(file, "FILE"));
    }
    assert_eq!(messages[0], messages[1], "the error does not depend on whether the file exists");
}

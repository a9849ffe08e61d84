//! Deliberate differences from a real cluster. COMPATIBILITY.md lists each with its test.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::support;

use http::Method;
use pintle_embedded::Api;
use support::{ask, cluster, get, text};

const CORE: &str = "/api/v1/namespaces/default";

/// Creates a pod and returns its phase.
async fn phase(api: &Api, name: &str, spec: &str) -> String {
    let pod = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: a, image: b}}], {spec}}}}}"
    );
    ask(api, Method::POST, &format!("{CORE}/pods"), &pod).await;
    text(&get(api, &format!("{CORE}/pods/{name}")).await, "status.phase")
}

#[tokio::test]
async fn quotas_with_scopes_are_not_enforced() {
    let api = cluster().await;
    let quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: 0}, scopes: [NotTerminating]}}";
    ask(&api, Method::POST, &format!("{CORE}/resourcequotas"), quota).await;
    assert_eq!(phase(&api, "web", "restartPolicy: Always").await, "Running");
}

#[tokio::test]
async fn only_the_node_selector_is_evaluated_for_scheduling() {
    let api = cluster().await;
    let affinity = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
                    [{matchExpressions: [{key: disk, operator: In, values: [fast]}]}]}}}";
    assert_eq!(phase(&api, "near", affinity).await, "Running");
    assert_eq!(phase(&api, "chosen", "nodeSelector: {disk: fast}").await, "Pending");
}

#[tokio::test]
async fn a_secret_that_an_account_of_the_namespace_may_create_is_assumed_to_exist() {
    let api = cluster().await;
    let volume = "volumes: [{name: s, secret: {secretName: made-by-nobody}}]";
    assert_eq!(phase(&api, "early", volume).await, "Pending");
    let rules = "rules: [{apiGroups: [''], resources: [secrets], verbs: [create]}]";
    let role = format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: maker}}, {rules}}}"
    );
    ask(&api, Method::POST, "/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await;
    let binding = |namespace: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {{name: {namespace}}}, \
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maker}}, \
             subjects: [{{kind: ServiceAccount, name: operator, namespace: {namespace}}}]}}"
        )
    };
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    ask(&api, Method::POST, bindings, &binding("elsewhere")).await;
    assert_eq!(phase(&api, "foreign", volume).await, "Pending");
    ask(&api, Method::POST, bindings, &binding("default")).await;
    assert_eq!(phase(&api, "late", volume).await, "Running");
}

#[tokio::test]
async fn a_job_without_labels_gets_no_controller_uid_label() {
    let api = cluster().await;
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: one}, spec: {template: {metadata: {labels: {a: b}}, \
               spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}";
    let made = ask(&api, Method::POST, "/apis/batch/v1/namespaces/default/jobs", job).await;
    let labels = made.get("metadata").and_then(|metadata| metadata.get("labels"));
    assert!(
        labels.is_none_or(|labels| labels.get("batch.kubernetes.io/controller-uid").is_none()),
        "{labels:?}"
    );
    let template = made.get("spec").and_then(|spec| spec.get("template")?.get("metadata")?.get("labels"));
    assert!(template.is_some_and(|labels| labels.get("batch.kubernetes.io/controller-uid").is_some()));
}

#[tokio::test]
async fn cel_rules_are_kept_and_not_evaluated() {
    let api = cluster().await;
    let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.x.io}, \
               spec: {group: x.io, scope: Namespaced, names: {plural: things, kind: Thing}, versions: [{name: v1, \
               served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: \
               {a: {type: integer, x-kubernetes-validations: [{rule: self > 5}]}}}}}]}}";
    let made = ask(&api, Method::POST, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
    let rules = "spec.versions.0.schema.openAPIV3Schema.properties.a.x-kubernetes-validations.0.rule";
    assert_eq!(text(&made, rules), "self > 5");
    let thing = "{apiVersion: x.io/v1, kind: Thing, metadata: {name: small}, a: 1}";
    let thing = ask(&api, Method::POST, "/apis/x.io/v1/namespaces/default/things", thing).await;
    assert_eq!(text(&thing, "metadata.name"), "small");
}

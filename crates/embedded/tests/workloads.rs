//! The workload controllers, the scheduler and the simulated kubelet.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::support;

use std::sync::Arc;

use http::Method;
use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::store::{HistoryWindow, Store};
use pintle_embedded::{Api, Options, SystemClock};
use pintle_tree::Node;
use support::{ask, cluster, cluster_over, get, items, raw, text};

const APPS: &str = "/apis/apps/v1/namespaces/default";
const CORE: &str = "/api/v1/namespaces/default";
const BATCH: &str = "/apis/batch/v1/namespaces/default";

fn condition(object: &Node, kind: &str) -> String {
    let all = object.get("status").and_then(|it| it.get("conditions")).and_then(Node::as_list);
    let found = all.unwrap_or_default().iter().find(|it| text(it, "type") == kind);
    found.map(|it| format!("{} {}", text(it, "status"), text(it, "reason"))).unwrap_or_default()
}

fn deployment(annotations: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 3\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}, annotations: {{{annotations}}}}}\n    spec: {{containers: [{{name: a, image: nginx{more}}}]}}\n"
    )
}

#[tokio::test]
async fn a_deployment_creates_ready_pods_and_deletes_them_with_itself() {
    let api = cluster().await;
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &deployment("", "")).await;
    let web = get(&api, &format!("{APPS}/deployments/web")).await;
    assert_eq!(text(&web, "status.availableReplicas"), "3");
    assert_eq!(text(&web, "status.observedGeneration"), text(&web, "metadata.generation"));
    assert_eq!(condition(&web, "Progressing"), "True NewReplicaSetAvailable");
    let pods = items(&get(&api, &format!("{CORE}/pods")).await);
    assert_eq!(pods.len(), 3);
    assert!(
        pods.iter().all(|pod| condition(pod, "Ready") == "True " && text(pod, "status.phase") == "Running")
    );
    let events = items(&get(&api, &format!("{CORE}/events")).await);
    for reason in ["ScalingReplicaSet", "SuccessfulCreate", "Scheduled", "Pulled", "Created", "Started"] {
        assert!(events.iter().any(|event| text(event, "reason") == reason), "{reason}");
    }
    ask(&api, Method::DELETE, &format!("{APPS}/deployments/web"), "").await;
    assert!(items(&get(&api, &format!("{CORE}/pods")).await).is_empty());
    assert!(items(&get(&api, &format!("{APPS}/replicasets")).await).is_empty());
}

#[tokio::test]
async fn a_pod_with_other_labels_leaves_its_service_and_its_replica_set() {
    let api = cluster().await;
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &deployment("", "")).await;
    let service = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {app: web}, ports: [{port: 80}]}}";
    ask(&api, Method::POST, &format!("{CORE}/services"), service).await;
    let addresses = async || {
        let endpoints = get(&api, &format!("{CORE}/endpoints/s")).await;
        let subsets = endpoints.get("subsets").and_then(Node::as_list).unwrap_or_default().to_vec();
        let lists = subsets.iter().filter_map(|subset| subset.get("addresses")?.as_list());
        lists.map(<[Node]>::len).sum::<usize>()
    };
    assert_eq!(addresses().await, 3);
    let name = text(&items(&get(&api, &format!("{CORE}/pods")).await)[0], "metadata.name");
    let patch = r#"{"metadata":{"labels":{"app":"other"},"ownerReferences":null}}"#;
    ask(&api, Method::PATCH, &format!("{CORE}/pods/{name}"), patch).await;
    // The ReplicaSet has replaced it, and only its pods are selected.
    assert_eq!(items(&get(&api, &format!("{CORE}/pods")).await).len(), 4);
    assert_eq!(addresses().await, 3);
    let endpoints = raw(&api, Method::GET, &format!("{CORE}/endpoints/s"), "").await;
    assert!(!format!("{endpoints:?}").contains(&name), "{endpoints:?}");
}

#[tokio::test]
async fn an_eviction_as_a_dry_run_evicts_nothing() {
    let api = cluster().await;
    let pod =
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: nginx}]}}";
    ask(&api, Method::POST, &format!("{CORE}/pods"), pod).await;
    let eviction = |more: &str| {
        format!("{{apiVersion: policy/v1, kind: Eviction, metadata: {{name: p, namespace: default}}{more}}}")
    };
    let trial = eviction(", deleteOptions: {dryRun: [All]}");
    ask(&api, Method::POST, &format!("{CORE}/pods/p/eviction"), &trial).await;
    assert_eq!(text(&get(&api, &format!("{CORE}/pods/p")).await, "metadata.deletionTimestamp"), "");
    ask(&api, Method::POST, &format!("{CORE}/pods/p/eviction"), &eviction("")).await;
    assert!(items(&get(&api, &format!("{CORE}/pods")).await).is_empty());
}

#[tokio::test]
async fn pods_rejected_by_a_quota_are_retried_with_backoff() {
    let api = cluster().await;
    let quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: 1}}}";
    ask(&api, Method::POST, &format!("{CORE}/resourcequotas"), quota).await;
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &deployment("", "")).await;
    let web = get(&api, &format!("{APPS}/deployments/web")).await;
    assert_eq!(condition(&web, "ReplicaFailure"), "True FailedCreate");
    let quota = get(&api, &format!("{CORE}/resourcequotas/none")).await;
    assert_eq!(text(&quota, "status.used.pods"), "1");
    let events = items(&get(&api, &format!("{CORE}/events")).await);
    let refused: Vec<&Node> = events.iter().filter(|event| text(event, "reason") == "FailedCreate").collect();
    let why = "exceeded quota: none, requested: pods=1, used: pods=1, limited: pods=1";
    assert!(refused.iter().all(|event| text(event, "message").contains(why)), "{refused:?}");
    assert!((1..5).contains(&refused.len()), "{}", refused.len());
    // A change of the quota is reconciled at once, without waiting for the backoff.
    ask(&api, Method::DELETE, &format!("{CORE}/resourcequotas/none"), "").await;
    ask(&api, Method::PATCH, &format!("{APPS}/deployments/web"), r#"{"spec":{"replicas":2}}"#).await;
    let web = get(&api, &format!("{APPS}/deployments/web")).await;
    assert_eq!(text(&web, "status.availableReplicas"), "2");
}

#[tokio::test]
async fn a_rolling_update_moves_between_replica_sets_and_back() {
    let api = cluster().await;
    let path = format!("{APPS}/deployments/web");
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &deployment("", "")).await;
    let image = |image: &str| {
        format!(r#"{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"a","image":"{image}"}}]}}}}}}}}"#)
    };
    for (tag, revision, sets) in [("nginx:2", "2", 2), ("nginx:3", "3", 3)] {
        ask(&api, Method::PATCH, &path, &image(tag)).await;
        let web = get(&api, &path).await;
        assert_eq!(text(&web, "status.updatedReplicas"), "3");
        assert_eq!(text(&web, "status.replicas"), "3");
        let annotations = web.get("metadata").unwrap().get("annotations").unwrap();
        let found = annotations.get("deployment.kubernetes.io/revision").unwrap();
        assert_eq!(found.as_str(), Some(revision));
        assert_eq!(items(&get(&api, &format!("{APPS}/replicasets")).await).len(), sets);
    }
    ask(&api, Method::PATCH, &path, &image("nginx:2")).await;
    assert_eq!(
        items(&get(&api, &format!("{APPS}/replicasets")).await).len(),
        3,
        "an old set is taken up again"
    );
    let pods = items(&get(&api, &format!("{CORE}/pods")).await);
    assert!(pods.len() == 3 && pods.iter().all(|pod| text(pod, "spec.containers.0.image") == "nginx:2"));
}

#[tokio::test]
async fn a_pod_waits_for_referenced_objects() {
    let api = cluster().await;
    let wanting = deployment("", ", envFrom: [{secretRef: {name: keys}}]");
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &wanting).await;
    let web = get(&api, &format!("{APPS}/deployments/web")).await;
    assert_eq!(condition(&web, "Progressing"), "False ProgressDeadlineExceeded");
    let pods = items(&get(&api, &format!("{CORE}/pods")).await);
    let waiting = text(&pods[0], "status.containerStatuses.0.state.waiting.message");
    assert_eq!(waiting, "secret \"keys\" not found");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\n";
    ask(&api, Method::POST, &format!("{CORE}/secrets"), secret).await;
    let web = get(&api, &format!("{APPS}/deployments/web")).await;
    assert_eq!(condition(&web, "Progressing"), "True NewReplicaSetAvailable");
}

#[tokio::test]
async fn a_deployment_that_never_becomes_ready_exceeds_its_deadline() {
    let api = cluster().await;
    let never = deployment("pintle.dev/simulate-ready: never", "");
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &never).await;
    let web = get(&api, &format!("{APPS}/deployments/web")).await;
    assert_eq!(condition(&web, "Progressing"), "False ProgressDeadlineExceeded");
    assert_eq!(condition(&web, "Available"), "False MinimumReplicasUnavailable");
}

#[tokio::test]
async fn invalid_simulation_annotations_are_reported_as_events() {
    let api = cluster().await;
    let wrong = deployment("pintle.dev/simulate-redy: never, pintle.dev/simulate-duration: 1s", "");
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &wrong).await;
    let warnings = items(&get(&api, &format!("{CORE}/events?fieldSelector=type=Warning")).await);
    assert_eq!(warnings.len(), 3, "one for each pod: {warnings:#?}");
    let message = "Annotation pintle.dev/simulate-redy: \"never\" is ignored: there is no such annotation";
    assert_eq!(text(&warnings[0], "message"), message);
    let web = get(&api, &format!("{APPS}/deployments/web")).await;
    assert_eq!(condition(&web, "Available"), "True MinimumReplicasAvailable");
}

fn job(annotations: &str, limit: u32, policy: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: work}}\nspec:\n  backoffLimit: {limit}\n  template:\n    metadata: {{annotations: {{{annotations}}}}}\n    spec: {{restartPolicy: {policy}, containers: [{{name: a, image: busybox}}]}}\n"
    )
}

#[tokio::test]
async fn a_job_retries_until_it_succeeds_or_exceeds_its_backoff_limit() {
    let twice = "pintle.dev/simulate-failures: '2', pintle.dev/simulate-log: \"one\\ntwo\\nthree\", pintle.dev/simulate-duration: 30s";
    for (limit, policy, end) in
        [(3, "Never", "Complete"), (1, "Never", "Failed"), (3, "OnFailure", "Complete")]
    {
        let api = cluster().await;
        ask(&api, Method::POST, &format!("{BATCH}/jobs"), &job(twice, limit, policy)).await;
        let work = get(&api, &format!("{BATCH}/jobs/work")).await;
        assert!(condition(&work, end).starts_with("True"), "{limit} {policy} {work:?}");
        if (limit, policy) == (3, "Never") {
            assert_eq!(
                (text(&work, "status.failed"), text(&work, "status.succeeded")),
                ("2".into(), "1".into())
            );
            let pods = items(&get(&api, &format!("{CORE}/pods")).await);
            let log = format!("{CORE}/pods/{}/log", text(&pods[0], "metadata.name"));
            assert_eq!(raw(&api, Method::GET, &log, "").await, (200, "one\ntwo\nthree\n".into()));
            assert_eq!(
                raw(&api, Method::GET, &format!("{log}?tailLines=1&follow=true"), "").await.1,
                "three\n"
            );
            assert_eq!(raw(&api, Method::GET, &format!("{log}?container=b"), "").await.0, 400);
        }
    }
}

#[tokio::test]
async fn a_job_with_a_ttl_of_zero_is_seen_to_finish() {
    let api = cluster().await;
    let at_once =
        job("", 0, "Never").replace("spec:\n  backoff", "spec:\n  ttlSecondsAfterFinished: 0\n  backoff");
    ask(&api, Method::POST, &format!("{BATCH}/jobs"), &at_once).await;
    let work = get(&api, &format!("{BATCH}/jobs/work")).await;
    assert!(condition(&work, "Complete").starts_with("True"), "{work:?}");
    assert_eq!(text(&work, "spec.ttlSecondsAfterFinished"), "0");
}

#[tokio::test]
async fn a_stateful_set_has_ordinals_and_claims_that_outlive_it() {
    let api = cluster().await;
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: 2\n  serviceName: db\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec: {containers: [{name: a, image: pg, volumeMounts: [{name: data, mountPath: /d}]}]}\n  volumeClaimTemplates:\n  - metadata: {name: data}\n    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n";
    ask(&api, Method::POST, &format!("{APPS}/statefulsets"), set).await;
    let db = get(&api, &format!("{APPS}/statefulsets/db")).await;
    assert_eq!(
        (text(&db, "status.readyReplicas"), text(&db, "status.currentReplicas")),
        ("2".into(), "2".into())
    );
    let pods = items(&get(&api, &format!("{CORE}/pods")).await);
    assert_eq!(pods.iter().map(|pod| text(pod, "metadata.name")).collect::<Vec<_>>(), ["db-0", "db-1"]);
    let claims = items(&get(&api, &format!("{CORE}/persistentvolumeclaims")).await);
    assert!(claims.len() == 2 && claims.iter().all(|claim| text(claim, "status.phase") == "Bound"));
    ask(&api, Method::DELETE, &format!("{APPS}/statefulsets/db"), "").await;
    assert!(items(&get(&api, &format!("{CORE}/pods")).await).is_empty());
    for claim in ["data-db-0", "data-db-1"] {
        ask(&api, Method::DELETE, &format!("{CORE}/persistentvolumeclaims/{claim}"), "").await;
    }
    assert!(items(&get(&api, &format!("{CORE}/persistentvolumeclaims")).await).is_empty());
    assert!(items(&get(&api, "/api/v1/persistentvolumes").await).is_empty());
}

#[tokio::test]
async fn a_parallel_stateful_set_is_updated_one_pod_at_a_time_and_follows_its_first_ordinal() {
    let api = cluster().await;
    let set = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 3, podManagementPolicy: \
               Parallel, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: \
               [{name: a, image: one}]}}}}";
    ask(&api, Method::POST, &format!("{APPS}/statefulsets"), set).await;
    let change = async |patch: &str| {
        ask(&api, Method::PATCH, &format!("{APPS}/statefulsets/db"), patch).await;
        let pods = items(&get(&api, &format!("{CORE}/pods")).await);
        let image = |pod| format!("{} {}", text(pod, "metadata.name"), text(pod, "spec.containers.0.image"));
        pods.iter().map(image).collect::<Vec<_>>()
    };
    let broken = r#"{"spec":{"template":{"metadata":{"annotations":{"pintle.dev/simulate-ready":"never"}},"spec":{"containers":[{"name":"a","image":"two"}]}}}}"#;
    assert_eq!(change(broken).await, ["db-0 one", "db-1 one", "db-2 two"]);
    let fixed = r#"{"spec":{"template":{"metadata":{"annotations":null},"spec":{"containers":[{"name":"a","image":"three"}]}}}}"#;
    assert_eq!(change(fixed).await, ["db-0 three", "db-1 three", "db-2 three"]);
    let moved = r#"{"spec":{"replicas":2,"ordinals":{"start":2}}}"#;
    assert_eq!(change(moved).await, ["db-2 three", "db-3 three"]);
}

/// What `kubectl rollout status` waits for: without a surge, nodes never have an old and a new pod.
#[tokio::test]
async fn a_daemon_set_replaces_its_pod_when_the_old_one_is_gone() {
    for (surge, pods_while_deleting) in [(0, 1), (1, 2)] {
        let api = cluster().await;
        let set = format!(
            "{{apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: agent}}, spec: {{selector: {{matchLabels: {{app: \
             agent}}}}, updateStrategy: {{rollingUpdate: {{maxSurge: {surge}, maxUnavailable: {}}}}}, template: {{metadata: \
             {{labels: {{app: agent}}, finalizers: [example.com/hold]}}, spec: {{containers: [{{name: a, image: one}}]}}}}}}}}",
            1 - surge
        );
        ask(&api, Method::POST, &format!("{APPS}/daemonsets"), &set).await;
        let patch = r#"{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"two"}]}}}}"#;
        ask(&api, Method::PATCH, &format!("{APPS}/daemonsets/agent"), patch).await;
        let pods = items(&get(&api, &format!("{CORE}/pods")).await);
        assert_eq!(pods.len(), pods_while_deleting, "maxSurge: {surge}");
        let is_old = |pod: &&Node| !text(pod, "metadata.deletionTimestamp").is_empty();
        let old = pods.iter().find(is_old).expect("the old pod is being deleted");
        let old = format!("{CORE}/pods/{}", text(old, "metadata.name"));
        ask(&api, Method::PATCH, &old, r#"{"metadata":{"finalizers":null}}"#).await;
        let pods = items(&get(&api, &format!("{CORE}/pods")).await);
        assert_eq!(pods.len(), 1, "maxSurge: {surge}");
        assert_eq!(text(&pods[0], "spec.containers.0.image"), "two", "maxSurge: {surge}");
    }
}

#[tokio::test]
async fn a_service_has_endpoints_and_an_address() {
    let api = cluster().await;
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}\n";
    ask(&api, Method::POST, &format!("{CORE}/services"), service).await;
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &deployment("", "")).await;
    let endpoints = get(&api, &format!("{CORE}/endpoints/web")).await;
    let addresses = endpoints.get("subsets").unwrap().as_list().unwrap()[0].get("addresses").unwrap().clone();
    assert_eq!(addresses.as_list().unwrap().len(), 3);
    assert_eq!(text(&endpoints, "subsets.0.ports.0.port"), "8080");
    let web = get(&api, &format!("{CORE}/services/web")).await;
    assert!(!text(&web, "status.loadBalancer.ingress.0.ip").is_empty());
    ask(&api, Method::DELETE, &format!("{CORE}/services/web"), "").await;
    let slices = get(&api, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices").await;
    assert!(items(&slices).is_empty());
}

#[tokio::test]
async fn a_crash_loop_does_not_block_the_controllers() {
    let api = cluster().await;
    let crashing = deployment("pintle.dev/simulate-failures: always", "");
    ask(&api, Method::POST, &format!("{APPS}/deployments"), &crashing).await;
    let pods = items(&get(&api, &format!("{CORE}/pods")).await);
    assert_eq!(text(&pods[0], "status.containerStatuses.0.state.waiting.reason"), "CrashLoopBackOff");
    let restarts: i64 = text(&pods[0], "status.containerStatuses.0.restartCount").parse().unwrap();
    assert!((3..20).contains(&restarts), "{restarts}");
}

#[tokio::test]
async fn a_cluster_in_a_file_continues_where_it_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.db");
    let still = {
        let store = Store::in_file(&path, HistoryWindow::default()).unwrap();
        let options = Options { catalog: ApiCatalog::newest(), store, clock: Arc::new(SystemClock), seed: 7 };
        Api::start(options).await.unwrap()
    };
    ask(&still, Method::POST, &format!("{APPS}/deployments"), &deployment("", "")).await;
    assert!(items(&get(&still, &format!("{CORE}/pods")).await).is_empty(), "nobody moves them");
    drop(still);
    let api = cluster_over(Store::in_file(&path, HistoryWindow::default()).unwrap()).await;
    let web = get(&api, &format!("{APPS}/deployments/web")).await;
    assert_eq!(text(&web, "status.readyReplicas"), "3");
}

//! Waiting against a scripted server.

use std::time::Duration;

use pintle_objects::ObjectId;

use super::mock_server::{Reply, cluster, events, list, one, refuse};
use super::*;

const READY: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n","uid":"u","resourceVersion":"9"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},"template":{"spec":{}}},"status":{"replicas":1,"updatedReplicas":1,"availableReplicas":1,"readyReplicas":1,"conditions":[{"type":"Available","status":"True"}]}}"#;
const STARTING: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n","uid":"u","resourceVersion":"6"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},"template":{"spec":{}}},"status":{"replicas":1}}"#;
const PAUSED: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n"},"spec":{"paused":true}}"#;
const FAILED_JOB: &str = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"n","uid":"ju"},"spec":{"selector":{"matchLabels":{"uid":"ju"}}},"status":{"failed":1,"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}]}}"#;

fn deployment() -> ObjectId {
    ObjectId::new("apps/v1", "Deployment", "n", "web")
}

fn job() -> ObjectId {
    ObjectId::new("batch/v1", "Job", "n", "j")
}

/// A timeout in milliseconds that is not reached even on a slow machine.
const LONG: u64 = 600_000;

fn waiting(wait_for: WaitFor, milliseconds: u64) -> WaitOptions {
    WaitOptions {
        wait_for,
        strategy: Strategy::Watcher,
        timeout: Duration::from_millis(milliseconds),
        fail_fast: None,
        readiness_annotations: false,
    }
}

/// Waits, and returns the error message and everything that was reported.
async fn outcome(
    cluster: &crate::Cluster,
    waiting: WaitOptions,
    ids: &[ObjectId],
) -> (Result<(), String>, Vec<String>) {
    let mut reported = Vec::new();
    let mut observer = |progress: &Progress<'_>| {
        let Progress { id, readiness, done, total, .. } = progress;
        reported.push(format!("{} {} {done}/{total} {}", id.name, readiness.status, readiness.detail));
    };
    let result = Waiter::new(cluster, waiting).wait(ids, &mut observer).await;
    (result.map_err(|error| error.to_string()), reported)
}

#[tokio::test]
async fn changes_are_reported_until_all_objects_are_ready() {
    let (cluster, requests) = cluster(|request, times| match (request, times) {
        ("list deployments", _) => list(&[STARTING]),
        ("watch deployments", 1) => events(&[("BOOKMARK", r#"{"metadata":{"resourceVersion":"8"}}"#)]),
        ("watch deployments", 2) => events(&[("MODIFIED", READY)]),
        _ => Reply::Hang,
    });
    let (result, reported) = outcome(&cluster, waiting(WaitFor::Ready, LONG), &[deployment()]).await;
    assert_eq!(result, Ok(()));
    assert_eq!(
        reported,
        [
            "web InProgress 0/1 Waiting for rollout: 0 of 1 replicas updated",
            "web Current 1/1 Deployment is available. Replicas: 1"
        ]
    );
    let requests = requests.lock().unwrap().clone();
    assert_eq!(
        requests,
        ["list deployments", "watch deployments", "watch deployments"],
        "a closed watch goes on"
    );
}

/// A watch would need a connection of its own.
#[tokio::test]
async fn a_workload_without_pods_is_read_until_its_controller_has_seen_it() {
    let idle = |version: &str, status: &str| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"n","generation":2,"resourceVersion":"{version}"}},"spec":{{"replicas":0}},"status":{status}}}"#
        )
    };
    let seen = r#"{"observedGeneration":2,"conditions":[{"type":"Available","status":"True"}]}"#;
    let (before, after) = (idle("6", r#"{"observedGeneration":1}"#), idle("7", seen));
    let written = pintle_objects::Object::read_json(before.as_bytes()).expect("an object");
    let (cluster, asked) = cluster(move |request, times| match (request, times) {
        ("get deployments/web", 1) => one(&before),
        ("get deployments/web", _) => one(&after),
        _ => Reply::Hang,
    });
    let waiter = Waiter::new(&cluster, waiting(WaitFor::Ready, LONG));
    let waited = waiter.wait_from(&[deployment()], vec![written], &mut |_| {}).await;
    assert!(waited.is_ok(), "{waited:?}");
    assert_eq!(*asked.lock().unwrap(), ["get deployments/web", "get deployments/web"]);
}

#[tokio::test]
async fn when_time_runs_out_the_error_names_what_is_missing() {
    let (cluster, _) = cluster(|request, _| match request {
        "list deployments" => list(&[STARTING]),
        "list jobs" => list(&[]),
        _ => Reply::Hang,
    });
    let (result, _) = outcome(&cluster, waiting(WaitFor::Ready, 3_000), &[deployment(), job()]).await;
    assert_eq!(
        result.expect_err("late"),
        "resource Deployment/n/web not ready. status: InProgress, message: Updated: 0/1\nresource Job/n/j not ready. status: Unknown, message: \ncontext deadline exceeded"
    );
}

#[tokio::test]
async fn a_failed_object_ends_the_wait_once_the_others_are_ready() {
    let (cluster, _) = cluster(|request, times| match (request, times) {
        ("list jobs", _) => list(&[FAILED_JOB]),
        ("list deployments", _) => list(&[STARTING]),
        ("watch deployments", 1) => events(&[("MODIFIED", READY)]),
        _ => Reply::Hang,
    });
    let (result, reported) =
        outcome(&cluster, waiting(WaitFor::ReadyWithJobs, LONG), &[job(), deployment()]).await;
    assert_eq!(
        result.expect_err("failed"),
        "resource Job/n/j not ready. status: Failed, message: Job Failed. failed: 1/1"
    );
    assert_eq!(
        reported.last().map(String::as_str),
        Some("web Current 1/2 Deployment is available. Replicas: 1")
    );
}

#[tokio::test]
async fn an_expired_watch_lists_again() {
    let (cluster, requests) = cluster(|request, times| match (request, times) {
        ("list deployments", 1) => list(&[STARTING]),
        ("list deployments", _) => list(&[READY]),
        ("watch deployments", 1) => {
            events(&[("ERROR", r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old"}"#)])
        }
        _ => Reply::Hang,
    });
    let (result, _) = outcome(&cluster, waiting(WaitFor::Ready, LONG), &[deployment()]).await;
    assert_eq!(result, Ok(()));
    assert_eq!(requests.lock().unwrap()[..3], ["list deployments", "watch deployments", "list deployments"]);
}

#[tokio::test]
async fn without_watch_lists_are_polled_and_without_list_objects_are_read() {
    let (without_watch, requests) = cluster(|request, times| match (request, times) {
        ("list deployments", 1) => list(&[STARTING]),
        ("list deployments", _) => list(&[READY]),
        _ => refuse(403, "Forbidden", "no watching"),
    });
    let (result, _) = outcome(&without_watch, waiting(WaitFor::Ready, LONG), &[deployment()]).await;
    assert_eq!(result, Ok(()));
    assert_eq!(requests.lock().unwrap()[..], ["list deployments", "watch deployments", "list deployments"]);

    let (without_list, _) = cluster(|request, _| match request {
        "get deployments/web" => one(READY),
        _ => refuse(403, "Forbidden", "no listing"),
    });
    let (result, _) = outcome(&without_list, waiting(WaitFor::Ready, LONG), &[deployment()]).await;
    assert_eq!(result, Ok(()));

    let (blind, _) = cluster(|_, _| refuse(403, "Forbidden", "deployments.apps is forbidden"));
    let (result, _) = outcome(&blind, waiting(WaitFor::Ready, LONG), &[deployment()]).await;
    assert_eq!(result.expect_err("blind"), "deployments.apps is forbidden");
}

#[tokio::test]
async fn objects_are_deleted_when_they_go_or_were_never_there() {
    let (cluster, _) = cluster(|request, _| match request {
        "list deployments" => list(&[STARTING]),
        "list jobs" => list(&[]),
        "watch deployments" => events(&[("DELETED", STARTING)]),
        _ => Reply::Hang,
    });
    let (result, reported) = outcome(&cluster, waiting(WaitFor::Deleted, LONG), &[deployment(), job()]).await;
    assert_eq!(result, Ok(()));
    assert!(reported.contains(&"web NotFound 2/2 Resource not found".to_owned()), "{reported:?}");
}

#[tokio::test]
async fn an_object_that_stays_is_named_when_deletion_takes_too_long() {
    let leaving = r#"{"apiVersion":"v1","kind":"PartialObjectMetadata","metadata":{"name":"s","namespace":"n","deletionTimestamp":"2026-01-01T00:00:00Z"}}"#;
    let (cluster, requests) = cluster(move |_, _| list(&[leaving]));
    let secret = ObjectId::new("v1", "Secret", "n", "s");
    let (result, _) = outcome(&cluster, waiting(WaitFor::Deleted, 3_000), &[secret]).await;
    assert_eq!(
        result.expect_err("still there"),
        "resource Secret/n/s still exists. status: Terminating, message: Resource scheduled for deletion\ncontext deadline exceeded"
    );
    assert!(
        requests.lock().unwrap().iter().all(|request| request == "list secrets"),
        "secrets are not watched"
    );
}

#[tokio::test]
async fn paused_deployments_and_strategies_that_do_not_wait_are_no_reason_to_wait() {
    let (paused, _) = cluster(|request, _| match request {
        "list deployments" => list(&[PAUSED]),
        _ => Reply::Hang,
    });
    assert_eq!(outcome(&paused, waiting(WaitFor::Ready, LONG), &[deployment()]).await.0, Ok(()));

    let (silent, requests) = cluster(|_, _| Reply::Hang);
    let hook_only = WaitOptions { strategy: Strategy::HookOnly, ..waiting(WaitFor::Ready, LONG) };
    assert_eq!(outcome(&silent, hook_only, &[deployment()]).await.0, Ok(()));
    let hooks = waiting(WaitFor::HookCompleted, LONG);
    assert_eq!(outcome(&silent, hooks, &[deployment()]).await.0, Ok(()), "only jobs and pods run to an end");
    assert!(requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn crashing_pods_fail_a_stateful_set() {
    let set = r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"n","uid":"u"},"spec":{"selector":{"matchLabels":{"app":"db"}}},"status":{"replicas":1}}"#;
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db-0","namespace":"n"},"status":{"phase":"Running","containerStatuses":[{"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}"#;
    let (cluster, _) = cluster(move |request, _| match request {
        "list statefulsets" => list(&[set]),
        "list pods" => list(&[pod]),
        _ => Reply::Hang,
    });
    let id = ObjectId::new("apps/v1", "StatefulSet", "n", "db");
    let (result, _) = outcome(&cluster, waiting(WaitFor::Ready, LONG), &[id]).await;
    assert_eq!(
        result.expect_err("failed"),
        "resource StatefulSet/n/db not ready. status: Failed, message: 1 pods have failed"
    );
}

/// A deployment whose new pod has a bad image and whose old pod crashes.
fn broken_rollout(request: &str) -> Reply {
    let set = |name: &str, template: &str| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"{name}","uid":"{name}","ownerReferences":[{{"uid":"u","controller":true}}]}},"spec":{{"template":{template}}}}}"#
        )
    };
    let pod = |name: &str, owner: &str, reason: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"n","uid":"{name}","ownerReferences":[{{"uid":"{owner}","controller":true}}]}},"status":{{"phase":"Pending","containerStatuses":[{{"name":"c","image":"Bad","restartCount":9,"state":{{"waiting":{{"reason":"{reason}"}}}}}}]}}}}"#
        )
    };
    match request {
        "list deployments" => list(&[STARTING]),
        "list replicasets" => list(&[&set("old", r#"{"spec":{"a":1}}"#), &set("new", r#"{"spec":{}}"#)]),
        "list pods" => {
            list(&[&pod("p-old", "old", "CrashLoopBackOff"), &pod("p-new", "new", "InvalidImageName")])
        }
        "list events" => list(&[
            r#"{"apiVersion":"v1","kind":"Event","type":"Warning","reason":"InspectFailed","message":"bad name"}"#,
        ]),
        _ => Reply::Hang,
    }
}

#[tokio::test]
async fn waiting_ends_early_when_the_new_pods_cannot_come_up() {
    let (cluster, _) = cluster(|request, _| broken_rollout(request));
    let early = WaitOptions { fail_fast: Some(FailFastLimits::default()), ..waiting(WaitFor::Ready, LONG) };
    let (result, _) = outcome(&cluster, early, &[deployment()]).await;
    let text = result.expect_err("hopeless");
    let expected = "Deployment/n/web: container c of pod p-new has an invalid image name: \"Bad\"\n  events of Pod/p-new:\n    ";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("Warning InspectFailed: bad name"), "{text}");
}

#[tokio::test]
async fn diagnoses_are_reported_even_if_the_timeout_interrupts_a_check() {
    // The first check of the pods, three seconds in, gets no response before the timeout.
    let (cluster, _) = cluster(|request, times| match (request, times) {
        ("list pods", 1) => Reply::Hang,
        (request, _) => broken_rollout(request),
    });
    let early = WaitOptions { fail_fast: Some(FailFastLimits::default()), ..waiting(WaitFor::Ready, 6_000) };
    let text = outcome(&cluster, early, &[deployment()]).await.0.expect_err("time runs out");
    assert!(text.contains("context deadline exceeded\nDeployment/n/web: container c of pod p-new"), "{text}");
}

#[tokio::test]
async fn a_failed_hook_comes_with_the_last_log_lines_of_its_pod_when_failing_fast() {
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"j-1","namespace":"n","uid":"p","ownerReferences":[{"uid":"ju","controller":true}]},"status":{"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":3,"reason":"Error"}}}]}}"#;
    let answer = move |request: &str, _| match request {
        "list jobs" => list(&[FAILED_JOB]),
        "list pods" => list(&[pod]),
        "list events" => list(&[]),
        "log j-1/main" => Reply::Body(200, "one\n\u{1b}[31mtwo\n".into()),
        _ => Reply::Hang,
    };
    let helms = "resource Job/n/j not ready. status: Failed, message: Job Failed. failed: 1/1";
    let (cluster, _) = cluster(answer);
    let plain = waiting(WaitFor::HookCompleted, LONG);
    assert_eq!(outcome(&cluster, plain, &[job()]).await.0.expect_err("failed"), helms);

    let early = WaitOptions { fail_fast: Some(FailFastLimits::default()), ..plain };
    assert_eq!(
        outcome(&cluster, early, &[job()]).await.0.expect_err("failed"),
        format!(
            "{helms}\nJob/n/j: container main of pod j-1 terminated with exit code 3\n  last lines of container main:\n    one\n    [31mtwo"
        )
    );
}

#[tokio::test]
async fn legacy_waiting_has_its_own_errors() {
    let legacy = |wait_for, time| WaitOptions { strategy: Strategy::Legacy, ..waiting(wait_for, time) };
    let (cluster, _) = cluster(|request, _| match request {
        "list jobs" => list(&[FAILED_JOB]),
        "get deployments/web" => one(STARTING),
        "get deployments/gone" => refuse(404, "NotFound", "whatever"),
        "list replicasets" => list(&[]),
        _ => Reply::Hang,
    });
    let text = async |wait_for, time, id: ObjectId| {
        outcome(&cluster, legacy(wait_for, time), &[id]).await.0.expect_err("fails")
    };
    assert_eq!(text(WaitFor::HookCompleted, LONG, job()).await, "job j failed: BackoffLimitExceeded");
    assert_eq!(text(WaitFor::Ready, 700, deployment()).await, "context deadline exceeded");
    assert_eq!(text(WaitFor::Deleted, 700, deployment()).await, "context deadline exceeded");
    let gone = ObjectId::new("apps/v1", "Deployment", "n", "gone");
    assert_eq!(text(WaitFor::Ready, LONG, gone.clone()).await, "deployments.apps \"gone\" not found");
    assert_eq!(outcome(&cluster, legacy(WaitFor::Deleted, LONG), &[gone]).await.0, Ok(()));
    let pod = ObjectId::new("v1", "Pod", "n", "p");
    assert_eq!(text(WaitFor::HookCompleted, 700, pod).await, "timed out waiting for the condition");
}

#[test]
fn waiting_can_be_moved_to_another_thread() {
    fn is_send<T: Send>(_: T) {}
    fn check(cluster: &crate::Cluster, mut observer: fn(&Progress<'_>)) {
        let waiter = Waiter::new(cluster, waiting(WaitFor::Ready, 1));
        is_send(waiter.wait(&[], &mut observer));
        let logs = crate::logs::HookLogs::new(cluster, &job());
        is_send(logs.during(std::future::ready(()), &mut |_, _| {}));
    }
    let _ = check;
}

#[tokio::test]
async fn a_failed_job_ends_legacy_waiting_at_once_when_failing_fast() {
    let failed = FAILED_JOB.replace("\"spec\":{", "\"spec\":{\"backoffLimit\":0,");
    let (cluster, _) = cluster(move |request, _| match request {
        "get jobs/j" => one(&failed),
        "list pods" | "list events" => list(&[]),
        _ => Reply::Hang,
    });
    let legacy = WaitOptions { strategy: Strategy::Legacy, ..waiting(WaitFor::ReadyWithJobs, 700) };
    let (result, _) = outcome(&cluster, legacy, &[job()]).await;
    assert_eq!(result, Err("context deadline exceeded".to_owned()));
    let timeout = Duration::from_millis(LONG);
    let eager = WaitOptions { fail_fast: Some(FailFastLimits::default()), timeout, ..legacy };
    let (result, reported) = outcome(&cluster, eager, &[job()]).await;
    assert_eq!(result, Err("job is failed: n/j".to_owned()));
    assert!(reported.len() == 1 && reported[0].starts_with("j Failed 0/1 "), "{reported:?}");
}

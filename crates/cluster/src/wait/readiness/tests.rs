//! Every branch of every rule, with kstatus' messages and our details.

use super::*;

/// The time of the tests.
const NOW: i64 = 1_000_000;

fn object(text: &str) -> Object {
    // Not validated, because live objects are not either: some cases are malformed.
    match pintle_yaml::read_exact(text.as_bytes()).expect("good YAML") {
        pintle_tree::Node::Map(body) => Object::new(body),
        other => panic!("{other:?} is no object"),
    }
}

/// Checks `(object, status, message of kstatus, detail)` for objects with a common beginning.
fn check(head: &str, cases: &[(&str, Status, &str, &str)]) {
    for (rest, state, message, detail) in cases {
        let found = ready_at(&object(&format!("{head}\n{rest}\n")), NOW);
        assert_eq!(found, Readiness::new(*state, *message, *detail), "{rest}");
    }
}

use Status::{Current, Failed, InProgress, Terminating, Unknown};

#[test]
fn deletion_generations_and_agreed_conditions_count_for_every_kind() {
    check(
        "apiVersion: x.io/v1\nkind: Thing",
        &[
            (
                "metadata: {deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2}",
                Terminating,
                "Resource scheduled for deletion",
                "Resource scheduled for deletion",
            ),
            (
                "metadata: {generation: 2}\nstatus: {observedGeneration: 1}",
                InProgress,
                "Thing generation is 2, but latest observed generation is 1",
                "Waiting for the spec update to be observed",
            ),
            (
                "status: {conditions: [{type: Reconciling, status: 'True', reason: R, message: pulling}]}",
                InProgress,
                "pulling",
                "Reconciling: pulling",
            ),
            (
                "status: {conditions: [{type: Stalled, status: 'True', reason: BadSpec}]}",
                Failed,
                "",
                "Stalled: BadSpec",
            ),
            (
                "status: {conditions: [{type: Stalled, status: 'False'}, {type: Ready, status: 'True'}]}",
                Current,
                "Resource is Ready",
                "Resource is Ready",
            ),
            (
                "status: {conditions: [{type: Ready, status: 'False', reason: R, message: no peer}]}",
                InProgress,
                "no peer",
                "Resource is not Ready: no peer",
            ),
            (
                "status: {conditions: [{type: Ready, status: Unknown}]}",
                InProgress,
                "",
                "Resource is not Ready",
            ),
            (
                "status: {conditions: [{type: Ready, status: Odd}]}",
                Current,
                "Resource is current",
                "Resource is current",
            ),
            ("spec: {}", Current, "Resource is current", "Resource is current"),
        ],
    );
}

#[test]
fn what_has_no_known_form_is_unknown() {
    check(
        "apiVersion: x.io/v1\nkind: Thing",
        &[
            ("status: {conditions: yes please}", Unknown, "", "Resource has a malformed list of conditions"),
            ("status: {conditions: [1]}", Unknown, "", "Resource has a malformed list of conditions"),
            ("status: {conditions: [{type: 1}]}", Unknown, "", "Resource has a malformed list of conditions"),
            ("status: fine", Unknown, "", "Resource has a malformed status"),
            ("metadata: {deletionTimestamp: 1}", Unknown, "", "Resource has a malformed deletion timestamp"),
            ("metadata: {generation: '1'}", Unknown, "", "Resource has a malformed generation"),
            (
                "metadata: {generation: 1}\nstatus: {observedGeneration: x}",
                Unknown,
                "",
                "Resource has a malformed observed generation",
            ),
        ],
    );
}

#[test]
fn some_kinds_are_always_ready() {
    for head in [
        "apiVersion: v1\nkind: Secret",
        "apiVersion: v1\nkind: ConfigMap",
        "apiVersion: batch/v1\nkind: CronJob",
    ] {
        check(head, &[("metadata: {}", Current, "Resource is always ready", "Resource is always ready")]);
    }
    check(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget",
        &[
            (
                "metadata: {}",
                Current,
                "AllowedDisruptions has been computed.",
                "AllowedDisruptions has been computed.",
            ),
            (
                "metadata: {generation: 3}\nstatus: {observedGeneration: 2}",
                InProgress,
                "PodDisruptionBudget generation is 3, but latest observed generation is 2",
                "Waiting for the spec update to be observed",
            ),
        ],
    );
}

#[test]
fn a_deployment_is_ready_when_its_numbers_and_its_conditions_are() {
    let done = "replicas: 3, updatedReplicas: 3, availableReplicas: 3, readyReplicas: 3";
    let available = "{type: Available, status: 'True'}";
    let progressing = "{type: Progressing, status: 'True', reason: NewReplicaSetAvailable}";
    check(
        "apiVersion: apps/v1\nkind: Deployment",
        &[
            (
                "spec: {progressDeadlineSeconds: 600}\nstatus: {conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: too slow}]}",
                Failed,
                "Progress deadline exceeded",
                "Progress deadline of 600s exceeded: too slow",
            ),
            ("spec: {}", InProgress, "Replicas: 0/1", "Waiting for rollout: 0 of 1 replicas created"),
            (
                "spec: {replicas: 3}\nstatus: {replicas: 1, conditions: [{type: ReplicaFailure, status: 'True', message: exceeded quota}]}",
                InProgress,
                "Replicas: 1/3",
                "Waiting for rollout: 1 of 3 replicas created: exceeded quota",
            ),
            (
                "spec: {replicas: 3}\nstatus: {replicas: 3, updatedReplicas: 2}",
                InProgress,
                "Updated: 2/3",
                "Waiting for rollout: 2 of 3 replicas updated",
            ),
            (
                "spec: {replicas: 3}\nstatus: {replicas: 5, updatedReplicas: 3}",
                InProgress,
                "Pending termination: 2",
                "Waiting for rollout: 2 old replicas pending termination",
            ),
            (
                "spec: {replicas: 3}\nstatus: {replicas: 3, updatedReplicas: 3, availableReplicas: 1}",
                InProgress,
                "Available: 1/3",
                "Waiting for rollout: 1 of 3 updated replicas available",
            ),
            (
                "spec: {replicas: 3}\nstatus: {replicas: 3, updatedReplicas: 3, availableReplicas: 3, readyReplicas: 2}",
                InProgress,
                "Ready: 2/3",
                "Waiting for rollout: 2 of 3 replicas ready",
            ),
            (
                &format!(
                    "spec: {{replicas: 3, progressDeadlineSeconds: 600}}\nstatus: {{{done}, conditions: [{available}]}}"
                ),
                InProgress,
                "ReplicaSet not Available",
                "Waiting for rollout: new ReplicaSet is not available",
            ),
            (
                &format!(
                    "spec: {{replicas: 3, progressDeadlineSeconds: 600}}\nstatus: {{{done}, conditions: [{progressing}]}}"
                ),
                InProgress,
                "Deployment not Available",
                "Deployment is not available",
            ),
            (
                &format!("spec: {{replicas: 3}}\nstatus: {{{done}, conditions: [{available}]}}"),
                Current,
                "Deployment is available. Replicas: 3",
                "Deployment is available. Replicas: 3",
            ),
            (
                &format!(
                    "spec: {{replicas: 0, progressDeadlineSeconds: 9}}\nstatus: {{conditions: [{available}, {progressing}]}}"
                ),
                Current,
                "Deployment is available. Replicas: 0",
                "Deployment is available. Replicas: 0",
            ),
        ],
    );
}

#[test]
fn a_stateful_set_is_ready_by_replicas_partition_and_revision() {
    let done = "replicas: 2, readyReplicas: 2";
    check(
        "apiVersion: apps/v1\nkind: StatefulSet",
        &[
            (
                "spec: {updateStrategy: {type: OnDelete}}",
                Current,
                "StatefulSet is using the ondelete update strategy",
                "StatefulSet is using the ondelete update strategy",
            ),
            (
                "spec: {replicas: 2}",
                InProgress,
                "Replicas: 0/2",
                "Waiting for rollout: 0 of 2 replicas created",
            ),
            (
                "spec: {replicas: 2}\nstatus: {replicas: 2, readyReplicas: 1}",
                InProgress,
                "Ready: 1/2",
                "Waiting for rollout: 1 of 2 replicas ready",
            ),
            (
                "spec: {replicas: 1}\nstatus: {replicas: 2, readyReplicas: 2}",
                InProgress,
                "Pending termination: 1",
                "Waiting for rollout: 1 old replicas pending termination",
            ),
            (
                &format!(
                    "spec: {{replicas: 2, updateStrategy: {{rollingUpdate: {{partition: 1}}}}}}\nstatus: {{{done}}}"
                ),
                InProgress,
                "updated: 0/1",
                "Waiting for rollout: 0 of 1 replicas above the partition updated",
            ),
            (
                &format!(
                    "spec: {{replicas: 2, updateStrategy: {{rollingUpdate: {{partition: 1}}}}}}\nstatus: {{{done}, updatedReplicas: 1}}"
                ),
                Current,
                "Partition rollout complete. updated: 1",
                "Partition rollout complete. updated: 1",
            ),
            (
                &format!("spec: {{replicas: 2}}\nstatus: {{{done}, currentReplicas: 1}}"),
                InProgress,
                "current: 1/2",
                "Waiting for rollout: 1 of 2 replicas at the current revision",
            ),
            (
                &format!(
                    "spec: {{replicas: 2}}\nstatus: {{{done}, currentReplicas: 2, currentRevision: a, updateRevision: b}}"
                ),
                InProgress,
                "Waiting for updated revision to match current",
                "Waiting for updated revision to match current",
            ),
            (
                &format!(
                    "spec: {{replicas: 2}}\nstatus: {{{done}, currentReplicas: 2, currentRevision: b, updateRevision: b}}"
                ),
                Current,
                "All replicas scheduled as expected. Replicas: 2",
                "All replicas scheduled as expected. Replicas: 2",
            ),
        ],
    );
}

#[test]
fn a_daemon_set_needs_its_controller_and_all_its_pods() {
    let seen = "metadata: {generation: 1}\nstatus: {observedGeneration: 1";
    check(
        "apiVersion: apps/v1\nkind: DaemonSet",
        &[
            (
                "spec: {}",
                InProgress,
                "DaemonSet metadata.generation not found",
                "Waiting for the DaemonSet controller",
            ),
            (
                "metadata: {generation: 1}",
                InProgress,
                "DaemonSet status.observedGeneration not found",
                "Waiting for the DaemonSet controller",
            ),
            (
                &format!("{seen}}}"),
                InProgress,
                "Missing .status.desiredNumberScheduled",
                "Waiting for the DaemonSet controller",
            ),
            (
                &format!("{seen}, desiredNumberScheduled: 2, currentNumberScheduled: 1}}"),
                InProgress,
                "Current: 1/2",
                "Waiting for rollout: 1 of 2 pods scheduled",
            ),
            (
                &format!(
                    "{seen}, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 1}}"
                ),
                InProgress,
                "Updated: 1/2",
                "Waiting for rollout: 1 of 2 pods updated",
            ),
            (
                &format!(
                    "{seen}, desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 1}}"
                ),
                InProgress,
                "Available: 0/1",
                "Waiting for rollout: 0 of 1 pods available",
            ),
            (
                &format!(
                    "{seen}, desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 1, numberAvailable: 1}}"
                ),
                InProgress,
                "Ready: 0/1",
                "Waiting for rollout: 0 of 1 pods ready",
            ),
            (
                &format!(
                    "{seen}, desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 1, numberAvailable: 1, numberReady: 1}}"
                ),
                Current,
                "All replicas scheduled as expected. Replicas: 1",
                "All replicas scheduled as expected. Replicas: 1",
            ),
        ],
    );
}

#[test]
fn a_replica_set_is_ready_when_its_replicas_are() {
    check(
        "apiVersion: apps/v1\nkind: ReplicaSet",
        &[
            (
                "status: {conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate}]}",
                InProgress,
                "Replica Failure condition. Check Pods",
                "Pods cannot be created: FailedCreate",
            ),
            ("spec: {}", InProgress, "Labelled: 0/1", "Waiting for rollout: 0 of 1 replicas fully labelled"),
            (
                "status: {fullyLabeledReplicas: 1}",
                InProgress,
                "Available: 0/1",
                "Waiting for rollout: 0 of 1 replicas available",
            ),
            (
                "status: {fullyLabeledReplicas: 1, availableReplicas: 1}",
                InProgress,
                "Ready: 0/1",
                "Waiting for rollout: 0 of 1 replicas ready",
            ),
            (
                "status: {fullyLabeledReplicas: 1, availableReplicas: 1, readyReplicas: 1, replicas: 3}",
                InProgress,
                "Pending termination: 2",
                "Waiting for rollout: 2 old replicas pending termination",
            ),
            (
                "status: {fullyLabeledReplicas: 1, availableReplicas: 1, readyReplicas: 1, replicas: 1}",
                Current,
                "ReplicaSet is available. Replicas: 1",
                "ReplicaSet is available. Replicas: 1",
            ),
        ],
    );
}

#[test]
fn a_pod_is_ready_completed_pending_or_crash_looping() {
    let unschedulable = "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/1 nodes}]}";
    check(
        "apiVersion: v1\nkind: Pod",
        &[
            (
                "status: {phase: Succeeded}",
                Current,
                "Pod has completed successfully",
                "Pod has completed successfully",
            ),
            (
                "status: {phase: Failed, message: evicted}",
                Current,
                "Pod has completed, but not successfully",
                "Pod has completed, but not successfully: evicted",
            ),
            (
                "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}",
                Current,
                "Pod is Ready",
                "Pod is Ready",
            ),
            (
                "status: {phase: Running}",
                InProgress,
                "Pod is running but is not Ready",
                "Pod is running but is not Ready",
            ),
            (
                "status: {phase: Running, containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}}, {name: b, state: {running: {}}}, {name: c, state: {waiting: {reason: CrashLoopBackOff}}}]}",
                Failed,
                "Containers in CrashLoop state: a,c",
                "Containers in CrashLoop state: a, c",
            ),
            ("status: {phase: Pending}", InProgress, "Pod is in the Pending phase", "Pod is pending"),
            (
                "status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ContainerCreating}}}]}",
                InProgress,
                "Pod is in the Pending phase",
                "Pod is pending: ContainerCreating",
            ),
            (
                &format!("metadata: {{creationTimestamp: '1970-01-12T13:46:26Z'}}\n{unschedulable}"),
                InProgress,
                "Pod has not been scheduled",
                "Pod is unschedulable: 0/1 nodes",
            ),
            (
                &format!("metadata: {{creationTimestamp: '1970-01-12T13:46:25Z'}}\n{unschedulable}"),
                Failed,
                "Pod could not be scheduled",
                "Pod is unschedulable: 0/1 nodes",
            ),
            ("spec: {}", InProgress, "Pod phase not available", "Pod phase not available"),
            ("status: {phase: Dreaming}", Unknown, "", "Resource has a malformed phase"),
        ],
    );
}

#[test]
fn a_job_is_ready_once_it_has_started_unless_it_failed() {
    check(
        "apiVersion: batch/v1\nkind: Job",
        &[
            ("spec: {}", InProgress, "Job not started", "Job not started"),
            (
                "spec: {parallelism: 2}\nstatus: {startTime: t, active: 2, failed: 1}",
                Current,
                "Job in progress. success:0, active: 2, failed: 1",
                "Job in progress. succeeded: 0/2, active: 2, failed: 1",
            ),
            (
                "spec: {completions: 3}\nstatus: {succeeded: 3, conditions: [{type: Complete, status: 'True'}]}",
                Current,
                "Job Completed. succeeded: 3/3",
                "Job Completed. succeeded: 3/3",
            ),
            (
                "status: {failed: 1, conditions: [{type: Complete, status: 'False'}, {type: Failed, status: 'True', reason: BackoffLimitExceeded}]}",
                Failed,
                "Job Failed. failed: 1/1",
                "Job Failed. failed: 1/1: BackoffLimitExceeded",
            ),
        ],
    );
}

#[test]
fn pvcs_services_and_crds_wait_for_what_they_lack() {
    check(
        "apiVersion: v1\nkind: PersistentVolumeClaim",
        &[
            ("spec: {}", InProgress, "PVC is not Bound. phase: unknown", "PVC is not Bound. phase: unknown"),
            (
                "status: {phase: Pending}",
                InProgress,
                "PVC is not Bound. phase: Pending",
                "PVC is not Bound. phase: Pending",
            ),
            ("status: {phase: Bound}", Current, "PVC is Bound", "PVC is Bound"),
        ],
    );
    check(
        "apiVersion: v1\nkind: Service",
        &[
            (
                "spec: {type: LoadBalancer}",
                InProgress,
                "ClusterIP not set. Service type: LoadBalancer",
                "Waiting for a cluster IP",
            ),
            (
                "spec: {type: LoadBalancer, clusterIP: 10.0.0.1}",
                Current,
                "Service is ready",
                "Service is ready",
            ),
            ("spec: {}", Current, "Service is ready", "Service is ready"),
        ],
    );
    check(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition",
        &[
            (
                "status: {conditions: [{type: NamesAccepted, status: 'False', reason: R, message: taken}]}",
                Failed,
                "taken",
                "CRD is not established: taken",
            ),
            (
                "status: {conditions: [{type: Established, status: 'False', reason: NotAccepted, message: refused}]}",
                Failed,
                "refused",
                "CRD is not established: refused",
            ),
            (
                "status: {conditions: [{type: Established, status: 'False', reason: Installing}]}",
                InProgress,
                "Install in progress",
                "Waiting for the CRD to be established",
            ),
            (
                "status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}",
                Current,
                "CRD is established",
                "CRD is established",
            ),
        ],
    );
}

#[test]
fn hooks_wait_for_the_end_of_jobs_and_pods() {
    let job = |rest: &str| job_completion(&object(&format!("apiVersion: batch/v1\nkind: Job\n{rest}")));
    assert_eq!(job("status: {startTime: t, active: 1}").message, "Job in progress");
    let failed =
        job("spec: {completions: 2}\nstatus: {failed: 1, conditions: [{type: Failed, status: 'True'}]}");
    assert_eq!((failed.status, failed.message.as_str()), (Failed, "Job Failed. failed: 1/2"));
    // A completed job counts, even while it is being deleted.
    let deleted = job(
        "metadata: {deletionTimestamp: t}\nstatus: {succeeded: 1, conditions: [{type: Complete, status: 'True'}]}",
    );
    assert_eq!((deleted.status, deleted.message.as_str()), (Current, "Job Completed. succeeded: 1/1"));

    let pod = |phase: &str| {
        let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nstatus: {{phase: {phase}}}");
        let found = pod_completion(&object(&text));
        (found.status, found.message)
    };
    assert_eq!(pod("Succeeded"), (Current, "pod p succeeded".into()));
    assert_eq!(pod("Failed"), (Failed, "pod p failed".into()));
    assert_eq!(pod("Running"), (InProgress, "Pod in progress".into()));
    assert_eq!(pod("''"), (InProgress, "Pod in progress".into()));
}

#[test]
fn extreme_numbers_do_not_overflow() {
    let extremes = [i64::MIN, -1, 0, i64::MAX];
    for kind in ["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"] {
        for (wanted, there) in extremes.iter().flat_map(|a| extremes.iter().map(move |b| (a, b))) {
            let object = object(&format!(
                "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{generation: 1}}\nspec: {{replicas: {wanted}, updateStrategy: {{type: RollingUpdate, rollingUpdate: {{partition: {there}, maxUnavailable: 100%}}}}, strategy: {{type: RollingUpdate, rollingUpdate: {{maxUnavailable: {there}}}}}}}\nstatus: {{observedGeneration: 1, replicas: {there}, updatedReplicas: {there}, availableReplicas: {there}, readyReplicas: {there}, fullyLabeledReplicas: {there}, desiredNumberScheduled: {there}}}"
            ));
            assert!(!ready_at(&object, i64::MIN).message.is_empty());
            let _ = (
                crate::wait::legacy::deployment_ready(&object, &object),
                crate::wait::legacy::daemon_set_ready(&object),
                crate::wait::legacy::stateful_set_ready(&object),
            );
        }
    }
}

//! Waiting and logs with running pods, real or simulated: `PINTLE_E2E_KUBECONFIG` names the configuration of a test
//! cluster whose context is `pintle-e2e…`, and `PINTLE_E2E_LEVEL` is `node` or `embedded`.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use pintle_cluster::logs::{self, HookLogs, LogSource};
use pintle_cluster::wait::{FailFastLimits, Progress, Strategy, WaitError, WaitFor, WaitOptions, Waiter};
use pintle_cluster::{Cluster, Preconditions, PropagationPolicy, Settings, WriteParams};
use pintle_objects::{Object, ObjectId};

const IMAGE: &str = "test.invalid/busybox:1";

struct TestEnv {
    cluster: Cluster,
    namespace: String,
}

impl TestEnv {
    /// Connects to the test cluster and creates a namespace; `None` when there is no cluster with a node of some
    /// kind.
    async fn new(test: &str) -> Option<TestEnv> {
        let level = std::env::var("PINTLE_E2E_LEVEL").unwrap_or_default();
        let has_node = ["node", "embedded"].contains(&level.as_str());
        let Some(path) = std::env::var_os("PINTLE_E2E_KUBECONFIG").filter(|_| has_node) else {
            pintle_testkit::skip(&format!("{test} needs PINTLE_E2E_KUBECONFIG and PINTLE_E2E_LEVEL=node"));
            return None;
        };
        let text = std::fs::read_to_string(&path).expect("a readable configuration");
        assert!(text.contains("current-context: pintle-e2e"), "only test clusters may be written to");
        let settings = Settings { kubeconfig: vec![path.into()], ..Settings::default() };
        let cluster = Cluster::connect(&settings).await.expect("a configuration");
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("node-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let object = Object::from_id(&ObjectId::new("v1", "Namespace", "", &namespace));
        cluster.create(&object, &WriteParams::default()).await.expect("a namespace");
        Some(TestEnv { cluster, namespace })
    }

    /// Creates the objects of a manifest and returns their ids.
    async fn make(&self, manifest: &str) -> Vec<ObjectId> {
        let mut ids = Vec::new();
        for mut object in Object::read_manifest(manifest.as_bytes(), "test").expect("good YAML") {
            object.set_namespace(&self.namespace);
            self.cluster.create(&object, &WriteParams::strict()).await.expect("created");
            ids.push(object.id());
        }
        ids
    }

    async fn wait(&self, waiting: WaitOptions, ids: &[ObjectId]) -> Result<(), WaitError> {
        Waiter::new(&self.cluster, waiting).wait(ids, &mut |_: &Progress<'_>| {}).await
    }

    async fn done(self) {
        let id = ObjectId::new("v1", "Namespace", "", &self.namespace);
        let deleted =
            self.cluster.delete(&id, PropagationPolicy::Background, &Preconditions::default()).await;
        assert!(deleted.expect("deleted"));
    }
}

fn waiting(wait_for: WaitFor) -> WaitOptions {
    WaitOptions {
        wait_for,
        strategy: Strategy::Watcher,
        timeout: Duration::from_secs(600),
        fail_fast: None,
        readiness_annotations: false,
    }
}

fn early(wait_for: WaitFor) -> WaitOptions {
    WaitOptions { fail_fast: Some(FailFastLimits::default()), ..waiting(wait_for) }
}

/// Simulation annotations for the embedded cluster, where no container runs.
fn simulated(list: &[(&str, &str)]) -> String {
    let annotations = list.iter().map(|(key, value)| format!("pintle.dev/simulate-{key}: {value:?}"));
    format!("{{{}}}", annotations.collect::<Vec<_>>().join(", "))
}

fn workload(kind: &str, more: &str, container: &str) -> String {
    workload_with("{}", kind, more, container)
}

fn workload_with(annotations: &str, kind: &str, more: &str, container: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  {more}\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}, annotations: {annotations}}}\n    spec:\n      terminationGracePeriodSeconds: 0\n      containers: [{container}]\n",
        name = kind.to_lowercase(),
    )
}

fn container(script: &str) -> String {
    format!("{{name: main, image: '{IMAGE}', imagePullPolicy: IfNotPresent, command: [sh, -c, '{script}']}}")
}

#[tokio::test]
async fn workloads_become_ready_by_both_rules_and_go_away() {
    let Some(env) = TestEnv::new("workloads_become_ready_by_both_rules_and_go_away").await else { return };
    let sleeping = container("exec sleep 1000");
    let manifest = [
        workload("Deployment", "replicas: 2", &sleeping),
        workload("StatefulSet", "serviceName: none", &sleeping),
        workload("DaemonSet", "minReadySeconds: 0", &sleeping),
        "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n".to_owned(),
    ]
    .concat();
    let ids = env.make(&manifest).await;
    let mut reports = Vec::new();
    let mut observer = |progress: &Progress<'_>| {
        reports.push(format!("{} {}/{}", progress.id.kind, progress.done, progress.total));
    };
    let result = Waiter::new(&env.cluster, early(WaitFor::Ready)).wait(&ids, &mut observer).await;
    result.expect("all ready");
    assert!(reports.last().is_some_and(|line| line.ends_with("5/5")), "{reports:?}");
    let legacy = WaitOptions { strategy: Strategy::Legacy, ..waiting(WaitFor::ReadyWithJobs) };
    env.wait(legacy, &ids).await.expect("ready by the older rules, too");
    for id in &ids {
        env.cluster
            .delete(id, PropagationPolicy::Foreground, &Preconditions::default())
            .await
            .expect("deleted");
    }
    env.wait(waiting(WaitFor::Deleted), &ids).await.expect("all gone");
    assert!(env.cluster.get(&ids[0]).await.expect("readable").is_none());
    env.done().await;
}

#[tokio::test]
async fn pods_that_cannot_start_end_the_wait_with_a_reason() {
    let Some(env) = TestEnv::new("pods_that_cannot_start_end_the_wait_with_a_reason").await else { return };
    // Without the probe it would count as ready between its start and its end.
    let probe = "{readinessProbe: {exec: {command: ['false']}}, name";
    let crashing = container("echo boom; exit 3").replace("{name", probe);
    let crash = [("failures", "always"), ("exit-code", "3"), ("log", "boom")];
    let cases = [
        (
            simulated(&[("image", "missing")]),
            "{name: main, image: 'test.invalid/missing:1', imagePullPolicy: IfNotPresent}",
            "cannot pull image \"test.invalid/missing:1\" (",
            "events of Pod/",
        ),
        (simulated(&crash), &crashing, "is in a crash loop", "last lines of container main:\n    boom"),
        (
            simulated(&[]),
            "{name: main, image: 'test.invalid/busybox:1', envFrom: [{configMapRef: {name: missing}}]}",
            "cannot be created (CreateContainerConfigError: configmap \"missing\" not found)",
            "events of Pod/",
        ),
    ];
    for (annotations, container, reason, detail) in cases {
        let ids = env.make(&workload_with(&annotations, "Deployment", "replicas: 1", container)).await;
        let error = env.wait(early(WaitFor::Ready), &ids).await.expect_err("hopeless");
        assert!(matches!(error, WaitError::FailedFast(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(reason) && text.contains(detail), "{text}");
        env.cluster
            .delete(&ids[0], PropagationPolicy::Foreground, &Preconditions::default())
            .await
            .expect("deleted");
        env.wait(waiting(WaitFor::Deleted), &ids).await.expect("gone");
    }
    env.done().await;
}

#[tokio::test]
async fn a_quota_ends_the_wait_for_deployments_and_for_sets() {
    let Some(env) = TestEnv::new("a_quota_ends_the_wait_for_deployments_and_for_sets").await else { return };
    let quota = env
        .make("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: '0'}}\n")
        .await;
    // A quota is not enforced until its status has been computed.
    let is_counted = async {
        loop {
            let quota = env.cluster.get(&quota[0]).await.expect("it can be read").expect("it was made");
            if quota.at(&["status", "hard"]).is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(180), is_counted).await.expect("the quota is counted");
    let limits = FailFastLimits { pod_rejected: Duration::from_secs(3), ..FailFastLimits::default() };
    let early = WaitOptions { fail_fast: Some(limits), ..waiting(WaitFor::Ready) };
    for kind in ["Deployment", "StatefulSet"] {
        let ids = env.make(&workload(kind, "replicas: 1", &container("sleep 9"))).await;
        let text = env.wait(early, &ids).await.expect_err("refused").to_string();
        assert!(text.contains("cannot create pods: "), "{text}");
        assert!(text.contains("exceeded quota: none"), "{text}");
    }
    env.done().await;
}

/// `annotations` tell the embedded cluster what the scripts do.
fn job(name: &str, first: &str, second: &str, annotations: &str) -> String {
    let (first, second) = (container(first).replace("main", "first"), container(second));
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec:\n  backoffLimit: 0\n  template:\n    metadata: {{annotations: {annotations}}}\n    spec:\n      restartPolicy: Never\n      initContainers: [{first}]\n      containers: [{second}]\n"
    )
}

#[tokio::test]
async fn a_failing_hook_has_helms_error_and_its_logs() {
    let Some(env) = TestEnv::new("a_failing_hook_has_helms_error_and_its_logs").await else { return };
    let fails = [("failures", "always"), ("exit-code", "7"), ("log.first", "prepared"), ("log", "one\ntwo")];
    let ids =
        env.make(&job("fails", "echo prepared", "echo one; echo two; exit 7", &simulated(&fails))).await;
    let error = env.wait(waiting(WaitFor::HookCompleted), &ids).await.expect_err("failed");
    let helms = format!(
        "resource Job/{}/fails not ready. status: Failed, message: Job Failed. failed: 1/1",
        env.namespace
    );
    assert_eq!(error.to_string(), helms);
    let text = env.wait(early(WaitFor::HookCompleted), &ids).await.expect_err("failed").to_string();
    assert!(text.starts_with(&helms), "{text}");
    assert!(text.contains(" terminated with exit code 7\n"), "{text}");
    assert!(text.ends_with("\n  last lines of container main:\n    one\n    two"), "{text}");
    let legacy = WaitOptions { strategy: Strategy::Legacy, ..waiting(WaitFor::HookCompleted) };
    let text = env.wait(legacy, &ids).await.expect_err("failed").to_string();
    assert_eq!(text, "job fails failed: BackoffLimitExceeded");

    let mut all = Vec::new();
    let mut sink = |source: &LogSource, bytes: &[u8]| {
        all.push(format!("{}: {}", source.container, String::from_utf8_lossy(bytes)));
    };
    let failed = logs::hook_logs(&env.cluster, &ids[0], &mut sink).await.expect("logs");
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(all, ["first: prepared\n", "main: one\ntwo\n"]);
    all.clear();
    let mut sink = |source: &LogSource, bytes: &[u8]| {
        all.push(format!("{}: {}", source.container, String::from_utf8_lossy(bytes)));
    };
    logs::hook_logs_as_helm(&env.cluster, &ids[0], &mut sink).await.expect("logs");
    assert_eq!(all, ["main: one\ntwo\n"]);
    env.done().await;
}

#[tokio::test]
async fn the_logs_of_a_hook_come_while_it_runs() {
    let Some(env) = TestEnv::new("the_logs_of_a_hook_come_while_it_runs").await else { return };
    let script = "for i in 1 2 3 4; do echo line $i; sleep 2; done; printf last";
    let talks = "line 1\nline 2\nline 3\nline 4\nlast";
    let talks = [("log.first", "a\nb"), ("log", talks), ("duration", "8s")];
    let ids = env.make(&job("talks", "echo a; sleep 1; echo b", script, &simulated(&talks))).await;
    let is_over = AtomicBool::new(false);
    let mut received: Vec<(bool, String)> = Vec::new();
    let mut sink = |source: &LogSource, bytes: &[u8]| {
        let line = format!("{} {}", source.container, String::from_utf8_lossy(bytes));
        received.push((is_over.load(Ordering::Relaxed), line));
    };
    let logs = HookLogs::new(&env.cluster, &ids[0]);
    let waiting_for_it = async {
        let ended = env.wait(waiting(WaitFor::HookCompleted), &ids).await;
        is_over.store(true, Ordering::Relaxed);
        ended
    };
    logs.during(waiting_for_it, &mut sink).await.expect("done");
    let lines: Vec<&str> = received.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "first a\n",
            "first b\n",
            "main line 1\n",
            "main line 2\n",
            "main line 3\n",
            "main line 4\n",
            "main last\n"
        ]
    );
    assert!(!received[2].0, "lines come as they are written: {received:?}");

    let quick = simulated(&[("log.first", "a"), ("log", "b")]);
    let quick = env.make(&job("quick", "echo a", "echo b", &quick)).await;
    let mut lines = Vec::new();
    let mut sink = |_: &LogSource, bytes: &[u8]| lines.push(String::from_utf8_lossy(bytes).into_owned());
    let logs = HookLogs::new(&env.cluster, &quick[0]);
    logs.during(env.wait(waiting(WaitFor::HookCompleted), &quick), &mut sink).await.expect("done");
    assert_eq!(lines, ["a\n", "b\n"], "the logs of a hook that ends at once are received as well");
    env.done().await;
}

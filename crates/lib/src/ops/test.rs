//! `test`: run the test hooks of the newest version of a release.

use std::time::Duration;

use pintle_cluster::logs::{self, LogSource};
use pintle_events::Event as LifecycleEvent;
use pintle_objects::{HookEvent, ObjectId};
use pintle_release::{ReleaseVersion, StoredHook};

use super::name;
use crate::deploy::Executor;
use crate::options::{DeployOptions, Method, WaitStrategy};
use crate::records::Records;
use crate::{Error, Reporter, Result, Session};

/// The lifecycle events of tests, in their order.
const EVENTS: [LifecycleEvent; 3] =
    [LifecycleEvent::PreTest, LifecycleEvent::PostTest, LifecycleEvent::FailedTest];

/// Which tests to run, and how.
#[derive(Clone, Debug)]
pub struct TestRequest {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// Runs only the tests of these names; empty for all.
    pub include: Vec<String>,
    /// Skips the tests of these names.
    pub exclude: Vec<String>,
    /// Fetches the logs of the test pods.
    pub logs: bool,
    /// How the tests are run.
    pub deploy: DeployOptions,
}

impl Default for TestRequest {
    fn default() -> Self {
        let deploy = DeployOptions { wait: WaitStrategy::Watcher, ..DeployOptions::default() };
        TestRequest {
            name: String::new(),
            namespace: String::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            logs: false,
            deploy,
        }
    }
}

/// The results of the tests.
#[derive(Debug)]
pub struct Tested {
    /// The version with the results of its tests.
    pub version: ReleaseVersion,
    /// The first failure.
    pub failure: Option<Error>,
    /// The requested logs.
    pub logs: Vec<PodLog>,
    /// Why logs could not be fetched.
    pub logs_failures: Vec<Error>,
}

/// The log of a container of a test pod.
#[derive(Clone, Debug)]
pub struct PodLog {
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
    /// The log.
    pub text: Vec<u8>,
}

impl TestRequest {
    fn takes_part(&self, name: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|other| other == name);
        !named(&self.exclude) && (self.include.is_empty() || named(&self.include))
    }

    /// Sets the limit for each test.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.deploy.timeout = timeout;
    }
}

/// Runs the tests of a release. A failed test is part of the result, not an error.
///
/// # Errors
/// When there is no such release, or its record cannot be written.
pub async fn test(session: &Session, request: &TestRequest, reporter: &mut dyn Reporter) -> Result<Tested> {
    session.cluster.check_reachable().await?;
    if !name::is_valid(&request.name) {
        return Err(Error::InvalidName {
            prefix: "releaseTest: Release name is invalid",
            name: request.name.clone(),
        });
    }
    let found = Records::find_for_update(session, &request.namespace, &request.name, false).await;
    let (records, history) = found?;
    let Some(observed) = history.last() else {
        return Err(records.missing().await);
    };
    let mut version = records.load(observed.number).await?;
    let session = &session.with_stored_scripts(&version, request.deploy.timeout, &EVENTS).await?;
    let (running, skipped): (Vec<StoredHook>, Vec<StoredHook>) =
        std::mem::take(&mut version.hooks).into_iter().partition(|hook| request.takes_part(&hook.name));
    version.hooks = running;
    let method = Method::from_record(&version.apply_method);
    let mut executor = Executor::new(session, &records, version, &request.deploy, method);
    executor.without_lease(observed.clone());
    let stored = executor.emit_pre_test(reporter).await?;
    let (results, failure) = match executor.run_hooks(HookEvent::Test, reporter).await {
        Ok(results) => (results, None),
        Err(failure) => (failure.results, Some(failure.error)),
    };
    let (logs, logs_failures) = match request.logs {
        true => test_logs(session, request, &executor.version).await,
        false => (Vec::new(), Vec::new()),
    };
    let cleaned = executor.clean_up_hooks(results, reporter).await;
    let outcome = executor.emit_tested(failure.is_some()).await;
    session.events.report(reporter);
    let tested = executor.merge_test_results(stored);
    executor.version.hooks = skipped.into_iter().chain(tested).collect();
    executor.record_progress().await?;
    Ok(Tested {
        version: executor.version,
        failure: failure.or(cleaned.err()).or(outcome.err()),
        logs,
        logs_failures,
    })
}

/// Returns the logs of the test pods, in the order in which the tests ran, up to the first pod with a log that cannot be read.
/// Other kinds of tests have no log by their name.
async fn test_logs(
    session: &Session,
    request: &TestRequest,
    version: &ReleaseVersion,
) -> (Vec<PodLog>, Vec<Error>) {
    let mut tests: Vec<&StoredHook> = version
        .hooks
        .iter()
        .filter(|hook| hook.events.contains(&HookEvent::Test) && hook.kind == "Pod")
        .collect();
    tests.sort_by_key(|hook| (hook.weight, hook.name.clone()));
    let mut logs = Vec::new();
    for hook in tests {
        let id = ObjectId::new("v1", "Pod", &request.namespace, &hook.name);
        let failures = pod_logs(session, &id, &mut logs).await;
        if !failures.is_empty() {
            return (logs, failures);
        }
    }
    (logs, Vec::new())
}

/// Adds the logs of all containers of a pod. Returns what could not be read.
async fn pod_logs(session: &Session, id: &ObjectId, logs: &mut Vec<PodLog>) -> Vec<Error> {
    let pod = match session.cluster.get(id).await {
        Ok(Some(pod)) => pod,
        Ok(None) => return vec![Error::NoTestPod { pod: id.name.clone() }],
        Err(error) => return vec![error.into()],
    };
    let mut failures = Vec::new();
    for container in logs::containers(&pod) {
        let source = LogSource::new(&id.namespace, &id.name, &container);
        let pod = id.name.clone();
        match logs::read_all(&session.cluster, &source).await {
            Ok(text) => logs.push(PodLog { pod, container, text: text.to_vec() }),
            Err(error) => failures.push(Error::NoTestLog { pod, container, cause: Box::new(error.into()) }),
        }
    }
    failures
}

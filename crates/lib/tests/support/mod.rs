//! An embedded cluster whose requests are counted and can be blocked, to test what a killed client leaves behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use pintle::ValuesLayer;
use pintle::cluster::store::{HelmConfigMaps, HelmSecrets, NativeStore};
use pintle::cluster::{Cluster, Preconditions, PropagationPolicy, WriteParams};
use pintle::embedded::{Api, Embedded};
use pintle::objects::{Object, ObjectId};
use pintle::ops::{InstallRequest, UpgradeRequest};
use pintle::release::{Status, Store, Timestamp};
use pintle::{Clock, DeployOptions, LeaseHolder, Session};
use tempfile::TempDir;
use tokio::sync::Notify;

struct Machine(AtomicU64);

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap(), since.subsec_nanos())
    }

    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Intercepts requests to the cluster.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    writes: Arc<Mutex<Vec<String>>>,
    /// How many write requests may still pass; later ones never get an answer.
    left: Arc<Mutex<Option<usize>>>,
    /// The next write request whose path contains this text is executed but never answered.
    unanswered: Arc<Mutex<Option<String>>>,
    /// Read requests whose path ends with this text are refused.
    refused: Arc<Mutex<Option<String>>>,
    /// Write requests whose path contains this text are sent to a path that does not exist.
    misdirected: Arc<Mutex<Option<String>>>,
    stopped: Arc<Notify>,
}

impl Gate {
    /// Returns the write requests so far with their paths.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.writes.lock().unwrap().clone()
    }

    /// Blocks write requests after this number.
    pub(crate) fn stop_after(&self, writes: usize) {
        *self.left.lock().unwrap() = Some(writes);
    }

    /// Executes the next write request whose path contains `part`, and never answers it.
    pub(crate) fn leave_unanswered(&self, part: &str) {
        *self.unanswered.lock().unwrap() = Some(part.to_owned());
    }

    /// Refuses read requests whose path ends with `end`.
    pub(crate) fn refuse_reading(&self, end: &str) {
        *self.refused.lock().unwrap() = Some(end.to_owned());
    }

    fn is_refused(&self, path: &str) -> bool {
        self.refused.lock().unwrap().as_deref().is_some_and(|end| path.ends_with(end))
    }

    /// Sends write requests whose path contains `part` to a path that does not exist.
    pub(crate) fn misdirect(&self, part: &str) {
        *self.misdirected.lock().unwrap() = Some(part.to_owned());
    }

    fn is_misdirected(&self, line: &str) -> bool {
        self.misdirected.lock().unwrap().as_deref().is_some_and(|part| line.contains(part))
    }

    /// Completes once a request is blocked.
    pub(crate) async fn stopped(&self) {
        self.stopped.notified().await;
    }

    async fn stick(&self) {
        self.stopped.notify_one();
        std::future::pending().await
    }

    async fn before(&self, line: &str) {
        self.writes.lock().unwrap().push(line.to_owned());
        let is_over = match &mut *self.left.lock().unwrap() {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        };
        if is_over {
            self.stick().await;
        }
    }

    async fn after(&self, line: &str) {
        let is_lost = self.unanswered.lock().unwrap().take_if(|part| line.contains(part.as_str()));
        if is_lost.is_some() {
            self.stick().await;
        }
    }
}

/// The store of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    Native,
    Secrets,
    ConfigMaps,
}

impl Driver {
    pub(crate) const ALL: [Driver; 3] = [Driver::Native, Driver::Secrets, Driver::ConfigMaps];

    pub(crate) fn store(self, cluster: &Cluster) -> Arc<dyn Store> {
        match self {
            Driver::Native => Arc::new(NativeStore::new(cluster.clone())),
            Driver::Secrets => Arc::new(HelmSecrets::new(cluster.clone())),
            Driver::ConfigMaps => Arc::new(HelmConfigMaps::new(cluster.clone())),
        }
    }
}

/// A cluster and a chart.
pub(crate) struct TestEnv {
    api: Api,
    folder: TempDir,
    processes: AtomicUsize,
}

impl TestEnv {
    pub(crate) async fn new() -> TestEnv {
        let api = Embedded::default().open().await.unwrap();
        let env = TestEnv { api, folder: tempfile::tempdir().unwrap(), processes: AtomicUsize::new(0) };
        env.write("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
        env.write("templates/a.yaml", CHART);
        env
    }

    /// Writes a file of the chart.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.chart().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn chart(&self) -> PathBuf {
        self.folder.path().join("web")
    }

    /// Returns a session as a separate process would open it. All earlier processes are known to be dead.
    pub(crate) fn session(&self, driver: Driver) -> (Session, Gate) {
        let gate = Gate::default();
        let (api, passed) = (self.api.clone(), gate.clone());
        let cluster = Cluster::from_service_fn(
            move |mut request| {
                let (api, gate) = (api.clone(), passed.clone());
                async move {
                    let line = format!("{} {}", request.method(), request.uri());
                    if *request.method() == "GET" {
                        if gate.is_refused(request.uri().path()) {
                            // The server refuses this selector, and says why.
                            let path = "/api/v1/namespaces/default/configmaps?fieldSelector=refused%3D1";
                            *request.uri_mut() = path.parse().unwrap();
                        }
                        return api.handle(request).await;
                    }
                    gate.before(&line).await;
                    if gate.is_misdirected(&line) {
                        *request.uri_mut() = "/apis/none.example.com/v1/nothing".parse().unwrap();
                    }
                    let answer = api.handle(request).await;
                    gate.after(&line).await;
                    answer
                }
            },
            "default",
        );
        let other = |wanted: Driver| (wanted != driver).then(|| wanted.store(&cluster));
        let other_stores: Vec<_> =
            other(Driver::Secrets).filter(|_| driver == Driver::Native).into_iter().collect();
        let guarded =
            Driver::ALL.into_iter().filter(|one| driver != Driver::Native || *one == Driver::ConfigMaps);
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        let holder = LeaseHolder::new(format!("process-{process}")).with_is_dead(|_| true);
        let session = Session::new(cluster.clone(), driver.store(&cluster))
            .with_other_stores(other_stores)
            .with_excluded_stores(guarded.filter_map(other).collect())
            .with_clock(Arc::new(Machine(AtomicU64::new((process as u64) << 32))))
            .with_holder(holder)
            .with_lease_duration(Duration::from_secs(600));
        (session, gate)
    }

    pub(crate) fn install(&self, name: &str) -> InstallRequest {
        InstallRequest {
            chart: self.chart().into(),
            name: name.to_owned(),
            namespace: "default".to_owned(),
            deploy: DeployOptions::default(),
            ..InstallRequest::default()
        }
    }

    /// Returns a request for an upgrade with `--set` flags.
    pub(crate) fn upgrade(&self, name: &str, sets: &[&str]) -> UpgradeRequest {
        let values = sets.iter().map(|set| ValuesLayer::Set((*set).to_owned())).collect();
        UpgradeRequest {
            target: InstallRequest { values, ..self.install(name) },
            ..UpgradeRequest::default()
        }
    }

    /// Returns the versions of a release in one store only.
    pub(crate) async fn versions(&self, driver: Driver, name: &str) -> Vec<(u64, Status)> {
        let (session, _) = self.session(driver);
        let history = session.store.history("default", name).await.unwrap();
        history.into_iter().map(|version| (version.number, version.status)).collect()
    }

    /// Returns an object of the cluster.
    pub(crate) async fn object(&self, api_version: &str, kind: &str, name: &str) -> Option<Object> {
        let (session, _) = self.session(Driver::Native);
        session.cluster.get(&ObjectId::new(api_version, kind, "default", name)).await.unwrap()
    }

    /// Returns the marker that a release has left in a store.
    pub(crate) async fn marker(&self, driver: Driver, name: &str) -> Option<Object> {
        let kind = match driver {
            Driver::Native => return None,
            Driver::Secrets => "Secret",
            Driver::ConfigMaps => "ConfigMap",
        };
        self.object("v1", kind, &format!("sh.helm.release.v1.{name}.moved")).await
    }

    /// Deletes an object of the cluster.
    pub(crate) async fn delete(&self, api_version: &str, kind: &str, name: &str) {
        let (session, _) = self.session(Driver::Native);
        let id = ObjectId::new(api_version, kind, "default", name);
        let policy = PropagationPolicy::Background;
        session.cluster.delete(&id, policy, &Preconditions::default()).await.unwrap();
    }

    /// Changes the text of the release in the cluster, as somebody with `kubectl edit` does.
    pub(crate) async fn set_text(&self, name: &str, text: &str) {
        let (session, _) = self.session(Driver::Native);
        let mut object = self.object("v1", "ConfigMap", name).await.unwrap();
        let data = pintle::tree::Map::from_entries(vec![("text".into(), text.into())]);
        object.body_mut().insert("data".into(), pintle::tree::Node::Map(data));
        session.cluster.replace(&object, &WriteParams::default()).await.unwrap();
    }

    /// Returns the text that the release has in the cluster.
    pub(crate) async fn text(&self, name: &str) -> Option<String> {
        let object = self.object("v1", "ConfigMap", name).await?;
        Some(object.text(&["data", "text"]).to_owned())
    }
}

const CHART: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {text: "{{ .Values.text }}"}
{{ if .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-extra"}
{{ end }}
{{ if .Values.wrong }}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec: {ports: [{port: 700000}]}
{{ end }}
{{ if .Values.never }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata:
      labels: {app: a}
      annotations: {pintle.dev/simulate-ready: never}
    spec: {containers: [{name: a, image: "nginx:{{ .Values.text }}"}]}
{{ end }}
{{ if .Values.hook }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-hook"
  annotations: {helm.sh/hook: "{{ .Values.hook }}"}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {pintle.dev/simulate-failures: always}}
    spec: {restartPolicy: Never, containers: [{name: a, image: busybox}]}
{{ end }}
{{ if .Values.broken }}{{ fail "broken" }}{{ end }}
"#;

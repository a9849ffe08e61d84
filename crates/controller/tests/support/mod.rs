//! A controller on an embedded cluster whose requests are recorded and can be blocked, to test what a killed controller
//! leaves behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

mod web;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Either;
use kube::client::Body;
use pintle::cluster::store::NativeStore;
use pintle::cluster::{Cluster, PatchType, WriteParams, crds};
use pintle::embedded::{Api, Embedded};
use pintle::objects::{Object, ObjectId};
use pintle::ops::PackageRequest;
use pintle::release::{Status, Store as _};
use pintle::repo::Proxies;
use pintle::{Cancel, LeaseHolder, Session, Silent, SystemClock};
use pintle_controller::request::HelmRequest;
use pintle_controller::{
    AddressRules, Charts, ClusterCache, Memory, Metrics, Reconciler, Requeue, ValueFiles,
};
use tempfile::TempDir;
use tokio::sync::{Notify, watch};
pub(crate) use web::{ENDLESS, WebServer, digest};

/// The chart of most tests: values turn its parts on.
pub(crate) const TEMPLATE: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {text: "{{ .Values.text }}", version: "{{ .Chart.Version }}"}
{{ if .Values.broken }}{{ fail "broken on purpose" }}{{ end }}
{{ if .Values.wrong }}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec: {ports: [{port: 700000}]}
{{ end }}
{{ if .Values.hook }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-hook"
  annotations: {helm.sh/hook: "{{ .Values.hook }}", helm.sh/hook-output-log-policy: hook-failed}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {pintle.dev/simulate-failures: "{{ .Values.failures | default "always" }}", pintle.dev/simulate-log: "the disk is full"}}
    spec: {restartPolicy: Never, containers: [{name: a, image: busybox}]}
{{ end }}
"#;

/// A pod that is never ready and has no deadline, for operations that are to be under way. Each release has its own.
pub(crate) const WAITING: &str = "apiVersion: v1
kind: Pod
metadata: {name: '{{ .Release.Name }}-waits', annotations: {pintle.dev/simulate-ready: never}}
spec: {containers: [{name: a, image: b}]}
";

/// A Deployment that is never ready: its deadline passes on the clock of the embedded cluster, so waiting for it fails.
pub(crate) const NEVER_READY: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: never}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}, annotations: {pintle.dev/simulate-ready: never}}
    spec: {containers: [{name: a, image: b}]}
";

/// Intercepts requests to the cluster.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    requests: Arc<Mutex<Vec<String>>>,
    /// How many write requests may still pass; later ones are held.
    left: Arc<Mutex<Option<usize>>>,
    stopped: Arc<Notify>,
    is_open: Arc<watch::Sender<bool>>,
    /// Which requests are forbidden, by user, method and path.
    rule: Arc<Mutex<Option<Rule>>>,
}

type Rule = Box<dyn Fn(&str, &str, &str) -> bool + Send>;

impl Gate {
    /// Blocks write requests after this number.
    pub(crate) fn stop_after(&self, writes: usize) {
        *self.left.lock().unwrap() = Some(writes);
    }

    /// Lets everything pass, also what was blocked.
    pub(crate) fn release(&self) {
        *self.left.lock().unwrap() = None;
        self.is_open.send_replace(true);
    }

    /// Forbids requests by user (empty for the controller itself), method and path.
    pub(crate) fn forbid(&self, rule: impl Fn(&str, &str, &str) -> bool + Send + 'static) {
        *self.rule.lock().unwrap() = Some(Box::new(rule));
    }

    /// The answer to a request that is forbidden.
    fn refusal(&self, user: &str, method: &str, path: &str) -> Option<http::Response<Body>> {
        let rule = self.rule.lock().unwrap();
        if !rule.as_ref().is_some_and(|rule| rule(user, method, path)) {
            return None;
        }
        let message = format!("{path} is forbidden: User \"{user}\" cannot {method} it");
        let status = serde_json::json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message});
        let answer = http::Response::builder().status(403).header("content-type", "application/json");
        Some(answer.body(Body::from(status.to_string().into_bytes())).unwrap())
    }

    /// Completes once a request is blocked.
    pub(crate) async fn stopped(&self) {
        self.stopped.notified().await;
    }

    /// The requests so far: method, path and whom they impersonate.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    async fn before(&self, line: &str, is_write: bool) {
        self.requests.lock().unwrap().push(line.to_owned());
        if !is_write {
            return;
        }
        let is_over = match &mut *self.left.lock().unwrap() {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        };
        if is_over {
            self.stopped.notify_one();
            let _ = self.is_open.subscribe().wait_for(|open| *open).await;
        }
    }
}

/// A cluster with the CRDs.
pub(crate) struct TestCluster {
    pub(crate) api: Api,
    folder: TempDir,
    processes: AtomicUsize,
    pub(crate) cluster: Cluster,
}

impl TestCluster {
    pub(crate) async fn new() -> TestCluster {
        let api = Embedded::default().open().await.unwrap();
        let cluster = pintle::embedded::cluster(&api, "default");
        crds::install_for_controller(&cluster).await.unwrap();
        let test = TestCluster {
            api,
            folder: tempfile::tempdir().unwrap(),
            processes: AtomicUsize::new(0),
            cluster,
        };
        test.chart("1.0.0", &[("templates/all.yaml", TEMPLATE)]).await;
        test
    }

    /// Puts a chart with these files into the ConfigMap `web-chart`.
    pub(crate) async fn chart(&self, version: &str, files: &[(&str, &str)]) {
        let archive = STANDARD.encode(self.archive(version, files));
        self.apply(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web-chart, namespace: default}}\nbinaryData: {{chart.tgz: {archive}}}\n"
        ))
        .await;
    }

    /// The archive of a chart with these files.
    pub(crate) fn archive(&self, version: &str, files: &[(&str, &str)]) -> Vec<u8> {
        let folder = self
            .folder
            .path()
            .join(format!("web-{version}-{}", self.processes.fetch_add(1, Ordering::Relaxed)));
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("Chart.yaml", &format!("apiVersion: v2\nname: web\nversion: {version}\n"));
        for (path, text) in files {
            write(path, text);
        }
        let request = PackageRequest {
            chart: folder.clone(),
            destination: folder.with_extension("out"),
            epoch: Some(0),
            ..PackageRequest::default()
        };
        std::fs::create_dir_all(&request.destination).unwrap();
        let archive = pintle::ops::package(&Session::offline(), &request, &mut Silent).unwrap();
        std::fs::read(archive).unwrap()
    }

    /// Applies a manifest.
    pub(crate) async fn apply(&self, manifest: &str) {
        for object in Object::read_manifest(manifest.as_bytes(), "test").unwrap() {
            let params = WriteParams { field_manager: "user", ..WriteParams::default() };
            self.cluster.apply(&object, true, &params).await.unwrap();
        }
    }

    /// Applies a request for the chart of the ConfigMap, with further lines of its spec.
    pub(crate) async fn request(&self, name: &str, spec: &str) {
        self.request_for(name, "{archive: {kind: ConfigMap, name: web-chart}}", spec).await;
    }

    /// Applies a request for a chart, with further lines of its spec.
    pub(crate) async fn request_for(&self, name: &str, chart: &str, spec: &str) {
        let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
        self.apply(&format!(
            "apiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {{name: {name}, namespace: default}}\nspec:\n  chart: {chart}\n{spec}"
        ))
        .await;
    }

    /// A controller as a separate process would start it. All earlier processes are known to be dead. URLs may lead to this
    /// machine, where the servers of the tests are.
    pub(crate) fn controller(&self) -> (Reconciler, Gate) {
        self.controller_with(AddressRules::any())
    }

    /// A connection to the cluster whose requests are recorded and can be blocked.
    pub(crate) fn connection(&self) -> (Cluster, Gate) {
        let gate = Gate::default();
        let (api, passed) = (self.api.clone(), gate.clone());
        let cluster = Cluster::from_service_fn(
            move |request| {
                let (api, gate) = (api.clone(), passed.clone());
                async move {
                    let header = request.headers().get("impersonate-user");
                    let user = header.map_or("", |user| user.to_str().unwrap()).to_owned();
                    let line = format!("{} {} {user}", request.method(), request.uri());
                    gate.before(&line, *request.method() != "GET").await;
                    match gate.refusal(&user, request.method().as_str(), request.uri().path()) {
                        Some(refusal) => refusal.map(Either::Left),
                        None => api.handle(request).await.map(Either::Right),
                    }
                }
            },
            "default",
        );
        (cluster, gate)
    }

    /// A controller that connects to these addresses only.
    pub(crate) fn controller_with(&self, addresses: AddressRules) -> (Reconciler, Gate) {
        let (cluster, gate) = self.connection();
        let process = self.processes.fetch_add(1, Ordering::Relaxed);
        let me = format!("controller-{process}");
        let name = me.clone();
        let reconciler = Reconciler {
            cluster,
            charts: Charts::new(self.cache(), Proxies::default(), addresses.clone(), Duration::from_secs(60)),
            value_files: ValueFiles::new(Proxies::default(), addresses.clone()),
            clusters: ClusterCache::new(addresses),
            clock: Arc::new(SystemClock),
            holder: LeaseHolder::new(me).with_is_dead(move |other| other != name),
            default_service_account: "default".to_owned(),
            jitter: 0,
            requeue_dependency: Duration::from_secs(30),
            cancel: Cancel::default(),
            memory: Memory::new(1 << 30),
            metrics: Arc::new(Metrics::default()),
            log: Arc::new(|_| {}),
        };
        (reconciler, gate)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Reads a request; `None` when it is gone.
    pub(crate) async fn read(&self, name: &str) -> Option<HelmRequest> {
        let object = self.cluster.get_by_name(&crds::helm_requests(), "default", name).await.unwrap()?;
        Some(serde_json::from_slice(&object.to_json()).unwrap())
    }

    /// Reads a request as it is, also one that cannot be decoded; `None` when it is gone. Only the first levels can be read.
    pub(crate) async fn object(&self, name: &str) -> Option<serde_json::Value> {
        let object = self.cluster.get_by_name(&crds::helm_requests(), "default", name).await.unwrap()?;
        let mut object = object;
        object.body_mut().remove("spec");
        object.metadata_mut().remove("managedFields");
        Some(serde_json::from_slice(&object.to_json()).unwrap())
    }

    /// Reconciles a request once.
    pub(crate) async fn reconcile(&self, reconciler: &Reconciler, name: &str) -> Requeue {
        let request = self.read(name).await.unwrap();
        reconciler.reconcile(request).await.unwrap()
    }

    /// Reconciles a request until it is ready, in a bounded number of reconciliations.
    pub(crate) async fn until_ready(&self, reconciler: &Reconciler, name: &str) {
        for _ in 0..6 {
            self.reconcile(reconciler, name).await;
            if self.ready(name).await.0 {
                return;
            }
        }
        panic!("{name} did not become ready: {:?}", self.read(name).await.unwrap().status);
    }

    /// Whether a request is ready, with reason and message.
    pub(crate) async fn ready(&self, name: &str) -> (bool, String, String) {
        let status = self.read(name).await.unwrap().status.unwrap_or_default();
        let ready = status.condition("Ready").cloned().unwrap_or_default();
        (ready.status == "True", ready.reason, ready.message)
    }

    /// The status of a condition; empty when it is not there.
    pub(crate) async fn condition(&self, name: &str, kind: &str) -> String {
        let status = self.read(name).await.unwrap().status.unwrap_or_default();
        status.condition(kind).map(|condition| condition.status.clone()).unwrap_or_default()
    }

    /// Sets annotations of a request.
    pub(crate) async fn annotate(&self, name: &str, annotations: &[(&str, &str)]) {
        let map: serde_json::Map<String, serde_json::Value> =
            annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        self.patch("helm.sh/v3", "HelmRequest", name, &serde_json::json!({"metadata": {"annotations": map}}))
            .await;
    }

    /// Changes an object as someone else would.
    pub(crate) async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: &serde_json::Value) {
        let id = ObjectId::new(api_version, kind, "default", name);
        let params = WriteParams { field_manager: "someone", ..WriteParams::default() };
        let body = serde_json::to_vec(patch).unwrap();
        self.cluster.patch(&id, PatchType::Merge, body, &params).await.unwrap();
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, api_version: &str, kind: &str, name: &str) {
        let id = ObjectId::new(api_version, kind, "default", name);
        self.cluster
            .delete(&id, pintle::cluster::PropagationPolicy::Background, &Default::default())
            .await
            .unwrap();
    }

    /// The versions of a release.
    pub(crate) async fn versions(&self, name: &str) -> Vec<(u64, Status)> {
        let store = NativeStore::new(self.cluster.clone());
        let history = store.history("default", name).await.unwrap();
        history.into_iter().map(|version| (version.number, version.status)).collect()
    }

    /// Installs the chart of most tests as someone would by hand.
    pub(crate) async fn install_by_hand(&self, name: &str, text: &str) {
        let chart = self.archive("1.0.0", &[("templates/all.yaml", TEMPLATE)]);
        let chart = pintle::chart::load_archive(&chart[..], &mut Vec::new()).unwrap();
        let values = format!("text: {text}\n");
        let request = pintle::ops::InstallRequest {
            chart: pintle::ChartRef::Loaded { chart: Arc::new(chart), source: None },
            name: name.to_owned(),
            namespace: "default".to_owned(),
            values: vec![pintle::ValuesLayer::Bytes {
                name: "values".to_owned(),
                content: values.into_bytes(),
            }],
            ..Default::default()
        };
        pintle::ops::install(&self.session(), &request, &mut Silent).await.unwrap();
    }

    /// A session with all rights.
    pub(crate) fn session(&self) -> Session {
        Session::new(self.cluster.clone(), Arc::new(NativeStore::new(self.cluster.clone())))
    }

    /// Deletes a request and reconciles it until it is gone.
    pub(crate) async fn delete_request(&self, reconciler: &Reconciler, name: &str) {
        self.delete("helm.sh/v3", "HelmRequest", name).await;
        self.reconcile(reconciler, name).await;
        let left = self.read(name).await;
        assert!(left.is_none(), "{:?}", left.unwrap().status);
    }

    /// The text that a release has in the cluster.
    pub(crate) async fn text(&self, name: &str) -> Option<String> {
        let object = self.cluster.get(&ObjectId::new("v1", "ConfigMap", "default", name)).await.unwrap()?;
        Some(object.text(&["data", "text"]).to_owned())
    }
}

impl TestCluster {
    /// Sets replicas as the controller of HorizontalPodAutoscalers does: through the subresource `scale`.
    pub(crate) async fn scale_as_autoscaler(&self, name: &str, replicas: u32) {
        let uri = format!(
            "/apis/apps/v1/namespaces/default/deployments/{name}/scale?fieldManager=kube-controller-manager"
        );
        let body = serde_json::json!({"spec": {"replicas": replicas}}).to_string();
        let request = http::Request::patch(uri).header("content-type", "application/merge-patch+json");
        let answer = self.api.handle(request.body(Body::from(body.into_bytes())).unwrap()).await;
        assert!(answer.status().is_success(), "{}", answer.status());
    }
}

/// The Secret `name` with a kubeconfig for a server.
pub(crate) fn kubeconfig_secret(name: &str, server: &str) -> String {
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{{name: a, cluster: {{server: '{server}'}}}}]\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {{token: t}}}}]\n"
    );
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: default}}\nstringData: {{value: {}}}\n",
        serde_json::to_string(&kubeconfig).unwrap()
    )
}

/// Serves an embedded cluster on a port, as another cluster; gives its URL.
pub(crate) async fn serve(api: &Api) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let api = api.clone();
    tokio::spawn(async move {
        let settings = pintle::embedded::serve::Settings::default();
        pintle::embedded::serve::serve(api, listener, &settings, std::future::pending()).await
    });
    url
}

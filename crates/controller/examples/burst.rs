//! Measures a controller on a cluster: batches of requests created at once, one value changed in all, and an idle hour in a
//! minute. `cargo xtask bench controller` runs it.
//!
//! `burst CONTROLLER KUBECONFIG COUNT[,COUNT…]` starts the program CONTROLLER and prints a table. CPU and memory are those of
//! the controller alone, as the kernel counts them.

#![allow(clippy::print_stdout, reason = "it is a program")]
#![allow(clippy::disallowed_methods, reason = "it is a program")]

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use kube::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use pintle::cluster::{Cluster, PatchType, Settings, WriteParams, crds};
use pintle::objects::{Object, ObjectId};
use pintle::ops::PackageRequest;
use pintle::{Session, Silent};
use pintle_controller::request::HelmRequest;

const NAMESPACE: &str = "bench-controller";
/// A limit that only a broken controller reaches.
const LIMIT: Duration = Duration::from_secs(900);
/// How many intervals of ten minutes are in an hour.
const INTERVALS_PER_HOUR: f64 = 6.0;
/// How often each request is reconciled while the idle hour is measured, and how long that takes.
const IDLE: (&str, Duration) = ("20s", Duration::from_secs(60));
/// How many requests the program itself writes at once.
const WRITERS: usize = 20;

const TEMPLATE: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}", labels: {app: "{{ .Release.Name }}"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}, annotations: {note: "{{ .Values.note }}"}}
    spec:
      serviceAccountName: "{{ .Release.Name }}"
      containers: [{name: web, image: "example.com/web:1", ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec: {selector: {app: "{{ .Release.Name }}"}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: "{{ .Release.Name }}"}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: "{{ .Release.Name }}"}
spec:
  rules:
  - host: "{{ .Release.Name }}.example.com"
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: "{{ .Release.Name }}", port: {number: 80}}}}]}
"#;

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [controller, kubeconfig, counts] = args.as_slice() else {
        bail!("usage: burst CONTROLLER KUBECONFIG COUNT[,COUNT…]");
    };
    let counts: Vec<usize> = counts.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let settings =
        Settings { kubeconfig: vec![kubeconfig.into()], explicit_kubeconfig: true, ..Settings::default() };
    let cluster = Cluster::connect(&settings).await?;
    prepare(&cluster).await?;
    let running = Running::start(controller, kubeconfig)?;
    let mut states = States::watch(&cluster);
    println!("| step | wall s | CPU s | peak MB |\n|---|---|---|---|");
    let (begin, mut total, mut ready) = (Instant::now(), 0, 0.0);
    let mut sent = Sent::read(&cluster).await?;
    for count in counts {
        let step = Instant::now();
        create(&cluster, total, count).await?;
        total += count;
        states.until(total, 1).await?;
        ready += step.elapsed().as_secs_f64();
        running.row(&format!("{count} more requests until {total} are ready"), step.elapsed())?;
    }
    let before = running.cpu()?;
    running.row(&format!("all {total} ({ready:.1} s of waiting)"), begin.elapsed())?;
    let installs = sent.since(&cluster).await?;
    let step = Instant::now();
    patch_all(&cluster, total, r#"{"spec": {"values": {"note": "two"}}}"#).await?;
    states.until(total, 2).await?;
    running.row("one value changed in all", step.elapsed())?;
    println!("\nThe change alone took {:.1} s of CPU.", running.cpu()? - before);
    let upgrades = sent.since(&cluster).await?;
    for (what, sent) in [("install", installs), ("upgrade", upgrades)] {
        println!("\n| requests of all clients | per {what} | ms each |\n|---|---|---|");
        sent.print(total as f64);
    }
    idle(&cluster, &running, &mut states, total).await
}

/// The namespace, its rights, the CRDs, and the chart in a ConfigMap.
async fn prepare(cluster: &Cluster) -> Result<()> {
    crds::install_for_controller(cluster).await?;
    let folder = tempfile::tempdir()?;
    let chart = folder.path().join("web");
    std::fs::create_dir_all(chart.join("templates"))?;
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")?;
    std::fs::write(chart.join("values.yaml"), "note: one\n")?;
    std::fs::write(chart.join("templates/all.yaml"), TEMPLATE)?;
    let request = PackageRequest { chart, destination: folder.path().into(), ..PackageRequest::default() };
    let archive = pintle::ops::package(&Session::offline(), &request, &mut Silent)?;
    let archive = STANDARD.encode(std::fs::read(archive)?);
    let manifest = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {NAMESPACE}}}\n---\n\
         apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: deployer, namespace: {NAMESPACE}}}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: deployer, namespace: {NAMESPACE}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\n\
         subjects: [{{kind: ServiceAccount, name: deployer, namespace: {NAMESPACE}}}]\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: chart, namespace: {NAMESPACE}}}\nbinaryData: {{chart.tgz: {archive}}}\n"
    );
    for object in Object::read_manifest(manifest.as_bytes(), "bench")? {
        cluster.apply(&object, true, &WriteParams::default()).await?;
    }
    Ok(())
}

fn name(number: usize) -> String {
    format!("r{number:04}")
}

async fn create(cluster: &Cluster, first: usize, count: usize) -> Result<()> {
    let writes = futures::stream::iter(first..first + count).map(|number| async move {
        let text = format!(
            "apiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {{name: {}, namespace: {NAMESPACE}}}\n\
             spec: {{chart: {{archive: {{kind: ConfigMap, name: chart}}}}, serviceAccountName: deployer, interval: 10m}}\n",
            name(number)
        );
        let objects = Object::read_manifest(text.as_bytes(), "bench")?;
        cluster.create(&objects[0], &WriteParams::default()).await?;
        anyhow::Ok(())
    });
    let done: Vec<Result<()>> = writes.buffer_unordered(WRITERS).collect().await;
    done.into_iter().collect()
}

async fn patch_all(cluster: &Cluster, total: usize, patch: &str) -> Result<()> {
    let writes = futures::stream::iter(0..total).map(|number| async move {
        let id = ObjectId::new("helm.sh/v3", "HelmRequest", NAMESPACE, &name(number));
        let body = patch.as_bytes().to_vec();
        cluster.patch(&id, PatchType::Merge, body, &WriteParams::default()).await?;
        anyhow::Ok(())
    });
    let done: Vec<Result<()>> = writes.buffer_unordered(WRITERS).collect().await;
    done.into_iter().collect()
}

/// An hour of intervals in a minute: what it costs, and which requests it sends.
async fn idle(cluster: &Cluster, running: &Running, states: &mut States, total: usize) -> Result<()> {
    let (interval, window) = IDLE;
    patch_all(cluster, total, &format!(r#"{{"spec": {{"interval": "{interval}"}}}}"#)).await?;
    states.until(total, 3).await?;
    let (cpu, reconciled, mut sent) =
        (running.cpu()?, running.reconciliations().await?, Sent::read(cluster).await?);
    tokio::time::sleep(window).await;
    let cpu = running.cpu()? - cpu;
    let reconciled = running.reconciliations().await? - reconciled;
    let hour = INTERVALS_PER_HOUR * total as f64;
    println!(
        "\nIdle: {reconciled} reconciliations in {} s took {cpu:.2} s of CPU; an hour of {hour} takes {:.2} s, {:.2} % of a core.\n",
        window.as_secs(),
        cpu / reconciled * hour,
        cpu / reconciled * hour / 36.0
    );
    println!("| requests while idle, of all clients | per reconciliation | ms each |\n|---|---|---|");
    sent.since(cluster).await?.print(reconciled);
    Ok(())
}

/// The kinds besides our own whose requests are counted: those of the chart, and those that the controller reads and writes.
const COUNTED: [&str; 7] =
    ["configmaps", "deployments", "events", "ingresses", "secrets", "serviceaccounts", "services"];

/// The requests that the API server has answered, by verb and resource: how many, and how many seconds they took.
#[derive(Clone, Default)]
struct Sent(BTreeMap<String, (f64, f64)>);

impl Sent {
    /// What the server has counted since its start.
    async fn read(cluster: &Cluster) -> Result<Sent> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let text = cluster.kube_client().request_text(request).await?;
        let mut found = Sent::default();
        for line in text.lines() {
            let Some(line) = line.strip_prefix("apiserver_request_duration_seconds_") else { continue };
            let label = |key: &str| line.split(&format!("{key}=\"")).nth(1)?.split('"').next();
            let (Some(verb), Some(resource), Some(part), Some(group)) =
                (label("verb"), label("resource"), label("subresource"), label("group"))
            else {
                continue;
            };
            if group != "helm.sh" && !COUNTED.contains(&resource) {
                continue;
            }
            let slash = if part.is_empty() { "" } else { "/" };
            let entry = found.0.entry(format!("{verb} {resource}{slash}{part}")).or_default();
            let value: f64 = line.rsplit(' ').next().and_then(|value| value.parse().ok()).unwrap_or_default();
            match line.split('{').next() {
                Some("count") => entry.0 += value,
                Some("sum") => entry.1 += value,
                _ => {}
            }
        }
        Ok(found)
    }

    /// What was sent since this was read, or since the last call.
    async fn since(&mut self, cluster: &Cluster) -> Result<Sent> {
        let before = std::mem::replace(self, Sent::read(cluster).await?);
        let mut since = self.clone();
        for (what, (count, seconds)) in &mut since.0 {
            let (earlier, spent) = before.0.get(what).copied().unwrap_or_default();
            (*count, *seconds) = (*count - earlier, *seconds - spent);
        }
        Ok(since)
    }

    /// Prints what is sent for at least one of a hundred.
    fn print(&self, units: f64) {
        for (what, (count, seconds)) in self.0.iter().filter(|(_, (count, _))| *count >= units / 100.0) {
            // Watches last as long as they are open.
            match what.starts_with("WATCH") {
                true => println!("| {what} | {:.2} | |", count / units),
                false => println!("| {what} | {:.2} | {:.1} |", count / units, seconds / count * 1000.0),
            }
        }
    }
}

/// The controller.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    fn start(program: &str, kubeconfig: &str) -> Result<Running> {
        let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let cache = std::env::temp_dir().join(format!("pintle-burst-{}", std::process::id()));
        let mut command = Command::new(program);
        command.args([
            "--kubeconfig",
            kubeconfig,
            "--leader-elect=false",
            "--concurrent=10",
            "--concurrent-per-namespace=10",
        ]);
        command.arg(format!("--metrics-addr={free}")).arg(format!("--cache={}", cache.display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("cannot run {program}"))?;
        Ok(Running { child, address: free.to_string() })
    }

    fn proc(&self, file: &str) -> Result<String> {
        let path = format!("/proc/{}/{file}", self.child.id());
        std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {path}; the controller has ended"))
    }

    /// Seconds of CPU so far.
    fn cpu(&self) -> Result<f64> {
        let stat = self.proc("stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
        Ok(ticks / 100.0)
    }

    /// The most memory so far, in MB.
    fn peak(&self) -> Result<f64> {
        let status = self.proc("status")?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("no VmHWM")?;
        let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
        Ok(kib * 1024.0 / 1e6)
    }

    fn row(&self, step: &str, wall: Duration) -> Result<()> {
        println!("| {step} | {:.1} | {:.1} | {:.0} |", wall.as_secs_f64(), self.cpu()?, self.peak()?);
        Ok(())
    }

    async fn reconciliations(&self) -> Result<f64> {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(&self.address).await?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        let counts = text.lines().filter(|line| line.starts_with("pintle_reconcile_duration_seconds_count"));
        Ok(counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Which requests are ready, by a watch.
struct States {
    changes: futures::stream::BoxStream<'static, watcher::Result<HelmRequest>>,
    /// The generation that each request is ready with.
    ready: BTreeMap<String, i64>,
}

impl States {
    fn watch(cluster: &Cluster) -> States {
        let api: Api<HelmRequest> = Api::namespaced(cluster.kube_client().clone(), NAMESPACE);
        let changes = watcher(api, watcher::Config::default()).default_backoff().touched_objects();
        States { changes: changes.boxed(), ready: BTreeMap::new() }
    }

    /// Waits until this number of requests is ready with this generation.
    async fn until(&mut self, count: usize, generation: i64) -> Result<()> {
        let wait = async {
            while self.ready.values().filter(|ready| **ready >= generation).count() < count {
                let Some(Ok(request)) = self.changes.next().await else { continue };
                let status = request.status.clone().unwrap_or_default();
                if status.is_true("Ready") && status.observed_generation == request.generation() {
                    self.ready.insert(request.name().to_owned(), request.generation());
                }
            }
        };
        let done = tokio::time::timeout(LIMIT, wait).await;
        done.with_context(|| format!("only {} of {count} requests became ready", self.ready.len()))
    }
}

//! The library on the embedded cluster: many installs in a row.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pintle::cluster::logs::LogSource;
use pintle::cluster::store::NativeStore;
use pintle::embedded::{self, Embedded};
use pintle::ops::{InstallRequest, install};
use pintle::release::{Query, Status};
use pintle::{DeployOptions, Progress, Reporter, Session, Silent, WaitStrategy};

/// Limit for the average install in a release build.
const MAX_AVERAGE: Duration = Duration::from_millis(10);

/// A chart with ten objects and a hook.
fn write_chart(folder: &Path) {
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    std::fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: ten\nversion: 1.0.0\n").unwrap();
    let mut text = String::new();
    for number in 0..7 {
        write!(
            text,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{{{{ .Release.Name }}}}-{number}\"}}\ndata: {{a: b}}\n---\n"
        )
        .unwrap();
    }
    text.push_str("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: \"{{ .Release.Name }}\"}\n---\n");
    text.push_str("apiVersion: v1\nkind: Service\nmetadata: {name: \"{{ .Release.Name }}\"}\nspec: {selector: {app: \"{{ .Release.Name }}\"}, ports: [{port: 80}]}\n---\n");
    text.push_str("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: \"{{ .Release.Name }}\"}\nspec:\n  selector: {matchLabels: {app: \"{{ .Release.Name }}\"}}\n  template:\n    metadata: {labels: {app: \"{{ .Release.Name }}\"}}\n    spec: {containers: [{name: a, image: nginx}]}\n---\n");
    text.push_str("apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: \"{{ .Release.Name }}-check\"\n  annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: busybox}]}}}\n");
    std::fs::write(folder.join("templates/all.yaml"), text).unwrap();
}

async fn session(file: Option<PathBuf>) -> Session {
    let api = Embedded { file, ..Embedded::default() }.open().await.unwrap();
    let cluster = embedded::cluster(&api, "default");
    Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster)))
}

/// Installs `count` releases in a row and returns the duration of each.
async fn install_all(session: &Session, chart: &Path, count: usize) -> Vec<Duration> {
    let mut taken = Vec::new();
    for number in 0..count {
        let request = InstallRequest {
            chart: chart.into(),
            name: format!("r{number}"),
            namespace: "default".to_owned(),
            deploy: DeployOptions { wait: WaitStrategy::Watcher, ..DeployOptions::default() },
            ..InstallRequest::default()
        };
        let begin = Instant::now();
        let version = install(session, &request, &mut Silent).await.unwrap();
        taken.push(begin.elapsed());
        assert_eq!(version.info.status, Status::Deployed);
    }
    taken
}

fn median(taken: &[Duration]) -> Duration {
    let mut sorted = taken.to_vec();
    sorted.sort();
    sorted[sorted.len() / 2]
}

fn count(otherwise: usize) -> usize {
    std::env::var("PINTLE_INSTALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn average(taken: &[Duration]) -> Duration {
    taken.iter().sum::<Duration>() / u32::try_from(taken.len()).unwrap()
}

/// Formats the average duration and the median of each quarter.
fn summary(taken: &[Duration]) -> String {
    let quarters: Vec<Duration> = taken.chunks(taken.len().div_ceil(4)).map(median).collect();
    format!("{} installs, {:?} each, by quarters {quarters:?}", taken.len(), average(taken))
}

/// `PINTLE_INSTALLS=1000 cargo test --release -p pintle --test it embedded:: -- --nocapture --test-threads=1` prints
/// the figures. The last installs must not take longer than the first, however many objects exist.
#[tokio::test]
async fn installs_follow_each_other_quickly() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path());
    let taken = install_all(&session(None).await, folder.path(), count(10)).await;
    println!("in memory: {}", summary(&taken));
    // The machine may be busy unless the figures were asked for explicitly.
    let is_measured = std::env::var_os("PINTLE_INSTALLS").is_some() && !cfg!(debug_assertions);
    let each = average(&taken);
    assert!(!is_measured || each < MAX_AVERAGE, "{each:?} each");
    if is_measured && taken.len() >= 100 {
        let (first, last) = (median(&taken[..taken.len() / 4]), median(&taken[taken.len() * 3 / 4..]));
        assert!(last < first * 2, "{first:?} each at first, {last:?} at last");
    }
}

/// The same with a file, where every write is durable before it is acknowledged.
#[tokio::test]
async fn installs_in_a_file_are_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path());
    // Not in the folder of the chart, whose files are part of the chart.
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("box.db");
    let count = count(30).div_ceil(10);
    let taken = install_all(&session(Some(file.clone())).await, folder.path(), count).await;
    println!("in a file: {}", summary(&taken));
    let session = session(Some(file)).await;
    let all = session.store.latest(&Query::default()).await.unwrap();
    assert_eq!(all.len(), count);
    assert!(all.iter().all(|summary| summary.status == Status::Deployed));
}

/// Keeps the logs of hooks by namespace, pod and container.
#[derive(Default)]
struct HookLogs(std::collections::BTreeMap<String, String>);

impl Reporter for HookLogs {
    fn report(&mut self, progress: Progress) {
        let Progress::HookLog { source, bytes } = progress else { return };
        let LogSource { namespace, pod, container, .. } = source;
        let text = self.0.entry(format!("{namespace}/{pod}/{container}")).or_default();
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
}

#[tokio::test]
async fn a_program_gets_the_log_of_each_container_of_a_hook() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path());
    let hook = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: talks\n  annotations:\n    helm.sh/hook: pre-install\n    \
                helm.sh/hook-output-log-policy: hook-succeeded\n    pintle.dev/simulate-log: spoken\nspec:\n  \
                restartPolicy: Never\n  containers:\n  - {name: one, image: x}\n  - {name: two, image: x}\n";
    std::fs::write(folder.path().join("templates/hook.yaml"), hook).unwrap();
    let request = InstallRequest {
        chart: folder.path().into(),
        name: "r".to_owned(),
        namespace: "default".to_owned(),
        ..InstallRequest::default()
    };
    let mut logs = HookLogs::default();
    install(&session(None).await, &request, &mut logs).await.unwrap();
    let seen: Vec<(&str, &str)> =
        logs.0.iter().map(|(source, text)| (source.as_str(), text.trim_end())).collect();
    assert_eq!(seen, [("default/talks/one", "spoken"), ("default/talks/two", "spoken")]);
}

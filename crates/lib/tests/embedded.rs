//! The library on the cluster in the box: many installs, one after another.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use pintle::cluster::store::Native;
use pintle::embedded::{self, Embedded};
use pintle::ops::{InstallRequest, install};
use pintle::release::{Moment, Status};
use pintle::{Cancel, Clock, Delivery, Holder, Lifecycle, Session, Silent, Strategy};

/// What one install may take when the program is built for use.
const MOST: Duration = Duration::from_millis(10);

struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Moment {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Moment::from_unix(i64::try_from(since.as_secs()).unwrap(), since.subsec_nanos())
    }

    fn random(&self) -> u128 {
        0
    }
}

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

async fn session() -> Session {
    let api = Embedded::default().open().await.unwrap();
    let cluster = embedded::cluster(&api, "default");
    Session {
        store: Arc::new(Native::new(cluster.clone())),
        cluster,
        others: Vec::new(),
        clock: Arc::new(MachineClock),
        holder: Holder::named("test"),
        lease: Duration::from_secs(30),
        cancel: Cancel::default(),
        events: Lifecycle::default(),
    }
}

/// `PINTLE_INSTALLS=1000 cargo test --release -p pintle --test embedded -- --nocapture` gives the figure.
#[tokio::test(flavor = "multi_thread")]
async fn installs_follow_each_other_quickly() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path());
    let session = session().await;
    let count = std::env::var("PINTLE_INSTALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let begin = Instant::now();
    for number in 0..count {
        let request = InstallRequest {
            chart: folder.path().to_owned(),
            name: format!("r{number}"),
            namespace: "default".to_owned(),
            delivery: Delivery { wait: Strategy::Watcher, ..Delivery::default() },
            ..InstallRequest::default()
        };
        let version = install(&session, &request, &mut Silent).await.unwrap();
        assert_eq!(version.info.status, Status::Deployed);
    }
    let each = begin.elapsed() / count;
    println!("{count} installs, {each:?} each");
    assert!(cfg!(debug_assertions) || each < MOST, "{each:?} each");
}

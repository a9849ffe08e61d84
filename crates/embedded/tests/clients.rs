//! Real clients on the embedded API: `kubectl`, and Helm where `PINTLE_HELM` names it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::store::{HistoryWindow, Store};
use pintle_embedded::{Api, Options, SystemClock, serve};
use tempfile::TempDir;

/// A server on a port, and a directory with its kubeconfig.
struct Cluster {
    folder: TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl Cluster {
    fn start() -> Cluster {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let address = runtime.block_on(async {
            let store = Store::in_memory(HistoryWindow::default());
            let options =
                Options { catalog: ApiCatalog::newest(), store, clock: Arc::new(SystemClock), seed: 3 };
            let api = Api::start(options).await.unwrap();
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move {
                serve::serve(api, listener, &serve::Settings::default(), std::future::pending()).await
            });
            address
        });
        std::fs::write(folder.path().join("kubeconfig"), serve::kubeconfig(address, None)).unwrap();
        Cluster { folder, _runtime: runtime }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Runs a program in the directory; returns its exit code and output.
    fn run(&self, program: &Path, words: &str) -> (i32, String) {
        let output = Command::new(program)
            .args(words.split(' '))
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.path("kubeconfig"))
            .env("HOME", self.folder.path())
            .env("KUBECACHEDIR", self.path("cache"))
            .output()
            .unwrap();
        let mut said = String::from_utf8(output.stdout).unwrap();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), said)
    }

    /// The same, which must succeed and print each of `wanted`.
    fn expect(&self, program: &Path, words: &str, wanted: &[&str]) {
        let (code, said) = self.run(program, words);
        assert_eq!(code, 0, "{words}: {said}");
        for text in wanted {
            assert!(said.contains(text), "{words} does not say `{text}`:\n{said}");
        }
    }
}

fn on_the_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

const APP: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"#;

#[test]
fn kubectl_works() {
    let Some(kubectl) = on_the_path("kubectl") else { return println!("skipped: there is no kubectl") };
    let cluster = Cluster::start();
    let expect = |words: &str, wanted: &[&str]| cluster.expect(&kubectl, words, wanted);
    cluster.write("app.yaml", APP);
    expect("apply -f app.yaml", &["deployment.apps/web created", "service/web created"]);
    expect("apply -f app.yaml", &["deployment.apps/web unchanged", "service/web unchanged"]);
    cluster.write("app.yaml", &APP.replace("replicas: 2", "replicas: 3"));
    let (code, said) = cluster.run(&kubectl, "diff -f app.yaml");
    assert!(code == 1 && said.contains("+  replicas: 3"), "{code}: {said}");
    expect("apply -f app.yaml", &["deployment.apps/web configured", "service/web unchanged"]);
    expect("apply --server-side --force-conflicts -f app.yaml", &["deployment.apps/web serverside-applied"]);
    expect("get deploy,svc -o wide", &["READY", "0/3", "nginx", "app=web", "80/TCP"]);
    expect("describe deploy web", &["Replicas:", "3 desired", "RollingUpdate"]);
    expect("explain deployment.spec.strategy", &["rollingUpdate", "The deployment strategy to use"]);
    expect("wait --for=jsonpath={.spec.replicas}=3 deploy/web --timeout=300s", &["condition met"]);
    expect("create namespace other", &["namespace/other created"]);
    expect("create configmap cm --from-literal=a=b -n other", &["configmap/cm created"]);
    expect("delete namespace other --timeout=300s", &["deleted"]);
    expect("auth can-i create pods", &["yes"]);
    expect("delete -f app.yaml --timeout=300s", &["deployment.apps \"web\" deleted"]);
    expect("get deploy", &["No resources found"]);
}

#[test]
fn the_real_helm_works() {
    let Some(helm) = std::env::var_os("PINTLE_HELM") else {
        return println!("skipped: PINTLE_HELM is not set");
    };
    let helm = PathBuf::from(helm);
    let cluster = Cluster::start();
    let expect = |words: &str, wanted: &[&str]| cluster.expect(&helm, words, wanted);
    expect("create demo", &[]);
    expect("install one demo", &["STATUS: deployed"]);
    expect("list", &["one", "deployed", "demo-0.1.0"]);
    expect("upgrade one demo --set replicaCount=2", &["REVISION: 2"]);
    expect("rollback one 1", &["Rollback was a success"]);
    expect("history one", &["Rollback to 1", "superseded"]);
    expect("uninstall one", &["uninstalled"]);
}

//! `controller run`, and what the other commands say about releases that HelmRequests manage

use crate::support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use pintle::cluster::{Cluster, Settings, WriteParams, crds};
use pintle::objects::Object;
use support::TestEnv;

/// A limit that only a broken program reaches.
const LIMIT: Duration = Duration::from_secs(240);

/// A program in the background, ended with the test.
struct Background(Child);

impl Background {
    fn start(env: &TestEnv, line: &str) -> Background {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pintle"));
        command.args(support::words(line)).current_dir(env.path()).env_clear();
        command.env("HOME", env.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Background(command.spawn().expect("the program runs"))
    }

    fn first_line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.0.stdout.take().expect("it prints");
        BufReader::new(stdout).read_line(&mut line).expect("it prints");
        line
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn apply(kubeconfig: &std::path::Path, manifest: &str) {
    let settings = Settings {
        kubeconfig: vec![kubeconfig.to_owned()],
        explicit_kubeconfig: true,
        ..Settings::default()
    };
    let cluster = Cluster::connect(&settings).await.expect("a kubeconfig");
    crds::install_for_controller(&cluster).await.expect("the cluster takes CRDs");
    for object in Object::read_manifest(manifest.as_bytes(), "test").expect("valid") {
        cluster.apply(&object, true, &WriteParams::default()).await.expect("the cluster takes it");
    }
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_release_of_the_controller_is_shown_as_managed_and_can_be_exported() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write(
        "web/templates/all.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {text: '{{ .Values.text }}'}\n",
    );
    assert!(env.pintle("package web").contains("exit 0"));
    let archive = std::fs::read(env.path().join("web-1.0.0.tgz")).expect("packaged");
    let archive = base64::engine::general_purpose::STANDARD.encode(archive);
    let mut server = Background::start(&env, "cluster serve --insecure --write-kubeconfig config.yaml");
    assert_eq!(server.first_line(), "export KUBECONFIG=config.yaml\n");
    let manifest = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: chart, namespace: default}}\nbinaryData: {{chart.tgz: {archive}}}\n---\n\
         apiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {{name: web, namespace: default, labels: {{shard: a}}}}\n\
         spec: {{chart: {{archive: {{kind: ConfigMap, name: chart}}}}, values: {{text: one}}}}\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(apply(&env.path().join("config.yaml"), &manifest));
    let run = |line: &str| env.pintle(&format!("{line} --kubeconfig config.yaml"));
    let controller = Background::start(
        &env,
        "controller run --all-namespaces --selector shard=a --concurrent 2 --watch-values --allow-private-network --as default --kubeconfig config.yaml",
    );
    until("the request becomes ready", || run("request list").contains("True"));
    let logs = run("request logs web --follow");
    assert!(logs.contains("InstallSucceeded: installed chart web-1.0.0 as version 1"), "{logs}");
    let listed = run("list");
    assert!(listed.contains("MANAGED BY") && listed.contains("default/web"), "{listed}");
    assert!(run("list -o json").contains("\"managed_by\":\"default/web\""));
    drop(controller);
    let refused = run("request export web");
    assert!(refused.contains("the record does not say where chart web-1.0.0 came from"), "{refused}");
    assert!(refused.contains("--chart URL") && !refused.contains("kind: HelmRequest"), "{refused}");
    let exported = run("request export web --repo https://charts.example.com");
    for part in ["kind: HelmRequest", "text: one", "repository: https://charts.example.com", "name: web"] {
        assert!(exported.contains(part), "{part}: {exported}");
    }
    for (line, undo) in [
        ("upgrade web ./web --set text=two", "upgrade it back"),
        ("rollback web 1", "upgrade it again"),
        ("uninstall web", "install it again"),
    ] {
        let shown = run(line);
        let warning = format!("HelmRequest default/web manages this release, and the controller will {undo}");
        assert!(shown.contains(&warning), "{line}: {shown}");
    }
}

#[test]
fn the_controller_serves_the_embedded_cluster_that_it_has_open() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n");
    assert!(env.pintle("package web").contains("exit 0"));
    let archive = std::fs::read(env.path().join("web-1.0.0.tgz")).expect("packaged");
    let archive = base64::engine::general_purpose::STANDARD.encode(archive);
    let line = "controller run --cluster embedded:try.db --write-kubeconfig try.yaml";
    let mut controller = Background::start(&env, line);
    assert_eq!(controller.first_line(), "export KUBECONFIG=try.yaml\n");
    let manifest = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: chart, namespace: default}}\nbinaryData: {{chart.tgz: {archive}}}\n---\n\
         apiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {{name: web, namespace: default}}\n\
         spec: {{chart: {{archive: {{kind: ConfigMap, name: chart}}}}}}\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(apply(&env.path().join("try.yaml"), &manifest));
    let run = |line: &str| env.pintle(&format!("{line} --kubeconfig try.yaml"));
    until("the request becomes ready", || run("request list").contains("True"));
    assert!(run("list").contains("web-1.0.0"));
    let elsewhere = env.pintle("controller run --kubeconfig try.yaml --write-kubeconfig other.yaml");
    assert!(
        elsewhere.starts_with("exit 2\n") && elsewhere.contains("--cluster embedded:FILE"),
        "{elsewhere}"
    );
}

#[test]
fn a_helm_release_of_flux_becomes_a_request() {
    let env = TestEnv::new();
    env.write(
        "flux.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec:\n  interval: 5m\n  chartRef: {kind: OCIRepository, name: web}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web, namespace: apps}\nspec: {url: 'oci://registry.example.com/web', ref: {semver: 1.x}}\n",
    );
    let shown = env.pintle("request export --flux --file flux.yaml");
    for part in ["url: oci://registry.example.com/web", "version: 1.x", "interval: 5m", "takeOwnership: true"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(env.pintle("request export").contains("name a release, or use --flux"));
    assert!(env.pintle("request export web --file flux.yaml").contains("--file is for --flux"));
}

/// A CRD of Flux, reduced to what the conversion reads.
fn flux_definition(group: &str, version: &str, kind: &str, plural: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {plural}.{group}}}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: {kind}, plural: {plural}}}\n  versions:\n\
         \x20 - name: {version}\n    served: true\n    storage: true\n\
         \x20   schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n---\n"
    )
}

#[test]
fn a_helm_release_in_the_cluster_becomes_a_request() {
    let env = TestEnv::new();
    let mut server = Background::start(&env, "cluster serve --insecure --write-kubeconfig config.yaml");
    assert_eq!(server.first_line(), "export KUBECONFIG=config.yaml\n");
    let source = "source.toolkit.fluxcd.io";
    let manifest = [
        flux_definition("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases"),
        flux_definition(source, "v1", "HelmRepository", "helmrepositories"),
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: default}\n\
         spec:\n  interval: 5m\n  values: {replicas: 2}\n\
         \x20 chart: {spec: {chart: nginx, version: 1.x, sourceRef: {kind: HelmRepository, name: charts}}}\n---\n"
            .to_owned(),
        format!(
            "apiVersion: {source}/v1\nkind: HelmRepository\nmetadata: {{name: charts, namespace: default}}\n\
             spec: {{url: 'https://charts.example.com'}}\n"
        ),
    ]
    .concat();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(apply(&env.path().join("config.yaml"), &manifest));
    let run = |line: &str| env.pintle(&format!("{line} --kubeconfig config.yaml"));
    let exported = run("request export --flux web");
    for part in ["repository: https://charts.example.com", "name: nginx", "version: 1.x", "replicas: 2"] {
        assert!(exported.contains(part), "{part}: {exported}");
    }
    assert!(run("request export --flux other").contains("there is no HelmRelease `other`"));
    env.write(
        "alone.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec:\n  interval: 5m\n  chart: {spec: {chart: nginx, sourceRef: {kind: HelmRepository, name: charts}}}\n",
    );
    let refused = env.pintle("request export --flux --file alone.yaml");
    assert!(refused.contains("HelmRepository apps/charts, which has its chart, was not found"), "{refused}");
    assert!(refused.contains("--repo URL"), "{refused}");
    let given = env.pintle("request export --flux --file alone.yaml --repo https://charts.example.com");
    assert!(
        given.contains("repository: https://charts.example.com") && given.contains("name: nginx"),
        "{given}"
    );
}

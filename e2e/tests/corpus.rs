//! Real charts, installed and upgraded by the real Helm and by ours: the cluster must have the same objects, including field
//! managers, except for generated values (uids, times, addresses, random strings).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pintle_e2e::{Program, TestEnv, archive};
use pintle_tree::Node;
use serde_json::Value;

use crate::support::{cluster_wide, wait_until_gone};

/// A chart and how it is installed and upgraded.
struct Case {
    /// The prefix of the archive's name.
    chart: &'static str,
    /// Flags for both commands.
    flags: &'static [&'static str],
    /// Flags for the upgrade.
    change: &'static str,
    /// Whether it generates passwords or certificates.
    random: bool,
}

impl Case {
    /// Whether the chart has a folder `crds`.
    fn crds(&self) -> bool {
        self.chart.contains("rollout-operator")
    }
}

macro_rules! charts {
    ($($test:ident: $chart:literal $(($($flag:literal),*))? then $change:literal $($random:ident)?;)*) => {$(
        #[test]
        fn $test() {
            let random = [$(stringify!($random))?].contains(&"random");
            let flags = &[$($($flag),*)?];
            check(stringify!($test), &Case { chart: $chart, flags, change: $change, random });
        }
    )*};
}

// `--no-hooks` where hooks are Jobs, which never complete without a node. Webhooks and aggregated APIs that would affect
// other tests are disabled, or their charts are left out.
charts! {
    argo_cd_is_the_same: "argoproj__argo-cd-" ("--no-hooks") then "server.replicas=2";
    argo_rollouts_is_the_same: "argoproj__argo-rollouts-" then "controller.replicas=3";
    contour_is_the_same: "bitnami__contour-" ("--no-hooks") then "commonLabels.stage=two";
    elasticsearch_is_the_same: "bitnami__elasticsearch-" then "data.replicaCount=1";
    external_dns_is_the_same: "bitnami__external-dns-" then "podAnnotations.stage=two";
    nginx_is_the_same: "bitnami__nginx-" then "replicaCount=2" random;
    redis_is_the_same: "bitnami__redis-" then "replica.replicaCount=1" random;
    zookeeper_is_the_same: "bitnami__zookeeper-" then "commonLabels.stage=two";
    kafka_is_the_same: "bitnami__kafka-" then "controller.replicaCount=1" random;
    external_secrets_is_the_same: "external-secrets__external-secrets-" then "webhook.create=false";
    fluent_bit_is_the_same: "fluent__fluent-bit-0" then "service.type=NodePort";
    grafana_is_the_same: "grafana-community__grafana-" then "service.port=81" random;
    loki_distributed_is_the_same: "grafana__loki-distributed-" then "gateway.enabled=false";
    rollout_operator_is_the_same: "grafana__rollout-operator-" then "podLabels.stage=two";
    vault_is_the_same: "hashicorp__vault-" ("--set", "injector.enabled=false") then "server.resources.requests.memory=64Mi";
    jenkins_is_the_same: "jenkinsci__jenkins-" then "controller.serviceType=NodePort" random;
    ingress_nginx_is_the_same: "kubernetes__ingress-nginx-" ("--set", "controller.admissionWebhooks.enabled=false")
        then "controller.kind=DaemonSet";
    metallb_is_the_same: "metallb__metallb-" then "speaker.enabled=false,frrk8s.enabled=false";
    opentelemetry_demo_is_the_same: "open-telemetry__opentelemetry-demo-" then "default.replicas=2" random;
    kube_state_metrics_is_the_same: "prometheus-community__kube-state-metrics-" then "replicas=2";
    node_exporter_is_the_same: "prometheus-community__prometheus-node-exporter-" then "service.port=9101";
    prometheus_is_the_same: "prometheus-community__prometheus-29" then "server.replicaCount=2";

    argo_rollouts_merged_here_is_the_same: "argoproj__argo-rollouts-" ("--server-side=false")
        then "controller.replicas=3";
    ingress_nginx_merged_here_is_the_same: "kubernetes__ingress-nginx-"
        ("--server-side=false", "--set", "controller.admissionWebhooks.enabled=false")
        then "controller.service.type=NodePort";
    rollout_operator_merged_here_is_the_same: "grafana__rollout-operator-" ("--server-side=false")
        then "podLabels.stage=two";
    prometheus_merged_here_is_the_same: "prometheus-community__prometheus-29" ("--server-side=false")
        then "server.replicaCount=2,server.env[0].name=STAGE,server.env[0].value=two";
}

fn check(test: &str, case: &Case) {
    let Some(chart) = archive(case.chart) else { return };
    let Some(env) = TestEnv::new(test) else { return };
    let test = ChartTest { env: &env, case, chart: &chart };
    // Charts with the same cluster-scoped objects, such as a chart and its subchart, take a lock on their names.
    let _locks = env.lock(cluster_wide(&env, &chart, case.flags, case.change));
    let want = test.run_lifecycle(Program::Helm4);
    let got = test.run_lifecycle(Program::PintleAsHelm);
    for (what, want, got) in [
        ("install", &want.installed, &got.installed),
        ("upgrade", &want.upgraded, &got.upgraded),
        ("uninstall", &want.left, &got.left),
    ] {
        let differences = differences(want, got);
        assert!(differences.is_empty(), "after {what}, Helm < > ours:\n{}", differences.join("\n"));
    }
    assert!(!want.installed.is_empty() && want.installed != want.upgraded, "the test compares nothing");
}

/// Objects by their paths.
type Objects = BTreeMap<String, Value>;

/// The live objects after each command.
struct Snapshots {
    installed: Objects,
    upgraded: Objects,
    left: Objects,
}

/// A kind as the API serves it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ResourceKind {
    path: String,
    kind: String,
}

struct ChartTest<'a> {
    env: &'a TestEnv,
    case: &'a Case,
    chart: &'a Path,
}

impl ChartTest<'_> {
    /// Installs, upgrades and uninstalls the chart with a program, and removes leftovers.
    fn run_lifecycle(&self, program: Program) -> Snapshots {
        let chart = self.chart.to_string_lossy().into_owned();
        let run = |arguments: &[&str]| self.env.run(program, arguments).succeeded();
        run(&[&["install", "rel", &chart], self.case.flags].concat());
        let mut kinds = self.kinds();
        let installed = self.live(&kinds);
        run(&[&["upgrade", "rel", &chart, "--set", self.case.change], self.case.flags].concat());
        kinds.extend(self.kinds());
        let upgraded = self.live(&kinds);
        let flags: &[&str] = if self.case.flags.contains(&"--no-hooks") { &["--no-hooks"] } else { &[] };
        run(&[&["uninstall", "rel"], flags].concat());
        let left = self.live(&kinds);
        for path in left.keys() {
            self.env.api().delete(path);
        }
        wait_until_gone(self.env, installed.keys().chain(upgraded.keys()).collect());
        Snapshots { installed, upgraded, left }
    }

    /// The kinds of the release, and of its CRDs.
    fn kinds(&self) -> BTreeSet<ResourceKind> {
        // The real Helm reads the record of either program.
        let manifest = self.env.run(Program::Helm4, &["get", "manifest", "rel"]).succeeded().stdout;
        let mut kinds = BTreeSet::new();
        if self.case.crds() {
            kinds.insert(("apiextensions.k8s.io/v1".to_owned(), "CustomResourceDefinition".to_owned()));
        }
        for document in manifest.split("\n---") {
            let object = read(document);
            let text = |key: &str| object.get(key).and_then(Node::as_str).map(str::to_owned);
            kinds.extend(text("apiVersion").zip(text("kind")));
        }
        kinds.into_iter().map(|(version, kind)| self.kind_info(&version, kind)).collect()
    }

    fn kind_info(&self, version: &str, kind: String) -> ResourceKind {
        let root = if version.contains('/') { "apis" } else { "api" };
        let served = self.env.api().send("GET", &format!("/{root}/{version}"), "", "").object();
        let resources = served["resources"].as_array().expect("a version has resources");
        let of_kind = |resource: &&Value| {
            resource["kind"] == kind.as_str() && !resource["name"].to_string().contains('/')
        };
        let resource = resources.iter().find(of_kind).unwrap_or_else(|| panic!("{version} has no {kind}"));
        let plural = resource["name"].as_str().expect("a resource has a name");
        let path = match resource["namespaced"] == true {
            true => self.env.path(version, plural, ""),
            false => format!("/{root}/{version}/{plural}"),
        };
        ResourceKind { path, kind }
    }

    /// The live objects of the release, with generated values masked.
    fn live(&self, kinds: &BTreeSet<ResourceKind>) -> Objects {
        let mut objects = Objects::new();
        for kind_info in kinds {
            for mut object in self.env.api().list(&kind_info.path) {
                let annotations = &object["metadata"]["annotations"];
                let ours = annotations["meta.helm.sh/release-name"] == "rel"
                    && annotations["meta.helm.sh/release-namespace"] == self.env.namespace();
                // Objects that are being deleted disappear at different times.
                let going = !object["metadata"]["deletionTimestamp"].is_null();
                if !going && (ours || self.is_of_crds(kind_info, &object)) {
                    object["kind"] = kind_info.kind.as_str().into();
                    mask_generated(&mut object, self.case.random);
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    objects.insert(format!("{}/{name}", kind_info.path), object);
                }
            }
        }
        objects
    }

    /// Whether an object came from `crds/`; those have no labels of the release.
    fn is_of_crds(&self, kind_info: &ResourceKind, object: &Value) -> bool {
        kind_info.kind == "CustomResourceDefinition"
            && self.case.crds()
            && object["spec"]["group"] == "rollout-operator.grafana.com"
    }
}

fn read(document: &str) -> Node {
    let object = pintle_yaml::read(document.trim_start_matches("---").as_bytes());
    object.unwrap_or_else(|error| panic!("{error} in {document}"))
}

/// Masks values that the server, controllers or random functions generated.
fn mask_generated(object: &mut Value, random: bool) {
    let fields = object.as_object_mut().expect("an object is a map");
    fields.remove("status");
    let metadata = object["metadata"].as_object_mut().expect("an object has metadata");
    for key in ["uid", "resourceVersion", "creationTimestamp"] {
        metadata.remove(key);
    }
    if let Some(owners) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
        // Controllers update their fields at any time.
        owners.retain(|owner| owner["manager"] == "helm");
        for owner in owners {
            owner.as_object_mut().expect("an owner is a map").remove("time");
        }
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("deployment.kubernetes.io/revision");
        annotations.remove("deprecated.daemonset.template.generation");
    }
    for key in ["clusterIP", "clusterIPs", "healthCheckNodePort", "volumeName"] {
        mask(&mut object["spec"][key]);
    }
    for port in object["spec"]["ports"].as_array_mut().into_iter().flatten() {
        mask(&mut port["nodePort"]);
    }
    if random {
        if object["kind"] == "Secret" {
            object["data"].as_object_mut().into_iter().flatten().for_each(|(_, value)| mask(value));
        }
        let annotations = &mut object["spec"]["template"]["metadata"]["annotations"];
        let annotations = annotations.as_object_mut().into_iter().flatten();
        annotations.filter(|(key, _)| key.starts_with("checksum/")).for_each(|(_, value)| mask(value));
    }
}

/// Replaces a value by a marker.
fn mask(value: &mut Value) {
    if !value.is_null() {
        *value = "something".into();
    }
}

fn differences(want: &Objects, got: &Objects) -> Vec<String> {
    let mut found = Vec::new();
    let keys: BTreeSet<&String> = want.keys().chain(got.keys()).collect();
    for key in keys {
        match (want.get(key), got.get(key)) {
            (Some(want), Some(got)) => compare(key, want, got, &mut found),
            (Some(_), None) => found.push(format!("{key}: only Helm has it")),
            (None, _) => found.push(format!("{key}: only ours has it")),
        }
    }
    found
}

fn compare(path: &str, want: &Value, got: &Value, found: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (a, b) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                compare(&format!("{path}.{key}"), a, b, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}[{index}]"), a, b, found);
            }
        }
        (want, got) if want != got => found.push(format!("{path}: {want} < > {got}")),
        _ => {}
    }
}

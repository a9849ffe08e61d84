//! The findings of rehearsals must equal those of a real API server in a dry run: each field error and each warning of one
//! must be one of the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use pintle_e2e::{DryRunResult, Program, TestEnv, archive, needs_real};
use pintle_tree::{Node, json};
use serde_json::Value;

/// The timeout for a new CRD to be served.
const LIMIT: Duration = Duration::from_secs(180);

macro_rules! charts {
    ($($test:ident: $chart:literal $($flag:literal)*;)*) => {$(
        #[test]
        fn $test() {
            needs_real!("compares our own API with a real server");
            let Some(chart) = archive($chart) else { return };
            check(stringify!($test), &chart, &[$($flag),*]);
        }
    )*};
}

// Selected for their content and their errors. Charts with `crds/` are not used by other tests, because CRDs are
// cluster-wide.
charts! {
    // No findings.
    argo_cd_is_validated_alike: "argoproj__argo-cd-";
    argo_workflows_is_validated_alike: "argoproj__argo-workflows-";
    airflow_is_validated_alike: "bitnami__airflow-";
    harbor_is_validated_alike: "bitnami__harbor-";
    kafka_is_validated_alike: "bitnami__kafka-";
    mastodon_is_validated_alike: "bitnami__mastodon-";
    cilium_is_validated_alike: "cilium__cilium-";
    redis_ha_is_validated_alike: "DandyDeveloper__redis-ha-";
    external_secrets_is_validated_alike: "external-secrets__external-secrets-";
    vault_is_validated_alike: "hashicorp__vault-";
    cluster_autoscaler_is_validated_alike: "kubernetes__cluster-autoscaler-";
    ingress_nginx_is_validated_alike: "kubernetes__ingress-nginx-";
    opentelemetry_demo_is_validated_alike: "open-telemetry__opentelemetry-demo-";
    opensearch_of_its_project_is_validated_alike: "opensearch-project__opensearch-3";
    prometheus_is_validated_alike: "prometheus-community__prometheus-29";
    prometheus_adapter_is_validated_alike: "prometheus-community__prometheus-adapter-";
    // CRDs and custom resources.
    apisix_is_validated_alike: "apache__apisix-2";
    appmesh_is_validated_alike: "aws__appmesh-controller-";
    fluent_operator_is_validated_alike: "fluent__fluent-operator-";
    kong_ingress_is_validated_alike: "Kong__ingress-";
    multus_is_validated_alike: "k8s-at-home__multus-";
    gatekeeper_is_validated_alike: "open-policy-agent__gatekeeper-";
    metallb_is_validated_alike: "metallb__metallb-";
    // Warnings.
    grafana_loki_is_validated_alike: "bitnami__grafana-loki-";
    opensearch_is_validated_alike: "bitnami__opensearch-";
    kroki_is_validated_alike: "cowboysysop__kroki-";
    coredns_is_validated_alike: "helm__coredns-";
    // Errors: removed API versions, missing kinds and namespaces, invalid values.
    spire_server_is_validated_alike: "aws__appmesh-spire-server-";
    old_cert_manager_is_validated_alike: "helm__cert-manager-";
    old_concourse_is_validated_alike: "helm__concourse-";
    old_kong_is_validated_alike: "helm__kong-";
    hadoop_is_validated_alike: "helm__hadoop-";
    mongodb_replicaset_is_validated_alike: "helm__mongodb-replicaset-";
    old_prometheus_operator_is_validated_alike: "helm__prometheus-operator-";
    alpine_is_validated_alike: "helm__testdata.alpine-";
    import_values_is_validated_alike: "helm__testdata.import-values-";
    influxdb_enterprise_is_validated_alike: "influxdata__influxdb-enterprise-";
    linkerd_multicluster_is_validated_alike: "linkerd__linkerd-multicluster-0";
    rook_cluster_is_validated_alike: "rook__rook-ceph-cluster-";
    chartreuse_is_validated_alike: "wiremind__chartreuse-";
    csi_host_path_is_validated_alike: "wiremind__csi-driver-host-path-";
}

/// One mistake of each type, each in its own object.
const MISTAKES: &str = include_str!("rehearse/mistakes.yaml");

#[test]
fn mistakes_of_all_types_are_reported_alike() {
    needs_real!("compares our own API with a real server");
    let Some(env) = TestEnv::new("mistakes_of_all_types_are_reported_alike") else { return };
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/templates/all.yaml", MISTAKES);
    let found = compare(&env, &env.folder().join("web"), &[]);
    let objects: BTreeSet<&String> = found.iter().map(|(object, ..)| object).collect();
    let wrong = MISTAKES.lines().filter(|line| line.starts_with("# ")).count();
    assert_eq!(objects.len(), wrong, "each object is told of: {found:#?}");
}

fn check(test: &str, chart: &Path, flags: &[&str]) {
    if let Some(env) = TestEnv::new(test) {
        compare(&env, chart, flags);
    }
}

/// The object, whether it is an error, and the message.
type Findings = BTreeSet<(String, bool, String)>;

/// Asserts that both have the same findings, and returns them.
fn compare(env: &TestEnv, chart: &Path, flags: &[&str]) -> Findings {
    let version = env.api().send("GET", "/version", "", "").object();
    let minor = version["minor"].as_str().expect("a version has numbers").trim_end_matches('+').to_owned();
    let subject =
        Comparison { env, chart: chart.to_string_lossy().into_owned(), version: format!("1.{minor}"), flags };
    let ours = subject.rehearsal();
    let real = subject.real();
    let only = |one: &Findings, other: &Findings| {
        one.difference(other).map(|it| format!("{it:?}\n")).collect::<String>()
    };
    assert!(
        ours == real,
        "only the rehearsal says:\n{}only the server says:\n{}",
        only(&ours, &real),
        only(&real, &ours)
    );
    ours
}

struct Comparison<'a> {
    env: &'a TestEnv,
    chart: String,
    version: String,
    flags: &'a [&'a str],
}

/// The API path of each kind, and whether it is namespaced.
type Kinds = BTreeMap<(String, String), (String, bool)>;

impl Comparison<'_> {
    /// The findings of a rehearsal of the chart.
    fn rehearsal(&self) -> Findings {
        let arguments =
            ["rehearse", &self.chart, "--release-name", "rel", "--kube-version", &self.version, "-o", "json"];
        let ran = self.env.run(Program::Pintle, &[&arguments, self.flags].concat());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
        let findings = report["findings"].as_array().expect("a report has findings");
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        // Other findings are about running the objects, which a dry run cannot report, and about those that never reach
        // the server.
        let elsewhere = ["not ready", "failed", "neither installed nor run"];
        let about = findings.iter().filter(|it| {
            let is_elsewhere = elsewhere.iter().any(|part| text(it, "message").contains(part));
            it["stage"] == "install" && it["file"] != "" && it["severity"] != "note" && !is_elsewhere
        });
        about
            .map(|it| {
                let message = text(it, "message");
                let (message, _) =
                    message.split_once("; ").filter(|(start, _)| is_missing(start)).unwrap_or((&message, ""));
                (text(it, "object"), it["severity"] == "error", message.to_owned())
            })
            .collect()
    }

    /// The findings of the real server.
    fn real(&self) -> Findings {
        let mut findings = Findings::new();
        let definitions = documents(&self.helm(&["show", "crds", &self.chart]));
        let own = groups_of(&definitions);
        let made = self.define(&definitions, &mut findings);
        let kinds = self.kinds(&own);
        let mut arguments = vec!["template", "rel", &self.chart, "--kube-version", &self.version];
        let served: BTreeSet<String> =
            kinds.keys().flat_map(|(version, kind)| [version.clone(), format!("{version}/{kind}")]).collect();
        served.iter().for_each(|version| arguments.extend(["--api-versions", version]));
        let rendered = documents(&self.helm(&[&arguments, self.flags].concat()));
        self.make_accounts(&rendered, &kinds);
        self.ask(&rendered, &kinds, &mut findings);
        for name in made {
            self.env.api().delete(&format!("{DEFINITIONS}/{name}"));
        }
        findings
    }

    fn helm(&self, arguments: &[&str]) -> String {
        self.env.run(Program::Helm4, arguments).succeeded().stdout
    }

    /// Creates the chart's CRDs and returns the names of those that did not exist.
    fn define(&self, definitions: &[Node], findings: &mut Findings) -> Vec<String> {
        let mut made = Vec::new();
        let kinds = self.kinds(&BTreeSet::new());
        self.ask(definitions, &kinds, findings);
        let served = definitions.iter().filter(|it| text(it, &["apiVersion"]) == "apiextensions.k8s.io/v1");
        for definition in served {
            let name = text(definition, &["metadata", "name"]).to_owned();
            let answer = self.env.api().send("POST", DEFINITIONS, "application/json", &body(definition));
            if answer.is_ok() {
                made.push(name);
            }
        }
        let limit = Instant::now() + LIMIT;
        for name in &made {
            let is_served = |definition: Value| {
                let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
                conditions.iter().any(|it| it["type"] == "Established" && it["status"] == "True")
            };
            while !self.env.api().read(&format!("{DEFINITIONS}/{name}")).is_some_and(is_served) {
                assert!(Instant::now() < limit, "{name} is not served");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        made
    }

    /// The built-in kinds and those of the `own` groups; other tests create CRDs at the same time.
    fn kinds(&self, own: &BTreeSet<String>) -> Kinds {
        let api = self.env.api();
        let foreign: BTreeSet<String> = api
            .list(DEFINITIONS)
            .iter()
            .map(|it| it["spec"]["group"].as_str().unwrap_or_default().to_owned())
            .filter(|group| !own.contains(group))
            .collect();
        let groups = api.send("GET", "/apis", "", "").object();
        let mut versions = vec!["v1".to_owned()];
        for group in groups["groups"].as_array().into_iter().flatten() {
            if !foreign.contains(group["name"].as_str().unwrap_or_default()) {
                let names = group["versions"].as_array().into_iter().flatten();
                versions.extend(names.filter_map(|it| it["groupVersion"].as_str().map(str::to_owned)));
            }
        }
        let mut kinds = Kinds::new();
        for version in versions {
            let answer = api.send("GET", &path_of(&version), "", "");
            // The group of another test may have been deleted meanwhile.
            let served: Value = serde_json::from_str(&answer.body).unwrap_or_default();
            for resource in served["resources"].as_array().into_iter().flatten() {
                let (name, kind) = (resource["name"].as_str(), resource["kind"].as_str());
                let (Some(name), Some(kind)) = (name, kind) else { continue };
                if !name.contains('/') {
                    let place = (name.to_owned(), resource["namespaced"] == true);
                    kinds.insert((version.clone(), kind.to_owned()), place);
                }
            }
        }
        kinds
    }

    /// Creates service accounts, without which pods are rejected; an install creates them first.
    fn make_accounts(&self, rendered: &[Node], kinds: &Kinds) {
        for account in rendered.iter().filter(|it| text(it, &["kind"]) == "ServiceAccount") {
            let namespace = text(account, &["metadata", "namespace"]);
            if namespace.is_empty() || namespace == self.env.namespace() {
                let path = self.path(account, kinds).expect("accounts are known");
                self.env.api().send("POST", &path, "application/json", &body(account));
            }
        }
    }

    /// The API path of an object's collection.
    fn path(&self, object: &Node, kinds: &Kinds) -> Option<String> {
        let version = text(object, &["apiVersion"]);
        let (name, namespaced) = kinds.get(&(version.to_owned(), text(object, &["kind"]).to_owned()))?;
        let namespace = match text(object, &["metadata", "namespace"]) {
            "" => self.env.namespace(),
            other => other,
        };
        Some(match namespaced {
            true => format!("{}/namespaces/{namespace}/{name}", path_of(version)),
            false => format!("{}/{name}", path_of(version)),
        })
    }

    fn name(&self, object: &Node, kinds: &Kinds) -> String {
        let (kind, name) = (text(object, &["kind"]), text(object, &["metadata", "name"]));
        let namespace = text(object, &["metadata", "namespace"]);
        let known = kinds.get(&(text(object, &["apiVersion"]).to_owned(), kind.to_owned()));
        let lives_in_none = known.is_some_and(|(_, namespaced)| !namespaced);
        match namespace.is_empty()
            || namespace == self.env.namespace()
            || lives_in_none && namespace.is_empty()
        {
            true => format!("{kind}/{name}"),
            false => format!("{kind}/{namespace}/{name}"),
        }
    }

    /// Sends objects in dry-run mode and records the findings.
    fn ask(&self, objects: &[Node], kinds: &Kinds, findings: &mut Findings) {
        // Namespaces that the chart creates do not exist yet.
        let own = groups_of(objects);
        let spaces: BTreeSet<&str> = objects
            .iter()
            .filter(|it| text(it, &["kind"]) == "Namespace")
            .map(|it| text(it, &["metadata", "name"]))
            .collect();
        let mut asked = Vec::new();
        for object in objects {
            let (version, kind) = (text(object, &["apiVersion"]), text(object, &["kind"]));
            let group = version.split_once('/').map_or("", |(group, _)| group);
            let is_own = own.contains(group) && kind != "CustomResourceDefinition";
            if is_own || spaces.contains(text(object, &["metadata", "namespace"])) {
                continue;
            }
            match self.path(object, kinds) {
                Some(path) => asked.push((self.name(object, kinds), path, body(object))),
                None => {
                    let text = format!("no matches for kind \"{kind}\" in version \"{version}\"");
                    findings.insert((self.name(object, kinds), true, text));
                }
            }
        }
        let requests: Vec<(String, String)> =
            asked.iter().map(|(_, path, body)| (path.clone(), body.clone())).collect();
        let folder = self.env.folder().join("asked");
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        if requests.is_empty() {
            return;
        }
        for (trial, (name, ..)) in self.env.api().dry_run_all(&folder, &requests).into_iter().zip(asked) {
            findings.extend(field_errors(&trial).into_iter().map(|text| (name.clone(), true, text)));
            findings.extend(trial.warnings.into_iter().map(|text| (name.clone(), false, text)));
        }
    }
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn is_missing(message: &str) -> bool {
    message.starts_with("no matches for kind") || message.starts_with("namespaces \"")
}

fn path_of(version: &str) -> String {
    if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") }
}

fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    path.iter().try_fold(node, |node, key| node.get(*key)).and_then(Node::as_str).unwrap_or_default()
}

fn body(node: &Node) -> String {
    String::from_utf8(json::write(node).expect("it can be written")).expect("JSON is text")
}

/// The groups of the CRDs among the objects.
fn groups_of(objects: &[Node]) -> BTreeSet<String> {
    let current = "apiextensions.k8s.io/v1";
    let definitions = objects.iter().filter(|it| {
        text(it, &["kind"]) == "CustomResourceDefinition" && text(it, &["apiVersion"]) == current
    });
    definitions.map(|it| text(it, &["spec", "group"]).to_owned()).collect()
}

/// Parses the objects of a multi-document text.
fn documents(text: &str) -> Vec<Node> {
    let lines = format!("\n{text}");
    let parts = lines.split("\n---").map(|part| part.split_once('\n').map_or("", |(_, rest)| rest));
    let read =
        |part: &str| pintle_yaml::read(part.as_bytes()).unwrap_or_else(|error| panic!("{error} in {part}"));
    parts.map(read).filter(|node| node.as_map().is_some_and(|map| !map.is_empty())).collect()
}

/// The field errors of a response, in the format of a rehearsal.
fn field_errors(trial: &DryRunResult) -> Vec<String> {
    // A conflict is with an object of another test.
    if trial.answer.is_ok() || trial.answer.code == 409 {
        return Vec::new();
    }
    let status: Value = serde_json::from_str(&trial.answer.body).unwrap_or_default();
    let message = status["message"].as_str().unwrap_or(&trial.answer.body);
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let field = |cause: &Value| cause["field"].as_str().filter(|field| !field.is_empty()).map(str::to_owned);
    let by_field: Vec<String> = causes
        .iter()
        .filter_map(|cause| Some(format!("{}: {}", field(cause)?, cause["message"].as_str()?)))
        .collect();
    if !by_field.is_empty() {
        return by_field;
    }
    let unknown: Vec<String> = message
        .split("unknown field \"")
        .skip(1)
        .filter_map(|rest| Some(format!("unknown field \"{}\"", rest.split('"').next()?)))
        .collect();
    if unknown.is_empty() { vec![message.to_owned()] } else { unknown }
}

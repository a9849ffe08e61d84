//! Plans match operations: for real charts, an upgrade sends exactly the writes that `plan upgrade` lists, and afterwards
//! there is no drift.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pintle_e2e::{CommandResult, Program, ProxiedRequest, Proxy, TestEnv, archive, is_selected};
use serde_json::Value;

use crate::support::{cluster_wide, wait_until_gone};

/// The charts, with flags for all commands and what the upgrades change. Each is installed, upgraded with the change,
/// upgraded without any, and upgraded back.
const CHARTS: [(&str, &[&str], &str); 25] = [
    ("argoproj__argo-cd-", &["--no-hooks"], "server.replicas=2"),
    ("argoproj__argo-rollouts-", &[], "controller.replicas=3"),
    ("bitnami__contour-", &["--no-hooks"], "commonLabels.stage=two"),
    ("bitnami__elasticsearch-", &[], "data.replicaCount=1"),
    ("bitnami__external-dns-", &[], "podAnnotations.stage=two"),
    ("bitnami__nginx-", &[], "replicaCount=2"),
    ("bitnami__redis-", &[], "replica.replicaCount=1"),
    ("bitnami__zookeeper-", &[], "commonLabels.stage=two"),
    ("bitnami__kafka-", &[], "controller.replicaCount=1"),
    ("external-secrets__external-secrets-", &[], "webhook.create=false"),
    ("fluent__fluent-bit-0", &[], "service.type=NodePort"),
    ("grafana-community__grafana-", &[], "service.port=81"),
    ("grafana__loki-distributed-", &[], "gateway.enabled=false"),
    ("grafana__rollout-operator-", &[], "podLabels.stage=two"),
    ("hashicorp__vault-", &["--set", "injector.enabled=false"], "server.resources.requests.memory=64Mi"),
    ("jenkinsci__jenkins-", &[], "controller.serviceType=NodePort"),
    (
        "kubernetes__ingress-nginx-",
        &["--set", "controller.admissionWebhooks.enabled=false"],
        "controller.kind=DaemonSet",
    ),
    ("metallb__metallb-", &[], "speaker.enabled=false,frrk8s.enabled=false"),
    ("open-telemetry__opentelemetry-demo-", &[], "default.replicas=2"),
    ("prometheus-community__kube-state-metrics-", &[], "replicas=2"),
    ("prometheus-community__prometheus-node-exporter-", &[], "service.port=9101"),
    ("prometheus-community__prometheus-29", &[], "server.replicaCount=2"),
    ("prometheus-community__prometheus-pushgateway-", &[], "replicaCount=2"),
    ("prometheus-community__alertmanager-", &[], "service.port=9094"),
    ("opensearch-project__opensearch-dashboards-", &[], "replicaCount=2"),
];

macro_rules! charts {
    ($($test:ident: $number:literal;)*) => {$(
        #[test]
        fn $test() {
            check(stringify!($test), $number);
        }
    )*};
}

// One test each, so that they run in parallel. CI runs one shard of them per commit, as of the kill points.
charts! {
    plan_is_apply_00: 0; plan_is_apply_01: 1; plan_is_apply_02: 2; plan_is_apply_03: 3; plan_is_apply_04: 4;
    plan_is_apply_05: 5; plan_is_apply_06: 6; plan_is_apply_07: 7; plan_is_apply_08: 8; plan_is_apply_09: 9;
    plan_is_apply_10: 10; plan_is_apply_11: 11; plan_is_apply_12: 12; plan_is_apply_13: 13; plan_is_apply_14: 14;
    plan_is_apply_15: 15; plan_is_apply_16: 16; plan_is_apply_17: 17; plan_is_apply_18: 18; plan_is_apply_19: 19;
    plan_is_apply_20: 20; plan_is_apply_21: 21; plan_is_apply_22: 22; plan_is_apply_23: 23; plan_is_apply_24: 24;
}

fn check(test: &str, number: usize) {
    if !is_selected(number) {
        return;
    }
    let (prefix, flags, change) = CHARTS[number];
    let Some(chart) = archive(prefix) else { return };
    let Some(env) = TestEnv::new(test) else { return };
    let test = PlanTest { env: &env, chart: &chart, flags };
    let _locks = env.lock(cluster_wide(&env, &chart, flags, change));
    let steps = [("install", None), ("change", Some(change))].into_iter();
    let steps = steps.chain([("nothing", Some(change))].repeat(no_op_upgrades())).chain([("back", None)]);
    let mut paths = BTreeSet::new();
    for (step, set) in steps {
        let planned = test.plan(set);
        paths.extend(planned.iter().map(|object| object.path.clone()));
        let before = test.live(&planned);
        let writes = test.upgrade(set);
        test.compare(step, &planned, &before, &writes);
        if step == "nothing" {
            assert!(
                planned.iter().all(|object| object.action == "unchanged") || is_random(&planned),
                "an upgrade that changes nothing is planned with {planned:?}"
            );
        }
        test.assert_no_drift(step);
    }
    test.clean_up(&paths);
}

/// How many upgrades that change nothing there are: a hundred over all charts when all are run, and one of each otherwise.
fn no_op_upgrades() -> usize {
    if std::env::var_os("PINTLE_E2E_KILL_POINTS").is_none() { 4 } else { 1 }
}

/// Charts that generate passwords or certificates change Secrets, and what has their checksums, in every upgrade.
fn is_random(planned: &[PlannedObject]) -> bool {
    planned.iter().any(|object| object.action == "update" && object.kind == "Secret")
}

/// An object of a plan.
#[derive(Clone, Debug)]
struct PlannedObject {
    action: String,
    kind: String,
    /// Where the API serves it.
    path: String,
}

struct PlanTest<'a> {
    env: &'a TestEnv,
    chart: &'a Path,
    flags: &'a [&'a str],
}

impl PlanTest<'_> {
    fn arguments<'w>(&'w self, first: &[&'w str], chart: &'w str, set: Option<&'w str>) -> Vec<&'w str> {
        let mut arguments = [first, &["rel", chart], self.flags].concat();
        arguments.extend(set.into_iter().flat_map(|set| ["--set", set]));
        arguments
    }

    fn run(&self, arguments: &[&str]) -> CommandResult {
        let output = self.env.command(Program::Pintle).env("HELM_DRIVER", "secret").args(arguments).output();
        output.expect("the program can be run").into()
    }

    fn plan(&self, set: Option<&str>) -> Vec<PlannedObject> {
        let chart = self.chart.to_string_lossy();
        let words = ["plan", "upgrade", "--install", "--no-detailed-exitcode", "--output", "json"];
        let planned = self.run(&self.arguments(&words, &chart, set)).succeeded();
        let plan: Value = serde_json::from_str(&planned.stdout).expect("a plan is JSON");
        let objects = plan["objects"].as_array().expect("a plan has objects");
        let mut kinds = BTreeMap::new();
        objects
            .iter()
            .map(|object| PlannedObject {
                action: text(object, "action"),
                kind: text(object, "kind"),
                path: self.path(object, &mut kinds),
            })
            .collect()
    }

    /// Where the API serves an object. A kind that is not served yet has no path that could be read.
    fn path(&self, object: &Value, kinds: &mut BTreeMap<(String, String), String>) -> String {
        let (version, kind) = (text(object, "apiVersion"), text(object, "kind"));
        let root = if version.contains('/') { "apis" } else { "api" };
        let plural = kinds.entry((version.clone(), kind.clone())).or_insert_with(|| {
            let served = self.env.api().read(&format!("/{root}/{version}")).unwrap_or_default();
            let resources = served["resources"].as_array().cloned().unwrap_or_default();
            let of_kind = |resource: &&Value| {
                resource["kind"] == kind.as_str() && !text(resource, "name").contains('/')
            };
            resources
                .iter()
                .find(of_kind)
                .map(|resource| text(resource, "name"))
                .unwrap_or_else(|| format!("{}s", kind.to_lowercase()))
        });
        let (namespace, name) = (text(object, "namespace"), text(object, "name"));
        match namespace.as_str() {
            "" => format!("/{root}/{version}/{plural}/{name}"),
            namespace => format!("/{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
        }
    }

    /// The live objects by path, without what changes by itself.
    fn live(&self, planned: &[PlannedObject]) -> BTreeMap<String, Value> {
        let mut objects = BTreeMap::new();
        for object in planned {
            if let Some(live) = self.env.api().read(&object.path)
                && live["metadata"]["deletionTimestamp"].is_null()
            {
                objects.insert(object.path.clone(), without_noise(live));
            }
        }
        objects
    }

    /// Upgrades, and returns the writes that the server saw, without those of the release record.
    fn upgrade(&self, set: Option<&str>) -> Vec<ProxiedRequest> {
        let chart = self.chart.to_string_lossy();
        let proxy = Proxy::new(self.env.cluster());
        let arguments = self.arguments(&["upgrade", "--install"], &chart, set);
        let mut command = self.env.command(Program::Pintle);
        command.env("HELM_DRIVER", "secret").env("KUBECONFIG", proxy.kubeconfig()).args(&arguments);
        CommandResult::from(command.output().expect("the program can be run")).succeeded();
        let is_record = |seen: &ProxiedRequest| {
            seen.path.contains("/secrets/sh.helm.release.v1.")
                || seen.method == "POST"
                    && seen.path.split('?').next().is_some_and(|path| path.ends_with("/secrets"))
        };
        let mut seen = proxy.seen();
        // Names of roles may have colons.
        seen.iter_mut().for_each(|seen| seen.path = seen.path.replace("%3A", ":"));
        seen.retain(|seen| seen.write > 0 && !is_record(seen));
        seen
    }

    fn compare(
        &self,
        step: &str,
        planned: &[PlannedObject],
        before: &BTreeMap<String, Value>,
        writes: &[ProxiedRequest],
    ) {
        let after = self.live(planned);
        let mut problems = Vec::new();
        let known: BTreeSet<&str> = planned.iter().map(|object| object.path.as_str()).collect();
        for write in writes {
            let path = write.path.split('?').next().unwrap_or_default();
            if !known.contains(path) {
                problems.push(format!("{} {path} was not planned", write.method));
            }
        }
        for object in planned {
            let (old, new) = (before.get(&object.path), after.get(&object.path));
            let of_object = |write: &&ProxiedRequest| write.path.split('?').next() == Some(&*object.path);
            let is_deleted = writes.iter().filter(of_object).any(|write| write.method == "DELETE");
            let is_written = writes.iter().filter(of_object).any(|write| write.method != "DELETE");
            let is_as_planned = match object.action.as_str() {
                "create" => old.is_none() && new.is_some() && is_written && !is_deleted,
                "update" | "adopt" => {
                    old.is_some() && new.is_some() && old != new && is_written && !is_deleted
                }
                "unchanged" => old == new && !is_deleted,
                "delete" => old.is_some() && new.is_none() && is_deleted,
                "keep" | "forget" => old == new && !is_deleted && !is_written,
                "recreate" => is_deleted && is_written,
                other => panic!("an unknown action {other}"),
            };
            if !is_as_planned {
                let sent: Vec<&str> =
                    writes.iter().filter(of_object).map(|write| write.method.as_str()).collect();
                problems.push(format!(
                    "{} {}: sent {sent:?}\n  before {old:?}\n  after {new:?}",
                    object.action, object.path
                ));
            }
        }
        assert!(problems.is_empty(), "{step} of {}:\n{}", self.chart.display(), problems.join("\n"));
    }

    /// Nobody has changed anything, so there is no drift. Pods and controllers work on the objects meanwhile.
    fn assert_no_drift(&self, step: &str) {
        let drift = self.run(&["drift", "rel"]);
        assert_eq!(drift.code, Some(0), "after {step} of {}:\n{}", self.chart.display(), drift.stdout);
    }

    /// Uninstalls, and deletes what stays: kept objects, and CRDs of `crds/`, which only the plan of the installation has.
    /// They are gone before the next test of the chart begins.
    fn clean_up(&self, paths: &BTreeSet<String>) {
        let flags: &[&str] = if self.flags.contains(&"--no-hooks") { &["--no-hooks"] } else { &[] };
        self.run(&[&["uninstall", "rel"], flags].concat()).succeeded();
        let left = paths.iter().filter(|path| self.env.api().delete(path));
        wait_until_gone(self.env, left.collect());
    }
}

fn text(object: &Value, key: &str) -> String {
    object[key].as_str().unwrap_or_default().to_owned()
}

/// An object without its status and what the server and controllers note in its metadata.
fn without_noise(mut object: Value) -> Value {
    object.as_object_mut().expect("an object is a map").remove("status");
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for key in ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"] {
            metadata.remove(key);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("deployment.kubernetes.io/revision");
        }
    }
    object
}

#[test]
fn a_plan_is_refused_with_what_others_have_changed_since() {
    let Some(env) = TestEnv::new("plan_refused") else { return };
    pintle_e2e::write_chart(&env);
    let run = |words: &[&str]| env.run(Program::Pintle, words);
    run(&["install", "web", "chart", "--no-hooks"]).succeeded();
    let save = |word: &str| {
        let set = format!("word={word}");
        let words = ["plan", "upgrade", "web", "chart", "--no-hooks", "--set", &set, "--save", "saved.plan"];
        assert_eq!(run(&words).code, Some(2));
    };
    let patch = |path: &str, body: &str| {
        env.api().send("PATCH", path, "application/merge-patch+json", body).object();
    };
    // Someone changes an object.
    save("two");
    let deployment = env.path("apps/v1", "deployments", "web-web");
    patch(&deployment, r#"{"spec":{"minReadySeconds":7}}"#);
    let refused = run(&["apply", "saved.plan"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("Deployment") && refused.stderr.contains("minReadySeconds"),
        "{}",
        refused.stderr
    );
    // Someone deletes one.
    save("two");
    env.api().delete(&deployment);
    env.wait_for("apps/v1", "deployments", "web-web", |found| found.is_none());
    let refused = run(&["apply", "saved.plan"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("Deployment"), "{}", refused.stderr);
    // Someone else upgrades the release.
    save("two");
    run(&["upgrade", "web", "chart", "--no-hooks", "--set", "word=three"]).succeeded();
    let refused = run(&["apply", "saved.plan"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("release web"), "{}", refused.stderr);
    // Nobody does anything.
    save("four");
    run(&["apply", "saved.plan"]).succeeded();
}

/// The chart of the drift test: built-in kinds, a CRD, and an object of its kind.
fn write_drift_chart(env: &TestEnv) {
    let group = env.namespace();
    env.write("drifting/Chart.yaml", "apiVersion: v2\nname: drifting\nversion: 1.0.0\n");
    env.write(
        "drifting/crds/things.yaml",
        &format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.{group}.example.com\nspec:\n  group: {group}.example.com\n  names: {{kind: Thing, plural: things}}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec: {{type: object, properties: {{size: {{type: integer}}, word: {{type: string, default: none}}}}}}\n"
        ),
    );
    env.write(
        "drifting/templates/all.yaml",
        &format!(
            "apiVersion: {group}.example.com/v1\nkind: Thing\nmetadata: {{name: thing}}\nspec: {{size: 1}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {{a: one, b: two}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: removed}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: key}}\nstringData: {{word: hidden}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{selector: {{app: web}}, ports: [{{port: 80}}]}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 0\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: main, image: 'test.invalid/a:1'}}]}}\n"
        ),
    );
}

#[test]
fn drift_of_all_kinds_is_found_and_fixed() {
    let Some(env) = TestEnv::new("drift_found") else { return };
    write_drift_chart(&env);
    let run = |words: &[&str]| env.run(Program::Pintle, words);
    run(&["install", "rel", "drifting"]).succeeded();
    run(&["drift", "rel"]).succeeded();
    let group = format!("{}.example.com", env.namespace());
    let definition = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}");
    let api = env.api();
    let change = |path: &str, body: &str| api.merge(path, &serde_json::from_str(body).expect("JSON"));
    change(&env.path(&format!("{group}/v1"), "things", "thing"), r#"{"spec":{"size":2}}"#);
    change(&env.path("v1", "configmaps", "settings"), r#"{"data":{"a":"changed","b":null}}"#);
    change(&env.path("v1", "secrets", "key"), r#"{"data":{"word":"b3RoZXI="}}"#);
    change(&env.path("v1", "services", "web"), r#"{"spec":{"selector":{"app":"other"}}}"#);
    let image =
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"test.invalid/a:2"}]}}}}"#;
    change(&env.path("apps/v1", "deployments", "web"), image);
    change(
        &definition,
        r#"{"spec":{"names":{"shortNames":["th"]},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer","maximum":9},"word":{"type":"string","default":"some"}}}}}}}]}}"#,
    );
    api.delete(&env.path("v1", "configmaps", "removed"));
    let found = run(&["drift", "rel", "--output", "json"]);
    assert_eq!(found.code, Some(2), "{}{}", found.stdout, found.stderr);
    for part in [
        "Thing",
        "spec.size",
        "settings",
        "data.a",
        "removed",
        "Secret",
        "Service",
        "Deployment",
        "CustomResourceDefinition",
    ] {
        assert!(found.stdout.contains(part), "no {part} in {}", found.stdout);
    }
    assert!(
        !found.stdout.contains("b3RoZXI") && !found.stdout.contains("hidden"),
        "a Secret is shown: {}",
        found.stdout
    );
    run(&["drift", "rel", "--fix"]);
    run(&["drift", "rel"]).succeeded();
    run(&["uninstall", "rel"]).succeeded();
    api.delete(&definition);
}

/// What is asked for once, however many releases there are.
fn is_discovery(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let is_version = path.starts_with("/apis/") && path.split('/').count() <= 4;
    matches!(path, "/version" | "/api" | "/apis" | "/api/v1") || path.starts_with("/openapi/") || is_version
}

#[test]
fn thirty_releases_are_planned_with_one_discovery() {
    let Some(env) = TestEnv::new("thirty_releases") else { return };
    pintle_e2e::write_chart(&env);
    let entry =
        |number: usize| format!("- {{name: rel-{number}, chart: ./chart, values: [{{word: w{number}}}]}}\n");
    let list: String = (0..30).map(entry).collect();
    env.write("list.yaml", &format!("releases:\n{list}"));
    env.run(Program::Pintle, &["install", "rel-7", "chart", "--no-hooks", "--set", "word=w7"]).succeeded();
    let proxy = Proxy::new(env.cluster());
    let mut command = env.command(Program::Pintle);
    command.env("KUBECONFIG", proxy.kubeconfig());
    command.args(["plan", "releases", "list.yaml", "--no-hooks", "--output", "json"]);
    let result = CommandResult::from(command.output().expect("the program can be run"));
    assert_eq!(result.code, Some(2), "{}", result.stderr);
    let plans: Value = serde_json::from_str(&result.stdout).expect("plans are JSON");
    let changes: Vec<bool> = plans["releases"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|plan| plan["hasChanges"].as_bool().expect("a boolean"))
        .collect();
    assert_eq!(changes.len(), 30);
    assert_eq!(changes.iter().position(|changed| !changed), Some(7), "{changes:?}");
    let seen = proxy.seen();
    let mut asked = BTreeSet::new();
    let discovery = seen.iter().filter(|seen| seen.method == "GET" && is_discovery(&seen.path));
    let again: Vec<&str> =
        discovery.map(|seen| seen.path.as_str()).filter(|path| !asked.insert(*path)).collect();
    assert_eq!(again, [""; 0], "discovery was asked for more than once");
    let writes = seen.iter().filter(|seen| seen.write > 0 && !seen.path.contains("dryRun=All"));
    assert_eq!(writes.map(|seen| &seen.path).collect::<Vec<_>>(), [""; 0], "a plan changes nothing");
}

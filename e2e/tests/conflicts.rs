//! Releases of Helm 3, which are applied by the client, in the hands of Helm 4 and of ours: with and without server-side
//! apply, and with fields that others have taken. Both print the same and leave the same objects with the same managed fields.

use crate::support;

use pintle_e2e::{CommandResult, Program, TestEnv};
use serde_json::{Value, json};
use support::without_times;

const CHART: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  text: {{ .Values.text | quote }}
  shared: chart
{{- if .Values.more }}
  more: "yes"
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: {{ .Values.image }}
          env:
            - {name: TEXT, value: {{ .Values.text | quote }}}
{{- if .Values.more }}
            - {name: MORE, value: "yes"}
{{- end }}
"#;

/// What others do between the releases.
#[derive(Clone, Copy, Debug)]
enum Others {
    Nothing,
    /// Take fields by server-side apply.
    Apply,
    /// Write fields with updates, as `kubectl edit` does.
    Update,
}

impl Others {
    fn act(self, env: &TestEnv) {
        let map = env.path("v1", "configmaps", "web");
        let deployment = env.path("apps/v1", "deployments", "web");
        let send = |path: &str, manager: &str, kind: &str, body: &Value| {
            let path = format!("{path}?fieldManager={manager}");
            env.api().send("PATCH", &path, kind, &body.to_string()).object();
        };
        match self {
            Others::Nothing => {}
            Others::Apply => {
                let apply = "application/apply-patch+yaml";
                let text = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"},
                    "data": {"shared": "other", "text": "other"}});
                send(&map, "other&force=true", apply, &text);
                let replicas = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                    "spec": {"replicas": 5}});
                send(&deployment, "scaler&force=true", apply, &replicas);
            }
            Others::Update => {
                let merge = "application/merge-patch+json";
                send(&map, "editor", merge, &json!({"data": {"shared": "edited", "new": "x"}}));
                send(&deployment, "editor", merge, &json!({"spec": {"replicas": 5}}));
            }
        }
    }
}

/// One release in a namespace of its own.
struct Side {
    env: TestEnv,
    program: Program,
}

impl Side {
    fn new(test: &str, program: Program) -> Option<Side> {
        let env = TestEnv::new(test)?;
        env.write("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
        env.write("chart/values.yaml", "text: one\nmore: true\nreplicas: 2\nimage: web:1\n");
        env.write("chart/templates/all.yaml", CHART);
        Some(Side { env, program })
    }

    /// A release as Helm 3 makes it, changed by others.
    fn start(&self, others: Others) {
        self.env.run(Program::Helm3, &["install", "web", "chart"]).succeeded();
        self.env.run(Program::Helm3, &["upgrade", "web", "chart", "--set", "text=first"]).succeeded();
        others.act(&self.env);
    }

    /// Runs a command; returns what it printed and left.
    fn run(&self, words: &[&str]) -> (Option<i32>, String, Vec<Value>) {
        let CommandResult { code, stdout, stderr } = self.env.run(self.program, words);
        let text = format!("{stdout}--- stderr\n{stderr}").replace(self.env.namespace(), "NAMESPACE");
        let objects = [("v1", "configmaps"), ("apps/v1", "deployments")];
        let objects = objects.iter().filter_map(|(version, plural)| self.env.object(version, plural, "web"));
        (code, without_times(&text), objects.map(comparable).collect())
    }

    fn clear(&self) {
        self.env.run(self.program, &["uninstall", "web"]).succeeded();
        self.env.run(Program::Helm4, &["uninstall", "web", "--ignore-not-found"]).succeeded();
        for (version, plural) in [("v1", "configmaps"), ("apps/v1", "deployments")] {
            self.env.wait_for(version, plural, "web", |object| object.is_none());
        }
    }
}

/// An object without what differs between two namespaces and moments, and without what controllers write.
fn comparable(mut object: Value) -> Value {
    let root = object.as_object_mut().expect("an object");
    root.remove("status");
    let metadata = root.get_mut("metadata").and_then(Value::as_object_mut).expect("metadata");
    for key in ["uid", "resourceVersion", "creationTimestamp", "generation", "namespace"] {
        metadata.remove(key);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("deployment.kubernetes.io/revision");
        annotations.remove("meta.helm.sh/release-namespace");
    }
    if let Some(managers) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
        managers
            .retain(|entry| entry["subresource"].is_null() && entry["manager"] != "kube-controller-manager");
        for entry in managers.iter_mut() {
            entry.as_object_mut().expect("an entry").remove("time");
        }
        managers.sort_by_key(|entry| format!("{}{}", entry["manager"], entry["operation"]));
    }
    object
}

/// Runs the same commands on both sides, each on a release of Helm 3 of its own.
fn compare(sides: &[Side; 2], others: Others, commands: &[&str]) {
    for side in sides {
        side.start(others);
    }
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let [real, ours] = [&sides[0], &sides[1]].map(|side| side.run(&words));
        assert_eq!(ours, real, "after {others:?} {commands:?}: {command}");
    }
    for side in sides {
        side.clear();
    }
}

fn sides(test: &str) -> Option<[Side; 2]> {
    let real = Side::new(&format!("{test}_real"), Program::Helm4)?;
    Some([real, Side::new(&format!("{test}_ours"), Program::PintleAsHelm)?])
}

#[test]
fn a_release_of_helm_3_is_upgraded_as_helm_4_does() {
    let Some(sides) = sides("upgraded_from_helm_3") else { return };
    for others in [Others::Nothing, Others::Apply, Others::Update] {
        for flags in [
            "",
            // The method is that of the release, and the client knows no conflicts: an error.
            " --force-conflicts",
            " --server-side=true",
            " --server-side=true --force-conflicts",
            " --server-side=false",
        ] {
            let upgrade = format!("upgrade web chart --set text=two,more=false,replicas=3{flags}");
            compare(
                &sides,
                others,
                &[&upgrade, "upgrade web chart --set text=three,more=false", "rollback web 1"],
            );
        }
    }
}

#[test]
fn a_release_of_helm_3_is_rolled_back_as_helm_4_does() {
    let Some(sides) = sides("rolled_back_from_helm_3") else { return };
    for flags in ["", " --force-conflicts", " --server-side=true", " --server-side=true --force-conflicts"] {
        let rollback = format!("rollback web 1{flags}");
        let upgrade = "upgrade web chart --set text=two,more=false --server-side=true --force-conflicts";
        compare(&sides, Others::Apply, &[&rollback, upgrade]);
    }
}

#[test]
fn a_rollback_moves_the_fields_of_an_upgrade_that_failed() {
    let Some(sides) = sides("moved_by_a_rollback") else { return };
    // The second version is recorded as applied by the server, but the Deployment is not reached, or refused.
    let upgrade = "upgrade web chart --set text=two,more=false,image= --server-side=true";
    compare(
        &sides,
        Others::Nothing,
        &[upgrade, "rollback web 1 --server-side=true", "upgrade web chart --set more=false"],
    );
}

#[test]
fn a_rollback_that_is_cleaned_up_names_its_cause() {
    let Some([_, side]) = sides("cleaned_up_rollback") else { return };
    side.start(Others::Nothing);
    // Helm tries to delete nothing, which it takes for an error, and reports that one.
    let (code, text, _) = side.run(&["rollback", "web", "1", "--cleanup-on-fail", "--force-conflicts"]);
    assert_eq!(code, Some(1), "{text}");
    let error =
        "Error: invalid client update option(s): forceConflicts enabled when serverSideApply disabled";
    assert!(text.contains(error), "{text}");
    side.clear();
}

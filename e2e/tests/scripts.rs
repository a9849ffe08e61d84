//! Runs the script examples through their life cycle on the test cluster and on the embedded API, with the same commands.
//! Output, records and live objects must be equal.

use crate::support;

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_e2e::{CommandResult, Level, Program, TestEnv};
use serde_json::{Value, json};
use support::{json_without_times, without_times};

/// An example chart and its test data.
struct Example {
    name: &'static str,
    /// Flags for the installation.
    given: &'static [&'static str],
    /// Flags for the second upgrade; the first changes nothing.
    changed: &'static [&'static str],
    /// The object to inspect, and texts that it contains before and after the change.
    object: &'static str,
    before: &'static str,
    after: &'static str,
}

const EXAMPLES: [Example; 10] = [
    Example {
        name: "labels",
        given: &[],
        changed: &["--set", "team=green"],
        object: "ConfigMap labels",
        before: "\"example.com/team\":\"blue\"",
        after: "\"example.com/team\":\"green\"",
    },
    Example {
        name: "sized",
        given: &["--set", "size=large"],
        changed: &["--set", "size=medium"],
        object: "ConfigMap sized",
        before: "\"memory\":\"4Gi\"",
        after: "\"memory\":\"1Gi\"",
    },
    Example {
        name: "checked",
        given: &["--set", "tls=true"],
        changed: &["--set", "greeting=bye"],
        object: "ConfigMap checked",
        before: "\"greeting\":\"hello\"",
        after: "\"greeting\":\"bye\"",
    },
    Example {
        name: "password",
        given: &[],
        changed: &["--set", "password=chosen"],
        object: "Secret password",
        before: "\"password\":\"MADE UP\"",
        after: "\"password\":\"Y2hvc2Vu\"",
    },
    Example {
        name: "cluster-aware",
        given: &[],
        changed: &["--set", "storageClass=fast"],
        object: "ConfigMap cluster-aware",
        before: "\"storageClass\":",
        after: "\"storageClass\":\"fast\"",
    },
    Example {
        name: "readiness",
        given: &[],
        changed: &["--set", "greeting=bye"],
        object: "ConfigMap readiness",
        before: "\"greeting\":\"hello\"",
        after: "\"greeting\":\"bye\"",
    },
    Example {
        name: "parent",
        given: &[],
        changed: &["--set", "db.greeting=from elsewhere"],
        object: "ConfigMap parent-db",
        before: "from the parent, changed by the subchart, and by the parent after it",
        after: "from elsewhere, changed by the subchart, and by the parent after it",
    },
    Example {
        name: "no-templates",
        given: &[],
        changed: &["--set-json", r#"regions=[{"name": "north", "languages": ["fi"]}]"#],
        object: "ConfigMap no-templates-north",
        before: "\"languages\":\"no,sv\"",
        after: "\"languages\":\"fi\"",
    },
    Example {
        name: "with-library",
        given: &[],
        changed: &["--set-json", r#"settings=[{"name": "two", "data": {"c": "3"}}]"#],
        object: "ConfigMap with-library-two",
        before: "\"b\":\"2\"",
        after: "\"c\":\"3\"",
    },
    Example {
        name: "permissions",
        given: &["--yes"],
        changed: &["--set", "greeting=bye"],
        object: "ConfigMap permissions",
        before: "\"greeting\":\"hello\"",
        after: "\"greeting\":\"bye\"",
    },
];

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/scripts").join(name);
    folder.canonicalize().expect("it is there").display().to_string()
}

/// The recorded steps: the command, and its output or the live objects after it.
type Recording = Vec<(String, String)>;

/// The life cycle of one example on one cluster.
struct Lifecycle<'a> {
    env: &'a TestEnv,
    driver: &'a str,
    account: Recording,
    /// Values that differ between runs, with their placeholders.
    marks: Vec<(String, &'static str)>,
}

impl<'a> Lifecycle<'a> {
    fn new(env: &'a TestEnv, driver: &'a str) -> Self {
        let marks = vec![(env.namespace().to_owned(), "NAMESPACE")];
        Lifecycle { env, driver, account: Recording::new(), marks }
    }

    fn ran(&self, words: &[&str]) -> CommandResult {
        let mut command = self.env.command(Program::Pintle);
        command.args(words).env("HELM_DRIVER", self.driver);
        command.output().expect("it can be run").into()
    }

    /// Runs a command, asserts its exit code and records its output.
    fn step(&mut self, code: i32, words: &[&str]) -> String {
        let ran = self.ran(words);
        assert_eq!(ran.code, Some(code), "{words:?}:\n{}\n{}", ran.stdout, ran.stderr);
        let text = without_times(&self.plain(&format!("{}--- stderr\n{}", ran.stdout, ran.stderr)));
        let text = without_ids(&text);
        self.account.push((words.join(" "), text.clone()));
        text
    }

    /// Records the history of a release, without version ids, which only some stores have.
    fn history(&mut self, name: &str) {
        let mut versions = json_without_times(&self.ran(&["history", name, "-o", "json"]).succeeded().stdout);
        for version in versions.as_array_mut().expect("it is a list") {
            version.as_object_mut().expect("it is a version").remove("id");
        }
        self.account.push(("history".to_owned(), versions.to_string()));
    }

    /// Records the live objects, by kind and name.
    fn snapshot(&mut self, step: &str) -> BTreeMap<String, String> {
        let mut alive = BTreeMap::new();
        for (version, plural) in [("v1", "configmaps"), ("v1", "secrets")] {
            for mut object in self.env.objects(version, plural) {
                if is_created_by_cluster(&object) {
                    continue;
                }
                let kind = if plural == "secrets" { "Secret" } else { "ConfigMap" };
                let name = object["metadata"]["name"].as_str().expect("it has a name").to_owned();
                mask_generated(&mut object);
                alive.insert(format!("{kind} {name}"), self.plain(&object.to_string()));
            }
        }
        let text = alive.iter().map(|(name, object)| format!("{name}: {object}\n")).collect();
        self.account.push((format!("objects after {step}"), text));
        alive
    }

    fn plain(&self, text: &str) -> String {
        self.marks.iter().fold(text.to_owned(), |text, (found, mark)| text.replace(found, mark))
    }
}

/// Removes lines with version ids, which only some stores have.
fn without_ids(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("VERSION ID: ")).map(|line| format!("{line}\n")).collect()
}

/// Whether an object is created by the cluster or is a record of a release.
fn is_created_by_cluster(object: &Value) -> bool {
    let kind = object["type"].as_str().unwrap_or_default();
    object["metadata"]["name"] == "kube-root-ca.crt" || kind.starts_with("helm.sh/release")
}

/// Masks values that differ between runs.
fn mask_generated(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(mask_generated),
        Value::Object(fields) => {
            for generated in ["uid", "resourceVersion", "creationTimestamp", "time"] {
                fields.remove(generated);
            }
            // Owner references contain uids.
            if let Some(Value::Object(owners)) = fields.get_mut("f:ownerReferences") {
                *owners = owners.values().map(|owner| ("OWNER".to_owned(), owner.clone())).collect();
            }
            fields.values_mut().for_each(mask_generated);
        }
        _ => {}
    }
}

/// Runs the life cycle of an example.
fn run_lifecycle(env: &TestEnv, driver: &str, example_: &Example) -> Recording {
    let Example { name, given, changed, object, before, after } = example_;
    let chart = example(name);
    let mut walk = Lifecycle::new(env, driver);
    walk.marks.push((chart.clone(), "CHART"));
    walk.step(0, &["show", "permissions", &chart]);
    walk.step(0, &[&["install", name, chart.as_str()], *given, &["--wait"]].concat());
    if let Some(secret) = env.object("v1", "secrets", name) {
        let made_up = secret["data"]["password"].as_str().expect("it has a password").to_owned();
        let plain = walk.ran(&["get", "manifest", name]).stdout;
        let plain =
            plain.split_once("password: ").and_then(|(_, rest)| rest.lines().next()).expect("it is there");
        let decoded = STANDARD.decode(&made_up).expect("data of Secrets is base64");
        walk.marks.push((String::from_utf8(decoded).expect("it is text"), "MADE UP"));
        walk.marks.push((made_up, "MADE UP"));
        walk.marks.push((plain.to_owned(), "MADE UP"));
    }
    let installed = walk.snapshot("install");
    assert!(installed[*object].contains(before), "{name}: {installed:#?}");
    walk.step(0, &["status", name]);
    walk.step(0, &["get", "values", name, "--all"]);
    walk.step(0, &[&["upgrade", name, chart.as_str()], *given, &["--wait"]].concat());
    assert_eq!(walk.snapshot("upgrade"), installed, "{name}: an upgrade that changes nothing");
    walk.step(0, &[&["upgrade", name, chart.as_str(), "--reuse-values"], *changed, &["--wait"]].concat());
    let upgraded = walk.snapshot("change");
    assert!(upgraded[*object].contains(after), "{name}: {upgraded:#?}");
    if *name == "checked" {
        let refused = walk.step(1, &["upgrade", name, &chart, "--set", "ingress.enabled=true"]);
        assert!(refused.contains("ingress.enabled needs ingress.host"), "{refused}");
    }
    walk.step(0, &["get", "manifest", name]);
    walk.step(0, &["status", name]);
    walk.step(0, &["rollback", name, "1", "--wait"]);
    let back = walk.snapshot("rollback");
    assert_eq!(data(&back), data(&installed), "{name}: rolled back");
    walk.step(0, &["status", name]);
    walk.history(name);
    walk.step(0, &["uninstall", name, "--wait"]);
    assert_eq!(walk.snapshot("uninstall"), BTreeMap::new(), "{name}: nothing is left");
    walk.account
}

/// The data of objects, without metadata.
fn data(alive: &BTreeMap<String, String>) -> BTreeMap<&str, Value> {
    let data = |text: &String| serde_json::from_str::<Value>(text).expect("it is an object")["data"].take();
    alive.iter().map(|(name, text)| (name.as_str(), data(text))).collect()
}

/// Asserts that two recordings are equal.
fn compare(name: &str, here: &Recording, beside: &Recording) {
    assert_eq!(here.len(), beside.len(), "{name}");
    for ((step, here), (same, beside)) in here.iter().zip(beside) {
        assert_eq!(step, same);
        assert_eq!(here, beside, "{name}: `{step}`, on the cluster and on our own API");
    }
}

fn both(driver: &str) {
    let test = format!("scripts-{driver}");
    let Some(env) = TestEnv::new(&test) else { return };
    // If the test cluster is the embedded API, one run is enough.
    let own = (env.cluster().level != Level::Embedded).then(|| TestEnv::embedded(&test));
    for example in &EXAMPLES {
        let here = run_lifecycle(&env, driver, example);
        if let Some(own) = &own {
            compare(example.name, &here, &run_lifecycle(own, driver, example));
        }
    }
}

#[test]
fn the_worked_examples_live_the_same_life_on_both_clusters_as_secrets() {
    both("secret");
}

#[test]
fn the_worked_examples_live_the_same_life_on_both_clusters_as_releases() {
    both("native");
}

#[test]
fn a_chart_sees_the_storage_classes_of_the_cluster_that_it_comes_to() {
    // The default storage class is a cluster-wide setting.
    let Some(env) = TestEnv::exclusive("scripts-classes") else { return };
    for env in [env, TestEnv::embedded("scripts-classes")] {
        let class = format!("{}-fast", env.namespace());
        let path = "/apis/storage.k8s.io/v1/storageclasses";
        env.api().create(
            path,
            &json!({
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": class, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                "provisioner": "example.com/none",
            }),
        );
        env.run(Program::Pintle, &["install", "aware", &example("cluster-aware")]).succeeded();
        let seen = env.object("v1", "configmaps", "aware").expect("it was installed");
        env.api().delete(&format!("{path}/{class}"));
        assert_ne!(seen["data"]["storageClass"], json!(""), "{seen}");
    }
}

#[test]
fn the_real_helm_reads_and_removes_what_scripts_made() {
    let Some(env) = TestEnv::new("scripts-helm") else { return };
    for name in ["parent", "with-library", "permissions"] {
        let mut command = env.command(Program::Pintle);
        command.args(["install", name, &example(name), "--yes"]).env("HELM_DRIVER", "secret");
        let ran: CommandResult = command.output().expect("it can be run").into();
        ran.succeeded();
        env.run(Program::Helm4, &["get", "all", name]).succeeded();
        env.run(Program::Helm4, &["uninstall", name]).succeeded();
    }
}

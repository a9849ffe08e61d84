//! The labels and the namespace of Helm's records through the life of a release, beside the real Helm where installed.

use std::path::Path;
use std::process::Command;

use pintle_tree::{Map, Node, json};

use crate::support::{TestEnv, cluster};

const TEMPLATE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ .Values.name }}\"}
data: {text: \"{{ .Values.text }}\"}
";

/// The life of a release, and what its records look like after each step: revision, status, and which times they have. A
/// time is `now`, or the one that the record had before the step, as revision and step.
const LIFE: [(&str, &str); 9] = [
    ("install web web", "1 deployed modified=now"),
    ("upgrade web web --set text=two", "1 superseded modified=1.1, 2 deployed modified=1.1"),
    (
        "upgrade web web --set text=three --labels team=a",
        "1 superseded modified=1.2, 2 superseded modified=2.2, 3 deployed modified=2.2 team=a",
    ),
    // The API server refuses the object, so the newest record is not the one that is superseded next.
    (
        "! upgrade web web --set name=Not_A_Name",
        "1 superseded modified=1.3, 2 superseded modified=2.3, 3 deployed modified=3.3 team=a, \
         4 failed modified=3.3 team=a",
    ),
    (
        "upgrade web web --set text=four",
        "1 superseded modified=1.4, 2 superseded modified=2.4, 3 superseded modified=3.4 team=a, \
         4 failed modified=4.4 team=a, 5 deployed modified=4.4 team=a",
    ),
    (
        "rollback web 1",
        "1 superseded modified=1.5, 2 superseded modified=2.5, 3 superseded modified=3.5 team=a, \
         4 failed modified=4.5 team=a, 5 superseded modified=5.5 team=a, 6 deployed modified=now",
    ),
    (
        "uninstall web --keep-history",
        "1 superseded modified=1.6, 2 superseded modified=2.6, 3 superseded modified=3.6 team=a, \
         4 failed modified=4.6 team=a, 5 superseded modified=5.6 team=a, 6 uninstalled modified=6.6",
    ),
    (
        "install web web --replace",
        "1 superseded modified=1.7, 2 superseded modified=2.7, 3 superseded modified=3.7 team=a, \
         4 failed modified=4.7 team=a, 5 superseded modified=5.7 team=a, 6 superseded modified=6.7, \
         7 deployed modified=now",
    ),
    (
        "upgrade web web",
        "1 superseded modified=1.8, 2 superseded modified=2.8, 3 superseded modified=3.8 team=a, \
         4 failed modified=4.8 team=a, 5 superseded modified=5.8 team=a, 6 superseded modified=6.8, \
         7 superseded modified=7.8, 8 deployed modified=7.8",
    ),
];

/// A cluster, a chart, and a program that acts as Helm.
struct Stage<'a> {
    env: &'a TestEnv,
    flag: String,
    program: &'a Path,
    driver: &'a str,
}

impl Stage<'_> {
    fn run(&self, line: &str) {
        let (line, fails) = line.strip_prefix("! ").map_or((line, false), |line| (line, true));
        let output = Command::new(self.program)
            .args(line.split(' '))
            .args(self.flag.split(' '))
            .current_dir(self.env.path())
            .env_clear()
            .env("HOME", self.env.path())
            .env("HELM_DRIVER", self.driver)
            .output()
            .expect("the program can be run");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), !fails, "{}: {line}: {stderr}", self.program.display());
    }

    fn path(&self) -> String {
        format!("/api/v1/namespaces/default/{}s", self.driver)
    }

    /// The records, oldest first.
    fn records(&self) -> Vec<Node> {
        let list = json::read(cluster::read(&self.flag, &self.path()).as_bytes()).expect("a list");
        let items = list.get("items").and_then(Node::as_list).unwrap_or_default();
        let mut records: Vec<Node> =
            items.iter().filter(|item| label(item, "owner") == "helm").cloned().collect();
        records.sort_by_key(|record| label(record, "version").parse::<u64>().unwrap_or_default());
        records
    }

    fn replace(&self, record: &Node) {
        let name = text(record, &["metadata", "name"]);
        let body = json::write_raw(record).expect("JSON");
        let line = format!("PUT {}/{name}", self.path());
        let answer = cluster::request(&self.flag, &line, &String::from_utf8_lossy(&body));
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    }

    /// The records as one line.
    fn described(&self) -> String {
        self.records().iter().map(described).collect::<Vec<_>>().join(", ")
    }

    /// Gives each record times of its own, so that it can be told where they come from afterwards.
    fn mark_times(&self, step: usize) {
        for mut record in self.records() {
            let time = format!("{step}000{}", label(&record, "version"));
            let labels = map_at(&mut record, &["metadata", "labels"]);
            for key in ["createdAt", "modifiedAt"] {
                if labels.get(key).is_some() {
                    labels.insert(key.into(), time.as_str().into());
                }
            }
            self.replace(&record);
        }
    }
}

fn described(record: &Node) -> String {
    let mut described = format!("{} {}", label(record, "version"), label(record, "status"));
    for (key, shown) in [("createdAt", "created"), ("modifiedAt", "modified")] {
        match label(record, key) {
            "" => {}
            time => match time.split_once("000") {
                Some((step, revision)) if time.len() < 9 => {
                    described += &format!(" {shown}={revision}.{step}");
                }
                _ => described += &format!(" {shown}=now"),
            },
        }
    }
    if !label(record, "team").is_empty() {
        described += &format!(" team={}", label(record, "team"));
    }
    described
}

fn text<'a>(node: &'a Node, path: &[&str]) -> &'a str {
    path.iter().try_fold(node, |node, key| node.get(key)).and_then(Node::as_str).unwrap_or_default()
}

fn label<'a>(record: &'a Node, key: &str) -> &'a str {
    text(record, &["metadata", "labels", key])
}

fn map_at<'a>(node: &'a mut Node, path: &[&str]) -> &'a mut Map<Node> {
    let map = node.as_map_mut().expect("a map");
    match path.split_first() {
        Some((key, rest)) => map_at(map.get_mut(key).expect("it is there"), rest),
        None => map,
    }
}

/// The programs that act as Helm: ours under its name, and the real one where installed.
fn programs(env: &TestEnv) -> Vec<std::path::PathBuf> {
    let mut programs = vec![env.linked("helm")];
    programs.extend(pintle_testkit::real_helm());
    programs
}

fn chart() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "name: web\ntext: one\n");
    env.write("web/templates/a.yaml", TEMPLATE);
    env
}

#[test]
fn records_keep_the_times_that_they_have_in_helm() {
    let env = chart();
    for program in programs(&env) {
        for driver in ["secret", "configmap"] {
            let stage = Stage { env: &env, flag: cluster::start(), program: &program, driver };
            for (step, (line, expected)) in (1..).zip(LIFE) {
                stage.run(line);
                assert_eq!(stage.described(), expected, "{}, {driver}, {line}", program.display());
                stage.mark_times(step);
            }
        }
    }
}

#[test]
fn a_superseded_record_without_a_namespace_stays_without_one() {
    let env = chart();
    for program in programs(&env) {
        let stage = Stage { env: &env, flag: cluster::start(), program: &program, driver: "configmap" };
        stage.run("install web web");
        let mut record = stage.records().remove(0);
        let before = without_namespace(&mut record);
        stage.replace(&record);
        stage.run("upgrade web web --set text=two");
        let after = release(&stage.records()[0]);
        assert_eq!(
            after,
            before.replace("\"deployed\"", "\"superseded\""),
            "{}: nothing but the status has changed",
            program.display()
        );
    }
}

fn release(record: &Node) -> String {
    let json = pintle::release::helm::unpack(text(record, &["data", "release"]).as_bytes());
    String::from_utf8(json.expect("a record")).expect("JSON")
}

/// Takes the namespace out of a record, and returns what is left.
fn without_namespace(record: &mut Node) -> String {
    let json = release(record);
    let without = json.replace(",\"namespace\":\"default\"", "");
    assert!(without.len() < json.len(), "{json}");
    let packed = pintle::release::helm::pack(without.as_bytes());
    map_at(record, &["data"]).insert("release".into(), packed.into());
    without
}

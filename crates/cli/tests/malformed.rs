//! Malformed objects: all objects of a release are validated before the first is applied, with Helm's texts. The table
//! `malformed/cases.txt` was recorded from the real Helm.

use std::collections::BTreeMap;

use pintle_tree::{Node, json};

use crate::get_template::put_record;
use crate::support::cluster::request;
use crate::support::{self, TestEnv};

const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: aaa\n";

/// One row of the table.
struct Case {
    name: &'static str,
    form: &'static str,
    operation: &'static str,
    /// `exit 1, release none, objects none`
    outcome: &'static str,
    stderr: &'static str,
    document: &'static str,
}

fn cases() -> Vec<Case> {
    let read = |text: &'static str| {
        let (head, document) = text.split_once("\n--\n")?;
        let mut lines = head.splitn(3, '\n');
        let mut words = lines.next()?.split(' ');
        Some(Case {
            name: words.next()?,
            form: words.next()?,
            operation: words.next()?,
            outcome: lines.next()?,
            stderr: lines.next().unwrap_or_default().trim_end(),
            document,
        })
    };
    let table = include_str!("malformed/cases.txt");
    table.split("\n== ").skip(1).map(|text| read(text).expect("a whole row")).collect()
}

/// Runs one case in its own namespace, and returns the exit code and standard error.
fn run(env: &TestEnv, cluster: &str, case: &Case, namespace: &str) -> (String, String) {
    let chart = |folder: &str, document: &str, inside: &str| {
        let folder = format!("{namespace}/{folder}");
        env.write(&format!("{folder}/Chart.yaml"), "apiVersion: v2\nname: c\nversion: 1.0.0\n");
        env.write(&format!("{folder}/templates/a.yaml"), GOOD);
        if !document.is_empty() {
            env.write(&format!("{folder}/{inside}/z.yaml"), &format!("{}\n", document.trim_end()));
        }
    };
    chart("bad", case.document, if case.form == "crd" { "crds" } else { "templates" });
    let rest = format!("-n {namespace} {cluster}");
    let shown = match case.operation {
        "install" => env.helm(&format!("install r {namespace}/bad {rest}")),
        "novalidate" => env.helm(&format!("install r {namespace}/bad --disable-openapi-validation {rest}")),
        "dry" => env.helm(&format!("install r {namespace}/bad --dry-run=server {rest}")),
        _ => {
            chart("good", "", "");
            env.helm(&format!("install r {namespace}/good {rest}"));
            env.helm(&format!("upgrade r {namespace}/bad {rest}"))
        }
    };
    let (exit, _) = shown.split_once('\n').expect("it has an exit code");
    let stderr = shown.split_once("--- stderr\n").map_or("", |(_, stderr)| stderr);
    (exit.to_owned(), stderr.trim_end().replace(namespace, "NS"))
}

/// The names of all objects that were applied, by their namespaces.
fn applied(cluster: &str) -> BTreeMap<String, Vec<String>> {
    let answer = request(cluster, "GET /api/v1/configmaps", "");
    let body = answer.iter().position(|&byte| byte == b'{').expect("an answer in JSON");
    let (list, _) = json::read_prefix(&answer[body..]).expect("an answer in JSON");
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for item in list.get("items").and_then(Node::as_list).expect("a list") {
        let text = |key| item.get("metadata").and_then(|it| it.get(key)).and_then(Node::as_str).unwrap_or("");
        if text("name") != "kube-root-ca.crt" {
            names.entry(text("namespace").to_owned()).or_default().push(text("name").to_owned());
        }
    }
    names
}

/// Checks all cases of one form and some operations against Helm's results.
fn holds(form: &str, operations: &[&str]) {
    let (env, cluster) = (TestEnv::new(), support::cluster::start());
    let cases: Vec<Case> =
        cases().into_iter().filter(|it| it.form == form && operations.contains(&it.operation)).collect();
    assert!(cases.len() > 15, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    let mut ran = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let namespace = format!("ns-{number}-x");
        let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
        request(&cluster, "POST /api/v1/namespaces", &body);
        let shown = run(&env, &cluster, case, &namespace);
        ran.push((namespace, case, shown));
    }
    let applied = applied(&cluster);
    let listed = env.helm(&format!("list -A --max 0 -o json {cluster}"));
    let listed = listed.split_once("--- stdout\n").expect("a list").1;
    let (listed, _) = json::read_prefix(listed.as_bytes()).expect("a list in JSON");
    for (namespace, case, (exit, stderr)) in ran {
        let releases = listed.as_list().expect("a list").iter();
        let text =
            |release: &Node, key: &str| release.get(key).and_then(Node::as_str).unwrap_or("").to_owned();
        let release = releases
            .filter(|release| text(release, "namespace") == namespace)
            .map(|release| format!("{} {}", text(release, "revision"), text(release, "status")))
            .next();
        let objects = applied.get(&namespace).map_or("none".to_owned(), |names| names.join(" "));
        let release = release.unwrap_or_else(|| "none".to_owned());
        let outcome = format!("{exit}, release {release}, objects {objects}");
        let mut expected = case.outcome.to_owned();
        // A wanted difference: a malformed hook is detected before the release is recorded.
        let built = !case.stderr.contains("warning: Hook") && !case.stderr.contains("no matches for kind");
        if form == "hook" && built && case.outcome.contains("failed") {
            expected = "exit 1, release none, objects none".to_owned();
        }
        if outcome != expected || stderr != case.stderr {
            wrong.push(format!(
                "{} {} {}\n  helm: {expected}\n        {}\n  ours: {outcome}\n        {stderr}",
                case.name, case.form, case.operation, case.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_malformed_object_is_refused_before_the_first_is_applied() {
    holds("plain", &["install", "novalidate"]);
}

#[test]
fn a_malformed_object_is_refused_before_an_upgrade_begins_without_a_doubled_prefix() {
    holds("plain", &["upgrade"]);
}

#[test]
fn a_dry_run_by_the_server_refuses_malformed_objects() {
    holds("plain", &["dry"]);
}

#[test]
fn the_metadata_of_members_of_a_list_is_not_decoded() {
    holds("list", &["install"]);
}

#[test]
fn a_malformed_hook_is_refused_before_the_release_is_recorded() {
    holds("hook", &["install"]);
}

#[test]
fn a_malformed_document_in_crds_is_refused() {
    holds("crd", &["install"]);
}

/// Stores two versions of a release in Helm's format, the first with a malformed manifest.
fn two_versions(cluster: &str, malformed: &str) {
    let good = r"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n";
    for (number, status, manifest) in [(1, "superseded", malformed), (2, "deployed", good)] {
        let record = format!(
            r#"{{"name":"r","info":{{"last_deployed":"2024-01-01T00:00:00Z","status":"{status}"}},"chart":{{"metadata":{{"name":"c","version":"1"}}}},"manifest":"{manifest}","version":{number},"namespace":"default"}}"#
        );
        put_record(cluster, "r", number, status, &record);
    }
}

#[test]
fn a_rollback_to_a_malformed_object_is_refused_before_it_is_recorded() {
    for (metadata, expected) in [
        (
            "{name: bad, labels: foo}",
            "unable to build kubernetes objects from new release manifest: unable to decode \"\": json: cannot \
             unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        ("{labels: {a: b}}", "could not get information about the resource: resource name may not be empty"),
    ] {
        let (env, cluster) = (TestEnv::new(), support::cluster::start());
        two_versions(&cluster, &format!(r"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n"));
        let helm = |line: &str| env.helm_with(&format!("{line} {cluster}"), &[("HELM_DRIVER", "secret")]);
        assert_eq!(helm("rollback r 1"), format!("exit 1\n--- stderr\nError: {expected}\n"));
        let history = helm("history r -o json");
        assert!(history.contains(r#"{"revision":2,"#), "{history}");
        assert!(
            !history.contains(r#""revision":3"#) && history.contains(r#""status":"deployed""#),
            "{history}"
        );
    }
}

#[test]
fn a_release_with_an_object_without_a_name_can_be_uninstalled() {
    let (env, cluster) = (TestEnv::new(), support::cluster::start());
    let record = r#"{"name":"r","info":{"status":"failed"},"chart":{"metadata":{"name":"c","version":"1"}},"manifest":"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b}}\n","version":1,"namespace":"default"}"#;
    put_record(&cluster, "r", 1, "failed", record);
    let shown = env.helm_with(&format!("uninstall r {cluster}"), &[("HELM_DRIVER", "secret")]);
    assert_eq!(
        shown,
        "exit 0\n--- stdout\n1 resource(s) were not deleted because their ownership could not be verified:\n[ConfigMap] : \
         resource name may not be empty\n\nrelease \"r\" uninstalled\n--- stderr\nlevel=WARN msg=\"skipping delete of \
         resource because ownership could not be verified\" kind=ConfigMap name=\"\" namespace=default release=r \
         error=\"resource name may not be empty\"\n"
    );
}

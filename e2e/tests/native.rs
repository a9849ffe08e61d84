//! Releases as objects of their own kind: what they own, how they are referred to, and how they come over from Helm.

use crate::support;

use pintle_e2e::{Program, TestEnv};
use serde_json::{Value, json};
use support::write_chart;

const GROUP: &str = "helm.sh/v3";

fn names(objects: &[Value]) -> Vec<&str> {
    objects.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect()
}

#[test]
fn a_release_owns_what_it_installs_and_nothing_is_left_of_it() {
    let Some(env) = TestEnv::new("a_release_owns_what_it_installs") else { return };
    write_chart(&env, "chart");
    env.run(Program::Pintle, &["install", "web", "chart"]).succeeded();
    let release = env.object(GROUP, "releases", "web").expect("the release is an object");
    let owner = json!([{
        "apiVersion": GROUP,
        "kind": "Release",
        "name": "web",
        "uid": release["metadata"]["uid"],
    }]);
    for (plural, name) in [("configmaps", "web"), ("services", "web"), ("configmaps", "web-hook")] {
        let object = env.object("v1", plural, name).expect("was installed");
        assert_eq!(object["metadata"]["ownerReferences"], owner, "{plural} {name}");
    }
    let versions = env.objects(GROUP, "releaseversions");
    assert_eq!(versions.len(), 1);
    assert_eq!(versions[0]["metadata"]["ownerReferences"][0]["uid"], release["metadata"]["uid"]);
    env.run(Program::Pintle, &["uninstall", "web"]).succeeded();
    for (plural, name) in [("configmaps", "web"), ("services", "web"), ("configmaps", "web-hook")] {
        env.wait_for("v1", plural, name, |object| object.is_none());
    }
    assert!(env.objects(GROUP, "releases").is_empty());
    assert!(env.objects(GROUP, "releaseversions").is_empty());
}

#[test]
fn what_is_to_be_kept_is_not_owned_and_stays() {
    let Some(env) = TestEnv::new("what_is_to_be_kept_is_not_owned") else { return };
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    let kept = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kept\n  annotations: {helm.sh/resource-policy: keep}\n";
    env.write("chart/templates/kept.yaml", "{{ if .Values.on }}{{ .Files.Get \"kept.yaml\" }}{{ end }}");
    env.write("chart/kept.yaml", kept);
    env.write("chart/templates/gone.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n");
    env.run(Program::Pintle, &["install", "web", "chart", "--set", "on=true"]).succeeded();
    let object = env.object("v1", "configmaps", "kept").expect("was installed");
    assert_eq!(object["metadata"]["ownerReferences"], Value::Null);
    let printed = env.run(Program::Pintle, &["uninstall", "web"]).succeeded();
    assert!(printed.stdout.contains("ConfigMap kept\n"), "{}", printed.stdout);
    env.wait_for("v1", "configmaps", "gone", |object| object.is_none());
    assert!(env.object("v1", "configmaps", "kept").is_some());
}

#[test]
fn versions_go_by_number_id_end_of_id_and_distance() {
    let Some(env) = TestEnv::new("versions_go_by_number_id_and_distance") else { return };
    write_chart(&env, "chart");
    for text in ["one", "two", "three"] {
        let set = format!("text={text}");
        env.run(Program::Pintle, &["upgrade", "--install", "web", "chart", "--set", &set]).succeeded();
    }
    let history = env.run(Program::Pintle, &["history", "web"]).succeeded().stdout;
    let ids: Vec<&str> =
        history.lines().skip(1).filter_map(|line| line.split_whitespace().next_back()).collect();
    assert_eq!(ids.len(), 3, "{history}");
    let text_at = |reference: &str| {
        env.run(Program::Pintle, &["get", "values", "web", "--revision", reference]).succeeded().stdout
    };
    for reference in ["1", "~2", ids[0], &ids[0][ids[0].len() - 8..]] {
        assert!(text_at(reference).contains("text: one"), "{reference}");
    }
    let wrong = env.run(Program::Pintle, &["get", "values", "web", "--revision", "zzzzzz"]).failed();
    assert!(wrong.stderr.contains("zzzzzz"), "{}", wrong.stderr);
    env.run(Program::Pintle, &["rollback", "web", ids[0]]).succeeded();
    assert_eq!(env.object("v1", "configmaps", "web").expect("is there")["data"]["text"], "one");
    env.run(Program::Pintle, &["rollback", "web", "~2"]).succeeded();
    assert_eq!(env.object("v1", "configmaps", "web").expect("is there")["data"]["text"], "two");
}

#[test]
fn a_release_of_helm_is_listed_and_is_moved_there_and_back_with_its_history() {
    let Some(env) = TestEnv::new("a_release_of_helm_comes_over") else { return };
    write_chart(&env, "chart");
    for name in ["moved", "upgraded"] {
        env.run(Program::Helm4, &["install", name, "chart", "--set", "text=one"]).succeeded();
        env.run(Program::Helm4, &["upgrade", name, "chart", "--set", "text=two"]).succeeded();
    }
    let listed = env.run(Program::Pintle, &["list", "-q"]).succeeded().stdout;
    assert_eq!(listed, "moved\nupgraded\n");
    env.run(Program::Pintle, &["adopt", "moved"]).succeeded();
    env.run(Program::Pintle, &["upgrade", "upgraded", "chart", "--set", "text=three"]).succeeded();
    let records = || -> Vec<String> {
        let secrets = env.objects("v1", "secrets");
        names(&secrets)
            .into_iter()
            .filter(|name| name.starts_with("sh.helm.release"))
            .map(str::to_owned)
            .collect()
    };
    // The one that was adopted has left a marker, the other stays with Helm.
    let upgraded = ["1", "2", "3"].map(|number| format!("sh.helm.release.v1.upgraded.v{number}"));
    let marker = "sh.helm.release.v1.moved.moved".to_owned();
    assert_eq!(records(), [vec![marker.clone()], upgraded.to_vec()].concat());
    for line in [
        &["install", "moved", "chart"][..],
        &["upgrade", "--install", "moved", "chart"],
        &["uninstall", "moved"],
    ] {
        env.run(Program::Helm4, line).failed();
    }
    env.run(Program::Helm4, &["rollback", "upgraded", "2"]).succeeded();
    env.run(Program::Pintle, &["upgrade", "moved", "chart", "--set", "text=two"]).succeeded();
    let owned =
        || env.object("v1", "configmaps", "moved").expect("is there")["metadata"]["ownerReferences"].clone();
    assert_ne!(owned(), Value::Null);
    // Back with Helm, its objects are still there, and owned by nobody.
    env.run(Program::Pintle, &["adopt", "moved", "--to", "secret"]).succeeded();
    env.wait_for("v1", "configmaps", "moved", |object| {
        object.is_some_and(|object| object["metadata"]["ownerReferences"] == Value::Null)
    });
    assert!(!records().contains(&marker));
    env.run(Program::Helm4, &["upgrade", "moved", "chart", "--set", "text=two"]).succeeded();
    env.run(Program::Pintle, &["adopt", "moved"]).succeeded();
    let versions = |name: &str| {
        let history = env.run(Program::Pintle, &["history", name, "-o", "json"]).succeeded().stdout;
        let history: Value = serde_json::from_str(&history).expect("JSON");
        history.as_array().expect("a list").len()
    };
    assert_eq!((versions("moved"), versions("upgraded")), (4, 4));
    env.run(Program::Pintle, &["rollback", "moved", "1"]).succeeded();
    assert_eq!(env.object("v1", "configmaps", "moved").expect("is there")["data"]["text"], "one");
    for name in ["moved", "upgraded"] {
        env.run(Program::Pintle, &["uninstall", name]).succeeded();
        env.wait_for("v1", "configmaps", name, |object| object.is_none());
    }
}

#[test]
fn a_chart_s_own_kinds_come_before_its_objects_and_stay() {
    let Some(env) = TestEnv::new("a_chart_s_own_kinds_come_first") else { return };
    let group = format!("g{}.example.com", std::process::id());
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.{group}}}\nspec:\n  group: {group}\n  names: {{kind: Thing, listKind: ThingList, plural: things, singular: thing}}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n"
    );
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/crds/thing.yaml", &definition);
    let thing = format!(
        "apiVersion: {group}/v1\nkind: Thing\nmetadata: {{name: one}}\nspec: {{size: {{{{ .Values.size }}}}}}\n"
    );
    env.write("chart/templates/thing.yaml", &thing);
    for program in [Program::Pintle, Program::PintleAsHelm] {
        env.run(program, &["install", "web", "chart", "--set", "size=1"]).succeeded();
        env.run(program, &["upgrade", "web", "chart", "--set", "size=2"]).succeeded();
        let object = env.object(&format!("{group}/v1"), "things", "one").expect("was made");
        assert_eq!(object["spec"]["size"], 2);
        env.run(program, &["uninstall", "web"]).succeeded();
        env.wait_for(&format!("{group}/v1"), "things", "one", |object| object.is_none());
    }
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}");
    assert!(env.api().read(&path).is_some(), "a kind stays when the release goes");
    env.api().delete(&path);
}

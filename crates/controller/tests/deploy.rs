//! The files of `deploy/`: copies agree, and the chart gives the controller no more rights than it uses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::path::{Path, PathBuf};

use pintle::ValuesLayer;
use pintle::ops::{
    CheckRequest, CheckSubject, InstallRequest, LintRequest, TemplateRequest, check, install, lint, template,
};
use pintle::{Session, Silent};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

async fn rendered(sets: &[&str]) -> String {
    let request = TemplateRequest {
        chart: deploy().join("chart").into(),
        name: "pintle-controller".into(),
        namespace: "pintle-system".into(),
        values: sets.iter().map(|set| ValuesLayer::Set((*set).to_owned())).collect(),
        ..TemplateRequest::default()
    };
    let rendered = template(&Session::offline(), &request, &mut Silent).await.unwrap();
    String::from_utf8(rendered.text.to_vec()).unwrap()
}

#[test]
fn the_definitions_in_the_chart_are_those_of_deploy() {
    for name in ["release.yaml", "release-version.yaml", "helm-request.yaml", "helm-request-set.yaml"] {
        let read = |folder: &str| std::fs::read_to_string(deploy().join(folder).join(name)).unwrap();
        assert_eq!(read("crds"), read("chart/crds"), "{name}: copy deploy/crds to deploy/chart/crds");
    }
}

/// `PINTLE_WRITE=1 cargo test -p pintle-controller --test it deploy::` writes the file.
#[tokio::test]
async fn controller_yaml_is_what_the_chart_renders() {
    let text = rendered(&[]).await;
    let path = deploy().join("controller.yaml");
    if std::env::var_os("PINTLE_WRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
}

#[tokio::test]
async fn the_controller_has_no_right_to_write_anything_but_requests_events_and_its_lease() {
    let text = rendered(&[]).await;
    assert!(!text.contains("secrets") && !text.contains("'*'") && !text.contains("cluster-admin"), "{text}");
    let watching = rendered(&["watchValues=true"]).await;
    assert!(watching.contains("resources: [configmaps, secrets]\n  verbs: [list, watch]"), "{watching}");
    let all = rendered(&["watchValues=all", "watchRecords=false"]).await;
    assert!(all.contains("- --watch-values=all\n") && all.contains("- --watch-records=false\n"), "{all}");
    assert!(text.contains("resources: [releases, releaseversions]\n  verbs: [list, watch]"), "{text}");
    assert!(!all.contains("resources: [releases, releaseversions]"), "{all}");
    assert!(!text.contains("FlowSchema"));
    assert!(rendered(&["flowSchema.create=true"]).await.contains("kind: FlowSchema"));
    let namespaced = rendered(&["watchNamespace=apps"]).await;
    assert!(!namespaced.contains("kind: ClusterRole"), "{namespaced}");
    assert!(namespaced.contains("- --namespace=apps"));
    assert!(!text.contains("--allow-private-network") && !text.contains("--concurrent-per-namespace"));
    let allowed = rendered(&["allowPrivateNetwork=true", "concurrentPerNamespace=3"]).await;
    assert!(allowed.contains("- --allow-private-network=true\n"), "{allowed}");
    assert!(allowed.contains("- --concurrent-per-namespace=3\n"), "{allowed}");
    let shared = rendered(&["replicas=3", "replicasShare=true"]).await;
    assert!(shared.contains("- --replicas-share\n") && !text.contains("--replicas-share"), "{shared}");
    assert!(shared.contains("verbs: [get, create, update, list, watch, delete]"), "{shared}");
    let listed = rendered(&["allowPrivateNetwork=10.96.0.0/12\\,charts.example.com"]).await;
    assert!(listed.contains("- --allow-private-network=10.96.0.0/12,charts.example.com\n"), "{listed}");
}

#[tokio::test]
async fn the_chart_passes_lint_and_installs_on_a_cluster() {
    let test = crate::support::TestCluster::new().await;
    let linted =
        lint(&Session::offline(), &deploy().join("chart"), &LintRequest::default(), &mut Silent).unwrap();
    let worst = linted.findings.worst();
    assert!(
        linted.problem.is_none() && worst <= Some(pintle::lint::Severity::Info),
        "{:?}",
        linted.findings.messages
    );
    let store = std::sync::Arc::new(pintle::cluster::store::NativeStore::new(test.cluster.clone()));
    let session = Session::new(test.cluster.clone(), store);
    let request = InstallRequest {
        chart: deploy().join("chart").into(),
        name: "pintle-controller".into(),
        namespace: "pintle-system".into(),
        create_namespace: true,
        ..InstallRequest::default()
    };
    install(&session, &request, &mut Silent).await.unwrap();
    for (version, kind, namespace) in [
        ("apps/v1", "Deployment", "pintle-system"),
        ("v1", "ServiceAccount", "pintle-system"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", ""),
    ] {
        let id = pintle::objects::ObjectId::new(version, kind, namespace, "pintle-controller");
        assert!(test.cluster.get(&id).await.unwrap().is_some(), "{kind}");
    }
}

#[test]
fn the_chart_passes_our_own_check() {
    for set in [&[][..], &["watchValues=true"], &["watchNamespace=apps"], &["replicasShare=true"]] {
        let request = CheckRequest {
            subjects: vec![CheckSubject::Path(deploy().join("chart"))],
            values: set.iter().map(|set: &&str| ValuesLayer::Set((*set).to_owned())).collect(),
            namespace: "pintle-system".to_owned(),
            ..CheckRequest::default()
        };
        let checked = check(&Session::offline(), &request, &mut Silent).unwrap();
        let findings: Vec<_> = checked.iter().flat_map(|chart| &chart.report.findings).collect();
        assert!(findings.is_empty(), "{set:?}: {findings:?}");
    }
}

/// What `kubectl get hreq` shows.
#[tokio::test]
async fn requests_have_columns() {
    let test = crate::support::TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "").await;
    test.until_ready(&controller, "web").await;
    let request = http::Request::get("/apis/helm.sh/v3/namespaces/default/helmrequests")
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new())
        .unwrap();
    let text = test.cluster.kube_client().request_text(request).await.unwrap();
    let table: serde_json::Value = serde_json::from_str(&text).unwrap();
    let columns: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns[..5], ["Name", "Ready", "Status", "Chart-Version", "Age"]);
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!((cells[1].as_str(), cells[3].as_str()), (Some("True"), Some("1.0.0")));
}

/// Every metric that the dashboard and the alerts name is one that the controller has.
#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_exist() {
    let sources = ["metrics.rs", "process_metrics.rs"].map(|name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
        std::fs::read_to_string(path).unwrap()
    });
    let source = sources.concat();
    let mut found = 0;
    for name in ["dashboard.json", "alerts.yaml"] {
        let text = std::fs::read_to_string(deploy().join("monitoring").join(name)).unwrap();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        for word in text.split(|letter| !is_part(letter)) {
            let prefixes = ["pintle_", "controller_runtime_", "workqueue_", "process_", "leader_election_"];
            if !prefixes.iter().any(|prefix| word.starts_with(prefix)) {
                continue;
            }
            found += 1;
            let known = word.strip_prefix("pintle_ring_").or_else(|| word.strip_prefix("process_"));
            let known = known.unwrap_or(word);
            let known = known.trim_end_matches("_bucket").trim_end_matches("_count");
            assert!(source.contains(&format!("\"{known}\"")), "{name}: no metric {word}");
        }
    }
    assert!(found > 20, "{found}");
}

//! The files of `deploy/`: copies agree, and the chart gives the controller no more rights than it uses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::path::{Path, PathBuf};

use pintle::ops::{TemplateRequest, template};
use pintle::values::Overrides;
use pintle::{Session, Silent};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

async fn rendered(sets: &[&str]) -> String {
    let request = TemplateRequest {
        chart: deploy().join("chart"),
        name: "pintle-controller".into(),
        namespace: "pintle-system".into(),
        values: Overrides { set: sets.iter().map(|set| (*set).to_owned()).collect(), ..Overrides::default() },
        ..TemplateRequest::default()
    };
    let rendered = template(&Session::offline(), &request, &mut Silent).await.unwrap();
    String::from_utf8(rendered.text.to_vec()).unwrap()
}

#[test]
fn the_definitions_in_the_chart_are_those_of_deploy() {
    for name in ["release.yaml", "release-version.yaml", "helm-request.yaml"] {
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
    let namespaced = rendered(&["watchNamespace=apps"]).await;
    assert!(!namespaced.contains("kind: ClusterRole"), "{namespaced}");
    assert!(namespaced.contains("- --namespace=apps"));
}

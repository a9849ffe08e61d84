//! Where the cluster has sig-apps' kind Application, one owns each release.

use crate::support;

use std::time::{Duration, Instant};

use pintle_e2e::{Program, TestEnv};
use serde_json::json;
use support::write_chart;

/// The timeout for the cluster to serve a new kind, or to stop serving it.
const LIMIT: Duration = Duration::from_secs(180);

#[test]
fn an_application_owns_the_release_where_the_cluster_has_applications() {
    // While the CRD exists, releases of other tests would get Applications, too, and be deleted with them.
    let Some(env) = TestEnv::exclusive("an_application_owns_the_release") else { return };
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "applications.app.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/application/pull/2"},
        },
        "spec": {
            "group": "app.k8s.io",
            "names": {"kind": "Application", "listKind": "ApplicationList", "plural": "applications", "singular": "application"},
            "scope": "Namespaced",
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": schema}],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    env.api().create(path, &definition);
    let served = "/apis/app.k8s.io/v1beta1/applications";
    let limit = Instant::now() + LIMIT;
    while env.api().read(served).is_none() {
        assert!(Instant::now() < limit, "the kind is not served");
        std::thread::sleep(Duration::from_millis(100));
    }
    write_chart(&env, "chart");
    env.run(Program::Pintle, &["install", "web", "chart"]).succeeded();
    let release = env.object("helm.sh/v3", "releases", "web").expect("the release is an object");
    assert_eq!(release["metadata"]["ownerReferences"][0]["kind"], "Application", "{release:#}");
    let application = env.object("app.k8s.io/v1beta1", "applications", "web").expect("was made");
    assert_eq!(application["metadata"]["uid"], release["metadata"]["ownerReferences"][0]["uid"]);
    // Whatever labels the chart has, the selector selects all of the release.
    let labels = application["spec"]["selector"]["matchLabels"].as_object().expect("has a selector");
    let selector: Vec<String> =
        labels.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    let selected = |plural: &str| {
        let path = env.path("v1", plural, "");
        env.api().list(&format!("{path}?labelSelector={}", selector.join(","))).len()
    };
    // The second ConfigMap is a hook, which the release owns, too.
    assert_eq!((selected("configmaps"), selected("services")), (2, 1), "{application:#}");
    env.run(Program::Pintle, &["uninstall", "web"]).succeeded();
    env.wait_for("app.k8s.io/v1beta1", "applications", "web", |object| object.is_none());
    env.api().delete(&format!("{path}/applications.app.k8s.io"));
    let limit = Instant::now() + LIMIT;
    while env.api().read(served).is_some() {
        assert!(Instant::now() < limit, "the kind is still served");
        std::thread::sleep(Duration::from_millis(100));
    }
}

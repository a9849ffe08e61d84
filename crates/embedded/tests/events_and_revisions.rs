//! What controllers record for users: ControllerRevisions for rollbacks, and events in order.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::support;

use std::sync::Arc;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::store::{HistoryWindow, Store};
use pintle_embedded::{Api, Options, Pace, SystemClock};
use pintle_tree::Node;
use support::{ask, cluster, get, items, text};

const CORE: &str = "/api/v1/namespaces/default";
const APPS: &str = "/apis/apps/v1/namespaces/default";

fn set(kind: &str) -> String {
    let service = if kind == "StatefulSet" { "serviceName: db, " } else { "" };
    format!(
        "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: db}}, spec: {{revisionHistoryLimit: 3, {service}\
         selector: {{matchLabels: {{app: db}}}}, template: {{metadata: {{labels: {{app: db}}}}, \
         spec: {{containers: [{{name: main, image: a}}]}}}}}}}}"
    )
}

/// The numbers of all revisions, and the image of the newest.
async fn revisions(api: &Api) -> (Vec<i64>, String) {
    let mut all = items(&get(api, &format!("{APPS}/controllerrevisions")).await);
    let number = |it: &Node| text(it, "revision").parse::<i64>().unwrap();
    all.sort_by_key(number);
    let newest = text(all.last().unwrap(), "data.spec.template.spec.containers.0.image");
    (all.iter().map(number).collect(), newest)
}

#[tokio::test]
async fn controller_revisions_are_kept_and_a_rollback_makes_an_old_one_the_newest() {
    for (kind, plural) in [("StatefulSet", "statefulsets"), ("DaemonSet", "daemonsets")] {
        let api = cluster().await;
        ask(&api, Method::POST, &format!("{APPS}/{plural}"), &set(kind)).await;
        assert_eq!(revisions(&api).await, (vec![1], "a".to_owned()), "{kind}");
        let change = async |image: &str| {
            let patch = format!(
                r#"{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"main","image":"{image}"}}]}}}}}}}}"#
            );
            ask(&api, Method::PATCH, &format!("{APPS}/{plural}/db"), &patch).await;
        };
        change("b").await;
        assert_eq!(revisions(&api).await, (vec![1, 2], "b".to_owned()), "{kind}");
        change("a").await;
        assert_eq!(revisions(&api).await, (vec![2, 3], "a".to_owned()), "{kind}");
        for image in ["c", "d", "e", "f"] {
            change(image).await;
        }
        let (numbers, newest) = revisions(&api).await;
        assert_eq!((numbers.last(), newest.as_str()), (Some(&7), "f"), "{kind}");
        assert!(numbers.len() <= 5, "{kind}: {numbers:?}");
        ask(&api, Method::DELETE, &format!("{APPS}/{plural}/db"), "").await;
        assert!(items(&get(&api, &format!("{APPS}/controllerrevisions")).await).is_empty(), "{kind}");
    }
}

/// The events of a pod, in the order of the list.
async fn events(version: &str) -> Vec<String> {
    let store = Store::in_memory(HistoryWindow::default());
    let options = Options {
        catalog: ApiCatalog::for_version(version).unwrap(),
        store,
        clock: Arc::new(SystemClock),
        seed: 1,
    };
    let api = Api::start_with_controllers(options, Pace::Fast).await.unwrap();
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: b}]}}";
    ask(&api, Method::POST, &format!("{CORE}/pods"), pod).await;
    let events = items(&get(&api, &format!("{CORE}/events")).await);
    events
        .iter()
        .map(|it| format!("{} {}", text(it, "involvedObject.fieldPath"), text(it, "message")))
        .collect()
}

#[tokio::test]
async fn events_are_in_order_and_have_the_messages_of_the_version() {
    let assigned = " Successfully assigned default/web to pintle";
    let image = r#"spec.containers{a} Container image "b" already present on machine"#;
    let new = [
        assigned.to_owned(),
        format!("{image} and can be accessed by the pod"),
        "spec.containers{a} Container created".to_owned(),
        "spec.containers{a} Container started".to_owned(),
    ];
    let old = [
        assigned.to_owned(),
        image.to_owned(),
        "spec.containers{a} Created container: a".to_owned(),
        "spec.containers{a} Started container a".to_owned(),
    ];
    assert_eq!(events("1.36").await, new);
    assert_eq!(events("1.34").await, old);
}

#[tokio::test]
async fn openapi_v2_as_protobuf_has_no_definitions() {
    let api = cluster().await;
    let request = Request::get("/openapi/v2")
        .header("Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
    let response = api.call(request.body(bytes::Bytes::new()).unwrap()).await;
    assert_eq!(response.status().as_u16(), 200);
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    // Field 1 is the OpenAPI version, field 2 the info.
    let version = format!("v{}", ApiCatalog::newest().version());
    let length = |text: &str| char::from(u8::try_from(text.len()).unwrap());
    let about = format!("\n\nKubernetes\u{12}{}{version}", length(&version));
    assert_eq!(bytes, format!("\n\u{3}2.0\u{12}{}{about}", length(&about)));
}

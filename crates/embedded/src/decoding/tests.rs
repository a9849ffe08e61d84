//! Decoding of valid and invalid objects of built-in kinds.

use pintle_tree::{Node, json};

use super::*;
use crate::schema::ApiCatalog;

fn built_in(api_version: &str, kind: &str) -> BuiltIn<'static> {
    let table = ApiCatalog::newest();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let schema = table.schema(table.kind(group, version, kind).unwrap()).unwrap();
    BuiltIn::find(api_version, kind, schema).unwrap()
}

fn written(node: &Node) -> String {
    String::from_utf8(json::write_raw(node).unwrap()).unwrap()
}

#[test]
fn unknown_fields_are_reported_in_order_and_dropped() {
    let text = r#"{"metadata":{"name":"e","bar":2},"spec":{"template":{"spec":{"containers":[{"name":"c","zap":1}]}},"foo":1,"foo":2}}"#;
    let read = built_in("apps/v1", "Deployment").decode(text.as_bytes()).unwrap();
    assert_eq!(
        read.strict,
        [
            r#"unknown field "metadata.bar""#,
            r#"unknown field "spec.template.spec.containers[0].zap""#,
            r#"unknown field "spec.foo""#
        ]
    );
    assert!(!written(&read.object).contains("zap"));
}

#[test]
fn empty_values_are_written_or_omitted_as_go_does() {
    let text = r#"{"metadata":{"name":"d","labels":{},"creationTimestamp":null},"spec":{"replicas":0,"paused":false,"selector":{},
        "template":{"spec":{"hostNetwork":false,"automountServiceAccountToken":false,"containers":[{"name":"c","command":[]}]}}}}"#;
    let read = built_in("apps/v1", "Deployment").decode(text.as_bytes()).unwrap();
    assert_eq!(
        written(&read.object),
        r#"{"metadata":{"name":"d"},"spec":{"replicas":0,"selector":{},"strategy":{},"template":{"metadata":{},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","resources":{}}]}}},"status":{}}"#
    );
    let role =
        built_in("rbac.authorization.k8s.io/v1", "Role").decode(br#"{"metadata":{"name":"r"}}"#).unwrap();
    assert_eq!(written(&role.object), r#"{"metadata":{"name":"r"},"rules":null}"#);
}

#[test]
fn quantities_times_and_bytes_have_one_canonical_form() {
    let text = r#"{"metadata":{"creationTimestamp":"2026-01-01T02:00:00+02:00"},"spec":{"containers":[{"name":"c",
        "resources":{"limits":{"cpu":0.5,"memory":"1024Mi"},"requests":{"cpu":"100n"}}}]}}"#;
    let read = written(&built_in("v1", "Pod").decode(text.as_bytes()).unwrap().object);
    assert!(read.contains(r#""limits":{"cpu":"500m","memory":"1Gi"},"requests":{"cpu":"1m"}"#), "{read}");
    assert!(read.contains(r#""creationTimestamp":"2026-01-01T00:00:00Z""#), "{read}");
}

#[test]
fn values_of_the_wrong_type_are_rejected_with_gos_messages() {
    let deployment = built_in("apps/v1", "Deployment");
    let start = "json: cannot unmarshal ";
    let cases = [
        (
            r#"{"spec":{"replicas":"3"}}"#,
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#"{"spec":{"replicas":1.5}}"#,
            "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#"{"spec":{"replicas":3000000000}}"#,
            "number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (r#"{"spec":{"paused":1}}"#, "number into Go struct field DeploymentSpec.spec.paused of type bool"),
        (
            r#"{"spec":{"template":[]}}"#,
            "array into Go struct field DeploymentSpec.spec.template of type v1.PodTemplateSpec",
        ),
        (r#"{"metadata":[]}"#, "array into Go struct field Deployment.metadata of type v1.ObjectMeta"),
        (
            r#"{"metadata":{"labels":{"a":1}}}"#,
            "number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            r#"{"metadata":{"labels":["a"]}}"#,
            "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":{}}}}}"#,
            "object into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"x"},{"livenessProbe":{"httpGet":{"port":{}}}}]}}}}"#,
            "object into Go struct field HTTPGetAction.spec.template.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"ports":["x"]}]}}}}"#,
            "string into Go struct field Container.spec.template.spec.containers.ports of type v1.ContainerPort",
        ),
    ];
    for (text, wanted) in cases {
        assert_eq!(deployment.decode(text.as_bytes()).unwrap_err(), format!("{start}{wanted}"));
    }
    let time = deployment.decode(br#"{"metadata":{"creationTimestamp":"x"}}"#).unwrap_err();
    assert_eq!(time, r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#);
    let secret = built_in("v1", "Secret");
    assert_eq!(secret.decode(br#"{"data":{"a":"!!"}}"#).unwrap_err(), "illegal base64 data at input byte 0");
    assert_eq!(
        secret.decode(br#"{"data":{"a":5}}"#).unwrap_err(),
        format!("{start}number into Go struct field Secret.data of type []uint8")
    );
}

#[test]
fn patched_objects_are_rejected_with_messages_of_their_own() {
    let deployment = built_in("apps/v1", "Deployment");
    let cases = [
        (r#"{"spec":{"replicas":"x"}}"#, "unrecognized type: int32"),
        (r#"{"spec":{"replicas":1.5}}"#, "cannot convert float64 to int32"),
        (r#"{"spec":{"paused":3}}"#, "unrecognized type: bool"),
        (r#"{"spec":{"selector":["x"]}}"#, "cannot restore struct from: slice"),
        (r#"{"spec":5}"#, "cannot restore struct from: int64"),
        (r#"{"metadata":{"labels":"x"}}"#, "cannot restore map from string"),
        (r#"{"metadata":{"labels":{"a":1}}}"#, "cannot convert int64 to string"),
        (r#"{"metadata":{"labels":{"a":true}}}"#, "unrecognized type: string"),
        (r#"{"spec":{"template":{"spec":{"containers":"x"}}}}"#, "cannot restore slice from string"),
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"imagePullPolicy":5}]}}}}"#,
            "cannot convert int64 to v1.PullPolicy",
        ),
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}}}"#,
            "json: cannot unmarshal bool into Go value of type int32",
        ),
    ];
    for (text, wanted) in cases {
        let tree = json::read_exact(text.as_bytes()).unwrap();
        assert_eq!(deployment.decode_tree(&tree, Source::Tree).unwrap_err(), wanted, "{text}");
    }
}

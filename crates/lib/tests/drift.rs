//! Drift that cannot be determined is reported, never treated as no drift.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use pintle::Silent;
use pintle::ops::{DriftRequest, drift, install};

use crate::support::{Driver, TestEnv};

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kinds.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: kinds, singular: kind, kind: Kind}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";

#[tokio::test]
async fn a_crd_that_cannot_be_compared_is_reported_with_the_reason() {
    let env = TestEnv::new().await;
    env.write("crds/kind.yaml", DEFINITION);
    let (session, gate) = env.session(Driver::Native);
    install(&session, &env.install("web"), &mut Silent).await.unwrap();
    let request = |correct| DriftRequest {
        name: "web".to_owned(),
        namespace: "default".to_owned(),
        correct,
        ..DriftRequest::default()
    };
    let found = drift(&session, &request(false)).await.unwrap();
    assert_eq!((found.compared, found.objects.len()), (2, 0));
    gate.misdirect("/customresourcedefinitions/");
    for correct in [false, true] {
        let found = drift(&session, &request(correct)).await.unwrap();
        let [definition] = &found.objects[..] else { panic!("{:?}", found.objects) };
        assert_eq!((definition.id.kind.as_str(), found.compared), ("CustomResourceDefinition", 2));
        assert!(definition.problem.is_some() && !definition.is_missing && !definition.is_corrected);
    }
}

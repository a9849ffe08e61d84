//! `version`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

#[test]
fn each_personality_has_its_own_shape() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("version"), @r#"
    exit 0
    --- stdout
    version.BuildInfo{Version:"v4.2.4", GitCommit:"", GitTreeState:"", GoVersion:"go1.26.8", KubeClientVersion:"v1.36"}
    "#);
    assert_snapshot!(env.helm("version --short"), @"
    exit 0
    --- stdout
    v4.2.4
    ");
    assert_snapshot!(env.pintle("version"), @"
    exit 0
    --- stdout
    pintle 0.1.0 (as Helm 4.2.4, Kubernetes 1.36)
    ");
    assert_snapshot!(env.pintle("version --short"), @"
    exit 0
    --- stdout
    0.1.0
    ");
}

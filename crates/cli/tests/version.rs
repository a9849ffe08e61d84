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
    version.BuildInfo{Version:"v4.3.1", GitCommit:"", GitTreeState:"", GoVersion:"go1.27.2", KubeClientVersion:"v1.37"}
    "#);
    assert_snapshot!(env.helm("version --short"), @"
    exit 0
    --- stdout
    v4.3.1
    ");
    assert_snapshot!(env.pintle("version"), @"
    exit 0
    --- stdout
    pintle 0.1.0 (as Helm 4.3.1, Kubernetes 1.37)
    ");
    assert_snapshot!(env.pintle("version --short"), @"
    exit 0
    --- stdout
    0.1.0
    ");
}

//! `init`, `adopt` and `unlock`, which Helm does not have

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn operands_are_counted_and_the_cluster_is_asked() {
    let env = TestEnv::new();
    assert_snapshot!(env.pintle("init now"), @"
    exit 2
    --- stderr
    error: `pintle init` accepts no arguments, but 1 was given

    hint: usage: pintle init [flags]
    ");
    assert_snapshot!(env.pintle("adopt"), @"
    exit 2
    --- stderr
    error: `pintle adopt` requires at least 1 argument, but none were given

    hint: usage: pintle adopt RELEASE_NAME [...] [flags]
    ");
    assert_snapshot!(env.pintle("unlock"), @"
    exit 2
    --- stderr
    error: `pintle unlock` requires 1 argument, but none were given

    hint: usage: pintle unlock RELEASE_NAME [flags]
    ");
    for line in ["init", "adopt web", "unlock web --free"] {
        let shown = env.pintle(&format!("{line} {UNREACHABLE}"));
        assert!(shown.contains("error: the cluster cannot be reached"), "{line}: {shown}");
    }
}

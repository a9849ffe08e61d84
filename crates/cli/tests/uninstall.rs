//! `uninstall`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn a_release_is_required_and_the_cascade_value_is_checked_first() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("uninstall"), @r#"
    exit 1
    --- stderr
    Error: "helm uninstall" requires at least 1 argument

    Usage:  helm uninstall RELEASE_NAME [...] [flags]
    "#);
    assert_snapshot!(env.helm("uninstall web --cascade sideways"), @r#"
    exit 1
    --- stderr
    Error: invalid cascade value (sideways). Must be "background", "foreground", or "orphan"
    "#);
    assert_snapshot!(env.helm("delete web --dry-run=client"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "client" for "--dry-run" flag: strconv.ParseBool: parsing "client": invalid syntax
    "#);
}

#[test]
fn every_flag_is_accepted() {
    let env = TestEnv::new();
    let line = "un web more --dry-run --no-hooks --ignore-not-found --keep-history --cascade orphan --timeout 1m \
                --description d --wait --hook-parallelism 2 --hook-env --logs=end --no-log-output";
    assert_snapshot!(env.helm(&format!("{line} {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
    assert_snapshot!(env.pintle(&format!("uninstall web {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    error: the cluster cannot be reached
    caused by: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused

    hint: see whether the cluster runs, and whether --kube-context and --kubeconfig name the right one; `--cluster embedded` tries it without a cluster
    "#);
}

#[test]
fn a_signal_ends_helm_s_uninstall_rollback_and_test_by_itself() {
    use std::os::unix::process::ExitStatusExt as _;
    let env = TestEnv::new();
    for command in ["uninstall", "rollback", "test"] {
        // A server that accepts the request and never responds.
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", server.local_addr().expect("it has an address"));
        // A shell starts background jobs with SIGINT ignored, and their children inherit that.
        let mut child = std::process::Command::new("env")
            .arg("--default-signal=INT")
            .arg(env.linked("helm"))
            .args([command, "web", "--kube-apiserver", &address])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the program can be run");
        let asked = server.accept().expect("the program asks");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        let ended = child.wait().expect("it ends");
        assert_eq!(ended.signal(), Some(rustix::process::Signal::INT.as_raw()), "{command}: {ended}");
        drop(asked);
    }
}

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

/// A release `a` of which another one, `b`, has taken over an object.
fn env_with_two_owners() -> TestEnv {
    let env = TestEnv::new();
    let config = |name: &str, more: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{more}---\n")
    };
    for name in ["one", "two"] {
        env.write(&format!("{name}/Chart.yaml"), &format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n"));
    }
    let keep = "  annotations: {helm.sh/resource-policy: keep}\n";
    let all = [config("own", ""), config("shared", ""), config("kept", keep)].concat();
    env.write("one/templates/a.yaml", &all);
    env.write("two/templates/a.yaml", &config("shared", ""));
    for line in ["install a one", "install b two --take-ownership"] {
        let done = env.helm(&format!("{line} --cluster embedded:box.db"));
        assert!(done.starts_with("exit 0"), "{done}");
    }
    env
}

#[test]
fn what_another_release_owns_is_kept_and_listed() {
    let env = env_with_two_owners();
    assert_snapshot!(env.helm("uninstall a --dry-run --cluster embedded:box.db"), @r#"
    exit 0
    --- stdout
    These resources were kept due to the resource policy:
    [ConfigMap] kept

    release "a" uninstalled
    --- stderr
    level=WARN msg="dry-run: resources would be skipped because they are not owned by this release" release=a count=1
    level=WARN msg="dry-run: would skip resource" kind=ConfigMap name=shared namespace=default
    "#);
    assert_snapshot!(env.helm("uninstall a --cluster embedded:box.db"), @r#"
    exit 0
    --- stdout
    These resources were kept due to the resource policy:
    [ConfigMap] kept

    1 resource(s) were not deleted because they are not owned by this release:
    [ConfigMap] shared

    release "a" uninstalled
    --- stderr
    level=WARN msg="skipping delete of resource not owned by this release" kind=ConfigMap name=shared namespace=default release=a
    "#);
    let left = env.helm("status b -o json --cluster embedded:box.db");
    assert!(left.contains("\"name\":\"shared\""), "{left}");
}

#[test]
fn kept_objects_are_listed_with_their_owner_as_pintle() {
    let env = env_with_two_owners();
    let dry = env.pintle("uninstall a --dry-run --cluster embedded:box.db");
    let done = env.pintle("uninstall a --cluster embedded:box.db");
    assert_eq!(dry, done);
    assert_snapshot!(done, @r#"
    exit 0
    --- stdout
    kept because of their resource policy:
      ConfigMap kept

    kept because the release does not own them:
      ConfigMap default/shared (of release b in namespace default)

    release "a" uninstalled
    "#);
}

//! `history`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn a_release_is_needed_and_flags_are_read() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("history"), @r#"
    exit 1
    --- stderr
    Error: "helm history" requires 1 argument

    Usage:  helm history RELEASE_NAME [flags]
    "#);
    assert_snapshot!(env.helm("hist web --max=all"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "all" for "--max" flag: strconv.ParseInt: parsing "all": invalid syntax
    "#);
    assert_snapshot!(env.helm(&format!("hist web --max 3 -o yaml {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
}

/// Records of a release `d`: none readable, only the newest, or all.
fn with_records(env: &TestEnv, records: &[(u64, &str, &str)]) {
    let mut objects = String::new();
    for (number, status, data) in records {
        objects.push_str(&format!(
            "---\napiVersion: v1\nkind: Secret\ntype: helm.sh/release.v1\nmetadata:\n  name: \
             sh.helm.release.v1.d.v{number}\n  labels: {{owner: helm, name: d, status: {status}, version: \
             \"{number}\"}}\ndata: {{release: {data}}}\n"
        ));
    }
    env.write("records/Chart.yaml", "apiVersion: v2\nname: records\nversion: 0.1.0\n");
    env.write("records/templates/a.yaml", &objects);
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    env.helm("install r records --cluster embedded:box.db");
}

#[test]
fn a_release_of_which_no_record_can_be_read_is_not_taken_for_one_that_is_not_there() {
    let env = TestEnv::new();
    with_records(&env, &[(1, "superseded", "IVRoaXM="), (2, "deployed", "IVRoaXM=")]);
    let helm = |line: &str| env.helm(&format!("{line} --cluster embedded:box.db"));
    let shown = helm("history d -o json");
    assert_eq!(shown, "exit 0\n--- stdout\n[]\n");
    assert!(helm("history d").starts_with("exit 0\n--- stdout\nREVISION\tUPDATED\tSTATUS\tCHART"));
    let refused = |line: &str, text: &str| {
        assert_eq!(helm(line), format!("exit 1\n--- stderr\nError: {text}\n"), "{line}");
    };
    for line in ["status d", "get all d", "get values d", "get metadata d", "rollback d", "test d"] {
        refused(line, "no revision for release \"d\"");
    }
    refused("upgrade d web", "UPGRADE FAILED: no revision for release \"d\"");
    refused("upgrade d web --install", "UPGRADE FAILED: no revision for release \"d\"");
    refused("uninstall d", "no release provided");
    refused("uninstall d --ignore-not-found", "no release provided");
    let ours = env.pintle("history d --cluster embedded:box.db");
    assert!(
        ours.contains("error: no revision for release \"d\"\n\nhint: release d has records, but none"),
        "{ours}"
    );
}

#[test]
fn a_list_shows_the_newest_version_that_can_be_read() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    env.helm("install d web --cluster embedded:box.db");
    with_records(&env, &[(2, "deployed", "IVRoaXM=")]);
    let listed = env.helm("list -q --cluster embedded:box.db");
    assert_eq!(listed, "exit 0\n--- stdout\nd\nr\n");
    assert!(env.helm("status d --cluster embedded:box.db").contains("REVISION: 1\n"));
}

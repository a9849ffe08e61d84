//! `get all`, `get hooks`, `get manifest`, `get metadata`, `get notes`, `get values`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn without_a_subcommand_it_prints_help() {
    let env = TestEnv::new();
    let shown = env.helm("get");
    for part in ["all", "hooks", "manifest", "metadata", "notes", "values"] {
        assert!(shown.contains(&format!("\n  {part}  ")), "{part}: {shown}");
    }
    assert_snapshot!(env.helm("get all"), @r#"
    exit 1
    --- stderr
    Error: "helm get all" requires 1 argument

    Usage:  helm get all RELEASE_NAME [flags]
    "#);
}

#[test]
fn every_part_takes_a_release_and_a_version() {
    let env = TestEnv::new();
    let wanted = "exit 1\n--- stderr\nError: kubernetes cluster unreachable: Get \"http://127.0.0.1:1/version\": dial tcp 127.0.0.1:1: connect: connection refused\n";
    for part in ["all --template x", "hooks", "manifest", "metadata -o json", "notes", "values --all -o yaml"]
    {
        assert_eq!(env.helm(&format!("get {part} web --revision 2 {UNREACHABLE}")), wanted, "{part}");
    }
    assert_snapshot!(env.helm("get values web --revision x"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "x" for "--revision" flag: strconv.ParseInt: parsing "x": invalid syntax
    "#);
    assert_snapshot!(env.helm("get manifest web -o json"), @"
    exit 1
    --- stderr
    Error: unknown shorthand flag: 'o' in -o
    ");
}

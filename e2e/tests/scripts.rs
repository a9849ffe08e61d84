//! The worked examples of charts that act, on a real cluster: installed, upgraded, looked at by the real Helm, and taken
//! away. `cli/tests/scripts.rs` does the same on the embedded API.

use std::path::Path;

use pintle_e2e::{Bench, Program};

/// The examples, what to give them, the ConfigMap or Secret to look at, and a part of it.
const EXAMPLES: [(&str, &[&str], &str, &str); 10] = [
    ("labels", &[], "configmaps/labels", "\"example.com/team\":\"blue\""),
    ("sized", &["--set", "size=large"], "configmaps/sized", "\"memory\":\"4Gi\""),
    ("checked", &["--set", "tls=true"], "configmaps/checked", "\"greeting\":\"hello\""),
    ("password", &[], "secrets/password", "\"password\":"),
    ("cluster-aware", &[], "configmaps/cluster-aware", "\"storageClass\":"),
    ("readiness", &[], "configmaps/readiness", "\"greeting\":\"hello\""),
    ("parent", &[], "configmaps/parent-db", "and by the parent after it"),
    ("no-templates", &[], "configmaps/no-templates-north", "\"languages\":\"no,sv\""),
    ("with-library", &[], "configmaps/with-library-two", "\"b\":\"2\""),
    ("permissions", &["--yes"], "configmaps/permissions", "\"greeting\":\"hello\""),
];

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/scripts").join(name);
    folder.canonicalize().expect("it is there").display().to_string()
}

/// The words of a command that waits.
fn waiting<'a>(words: &[&'a str], flags: &[&'a str]) -> Vec<&'a str> {
    [words, flags, &["--wait"]].concat()
}

#[test]
fn the_worked_examples_are_installed_and_upgraded() {
    let Some(bench) = Bench::new("scripts-examples") else { return };
    let run = |words: &[&str]| bench.run(Program::Pintle, words).succeeded();
    for (name, flags, object, part) in EXAMPLES {
        let chart = example(name);
        let (plural, object) = object.split_once('/').expect("a kind and a name");
        run(&waiting(&["install", name, &chart], flags));
        let installed = bench.object("v1", plural, object).expect("it is there");
        assert!(installed.to_string().contains(part), "{name}: {installed}");
        run(&waiting(&["upgrade", name, &chart], flags));
        let upgraded = bench.object("v1", plural, object).expect("it is there");
        assert_eq!(installed["data"], upgraded["data"], "{name}");
        run(&["rollback", name, "1"]);
        run(&["uninstall", name]);
        assert!(bench.object("v1", plural, object).is_none(), "{name}: {object} is gone");
    }
}

#[test]
fn the_real_helm_reads_and_removes_what_scripts_made() {
    let Some(bench) = Bench::new("scripts-helm") else { return };
    for name in ["parent", "with-library", "permissions"] {
        let mut command = bench.command(Program::Pintle);
        command.args(["install", name, &example(name), "--yes"]).env("HELM_DRIVER", "secret");
        let ran: pintle_e2e::Ran = command.output().expect("it can be run").into();
        ran.succeeded();
        bench.run(Program::Helm4, &["get", "all", name]).succeeded();
        bench.run(Program::Helm4, &["uninstall", name]).succeeded();
    }
}

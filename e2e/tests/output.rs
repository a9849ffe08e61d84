//! Under the name `helm`, ours prints what the real one prints on the same cluster, but for times.

use crate::support;

use pintle_e2e::{CommandResult, Program, TestEnv};
use support::{json_without_times, without_times, write_chart};

/// A command, and the state that it leaves for the next one.
type Line = &'static [&'static str];

/// Releases as `HELM_MEMORY_DRIVER_DATA` names them.
const DATA: &str = r#"
- name: web
  version: 1
  namespace: NAMESPACE
  info: {status: superseded, description: one, last_deployed: "2024-01-01T00:00:00Z"}
  chart: {metadata: {name: web, version: 1.0.0, apiVersion: v2}}
  manifest: "---\n# Source: a\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
- name: web
  version: 2
  namespace: NAMESPACE
  info: {status: deployed, description: two, last_deployed: "2024-01-02T00:00:00Z"}
  chart: {metadata: {name: web, version: 1.0.1, apiVersion: v2}}
  manifest: "---\n# Source: a\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
"#;

/// Runs commands with one program and returns what it printed.
fn printed(env: &TestEnv, program: Program, prepare: fn(&TestEnv), lines: &[Line]) -> Vec<CommandResult> {
    prepare(env);
    lines.iter().map(|line| env.run(program, line)).collect()
}

/// Compares what both programs say to the same commands, one after the other in the same namespace.
fn compare(env: &TestEnv, prepare: fn(&TestEnv), lines: &[Line]) {
    let real = printed(env, Program::Helm4, prepare, lines);
    let ours = printed(env, Program::PintleAsHelm, prepare, lines);
    are_alike(lines, real, ours);
}

fn are_alike(lines: &[Line], real: Vec<CommandResult>, ours: Vec<CommandResult>) {
    for ((line, real), ours) in lines.iter().zip(real).zip(ours) {
        let shown =
            format!("helm {}\nreal stderr:\n{}\nour stderr:\n{}", line.join(" "), real.stderr, ours.stderr);
        assert_eq!(ours.code, real.code, "{shown}");
        if line.contains(&"json") && real.code == Some(0) {
            assert_eq!(json_without_times(&ours.stdout), json_without_times(&real.stdout), "{shown}");
        } else {
            assert_eq!(without_times(&ours.stdout), without_times(&real.stdout), "{shown}");
        }
        let real = without_watch_errors(&real.stderr);
        assert_eq!(without_times(&ours.stderr), without_times(&real), "{shown}");
    }
}

/// client-go logs a watch that Helm cancels while an event arrives, which depends on timing.
fn without_watch_errors(stderr: &str) -> String {
    let is_noise = |line: &&str| line.contains("reflector.go:") && line.contains("watch ended with error");
    stderr.split_inclusive('\n').filter(|line| !is_noise(line)).collect()
}

#[test]
fn a_release_s_life_is_told_alike() {
    let Some(env) = TestEnv::new("a_release_s_life_is_told_alike") else { return };
    write_chart(&env, "chart");
    compare(
        &env,
        |_| {},
        &[
            &["install", "web", "chart", "--dry-run=client", "--set", "text=dry"],
            &["install", "web", "chart", "--dry-run=server", "--set", "text=dry"],
            &["install", "web", "chart", "--set", "text=one", "--labels", "team=a"],
            &["install", "web", "chart"],
            &["list"],
            &["list", "-q"],
            &["list", "-o", "json"],
            &["list", "-o", "yaml"],
            &["list", "--filter", "^w", "--selector", "team=a"],
            &["list", "--filter", "x("],
            &["status", "web"],
            &["status", "web", "-o", "json"],
            &["upgrade", "web", "chart", "--set", "more=true", "--description", "more of it"],
            &["upgrade", "web", "chart", "--dry-run=server", "--hide-secret"],
            &["upgrade", "web", "chart", "--hide-secret"],
            &["upgrade", "web", "chart", "--reuse-values", "--set", "text=three", "-o", "json"],
            &["history", "web"],
            &["history", "web", "-o", "json"],
            &["history", "web", "--max", "2"],
            &["rollback", "web", "7"],
            &["rollback", "web", "1", "--dry-run=server"],
            &["rollback", "web", "1"],
            &["history", "web"],
            &["get", "all", "web"],
            &["get", "values", "web", "--revision", "3"],
            &["get", "values", "web", "--revision", "3", "--all", "-o", "json"],
            &["get", "values", "web", "-o", "yaml"],
            &["get", "metadata", "web"],
            &["get", "metadata", "web", "-o", "json"],
            &["get", "hooks", "web"],
            &["get", "notes", "web"],
            &["get", "manifest", "web", "--revision", "9"],
            &["test", "web"],
            &["uninstall", "web", "--dry-run"],
            &["uninstall", "web", "--keep-history"],
            &["uninstall", "web", "--keep-history"],
            &["list", "--uninstalled"],
            &["uninstall", "web"],
            &["uninstall", "web"],
            &["uninstall", "web", "--ignore-not-found"],
            &["status", "web"],
            &["history", "web"],
            &["rollback", "web"],
            &["upgrade", "web", "chart"],
            &["upgrade", "web", "chart", "--install"],
            &["uninstall", "web", "--wait"],
        ],
    );
}

#[test]
fn refusals_are_told_alike() {
    let Some(env) = TestEnv::new("refusals_are_told_alike") else { return };
    write_chart(&env, "chart");
    env.write("strange/Chart.yaml", "apiVersion: v2\nname: strange\nversion: 1.0.0\n");
    env.write("strange/templates/a.yaml", "apiVersion: example.com/v1\nkind: Strange\nmetadata: {name: a}\n");
    env.write("typo/Chart.yaml", "apiVersion: v2\nname: typo\nversion: 1.0.0\n");
    env.write("typo/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatta: {}\n");
    let foreign = |env: &TestEnv| {
        let object =
            serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}});
        env.api().create(&env.path("v1", "configmaps", ""), &object);
    };
    compare(
        &env,
        foreign,
        &[
            &["install", "UPPER", "chart"],
            &["install", "web", "strange"],
            &["install", "web", "typo"],
            &["list", "--all-namespaces", "--filter", "typo-never"],
            &["uninstall", "web"],
            &["install", "other", "chart"],
            &["install", "other", "chart", "--take-ownership"],
            &["uninstall", "other"],
            &["install", "web", "chart", "--labels", "name=x"],
            &["install", "web", "chart", "-n", "no-such-namespace"],
            &["install", "web", "chart", "--server-side=false", "--force-replace"],
            &["upgrade", "web", "chart", "--force-replace", "--server-side=true"],
            &["upgrade", "web", "chart", "--server-side=false", "--set", "text=two"],
            &["upgrade", "web", "chart", "--server-side=true", "--set", "text=three"],
            &["get", "metadata", "web"],
            &["uninstall", "web"],
        ],
    );
}

/// A kind of which the server knows every field.
fn make_kind(env: &TestEnv) {
    let definition = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "strays.e2e.pintle.dev"},
        "spec": {
            "group": "e2e.pintle.dev",
            "scope": "Namespaced",
            "names": {"kind": "Stray", "plural": "strays", "singular": "stray", "listKind": "StrayList"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"known": {"type": "string"}},
                }},
            }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let answer = env.api().send("POST", path, "application/json", &definition.to_string());
    assert!(answer.is_ok() || answer.code == 409, "{}", answer.body);
    env.wait_for("e2e.pintle.dev/v1", "strays", "", |list| list.is_some());
}

#[test]
fn a_rollback_is_as_strict_about_unknown_fields_as_helm_s() {
    let Some(env) = TestEnv::new("a_rollback_is_as_strict") else { return };
    make_kind(&env);
    for (chart, head) in [
        ("core", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stray}\n"),
        ("custom", "apiVersion: e2e.pintle.dev/v1\nkind: Stray\nmetadata: {name: stray}\nknown: a\n"),
    ] {
        env.write(
            &format!("{chart}/Chart.yaml"),
            &format!("apiVersion: v2\nname: {chart}\nversion: 1.0.0\n"),
        );
        let field = "{{ if .Values.odd }}odd: 1{{ end }}\n";
        env.write(&format!("{chart}/templates/a.yaml"), &format!("{head}{field}"));
    }
    compare(
        &env,
        |_| {},
        &[
            &["install", "core", "core", "--set", "odd=true"],
            &["upgrade", "core", "core", "--reset-values"],
            &["rollback", "core", "1"],
            &["rollback", "core", "1", "--force-replace", "--server-side=false"],
            &["history", "core"],
            &["uninstall", "core"],
            &["install", "custom", "custom", "--set", "odd=true"],
            &["upgrade", "custom", "custom", "--reset-values"],
            &["rollback", "custom", "1"],
            &["rollback", "custom", "1", "--force-replace", "--server-side=false"],
            &["history", "custom"],
            &["uninstall", "custom"],
        ],
    );
}

#[test]
fn releases_in_memory_are_changed_in_word_only() {
    let Some(env) = TestEnv::new("releases_in_memory") else { return };
    write_chart(&env, "chart");
    let data = env.write("data.yaml", &DATA.replace("NAMESPACE", env.namespace()));
    let lines: &[Line] = &[
        &["list"],
        &["history", "web"],
        &["get", "manifest", "web"],
        &["install", "new", "chart"],
        &["install", "new", "chart", "--wait", "--timeout", "5s", "-o", "json"],
        &["install", "web", "chart"],
        &["upgrade", "web", "chart", "--wait"],
        &["upgrade", "new", "chart"],
        &["upgrade", "new", "chart", "--install"],
        &["upgrade", "web", "chart", "--dry-run=server"],
        &["rollback", "web", "1"],
        &["rollback", "web", "7"],
        &["test", "web"],
        &["uninstall", "web", "--wait"],
        &["uninstall", "web", "--keep-history"],
        &["uninstall", "new"],
    ];
    let run = |program: Program, line: &Line| -> CommandResult {
        let mut command = env.command(program);
        command.env("HELM_DRIVER", "memory").env("HELM_MEMORY_DRIVER_DATA", &data).args(*line);
        command.output().expect("the program can be run").into()
    };
    let [real, ours] = [Program::Helm4, Program::PintleAsHelm]
        .map(|program| lines.iter().map(|line| run(program, line)).collect::<Vec<CommandResult>>());
    are_alike(lines, real, ours);
    let names = ["web", "new"].map(|name| env.object("v1", "configmaps", name));
    assert_eq!(names, [None, None]);
    // As `pintle`, the program fails instead of pretending to have installed something.
    run(Program::Pintle, &lines[3]).failed();
}

#[test]
fn what_the_server_warns_about_is_passed_on() {
    let Some(env) = TestEnv::new("what_the_server_warns_about") else { return };
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nodd: 1\n");
    let lax = &["install", "web", "chart", "--server-side=false", "--disable-openapi-validation"];
    compare(&env, |_| {}, &[lax, &["uninstall", "web"]]);
    let printed = env.run(Program::Pintle, lax).succeeded().stderr;
    assert_eq!(printed, "warning: server: unknown field \"odd\"\n");
}

#[test]
fn the_shell_is_offered_the_same_names() {
    let Some(env) = TestEnv::new("the_shell_is_offered_the_same_names") else { return };
    write_chart(&env, "chart");
    for line in [
        ["install", "web", "chart"].as_slice(),
        &["install", "webby", "chart"],
        &["upgrade", "web", "chart"],
        &["install", "old", "chart"],
        &["uninstall", "old", "--keep-history"],
    ] {
        env.run(Program::Helm4, line).succeeded();
    }
    let lines: &[Line] = &[
        &["__complete", "status", ""],
        &["__complete", "status", "w"],
        &["__complete", "status", "web", ""],
        &["__complete", "upgrade", ""],
        &["__complete", "uninstall", "web", ""],
        &["__complete", "history", "x"],
        &["__complete", "test", ""],
        &["__complete", "get", "values", ""],
        &["__complete", "rollback", ""],
        &["__complete", "rollback", "web", ""],
        &["__complete", "rollback", "web", "1", ""],
        &["__complete", "rollback", "nope", ""],
        &["__completeNoDesc", "rollback", "web", ""],
        &["__complete", "get", "notes", "--revision", ""],
        &["__complete", "get", "notes", "web", "--revision", ""],
        &["__complete", "status", "nope", "--revision", ""],
        &["__complete", "status", "--kube-context", ""],
        &["__complete", "list", "--output", ""],
        &["__complete", "upgrade", "--namespace", "no-such-namespace", ""],
    ];
    let [real, ours] = [Program::Helm4, Program::PintleAsHelm]
        .map(|program| lines.iter().map(|line| env.run(program, line)).collect::<Vec<CommandResult>>());
    are_alike(lines, real, ours);
    // Not compared: other tests create namespaces at the same time.
    for program in [Program::Helm4, Program::PintleAsHelm] {
        let printed = env.run(program, &["__complete", "status", "--namespace", ""]).succeeded().stdout;
        let names: Vec<&str> = printed.lines().collect();
        assert!(names.contains(&env.namespace()) && names.contains(&"kube-system"), "{program:?}: {printed}");
        assert_eq!(names.last(), Some(&":4"), "{program:?}");
    }
}

#[test]
fn the_shell_does_not_wait_for_a_cluster_that_is_not_there() {
    let Some(env) = TestEnv::new("the_shell_does_not_wait") else { return };
    for (words, directive) in [
        (["status", ""].as_slice(), ":0"),
        (&["rollback", "web", ""], ":1"),
        (&["status", "--namespace", ""], ":0"),
    ] {
        let ends = [Program::Helm4, Program::PintleAsHelm].map(|program| {
            let mut command = env.command(program);
            command.env("KUBECONFIG", "/dev/null").arg("__complete").args(words);
            CommandResult::from(command.output().expect("the program can be run")).succeeded().stdout
        });
        assert_eq!(ends, [format!("{directive}\n"), format!("{directive}\n")], "{words:?}");
    }
}

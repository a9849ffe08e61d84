//! Which rights each command needs: taken from the requests of real runs, and compared with the page for users.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use pintle_e2e::{Program, ProxiedRequest, Proxy, TestEnv};

/// The page. `PINTLE_WRITE=1 cargo xtask e2e --on embedded rbac` renews it.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/rbac.md");

const VERBS: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];

/// The kinds of the chart's objects and hooks. No record of a release is of any of them.
const OF_THE_CHART: [&str; 4] = ["deployments.apps", "services", "jobs.batch", "pods"];

/// The commands in an order in which each finds what it needs, and how the page calls them.
const COMMANDS: [(&str, &[&str]); 17] = [
    ("install", &["install", "web", "chart"]),
    ("upgrade", &["upgrade", "web", "chart", "--set", "replicas=2"]),
    ("upgrade --wait", &["upgrade", "web", "chart", "--set", "replicas=3", "--wait"]),
    ("rollback", &["rollback", "web", "1"]),
    ("test", &["test", "web"]),
    ("test --logs", &["test", "web", "--logs"]),
    ("status", &["status", "web"]),
    ("history", &["history", "web"]),
    ("get all", &["get", "all", "web"]),
    ("list", &["list"]),
    ("list -A", &["list", "-A"]),
    ("plan upgrade", &["plan", "upgrade", "web", "chart", "--set", "replicas=4"]),
    ("diff upgrade", &["diff", "upgrade", "web", "chart", "--set", "replicas=4"]),
    ("drift", &["drift", "web"]),
    ("unlock", &["unlock", "web"]),
    ("adopt", &["adopt", "old"]),
    ("uninstall", &["uninstall", "web"]),
];

/// What a command may do to resources: verbs by resource, such as `deployments.apps`.
type Rights = BTreeMap<String, BTreeSet<&'static str>>;

fn write_chart(env: &TestEnv) {
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("chart/values.yaml", "name: web\nreplicas: 1\n");
    env.write(
        "chart/templates/web.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Values.name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: test.invalid/web:1}]}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Values.name }}}
spec: {selector: {app: web}, ports: [{port: 80}]}
",
    );
    for (file, kind, event) in [("hook", "Job", "post-install"), ("test", "Pod", "test")] {
        let pod = "spec: {restartPolicy: Never, containers: [{name: a, image: test.invalid/a:1}]}";
        let (version, spec) = match kind {
            "Job" => ("batch/v1", format!("spec: {{template: {{{pod}}}}}")),
            _ => ("v1", pod.to_owned()),
        };
        let head = format!("apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {file}\n");
        let hook = format!("  annotations: {{helm.sh/hook: {event}}}\n");
        env.write(&format!("chart/templates/{file}.yaml"), &format!("{head}{hook}{spec}\n"));
    }
}

/// The verb and the resource that a request needs the right for; none for discovery, which everyone may ask for.
fn right(seen: &ProxiedRequest) -> Option<(&'static str, String)> {
    let path = seen.path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (group, rest) = match parts.split_first()? {
        (&"api", rest) => ("", rest.get(1..)?),
        (&"apis", rest) => (*rest.first()?, rest.get(2..)?),
        _ => return None,
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    let (resource, name, subresource) = match rest {
        [resource] => (*resource, None, None),
        [resource, name] => (*resource, Some(*name), None),
        [resource, name, sub, ..] => (*resource, Some(*name), Some(*sub)),
        [] => return None,
    };
    let verb = match (seen.method.as_str(), name) {
        ("GET", _) if seen.is_watch() => "watch",
        ("GET", Some(_)) => "get",
        ("GET", None) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", _) => "delete",
        _ => return None,
    };
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    let subresource = subresource.map(|name| format!("/{name}")).unwrap_or_default();
    Some((verb, format!("{resource}{group}{subresource}")))
}

/// The rights that a run of the program needs, but for those on the chart's objects.
fn rights(env: &TestEnv, driver: &str, words: &[&str]) -> Rights {
    let proxy = Proxy::new(env.cluster());
    let mut command = env.command(Program::Pintle);
    command.args(words).env("HELM_DRIVER", driver).env("KUBECONFIG", proxy.kubeconfig());
    let output = command.output().expect("the program can be run");
    // `plan` exits with 2 if something would change.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 2)), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut rights = Rights::new();
    let needed = proxy.seen().iter().filter_map(right).collect::<Vec<_>>();
    for (verb, resource) in
        needed.into_iter().filter(|(_, resource)| !OF_THE_CHART.contains(&resource.as_str()))
    {
        rights.entry(resource).or_default().insert(verb);
    }
    rights
}

/// The rights in one line.
fn shown(rights: &Rights) -> String {
    let parts: Vec<String> =
        rights.iter().map(|(resource, verbs)| format!("`{resource}`: {}", joined(verbs))).collect();
    parts.join("; ")
}

/// Parses the output of [`shown`] from the page.
fn read(line: &str) -> Rights {
    let verb = |name: &str| VERBS.iter().copied().find(|verb| *verb == name);
    line.split("; ")
        .filter_map(|part| part.strip_prefix('`')?.split_once("`: "))
        .map(|(resource, verbs)| (resource.to_owned(), verbs.split(", ").filter_map(verb).collect()))
        .collect()
}

fn joined(verbs: &BTreeSet<&str>) -> String {
    verbs.iter().copied().collect::<Vec<&str>>().join(", ")
}

/// The rules of a role for all commands.
fn role(all: &Rights) -> String {
    let mut text = String::new();
    for (resource, verbs) in all {
        let (path, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let (name, group) = path.split_once('.').unwrap_or((path, ""));
        let name = if subresource.is_empty() { name.to_owned() } else { format!("{name}/{subresource}") };
        let verbs = joined(verbs);
        writeln!(text, "  - {{apiGroups: [\"{group}\"], resources: [{name}], verbs: [{verbs}]}}")
            .expect("writing to a String cannot fail");
    }
    text
}

/// The section of the page about one driver: the rights that it lists already, and those that a run needs in addition.
/// Which requests are sent depends on how far the cluster has progressed, so one run may not need all of them.
fn section(driver: &str, kept: &str) -> String {
    let env = TestEnv::embedded(&format!("rbac-{driver}"));
    write_chart(&env);
    let is_native = driver == "native";
    if is_native {
        env.run(Program::Pintle, &["init"]).succeeded();
        let mut install = env.command(Program::Pintle);
        install
            .args(["install", "old", "chart", "--no-hooks", "--set", "name=old"])
            .env("HELM_DRIVER", "secret");
        let output = install.output().expect("the program can be run");
        assert!(output.status.success(), "a release to adopt: {}", String::from_utf8_lossy(&output.stderr));
    }
    let title = format!("\n## `HELM_DRIVER={driver}`\n");
    let kept = kept.split(&title).nth(1).unwrap_or_default().split("\n## ").next().unwrap_or_default();
    let mut all = Rights::new();
    let mut text = format!("{title}\n| command | rights |\n|---|---|\n");
    for (name, words) in COMMANDS.into_iter().filter(|(name, _)| is_native || *name != "adopt") {
        let row = format!("| `{name}` | ");
        let mut rights = kept
            .lines()
            .find_map(|line| line.strip_prefix(&row)?.strip_suffix(" |"))
            .map_or_else(Rights::new, read);
        for (resource, verbs) in self::rights(&env, driver, words) {
            rights.entry(resource).or_default().extend(verbs);
        }
        writeln!(text, "{row}{} |", shown(&rights)).expect("writing to a String cannot fail");
        for (resource, verbs) in rights {
            all.entry(resource).or_default().extend(verbs);
        }
    }
    format!("{text}\nTogether:\n\n```yaml\nrules:\n{}```\n", role(&all))
}

#[test]
fn the_page_has_all_rights_that_commands_need() {
    // The runs use their own clusters; this one only decides whether the test is skipped.
    let Some(_env) = TestEnv::new("rbac") else { return };
    let kept = std::fs::read_to_string(PAGE).expect("the page is there");
    let head = kept.split("\n## `HELM_DRIVER").next().unwrap_or_default();
    let page = format!("{}\n{}{}", head.trim_end(), section("native", &kept), section("secret", &kept));
    if std::env::var_os("PINTLE_WRITE").is_some() {
        std::fs::write(PAGE, &page).expect("the page can be written");
        return;
    }
    assert_eq!(
        kept, page,
        "`PINTLE_WRITE=1 cargo xtask e2e --on embedded rbac` renews docs/reference/rbac.md"
    );
}

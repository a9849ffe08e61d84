//! `plan` and `drift`: what would be done, and what others have done.

use crate::support::TestEnv;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "color: red\nextra: true\n");
    env.write(
        "web/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  color: {{ .Values.color }}\n",
    );
    env.write(
        "web/templates/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\nstringData:\n  password: {{ .Values.color }}-word\n",
    );
    env.write(
        "web/templates/extra.yaml",
        "{{ if .Values.extra }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-extra\n{{ end }}",
    );
    env.write(
        "web/templates/hook.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Release.Name }}-migrate\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - name: a\n        image: busybox\n",
    );
    env
}

fn run(env: &TestEnv, line: &str) -> String {
    env.called("pintle", line, &[("PINTLE_CLUSTER", "embedded:box.db")])
}

fn holds(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

#[test]
fn an_install_is_planned_and_nothing_is_done() {
    let env = env();
    let shown = run(&env, "plan install a web");
    holds(
        &shown,
        &[
            "exit 2\n",
            "Plan to install release a in namespace default, version 1",
            "> run pre-install hook Job a-migrate (weight 0)",
            "+ create ConfigMap default/a\n",
            "+   color: red",
            "Plan: 3 to create, 1 hook to run.",
        ],
    );
    assert!(!shown.contains("red-word"), "a Secret is shown: {shown}");
    holds(&run(&env, "list"), &["exit 0\n"]);
    assert!(!run(&env, "list").contains("web-1.0.0"));
}

#[test]
fn an_upgrade_shows_changes_deletions_and_nothing_else() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(&run(&env, "plan upgrade a web"), &["exit 0\n", "3 unchanged"]);
    let shown = run(&env, "plan upgrade a web --set color=blue --set extra=false");
    holds(
        &shown,
        &[
            "exit 2\n",
            "version 1 to 2",
            "~ update ConfigMap default/a\n",
            "-   color: red",
            "+   color: blue",
            "~ update Secret default/a\n",
            "- delete ConfigMap default/a-extra\n",
            "Plan: 2 to update, 1 to delete, 1 hook to run.",
        ],
    );
    assert!(!shown.contains("-word"), "a Secret is shown: {shown}");
    holds(
        &run(&env, "plan upgrade a web --set color=blue --no-detailed-exitcode --show-unchanged -C 0"),
        &["exit 0\n", "= unchanged ConfigMap default/a-extra"],
    );
}

#[test]
fn insignificant_changes_are_shown_only_if_asked_for() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    env.write(
        "web/templates/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: {{ .Values.replicas | default 1 }}\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: a, image: b}]}\n",
    );
    holds(&run(&env, "upgrade a web"), &["exit 0\n"]);
    let changed = "plan upgrade a web --set color=blue,replicas=2 --show-insignificant --save web.plan";
    let shown = run(&env, changed);
    holds(&shown, &["exit 2\n", "insignificant: metadata.generation: 2 instead of 1\n", "1 unchanged"]);
    assert!(!shown.contains("-word") && !shown.contains(".time"), "{shown}");
    assert!(!run(&env, "plan upgrade a web --set replicas=2").contains("generation"));
    holds(
        &run(&env, "plan show web.plan --show-insignificant -o json"),
        &["\"path\": \"metadata.generation\"", "\"insignificantChanges\": ["],
    );
    holds(
        &run(&env, "plan show web.plan --show-insignificant -o markdown"),
        &["> Deployment default/d, insignificant: metadata.generation: 2 instead of 1\n"],
    );
    assert!(!run(&env, "plan show web.plan -o json").contains("insignificantChanges"));
}

#[test]
fn a_plan_has_other_formats() {
    let env = env();
    let json = run(&env, "plan install a web -o json");
    holds(&json, &["\"operation\": \"install\"", "\"action\": \"create\"", "\"event\": \"pre-install\""]);
    assert!(!json.contains("red-word"), "{json}");
    holds(
        &run(&env, "plan install a web -o markdown"),
        &["| create | ConfigMap | default | a |", "```diff\n+ apiVersion: v1"],
    );
    holds(
        &run(&env, "plan install a web -o dot"),
        &["digraph \"a\" {", "\"pre-install Job a-migrate\" -> \"create Secret default/a\";"],
    );
    holds(&run(&env, "plan install a web -o yaml"), &["exit 1\n", "text, json, markdown or dot"]);
}

#[test]
fn rollbacks_and_uninstalls_are_planned() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(&run(&env, "upgrade a web --set color=blue"), &["exit 0\n"]);
    holds(
        &run(&env, "plan rollback a 1"),
        &["exit 2\n", "-   color: blue", "+   color: red", "version 2 to 3"],
    );
    holds(&run(&env, "plan uninstall a"), &["exit 2\n", "- delete ConfigMap default/a\n", "3 to delete"]);
    holds(&run(&env, "plan uninstall b"), &["exit 1\n", "there is no release `b`"]);
}

#[test]
fn immutable_fields_are_named() {
    let env = env();
    env.write(
        "web/templates/immutable.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-fixed\nimmutable: true\ndata:\n  color: {{ .Values.color }}\n",
    );
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    let shown = run(&env, "plan upgrade a web --set color=blue");
    holds(&shown, &["exit 1\n", "ConfigMap default/a-fixed", "immutable", "the upgrade would fail"]);
}

#[test]
fn the_plan_of_an_uninstall_has_what_a_failed_upgrade_left() {
    let env = env();
    env.write(
        "web/templates/immutable.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-fixed\nimmutable: true\ndata:\n  color: {{ .Values.color }}\n",
    );
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    // It fails before it deletes the object that version 2 does not have.
    holds(&run(&env, "upgrade a web --set color=blue --set extra=false"), &["exit 1\n", "immutable"]);
    holds(
        &run(&env, "plan uninstall a --save a.plan"),
        &["exit 2\n", "- delete ConfigMap default/a-extra\n", "4 to delete"],
    );
    holds(&run(&env, "apply a.plan"), &["exit 0\n", "release \"a\" uninstalled"]);
    holds(&run(&env, "plan install a web"), &["exit 2\n", "+ create ConfigMap default/a-extra\n"]);
}

#[test]
fn drift_is_found_and_fixed() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(&run(&env, "drift a"), &["exit 0\n", "no drift in 3 objects"]);
    // Another release takes the objects over, which is drift for this one.
    env.write("thief/Chart.yaml", "apiVersion: v2\nname: thief\nversion: 1.0.0\n");
    env.write(
        "thief/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  color: black\n",
    );
    holds(&run(&env, "install thief thief --take-ownership --force-conflicts"), &["exit 0\n"]);
    let shown = run(&env, "drift a");
    holds(&shown, &["exit 2\n", "ConfigMap default/a", "data.color: \"black\" instead of \"red\""]);
    holds(&run(&env, "drift -A -o json"), &["\"path\": \"data.color\"", "\"recorded\": \"red\""]);
    holds(&run(&env, "drift a --fix"), &["exit 0\n", "restored"]);
    holds(&run(&env, "history a"), &["exit 0\n"]);
    assert!(!run(&env, "history a").contains("Rollback"), "a correction is no new version");
    holds(&run(&env, "drift a"), &["exit 0\n", "no drift in 3 objects"]);
    holds(&run(&env, "drift -o text"), &["no drift in 1 of 2 releases"]);
    holds(&run(&env, "drift -o text --all"), &["release thief"]);
}

#[test]
fn a_saved_plan_is_applied_without_the_chart_and_refused_when_something_moved() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(
        &run(&env, "plan upgrade a web --set color=blue --save a.plan --plan-lifetime 1h"),
        &["exit 2\n", "2 to update"],
    );
    let text = std::fs::read_to_string(env.path().join("a.plan")).expect("the plan was saved");
    holds(&text, &["\"action\": \"update\"", "\"release\": \"a\""]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(env.path().join("a.plan")).expect("exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    holds(&run(&env, "plan show a.plan"), &["exit 2\n", "+   color: blue", "version 1 to 2"]);
    // Another user has another key.
    env.write("other.key", "an entirely different secret");
    holds(&run(&env, "plan show a.plan --plan-key other.key"), &["exit 1\n", "cannot be decrypted"]);
    // Chart and values are not needed any more.
    env.write("web/values.yaml", "color: green\nextra: false\n");
    holds(&run(&env, "apply a.plan"), &["exit 0\n", "REVISION: 2"]);
    holds(&run(&env, "get manifest a"), &["color: blue", "name: a-extra"]);
    // The release has moved.
    holds(
        &run(&env, "apply a.plan"),
        &["exit 3\n", "stale", "release a: was at version 1 (deployed), and is at version 2 (deployed)"],
    );
    holds(&run(&env, "apply other.key"), &["exit 2\n", "not a plan"]);
}

#[test]
fn a_plan_is_refused_when_others_have_changed_an_object_or_time_has_passed() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(&run(&env, "plan upgrade a web --set color=blue --save a.plan"), &["exit 2\n"]);
    env.write("thief/Chart.yaml", "apiVersion: v2\nname: thief\nversion: 1.0.0\n");
    env.write(
        "thief/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  color: black\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  password: hunter2\n",
    );
    holds(&run(&env, "install thief thief --take-ownership --conflicts take"), &["exit 0\n"]);
    let refused = run(&env, "apply a.plan");
    holds(
        &refused,
        &["exit 3\n", "ConfigMap default/a: data.color was \"red\", and is \"black\"", "Secret default/a: "],
    );
    assert!(!refused.contains("hunter2"), "{refused}");
    holds(&run(&env, "history a"), &["exit 0\n", "Install complete"]);
    assert!(!run(&env, "history a").contains("pending"), "nothing was written");
    holds(&run(&env, "plan uninstall a --save b.plan --plan-lifetime 1ms"), &["exit 2\n"]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    holds(&run(&env, "apply b.plan"), &["exit 3\n", "expired"]);
    // Less than a second is not the same as no limit, and a limit in the past is a mistake.
    holds(&run(&env, "apply b.plan --plan-lifetime 1ms"), &["exit 3\n", "expired"]);
    holds(&run(&env, "apply b.plan --plan-lifetime -1h"), &["exit 2\n", "--plan-lifetime is negative"]);
    holds(&run(&env, "plan uninstall a --save c.plan --plan-lifetime -1s"), &["exit 1\n", "negative"]);
    assert!(!env.path().join("c.plan").exists());
    holds(&run(&env, "apply b.plan --plan-lifetime 1h"), &["exit 0\n", "release \"a\" uninstalled"]);
}

#[test]
fn a_plan_file_that_was_cut_off_or_changed_is_refused() {
    let env = env();
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    holds(&run(&env, "plan upgrade a web --set color=blue --save a.plan"), &["exit 2\n"]);
    let text = std::fs::read_to_string(env.path().join("a.plan")).expect("the plan was saved");
    for cut in [0, 1, text.len() / 2, text.len() - 3] {
        env.write("cut.plan", &text[..cut]);
        holds(&run(&env, "apply cut.plan"), &["exit 2\n", "not a plan"]);
        holds(&run(&env, "plan show cut.plan"), &["exit 1\n", "not a plan"]);
    }
    // The plain-text fields of the file are authenticated, too, not only the encrypted ones.
    for (what, instead) in [
        ("\"release\": \"a\"", "\"release\": \"b\""),
        ("\"action\": \"update\"", "\"action\": \"delete\""),
        ("\"namespace\": \"default\"", "\"namespace\": \"prod\""),
        ("\"toVersion\": 2", "\"toVersion\": 3"),
    ] {
        assert!(text.contains(what), "{what} is not in the file");
        env.write("changed.plan", &text.replace(what, instead));
        holds(
            &run(&env, "apply changed.plan"),
            &["exit 2\n", "it was saved with another key, or was changed"],
        );
    }
    let expires = text.lines().find(|line| line.contains("\"expires\"")).expect("a plan expires");
    env.write("changed.plan", &text.replace(expires, &expires.replace(": \"2", ": \"3")));
    holds(&run(&env, "apply changed.plan"), &["exit 2\n", "was changed"]);
    let other = |line| env.called("pintle", line, &[("PINTLE_CLUSTER", "embedded:other.db")]);
    holds(&other("install a web"), &["exit 0\n"]);
    holds(&other("apply a.plan"), &["exit 3\n", "the cluster: it is not the one"]);
    let shown = run(&env, "plan upgrade a web --set color=blue --save missing/a.plan");
    holds(&shown, &["exit 1\n", "cannot write `missing/a.plan`: no such file or directory"]);
    holds(&run(&env, "apply a.plan"), &["exit 0\n", "REVISION: 2"]);
}

#[test]
fn keys_with_dots_are_quoted_in_paths_and_can_be_given_so() {
    let env = env();
    let labelled = |color: &str, policy: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labelled\n  labels: {{example.com/team.x: {color}}}\n{policy}data: {{key: {color}}}\n"
        )
    };
    env.write("web/templates/labelled.yaml", &labelled("{{ .Values.color }}", ""));
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    let shown = run(&env, "plan upgrade a web --set color=blue -o json");
    holds(&shown, &["\"path\": \"metadata.labels[\\\"example.com/team.x\\\"]\""]);
    // The path as it is shown, alone and in a list.
    for path in ["metadata.labels[\"example.com/team.x\"]", "spec.x,metadata.labels[\"example.com/team.x\"]"]
    {
        let hidden =
            run(&env, &format!("plan upgrade a web --set color=blue -o json --sensitive-path {path}"));
        holds(&hidden, &["exit 2\n", "\"after\": \"++++++++ (4 bytes)\""]);
    }
    env.write("thief/Chart.yaml", "apiVersion: v2\nname: thief\nversion: 1.0.0\n");
    env.write("thief/templates/labelled.yaml", &labelled("black", ""));
    holds(&run(&env, "install thief thief --take-ownership --conflicts take"), &["exit 0\n"]);
    holds(
        &run(&env, "drift a"),
        &["exit 2\n", "metadata.labels[\"example.com/team.x\"]: \"black\" instead of \"red\""],
    );
}

#[test]
fn installs_and_rollbacks_are_applied_from_files_too() {
    let env = env();
    holds(&run(&env, "plan install a web --save a.plan --plan-key key"), &["exit 1\n", "cannot read `key`"]);
    holds(&run(&env, "install seed web"), &["exit 0\n"]);
    holds(&run(&env, "plan install a web --save a.plan"), &["exit 2\n"]);
    holds(&run(&env, "apply a.plan"), &["exit 0\n", "REVISION: 1"]);
    holds(&run(&env, "upgrade a web --set color=blue"), &["exit 0\n"]);
    holds(&run(&env, "plan rollback a 1 --save a.plan"), &["exit 2\n"]);
    holds(&run(&env, "apply a.plan"), &["exit 0\n", "REVISION: 3"]);
    holds(&run(&env, "get manifest a"), &["color: red"]);
    // A name that was uninstalled with its history is installed again.
    holds(&run(&env, "uninstall a --keep-history"), &["exit 0\n"]);
    holds(
        &run(&env, "plan upgrade a web --install --save a.plan"),
        &["exit 2\n", "Plan to install release a", "run pre-install hook"],
    );
    holds(&run(&env, "apply a.plan"), &["exit 0\n", "REVISION: 4"]);
}

#[test]
fn objects_are_recreated_where_that_is_allowed() {
    let env = env();
    env.write(
        "web/templates/set.yaml",
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: db\nspec:\n  serviceName: {{ .Values.color }}\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec:\n      containers:\n      - name: a\n        image: busybox\n",
    );
    holds(&run(&env, "install a web"), &["exit 0\n"]);
    let refused = run(&env, "plan upgrade a web --set color=blue");
    holds(&refused, &["exit 1\n", "immutable: spec.serviceName cannot be changed in place"]);
    holds(&run(&env, "upgrade a web --set color=blue"), &["exit 1\n"]);
    holds(&run(&env, "plan upgrade a web --recreate db"), &["exit 1\n", "Kind/name"]);
    let planned = run(&env, "plan upgrade a web --set color=blue --recreate StatefulSet/db");
    holds(&planned, &["exit 2\n", "! recreate StatefulSet default/db", "its dependents stay"]);
    // The server completes the new object as it did the old one, so that only the field is a change.
    for shown in [&refused, &planned] {
        let shown = shown.split_once("! recreate").map_or("", |(_, rest)| rest);
        let lines = shown.lines().map(str::trim_start);
        let removed: Vec<&str> = lines.filter(|line| line.starts_with("-   ")).collect();
        assert_eq!(removed, ["-   serviceName: red"], "{shown}");
    }
    holds(&run(&env, "upgrade a web --set color=blue --recreate StatefulSet/db"), &["exit 0\n"]);
    holds(&run(&env, "drift a"), &["exit 0\n"]);
}

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              color: {type: string}
";

const WIDGET: &str = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  color: red\n";

#[test]
fn crds_are_updated_unless_fields_in_use_would_be_lost() {
    let env = TestEnv::new();
    env.write("kit/Chart.yaml", "apiVersion: v2\nname: kit\nversion: 1.0.0\n");
    env.write("kit/crds/widget.yaml", DEFINITION);
    env.write("kit/templates/widget.yaml", WIDGET);
    // Kinds of the chart's own CRDs are known to the plan.
    holds(
        &run(&env, "plan install k kit"),
        &["exit 2\n", "+ create CustomResourceDefinition widgets", "+ create Widget.example.com default/w"],
    );
    holds(&run(&env, "install k kit"), &["exit 0\n"]);
    holds(&run(&env, "drift k"), &["exit 0\n"]);
    env.write(
        "kit/crds/widget.yaml",
        &DEFINITION.replace("size: {type: integer}", "weight: {type: integer}"),
    );
    holds(&run(&env, "plan upgrade k kit"), &["exit 0\n"]);
    holds(
        &run(&env, "plan upgrade k kit --crds update"),
        &["exit 2\n", "~ update CustomResourceDefinition", "+               weight:"],
    );
    holds(&run(&env, "plan upgrade k kit --crds create"), &["exit 0\n"]);
    holds(&run(&env, "plan upgrade k kit --crds all"), &["exit 1\n", "create, update, skip or force"]);
    env.write(
        "kit/crds/widget.yaml",
        &DEFINITION.replace("color: {type: string}", "weight: {type: integer}"),
    );
    holds(
        &run(&env, "plan upgrade k kit --crds update"),
        &["exit 1\n", "spec.color of version v1 is set in default/w"],
    );
    holds(&run(&env, "upgrade k kit --crds update"), &["exit 1\n", "would lose data", "--crds=force"]);
    holds(&run(&env, "plan upgrade k kit --crds skip"), &["exit 0\n"]);
}

#[test]
fn a_template_can_use_the_kind_of_a_crd_in_another_template() {
    let env = TestEnv::new();
    env.write("kit/Chart.yaml", "apiVersion: v2\nname: kit\nversion: 1.0.0\n");
    env.write("kit/templates/definition.yaml", DEFINITION);
    env.write("kit/templates/widget.yaml", WIDGET);
    holds(&run(&env, "plan install k kit"), &["exit 2\n", "2 to create"]);
    holds(&run(&env, "install k kit"), &["exit 0\n"]);
    holds(&run(&env, "plan upgrade k kit"), &["exit 0\n", "2 unchanged"]);
}

#[test]
fn scaled_replicas_are_left_alone_as_pintle_and_conflict_as_helm() {
    let cluster = crate::support::cluster::start();
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write(
        "web/templates/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n{{- with .Values.policy }}\n  annotations: {helm.sh/conflict-policy: {{ . | quote }}}\n{{- end }}\nspec:\n  replicas: 1\n  paused: {{ default false .Values.paused }}\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: a\n        image: busybox\n",
    );
    let run =
        |name: &str, line: &str| env.called(name, &format!("{line} {cluster}"), &[("HELM_DRIVER", "secret")]);
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let replicas = || {
        let text = crate::support::cluster::read(&cluster, path);
        text.split("\"replicas\":").nth(1).and_then(|rest| rest.split([',', '}']).next()).map(str::to_owned)
    };
    holds(&run("pintle", "install web web"), &["exit 0\n"]);
    let scale = r#"{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","namespace":"default"},"spec":{"replicas":3}}"#;
    crate::support::cluster::request(&cluster, &format!("PUT {path}/scale?fieldManager=kubectl"), scale);
    holds(
        &run("helm", "upgrade web web --server-side=true"),
        &["exit 1\n", "conflict with \"kubectl\" with subresource \"scale\"", ".spec.replicas"],
    );
    holds(&run("pintle", "upgrade web web --conflicts fail"), &["exit 1\n", ".spec.replicas"]);
    holds(&run("pintle", "upgrade web web --conflicts all"), &["exit 2\n", "yield, take or fail"]);
    holds(
        &run("pintle", "plan upgrade web web --set paused=true"),
        &["exit 2\n", "yielded: spec.replicas is left to \"kubectl\"", "+   paused: true"],
    );
    holds(&run("pintle", "upgrade web web --set paused=true"), &["exit 0\n"]);
    assert_eq!(replicas().as_deref(), Some("3"));
    holds(&run("pintle", "upgrade web web --set policy=spec.replicas=take --hook-timeout 1m"), &["exit 0\n"]);
    assert_eq!(replicas().as_deref(), Some("1"));
}

#[test]
fn conflicts_name_keys_with_dots_as_policies_take_them_and_yielded_fields_may_move() {
    let cluster = crate::support::cluster::start();
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write(
        "web/templates/web.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  labels: {example.com/team.x: {{ default \"red\" .Values.color }}}\n{{- with .Values.policy }}\n  annotations: {helm.sh/conflict-policy: {{ . | quote }}}\n{{- end }}\n",
    );
    let run = |line: &str| env.called("pintle", &format!("{line} {cluster}"), &[]);
    let set = |team: &str| {
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"web","labels":{{"example.com/team.x":"{team}"}}}}}}"#
        );
        let path = "/api/v1/namespaces/default/configmaps/web?fieldManager=someone";
        crate::support::cluster::request(&cluster, &format!("PUT {path}"), &body);
    };
    holds(&run("install web web"), &["exit 0\n"]);
    set("black");
    holds(
        &run("plan upgrade web web --set color=blue"),
        &["exit 1\n", "conflict: metadata.labels[\"example.com/team.x\"] is owned by \"someone\""],
    );
    env.write("policy.yaml", "policy: 'metadata.labels[\"example.com/team.x\"]=yield'\n");
    holds(
        &run("plan upgrade web web --set color=blue -f policy.yaml --save web.plan"),
        &["exit 2\n", "yielded: metadata.labels[\"example.com/team.x\"] is left to \"someone\""],
    );
    // A field that is yielded to its manager may change between planning and applying.
    set("white");
    holds(&run("apply web.plan"), &["exit 0\n", "REVISION: 2"]);
}

#[test]
fn nothing_secret_can_be_read_from_a_plan_file() {
    let env = env();
    assert!(run(&env, "install a web --set color=oldsecret --no-hooks").starts_with("exit 0"));
    assert!(
        run(&env, "plan upgrade a web --set color=newsecret --no-hooks --save a.plan").starts_with("exit 2")
    );
    let file = std::fs::read(env.path().join("a.plan")).expect("it was written");
    let words = ["oldsecret", "newsecret", "color", "password", "stringData"];
    let encoded = ["b2xkc2VjcmV0", "bmV3c2VjcmV0", "9sZHNlY3JldC", "uZXdzZWNyZX"];
    for word in words.iter().chain(&encoded) {
        let found = file.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(!found, "{word} is in {}", String::from_utf8_lossy(&file));
    }
    // Another user has another key, and cannot show or apply it.
    env.write("other.key", "a key that is not the one of the plan");
    for command in ["plan show a.plan --plan-key other.key", "apply a.plan --plan-key other.key"] {
        let refused = run(&env, command);
        assert!(refused.starts_with("exit 1") || refused.starts_with("exit 2"), "{refused}");
        assert!(words[..2].iter().all(|word| !refused.contains(word)), "{refused}");
    }
    // Values of Secrets are not shown to the one who made it, either.
    let shown = run(&env, "plan show a.plan");
    assert!(!shown.contains("newsecret-word") && !shown.contains("bmV3c2VjcmV0"), "{shown}");
}

#[test]
fn several_releases_are_planned_in_one_command() {
    let env = env();
    assert!(run(&env, "install a web --no-hooks").starts_with("exit 0"));
    env.write("more.yaml", "extra: false\n");
    env.write(
        "list.yaml",
        "releases:\n- {name: a, chart: ./web}\n- name: b\n  namespace: other\n  createNamespace: true\n  chart: ./web\n  values: [more.yaml, {color: blue}]\n  set: [{name: color, value: green}]\n",
    );
    let brief = run(&env, "plan releases list.yaml --no-hooks");
    holds(&brief, &["exit 2\n", "Plan to install release b", "Releases: 1 to change, 1 unchanged."]);
    assert!(!brief.contains("release a in namespace"), "{brief}");
    let shown = run(&env, "plan releases list.yaml --no-hooks --all");
    holds(
        &shown,
        &[
            "exit 2\n",
            "Plan to upgrade release a in namespace default, version 1 to 2",
            "Plan: 3 unchanged.",
            "Plan to install release b in namespace other, version 1",
            "+   color: green",
            "Releases: 1 to change, 1 unchanged.",
        ],
    );
    assert!(!shown.contains("other/b-extra"), "{shown}");
    let data = run(&env, "plan releases list.yaml --no-hooks -o json");
    holds(&data, &["\"releases\": [", "\"release\": \"a\"", "\"release\": \"b\""]);
    env.write("list.yaml", "releases:\n- {name: a, chart: ./web}\n- {name: c, chart: ./missing}\n");
    holds(&run(&env, "plan releases list.yaml"), &["exit 1\n", "there is no chart at `./missing`"]);
    env.write("list.yaml", "releases:\n- {name: a, chart: ./web, colour: red}\n");
    holds(
        &run(&env, "plan releases list.yaml"),
        &["list.yaml: release 1 (a) has a field \"colour\"; known are name"],
    );
}

#[test]
fn values_at_sensitive_paths_are_not_shown_and_still_compared() {
    let env = env();
    assert!(run(&env, "install a web --set color=oldcolor --no-hooks").starts_with("exit 0"));
    let shown = run(
        &env,
        "plan upgrade a web --set color=newcolor --no-hooks --sensitive-path data.color --save a.plan",
    );
    holds(&shown, &["-   color: '-------- (8 bytes)'", "+   color: ++++++++ (8 bytes)"]);
    assert!(!shown.contains("oldcolor") && !shown.contains("newcolor"), "{shown}");
    assert!(run(&env, "upgrade a web --set color=othercol --no-hooks").starts_with("exit 0"));
    holds(&run(&env, "apply a.plan"), &["exit 3\n"]);
    holds(&run(&env, "plan upgrade a web --sensitive-path a..b"), &["--sensitive-path is \"a..b\""]);
}

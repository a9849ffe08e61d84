//! `hooks list`: the plan of a chart's hooks.

use crate::support;

use support::TestEnv;

fn chart() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "weight: 7\n");
    let hook = |kind: &str, name: &str, annotations: &str| {
        format!("---\napiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  annotations:\n{annotations}")
    };
    env.write(
        "web/templates/hooks.yaml",
        &(hook("Job", "migrate", "    helm.sh/hook: pre-install,post-upgrade\n    helm.sh/hook-weights: pre-install=-5,post-upgrade={{ .Values.weight }}\n    helm.sh/hook-delete-policy: hook-succeeded\n    helm.sh/hook-output-log-policy: hook-failed,hook-succeeded\n")
            + &hook("ConfigMap", "settings", "    helm.sh/hook: pre-install\n    helm.sh/hook-weight: \"-5\"\n")
            + &hook("Secret", "late", "    helm.sh/hook-weights: post-delete=1\n")),
    );
    env.write("web/templates/plain.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n");
    env
}

/// A table without padding.
fn cells(output: &str) -> Vec<String> {
    output.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn hooks_are_listed_by_event_and_order() {
    assert_eq!(
        cells(&chart().pintle("hooks list web --set weight=9")),
        [
            "EVENT TURN WEIGHT KIND NAME DELETED LOG TEMPLATE",
            "pre-install 1 -5 Job migrate hook-succeeded hook-failed,hook-succeeded web/templates/hooks.yaml",
            "pre-install 1 -5 ConfigMap settings before-hook-creation - web/templates/hooks.yaml",
            "post-delete 1 1 Secret late before-hook-creation - web/templates/hooks.yaml",
            "post-upgrade 1 9 Job migrate hook-succeeded hook-failed,hook-succeeded web/templates/hooks.yaml",
        ]
    );
}

#[test]
fn one_event_can_be_asked_for_as_data() {
    let env = chart();
    let text = env.pintle("hooks list web --event post-upgrade,post-delete -o json");
    assert_eq!(
        text,
        "exit 0\n--- stdout\n[{\"event\":\"post-delete\",\"turn\":1,\"weight\":1,\"kind\":\"Secret\",\"name\":\"late\",\
         \"delete_policies\":[\"before-hook-creation\"],\"log_policies\":[],\"unmanaged\":false,\
         \"template\":\"web/templates/hooks.yaml\"},{\"event\":\"post-upgrade\",\"turn\":1,\"weight\":7,\"kind\":\"Job\",\
         \"name\":\"migrate\",\"delete_policies\":[\"hook-succeeded\"],\"log_policies\":[\"hook-failed\",\"hook-succeeded\"],\
         \"unmanaged\":false,\"template\":\"web/templates/hooks.yaml\"}]\n"
    );
    assert_eq!(env.pintle("hooks list web --event test -o yaml"), "exit 0\n--- stdout\n[]\n");
    assert_eq!(env.pintle("hooks list web --event test"), "exit 0\n");
}

#[test]
fn unknown_events_are_errors() {
    let text = chart().pintle("hooks list web --event pre-instal");
    assert!(text.starts_with(
        "exit 2\n--- stderr\nerror: unknown event `pre-instal`\n\nhint: the events are pre-install, "
    ));
}

/// A chart whose only hook has these annotations.
fn with_hook(annotations: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: https://example.com/i.png\n",
    );
    env.write("web/values.yaml", "event: tset\n");
    env.write(
        "web/templates/job.yaml",
        &format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{{{ .Release.Name }}}}\n  annotations:\n{annotations}\
             spec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - {{name: c, image: x:1}}\n"
        ),
    );
    env
}

#[test]
fn hooks_with_unknown_events_are_reported_everywhere() {
    for (annotations, problem, fails) in [
        (
            "    helm.sh/hook: {{ .Values.event }}\n",
            "is neither installed nor run: `tset` is not a hook event; did you mean `test`?",
            false,
        ),
        ("    helm.sh/hook: test,test\n", ": the event `test` is named twice", false),
        (
            "    helm.sh/hook: test\n    helm.sh/hook-weight: high\n",
            ": the weight `high` in `helm.sh/hook-weight` is not a 32-bit integer",
            false,
        ),
        (
            "    helm.sh/hook: test\n    helm.sh/hook-weights: zzz\n",
            "the weight `zzz` in `helm.sh/hook-weights` is not a 32-bit integer",
            true,
        ),
    ] {
        let env = with_hook(annotations);
        let line = if annotations.contains("weight") { 7 } else { 6 };
        let run = |line: &str| env.called("pintle", line, &[("PINTLE_CLUSTER", "embedded:box.db")]);
        let bare = problem.trim_start_matches("is neither installed nor run: ").trim_start_matches(": ");
        let shown = run("lint web");
        assert!(shown.starts_with("exit 1\n") && shown.contains(problem), "{shown}");
        assert!(shown.contains(&format!("[ERROR] templates/job.yaml:{line}: ")), "{shown}");
        let shown = run("check web");
        assert!(shown.starts_with("exit 1\n") && shown.contains(bare), "{shown}");
        assert!(
            shown.contains(&format!("templates/job.yaml:{line}")) && shown.contains("hook-annotations"),
            "{shown}"
        );
        let shown = run("rehearse web");
        assert!(!shown.starts_with("exit 0\n") && shown.contains(bare), "{shown}");
        for command in ["install demo web", "template demo web", "plan install other web"] {
            let shown = run(command);
            assert!(shown.contains(bare), "{command}: {shown}");
            match fails && !command.starts_with("template") {
                true => {
                    assert!(shown.contains("Job ") && !shown.starts_with("exit 0\n"), "{command}: {shown}")
                }
                false => {
                    assert!(shown.contains(&format!("web/templates/job.yaml:{line}")), "{command}: {shown}")
                }
            }
        }
        // Helm's output is Helm's, but an error has its reason.
        let shown = env.called("helm", "template demo web", &[]);
        assert!(!shown.contains(bare), "{shown}");
        let shown = env.called("helm", "install demo web --dry-run=client", &[]);
        assert_eq!(shown.contains(bare), fails, "{shown}");
    }
}

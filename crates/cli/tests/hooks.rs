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

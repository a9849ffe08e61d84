//! `upgrade-check`: what it prints, writes and answers.

use std::fs;

use crate::support::TestEnv;

/// Two versions of a chart: the second has another name for `replicas`.
fn charts(env: &TestEnv) {
    let template = |value: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {{{{ .Values.{value} }}}}\n  \
             selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      \
             containers: [{{name: web, image: nginx}}]\n"
        )
    };
    for (folder, version, value) in [("old", "1.0.0", "replicas"), ("new", "2.0.0", "replicaCount")] {
        env.write(
            &format!("{folder}/Chart.yaml"),
            &format!("apiVersion: v2\nname: web\nversion: {version}\n"),
        )
        .write(&format!("{folder}/values.yaml"), &format!("{value}: 1\n"))
        .write(&format!("{folder}/templates/all.yaml"), &template(value));
    }
}

#[test]
fn findings_answer_with_two_and_their_absence_with_zero() {
    let env = TestEnv::new();
    charts(&env);
    env.write("values.yaml", "replicas: 3 # ours\n");
    let shown = env.pintle("upgrade-check -f values.yaml --from old new");
    for part in ["exit 2", "web-1.0.0 -> web-2.0.0", "replicas (unread-value)", "-> replicaCount (proven"] {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
    let shown = env.pintle("upgrade-check --from old old -f values.yaml");
    assert!(shown.contains("exit 0") && shown.contains("nothing has to be done"), "{shown}");
    let shown = env.pintle("upgrade-check --from old missing -f values.yaml");
    assert!(shown.contains("exit 1"), "{shown}");
    let shown = env.pintle("upgrade-check new");
    assert!(shown.contains("nothing to compare new with"), "{shown}");
}

#[test]
fn the_report_is_data_too() {
    let env = TestEnv::new();
    charts(&env);
    let shown = env.pintle("upgrade-check --set replicas=3 --from old new -o json");
    for part in [
        "\"kind\":\"unread-value\"",
        "\"to\":\"replicaCount\"",
        "\"verdict\":\"proven\"",
        "\"needsAction\":true",
    ] {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
    let shown = env.pintle("upgrade-check --set replicas=3 --from old new --write");
    assert!(shown.contains("--write needs a values file"), "{shown}");
}

#[test]
fn what_is_proven_is_written_and_rehearsed() {
    let env = TestEnv::new();
    charts(&env);
    env.write("values.yaml", "# ours\nreplicas: 3 # enough\n");
    let shown = env.pintle("upgrade-check -f values.yaml --from old new --write --rehearse");
    assert!(shown.contains("exit 0") && shown.contains("upgrade web-2.0.0: ok"), "{shown}");
    let text = fs::read_to_string(env.path().join("values.yaml")).expect("the file is there");
    assert_eq!(text, "# ours\nreplicaCount: 3 # enough\n");
    let shown = env.pintle("upgrade-check -f values.yaml --from old new");
    assert!(shown.contains("exit 0"), "a second run is clean: {shown}");
}

#[test]
fn documents_of_the_chart_are_evidence_unless_they_are_skipped() {
    let env = TestEnv::new();
    charts(&env);
    env.write("new/README.md", "# web\n\n## Upgrading\n\n`replicas` was renamed to `replicaCount`.\n");
    let check = "upgrade-check --set replicas=3 --from old new --verbose";
    let shown = env.pintle(check);
    assert!(shown.contains("README.md:5 names both"), "{shown}");
    let shown = env.pintle(&format!("{check} --skip-documents"));
    assert!(shown.contains("-> replicaCount (proven") && !shown.contains("README.md"), "{shown}");
}

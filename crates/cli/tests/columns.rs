//! Tables and help on a terminal of 80 columns: no row wraps.

use insta::assert_snapshot;

use crate::support::TestEnv;

const NARROW: &[(&str, &str)] = &[("COLUMNS", "80")];

/// The lines of the output that are wider than the terminal.
fn too_wide(output: &str) -> Vec<String> {
    output.lines().filter(|line| line.chars().count() > 80).map(str::to_owned).collect()
}

fn releases(env: &TestEnv) {
    let release = |number: usize, status: &str| {
        format!(
            "- {{name: payments-gateway-for-the-region-europe-{number}, namespace: production-payments, version: {number}, \
             info: {{status: {status}, last_deployed: \"2020-01-0{number}T10:00:00Z\", description: Upgrade complete after a while}}, \
             chart: {{metadata: {{name: payments-gateway-with-a-long-name, version: 10.20.30-rc.1, appVersion: 2026.11.19}}}}}}\n"
        )
    };
    env.write(
        "releases.yaml",
        &(1..4)
            .map(|number| release(number, if number == 2 { "failed" } else { "deployed" }))
            .collect::<String>(),
    );
}

#[test]
fn releases_fit_the_terminal() {
    let env = TestEnv::new();
    releases(&env);
    let run = |line: &str, width: &str| {
        let variables =
            [("HELM_DRIVER", "memory"), ("HELM_MEMORY_DRIVER_DATA", "releases.yaml"), ("COLUMNS", width)];
        env.called("pintle", line, &variables)
    };
    for width in ["60", "80", "100", "200"] {
        let shown = run("list -A", width);
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width.parse().unwrap(), "{width}: {shown}");
    }
    assert_snapshot!(run("list -A --columns name,status --sort-by status", "80"), @"
    exit 0
    --- stdout
    NAME                                      STATUS
    payments-gateway-for-the-region-europe-1  deployed
    payments-gateway-for-the-region-europe-3  deployed
    payments-gateway-for-the-region-europe-2  failed

    3 releases: 2 deployed, 1 failed
    ");
    let wide = run("list -A -o wide", "80");
    assert!(wide.contains("payments-gateway-with-a-long-name-10.20.30-rc.1"), "{wide}");
    let unknown = run("list --sort-by nmae", "80");
    assert!(unknown.contains("did you mean `name`?"), "{unknown}");
    let refused = env.helm("list -o wide");
    assert!(
        refused.contains("invalid argument \"wide\" for \"-o, --output\" flag: invalid format type"),
        "{refused}"
    );
}

#[test]
fn every_page_of_help_fits_the_terminal() {
    let env = TestEnv::new();
    let reference = env.pintle("__reference");
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## pintle")).map(str::trim);
    let mut pages: Vec<String> = commands.map(|command| format!("help {command}")).collect();
    let topics = ["flags", "environment", "topics", "values", "charts", "stores", "embedded", "permissions"];
    pages.extend(topics.map(|topic| format!("help {topic}")));
    pages.push("help --search rollback".to_owned());
    assert!(pages.len() > 100, "{}", pages.len());
    let mut wrong = Vec::new();
    for page in &pages {
        let shown = env.called("pintle", page, NARROW);
        assert!(shown.starts_with("exit 0\n"), "{page}: {shown}");
        wrong.extend(too_wide(&shown).into_iter().map(|line| format!("{page}: {line}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn help_is_found_by_words_and_topics() {
    let env = TestEnv::new();
    let found = env.pintle("help --search rollback");
    assert!(found.contains("pintle rollback") && found.contains("--rollback-on-failure"), "{found}");
    assert_snapshot!(env.pintle("help valus"), @"
    exit 2
    --- stderr
    error: there is no command and no topic `valus`

    hint: did you mean `values`?
    ");
    let nothing = env.pintle("help --search xyzzy");
    assert!(nothing.starts_with("exit 2\n"), "{nothing}");
    // Helm's help knows no topics.
    assert!(env.helm("help flags").contains("Unknown help topic"));
    assert!(env.helm("help --search x").contains("unknown flag: --search"));
}

#[test]
fn unread_values_are_reported_unless_they_are_allowed() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "replicaCount: 1\n");
    env.write("web/templates/a.yaml", "a: {{ .Values.replicaCount }}\n");
    let told = "warning: no template reads the value `replicaCont` (--set); did you mean `replicaCount`?";
    for line in ["template web --set replicaCont=2", "values web --explain --set replicaCont=2"] {
        let shown = env.pintle(line);
        assert!(shown.contains(told), "{line}: {shown}");
        let silent = env.pintle(&format!("{line} --allow-unread-values"));
        assert!(!silent.contains("warning"), "{line}: {silent}");
    }
    assert!(!env.helm("template web --set replicaCont=2").contains("no template reads"));
}

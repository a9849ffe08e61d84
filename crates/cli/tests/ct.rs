//! `ct`

use std::process::Command;

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\nmaintainers:\n  - name: Ada\n";
const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  greeting: {{ .Values.greeting }}\n";

/// A repository whose branch `main` has two charts, with `origin/main` where it begins.
fn repository() -> TestEnv {
    let env = TestEnv::new();
    env.write("charts/web/Chart.yaml", CHART);
    env.write("charts/web/values.yaml", "greeting: hello\n");
    env.write("charts/web/templates/map.yaml", TEMPLATE);
    env.write("charts/other/Chart.yaml", &CHART.replace("web", "other"));
    env.write("charts/other/values.yaml", "{}\n");
    git(&env, "init -q -b main");
    git(&env, "add .");
    git(&env, "commit -q -m one");
    git(&env, "update-ref refs/remotes/origin/main HEAD");
    env
}

fn git(env: &TestEnv, line: &str) {
    let identity =
        ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
    let status = Command::new("git")
        .args(identity)
        .args(line.split(' '))
        .current_dir(env.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status()
        .expect("git");
    assert!(status.success(), "git {line}");
}

fn change(env: &TestEnv, path: &str, text: &str) {
    env.write(path, text);
    git(env, "add .");
    git(env, "commit -q -m change");
}

#[test]
fn changed_charts_are_found_by_git() {
    let env = repository();
    assert_eq!(env.pintle("ct list-changed"), "exit 0\n");
    change(&env, "charts/web/values.yaml", "greeting: hi\n");
    change(&env, "charts/other/README.md", "text\n");
    let all = "exit 0\n--- stdout\ncharts/other\ncharts/web\n";
    assert_eq!(env.pintle("ct list-changed --remote origin --target-branch main --since HEAD"), all);
    assert_eq!(env.pintle("ct list-changed --excluded-charts web"), "exit 0\n--- stdout\ncharts/other\n");
    env.write("charts/other/.helmignore", "README.md\n");
    assert_eq!(env.pintle("ct list-changed --use-helmignore"), "exit 0\n--- stdout\ncharts/web\n");
    env.write("ct.yaml", "excluded-charts: [other]\n");
    assert_eq!(env.pintle("ct list-changed"), "exit 0\n--- stdout\ncharts/web\n");
    let variables = [("CT_EXCLUDED_CHARTS", "web,other")];
    assert_eq!(env.called("pintle", "ct list-changed --chart-dirs charts", &variables), "exit 0\n");
    // chart-testing prints errors on both streams.
    assert_eq!(
        env.pintle("ct list-changed --target-branch none"),
        "exit 1\n--- stdout\ntargetBranch 'origin/none' does not exist\n--- stderr\nError: targetBranch 'origin/none' does not exist\n"
    );
}

#[test]
fn a_chart_needs_a_new_version_a_good_style_and_known_fields() {
    let env = repository();
    change(&env, "charts/web/values.yaml", "greeting:  hi \n");
    let lint = "ct lint --validate-maintainers=false";
    assert!(env.pintle(lint).contains("> chart version not ok. Needs a version bump! \n"));
    change(&env, "charts/web/Chart.yaml", &CHART.replace("1.0.0", "1.1.0").replace("name: Ada", "nome: Ada"));
    let run = env.pintle(lint);
    assert!(run.contains("Old chart version: 1.0.0\nNew chart version: 1.1.0\nChart version ok.\n"), "{run}");
    assert!(run.contains("\tmaintainers.0.nome: Unexpected element\n"), "{run}");
    let run = env.pintle(&format!("{lint} --validate-chart-schema=false"));
    let problems = "charts/web/values.yaml\n  1:11      error    too many spaces after colon  (colons)\n  1:14      error    trailing spaces  (trailing-spaces)\n";
    assert!(run.contains(problems), "{run}");
    change(&env, "charts/web/Chart.yaml", &CHART.replace("1.0.0", "1.1.0"));
    change(&env, "charts/web/values.yaml", "greeting: hi\n");
    env.write("charts/web/ci/a-values.yaml", "greeting: a\n");
    env.write("more.yaml", "rules: {document-start: enable}\n");
    let run = env.pintle(&format!("{lint} --skip-helm-dependencies"));
    assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    Linting charts...

    ------------------------------------------------------------------------------------------------------------------------
     Charts to be processed:
    ------------------------------------------------------------------------------------------------------------------------
     web => (version: "1.1.0", path: "charts/web")
    ------------------------------------------------------------------------------------------------------------------------

    Linting chart "web => (version: \"1.1.0\", path: \"charts/web\")"
    Checking chart "web => (version: \"1.1.0\", path: \"charts/web\")" for a version bump...
    Old chart version: 1.0.0
    New chart version: 1.1.0
    Chart version ok.
    Validating charts/web/Chart.yaml...
    Validation success! 👍

    Linting chart with values file "charts/web/ci/a-values.yaml"...

    ==> Linting charts/web
    [INFO] Chart.yaml: icon is recommended

    1 chart(s) linted, 0 chart(s) failed

    ------------------------------------------------------------------------------------------------------------------------
     ✔︎ web => (version: "1.1.0", path: "charts/web")
    ------------------------------------------------------------------------------------------------------------------------
    All charts linted successfully
    "#);
    assert!(env.pintle(&format!("{lint} --lint-conf more.yaml")).contains("missing document start \"---\""));
    env.write("schema.yaml", "name: str()\n");
    let run = env.pintle(&format!("{lint} --chart-yaml-schema schema.yaml --check-version-increment=false"));
    assert!(run.contains("\tapiVersion: Unexpected element\n"), "{run}");
    let run =
        env.pintle(&format!("{lint} --validate-yaml=false --additional-commands 'false {{{{ .Path }}}}'"));
    assert!(run.contains("> failed waiting for process: exit status 1\n"), "{run}");
    let run = env
        .pintle(&format!("{lint} --validate-yaml=false --additional-commands 'git bogus,no-such-program'"));
    let (stdout, _) = run.split_once("--- stderr").expect("both streams");
    assert!(stdout.contains("git: 'bogus' is not a git command."), "{run}");
    let run = env.pintle(&format!("{lint} --validate-yaml=false --additional-commands no-such-program"));
    let expected =
        "> failed running process: exec: \"no-such-program\": executable file not found in $PATH\n";
    assert!(run.contains(expected), "{run}");
}

#[test]
fn charts_are_installed_and_upgraded_on_the_embedded_cluster() {
    let env = repository();
    change(&env, "charts/web/Chart.yaml", &CHART.replace("1.0.0", "1.1.0"));
    let options = "--upgrade --skip-missing-values --build-id 7 --helm-extra-args --timeout=60s --helm-extra-set-args --set=a=b";
    let run = env.pintle(&format!("ct install {options} --github-groups"));
    assert!(run.starts_with("exit 0\n"), "{run}");
    for text in [
        "::group::Charts to be processed\n web => (version: \"1.1.0\", path: \"charts/web\")\n::endgroup::\n",
        "relative to previous revision \"web => (version: \\\"1.0.0\\\"",
        "Creating namespace \"web-7-",
        "STATUS: deployed",
        "All charts installed successfully\n",
    ] {
        assert!(run.contains(text), "{text}: {run}");
    }
    env.write("charts/web/values.yaml", "greeting: [1]\n");
    let run = env.pintle(
        "ct install --charts charts/web --namespace default --release-label app --skip-clean-up --debug",
    );
    assert!(run.starts_with("exit 1\n") && run.contains("\u{2716}\u{fe0e} web"), "{run}");
    let run = env.pintle("ct lint-and-install --all --validate-maintainers=false --validate-yaml=false --exclude-deprecated --release-name x");
    assert!(
        run.contains("Linting and installing charts...\n") && run.contains(" \u{2714}\u{fe0e} other"),
        "{run}"
    );
}

#[test]
fn versions_and_files_of_the_branch_that_cannot_be_read_are_reported_in_the_words_of_chart_testing() {
    let env = repository();
    change(&env, "charts/web/Chart.yaml", &CHART.replace("1.0.0", "x.y"));
    change(&env, "charts/other/Chart.yaml", "a: [\n");
    git(&env, "update-ref refs/remotes/origin/main HEAD");
    change(&env, "charts/web/Chart.yaml", CHART);
    change(&env, "charts/other/Chart.yaml", &CHART.replace("web", "other"));
    let run = env.pintle("ct lint --validate-maintainers=false");
    for expected in [
        "> failed parsing semantic version: Invalid Semantic Version\n",
        "> failed reading old chart version: could not unmarshal 'Chart.yaml': yaml: line 1: did not find expected node content\n",
    ] {
        assert!(run.contains(expected), "{run}");
    }
}

#[cfg(unix)]
#[test]
fn on_a_real_cluster_events_pods_and_logs_are_shown() {
    use std::os::unix::fs::PermissionsExt;
    let env = repository();
    // Answers as kubectl would for a namespace with one pod.
    env.write(
        "bin/kubectl",
        "#!/bin/sh\nshift\ncase \"$*\" in\n*initContainers*) ;;\n*spec.containers*) echo main ;;\n*'get pods'*) echo web-0 ;;\n*) echo \"kubectl $1 $2\" ;;\nesac\n",
    );
    let kubectl = env.path().join("bin/kubectl");
    std::fs::set_permissions(&kubectl, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", env.path().join("bin").display());
    // Nothing listens there, so the installation fails.
    env.write(
        "kubeconfig",
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n",
    );
    let kubeconfig = env.path().join("kubeconfig").display().to_string();
    let variables = [("PATH", path.as_str()), ("KUBECONFIG", kubeconfig.as_str())];
    let run = env.called("pintle", "ct install --real-cluster --charts charts/web --namespace n", &variables);
    let frame = |title: &str, sign: &str, text: &str| {
        let line = sign.repeat(120);
        format!("{line}\n==> {title}\n{line}\n{text}\n{line}\n<== {title}\n{line}\n")
    };
    let details = [
        frame("Events of namespace n", ".", "kubectl get events"),
        frame("Description of pod web-0", "~", "kubectl describe pod"),
        frame("Logs of container web-0", "-", "kubectl logs web-0"),
    ];
    let line = "=".repeat(120);
    assert!(run.contains(&format!("{line}\n{}{line}\nDeleting release ", details.concat())), "{run}");
    let grouped =
        "ct install --real-cluster --charts charts/web --namespace n --github-groups --print-logs=false";
    let run = env.called("pintle", grouped, &variables);
    assert!(run.contains("::group::Description of pod web-0\nkubectl describe pod\n::endgroup::\n"), "{run}");
    assert!(!run.contains("kubectl logs"), "{run}");
}

#[test]
fn settings_are_checked_and_shown() {
    let env = repository();
    assert!(
        env.pintle("ct lint --all --charts a")
            .contains("specifying both, '--all' and '--charts', is not allowed")
    );
    assert!(
        env.pintle("ct lint --config none.yaml").contains("failed loading config file: open none.yaml: ")
    );
    let arguments = "--chart-repos a --helm-lint-extra-args --strict --helm-repo-extra-args a=b --helm-dependency-extra-args c";
    let run = env.pintle(&format!("ct lint --all --print-config {arguments}"));
    assert!(run.contains("HelmRepoExtraArgs: [a=b]\n") && run.contains("invalid repository `a`"), "{run}");
    assert!(
        env.pintle("ct install --real-cluster --kubectl-timeout 5s --print-logs=false --charts none")
            .contains("could not read 'Chart.yaml'")
    );
    assert!(env.pintle("ct version").contains("Version:\t v3.14.0\n"));
    // Commands that do not run a check show its setting as false.
    let run = env.pintle("ct list-changed --print-config");
    assert!(run.contains("ValidateYaml: false\n") && run.contains("CheckVersionIncrement: false\n"), "{run}");
    // Errors have the texts of chart-testing.
    let identifying = "failed linting charts: failed identifying charts to process: ";
    for (line, expected) in [
        ("ct lint --target-branch none", format!("{identifying}targetBranch 'origin/none' does not exist\n")),
        (
            "ct lint --all --chart-dirs nowhere",
            format!(
                "{identifying}failed reading chart directories: open nowhere: no such file or directory\n"
            ),
        ),
        ("ct list-changed --debug", ">>> git rev-parse --verify origin/main\n>>> git merge-base ".to_owned()),
    ] {
        let run = env.pintle(line);
        assert!(run.contains(&expected), "{run}");
    }
    env.write("ct.yaml", "charts: [a\n");
    assert!(env.pintle("ct lint").contains("failed loading config file: While parsing config: yaml: line "));
}

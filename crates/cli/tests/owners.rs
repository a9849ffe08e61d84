//! A release name has one owner: our commands on Helm's releases, with the real Helm reading them afterwards where
//! installed.

use crate::support::{TestEnv, cluster};

use std::path::Path;
use std::process::Command;

const TEMPLATE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ .Release.Name }}\"}
data: {text: \"{{ .Values.text }}\"}
{{ if .Values.broken }}{{ fail \"broken\" }}{{ end }}
";

/// A cluster and a chart, and the programs that act as Helm: ours under its name, and the real one.
struct Stage {
    env: TestEnv,
    flag: String,
}

impl Stage {
    fn new() -> Stage {
        let env = TestEnv::new();
        env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
        env.write("web/templates/a.yaml", TEMPLATE);
        Stage { env, flag: cluster::start() }
    }

    fn pintle(&self, line: &str) -> String {
        self.env.pintle(&format!("{line} {}", self.flag))
    }

    /// Runs Helm, asserts success, and returns its output.
    fn helm(&self, line: &str) -> String {
        let program = pintle_testkit::real_helm().unwrap_or_else(|| self.env.linked("helm"));
        let output = Command::new(program)
            .args(line.split(' '))
            .args(self.flag.split(' '))
            .current_dir(self.env.path())
            .env_clear()
            .env("HOME", self.env.path())
            .output()
            .expect("the program can be run");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a program, and returns its exit code and all its output.
    fn run(&self, program: &Path, line: &str) -> String {
        let output = Command::new(program)
            .args(line.split(' '))
            .args(self.flag.split(' '))
            .current_dir(self.env.path())
            .env_clear()
            .env("HOME", self.env.path())
            .output()
            .expect("the program can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        format!("exit {code}\n{}{}", text(&output.stdout), text(&output.stderr))
    }

    /// Everything that Helm shows of the release.
    fn as_helm_sees_it(&self) -> [String; 3] {
        ["list", "history web", "get all web"].map(|line| self.helm(line))
    }
}

fn holds(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

#[test]
fn helm_reads_a_release_after_dry_runs_and_refusals_as_it_was() {
    let stage = Stage::new();
    stage.helm("install web web --set text=one");
    stage.helm("upgrade web web --set text=two");
    let before = stage.as_helm_sees_it();
    for line in [
        "upgrade web web --set text=three --dry-run=client",
        "upgrade web web --set text=three --dry-run=server",
        "upgrade web web --set text=three --install --dry-run=server",
        "rollback web 1 --dry-run=client",
        "rollback web 1 --dry-run=server",
        "uninstall web --dry-run",
        "install web web --create-namespace --dry-run=server",
    ] {
        holds(&stage.pintle(line), &["exit 0"]);
        assert_eq!(stage.as_helm_sees_it(), before, "{line}");
    }
    for (line, said) in [
        ("upgrade web web --set broken=true", "broken"),
        ("upgrade web web --take-ownership --set broken=true --rollback-on-failure", "broken"),
        ("install web web", "it is stored in Helm's Secrets"),
        ("install web web --replace", "it is stored in Helm's Secrets"),
        ("rollback web 7", "7"),
    ] {
        let shown = stage.pintle(line);
        assert!(!shown.starts_with("exit 0"), "{line}: {shown}");
        holds(&shown, &[said]);
        assert_eq!(stage.as_helm_sees_it(), before, "{line}");
    }
    // An upgrade stays in Helm's store, and Helm goes on from it.
    holds(&stage.pintle("upgrade web web --set text=three"), &["exit 0", "REVISION: 3"]);
    holds(&stage.helm("history web"), &["superseded", "Upgrade complete"]);
    stage.helm("upgrade web web --set text=four");
    holds(&stage.pintle("history web"), &["exit 0", "superseded", "Upgrade complete"]);
}

/// The real Helm refuses everything on a release that was moved away, and changes nothing.
fn check_refusals(stage: &Stage, helm: &Path) {
    for (line, said) in [
        ("install web web", "still in use"),
        ("install web web --replace", "still in use"),
        ("upgrade web web", "another operation (install/upgrade/rollback) is in progress"),
        ("upgrade --install web web", "another operation (install/upgrade/rollback) is in progress"),
        ("upgrade --install web web --take-ownership", "is in progress"),
        ("rollback web", "release has no 2 version"),
        ("rollback web 3", "release: not found"),
        ("uninstall web", "pintle adopt web --to secret"),
        ("uninstall web --no-hooks", "release: not found"),
        ("uninstall web --keep-history", "pintle adopt web --to secret"),
    ] {
        let shown = stage.run(helm, line);
        assert!(!shown.starts_with("exit 0"), "{line}: {shown}");
        holds(&shown, &[said]);
    }
    holds(&stage.run(helm, "list --all-namespaces --pending"), &["web", "pending-upgrade"]);
    holds(&stage.run(helm, "history web"), &["pending-upgrade", "pintle adopt web --to secret"]);
    let shown = stage.run(helm, "get manifest web");
    assert!(!shown.contains("ConfigMap"), "{shown}");
}

#[test]
fn the_real_helm_stops_at_the_marker_of_a_release_that_was_moved() {
    let helms = [pintle_testkit::real_helm(), pintle_testkit::real_helm3()];
    if helms.iter().all(Option::is_none) {
        pintle_testkit::skip("the_real_helm_stops_at_the_marker needs the real Helm");
    }
    for helm in helms.iter().flatten() {
        let stage = Stage::new();
        for line in ["install web web --set text=one", "upgrade web web --set text=two"] {
            holds(&stage.run(helm, line), &["exit 0"]);
        }
        holds(
            &stage.pintle("adopt web"),
            &["exit 0", "moved to Release objects with 2 versions", "pintle adopt web --to secret"],
        );
        check_refusals(&stage, helm);
        holds(&stage.pintle("adopt web"), &["exit 0", "already stored"]);
        let listed = stage.pintle("list");
        holds(&listed, &["web", "deployed"]);
        assert!(!listed.contains("pending") && !listed.contains("STORE"), "{listed}");
        holds(&stage.pintle("upgrade web web --set text=three"), &["exit 0", "REVISION: 3"]);
        check_refusals(&stage, helm);
        holds(&stage.pintle("get manifest web"), &["text: \"three\""]);
        holds(
            &stage.pintle("adopt web --to secret"),
            &["exit 0", "moved to Helm's Secrets with 3 versions", "Helm sees it as its own"],
        );
        holds(&stage.run(helm, "get manifest web"), &["exit 0", "text: \"three\""]);
        holds(&stage.run(helm, "upgrade web web --set text=four"), &["exit 0"]);
        holds(&stage.run(helm, "rollback web 1"), &["exit 0"]);
        holds(&stage.pintle("get manifest web"), &["text: \"one\""]);
        holds(&stage.run(helm, "uninstall web"), &["exit 0"]);
        // Uninstalled by us, the name is free for Helm again.
        holds(&stage.run(helm, "install web web"), &["exit 0"]);
        holds(&stage.pintle("adopt web"), &["exit 0"]);
        holds(&stage.pintle("uninstall web"), &["exit 0"]);
        holds(&stage.run(helm, "install web web"), &["exit 0"]);
    }
}

#[test]
fn a_list_of_mixed_stores_has_a_column_for_them() {
    let stage = Stage::new();
    stage.helm("install theirs web --set text=one");
    holds(&stage.pintle("install ours web --set text=one"), &["exit 0"]);
    let listed = stage.pintle("list");
    let stores: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
    assert_eq!(stores, ["0", "stdout", "STORE", "native", "secret"], "{listed}");
    holds(&stage.pintle("list -o json"), &[r#""store":"native""#, r#""store":"secret""#]);
    assert!(!stage.pintle("list --filter ours").contains("STORE"));
    assert!(!stage.helm("list").contains("STORE"));
    holds(&stage.pintle("adopt theirs --to nowhere"), &["exit 2", "native, secret, configmap and sql"]);
    holds(&stage.pintle("adopt theirs --to sql"), &["exit 2", "HELM_DRIVER_SQL_CONNECTION_STRING"]);
}

#[test]
fn helm_can_upgrade_a_release_after_our_upgrade_failed() {
    let stage = Stage::new();
    stage.helm("install web web --set text=one");
    stage.env.write(
        "web/templates/b.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 0}]}\n",
    );
    holds(&stage.pintle("upgrade web web --set text=two"), &["exit 1", "must be between 1 and 65535"]);
    let [listed, history, _] = stage.as_helm_sees_it();
    holds(&listed, &["web", "failed"]);
    holds(&history, &["deployed", "failed"]);
    std::fs::remove_file(stage.env.path().join("web/templates/b.yaml")).expect("it is there");
    stage.helm("upgrade web web --set text=three");
    holds(&stage.helm("list"), &["web", "deployed"]);
}

#[test]
fn as_helm_a_name_in_our_store_is_in_use() {
    let stage = Stage::new();
    holds(&stage.pintle("install web web --set text=one"), &["exit 0"]);
    for line in [
        "install web web",
        "upgrade web web",
        "upgrade --install web web",
        "rollback web",
        "uninstall web",
        "test web",
    ] {
        let shown = stage.env.helm(&format!("{line} {}", stage.flag));
        let said = "release \"web\" is stored as Release objects and not in Helm's Secrets; set HELM_DRIVER=native to \
                    work on it";
        holds(&shown, &["exit 1", said]);
    }
    let native = [("HELM_DRIVER", "native")];
    let line = format!("upgrade web web --set text=two {}", stage.flag);
    holds(&stage.env.helm_with(&line, &native), &["exit 0", "REVISION: 2"]);
}

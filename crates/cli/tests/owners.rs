//! A release name has one owner: our commands on Helm's releases, with the real Helm reading them afterwards where
//! installed.

use crate::support::{TestEnv, cluster};

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
    holds(&stage.pintle("upgrade web web --set text=three"), &["exit 0", "REVISION: 3"]);
    assert!(!stage.helm("list --all-namespaces").contains("web"), "Helm has nothing left of it");
    holds(&stage.pintle("history web"), &["exit 0", "superseded", "Upgrade complete"]);
}

#[test]
fn helm_can_upgrade_a_release_after_our_upgrade_failed() {
    let stage = Stage::new();
    stage.helm("install web web --set text=one");
    stage.env.write(
        "web/templates/b.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 0}]}\n",
    );
    holds(&stage.pintle("upgrade web web --set text=two"), &["exit 1", "Invalid value"]);
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
